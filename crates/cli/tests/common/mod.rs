//! Compiles guests with the stock cross compiler and runs the command on them.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::{Mutex, PoisonError};

use riverrun_testkit::suite::SuiteEngine;

/// Files for one test, gone when it ends.
pub(crate) struct Folder(tempfile::TempDir);

impl Folder {
    pub(crate) fn new() -> Folder {
        Folder(tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap())
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn file(&self, name: &str, contents: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path().join(name);
        std::fs::write(&path, contents).unwrap();
        path
    }

    /// Compiles `tests/guests/<source>`, statically unless `flags` say otherwise, with debug
    /// information.
    pub(crate) fn guest(&self, source: &str, flags: &[&str]) -> PathBuf {
        let compiler = if source.ends_with(".cpp") { "riscv64-linux-gnu-g++" } else { "riscv64-linux-gnu-gcc" };
        let output = self.path().join(source).with_extension("elf");
        let dynamic = flags.contains(&"-dynamic") || flags.contains(&"-static-pie");
        let run = Command::new(compiler)
            .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/guests"))
            .args(["-O1", "-g", "-Wall", "-Wextra", "-Werror"])
            .args((!dynamic).then_some("-static"))
            .args(flags.iter().filter(|&&flag| flag != "-dynamic"))
            .arg(source)
            .arg("-o")
            .arg(&output)
            .output()
            .unwrap_or_else(|error| panic!("cannot run {compiler} ({error}): apt install gcc-riscv64-linux-gnu"));
        assert!(run.status.success(), "{compiler} {flags:?} {source}: {}", String::from_utf8_lossy(&run.stderr));
        output
    }
}

/// The command with these arguments; where it runs a guest (`*.elf`), on the engine of this run of the tests.
pub(crate) fn command(args: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Command {
    command_with(args, None)
}

/// The same, with an option for compiled code.
fn command_with(args: impl IntoIterator<Item = impl AsRef<OsStr>>, option: Option<&'static str>) -> Command {
    let mut args: Vec<OsString> = args.into_iter().map(|arg| arg.as_ref().to_owned()).collect();
    let first = args.first().and_then(|first| first.to_str()).unwrap_or_default();
    let (is_run, is_other) = (["run", "snapshot"].contains(&first), ["inspect", "cc", "c++"].contains(&first));
    let guest = args.iter().find(|arg| Path::new(arg).extension().is_some_and(|extension| extension == "elf"));
    if let Some(guest) = guest.filter(|_| !is_other) {
        let options: Vec<OsString> = match SuiteEngine::get() {
            SuiteEngine::Interpreter => Vec::new(),
            SuiteEngine::SingleStep => vec!["--single-step".into()],
            SuiteEngine::Compiled => {
                vec!["--engine=compiled".into(), "--artifact".into(), compiled(guest.as_ref(), option).into()]
            }
        };
        let behind = usize::from(is_run);
        args.splice(behind..behind, options);
    }
    plain(args)
}

/// The command with just these arguments.
pub(crate) fn plain(args: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_riverrun"));
    // Whatever the user may have compiled is not for tests.
    command.args(args).env("XDG_CACHE_HOME", "/nonexistent");
    command
}

/// The guest's compiled code, which counts. Optimised code is for other tests, as most of a guest is libc, which takes long.
fn compiled(guest: &Path, option: Option<&'static str>) -> PathBuf {
    type Contents = Vec<u8>;
    static MADE: Mutex<BTreeMap<(Contents, Option<&str>), PathBuf>> = Mutex::new(BTreeMap::new());
    let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
    let count = made.len();
    let make = || {
        let name = format!("{}-{count}.rro", std::process::id());
        let artifact = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        let mut compile = plain(crate::args!["compile", "-O0", "--fuel", "-o", artifact, guest]);
        Ended::from(compile.args(option).output().unwrap()).expect(0, &[]);
        artifact
    };
    made.entry((std::fs::read(guest).unwrap(), option)).or_insert_with(make).clone()
}

/// How a run of the command ended.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) status: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl From<Output> for Ended {
    fn from(output: Output) -> Ended {
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        Ended { status: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
    }
}

impl Ended {
    /// Asserts the exit status and that all of these are in standard error.
    #[track_caller]
    pub(crate) fn expect(&self, status: i32, messages: &[&str]) -> &Ended {
        assert_eq!(self.status, Some(status), "{self:#?}");
        for message in messages {
            assert!(self.stderr.contains(message), "no {message:?} in {self:#?}");
        }
        // A panic of the host's; a guest's is told of otherwise.
        assert!(!self.stderr.contains(" panicked at "), "{self:#?}");
        self
    }

    /// The JSON on the last line of standard error.
    #[track_caller]
    pub(crate) fn stats(&self) -> serde_json::Value {
        let line = self.stderr.lines().last().unwrap_or_default();
        serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {self:#?}"))
    }
}

/// Runs the command with these arguments.
pub(crate) fn riverrun(args: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Ended {
    command(args).stdin(Stdio::null()).output().unwrap().into()
}

/// As [`riverrun`], where compiled code is to know its registers at a trap.
pub(crate) fn riverrun_precisely(args: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Ended {
    command_with(args, Some("--precise")).stdin(Stdio::null()).output().unwrap().into()
}

/// Runs the command with these arguments and this input.
pub(crate) fn riverrun_with_input(args: &[&OsStr], input: &[u8]) -> Ended {
    let mut child = command(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(input).unwrap();
    child.wait_with_output().unwrap().into()
}

/// Arguments of different string types, as one list.
#[macro_export]
macro_rules! args {
    ($($arg:expr),* $(,)?) => { [$(std::ffi::OsStr::new(&$arg)),*] };
}
