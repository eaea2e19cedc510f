//! Locks on ranges of a file that an open file description holds (`F_OFD_SETLK`), not a process: machines of one process
//! exclude each other by them. The Linux personality keeps the locks of its guests so.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

/// Whom a lock on a range keeps out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockKind {
    /// Exclusive locks of others.
    Shared,
    /// All locks of others.
    Exclusive,
    /// Nobody: there is no lock.
    Unlocked,
}

/// A lock on the bytes from `start` to `last`, which is `i64::MAX` for all that may come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RangeLock {
    /// Whom it keeps out.
    pub kind: LockKind,
    /// The first byte.
    pub start: i64,
    /// The last byte.
    pub last: i64,
}

impl RangeLock {
    /// No lock on any byte.
    pub const NONE: RangeLock = RangeLock { kind: LockKind::Unlocked, start: 0, last: i64::MAX };
}

/// Sets a lock of the open file, or takes it away, and never waits.
///
/// # Errors
/// `EAGAIN` or `EACCES` if a lock of another owner is in the way; `EBADF` if the file is not open for reading (shared
/// locks) or writing (exclusive ones).
pub fn set_range_lock(file: BorrowedFd<'_>, lock: RangeLock) -> io::Result<()> {
    control(file, libc::F_OFD_SETLK, lock).map(drop)
}

/// A lock of another owner that is in the way of this one, and the kernel's number of its process: -1 if an open file holds
/// it.
///
/// # Errors
/// Those of the file system.
pub fn range_lock_in_the_way(file: BorrowedFd<'_>, lock: RangeLock) -> io::Result<Option<(RangeLock, i32)>> {
    let found = control(file, libc::F_OFD_GETLK, lock)?;
    let kind = match i32::from(found.l_type) {
        libc::F_RDLCK => LockKind::Shared,
        libc::F_WRLCK => LockKind::Exclusive,
        _ => return Ok(None),
    };
    let last = match found.l_len {
        0 => i64::MAX,
        len => found.l_start.saturating_add(len - 1),
    };
    Ok(Some((RangeLock { kind, start: found.l_start, last }, found.l_pid)))
}

fn control(file: BorrowedFd<'_>, command: libc::c_int, lock: RangeLock) -> io::Result<libc::flock> {
    let kind = match lock.kind {
        LockKind::Shared => libc::F_RDLCK,
        LockKind::Exclusive => libc::F_WRLCK,
        LockKind::Unlocked => libc::F_UNLCK,
    };
    let len = match lock.last {
        i64::MAX => 0,
        last => last.wrapping_sub(lock.start).wrapping_add(1),
    };
    let mut lock = libc::flock {
        l_type: kind as libc::c_short,
        l_whence: libc::SEEK_SET as libc::c_short,
        l_start: lock.start,
        l_len: len,
        l_pid: 0,
    };
    // SAFETY: both commands take the address of a `flock`, which the kernel reads, and writes at most, during the call.
    match unsafe { libc::fcntl(file.as_raw_fd(), command, &raw mut lock) } {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(lock),
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::os::fd::AsFd;

    use super::*;

    #[test]
    fn open_files_of_one_process_exclude_each_other() {
        let one = tempfile::NamedTempFile::new().unwrap();
        let two = File::options().read(true).write(true).open(one.path()).unwrap();
        let (one, two) = (one.as_file().as_fd(), two.as_fd());
        let lock = |kind, start, last| RangeLock { kind, start, last };
        set_range_lock(one, lock(LockKind::Exclusive, 10, 19)).unwrap();
        set_range_lock(one, lock(LockKind::Shared, 100, i64::MAX)).unwrap();
        let found = |asked| range_lock_in_the_way(two, asked).unwrap();
        assert_eq!(found(lock(LockKind::Shared, 19, 30)), Some((lock(LockKind::Exclusive, 10, 19), -1)));
        assert_eq!(found(lock(LockKind::Shared, 20, 1000)), None);
        assert_eq!(found(lock(LockKind::Exclusive, 20, 100)), Some((lock(LockKind::Shared, 100, i64::MAX), -1)));
        let refused = set_range_lock(two, lock(LockKind::Shared, 15, 15)).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::WouldBlock);
        set_range_lock(one, RangeLock::NONE).unwrap();
        set_range_lock(two, lock(LockKind::Exclusive, 0, i64::MAX)).unwrap();
    }
}
