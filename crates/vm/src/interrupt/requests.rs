//! What a machine is to be stopped for, and when.
//!
//! The dispatcher tests [`Requests::is_reached`] between slices. Engines exit where the watchdog asks them to by the window's
//! [`Polls`]: compiled code that does not count fuel at loops and function entries, others behind host functions, which may
//! take long. The watchdog also signals the thread that executes such code.

use std::ptr::NonNull;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::Waker;

use super::clock::{Moment, NEVER, PASSED, must_compare};
use super::entry_guard::EntryGuard;
use crate::polls::Polls;
use crate::sync::atomic::{AtomicBool, Ordering, fence};

/// Why and when a machine is to be stopped; shared between the machine, the watchdog and, as an
/// [`Interruption`](crate::Interruption), the threads that stop it.
///
/// The dispatcher tests [`is_reached`](Requests::is_reached) before it enters an engine. A thread in compiled code that
/// does not count fuel is registered at the machine's entry guard, and the watchdog signals it until it has exited
/// ([`crate::Activation`]).
#[derive(Debug)]
pub struct Requests {
    pub(super) requested: AtomicBool,
    /// When runs end.
    pub(super) deadline: Moment,
    /// When compiled code exits, so that the dispatcher can call its host.
    pub(super) alarm: Moment,
    pub(super) entry_guard: &'static EntryGuard,
    /// Whether the watchdog observes this.
    pub(crate) listed: AtomicBool,
    /// Of the machine's window, until it is dropped.
    polls: Mutex<Option<PollsPointer>>,
    /// Of the executor of a guest that waits, whose owner forgets it before it lets this go. Wakers are cloned, woken
    /// and dropped without the lock: all three run code of the host.
    waker: Mutex<Option<Waker>>,
}

impl Default for Requests {
    fn default() -> Requests {
        Requests {
            requested: AtomicBool::new(false),
            deadline: Moment::default(),
            alarm: Moment::default(),
            entry_guard: EntryGuard::acquire(),
            listed: AtomicBool::new(false),
            polls: Mutex::new(None),
            waker: Mutex::new(None),
        }
    }
}

/// The polls of a window that is alive.
#[derive(Debug)]
struct PollsPointer(NonNull<Polls>);

// SAFETY: the words are atomic, and any thread may use them.
unsafe impl Send for PollsPointer {}

impl Drop for Requests {
    fn drop(&mut self) {
        self.entry_guard.release();
    }
}

impl Requests {
    /// The machine's entry guard, which no other machine has while this lives.
    pub fn entry_guard(&self) -> &'static EntryGuard {
        self.entry_guard
    }

    /// Wakes this waker once, when the machine is to stop: for a guest that waits, which is in no engine. The watchdog
    /// may wake it, so that it must not block.
    pub fn wake_when_reached(&self, waker: &Waker) {
        if self.waker().as_ref().is_some_and(|present| present.will_wake(waker)) {
            return;
        }
        let waker = waker.clone();
        let replaced = self.waker().replace(waker);
        drop(replaced);
    }

    fn waker(&self) -> MutexGuard<'_, Option<Waker>> {
        self.waker.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Drops the waker: the guest does not wait any more.
    pub fn forget_waker(&self) {
        drop(self.take_waker());
    }

    /// The waker that is to be woken, which is not there any more then.
    pub(super) fn take_waker(&self) -> Option<Waker> {
        self.waker().take()
    }

    /// Has the watchdog ask the engine on this window to exit, too.
    ///
    /// # Safety
    /// The polls' window is alive until [`Requests::forget_polls`].
    pub unsafe fn lead_to(&self, polls: &Polls) {
        *self.polls() = Some(PollsPointer(NonNull::from(polls)));
    }

    /// Ends what [`Requests::lead_to`] has begun: the watchdog uses the window no more.
    pub fn forget_polls(&self) {
        *self.polls() = None;
    }

    fn polls(&self) -> MutexGuard<'_, Option<PollsPointer>> {
        self.polls.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks the engine to exit.
    pub(super) fn ask(&self) {
        if let Some(PollsPointer(polls)) = &*self.polls() {
            // SAFETY: the window is alive until it is taken out, for which the lock is needed.
            unsafe { polls.as_ref() }.ask();
        }
    }

    /// Makes the words ready for a run that has nothing to exit for so far: what engines were asked for has been taken back
    /// meanwhile. Where there is no watchdog that asks later, engines exit each time.
    pub fn renew_polls(&self, polls: &Polls) {
        if must_compare() && (self.deadline.get() != NEVER || self.alarm.get() != NEVER) {
            polls.ask_often();
        } else if polls.are_asked() {
            polls.clear();
        }
    }

    /// Takes the request back.
    pub fn withdraw(&self) {
        self.requested.store(false, Ordering::SeqCst);
        self.renew_entry_guard();
    }

    /// Makes calls test for interruptions exactly if one is pending. Requests of other threads are read last, so that none
    /// made meanwhile is lost.
    pub fn renew_entry_guard(&self) {
        if self.entry_guard.is_wanted() {
            self.entry_guard.want(false);
        }
        fence(Ordering::SeqCst);
        let at = self.deadline.get();
        if self.requested.load(Ordering::SeqCst) || at == PASSED || at != NEVER && must_compare() {
            self.entry_guard.want(true);
        }
    }

    /// The flag that a request sets.
    pub fn requested(&self) -> &AtomicBool {
        &self.requested
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
            self.entry_guard.want(true);
        }
        let (_, alarm) = self.alarm.mark(now);
        deadline.into_iter().chain(alarm).min()
    }
}
