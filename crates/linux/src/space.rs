//! The room that the files of the tree in memory ([`crate::tree`]) share: what they take is counted here, and more than the
//! limit is `ENOSPC`.

use std::sync::atomic::{AtomicU64, Ordering};

use rustix::io::Errno;

use crate::call::Stop;

/// Bytes that a guest's files in memory may take by default.
const DEFAULT_LIMIT: u64 = 64 << 20;

#[derive(Debug)]
pub(crate) struct Space {
    /// What the host allows.
    limit: AtomicU64,
    /// What the machine's memory has left for files, those that are there included.
    room: AtomicU64,
    used: AtomicU64,
    /// The number of the file made last.
    last_number: AtomicU64,
}

impl Default for Space {
    fn default() -> Space {
        Space {
            limit: AtomicU64::new(DEFAULT_LIMIT),
            room: AtomicU64::new(u64::MAX),
            used: AtomicU64::new(0),
            // That of what is outside of the tree.
            last_number: AtomicU64::new(1),
        }
    }
}

impl Space {
    pub(crate) fn set_limit(&self, bytes: u64) {
        self.limit.store(bytes, Ordering::Relaxed);
    }

    /// What the host allows.
    pub(crate) fn host_limit(&self) -> u64 {
        self.limit.load(Ordering::Relaxed)
    }

    /// The machine's memory has so many bytes that the guest has not mapped.
    pub(crate) fn set_room(&self, bytes: u64) {
        self.room.store(bytes, Ordering::Relaxed);
    }

    /// Bytes that files may take together.
    pub(crate) fn limit(&self) -> u64 {
        self.host_limit().min(self.room.load(Ordering::Relaxed))
    }

    pub(crate) fn used(&self) -> u64 {
        self.used.load(Ordering::Relaxed)
    }

    /// A number that no other file has.
    pub(crate) fn next_number(&self) -> u64 {
        self.last_number.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// The number of the file made last.
    pub(crate) fn last_number(&self) -> u64 {
        self.last_number.load(Ordering::Relaxed)
    }

    /// Later files get numbers behind this one.
    pub(crate) fn set_last_number(&self, number: u64) {
        self.last_number.store(number, Ordering::Relaxed);
    }

    /// Reserves bytes; `ENOSPC` if that would exceed the limit.
    pub(crate) fn reserve(&self, bytes: u64) -> Result<(), Stop> {
        let used = self.used();
        match used.checked_add(bytes) {
            Some(new) if new <= self.limit() => {
                self.used.store(new, Ordering::Relaxed);
                Ok(())
            }
            _ => Err(Errno::NOSPC.into()),
        }
    }

    /// Releases bytes that [`Space::reserve`] has reserved.
    pub(crate) fn release(&self, bytes: u64) {
        self.used.fetch_sub(bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smaller_of_both_limits_holds() {
        let space = Space::default();
        space.set_limit(100);
        assert_eq!(space.reserve(101), Err(Errno::NOSPC.into()));
        assert_eq!(space.reserve(60), Ok(()));
        space.set_room(70);
        assert_eq!(space.reserve(11), Err(Errno::NOSPC.into()));
        assert_eq!(space.reserve(u64::MAX), Err(Errno::NOSPC.into()));
        space.release(60);
        assert_eq!((space.reserve(70), space.used()), (Ok(()), 70));
    }
}
