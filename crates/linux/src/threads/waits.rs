//! How a system call waits.

use std::time::Duration;

use riverrun::PAGE_SIZE;
use rustix::io::Errno;

use super::{State, Threads};
use crate::call::{Call, Stop};
use crate::requests::{Ended, On, Resumed, Wait};

/// A mapping of which a part is made.
pub(crate) struct Begun {
    pub(crate) start: u64,
    /// Bytes from there on that have been filled.
    pub(crate) filled: u64,
}

impl Call<'_> {
    /// Waits, for this long at most. `Ok` says why the wait is over: woken, or timed out.
    ///
    /// The first time, and where the wait goes on, this is an error that the caller passes on: the call is made again when
    /// the wait has ended.
    pub(crate) fn wait(&mut self, on: On, span: Option<Duration>) -> Result<Ended, Stop> {
        let until = match self.resumed.take() {
            Some(Resumed { why: Ended::Interrupted, .. }) => return Err(Errno::INTR.into()),
            Some(Resumed { why: why @ (Ended::Woken | Ended::TimedOut), .. }) => return Ok(why),
            Some(Resumed { why: Ended::Again, until, .. }) => until,
            None if span == Some(Duration::ZERO) => return Ok(Ended::TimedOut),
            None => self.end_of(span),
        };
        // One that this call has let through.
        if !self.linux.has_no_signal() {
            return Err(Errno::INTR.into());
        }
        let (place, call, done, part) = (self.place, self.number, self.done, self.part);
        Err(Stop::Wait(Wait { on, until, place, call, order: 0, done, part }))
    }

    /// Stops where the machine's time is up, having filled so much of a mapping at `start`: [`Call::begun`] tells the call
    /// when it is made again.
    pub(crate) fn pause(&self, start: u64, filled: u64) -> Stop {
        let (place, call, until) = (self.place, self.number, Some(self.uptime()));
        Stop::Wait(Wait { on: On::Time, until, place, call, order: 0, done: filled, part: start })
    }

    /// What the call had done when it paused, if it did.
    pub(crate) fn begun(&mut self) -> Option<Begun> {
        self.resumed.take()?;
        // Not bytes that it returns.
        let begun = Begun { start: std::mem::take(&mut self.part), filled: std::mem::take(&mut self.done) };
        // Saved state may say anything.
        begun.start.is_multiple_of(PAGE_SIZE).then_some(begun)
    }

    /// The uptime at which a wait of this length ends: that of the wait's beginning, if the call goes on.
    pub(crate) fn end_of(&self, span: Option<Duration>) -> Option<Duration> {
        match self.resumed {
            Some(Resumed { until, .. }) => until,
            None => Some(self.uptime().saturating_add(span?)),
        }
    }
}

impl Threads {
    /// Why the current thread's wait can never end, nor that of any other.
    pub(super) fn why_endless(&self, is_nested: bool) -> &'static str {
        let State::Waits(wait) = self.current().state else {
            return "ends the last thread that could have woken the others";
        };
        if is_nested && self.len() > 1 {
            return "waits in a call that a host function makes, while which no other thread runs";
        }
        match (wait.on, self.len()) {
            (_, 2..) => "waits for what no other thread can bring, because all of them wait",
            (On::Futex { .. }, _) => "waits for a wake-up that no other thread can give: there is none",
            (On::Signal { .. }, _) => {
                "waits for a signal that cannot come: guests get only signals that they send themselves"
            }
            (On::Files { .. }, _) => "waits for files of which none can change while the guest waits",
            (On::Time, _) => "waits for the end of time",
        }
    }
}
