//! The watchdog: one thread of the process that waits for deadlines and, once one has passed or an interruption is
//! requested, signals the thread that is in compiled code until it has exited.
//!
//! It sleeps until the next deadline of any machine. [`crate::Interruption`] tells it about new ones.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, OnceLock, PoisonError, Weak};
use std::task::Waker;
use std::time::Duration;

use super::clock::{NEVER, has_no_watchdog, now};
use super::requests::Requests;
use crate::sync::atomic::{AtomicU64, Ordering};
use crate::sync::{Condvar, Mutex, MutexGuard, shared};
use crate::sys;

/// Between two signals to a thread that is still in compiled code.
const PERIOD: Duration = Duration::from_millis(1);
/// A thread that enters compiled code first says so, then tests for interruptions. The watchdog may miss such a thread
/// while the store is still in the thread's store buffer, but not twice at an interval of [`PERIOD`].
const LOOKS: u8 = 2;
/// After so many signals without effect, the watchdog checks that riverrun's signal handler is still installed.
const VAIN: u32 = 5;

/// An interruption that the watchdog observes.
struct Listed {
    interruption: Weak<Requests>,
    /// How often no thread was in compiled code since the interruption was reached.
    idle: u8,
    /// Signals since it was reached.
    signals: u32,
}

shared! {
    static LIST: Mutex<Vec<Listed>> = Mutex::new(Vec::new());
    static CHANGED: Condvar = Condvar::new();
    /// When the watchdog wakes up next without being told; [`NEVER`] while it is awake.
    static NEXT_LOOK: AtomicU64 = AtomicU64::new(NEVER);
}

type List = MutexGuard<'static, Vec<Listed>>;

fn list() -> List {
    LIST.lock().unwrap_or_else(PoisonError::into_inner)
}

/// When the watchdog wakes up next without being told.
pub(crate) fn next_look() -> u64 {
    NEXT_LOOK.load(Ordering::SeqCst)
}

/// Whether the watchdog runs; it starts with the first use. A host may be unable to create a thread.
pub(crate) fn is_kept() -> bool {
    static KEPT: OnceLock<bool> = OnceLock::new();
    // A model has one among its threads.
    cfg!(loom)
        || *KEPT.get_or_init(|| {
            let is_kept = std::thread::Builder::new().name("riverrun-watch".into()).spawn(keep).is_ok();
            if !is_kept {
                has_no_watchdog();
            }
            is_kept
        })
}

/// Makes the watchdog observe an interruption, from this moment on at the latest.
pub(crate) fn look_at(interruption: &Arc<Requests>, at: u64) {
    if !is_kept() {
        return;
    }
    let mut list = list();
    if !interruption.listed.swap(true, Ordering::SeqCst) {
        list.push(Listed { interruption: Arc::downgrade(interruption), idle: 0, signals: 0 });
    }
    // Under the lock, it is either awake and looks at the list later, or sleeps until then.
    if at < next_look() {
        CHANGED.notify_one();
    }
}

fn keep() {
    let mut list = list();
    loop {
        list = look_at_all(list);
    }
}

/// Examines all interruptions, and waits until it is time to do so again.
fn look_at_all(mut list: List) -> List {
    NEXT_LOOK.store(NEVER, Ordering::SeqCst);
    let now = now();
    let soon = now + PERIOD.as_nanos() as u64;
    let mut next = NEVER;
    let mut wakers = Vec::new();
    list.retain_mut(|listed| match look(listed, now, soon, &mut wakers) {
        Some(at) => {
            next = next.min(at);
            true
        }
        None => false,
    });
    if !wakers.is_empty() {
        // Executors run code of the host, which may set deadlines. The list is examined again at once.
        drop(list);
        wakers.into_iter().for_each(wake);
        return self::list();
    }
    NEXT_LOOK.store(next, Ordering::SeqCst);
    wait(list, next)
}

/// Wakes an executor. Its panic is its own: the watchdog goes on, since all limits of time depend on it.
fn wake(waker: Waker) {
    if let Err(panic) = catch_unwind(AssertUnwindSafe(|| waker.wake())) {
        // Dropping it could panic, too.
        std::mem::forget(panic);
    }
}

/// Waits until then, or until the list changes.
#[cfg(not(loom))]
fn wait(list: List, next: u64) -> List {
    let wait = if next == NEVER { Duration::MAX } else { Duration::from_nanos(next.saturating_sub(now())) };
    match CHANGED.wait_timeout(list, wait.min(Duration::from_secs(3600))) {
        Ok((list, _)) => list,
        Err(poisoned) => poisoned.into_inner().0,
    }
}

/// Examines an interruption. Returns when to examine it again, if at all.
fn look(listed: &mut Listed, now: u64, soon: u64, wakers: &mut Vec<Waker>) -> Option<u64> {
    let interruption = listed.interruption.upgrade()?;
    let ahead = interruption.moment_ahead_of(now);
    if interruption.is_reached() {
        wakers.extend(interruption.take_waker());
    }
    if interruption.must_exit() {
        interruption.ask();
        let thread = interruption.entry_guard().thread_inside();
        if thread != 0 {
            listed.idle = 0;
            listed.signals += 1;
            if listed.signals.is_multiple_of(VAIN) {
                sys::renew_interrupt_handler();
            }
            sys::interrupt_thread(thread);
            return Some(soon);
        }
        listed.idle += 1;
        if listed.idle < LOOKS {
            return Some(soon);
        }
    }
    (listed.idle, listed.signals) = (0, 0);
    if ahead.is_none() {
        // A thread that sets a moment now calls `look_at`: `NEXT_LOOK` is still `NEVER`.
        interruption.listed.store(false, Ordering::SeqCst);
    }
    ahead
}

#[cfg(loom)]
#[path = "watchdog_loom.rs"]
mod modelled;
#[cfg(loom)]
use modelled::wait;
#[cfg(all(loom, test))]
pub(crate) use modelled::{end, keep_until_end};
