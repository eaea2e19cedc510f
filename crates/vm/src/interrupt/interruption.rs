//! Stopping a machine from outside: by another thread's request, or by a deadline.

use std::ops::Deref;
use std::sync::{Arc, Weak};
use std::task::Waker;
use std::time::Instant;

use super::clock::{NEVER, PASSED, nanoseconds};
use super::requests::Requests;
use super::watchdog;
use crate::sync::atomic::Ordering;

/// The handle by which a machine's [`Requests`] are made: the watchdog is told of each.
#[derive(Clone, Debug, Default)]
pub struct Interruption(Arc<Requests>);

impl Deref for Interruption {
    type Target = Requests;

    fn deref(&self) -> &Requests {
        &self.0
    }
}

impl Interruption {
    /// Stops the machine's present run within milliseconds, or its next one.
    pub fn request(&self) {
        self.requested.store(true, Ordering::SeqCst);
        self.entry_guard.want(true);
        watchdog::look_at(&self.0, PASSED);
        self.take_waker().into_iter().for_each(Waker::wake);
    }

    /// Stops runs from this moment on; `None` for never. If it has already passed, the next run does not begin.
    pub fn set_deadline(&self, deadline: Option<Instant>) {
        self.set_deadline_at(deadline.map_or(NEVER, nanoseconds));
    }

    /// The same by the clock of deadlines.
    pub(crate) fn set_deadline_at(&self, at: u64) {
        Self::start_watchdog(at);
        let at = self.deadline.set(at);
        self.renew_entry_guard();
        self.tell_of(at);
    }

    /// Has compiled code exit from this moment on, by the clock of deadlines, at which the run does not end; [`NEVER`]
    /// for none. One that has already passed comes once the watchdog has marked it.
    pub fn set_alarm(&self, at: u64) {
        Self::start_watchdog(at);
        self.alarm.set_unmarked(at);
        self.tell_of(at);
    }

    /// Another handle, which keeps nothing and does not stop the machine.
    pub fn weak(&self) -> WeakInterruption {
        WeakInterruption(Arc::downgrade(&self.0))
    }

    /// Starts the watchdog before there is a moment to mark, or learns that there is none.
    fn start_watchdog(at: u64) {
        if at != NEVER {
            watchdog::is_kept();
        }
    }

    /// Tells the watchdog of a moment. One that has passed already matters to it if a run is under way.
    fn tell_of(&self, at: u64) {
        if at < watchdog::next_look() || !self.listed.load(Ordering::SeqCst) && at != NEVER {
            watchdog::look_at(&self.0, at);
        }
    }

    /// Whether there is another handle, by which another thread may stop the machine.
    pub fn is_shared(&self) -> bool {
        Arc::strong_count(&self.0) > 1
    }

    /// Whether compiled code can be interrupted: whether the watchdog runs.
    pub fn is_watched(&self) -> bool {
        watchdog::is_kept()
    }
}

/// A handle by which any thread has a machine look around, without stopping it.
#[derive(Clone, Debug)]
pub struct WeakInterruption(Weak<Requests>);

impl WeakInterruption {
    /// Has compiled code exit within milliseconds, as by an alarm: one that was set has to be set again.
    pub fn exit_once(&self) {
        if let Some(requests) = self.0.upgrade() {
            Interruption(requests).set_alarm(PASSED);
        }
    }

    /// Whether the machine is gone.
    pub fn is_gone(&self) -> bool {
        self.0.strong_count() == 0
    }
}
