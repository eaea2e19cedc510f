//! Limits of time on code that does not count: a thread of the process looks after all runs.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, Once, PoisonError};
use std::time::{Duration, Instant};

/// Between two looks.
const PERIOD: Duration = Duration::from_millis(2);

/// When a run is to be left, besides what its code says.
#[derive(Clone, Copy, Debug)]
pub struct Limits<'a> {
    /// Set to stop.
    pub interrupted: &'a AtomicBool,
    /// Until when.
    pub deadline: Option<Instant>,
}

impl Limits<'_> {
    /// Whether the run is to end.
    pub fn are_reached(&self) -> bool {
        self.interrupted.load(Ordering::Relaxed) || self.deadline.is_some_and(|deadline| Instant::now() >= deadline)
    }
}

/// A run that is being watched: its code is made to ask to be left once its limits are reached.
#[derive(Debug)]
pub(crate) struct Watch {
    id: *const AtomicU64,
}

struct Watched {
    stack_limit: *const AtomicU64,
    interrupted: *const AtomicBool,
    deadline: Option<Instant>,
}

// SAFETY: what is pointed to is shared by atomics only.
unsafe impl Send for Watched {}

static WATCHED: Mutex<Vec<Watched>> = Mutex::new(Vec::new());
static NOT_EMPTY: Condvar = Condvar::new();

fn watched() -> MutexGuard<'static, Vec<Watched>> {
    WATCHED.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Watch {
    /// Watches until the result is dropped. `stack_limit` is what the code compares its stack
    /// pointer with.
    pub(crate) fn begin(stack_limit: &AtomicU64, limits: Limits<'_>) -> Watch {
        static ONCE: Once = Once::new();
        ONCE.call_once(|| {
            let thread = std::thread::Builder::new().name("riverrun-watch".into()).spawn(look_after_all);
            thread.expect("the host has room for a thread");
        });
        let mut all = watched();
        all.push(Watched { stack_limit, interrupted: limits.interrupted, deadline: limits.deadline });
        if all.len() == 1 {
            NOT_EMPTY.notify_one();
        }
        Watch { id: stack_limit }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let mut all = watched();
        if let Some(index) = all.iter().rposition(|one| one.stack_limit == self.id) {
            all.swap_remove(index);
        }
    }
}

fn look_after_all() {
    let mut all = watched();
    loop {
        while all.is_empty() {
            all = NOT_EMPTY.wait(all).unwrap_or_else(PoisonError::into_inner);
        }
        for one in all.iter() {
            // SAFETY: a run outlives its watch, and what is watched leaves the list under its lock.
            let (stack_limit, interrupted) = unsafe { (&*one.stack_limit, &*one.interrupted) };
            if (Limits { interrupted, deadline: one.deadline }).are_reached() {
                stack_limit.store(u64::MAX, Ordering::Relaxed);
            }
        }
        drop(all);
        std::thread::sleep(PERIOD);
        all = watched();
    }
}
