//! Stopping a machine from outside: by another thread's request, or by a deadline.
//!
//! The dispatcher and the interpreter test [`Interruption::is_reached`]. Compiled code that does not count fuel tests
//! nothing; the watchdog signals the thread that executes it.

use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::task::Waker;
use std::time::Instant;

use super::gate::Gate;
use super::watchdog;
use crate::sync::atomic::{AtomicBool, AtomicU64, Ordering, fence};

/// The zero of the clock of deadlines, which counts nanoseconds.
static EPOCH: LazyLock<Instant> = LazyLock::new(Instant::now);

/// What the clock of deadlines says.
#[cfg(not(loom))]
pub(crate) fn now() -> u64 {
    nanoseconds(Instant::now())
}

/// In a model, time passes as it is looked at.
#[cfg(loom)]
pub(crate) fn now() -> u64 {
    loom::lazy_static! { static ref CLOCK: AtomicU64 = AtomicU64::new(1); }
    CLOCK.fetch_add(1, Ordering::SeqCst)
}

/// Requests to stop a machine, shared between the machine and the threads that stop it.
///
/// The dispatcher tests [`is_reached`](Interruption::is_reached) before it enters an engine, and the interpreter while it
/// runs. A thread in compiled code that does not count fuel is registered at the machine's entry guard, and the watchdog
/// signals it until it has exited ([`crate::Running`]).
#[derive(Debug)]
pub struct Interruption {
    requested: AtomicBool,
    /// When runs end.
    deadline: Moment,
    /// When compiled code exits, so that the dispatcher can call its host.
    alarm: Moment,
    gate: &'static Gate,
    /// Whether the watchdog observes this.
    pub(crate) listed: AtomicBool,
    /// Of the executor of a guest that waits.
    waker: Mutex<Option<Waker>>,
}

pub(crate) const NEVER: u64 = u64::MAX;
const PASSED: u64 = 0;

/// A moment that the watchdog marks once it has passed: nanoseconds since [`EPOCH`], or [`NEVER`] or [`PASSED`].
#[derive(Debug)]
struct Moment(AtomicU64);

impl Default for Moment {
    /// Never.
    fn default() -> Moment {
        Moment(AtomicU64::new(NEVER))
    }
}

impl Moment {
    /// Sets it; returns the word that is there now.
    fn set(&self, at: u64) -> u64 {
        let at = if at != NEVER && at <= now() { PASSED } else { at };
        self.0.store(at, Ordering::SeqCst);
        at
    }

    /// Whether it has passed. The clock is read only if there is no watchdog.
    #[inline]
    fn is_past(&self) -> bool {
        let at = self.0.load(Ordering::Relaxed);
        at != NEVER && Self::was(at)
    }

    #[cold]
    fn was(at: u64) -> bool {
        at == PASSED || !watchdog::is_kept() && now() >= at
    }

    /// Marks it as passed if it has: returns whether it was marked. The second is the moment if it is still ahead.
    fn mark(&self, now: u64) -> (bool, Option<u64>) {
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

impl Default for Interruption {
    fn default() -> Interruption {
        Interruption {
            requested: AtomicBool::new(false),
            deadline: Moment::default(),
            alarm: Moment::default(),
            gate: Gate::take(),
            listed: AtomicBool::new(false),
            waker: Mutex::new(None),
        }
    }
}

impl Drop for Interruption {
    fn drop(&mut self) {
        self.gate.give_back();
    }
}

/// Converts a moment to the clock of deadlines, in nanoseconds; at least 1.
pub(crate) fn nanoseconds(moment: Instant) -> u64 {
    u64::try_from(moment.saturating_duration_since(*EPOCH).as_nanos()).unwrap_or(NEVER - 1).clamp(1, NEVER - 1)
}

impl Interruption {
    /// The machine's entry guard, which no other machine has while this lives.
    pub fn gate(&self) -> &'static Gate {
        self.gate
    }

    /// Stops the machine's present run within milliseconds, or its next one.
    pub fn request(self: &Arc<Self>) {
        self.requested.store(true, Ordering::SeqCst);
        self.gate.want(true);
        watchdog::look_at(self, PASSED);
        self.take_waker().into_iter().for_each(Waker::wake);
    }

    /// Wakes this waker once, when the machine is to stop: for a guest that waits, which is in no engine.
    pub fn wake_when_reached(&self, waker: &Waker) {
        let mut present = self.waker.lock().unwrap_or_else(PoisonError::into_inner);
        match &mut *present {
            Some(present) => present.clone_from(waker),
            none => *none = Some(waker.clone()),
        }
    }

    /// The waker that is to be woken, which is not there any more then.
    pub(super) fn take_waker(&self) -> Option<Waker> {
        self.waker.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Takes the request back.
    pub fn withdraw(&self) {
        self.requested.store(false, Ordering::SeqCst);
        self.renew_gate();
    }

    /// Makes calls test for interruptions exactly if one is pending. Requests of other threads are read last, so that none
    /// made meanwhile is lost.
    pub fn renew_gate(&self) {
        if self.gate.is_wanted() {
            self.gate.want(false);
        }
        fence(Ordering::SeqCst);
        let at = self.deadline.0.load(Ordering::SeqCst);
        if self.requested.load(Ordering::SeqCst) || at == PASSED || at != NEVER && !watchdog::is_kept() {
            self.gate.want(true);
        }
    }

    /// The flag that a request sets.
    pub fn requested(&self) -> &AtomicBool {
        &self.requested
    }

    /// Stops runs from this moment on; `None` for never. If it has already passed, the next run does not begin.
    pub fn set_deadline(self: &Arc<Self>, deadline: Option<Instant>) {
        self.set_deadline_at(deadline.map_or(NEVER, nanoseconds));
    }

    /// The same by the clock of deadlines.
    pub(crate) fn set_deadline_at(self: &Arc<Self>, at: u64) {
        let at = self.deadline.set(at);
        self.renew_gate();
        self.tell_of(at);
    }

    /// Has compiled code exit from this moment on, at which the run does not end; `None` for never.
    pub fn set_alarm(self: &Arc<Self>, alarm: Option<Instant>) {
        let at = self.alarm.set(alarm.map_or(NEVER, nanoseconds));
        self.tell_of(at);
    }

    /// Tells the watchdog of a moment. One that has passed already matters to it if a run is under way.
    fn tell_of(self: &Arc<Self>, at: u64) {
        if at < watchdog::next_look() || !self.listed.load(Ordering::SeqCst) && at != NEVER {
            watchdog::look_at(self, at);
        }
    }

    /// Whether the run must end. Costs two loads.
    #[inline]
    pub fn is_reached(&self) -> bool {
        self.requested.load(Ordering::Relaxed) || self.deadline.is_past()
    }

    /// Whether compiled code must exit: the run must end, or an alarm's moment has come.
    #[inline]
    pub fn must_exit(&self) -> bool {
        self.is_reached() || self.is_alarm_past()
    }

    /// Whether the alarm's moment has come.
    #[inline]
    pub fn is_alarm_past(&self) -> bool {
        self.alarm.is_past()
    }

    /// Marks moments that have passed; returns the first that is still ahead.
    pub(crate) fn moment_ahead_of(&self, now: u64) -> Option<u64> {
        let (passes, deadline) = self.deadline.mark(now);
        if passes {
            self.gate.want(true);
        }
        let (_, alarm) = self.alarm.mark(now);
        deadline.into_iter().chain(alarm).min()
    }

    /// Whether compiled code can be interrupted: whether the watchdog runs.
    pub fn is_watched(&self) -> bool {
        watchdog::is_kept()
    }
}
