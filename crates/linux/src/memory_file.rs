//! Open files whose contents are in the host's memory: those of the guest's private tree, and those that can only be read.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::fs::SeekFrom;
use rustix::io::Errno;

use crate::call::{Outcome, Patience, Stop};
use crate::guest_path::GuestPath;
use crate::host_file::SizeLimit;
use crate::inode::{Content, Inode, State, seal};
use crate::pages::Pages;
use crate::transfer::{position, sought};

/// How a file is found again by a guest that goes on from a snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// By its name, at which the host has it.
    Name,
    /// It was made when it was opened, and a snapshot has what it says.
    Made,
    /// It is the guest's own, and a snapshot has it.
    Guest,
}

/// A file that was opened.
pub(crate) struct MemoryFile {
    /// The name by which it was opened.
    pub(crate) path: GuestPath,
    pub(crate) inode: Arc<Inode>,
    pub(crate) origin: Origin,
    pub(crate) limit: SizeLimit,
    position: Mutex<u64>,
}

impl fmt::Debug for MemoryFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryFile").field("path", &self.path).finish_non_exhaustive()
    }
}

impl MemoryFile {
    pub(crate) fn new(path: GuestPath, inode: Arc<Inode>, origin: Origin, limit: SizeLimit) -> MemoryFile {
        MemoryFile { path, inode, origin, limit, position: Mutex::default() }
    }

    /// The same file opened again, with a position of its own.
    pub(crate) fn anew(&self) -> MemoryFile {
        MemoryFile::new(self.path.clone(), self.inode.clone(), self.origin, self.limit.clone())
    }

    pub(crate) fn len(&self) -> u64 {
        match &self.inode.lock().content {
            Content::Given(bytes) => bytes.len() as u64,
            Content::File(pages) => pages.len(),
            Content::Directory(_) | Content::Link(_) | Content::Fifo(_) | Content::Socket => 0,
        }
    }

    /// The bytes that it has, if it cannot be changed.
    pub(crate) fn given(&self) -> Option<Arc<[u8]>> {
        match &self.inode.lock().content {
            Content::Given(bytes) => Some(bytes.clone()),
            _ => None,
        }
    }

    /// All that it says.
    pub(crate) fn contents(&self) -> Vec<u8> {
        let mut contents = vec![0; self.len() as usize];
        let len = self.read_at(&mut contents, 0);
        contents.truncate(len);
        contents
    }

    fn lock_position(&self) -> MutexGuard<'_, u64> {
        self.position.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn position(&self) -> u64 {
        *self.lock_position()
    }

    /// Copies what is at a position; the number of bytes, 0 at the end.
    pub(crate) fn read_at(&self, buffer: &mut [u8], at: u64) -> usize {
        match &self.inode.lock().content {
            Content::Given(bytes) => {
                let rest = usize::try_from(at).ok().and_then(|at| bytes.get(at..)).unwrap_or_default();
                let len = rest.len().min(buffer.len());
                buffer[..len].copy_from_slice(&rest[..len]);
                len
            }
            Content::File(pages) => pages.read_at(buffer, at),
            Content::Directory(_) | Content::Link(_) | Content::Fifo(_) | Content::Socket => 0,
        }
    }

    /// Reads at the file's position.
    pub(crate) fn read(&self, buffer: &mut [u8]) -> usize {
        let mut position = self.lock_position();
        let len = self.read_at(buffer, *position);
        *position += len as u64;
        len
    }

    /// Writes what there is room for, at a position or at the end of what is there.
    fn write_at(&self, bytes: &[u8], at: Option<u64>) -> Result<(usize, u64), Stop> {
        self.change(seal::WRITE | seal::FUTURE_WRITE, |pages, seals| {
            let at = at.unwrap_or(pages.len());
            if bytes.is_empty() {
                return Ok((0, at));
            }
            position(at, bytes.len() as u64).map_err(|_| Errno::FBIG)?;
            let room = self.limit.room(at)?;
            let mut bytes = &bytes[..bytes.len().min(room)];
            if seals & seal::GROW != 0 {
                let below = pages.len().saturating_sub(at).min(bytes.len() as u64) as usize;
                bytes = &bytes[..below];
                if below == 0 {
                    return Err(Errno::PERM.into());
                }
            }
            let written = pages.write_at(bytes, at)?;
            Ok((written, at + written as u64))
        })
    }

    /// Writes at the file's position, or `at` another; at its end if it `appends`.
    pub(crate) fn write(&self, bytes: &[u8], at: Option<u64>, appends: bool) -> Result<usize, Stop> {
        if at.is_some() {
            return Ok(self.write_at(bytes, at.filter(|_| !appends))?.0);
        }
        let mut position = self.lock_position();
        let (written, end) = self.write_at(bytes, (!appends).then_some(*position))?;
        *position = end;
        Ok(written)
    }

    /// Changes the contents; `EPERM` if one of these seals forbids it, or all of them can only be read.
    fn change<T>(&self, forbidden_by: u32, change: impl FnOnce(&mut Pages, u32) -> Result<T, Stop>) -> Result<T, Stop> {
        match &mut *self.inode.lock() {
            State { seals, .. } if *seals & forbidden_by != 0 => Err(Errno::PERM.into()),
            State { content: Content::File(pages), seals, .. } => change(pages, *seals),
            _ => Err(Errno::PERM.into()),
        }
    }

    /// Writes what a mapping of the file has, which lies within it.
    pub(crate) fn write_mapped(&self, bytes: &[u8], at: u64) -> Result<(), Stop> {
        self.change(0, |pages, _| match pages.write_at(bytes, at)? {
            written if written == bytes.len() => Ok(()),
            _ => Err(Errno::NOSPC.into()),
        })
    }

    /// Gives the file this size.
    pub(crate) fn set_size(&self, size: u64) -> Result<(), Stop> {
        self.change(0, |pages, seals| {
            if size > pages.len() {
                self.limit.check(size)?;
            }
            match size.cmp(&pages.len()) {
                std::cmp::Ordering::Less if seals & seal::SHRINK != 0 => return Err(Errno::PERM.into()),
                std::cmp::Ordering::Greater if seals & seal::GROW != 0 => return Err(Errno::PERM.into()),
                _ => pages.set_len(size),
            }
            Ok(())
        })
    }

    /// Takes room for `len` bytes, as `fallocate` does with these modes.
    pub(crate) fn allocate(&self, modes: Allocation, at: u64, len: u64, patience: Patience<'_>) -> Result<(), Stop> {
        let end = position(at, len).map_err(|_| Errno::FBIG)?;
        if len == 0 {
            return Err(Errno::INVAL.into());
        }
        let forbidden_by = if modes.punches { seal::WRITE | seal::FUTURE_WRITE } else { 0 };
        self.change(forbidden_by, |pages, seals| {
            self.limit.check(end)?;
            // Also where the size stays, as in Linux.
            if end > pages.len() && !modes.punches && seals & seal::GROW != 0 {
                return Err(Errno::PERM.into());
            }
            if modes.punches {
                pages.punch(at, len);
            } else {
                pages.allocate(at, len, patience)?;
            }
            if end > pages.len() && !modes.keeps_size {
                pages.set_len(end);
            }
            Ok(())
        })
    }

    /// Changes the position of reading, for `lseek`.
    pub(crate) fn seek(&self, to: SeekFrom) -> Outcome {
        let mut at = self.lock_position();
        let new = match to {
            SeekFrom::Data(at) => self.next(at, true)?,
            SeekFrom::Hole(at) => self.next(at, false)?,
            to => sought(to, *at, || Ok(self.len()))?,
        };
        *at = position(new, 0)?;
        Ok(*at)
    }

    /// The first position from another one on that is in no hole; `ENXIO` if there is none.
    pub(crate) fn data(&self, at: u64) -> Outcome {
        self.next(at, true)
    }

    /// Where data or a hole begins, from a position on.
    fn next(&self, at: u64, is_data: bool) -> Outcome {
        let found = match &self.inode.lock().content {
            Content::File(pages) => pages.next(at, is_data),
            // It has no holes but the one behind its end.
            Content::Given(bytes) if at < bytes.len() as u64 => Some(if is_data { at } else { bytes.len() as u64 }),
            _ => None,
        };
        found.ok_or(Errno::NXIO.into())
    }
}

/// What `fallocate` does.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Allocation {
    pub(crate) keeps_size: bool,
    /// It makes zeros, and gives back room in place of taking it.
    pub(crate) punches: bool,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi::Timespec;
    use crate::space::Space;

    #[test]
    fn positions_are_as_in_any_file() {
        let inode = Inode::given(Arc::from(*b"0123456789"));
        let file = MemoryFile::new(GuestPath::default(), inode, Origin::Name, SizeLimit::default());
        let mut buffer = [0; 4];
        assert_eq!((file.read(&mut buffer), &buffer), (4, b"0123"));
        assert_eq!(file.seek(SeekFrom::Current(4)), Ok(8));
        assert_eq!((file.read(&mut buffer), &buffer[..2]), (2, &b"89"[..]));
        assert_eq!(file.read(&mut buffer), 0);
        assert_eq!(file.seek(SeekFrom::End(-1)), Ok(9));
        assert_eq!(file.seek(SeekFrom::End(5)), Ok(15));
        assert_eq!(file.read(&mut buffer), 0);
        assert_eq!(file.seek(SeekFrom::Hole(3)), Ok(10));
        assert_eq!(file.seek(SeekFrom::Data(10)), Err(Errno::NXIO.into()));
        assert_eq!(file.seek(SeekFrom::Current(i64::MIN)), Err(Errno::INVAL.into()));
        assert_eq!(file.seek(SeekFrom::Start(u64::MAX)), Err(Errno::INVAL.into()));
        assert_eq!((file.position(), file.read_at(&mut buffer, u64::MAX)), (10, 0));
        assert_eq!(file.write(b"x", None, false), Err(Errno::PERM.into()));
    }

    #[test]
    fn writing_ends_at_limits_and_seals() {
        let content = Content::File(Pages::new(Arc::new(Space::default())));
        let inode = Inode::new(&Arc::default(), content, 0o600, Timespec::default()).unwrap();
        let file = MemoryFile::new(GuestPath::default(), inode, Origin::Guest, SizeLimit::new(10));
        assert_eq!((file.write(b"12345678", None, false), file.write(b"90ab", None, false)), (Ok(8), Ok(2)));
        assert_eq!(file.write(b"c", None, false), Err(Errno::FBIG.into()));
        assert_eq!((file.write(b"x", Some(3), false), file.set_size(11)), (Ok(1), Err(Errno::FBIG.into())));
        assert_eq!((file.set_size(5), file.write(b"y", Some(0), true), file.len()), (Ok(()), Ok(1), 6));
        file.inode.lock().seals = seal::GROW | seal::SHRINK;
        assert_eq!(
            (file.write(b"123", Some(4), false), file.write(b"1", None, true)),
            (Ok(2), Err(Errno::PERM.into()))
        );
        assert_eq!([file.set_size(5), file.set_size(7)], [Err(Errno::PERM.into()), Err(Errno::PERM.into())]);
        file.inode.lock().seals = seal::WRITE;
        assert_eq!(file.write(b"1", Some(0), false), Err(Errno::PERM.into()));
    }
}
