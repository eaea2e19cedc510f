//! System calls on locks: `flock`, and those of `fcntl`.
//!
//! On files of the host they are the host's, and hold against its other processes and machines. `flock` and `F_OFD_SETLK` lock
//! the open file that the guest's descriptor stands for; `F_SETLK` has holders ([`crate::held_locks`]). On private files they
//! are notes in the inode. On other files they always succeed.
//!
//! No call waits in the host's kernel: one that is to wait asks for [`LOCKS`], and is made again a few milliseconds later.

use std::os::fd::{AsFd, BorrowedFd};
use std::sync::{Arc, PoisonError};

use riverrun::{LockKind, RangeLock, range_lock_in_the_way, set_range_lock};
use rustix::fs::{FlockOperation, fstat};
use rustix::io::Errno;

use crate::Linux;
use crate::abi::Layout;
use crate::call::{Call, Outcome, Stop};
use crate::grant::DirAccess;
use crate::inode::Inode;
use crate::locked_ranges::LockedRanges;
use crate::open_file::{Directory, DirectoryPlace, Kind, MemoryDirectory, OpenFile};
use crate::private_locks::Owner;
use crate::requests::LOCKS;

/// The whole of a file, as `flock` locks it.
fn whole(kind: LockKind) -> RangeLock {
    RangeLock { kind, ..RangeLock::NONE }
}

/// The inode of one of the guest's private files or directories.
fn private(file: &OpenFile) -> Option<&Arc<Inode>> {
    match &file.kind {
        Kind::Memory(file) => Some(&file.inode),
        Kind::Directory(Directory { place: DirectoryPlace::Memory(MemoryDirectory { inode, .. }), .. }) => Some(inode),
        _ => None,
    }
}

/// The host's file or directory, and how it is granted.
fn of_host(file: &OpenFile) -> Option<(BorrowedFd<'_>, DirAccess)> {
    match &file.kind {
        Kind::Regular(host) => Some((host.fd.as_fd(), host.access)),
        Kind::Directory(Directory { place: DirectoryPlace::Host(fd, access), .. }) => Some((fd.as_fd(), *access)),
        _ => None,
    }
}

/// The host's `flock`, which does not wait.
fn flock_host(fd: BorrowedFd<'_>, kind: LockKind) -> Result<(), Errno> {
    let operation = match kind {
        LockKind::Shared => FlockOperation::NonBlockingLockShared,
        LockKind::Exclusive => FlockOperation::NonBlockingLockExclusive,
        LockKind::Unlocked => FlockOperation::NonBlockingUnlock,
    };
    rustix::fs::flock(fd, operation)
}

pub(crate) fn flock(call: &mut Call<'_>) -> Outcome {
    const SHARED: u32 = 1;
    const EXCLUSIVE: u32 = 2;
    const NON_BLOCKING: u32 = 4;
    const UNLOCK: u32 = 8;
    let operation = call.uint(1);
    let kind = match operation & !NON_BLOCKING {
        SHARED => LockKind::Shared,
        EXCLUSIVE => LockKind::Exclusive,
        UNLOCK => LockKind::Unlocked,
        _ => return Err(Errno::INVAL.into()),
    };
    let file = call.file(0)?;
    let waits = operation & NON_BLOCKING == 0;
    if let Some((fd, access)) = of_host(&file) {
        if kind == LockKind::Exclusive && access == DirAccess::ReadOnly {
            return Err(Errno::BADF.into());
        }
        let locked = flock_host(fd, kind).map_err(Stop::from);
        call.linux.has_locked |= locked.is_ok();
        return locked.map(|()| 0).map_err(|stop| would_wait(stop, waits, LOCKS));
    }
    let Some(inode) = private(&file) else { return Ok(0) };
    let owner: Owner = file.clone();
    let mut state = inode.lock();
    // Another kind of lock takes the place of the one that the file has, or of none.
    state.flocks.set(&owner, RangeLock::NONE)?;
    let locked = state.flocks.set(&owner, whole(kind)).map_err(Stop::from);
    drop(state);
    call.linux.has_locked |= locked.is_ok();
    let streams = call.linux.brings_private_locks();
    locked.map(|()| 0).map_err(|stop| would_wait(stop, waits, streams))
}

/// Has a call wait that found a lock in its way, if it `waits`.
fn would_wait(stop: Stop, waits: bool, streams: u8) -> Stop {
    match stop {
        // Network file systems may say this.
        Stop::Errno(Errno::AGAIN | Errno::ACCESS) if waits => Stop::WouldWait { streams, span: None },
        stop => stop,
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Action {
    /// Tell what is in the way.
    Get,
    Set {
        waits: bool,
    },
}

/// `fcntl` with a command that concerns locks; `EINVAL` if it is none.
pub(crate) fn control(call: &mut Call<'_>, command: i32) -> Outcome {
    const F_GETLK: i32 = 5;
    const F_SETLK: i32 = 6;
    const F_SETLKW: i32 = 7;
    const F_OFD_GETLK: i32 = 36;
    const F_OFD_SETLK: i32 = 37;
    const F_OFD_SETLKW: i32 = 38;
    let action = match command {
        F_GETLK | F_OFD_GETLK => Action::Get,
        F_SETLK | F_OFD_SETLK => Action::Set { waits: false },
        F_SETLKW | F_OFD_SETLKW => Action::Set { waits: true },
        _ => return Err(Errno::INVAL.into()),
    };
    let is_of_file = command >= F_OFD_GETLK;
    let file = call.file(0)?;
    let asked = Asked::load(call)?;
    if action == Action::Get && asked.kind()? == LockKind::Unlocked {
        return Err(Errno::INVAL.into());
    }
    let lock = asked.of(&file)?;
    if action != Action::Get {
        match lock.kind {
            LockKind::Shared => file.check_readable()?,
            LockKind::Exclusive => file.check_writable()?,
            LockKind::Unlocked => {}
        }
    }
    if is_of_file && asked.owner != 0 {
        return Err(Errno::INVAL.into());
    }
    match action {
        Action::Get => {
            let found = in_the_way(call, &file, lock, is_of_file)?;
            store(call, found)
        }
        Action::Set { waits } => {
            let streams = if private(&file).is_some() { call.linux.brings_private_locks() } else { LOCKS };
            set(call, &file, lock, is_of_file).map(|()| 0).map_err(|stop| would_wait(stop, waits, streams))
        }
    }
}

fn set(call: &mut Call<'_>, file: &Arc<OpenFile>, lock: RangeLock, is_of_file: bool) -> Result<(), Stop> {
    match &file.kind {
        Kind::Regular(host) if is_of_file => {
            let mut ranges = host.locked.lock().unwrap_or_else(PoisonError::into_inner);
            let with = ranges.with(lock)?;
            set_range_lock(host.fd.as_fd(), lock)?;
            *ranges = with;
        }
        Kind::Regular(host) => return call.linux.descriptors.held_locks.set(file, host, lock, call.patience),
        _ if is_of_file && let Some(inode) = private(file) => {
            let owner: Owner = file.clone();
            inode.lock().range_locks.set(&owner, lock)?;
        }
        // A machine has one process, so no other one holds a lock.
        _ => return Ok(()),
    }
    call.linux.has_locked = true;
    Ok(())
}

fn in_the_way(
    call: &Call<'_>,
    file: &Arc<OpenFile>,
    lock: RangeLock,
    is_of_file: bool,
) -> Result<Option<(RangeLock, i32)>, Stop> {
    /// Who holds a lock, if that is no process.
    const OPEN_FILE: i32 = -1;
    let found = match &file.kind {
        Kind::Regular(host) if is_of_file => range_lock_in_the_way(host.fd.as_fd(), lock)?,
        Kind::Regular(host) => call.linux.descriptors.held_locks.in_the_way(file, host, lock, call.patience)?,
        _ if is_of_file && let Some(inode) = private(file) => {
            let owner: Owner = file.clone();
            inode.lock().range_locks.in_the_way(&owner, lock).map(|found| (found, OPEN_FILE))
        }
        _ => None,
    };
    // Processes outside have no number, as on Linux outside of the namespace.
    Ok(found.map(|(found, owner)| (found, owner.min(0))))
}

const READ_LOCK: u16 = 0;
const WRITE_LOCK: u16 = 1;
const NO_LOCK: u16 = 2;
const FROM_START: u16 = 0;

/// Stores the lock that was found where the call has its `struct flock`.
fn store(call: &mut Call<'_>, found: Option<(RangeLock, i32)>) -> Outcome {
    let Some((RangeLock { kind, start, last }, owner)) = found else {
        return Layout::new().u16(NO_LOCK).store(call.memory, call.args[2]);
    };
    let kind = match kind {
        LockKind::Shared => READ_LOCK,
        LockKind::Exclusive => WRITE_LOCK,
        LockKind::Unlocked => NO_LOCK,
    };
    let len = if last == i64::MAX { 0 } else { last - start + 1 };
    let layout = Layout::new().u16(kind).u16(FROM_START).zeros_to(8).i64(start).i64(len).u32(owner as u32);
    layout.store(call.memory, call.args[2])
}

/// A `struct flock` of the guest.
struct Asked {
    kind: u16,
    whence: u16,
    start: i64,
    len: i64,
    owner: u32,
}

impl Asked {
    fn load(call: &Call<'_>) -> Result<Asked, Stop> {
        let [kinds, start, len, owner] = crate::abi::load_words(call.memory, call.args[2])?;
        let (kind, whence, owner) = (kinds as u16, (kinds >> 16) as u16, owner as u32);
        Ok(Asked { kind, whence, start: start as i64, len: len as i64, owner })
    }

    fn kind(&self) -> Result<LockKind, Stop> {
        match self.kind {
            READ_LOCK => Ok(LockKind::Shared),
            WRITE_LOCK => Ok(LockKind::Exclusive),
            NO_LOCK => Ok(LockKind::Unlocked),
            _ => Err(Errno::INVAL.into()),
        }
    }

    /// The range that it means in a file.
    fn of(&self, file: &OpenFile) -> Result<RangeLock, Stop> {
        const FROM_POSITION: u16 = 1;
        const FROM_END: u16 = 2;
        let base = match self.whence {
            FROM_START => 0,
            FROM_POSITION => file.position(),
            FROM_END => size(file)?,
            _ => return Err(Errno::INVAL.into()),
        };
        let (start, last) = range(base as i64, self.start, self.len)?;
        Ok(RangeLock { kind: self.kind()?, start, last })
    }
}

/// The first and the last byte of a range of this length, which begins so far behind `base`; one of a negative length ends
/// there.
fn range(base: i64, start: i64, len: i64) -> Result<(i64, i64), Stop> {
    let start = base.checked_add(start).ok_or(Errno::OVERFLOW)?;
    if start < 0 {
        return Err(Errno::INVAL.into());
    }
    match len {
        0 => Ok((start, i64::MAX)),
        1.. => Ok((start, start.checked_add(len - 1).ok_or(Errno::OVERFLOW)?)),
        _ => match start.checked_add(len) {
            Some(first @ 0..) => Ok((first, start - 1)),
            _ => Err(Errno::INVAL.into()),
        },
    }
}

/// Where a file ends, if it has contents.
fn size(file: &OpenFile) -> Result<u64, Stop> {
    match &file.kind {
        Kind::Memory(file) => Ok(file.len()),
        Kind::Virtual(file) => file.len(),
        _ => Ok(of_host(file).map_or(Ok(0), |(fd, _)| fstat(fd).map(|status| status.st_size as u64))?),
    }
}

impl Linux {
    /// What of the host can bring a lock on a private file. Such a file may be open by a mapping alone, whose end is no
    /// change of files.
    fn brings_private_locks(&self) -> u8 {
        if self.mappings.is_empty() { 0 } else { LOCKS }
    }

    /// Takes away all locks of the guest's process, and of these open files.
    pub(crate) fn release_locks<'f>(&mut self, files: impl IntoIterator<Item = &'f Arc<OpenFile>>) {
        self.descriptors.held_locks.clear();
        if std::mem::take(&mut self.has_locked) {
            files.into_iter().for_each(release);
        }
    }

    /// Takes away all locks of the guest, which has ended.
    pub(crate) fn end_locks(&mut self) {
        let open = self.descriptors.slots.iter().flatten().map(|slot| slot.file.clone());
        let files: Vec<_> = open.chain(self.mappings.iter().map(|mapping| mapping.file.clone())).collect();
        self.release_locks(&files);
    }
}

/// Takes away the locks of an open file.
pub(crate) fn release(file: &Arc<OpenFile>) {
    if let Some((fd, _)) = of_host(file) {
        let _ = flock_host(fd, LockKind::Unlocked);
    }
    if let Kind::Regular(host) = &file.kind {
        let mut ranges = host.locked.lock().unwrap_or_else(PoisonError::into_inner);
        if !ranges.is_empty() {
            let _ = set_range_lock(host.fd.as_fd(), RangeLock::NONE);
            *ranges = LockedRanges::default();
        }
    }
    if let Some(inode) = private(file) {
        let owner: Owner = file.clone();
        let mut state = inode.lock();
        let _ = state.flocks.set(&owner, RangeLock::NONE);
        let _ = state.range_locks.set(&owner, RangeLock::NONE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_as_linux_reckons_them() {
        const END: i64 = i64::MAX;
        assert_eq!(range(100, 5, 0), Ok((105, END)));
        assert_eq!(range(100, -50, 10), Ok((50, 59)));
        assert_eq!(range(100, 0, -100), Ok((0, 99)));
        assert_eq!(range(0, END, 1), Ok((END, END)));
        for (base, start, len) in [(100, -101, 1), (100, 0, -101), (0, 0, i64::MIN)] {
            assert_eq!(range(base, start, len), Err(Errno::INVAL.into()));
        }
        for (base, start, len) in [(1, END, 0), (0, END, 2)] {
            assert_eq!(range(base, start, len), Err(Errno::OVERFLOW.into()));
        }
    }
}
