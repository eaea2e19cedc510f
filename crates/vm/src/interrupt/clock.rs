//! The clock of deadlines, and moments by it.

use std::sync::LazyLock;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use crate::sync::atomic::{AtomicU64, Ordering};
#[cfg(not(loom))]
use crate::sys;

/// The zero of the clock of deadlines, which counts nanoseconds.
static EPOCH: LazyLock<Instant> = LazyLock::new(Instant::now);

/// What the clock of deadlines says.
#[cfg(not(loom))]
pub fn now() -> u64 {
    nanoseconds(Instant::now())
}

/// What it said some milliseconds ago, which takes less time to know.
#[cfg(not(loom))]
pub fn coarse_now() -> u64 {
    /// The same zero by the clock of the system.
    static ZERO: LazyLock<u64> = LazyLock::new(|| sys::monotonic(false).wrapping_sub(now()));
    sys::monotonic(true).saturating_sub(*ZERO).max(1)
}

/// In a model, both are the same.
#[cfg(loom)]
pub fn coarse_now() -> u64 {
    now()
}

/// In a model, time passes as it is looked at.
#[cfg(loom)]
pub fn now() -> u64 {
    loom::lazy_static! { static ref CLOCK: AtomicU64 = AtomicU64::new(1); }
    CLOCK.fetch_add(1, Ordering::SeqCst)
}

/// Converts a moment to the clock of deadlines, in nanoseconds; at least 1.
pub fn nanoseconds(moment: Instant) -> u64 {
    u64::try_from(moment.saturating_duration_since(*EPOCH).as_nanos()).unwrap_or(NEVER - 1).clamp(1, NEVER - 1)
}

/// A moment that never comes.
pub const NEVER: u64 = u64::MAX;
/// A moment that has passed.
pub const PASSED: u64 = 0;

/// Whether moments must be compared with the clock, since no watchdog marks those that have passed.
static HAS_NO_WATCHDOG: AtomicBool = AtomicBool::new(false);

/// No watchdog marks moments.
pub(super) fn has_no_watchdog() {
    HAS_NO_WATCHDOG.store(true, Ordering::SeqCst);
}

/// Whether moments must be compared with the clock.
pub(super) fn must_compare() -> bool {
    HAS_NO_WATCHDOG.load(Ordering::SeqCst)
}

/// A moment that the watchdog marks once it has passed: nanoseconds since [`EPOCH`], or [`NEVER`] or [`PASSED`].
#[derive(Debug)]
pub(super) struct Moment(AtomicU64);

impl Default for Moment {
    /// Never.
    fn default() -> Moment {
        Moment(AtomicU64::new(NEVER))
    }
}

impl Moment {
    /// Sets it; returns the word that is there now.
    pub(super) fn set(&self, at: u64) -> u64 {
        let at = if at != NEVER && at <= now() { PASSED } else { at };
        self.0.store(at, Ordering::SeqCst);
        at
    }

    /// Sets it, and leaves it to the watchdog to mark it, also if it has passed already: the clock is not read.
    pub(super) fn set_unmarked(&self, at: u64) {
        self.0.store(at, Ordering::SeqCst);
    }

    pub(super) fn get(&self) -> u64 {
        self.0.load(Ordering::SeqCst)
    }

    /// Whether it has passed. The clock is read only if there is no watchdog.
    #[inline]
    pub(super) fn is_past(&self) -> bool {
        let at = self.0.load(Ordering::Relaxed);
        at != NEVER && Self::was(at)
    }

    #[cold]
    fn was(at: u64) -> bool {
        at == PASSED || must_compare() && now() >= at
    }

    /// Marks it as passed if it has: returns whether it was marked. The second is the moment if it is still ahead.
    pub(super) fn mark(&self, now: u64) -> (bool, Option<u64>) {
        let at = self.0.load(Ordering::SeqCst);
        let is_set = at != PASSED && at != NEVER;
        // If the exchange fails, another moment has been set, and the watchdog was told.
        let passes = is_set && at <= now;
        if passes {
            let _ = self.0.compare_exchange(at, PASSED, Ordering::SeqCst, Ordering::SeqCst);
        }
        (passes, (is_set && !passes).then_some(at))
    }
}
