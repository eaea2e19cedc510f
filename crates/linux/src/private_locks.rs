//! Locks that open files hold on one of the guest's private files or directories ([`crate::inode`]). No other process has
//! these files, so that the process's own record locks need no note.

use std::any::Any;
use std::sync::{Arc, Weak};

use riverrun::RangeLock;
use rustix::io::Errno;

use crate::locked_ranges::LockedRanges;

/// An open file.
pub(crate) type Owner = Arc<dyn Any + Send + Sync>;

/// Locks of one kind, `flock` or `F_OFD_SETLK`: the two do not see each other.
#[derive(Debug, Default)]
pub(crate) struct PrivateLocks(Vec<(Weak<dyn Any + Send + Sync>, LockedRanges)>);

impl PrivateLocks {
    /// Sets a lock, or takes it away: `EAGAIN` if that of another open file is in the way, `ENOLCK` if there are too many.
    pub(crate) fn set(&mut self, owner: &Owner, lock: RangeLock) -> Result<(), Errno> {
        if self.in_the_way(owner, lock).is_some() {
            return Err(Errno::AGAIN);
        }
        let at = self.0.iter().position(|(held_by, _)| is(held_by, owner));
        let ranges = at.map_or_else(LockedRanges::default, |at| self.0[at].1.clone()).with(lock)?;
        if let Some(at) = at {
            self.0.swap_remove(at);
        }
        if !ranges.is_empty() {
            self.0.push((Arc::downgrade(owner), ranges));
        }
        Ok(())
    }

    /// A lock of another open file that is in the way of this one.
    pub(crate) fn in_the_way(&mut self, owner: &Owner, lock: RangeLock) -> Option<RangeLock> {
        // An open file that is gone holds nothing.
        self.0.retain(|(held_by, _)| held_by.strong_count() != 0);
        let others = self.0.iter().filter(|(held_by, _)| !is(held_by, owner));
        others.filter_map(|(_, ranges)| ranges.in_the_way(lock)).min_by_key(|held| held.start)
    }
}

fn is(held_by: &Weak<dyn Any + Send + Sync>, owner: &Owner) -> bool {
    std::ptr::addr_eq(held_by.as_ptr(), Arc::as_ptr(owner))
}

#[cfg(test)]
mod tests {
    use riverrun::LockKind;

    use super::*;

    #[test]
    fn a_lock_goes_with_its_open_file() {
        let (one, two): (Owner, Owner) = (Arc::new(1), Arc::new(2));
        let all = RangeLock { kind: LockKind::Exclusive, start: 0, last: i64::MAX };
        let mut locks = PrivateLocks::default();
        assert_eq!((locks.set(&one, all), locks.set(&two, all)), (Ok(()), Err(Errno::AGAIN)));
        assert_eq!((locks.in_the_way(&one, all), locks.in_the_way(&two, all)), (None, Some(all)));
        drop(one);
        assert_eq!((locks.set(&two, all), locks.0.len()), (Ok(()), 1));
        assert_eq!((locks.set(&two, RangeLock::NONE), locks.0.len()), (Ok(()), 0));
    }
}
