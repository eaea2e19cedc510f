//! File systems that a host implements: an archive, a database, whatever can be presented as files.
//!
//! [`Builder::file_system`](crate::Builder::file_system) grants one. Path resolution ([`crate::paths`]) walks it
//! component by component, so that an implementation sees no `..` and follows no link; [`crate::virtual_file`] calls
//! it.

use std::ffi::OsString;
use std::io::{Error, ErrorKind, Result};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

/// A file system that a host implements, for [`Builder::file_system`](crate::Builder::file_system). Its three required
/// methods make one that can be read; the others change it, and fail with `EROFS` unless they are implemented.
///
/// Paths are relative to the file system's root, whose own path is empty. riverrun resolves `.`, `..` and symbolic
/// links before it calls a method, with the help of [`status`](FileSystem::status) and
/// [`read_link`](FileSystem::read_link): no method has to. A name is at most 255 bytes, without `/` and zero.
///
/// The guest gets an error of the operating system ([`Error::from_raw_os_error`]) by its number, and any other by its
/// [`ErrorKind`]: `NotFound` is `ENOENT`, for example. A kind that Linux has no number for is `EIO`.
///
/// Methods run on the thread that runs the guest, and the guest waits for them. As with host functions, a limit in time
/// does not end them. Machines that get the same `Arc` share the file system, and call it from their own threads at
/// once.
///
/// ```
/// use std::collections::BTreeMap;
/// use std::ffi::OsString;
/// use std::io::{ErrorKind, Result};
/// use std::path::Path;
/// use std::sync::Arc;
/// use riverrun_linux::{FileHandle, FileKind, FileStatus, FileSystem, Linux};
///
/// /// The files of a game's archive, all in one directory.
/// struct Archive(BTreeMap<OsString, Arc<[u8]>>);
///
/// impl Archive {
///     fn get(&self, path: &Path) -> Result<&Arc<[u8]>> {
///         self.0.get(path.as_os_str()).ok_or(ErrorKind::NotFound.into())
///     }
/// }
///
/// impl FileSystem for Archive {
///     fn status(&self, path: &Path) -> Result<FileStatus> {
///         match path.as_os_str().is_empty() {
///             true => Ok(FileStatus::directory()),
///             false => Ok(FileStatus::file(self.get(path)?.len() as u64)),
///         }
///     }
///
///     fn entries(&self, _: &Path) -> Result<Vec<(OsString, FileKind)>> {
///         Ok(self.0.keys().map(|name| (name.clone(), FileKind::File)).collect())
///     }
///
///     fn open(&self, path: &Path, _: bool) -> Result<Box<dyn FileHandle>> {
///         Ok(Box::new(self.get(path)?.clone()))
///     }
/// }
///
/// let archive = Archive([("level.map".into(), Arc::from(*b"####"))].into());
/// let linux = Linux::builder().file_system("/assets", Arc::new(archive))?.build();
/// # Ok::<(), riverrun_linux::Error>(())
/// ```
pub trait FileSystem: Send + Sync {
    /// What is at a path, a link itself if it is one.
    ///
    /// # Errors
    /// `NotFound` if nothing is.
    fn status(&self, path: &Path) -> Result<FileStatus>;

    /// The names in a directory and what they are, without `.` and `..`. riverrun asks once for each open directory,
    /// and again when the guest rewinds it.
    fn entries(&self, path: &Path) -> Result<Vec<(OsString, FileKind)>>;

    /// Opens an existing regular file to be read, and to be written if `writes`. riverrun has checked its
    /// [`FileStatus::permissions`].
    fn open(&self, path: &Path, writes: bool) -> Result<Box<dyn FileHandle>>;

    /// The target of a symbolic link: an absolute path in the guest's tree, or one relative to the link's directory.
    fn read_link(&self, path: &Path) -> Result<PathBuf> {
        let _ = path;
        Err(ErrorKind::InvalidInput.into())
    }

    /// Makes an empty regular file where nothing is, and opens it to be read and written.
    fn create_file(&self, path: &Path, permissions: u32) -> Result<Box<dyn FileHandle>> {
        let _ = (path, permissions);
        Err(read_only())
    }

    /// Makes a directory where nothing is.
    fn create_dir(&self, path: &Path, permissions: u32) -> Result<()> {
        let _ = (path, permissions);
        Err(read_only())
    }

    /// Makes a symbolic link where nothing is. The target is whatever the guest says, and may lead those anywhere who
    /// follow the link on the host. Where several machines change a file system that stores such links, its methods
    /// must not follow one that has come in between.
    fn create_link(&self, path: &Path, target: &Path) -> Result<()> {
        let _ = (path, target);
        Err(read_only())
    }

    /// Gives an existing file a second name, where nothing is. Fails with `EPERM` unless it is implemented.
    fn create_hard_link(&self, original: &Path, path: &Path) -> Result<()> {
        let _ = (original, path);
        Err(Error::from_raw_os_error(rustix::io::Errno::PERM.raw_os_error()))
    }

    /// Removes an existing regular file or symbolic link. Open [`FileHandle`]s of it stay usable.
    fn remove_file(&self, path: &Path) -> Result<()> {
        let _ = path;
        Err(read_only())
    }

    /// Removes an existing directory.
    ///
    /// # Errors
    /// `DirectoryNotEmpty` if something is in it.
    fn remove_dir(&self, path: &Path) -> Result<()> {
        let _ = path;
        Err(read_only())
    }

    /// Moves a file, link or directory to another path, which is not below it. It replaces what is there: a directory
    /// an empty directory, anything else a file or link.
    fn rename(&self, from: &Path, to: &Path) -> Result<()> {
        let _ = (from, to);
        Err(read_only())
    }

    /// Sets the permissions of a file or directory.
    fn set_permissions(&self, path: &Path, permissions: u32) -> Result<()> {
        let _ = (path, permissions);
        Err(read_only())
    }

    /// Sets the time of a file's or directory's last change; never that of a link.
    fn set_modified(&self, path: &Path, modified: SystemTime) -> Result<()> {
        let _ = (path, modified);
        Err(read_only())
    }
}

/// An open regular file of a [`FileSystem`]. riverrun keeps the guest's position in it.
///
/// An `Arc<[u8]>` is such a file, which can be read.
pub trait FileHandle: Send + Sync {
    /// What the file is now; its kind is [`FileKind::File`].
    fn status(&self) -> Result<FileStatus>;

    /// Copies bytes from a position on to the buffer, and returns how many: 0 at the end. The guest's call ends where
    /// they do not fill the buffer.
    fn read_at(&self, buffer: &mut [u8], at: u64) -> Result<usize>;

    /// Writes bytes from a position on, and returns how many it has written. Bytes between the file's end and the
    /// position become zero.
    ///
    /// # Errors
    /// `StorageFull` without room.
    fn write_at(&self, bytes: &[u8], at: u64) -> Result<usize> {
        let _ = (bytes, at);
        Err(read_only())
    }

    /// Gives the file this size in bytes: shortens it, or adds zeros.
    fn set_len(&self, len: u64) -> Result<()> {
        let _ = len;
        Err(read_only())
    }

    /// Returns once all writes are stored, for `fsync`.
    fn sync(&self) -> Result<()> {
        Ok(())
    }
}

fn read_only() -> Error {
    ErrorKind::ReadOnlyFilesystem.into()
}

impl FileHandle for Arc<[u8]> {
    fn status(&self) -> Result<FileStatus> {
        Ok(FileStatus::file(self.len() as u64))
    }

    fn read_at(&self, buffer: &mut [u8], at: u64) -> Result<usize> {
        let rest = usize::try_from(at).ok().and_then(|at| self.get(at..)).unwrap_or_default();
        let len = rest.len().min(buffer.len());
        buffer[..len].copy_from_slice(&rest[..len]);
        Ok(len)
    }
}

/// What there is of a name in a [`FileSystem`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link.
    Link,
}

/// The status of a file in a [`FileSystem`].
///
/// ```
/// # use riverrun_linux::FileStatus;
/// let mut status = FileStatus::file(1024);
/// status.permissions = 0o644;
/// status.modified = Some(std::time::SystemTime::now());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FileStatus {
    /// What it is.
    pub kind: FileKind,
    /// Bytes of a regular file, or of what a link leads to.
    pub len: u64,
    /// Names that it has: 1 by default.
    pub links: u32,
    /// The mode's lower twelve bits. The guest owns all files: the bits `0o700` decide what it may do.
    pub permissions: u32,
    /// When it was changed last; 1970-01-01 if that is not known.
    pub modified: Option<SystemTime>,
    /// A number that no other file of the file system has (`st_ino`), made of the path if it is `None`. Programs take two
    /// paths with one number for one file.
    pub number: Option<u64>,
}

impl FileStatus {
    /// That of a regular file of so many bytes, to be read.
    pub fn file(len: u64) -> FileStatus {
        FileStatus { kind: FileKind::File, len, links: 1, permissions: 0o444, modified: None, number: None }
    }

    /// That of a directory, to be read.
    pub fn directory() -> FileStatus {
        FileStatus { kind: FileKind::Directory, permissions: 0o555, ..FileStatus::file(0) }
    }

    /// That of a symbolic link to a path of so many bytes; 0 if that is not known.
    pub fn link(len: u64) -> FileStatus {
        FileStatus { kind: FileKind::Link, permissions: 0o777, ..FileStatus::file(len) }
    }
}
