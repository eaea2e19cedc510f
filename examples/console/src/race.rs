//! How long the three take.

use std::thread;
use std::time::Duration;

use riverrun::{Error, Program};
use rustix::thread::{CpuSet, sched_getcpu, sched_setaffinity};
use rustix::time::{ClockId, clock_gettime};

use crate::console::{Console, Step};

/// What is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// The step alone, so many times.
    Steps(u64),
    /// The text, so many times.
    Pages(u64),
}

/// Lets the three do the same work at once on one processor, which shares its time between them: what slows it
/// down slows down all. Gives each one's processor time, in the order of [`Step::ALL`].
///
/// # Errors
/// If one of them traps.
pub fn race(program: &Program, text: &[u8], work: Work) -> Result<[Duration; 3], Error> {
    let mut here = CpuSet::new();
    here.set(sched_getcpu());
    let run = |step: Step| -> Result<Duration, Error> {
        // Where that cannot be done they share what there is; the clock is each thread's own.
        let _ = sched_setaffinity(None, &here);
        let mut console = Console::new(program, step, text)?;
        // What is done for the first time is decoded first.
        console.render()?;
        console.repeat(0, 1)?;
        let begin = processor_time();
        match work {
            Work::Steps(times) => drop(console.repeat(0xff_f0_a0, times)?),
            Work::Pages(times) => (0..times).try_for_each(|_| console.render())?,
        }
        Ok(processor_time().saturating_sub(begin))
    };
    let results = thread::scope(|scope| {
        let threads = Step::ALL.map(|step| scope.spawn(move || run(step)));
        threads.map(|thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    });
    let [c, assembly, host] = results;
    Ok([c?, assembly?, host?])
}

/// That this thread has used.
fn processor_time() -> Duration {
    Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).unwrap_or_default()
}
