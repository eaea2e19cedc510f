//! The record locks that the guest's process holds on files of the host (`F_SETLK`).
//!
//! The host's process is that of all its machines, so each file has a *holder* here: a descriptor of the host that is this
//! guest's alone, whose open file has the guest's locks. As POSIX has it, all of them go when the guest closes any of its
//! descriptors of the file: see [`HeldLocks::closed`], which the table of descriptors calls.
//!
//! Invariant: the guest has a descriptor of each file that has a holder, so that there are no more of these than of those.

use std::os::fd::{AsFd, OwnedFd};

use riverrun::{LockKind, RangeLock, range_lock_in_the_way, set_range_lock};

use crate::abi::open;
use crate::call::{Patience, Stop};
use crate::file_systems::{Identity, Place};
use crate::host_file::HostFile;
use crate::locked_ranges::LockedRanges;
use crate::open_file::{Kind, OpenFile};

#[derive(Default)]
pub(crate) struct HeldLocks(Vec<Holder>);

struct Holder {
    file: Identity,
    fd: OwnedFd,
    /// Whether it shares its open file with the guest.
    is_duplicate: bool,
    ranges: LockedRanges,
}

impl Drop for Holder {
    fn drop(&mut self) {
        if self.is_duplicate {
            // Closing it takes no lock away.
            let _ = set_range_lock(self.fd.as_fd(), RangeLock::NONE);
        }
    }
}

impl Holder {
    /// One that can have locks of all kinds, if the file can be opened for them.
    fn new(file: &OpenFile, host: &HostFile, patience: Patience<'_>) -> Result<Holder, Stop> {
        let again = |mode| host.reopen(mode, patience).ok();
        let is_writable = file.check_writable().is_ok();
        let own = again(open::READ_WRITE).or_else(|| again(0).filter(|_| !is_writable));
        // The host has no `/proc`, or the file's permissions have changed since it was opened.
        let is_duplicate = own.is_none();
        let fd = own.map_or_else(|| rustix::io::fcntl_dupfd_cloexec(&host.fd, 0), |own| Ok(own.fd))?;
        Ok(Holder { file: Place::of(&host.fd)?.identity, fd, is_duplicate, ranges: LockedRanges::default() })
    }

    fn set(&mut self, lock: RangeLock) -> Result<(), Stop> {
        let ranges = self.ranges.with(lock)?;
        set_range_lock(self.fd.as_fd(), lock)?;
        self.ranges = ranges;
        Ok(())
    }
}

impl HeldLocks {
    fn find(&self, host: &HostFile) -> Result<Option<usize>, Stop> {
        if self.0.is_empty() {
            return Ok(None);
        }
        let identity = Place::of(&host.fd)?.identity;
        Ok(self.0.iter().position(|holder| holder.file == identity))
    }

    /// Sets a lock of the guest's process, or takes it away; `EAGAIN` or `EACCES` if another owner's is in the way.
    pub(crate) fn set(
        &mut self,
        file: &OpenFile,
        host: &HostFile,
        lock: RangeLock,
        patience: Patience<'_>,
    ) -> Result<(), Stop> {
        let Some(at) = self.find(host)? else {
            if lock.kind != LockKind::Unlocked {
                let mut holder = Holder::new(file, host, patience)?;
                holder.set(lock)?;
                self.0.push(holder);
            }
            return Ok(());
        };
        self.0[at].set(lock)?;
        if self.0[at].ranges.is_empty() {
            self.0.swap_remove(at);
        }
        Ok(())
    }

    /// A lock of another owner that is in the way of this one.
    pub(crate) fn in_the_way(
        &self,
        file: &OpenFile,
        host: &HostFile,
        lock: RangeLock,
        patience: Patience<'_>,
    ) -> Result<Option<(RangeLock, i32)>, Stop> {
        let found = match self.find(host)? {
            Some(at) => range_lock_in_the_way(self.0[at].fd.as_fd(), lock),
            // The guest's own open file may have locks, which are another owner's.
            None => range_lock_in_the_way(Holder::new(file, host, patience)?.fd.as_fd(), lock),
        };
        Ok(found?)
    }

    /// The guest has closed a descriptor of this file.
    pub(crate) fn closed(&mut self, file: &OpenFile) {
        if let Kind::Regular(host) = &file.kind
            && file.status() & open::PATH == 0
            && let Ok(Some(at)) = self.find(host)
        {
            self.0.swap_remove(at);
        }
    }

    /// Takes all locks away.
    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }
}
