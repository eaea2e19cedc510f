//! The compiler as a process of its own: its command line, and what it has said when it has ended.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::num::NonZero;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use riverrun_vm::AddressSpace;
use riverrun_vm::artifact::Quick;
use rustix::time::{ClockId, clock_gettime};

/// Threads of the compiler at most: there are seldom more long functions at once.
const MAX_THREADS: usize = 4;
/// What a compilation may take of memory.
const MAX_MIB: &str = "8192";
/// Makes mimalloc, the compiler's allocator, keep freed pages: the kernel would have to clear returned ones again.
const KEEP_WHAT_IS_FREED: (&str, &str) = ("MIMALLOC_PURGE_DELAY", "-1");
/// Bytes of the compiler's message that are read at most.
const MESSAGE: u64 = 4 << 10;

const SIGKILL: i32 = 9;

/// What the compiler is to do.
#[derive(Debug)]
pub(crate) struct CompilerCall<'a> {
    pub(crate) compiler: &'a Path,
    pub(crate) fuel: bool,
    pub(crate) space: AddressSpace,
    pub(crate) quick: Quick,
    pub(crate) work: u64,
    /// How long it may take. It observes that by itself, to the second.
    pub(crate) max_time: Duration,
}

impl CompilerCall<'_> {
    /// Starts the compiler, which has the lock as long as it runs, also if this process ends; with it, the file that gets its
    /// message.
    ///
    /// # Errors
    /// What went wrong, in words.
    pub(crate) fn start(
        &self,
        program: &[u8],
        profile: &Path,
        output: &Path,
        lock: Option<File>,
    ) -> Result<(Child, File), String> {
        // Files, as no process reads or writes at the other end of a pipe once this one has ended.
        let temporary = |error| format!("cannot write a temporary file: {error}");
        let input = temporary_file(program).map_err(temporary)?;
        let said = temporary_file(&[]).map_err(temporary)?;
        let mut command = Command::new(self.compiler);
        command.env(KEEP_WHAT_IS_FREED.0, KEEP_WHAT_IS_FREED.1);
        command.arg("--profile").arg(profile).arg("--output").arg(output);
        command.args(match self.quick {
            Quick::Nothing => None,
            Quick::Cold => Some("--quick=cold"),
            Quick::Most | Quick::All => Some("--quick=most"),
        });
        command.arg("--objects").arg(output.with_extension("kept"));
        command.args(["--quiet", "--threads", &threads(processors()).to_string(), "--max-memory", MAX_MIB]);
        command.args(["--max-work", &self.work.to_string(), "--max-time", &self.max_time.as_secs().max(1).to_string()]);
        command.args(["--address-bits", &self.space.bits().to_string()]);
        command.args(self.fuel.then_some("--fuel")).arg("/dev/stdin");
        // It prints nothing to its standard output.
        command
            .stdin(input)
            .stdout(lock.map_or_else(Stdio::null, Stdio::from))
            .stderr(said.try_clone().map_err(temporary)?);
        let child = command.spawn().map_err(|error| format!("cannot start {}: {error}", self.compiler.display()))?;
        Ok((child, said))
    }

    /// Whether it was successful; its status is `None` if it had to be ended.
    ///
    /// # Errors
    /// What it has said, or how it has ended.
    pub(crate) fn result(&self, status: Option<ExitStatus>, mut said: File) -> Result<(), String> {
        let name = self.compiler.display();
        match status {
            Some(status) if status.success() => Ok(()),
            Some(status) => {
                let mut message = String::new();
                // Without it, the status is all there is to say.
                let _ = said.seek(SeekFrom::Start(0)).and_then(|_| said.take(MESSAGE).read_to_string(&mut message));
                let message = message.trim().trim_start_matches("riverrun: ");
                Err(if message.is_empty() {
                    format!("{name}: {}", how_it_ended(status))
                } else {
                    format!("{name}: {message}")
                })
            }
            None => Err(format!("{name} was ended after {} s", self.max_time.as_secs_f64())),
        }
    }
}

/// How a compiler has ended that has not said why.
pub fn how_it_ended(status: ExitStatus) -> String {
    match status.signal() {
        Some(SIGKILL) => "it was killed (signal 9, SIGKILL), as Linux does where memory is short".to_owned(),
        Some(_) => format!("it was ended by {status}"),
        None => status.to_string(),
    }
}

/// How many processors this process may use.
pub(crate) fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, NonZero::get)
}

/// What all threads of this process have taken of the processor so far, and not its children.
pub(crate) fn processor_time() -> Duration {
    clock_gettime(ClockId::ProcessCPUTime).try_into().unwrap_or(Duration::MAX)
}

/// How many threads the compiler has where there are so many processors: half as many. The guest runs on the others.
fn threads(processors: usize) -> usize {
    (processors / 2).clamp(1, MAX_THREADS)
}

/// A file without a name that has this content, to be read from its beginning.
fn temporary_file(content: &[u8]) -> std::io::Result<File> {
    let mut file = tempfile::tempfile()?;
    file.write_all(content)?;
    file.seek(SeekFrom::Start(0))?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_compiler_leaves_processors_to_the_guest() {
        assert_eq!([1, 2, 3, 4, 8, 64].map(threads), [1, 1, 1, 2, 4, 4]);
    }
}
