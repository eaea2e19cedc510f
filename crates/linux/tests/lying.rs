//! A file system of a host that lies. Used by the tests of this crate and by the fuzz target `host_api`.

use std::ffi::OsString;
use std::io::{Error, ErrorKind, Result};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use riverrun_linux::{FileHandle, FileKind, FileStatus, FileSystem};
use riverrun_testkit::Random;

/// One whose answers are as wrong as they can be, of which each is drawn.
pub(crate) struct Lying(Mutex<Random>);

impl Lying {
    /// With the answers of a seed.
    pub(crate) fn new(seed: u64) -> Arc<Lying> {
        Arc::new(Lying(Mutex::new(Random::seeded(seed))))
    }

    /// Draws once: the lock is not held afterwards.
    fn draw<T>(&self, draw: impl FnOnce(&mut Random) -> T) -> T {
        draw(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn pick<T: Copy>(&self, values: &[T]) -> T {
        self.draw(|random| random.pick(values))
    }

    fn fails(&self) -> Result<()> {
        match self.draw(|random| random.below(10)) {
            0 => Err(Error::from_raw_os_error(self.draw(|random| random.u32()) as i32)),
            1 => Err(ErrorKind::NotFound.into()),
            2 => Err(Error::other("no reason")),
            _ => Ok(()),
        }
    }

    fn any_size(&self) -> u64 {
        self.pick(&[0, 1, 5, 4096, 1 << 40, i64::MAX as u64, u64::MAX])
    }

    fn any_status(&self) -> FileStatus {
        let mut status = FileStatus::file(self.any_size());
        status.kind = self.pick(&[FileKind::File, FileKind::Directory, FileKind::Link]);
        (status.permissions, status.links) = (self.draw(|random| random.u32()), self.any_size() as u32);
        status.modified = SystemTime::UNIX_EPOCH.checked_sub(Duration::from_nanos(self.any_size()));
        status.number = Some(self.draw(|random| random.below(3)) as u64);
        status
    }
}

impl FileSystem for Lying {
    fn status(&self, path: &Path) -> Result<FileStatus> {
        if path.as_os_str().is_empty() {
            return Ok(FileStatus::directory());
        }
        self.fails()?;
        Ok(self.any_status())
    }

    fn entries(&self, _: &Path) -> Result<Vec<(OsString, FileKind)>> {
        self.fails()?;
        let long = "x".repeat(300);
        let names = ["a", "b", "data", "", ".", "..", "a/b", "\0", &long];
        let count = self.draw(|random| random.below(5));
        Ok((0..count).map(|_| (self.pick(&names).into(), self.any_status().kind)).collect())
    }

    fn open(&self, _: &Path, _: bool) -> Result<Box<dyn FileHandle>> {
        self.fails()?;
        let seed = self.draw(|random| random.u64());
        Ok(Box::new(Lying(Mutex::new(Random::seeded(seed)))))
    }

    fn read_link(&self, _: &Path) -> Result<PathBuf> {
        self.fails()?;
        Ok(self.pick(&["", "/", "data", "../data/a", "a\0b"]).into())
    }

    fn create_file(&self, path: &Path, _: u32) -> Result<Box<dyn FileHandle>> {
        self.open(path, true)
    }

    fn create_dir(&self, _: &Path, _: u32) -> Result<()> {
        self.fails()
    }

    fn rename(&self, _: &Path, _: &Path) -> Result<()> {
        self.fails()
    }

    fn set_modified(&self, _: &Path, _: SystemTime) -> Result<()> {
        self.fails()
    }
}

impl FileHandle for Lying {
    fn status(&self) -> Result<FileStatus> {
        self.fails()?;
        Ok(self.any_status())
    }

    fn read_at(&self, _: &mut [u8], _: u64) -> Result<usize> {
        self.fails()?;
        Ok(self.any_size() as usize)
    }

    fn write_at(&self, bytes: &[u8], _: u64) -> Result<usize> {
        self.fails()?;
        Ok(self.pick(&[bytes.len(), 0, bytes.len() / 2, usize::MAX]))
    }

    fn set_len(&self, _: u64) -> Result<()> {
        self.fails()
    }
}
