//! How long things take, on a host that may be busy with others.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// The processor's time that this thread has used. While it waits for its turn, or for anything else, that stands still,
/// so that what has to end soon can be asked for that.
///
/// ```
/// let before = riverrun_testkit::processor_time();
/// std::thread::sleep(std::time::Duration::from_millis(20));
/// assert!(riverrun_testkit::processor_time() - before < std::time::Duration::from_millis(20));
/// ```
pub fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec as u32)
}
