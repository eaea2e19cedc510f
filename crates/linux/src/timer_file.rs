//! Timers that are files (`timerfd`): a reader takes how often one has ended.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use crate::call::Stop;
use crate::countdown::{Clock, Countdown};

/// Bytes of what is read.
const SIZE: usize = 8;

/// A timer that is a file.
#[derive(Debug)]
pub(crate) struct TimerFile {
    state: Mutex<SavedTimerFile>,
    /// Counts what has been done with it.
    activity: AtomicU64,
}

/// One while it is saved.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct SavedTimerFile {
    pub(crate) clock: Clock,
    pub(crate) countdown: Countdown,
    /// Ends that were not read.
    ends: u64,
}

impl TimerFile {
    /// One that is not set.
    pub(crate) fn new(clock: Clock) -> TimerFile {
        TimerFile::from_saved(SavedTimerFile { clock, countdown: Countdown::default(), ends: 0 })
    }

    /// Sets it; what it was before.
    pub(crate) fn set(&self, countdown: Countdown) -> Countdown {
        let mut state = self.state();
        state.ends = 0;
        self.activity.fetch_add(1, Ordering::Relaxed);
        std::mem::replace(&mut state.countdown, countdown)
    }

    pub(crate) fn from_saved(saved: SavedTimerFile) -> TimerFile {
        TimerFile { state: Mutex::new(saved), activity: AtomicU64::new(0) }
    }

    pub(crate) fn save(&self) -> SavedTimerFile {
        *self.state()
    }

    fn state(&self) -> MutexGuard<'_, SavedTimerFile> {
        // No operation on the state panics between two changes of it.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn activity(&self) -> u64 {
        self.activity.load(Ordering::Relaxed)
    }

    pub(crate) fn is_readable(&self) -> bool {
        self.state().ends != 0
    }

    /// Takes how often it has ended; `EAGAIN` if it has not.
    pub(crate) fn read(&self, buffer: &mut [u8]) -> Result<usize, Stop> {
        let place = buffer.get_mut(..SIZE).ok_or(Errno::INVAL)?;
        let mut state = self.state();
        if state.ends == 0 {
            return Err(Errno::AGAIN.into());
        }
        place.copy_from_slice(&std::mem::take(&mut state.ends).to_le_bytes());
        Ok(SIZE)
    }

    /// Counts ends up to this uptime: returns whether it can be read now and could not before, and when the next one is.
    pub(crate) fn look(&self, uptime: Duration) -> (bool, Option<Duration>) {
        let mut state = self.state();
        let (ends, was_readable) = (state.countdown.expire(uptime), state.ends != 0);
        state.ends = state.ends.saturating_add(ends);
        let is_news = ends != 0 && !was_readable;
        if is_news {
            self.activity.fetch_add(1, Ordering::Relaxed);
        }
        (is_news, state.countdown.at)
    }
}
