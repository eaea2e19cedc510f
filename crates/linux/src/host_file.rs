//! Regular files of the host. Calls on them test the machine's deadline between bounded pieces of work, and respect the
//! limit on a file's size.

use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use rustix::fs::{CWD, FallocateFlags, Mode, OFlags, SeekFrom, fallocate, fcntl_setfl, fstat, ftruncate, openat, seek};
use rustix::io::{Errno, pread, pwrite, read, write};
use rustix::process::{Resource, getrlimit};

use crate::abi::open;
use crate::call::{Patience, Stop};
use crate::file_systems::Place;
use crate::grant::DirAccess;
use crate::guest_path::GuestPath;
use crate::locked_ranges::LockedRanges;
use crate::transfer::{STEP, in_steps, position};

/// Bytes that are allocated between two tests of the deadline.
const ALLOCATION_STEP: u64 = 8 << 20;
/// Bytes that are freed between two tests of the deadline.
const TRUNCATION_STEP: u64 = 32 << 20;
/// The maximal number of steps in which space is freed: sparse files can be much larger than their contents.
const MAX_TRUNCATIONS: u64 = 4096;

pub(crate) struct HostFile {
    pub(crate) fd: OwnedFd,
    /// Of the granted directory that it lies in.
    pub(crate) access: DirAccess,
    pub(crate) limit: SizeLimit,
    /// The name by which it was opened.
    pub(crate) path: GuestPath,
    /// The `O_SYNC` and `O_DSYNC` that it was opened with.
    pub(crate) sync: u32,
    /// What of it `F_OFD_SETLK` has locked.
    pub(crate) locked: Mutex<LockedRanges>,
}

/// The size in bytes that files may be given (`RLIMIT_FSIZE`), which all files of a guest share.
#[derive(Clone, Debug)]
pub(crate) struct SizeLimit {
    most: u64,
    /// The same, or what the guest has lowered it to.
    lowered: Arc<AtomicU64>,
}

impl Default for SizeLimit {
    fn default() -> SizeLimit {
        SizeLimit::new(u64::MAX)
    }
}

impl SizeLimit {
    /// At most this, and never more than the host may: its kernel would answer by a signal that ends the host.
    pub(crate) fn new(bytes: u64) -> SizeLimit {
        let most = getrlimit(Resource::Fsize).current.unwrap_or(u64::MAX).min(bytes);
        SizeLimit { most, lowered: Arc::new(most.into()) }
    }

    /// What the host has set.
    pub(crate) fn most(&self) -> u64 {
        self.most
    }

    /// Lowers it, and has it what it was at most.
    pub(crate) fn lower(&self, bytes: u64) {
        self.lowered.store(bytes.min(self.most), Ordering::Relaxed);
    }

    fn bytes(&self) -> u64 {
        self.lowered.load(Ordering::Relaxed)
    }

    /// `EFBIG` for a file of this size.
    pub(crate) fn check(&self, size: u64) -> Result<(), Stop> {
        match size <= self.bytes() {
            true => Ok(()),
            false => Err(Errno::FBIG.into()),
        }
    }

    /// What of `bytes` may be written; `EFBIG` if nothing may. `at` is where, if not at the file's own position.
    pub(crate) fn allowed<'b>(
        &self,
        fd: impl AsFd,
        bytes: &'b [u8],
        at: Option<u64>,
        appends: bool,
    ) -> Result<&'b [u8], Stop> {
        if self.bytes() == u64::MAX || bytes.is_empty() {
            return Ok(bytes);
        }
        let start = match at {
            _ if appends => fstat(fd)?.st_size as u64,
            Some(at) => at,
            None => seek(fd, SeekFrom::Current(0))?,
        };
        Ok(&bytes[..bytes.len().min(self.room(start)?)])
    }

    /// Bytes that may be written behind a position; `EFBIG` if there are none.
    pub(crate) fn room(&self, start: u64) -> Result<usize, Stop> {
        self.check(start.saturating_add(1))?;
        Ok(usize::try_from(self.bytes().saturating_sub(start)).unwrap_or(usize::MAX))
    }
}

impl HostFile {
    /// Opens the same file again, whatever has its name now, with a position of its own and flags as `openat` takes them.
    pub(crate) fn reopen(&self, flags: u32, patience: Patience<'_>) -> Result<HostFile, Stop> {
        let flags = if flags & open::PATH != 0 { 0 } else { flags };
        let truncates = flags & open::TRUNCATE != 0;
        let access = match flags & open::ACCESS_MODE {
            0 => OFlags::RDONLY,
            open::WRITE_ONLY => OFlags::WRONLY,
            open::READ_WRITE => OFlags::RDWR,
            _ => return Err(Errno::INVAL.into()),
        };
        if self.access == DirAccess::ReadOnly && (truncates || access != OFlags::RDONLY) {
            return Err(Errno::ROFS.into());
        }
        let path = format!("/proc/self/fd/{}", self.fd.as_raw_fd());
        let open = |access: OFlags| -> Result<HostFile, Stop> {
            let fd = openat(CWD, &path, access | OFlags::CLOEXEC | OFlags::NONBLOCK, Mode::empty())?;
            // The host may have something else there.
            if Place::of(&fd)?.identity != Place::of(&self.fd)?.identity {
                return Err(Errno::NOENT.into());
            }
            let (limit, path) = (self.limit.clone(), self.path.clone());
            let (access, sync) = (self.access, flags & open::SYNC);
            Ok(HostFile { fd, access, limit, path, sync, locked: Mutex::default() })
        };
        if truncates {
            open(OFlags::WRONLY)?.set_size(0, patience)?;
        }
        let passed = [(open::APPEND, OFlags::APPEND), (open::SYNC, OFlags::SYNC), (open::DATA_SYNC, OFlags::DSYNC)];
        open(passed.into_iter().filter(|(flag, _)| flags & flag == *flag).fold(access, |all, (_, flag)| all | flag))
    }

    /// Reads at the file's position, or `at` another.
    pub(crate) fn read(&self, buffer: &mut [u8], at: Option<u64>, patience: Patience<'_>) -> Result<usize, Stop> {
        in_steps(buffer.len(), STEP, patience, |range| {
            let start = range.start as u64;
            Ok(match at {
                Some(at) => pread(&self.fd, &mut buffer[range], position(at, start)?)?,
                None => read(&self.fd, &mut buffer[range])?,
            })
        })
    }

    /// Writes at the file's position, or `at` another; at its end if it `appends`.
    pub(crate) fn write(
        &self,
        bytes: &[u8],
        at: Option<u64>,
        appends: bool,
        patience: Patience<'_>,
    ) -> Result<usize, Stop> {
        let bytes = self.limit.allowed(&self.fd, bytes, at, appends)?;
        in_steps(bytes.len(), STEP, patience, |range| {
            let start = range.start as u64;
            Ok(match at {
                Some(at) => pwrite(&self.fd, &bytes[range], position(at, start)?)?,
                None => write(&self.fd, &bytes[range])?,
            })
        })
    }

    /// Writes what a mapping of the file has, which lies within it.
    pub(crate) fn write_mapped(&self, bytes: &[u8], at: u64, appends: bool) -> Result<(), Stop> {
        if self.limit.allowed(&self.fd, bytes, Some(at), false)?.len() < bytes.len() {
            return Err(Errno::FBIG.into());
        }
        // Else the host's kernel would write at the end.
        if appends {
            fcntl_setfl(&self.fd, OFlags::empty())?;
        }
        let done = self.write_all(bytes, at);
        if appends {
            fcntl_setfl(&self.fd, OFlags::APPEND)?;
        }
        done
    }

    fn write_all(&self, mut bytes: &[u8], mut at: u64) -> Result<(), Stop> {
        while !bytes.is_empty() {
            let written = pwrite(&self.fd, bytes, at)?;
            bytes = &bytes[written..];
            at += written as u64;
        }
        Ok(())
    }

    /// Gives the file this size.
    pub(crate) fn set_size(&self, size: u64, patience: Patience<'_>) -> Result<(), Stop> {
        let status = fstat(&self.fd)?;
        let old = status.st_size as u64;
        if size > old {
            self.limit.check(size)?;
        }
        let step = TRUNCATION_STEP.max(old.saturating_sub(size) / MAX_TRUNCATIONS);
        let mut left = old;
        while is_large(&status) && left.saturating_sub(size) > step {
            left -= step;
            ftruncate(&self.fd, left)?;
            patience.check()?;
        }
        Ok(ftruncate(&self.fd, size)?)
    }

    /// Takes space for `len` bytes.
    pub(crate) fn allocate(
        &self,
        flags: FallocateFlags,
        at: u64,
        len: u64,
        patience: Patience<'_>,
    ) -> Result<(), Stop> {
        let end = at.checked_add(len).filter(|&end| i64::try_from(end).is_ok()).ok_or(Errno::FBIG)?;
        if len == 0 {
            return Err(Errno::INVAL.into());
        }
        self.limit.check(end)?;
        let mut at = at;
        while at < end {
            patience.check()?;
            let part = ALLOCATION_STEP.min(end - at);
            fallocate(&self.fd, flags, at, part)?;
            at += part;
        }
        Ok(())
    }
}

/// Whether the file has so much space that giving it back takes time.
pub(crate) fn is_large(status: &rustix::fs::Stat) -> bool {
    const BLOCK: u64 = 512;
    (status.st_blocks as u64).saturating_mul(BLOCK) > TRUNCATION_STEP
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicBool;

    fn file() -> HostFile {
        let fd = tempfile::tempfile().unwrap().into();
        let (access, limit, path) = (DirAccess::ReadWrite, SizeLimit::default(), GuestPath::default());
        HostFile { fd, access, limit, path, sync: 0, locked: Mutex::default() }
    }

    #[test]
    fn space_is_taken_and_given_back_in_bounded_pieces() {
        let (never, always) = (AtomicBool::new(false), AtomicBool::new(true));
        let patient = Patience { deadline: None, interrupted: &never, alarm: None };
        let late = Patience { deadline: None, interrupted: &always, alarm: None };
        let size = |file: &HostFile| fstat(&file.fd).unwrap().st_size as u64;
        let file = file();
        const LARGE: u64 = 2 * TRUNCATION_STEP + ALLOCATION_STEP / 2;
        assert_eq!(file.allocate(FallocateFlags::empty(), 0, LARGE, late), Err(Stop::Interrupted));
        assert!(size(&file) <= ALLOCATION_STEP);
        assert_eq!(file.allocate(FallocateFlags::empty(), 0, LARGE, patient), Ok(()));
        assert_eq!(size(&file), LARGE);
        assert_eq!(file.set_size(1, late), Err(Stop::Interrupted));
        assert_eq!(size(&file), LARGE - TRUNCATION_STEP);
        assert_eq!(file.set_size(1, patient), Ok(()));
        assert_eq!(size(&file), 1);
        // Much of which is holes.
        file.set_size(1 << 43, patient).unwrap();
        file.allocate(FallocateFlags::empty(), 0, LARGE, patient).unwrap();
        assert_eq!(file.set_size(0, patient), Ok(()));
    }
}
