//! Event counters (`eventfd2`): a number to which writers add, and that readers take.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use crate::call::Stop;

/// Bytes of what is read and written.
const SIZE: usize = 8;
/// The highest count.
const MOST: u64 = u64::MAX - 1;

/// An event counter.
#[derive(Debug)]
pub(crate) struct Event {
    count: Mutex<u64>,
    /// Whether each reader takes one.
    is_semaphore: bool,
    /// Counts what has been done with it.
    activity: AtomicU64,
}

/// One while it is saved.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct SavedEvent {
    count: u64,
    is_semaphore: bool,
}

impl Event {
    pub(crate) fn new(count: u64, is_semaphore: bool) -> Event {
        Event { count: Mutex::new(count), is_semaphore, activity: AtomicU64::new(0) }
    }

    pub(crate) fn save(&self) -> SavedEvent {
        SavedEvent { count: self.count(), is_semaphore: self.is_semaphore }
    }

    pub(crate) fn from_saved(saved: SavedEvent) -> Event {
        Event::new(saved.count.min(MOST), saved.is_semaphore)
    }

    fn count(&self) -> u64 {
        *self.count.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set(&self, count: u64) {
        *self.count.lock().unwrap_or_else(PoisonError::into_inner) = count;
        self.activity.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn activity(&self) -> u64 {
        self.activity.load(Ordering::Relaxed)
    }

    pub(crate) fn is_readable(&self) -> bool {
        self.count() != 0
    }

    pub(crate) fn is_writable(&self) -> bool {
        self.count() < MOST
    }

    /// Takes the count, or one of it; `EAGAIN` if it is zero.
    pub(crate) fn read(&self, buffer: &mut [u8]) -> Result<usize, Stop> {
        let place = buffer.get_mut(..SIZE).ok_or(Errno::INVAL)?;
        let count = self.count();
        let taken = match (count, self.is_semaphore) {
            (0, _) => return Err(Errno::AGAIN.into()),
            (_, true) => 1,
            (count, false) => count,
        };
        place.copy_from_slice(&taken.to_le_bytes());
        self.set(count - taken);
        Ok(SIZE)
    }

    /// Adds to the count; `EAGAIN` if it has no room for that.
    pub(crate) fn write(&self, bytes: &[u8]) -> Result<usize, Stop> {
        let bytes = bytes.first_chunk::<SIZE>().ok_or(Errno::INVAL)?;
        let added = u64::from_le_bytes(*bytes);
        if added > MOST {
            return Err(Errno::INVAL.into());
        }
        let count = self.count().checked_add(added).filter(|&count| count <= MOST).ok_or(Errno::AGAIN)?;
        self.set(count);
        Ok(SIZE)
    }
}
