//! Compiled code: the compiler `riverrun-compile`, a program beside this one, and the cache.

use std::ffi::OsString;
use std::fs::File;
use std::io::{Seek, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, ExitStatus, Stdio};

use crate::Result;

const COMPILER: &str = "riverrun-compile";
/// The compiler's exit status where a limit has ended it.
const LIMIT: u8 = 124;
/// What `run --compile` lets a compilation take: seconds of processor time, and memory.
const MAX_SECONDS: &str = "600";
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

/// The same, which ends with this process. It is told of the end of the thread that starts it: of the main thread here.
fn child() -> Command {
    let mut compiler = compiler();
    compiler.arg("--parent").arg(std::process::id().to_string());
    compiler
}

/// Why there is no code, where the compiler may have been ended before it could say so.
fn failure(compiler: &Command, status: ExitStatus) -> String {
    match status.code() {
        Some(_) => "not compiled".to_owned(),
        None => format!("not compiled: {}: {}", compiler.get_program().display(), riverrun::how_it_ended(status)),
    }
}

fn missing(compiler: &Command, error: &std::io::Error) -> String {
    let name = compiler.get_program().display();
    format!(
        "cannot start {name}: {error}; install it beside riverrun by cargo install --path crates/compiler (it takes LLVM 22)"
    )
}

/// Calls the compiler with these arguments and returns its output.
pub(crate) fn output(arguments: &[OsString]) -> Result<Vec<u8>> {
    let mut compiler = child();
    compiler.args(arguments).stderr(Stdio::inherit());
    let output = compiler.output().map_err(|error| missing(&compiler, &error))?;
    match output.status.success() {
        true => Ok(output.stdout),
        false => Err(failure(&compiler, output.status).into()),
    }
}

/// Becomes the compiler with these arguments.
pub(crate) fn compile(arguments: &[OsString]) -> Result<ExitCode> {
    let mut compiler = compiler();
    let error = compiler.args(arguments).exec();
    Err(missing(&compiler, &error).into())
}

/// What the compiler reads.
pub(crate) enum Source<'a> {
    /// The program's file.
    File(&'a Path),
    /// The bytes of a program that is no file as it is, because it was joined with its libraries.
    Bytes(&'a [u8]),
}

/// Compiles a program into the file `artifact`, within limits; false if it exceeds one, which the compiler has said then.
/// Given a profile, only what that has. With `is_verbose` the compiler says what is special about the code, and names
/// functions that are left to the interpreter.
pub(crate) fn compile_into(
    artifact: &Path,
    source: &Source<'_>,
    address_bits: Option<u32>,
    profile: Option<&Path>,
    fuel: bool,
    is_verbose: bool,
) -> Result<bool> {
    let mut compiler = child();
    compiler.arg("--output").arg(artifact);
    compiler.args(["--max-time", MAX_SECONDS, "--max-memory", MAX_MIB]);
    compiler.args(address_bits.iter().flat_map(|bits| ["--address-bits".to_owned(), bits.to_string()]));
    if let Some(profile) = profile {
        compiler.arg("--profile").arg(profile);
    }
    compiler.args(fuel.then_some("--fuel"));
    compiler.args((!is_verbose).then_some("--quiet"));
    match source {
        Source::File(path) => compiler.arg("--").arg(path),
        // A file, as the compiler may end without having read a pipe to its end.
        Source::Bytes(bytes) => compiler.arg("/dev/stdin").stdin(memory_file(bytes)?),
    };
    let status = compiler.status().map_err(|error| missing(&compiler, &error))?;
    match status.code() {
        Some(0) => Ok(true),
        Some(code) if code == i32::from(LIMIT) => Ok(false),
        _ => Err(failure(&compiler, status).into()),
    }
}

/// A file without a name that has this content, to be read from its beginning.
fn memory_file(content: &[u8]) -> std::io::Result<File> {
    let mut file = File::from(rustix::fs::memfd_create("program", rustix::fs::MemfdFlags::CLOEXEC)?);
    file.write_all(content)?;
    file.rewind()?;
    Ok(file)
}
