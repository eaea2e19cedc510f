//! Names and open files in the file systems that a host implements ([`crate::virtual_fs`]).
//!
//! Only this file calls a host's [`FileSystem`] and [`FileHandle`]: their answers are checked here, so that a wrong one
//! is an error of the guest's call and nothing worse.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use rustix::fs::SeekFrom;
use rustix::io::Errno;

use crate::abi::{Timespec, mode, open};
use crate::call::{Outcome, Patience, Stop};
use crate::guest_path::{GuestPath, NAME_MAX};
use crate::host_file::SizeLimit;
use crate::memory_file::Allocation;
use crate::transfer::{STEP, in_steps, position, sought};
use crate::virtual_fs::{FileHandle, FileKind, FileStatus, FileSystem};

/// A host's file system in the guest's tree.
pub(crate) struct VirtualMount {
    pub(crate) at: GuestPath,
    file_system: Arc<dyn FileSystem>,
    /// Its number as a device (`st_dev`).
    device: u64,
}

impl VirtualMount {
    pub(crate) fn new(at: GuestPath, file_system: Arc<dyn FileSystem>, device: u64) -> VirtualMount {
        VirtualMount { at, file_system, device }
    }

    /// A path within it, without links on its way.
    pub(crate) fn name(self: &Arc<VirtualMount>, path: &GuestPath) -> VirtualName {
        let within = path.names()[self.at.names().len()..].iter().collect();
        VirtualName { path: path.clone(), mount: self.clone(), within }
    }
}

impl FileKind {
    /// The type bits of a mode.
    pub(crate) fn mode(self) -> u32 {
        match self {
            FileKind::File => mode::REGULAR,
            FileKind::Directory => mode::DIRECTORY,
            FileKind::Link => mode::SYMLINK,
        }
    }
}

impl FileStatus {
    /// `EACCES` unless its owner may do all that these bits of a mode say.
    pub(crate) fn check(&self, wanted: u32) -> Result<(), Stop> {
        match self.permissions >> 6 & wanted == wanted {
            true => Ok(()),
            false => Err(Errno::ACCESS.into()),
        }
    }
}

/// A name in a host's file system, which nothing need have.
#[derive(Clone)]
pub(crate) struct VirtualName {
    pub(crate) path: GuestPath,
    mount: Arc<VirtualMount>,
    /// The path in the file system.
    within: PathBuf,
}

impl fmt::Debug for VirtualName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("VirtualName").field("path", &self.path).finish_non_exhaustive()
    }
}

impl VirtualName {
    fn file_system(&self) -> &dyn FileSystem {
        &*self.mount.file_system
    }

    /// What has the name; `ENOENT` if nothing has.
    pub(crate) fn look(&self) -> Result<FileStatus, Stop> {
        Ok(self.file_system().status(&self.within)?)
    }

    /// What has the name of an open file, whose path was resolved when it was opened: `ENOENT` if a link is on it by
    /// now, which an implementation might follow elsewhere.
    pub(crate) fn look_again(&self) -> Result<FileStatus, Stop> {
        let parents = self.within.ancestors().skip(1).filter(|path| !path.as_os_str().is_empty());
        for parent in parents {
            if self.file_system().status(parent)?.kind != FileKind::Directory {
                return Err(Errno::NOENT.into());
            }
        }
        match self.look()? {
            status if status.kind == FileKind::Link => Err(Errno::NOENT.into()),
            status => Ok(status),
        }
    }

    /// What has the name, if anything has.
    pub(crate) fn look_if_there(&self) -> Result<Option<FileStatus>, Stop> {
        match self.look() {
            Ok(status) => Ok(Some(status)),
            Err(Stop::Errno(Errno::NOENT)) => Ok(None),
            Err(stop) => Err(stop),
        }
    }

    /// `EEXIST` if something has the name.
    pub(crate) fn check_free(&self) -> Result<(), Stop> {
        match self.look_if_there()? {
            Some(_) => Err(Errno::EXIST.into()),
            None => Ok(()),
        }
    }

    /// The number of a file with this status, which no other file of the device has, and the device.
    pub(crate) fn numbers(&self, status: &FileStatus) -> (u64, u64) {
        (status.number.unwrap_or_else(|| self.path.number()), self.mount.device)
    }

    /// What a link leads to.
    pub(crate) fn target(&self) -> Result<Vec<u8>, Stop> {
        match self.file_system().read_link(&self.within)?.into_os_string().into_vec() {
            target if target.is_empty() || target.contains(&0) => Err(Errno::IO.into()),
            target => Ok(target),
        }
    }

    /// Opens the regular file that has the name, or makes it where nothing has; with flags as `openat` takes them.
    pub(crate) fn open(
        &self,
        there: Option<FileStatus>,
        flags: u32,
        permissions: u32,
        limit: SizeLimit,
    ) -> Result<VirtualFile, Stop> {
        let file = |handle| VirtualFile { name: self.clone(), handle, limit, position: Mutex::default() };
        let Some(status) = there else {
            return match flags & (open::CREATE | open::DIRECTORY) {
                open::CREATE => Ok(file(Some(self.file_system().create_file(&self.within, permissions)?))),
                0 | open::DIRECTORY => Err(Errno::NOENT.into()),
                _ => Err(Errno::ISDIR.into()),
            };
        };
        match status.kind {
            _ if flags & (open::CREATE | open::EXCLUSIVE) == open::CREATE | open::EXCLUSIVE => {
                return Err(Errno::EXIST.into());
            }
            FileKind::Link => return Err(Errno::LOOP.into()),
            FileKind::Directory => return Err(Errno::ISDIR.into()),
            FileKind::File if flags & open::DIRECTORY != 0 => return Err(Errno::NOTDIR.into()),
            FileKind::File => {}
        }
        if flags & open::PATH != 0 {
            return Ok(file(None));
        }
        let wanted = open::permissions(flags).ok_or(Errno::INVAL)?;
        status.check(wanted)?;
        let file = file(Some(self.file_system().open(&self.within, wanted & mode::WRITE != 0)?));
        if flags & open::TRUNCATE != 0 {
            file.set_size(0)?;
        }
        Ok(file)
    }

    pub(crate) fn make_directory(&self, permissions: u32) -> Result<(), Stop> {
        self.check_free()?;
        Ok(self.file_system().create_dir(&self.within, permissions)?)
    }

    pub(crate) fn make_link(&self, target: &[u8]) -> Result<(), Stop> {
        self.check_free()?;
        Ok(self.file_system().create_link(&self.within, Path::new(OsStr::from_bytes(target)))?)
    }

    /// Gives the file of this name another one, `new`.
    pub(crate) fn make_hard_link(&self, new: &VirtualName) -> Result<(), Stop> {
        let kind = self.look()?.kind;
        new.check_free()?;
        match kind {
            _ if !Arc::ptr_eq(&self.mount, &new.mount) => Err(Errno::XDEV.into()),
            FileKind::Directory => Err(Errno::PERM.into()),
            _ => Ok(self.file_system().create_hard_link(&self.within, &new.within)?),
        }
    }

    /// Takes the name away from a directory, or from something else.
    pub(crate) fn remove(&self, is_directory: bool) -> Result<(), Stop> {
        match (self.look()?.kind == FileKind::Directory, is_directory) {
            (true, false) => Err(Errno::ISDIR.into()),
            (false, true) => Err(Errno::NOTDIR.into()),
            (true, true) => Ok(self.file_system().remove_dir(&self.within)?),
            (false, false) => Ok(self.file_system().remove_file(&self.within)?),
        }
    }

    /// Moves what has this name to another, which may be that of a file or an empty directory.
    pub(crate) fn rename(&self, new: &VirtualName, replaces: bool) -> Result<(), Stop> {
        let is_directory = self.look()?.kind == FileKind::Directory;
        if !Arc::ptr_eq(&self.mount, &new.mount) {
            return Err(Errno::XDEV.into());
        }
        if self.path == new.path {
            return if replaces { Ok(()) } else { Err(Errno::EXIST.into()) };
        }
        if new.path.is_within(&self.path) {
            return Err(Errno::INVAL.into());
        }
        if let Some(there) = new.look_if_there()? {
            match (is_directory, there.kind == FileKind::Directory) {
                _ if !replaces => return Err(Errno::EXIST.into()),
                (true, false) => return Err(Errno::NOTDIR.into()),
                (false, true) => return Err(Errno::ISDIR.into()),
                _ => {}
            }
        }
        Ok(self.file_system().rename(&self.within, &new.within)?)
    }

    pub(crate) fn set_permissions(&self, permissions: u32) -> Result<(), Stop> {
        Ok(self.file_system().set_permissions(&self.within, permissions)?)
    }

    pub(crate) fn set_modified(&self, modified: Timespec) -> Result<(), Stop> {
        let time = || {
            let seconds = Duration::from_secs(modified.seconds.unsigned_abs());
            let whole = match modified.seconds >= 0 {
                true => SystemTime::UNIX_EPOCH.checked_add(seconds),
                false => SystemTime::UNIX_EPOCH.checked_sub(seconds),
            };
            whole?.checked_add(Duration::from_nanos(modified.nanoseconds.unsigned_abs()))
        };
        Ok(self.file_system().set_modified(&self.within, time().ok_or(Errno::INVAL)?)?)
    }

    /// What is in the directory of this name; `EIO` if the file system gives a name that is none.
    fn entries(&self) -> Result<Arc<[VirtualEntry]>, Stop> {
        let is_name = |name: &[u8]| {
            !matches!(name, b"" | b"." | b"..")
                && name.len() <= NAME_MAX
                && !name.iter().any(|byte| b"/\0".contains(byte))
        };
        let entries = self.file_system().entries(&self.within)?;
        match entries.iter().all(|(name, _)| is_name(name.as_bytes())) {
            true => Ok(entries.into()),
            false => Err(Errno::IO.into()),
        }
    }
}

/// A name in a directory, and what has it.
pub(crate) type VirtualEntry = (OsString, FileKind);

/// An open directory of a host's file system.
pub(crate) struct VirtualDirectory {
    pub(crate) name: VirtualName,
    reading: Mutex<Reading>,
}

/// How far a directory has been read.
#[derive(Default)]
struct Reading {
    /// What was in it when reading began.
    entries: Option<Arc<[VirtualEntry]>>,
    position: u64,
}

impl VirtualDirectory {
    pub(crate) fn new(name: VirtualName) -> VirtualDirectory {
        VirtualDirectory { name, reading: Mutex::default() }
    }

    fn lock(&self) -> MutexGuard<'_, Reading> {
        self.reading.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives entries from the position on, each with the position behind it, as long as they are taken.
    pub(crate) fn read(&self, mut take: impl FnMut(&VirtualEntry, u64) -> bool) -> Result<(), Stop> {
        let mut reading = self.lock();
        let entries = match &reading.entries {
            Some(entries) => entries.clone(),
            None => {
                self.name.look_again()?;
                self.name.entries()?
            }
        };
        reading.entries = Some(entries.clone());
        while let Some(entry) = usize::try_from(reading.position).ok().and_then(|at| entries.get(at)) {
            if !take(entry, reading.position + 1) {
                break;
            }
            reading.position += 1;
        }
        Ok(())
    }

    pub(crate) fn position(&self) -> u64 {
        self.lock().position
    }

    /// Goes on reading there. From its beginning on, a directory is read anew.
    pub(crate) fn seek(&self, position: u64) {
        let mut reading = self.lock();
        reading.position = position;
        if position == 0 {
            reading.entries = None;
        }
    }
}

/// A file that was opened.
pub(crate) struct VirtualFile {
    /// The name by which it was opened.
    pub(crate) name: VirtualName,
    /// `None` if it is open for its path only.
    handle: Option<Box<dyn FileHandle>>,
    limit: SizeLimit,
    position: Mutex<u64>,
}

impl VirtualFile {
    fn handle(&self) -> Result<&dyn FileHandle, Stop> {
        self.handle.as_deref().ok_or(Errno::BADF.into())
    }

    pub(crate) fn status(&self) -> Result<FileStatus, Stop> {
        match &self.handle {
            Some(handle) => Ok(FileStatus { kind: FileKind::File, ..handle.status()? }),
            None => self.name.look_again(),
        }
    }

    /// Fails unless its name leads to a regular file still, of the same number.
    pub(crate) fn check_name(&self) -> Result<(), Stop> {
        let (open, there) = (self.status()?, self.name.look_again()?);
        match there.kind == open.kind && there.number == open.number {
            true => Ok(()),
            false => Err(Errno::NOENT.into()),
        }
    }

    /// Its size in bytes; `EOVERFLOW` if no position has so many.
    pub(crate) fn len(&self) -> Result<u64, Stop> {
        let len = self.status()?.len;
        position(len, 0).map_err(|_| Errno::OVERFLOW.into())
    }

    /// Which file it is: the address of its file system, and its number there.
    pub(crate) fn id(&self) -> Option<(usize, u64)> {
        let (number, _) = self.name.numbers(&self.status().ok()?);
        Some((Arc::as_ptr(&self.name.mount.file_system).addr(), number))
    }

    fn lock_position(&self) -> MutexGuard<'_, u64> {
        self.position.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn position(&self) -> u64 {
        *self.lock_position()
    }

    /// Copies what is at a position; how many bytes, 0 at the end.
    pub(crate) fn read_at(&self, buffer: &mut [u8], at: u64) -> Result<usize, Stop> {
        match self.handle()?.read_at(buffer, at)? {
            read if read <= buffer.len() => Ok(read),
            _ => Err(Errno::IO.into()),
        }
    }

    /// Reads at the file's position, or `at` another.
    pub(crate) fn read(&self, buffer: &mut [u8], at: Option<u64>, patience: Patience<'_>) -> Result<usize, Stop> {
        let mut own = self.lock_position();
        let start = at.unwrap_or(*own);
        let read = in_steps(buffer.len(), STEP, patience, |range| {
            let from = position(start, range.start as u64)?;
            self.read_at(&mut buffer[range], from)
        })?;
        if at.is_none() {
            *own += read as u64;
        }
        Ok(read)
    }

    /// Writes what there is room for.
    fn write_at(&self, bytes: &[u8], at: u64) -> Result<usize, Stop> {
        position(at, bytes.len() as u64).map_err(|_| Errno::FBIG)?;
        let bytes = &bytes[..bytes.len().min(self.limit.room(at)?)];
        match self.handle()?.write_at(bytes, at)? {
            0 if !bytes.is_empty() => Err(Errno::IO.into()),
            written if written <= bytes.len() => Ok(written),
            _ => Err(Errno::IO.into()),
        }
    }

    /// Writes at the file's position, or `at` another; at its end if it `appends`.
    pub(crate) fn write(
        &self,
        bytes: &[u8],
        at: Option<u64>,
        appends: bool,
        patience: Patience<'_>,
    ) -> Result<usize, Stop> {
        if bytes.is_empty() {
            return Ok(0);
        }
        let mut own = self.lock_position();
        let start = match at {
            _ if appends => self.len()?,
            Some(at) => at,
            None => *own,
        };
        let written = in_steps(bytes.len(), STEP, patience, |range| {
            let to = position(start, range.start as u64)?;
            self.write_at(&bytes[range], to)
        })?;
        if at.is_none() {
            *own = start + written as u64;
        }
        Ok(written)
    }

    /// Writes what a mapping of the file has, which lies within it.
    pub(crate) fn write_mapped(&self, mut bytes: &[u8], mut at: u64) -> Result<(), Stop> {
        while !bytes.is_empty() {
            let written = self.write_at(bytes, at)?;
            bytes = &bytes[written..];
            at += written as u64;
        }
        Ok(())
    }

    /// Gives the file this size.
    pub(crate) fn set_size(&self, size: u64) -> Result<(), Stop> {
        if size > self.len()? {
            self.limit.check(size)?;
        }
        Ok(self.handle()?.set_len(size)?)
    }

    /// Gives the file the size that `fallocate` gives it with these modes; it takes no room, and makes no holes.
    pub(crate) fn allocate(&self, modes: Allocation, at: u64, len: u64) -> Result<(), Stop> {
        let end = position(at, len).map_err(|_| Errno::FBIG)?;
        if len == 0 {
            return Err(Errno::INVAL.into());
        }
        if modes.punches {
            return Err(Errno::OPNOTSUPP.into());
        }
        self.limit.check(end)?;
        match modes.keeps_size || end <= self.len()? {
            true => Ok(()),
            false => self.set_size(end),
        }
    }

    /// Changes the position of reading, for `lseek`.
    pub(crate) fn seek(&self, to: SeekFrom) -> Outcome {
        let mut at = self.lock_position();
        let new = match (to, sought(to, *at, || self.len())?) {
            // It has no holes but the one behind its end.
            (SeekFrom::Data(_) | SeekFrom::Hole(_), at) if at >= self.len()? => return Err(Errno::NXIO.into()),
            (SeekFrom::Hole(_), _) => self.len()?,
            (_, at) => at,
        };
        *at = position(new, 0)?;
        Ok(*at)
    }

    pub(crate) fn sync(&self) -> Result<(), Stop> {
        Ok(self.handle()?.sync()?)
    }
}
