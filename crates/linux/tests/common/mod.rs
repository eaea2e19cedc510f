//! Compiles guests, and runs them here and by qemu.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, OnceLock, PoisonError};

use riverrun::{Config, Error, Linker, Machine, Program};
use riverrun_linux::{Builder, Captured, Detail, DirAccess, Input, Linux, Output};
use riverrun_testkit::suite::SuiteEngine;

/// What a compiler and its flags make of `tests/guests/<source>`: compiled once for all tests.
fn compile(compiler: &str, package: &str, source: &str, flags: &[&str]) -> PathBuf {
    static COMPILED: OnceLock<Mutex<BTreeMap<String, PathBuf>>> = OnceLock::new();
    let compiled = COMPILED.get_or_init(Mutex::default);
    let mut compiled = compiled.lock().unwrap_or_else(PoisonError::into_inner);
    let key = format!("{source} {flags:?}");
    if let Some(path) = compiled.get(&key) {
        return path.clone();
    }
    let name = format!("{}-{}-{}", std::process::id(), compiled.len(), source.replace(['.', '/'], "-"));
    let output = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let run = Command::new(compiler)
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/guests"))
        .arg(source)
        // Libraries come behind what needs them.
        .args(flags)
        .arg("-o")
        .arg(&output)
        .output()
        .unwrap_or_else(|error| panic!("cannot run {compiler} ({error}): apt install {package}"));
    assert!(run.status.success(), "{compiler} {flags:?} {source}: {}", String::from_utf8_lossy(&run.stderr));
    compiled.insert(key, output.clone());
    output
}

/// Compiles C or assembly.
pub(crate) fn gcc(source: &str, flags: &[&str]) -> PathBuf {
    compile("riscv64-linux-gnu-gcc", "gcc-riscv64-linux-gnu", source, flags)
}

/// Compiles C++.
pub(crate) fn gxx(source: &str, flags: &[&str]) -> PathBuf {
    compile("riscv64-linux-gnu-g++", "g++-riscv64-linux-gnu", source, flags)
}

/// How a program ended, and what it wrote.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Outcome {
    pub(crate) status: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// A machine with a program in it, at its first instruction, on the engine of this run of the tests.
pub(crate) fn machine(config: &Config, program: &Path, linux: Linux) -> Machine<Linux> {
    machine_on(SuiteEngine::get(), config, program, linux)
}

/// The same, on an engine.
pub(crate) fn machine_on(engine: SuiteEngine, config: &Config, program: &Path, linux: Linux) -> Machine<Linux> {
    machine_of(&engine.load(config, std::fs::read(program).unwrap()), linux)
}

/// The same, of a program that is loaded.
pub(crate) fn machine_of(program: &Program, linux: Linux) -> Machine<Linux> {
    let mut linker = Linker::new(program.engine());
    riverrun_linux::add_to_linker(&mut linker, |linux: &mut Linux| linux);
    let mut machine = linker.instantiate(program, linux).unwrap();
    riverrun_linux::start(&mut machine, |linux| linux).unwrap();
    machine
}

/// Runs a program to its end.
pub(crate) fn run(program: &Path, stdin: &str, builder: Builder) -> Outcome {
    run_on(SuiteEngine::get(), program, stdin, builder)
}

/// The same, on an engine.
pub(crate) fn run_on(engine: SuiteEngine, program: &Path, stdin: &str, builder: Builder) -> Outcome {
    let (result, outcome) = try_run_on(engine, &Config::new(), program, stdin, builder);
    Outcome { status: result.unwrap_or_else(|error| panic!("{engine:?}: {error}: {outcome:?}")), ..outcome }
}

/// Runs a program to its end, or to a trap.
pub(crate) fn try_run(config: &Config, program: &Path, stdin: &str, builder: Builder) -> (Result<i32, Error>, Outcome) {
    try_run_on(SuiteEngine::get(), config, program, stdin, builder)
}

/// The same, on an engine.
pub(crate) fn try_run_on(
    engine: SuiteEngine,
    config: &Config,
    program: &Path,
    stdin: &str,
    builder: Builder,
) -> (Result<i32, Error>, Outcome) {
    let (stdout, stderr) = (Captured::default(), Captured::default());
    let builder = builder.stdin(Input::bytes(stdin)).stdout(Output::writer(stdout.clone()));
    let linux = builder.stderr(Output::writer(stderr.clone())).build();
    let result = machine_on(engine, config, program, linux).run();
    let text = |captured: Captured| String::from_utf8(captured.take()).unwrap();
    (result, Outcome { status: -1, stdout: text(stdout), stderr: text(stderr) })
}

/// Runs a program with the system calls that are not provided, or all, as text.
pub(crate) fn run_logged(program: &Path, builder: Builder, detail: Detail) -> (Outcome, String) {
    run_logged_on(SuiteEngine::get(), program, builder, detail)
}

/// The same, on an engine.
pub(crate) fn run_logged_on(
    engine: SuiteEngine,
    program: &Path,
    builder: Builder,
    detail: Detail,
) -> (Outcome, String) {
    let log = Captured::default();
    let outcome = run_on(engine, program, "", builder.log(log.clone(), detail));
    (outcome, String::from_utf8(log.take()).unwrap())
}

/// Runs a program by qemu.
pub(crate) fn qemu(program: &Path, args: &[&str], env: &[(&str, &str)], stdin: &str) -> Outcome {
    // A program that hangs fails its test, and not the whole run. Descriptors that these tests were given by who runs them
    // would be the guest's, too, and so would what a shell adds to the environment.
    let mut command = Command::new("sh");
    command
        .args(["-c", "exec 3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&-; exec env -u PWD -u OLDPWD -u SHLVL -u _ \"$@\"", "sh"])
        .args(["timeout", "--foreground", "120", "qemu-riscv64", "-0", args[0]])
        .arg(program)
        .args(&args[1..])
        .env_clear()
        .envs(env.iter().copied());
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap_or_else(|error| panic!("cannot run qemu-riscv64 ({error}): apt install qemu-user"));
    child.stdin.take().unwrap().write_all(stdin.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Outcome { status: output.status.code().unwrap_or(-1), stdout: text(output.stdout), stderr: text(output.stderr) }
}

/// All below a directory: path, kind, permissions, contents.
pub(crate) fn tree(root: &Path) -> Vec<String> {
    use std::os::unix::fs::PermissionsExt;
    let mut entries = Vec::new();
    let mut ahead = vec![root.to_owned()];
    while let Some(directory) = ahead.pop() {
        for entry in std::fs::read_dir(&directory).unwrap() {
            let entry = entry.unwrap();
            let (path, kind) = (entry.path(), entry.file_type().unwrap());
            let mode = entry.metadata().unwrap().permissions().mode();
            let contents = if kind.is_symlink() {
                std::fs::read_link(&path).unwrap().display().to_string()
            } else if kind.is_dir() {
                ahead.push(path.clone());
                String::new()
            } else {
                String::from_utf8_lossy(&std::fs::read(&path).unwrap()).into_owned()
            };
            entries.push(format!("{} {mode:o} {contents:?}", path.strip_prefix(root).unwrap().display()));
        }
    }
    entries.sort();
    entries
}

/// Runs a program that works in a directory, here and by qemu; both start with it empty.
pub(crate) fn compare_in_directory(program: &Path, stdin: &str) -> Outcome {
    compare_in_directory_on(SuiteEngine::get(), program, stdin)
}

/// The same, on an engine.
pub(crate) fn compare_in_directory_on(engine: SuiteEngine, program: &Path, stdin: &str) -> Outcome {
    let (ours, theirs) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let builder = Linux::builder().args(["guest", "/data"]).dir(ours.path(), "/data", DirAccess::ReadWrite).unwrap();
    let outcome = run_on(engine, program, stdin, builder);
    let expected = qemu(program, &["guest", theirs.path().to_str().unwrap()], &[], stdin);
    assert_same(&outcome, &expected);
    assert_eq!(tree(ours.path()), tree(theirs.path()));
    outcome
}

pub(crate) fn assert_same(ours: &Outcome, expected: &Outcome) {
    let lines = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
    let (ours_lines, expected_lines) = (lines(&ours.stdout), lines(&expected.stdout));
    let differences = ours_lines.iter().zip(&expected_lines).filter(|(ours, expected)| ours != expected);
    let differences: Vec<_> = differences.take(20).collect();
    assert!(differences.is_empty(), "ours and qemu's output differ: {differences:#?}");
    assert_eq!(ours, expected);
}
