//! Limits of a compilation in time and memory: a thread ends the process that exceeds one. The time is the processor's,
//! of all threads, so that a program which can be compiled can also be on a busy machine.
//!
//! LLVM cannot be stopped in the midst of its work, and aborts where it gets no memory. So nothing is refused: the thread
//! looks how much there is, and says which limit was exceeded.

use std::io::{Write, stderr};
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

use crate::LIMIT;
use crate::stats::memory;

/// Between two looks.
const INTERVAL: Duration = Duration::from_millis(20);

/// The limits that were given.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Limits {
    pub(crate) time: Option<Duration>,
    /// In bytes.
    pub(crate) memory: Option<u64>,
}

impl Limits {
    /// Watches the process from now on, if there is a limit.
    ///
    /// # Errors
    /// If there can be no further thread.
    pub(crate) fn watch(self) -> std::io::Result<()> {
        if self.time.is_none() && self.memory.is_none() {
            return Ok(());
        }
        let watch = move || {
            loop {
                std::thread::sleep(INTERVAL);
                if let Some(limit) = self.exceeded() {
                    let _ = writeln!(stderr(), "riverrun: compiling takes more than the limit of {limit}");
                    std::process::exit(LIMIT.into());
                }
            }
        };
        std::thread::Builder::new().name("limits".into()).spawn(watch).map(drop)
    }

    /// The limit that is exceeded, in words.
    fn exceeded(self) -> Option<String> {
        match (self.time, self.memory) {
            (Some(time), _) if processor_time() >= time => Some(format!("{} s of processor time", time.as_secs())),
            (_, Some(bytes)) if memory("VmRSS:") > bytes => Some(format!("{} MiB of memory", bytes >> 20)),
            _ => None,
        }
    }
}

/// What all threads of the process have taken so far.
fn processor_time() -> Duration {
    clock_gettime(ClockId::ProcessCPUTime).try_into().unwrap_or(Duration::MAX)
}
