//! Measuring time on a host that may be busy with other processes.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// The processor time that this thread has used. It does not advance while the thread waits, so tests can assert that work
/// ends soon even on a busy host.
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
