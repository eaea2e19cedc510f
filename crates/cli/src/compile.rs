//! Compiled code: the compiler `riverrun-compile`, a program beside this one, and the cache.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use crate::Result;
use crate::report::FAILURE;

const COMPILER: &str = "riverrun-compile";
/// The compiler's exit status where a limit has ended it.
const LIMIT: u8 = 124;
/// What `run --compile` lets a compilation take.
const MAX_SECONDS: &str = "300";
const MAX_MIB: &str = "8192";
/// Makes mimalloc, the compiler's allocator, keep freed pages: the kernel would have to clear returned ones again.
const KEEP_WHAT_IS_FREED: (&str, &str) = ("MIMALLOC_PURGE_DELAY", "-1");

/// The cache of compiled code. Its files run with all of the user's rights, so only the user may be able to write to the
/// folder. `None` if the user has no such folder.
pub(crate) fn cache() -> Option<PathBuf> {
    let set = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let folder = set("XDG_CACHE_HOME").or_else(|| Some(set("HOME")?.join(".cache")))?;
    folder.is_absolute().then(|| folder.join("riverrun"))
}

/// The compiler: beside this program, or where commands are.
pub(crate) fn compiler_path() -> PathBuf {
    let beside = std::env::current_exe().ok().map(|this| this.with_file_name(COMPILER));
    beside.filter(|path| path.exists()).unwrap_or_else(|| COMPILER.into())
}

/// The compiler, as a command.
fn compiler() -> Command {
    let mut compiler = Command::new(compiler_path());
    compiler.env(KEEP_WHAT_IS_FREED.0, KEEP_WHAT_IS_FREED.1);
    compiler
}

fn missing(compiler: &Command, error: &std::io::Error) -> String {
    let name = compiler.get_program().display();
    format!(
        "cannot start {name}: {error}; install it beside riverrun by cargo install --path crates/compiler (it takes LLVM 22)"
    )
}

/// Calls the compiler with these arguments and returns its output.
pub(crate) fn output(arguments: &[OsString]) -> Result<Vec<u8>> {
    let mut compiler = compiler();
    compiler.args(arguments).stderr(Stdio::inherit());
    let output = compiler.output().map_err(|error| missing(&compiler, &error))?;
    match output.status.success() {
        true => Ok(output.stdout),
        false => Err("the compiler gave up".into()),
    }
}

/// Calls the compiler with these arguments and returns its exit status.
pub(crate) fn compile(arguments: &[OsString]) -> Result<ExitCode> {
    let mut compiler = compiler();
    let status = compiler.args(arguments).status().map_err(|error| missing(&compiler, &error))?;
    Ok(ExitCode::from(status.code().map_or(FAILURE, |code| code as u8)))
}

/// Compiles a program into the file `artifact`, within limits; false if it exceeds one, which the compiler has said then.
/// `names_interpreted` has it name functions that are left to the interpreter.
pub(crate) fn compile_into(artifact: &Path, program: &Path, fuel: bool, names_interpreted: bool) -> Result<bool> {
    let mut arguments: Vec<OsString> = vec!["--output".into(), artifact.into()];
    arguments.extend(["--max-time", MAX_SECONDS, "--max-memory", MAX_MIB].map(Into::into));
    arguments.extend(fuel.then(|| "--fuel".into()));
    arguments.extend((!names_interpreted).then(|| "--quiet".into()));
    arguments.extend(["--".into(), program.into()]);
    match compile(&arguments)? {
        ExitCode::SUCCESS => Ok(true),
        code if code == ExitCode::from(LIMIT) => Ok(false),
        _ => Err(format!("{}: not compiled", program.display()).into()),
    }
}
