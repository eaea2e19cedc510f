//! The ranges of a file that one owner has locked: what the host's kernel has for it, so that their number has a limit, and
//! all there is of locks on the guest's private files.
//!
//! Invariant: the ranges do not overlap, and neighbours of one kind are one range.

use riverrun::{LockKind, RangeLock};
use rustix::io::Errno;

/// Ranges of one owner in one file: each takes memory of the host's kernel, and time of all that lock the file.
const MAX_RANGES: usize = 1024;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct LockedRanges(Vec<RangeLock>);

impl LockedRanges {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// A lock that keeps another owner's from being set.
    pub(crate) fn in_the_way(&self, asked: RangeLock) -> Option<RangeLock> {
        let excludes = |held: &RangeLock| match asked.kind {
            LockKind::Shared => held.kind == LockKind::Exclusive,
            LockKind::Exclusive => true,
            LockKind::Unlocked => false,
        };
        let meets = |held: &RangeLock| held.start <= asked.last && asked.start <= held.last;
        self.0.iter().filter(|held| meets(held) && excludes(held)).min_by_key(|held| held.start).copied()
    }

    /// The ranges once this lock is set, or taken away; `ENOLCK` if there would be too many.
    pub(crate) fn with(&self, lock: RangeLock) -> Result<LockedRanges, Errno> {
        let mut all = lock;
        let mut ranges = Vec::new();
        for &held in &self.0 {
            let adjoins = held.start <= lock.last.saturating_add(1) && lock.start <= held.last.saturating_add(1);
            if held.kind == lock.kind && adjoins {
                (all.start, all.last) = (all.start.min(held.start), all.last.max(held.last));
                continue;
            }
            if lock.last < held.start || held.last < lock.start {
                ranges.push(held);
                continue;
            }
            if held.start < lock.start {
                ranges.push(RangeLock { last: lock.start - 1, ..held });
            }
            if lock.last < held.last {
                ranges.push(RangeLock { start: lock.last + 1, ..held });
            }
        }
        if lock.kind != LockKind::Unlocked {
            ranges.push(all);
        }
        match ranges.len() {
            0..=MAX_RANGES => Ok(LockedRanges(ranges)),
            _ => Err(Errno::NOLCK),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lock(kind: LockKind, start: i64, last: i64) -> RangeLock {
        RangeLock { kind, start, last }
    }

    #[test]
    fn ranges_are_joined_and_cut() {
        use LockKind::{Exclusive, Shared, Unlocked};
        let after = |locks: &[RangeLock]| {
            let ranges = locks.iter().fold(LockedRanges::default(), |ranges, &lock| ranges.with(lock).unwrap());
            let mut ranges = ranges.0;
            ranges.sort_by_key(|range| range.start);
            ranges
        };
        let (low, high) = (lock(Shared, 0, 9), lock(Shared, 10, i64::MAX));
        assert_eq!(after(&[high, low]), [lock(Shared, 0, i64::MAX)]);
        assert_eq!(after(&[low, lock(Exclusive, 10, 20)]), [low, lock(Exclusive, 10, 20)]);
        assert_eq!(
            after(&[lock(Shared, 0, i64::MAX), lock(Exclusive, 5, 6)]),
            [lock(Shared, 0, 4), lock(Exclusive, 5, 6), lock(Shared, 7, i64::MAX)]
        );
        assert_eq!(after(&[low, lock(Unlocked, 3, 3)]), [lock(Shared, 0, 2), lock(Shared, 4, 9)]);
        assert_eq!(after(&[low, high, RangeLock::NONE]), []);
    }

    #[test]
    fn exclusive_locks_are_in_the_way_of_all_and_shared_ones_of_those() {
        use LockKind::{Exclusive, Shared};
        let shared = LockedRanges::default().with(lock(Shared, 10, 19)).unwrap();
        assert_eq!(shared.in_the_way(lock(Shared, 0, i64::MAX)), None);
        assert_eq!(shared.in_the_way(lock(Exclusive, 19, 19)), Some(lock(Shared, 10, 19)));
        assert_eq!(shared.in_the_way(lock(Exclusive, 20, i64::MAX)), None);
        let exclusive = LockedRanges::default().with(lock(Exclusive, 10, 19)).unwrap();
        assert_eq!(exclusive.in_the_way(lock(Shared, 0, 10)), Some(lock(Exclusive, 10, 19)));
        assert_eq!(exclusive.in_the_way(RangeLock::NONE), None);
    }

    #[test]
    fn the_number_of_ranges_is_limited() {
        let mut ranges = LockedRanges::default();
        for n in 0..MAX_RANGES as i64 {
            ranges = ranges.with(lock(LockKind::Shared, 2 * n, 2 * n)).unwrap();
        }
        assert_eq!(ranges.with(lock(LockKind::Shared, 1 << 20, 1 << 20)), Err(Errno::NOLCK));
        assert!(ranges.with(lock(LockKind::Shared, 1, 1)).is_ok());
    }
}
