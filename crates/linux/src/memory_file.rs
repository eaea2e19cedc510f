//! Open files whose contents are in the host's memory, and can only be read.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use rustix::fs::SeekFrom;
use rustix::io::Errno;

use crate::call::{Outcome, Stop};
use crate::guest_path::GuestPath;
use crate::transfer::position;

/// A file that was opened.
pub(crate) struct MemoryFile {
    pub(crate) path: GuestPath,
    pub(crate) bytes: Arc<[u8]>,
    /// Whether it was made when it was opened, and is not found again by its name.
    pub(crate) is_made: bool,
    position: Mutex<u64>,
}

impl fmt::Debug for MemoryFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryFile").field("path", &self.path).finish_non_exhaustive()
    }
}

impl MemoryFile {
    pub(crate) fn new(path: GuestPath, bytes: Arc<[u8]>, is_made: bool) -> MemoryFile {
        MemoryFile { path, bytes, is_made, position: Mutex::default() }
    }

    pub(crate) fn len(&self) -> u64 {
        self.bytes.len() as u64
    }

    pub(crate) fn position(&self) -> u64 {
        *self.position.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Copies what is at a position; the number of bytes, 0 at the end.
    pub(crate) fn read_at(&self, buffer: &mut [u8], at: u64) -> usize {
        let rest = usize::try_from(at).ok().and_then(|at| self.bytes.get(at..)).unwrap_or_default();
        let len = rest.len().min(buffer.len());
        buffer[..len].copy_from_slice(&rest[..len]);
        len
    }

    /// Reads at the file's position.
    pub(crate) fn read(&self, buffer: &mut [u8]) -> usize {
        let mut position = self.position.lock().unwrap_or_else(PoisonError::into_inner);
        let len = self.read_at(buffer, *position);
        *position += len as u64;
        len
    }

    /// Changes the position of reading, for `lseek`.
    pub(crate) fn seek(&self, to: SeekFrom) -> Outcome {
        let mut at = self.position.lock().unwrap_or_else(PoisonError::into_inner);
        let from = |base: u64, offset: i64| base.checked_add_signed(offset).ok_or(Stop::Errno(Errno::INVAL));
        let within = |at: u64| if at < self.len() { Ok(at) } else { Err(Stop::Errno(Errno::NXIO)) };
        let new = match to {
            SeekFrom::Start(at) => at,
            SeekFrom::Current(offset) => from(*at, offset)?,
            SeekFrom::End(offset) => from(self.len(), offset)?,
            // It has no holes but the one behind its end.
            SeekFrom::Data(at) => within(at)?,
            SeekFrom::Hole(at) => within(at).map(|_| self.len())?,
        };
        *at = position(new, 0)?;
        Ok(*at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_are_as_in_any_file() {
        let file = MemoryFile::new(GuestPath::default(), Arc::from(*b"0123456789"), false);
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
    }
}
