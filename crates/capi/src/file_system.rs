//! File systems that hosts in C implement, as functions that take paths.

use std::ffi::{CStr, CString, OsString, c_char, c_void};
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use riverrun_linux::FileHandle;

use crate::arguments::{Result, given};
use crate::error::{Returned, guard};
use crate::owned::Owned;
use crate::serving::serve;

/// The attributes of a file or directory, which `look` fills in. Each field has its default before the call.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct FileStatus {
    /// Whether it is a directory; otherwise it is a regular file. Default: false.
    pub is_directory: bool,
    /// The lower twelve bits of `st_mode`. The guest owns every file. Default: 0444, or 0555 for a directory.
    pub permissions: u32,
    /// The size of a regular file, in bytes. Default: 0.
    pub len: u64,
    /// The time of the last modification, in seconds since 1970. Default: 0.
    pub modified: i64,
    /// The inode number, unique in the file system. Default: 0, for a number that is derived from the path.
    pub number: u64,
}

/// The entries of a directory, to which `list` adds. It is valid during that call only.
#[derive(Debug)]
pub struct Entries(Vec<(OsString, riverrun_linux::FileKind)>);

/// Fills in the attributes of what is at a path. Returns 0, or an error number such as `ENOENT`.
pub type FileLook = unsafe extern "C" fn(data: *mut c_void, path: *const c_char, status: &mut FileStatus) -> i32;
/// Adds the names in a directory by `riverrun_entries_add`. Returns 0 or an error number.
pub type FileList = unsafe extern "C" fn(data: *mut c_void, path: *const c_char, entries: &mut Entries) -> i32;
/// Reads bytes of a file from a position on. Returns how many, 0 at the end, or a negative error number.
pub type FileRead =
    unsafe extern "C" fn(data: *mut c_void, path: *const c_char, buffer: *mut c_void, len: usize, at: u64) -> i64;
/// Writes bytes to a file from a position on. Returns how many, or a negative error number.
pub type FileWrite =
    unsafe extern "C" fn(data: *mut c_void, path: *const c_char, bytes: *const c_void, len: usize, at: u64) -> i64;
/// Changes the size of a file. Returns 0 or an error number.
pub type FileResize = unsafe extern "C" fn(data: *mut c_void, path: *const c_char, len: u64) -> i32;
/// Creates an empty file or directory at a path where there is none. Returns 0 or an error number.
pub type FileCreate =
    unsafe extern "C" fn(data: *mut c_void, path: *const c_char, is_directory: bool, permissions: u32) -> i32;
/// Removes a file or an empty directory. Returns 0 or an error number.
pub type FileRemove = unsafe extern "C" fn(data: *mut c_void, path: *const c_char, is_directory: bool) -> i32;
/// Moves a file or directory to another path, where it replaces a file or an empty directory. Returns 0 or an error number.
pub type FileRename = unsafe extern "C" fn(data: *mut c_void, from: *const c_char, to: *const c_char) -> i32;

/// A file system that the host implements. Paths are relative to the path at which the guest sees it, without `.`, `..` and
/// slashes at either end; its root is "". riverrun calls these functions on the threads that run guests, so machines on
/// several threads call them concurrently; a guest waits for its call, and its machine cannot be used meanwhile.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct FileSystem {
    /// What is at a path.
    pub look: Option<FileLook>,
    /// What is in a directory.
    pub list: Option<FileList>,
    /// Reads a file.
    pub read: Option<FileRead>,
    /// Writes a file; NULL, as all that follow, in a file system that can only be read.
    pub write: Option<FileWrite>,
    /// Changes a file's size.
    pub resize: Option<FileResize>,
    /// Makes files and directories.
    pub create: Option<FileCreate>,
    /// Removes them.
    pub remove: Option<FileRemove>,
    /// Moves them.
    pub rename: Option<FileRename>,
}

/// The host's functions with their data.
#[derive(Debug)]
struct Functions {
    table: FileSystem,
    owned: Owned,
}

/// A file system as the Linux personality takes it.
#[derive(Clone, Debug)]
pub(crate) struct Called(Arc<Functions>);

/// An open file: its path, as all functions take.
struct OpenedFile {
    of: Called,
    path: CString,
}

fn c_path(path: &Path) -> CString {
    // Paths of guests have no zeros.
    CString::new(path.as_os_str().as_bytes()).unwrap_or_default()
}

fn done(errno: i32) -> io::Result<()> {
    match errno {
        0 => Ok(()),
        errno => Err(io::Error::from_raw_os_error(errno)),
    }
}

fn moved(count: i64) -> io::Result<usize> {
    usize::try_from(count).map_err(|_| io::Error::from_raw_os_error(i32::try_from(count.wrapping_neg()).unwrap_or(0)))
}

/// The function, or that there is none.
fn there<F>(function: Option<F>) -> io::Result<F> {
    function.ok_or(io::ErrorKind::ReadOnlyFilesystem.into())
}

impl Called {
    /// With the host's functions, of which those are there that each file system needs.
    pub(crate) fn new(functions: Option<&FileSystem>, owned: Owned) -> Result<Called> {
        let table = *given(functions, "functions")?;
        given(table.look, "functions->look")?;
        given(table.list, "functions->list")?;
        given(table.read, "functions->read")?;
        Ok(Called(Arc::new(Functions { table, owned })))
    }

    fn data(&self) -> *mut c_void {
        self.0.owned.data
    }

    fn look(&self, path: &CStr) -> io::Result<riverrun_linux::FileStatus> {
        const FILE: u32 = 0o444;
        const DIRECTORY: u32 = 0o555;
        let mut status = FileStatus { is_directory: false, permissions: FILE, len: 0, modified: 0, number: 0 };
        let look = there(self.0.table.look)?;
        // SAFETY: what the host has given with its data; path and status are there as long as the call.
        done(serve(|| unsafe { look(self.data(), path.as_ptr(), &mut status) }))?;
        let mut found = match status.is_directory {
            true => riverrun_linux::FileStatus::directory(),
            false => riverrun_linux::FileStatus::file(status.len),
        };
        found.permissions = match status.permissions {
            FILE if status.is_directory => DIRECTORY,
            permissions => permissions,
        };
        let since = Duration::from_secs(status.modified.unsigned_abs());
        found.modified = match status.modified < 0 {
            true => SystemTime::UNIX_EPOCH.checked_sub(since),
            false => SystemTime::UNIX_EPOCH.checked_add(since),
        };
        found.number = Some(status.number).filter(|&number| number != 0);
        Ok(found)
    }

    fn create(&self, path: &Path, is_directory: bool, permissions: u32) -> io::Result<()> {
        let (create, path) = (there(self.0.table.create)?, c_path(path));
        // SAFETY: what the host has given with its data; the path is there as long as the call.
        done(serve(|| unsafe { create(self.data(), path.as_ptr(), is_directory, permissions) }))
    }

    fn remove(&self, path: &Path, is_directory: bool) -> io::Result<()> {
        let (remove, path) = (there(self.0.table.remove)?, c_path(path));
        // SAFETY: as in `create`.
        done(serve(|| unsafe { remove(self.data(), path.as_ptr(), is_directory) }))
    }

    fn opened(&self, path: &Path) -> Box<dyn FileHandle> {
        Box::new(OpenedFile { of: self.clone(), path: c_path(path) })
    }
}

impl riverrun_linux::FileSystem for Called {
    fn status(&self, path: &Path) -> io::Result<riverrun_linux::FileStatus> {
        self.look(&c_path(path))
    }

    fn entries(&self, path: &Path) -> io::Result<Vec<(OsString, riverrun_linux::FileKind)>> {
        let (list, path) = (there(self.0.table.list)?, c_path(path));
        let mut entries = Entries(Vec::new());
        // SAFETY: as in `look`.
        done(serve(|| unsafe { list(self.data(), path.as_ptr(), &mut entries) }))?;
        Ok(entries.0)
    }

    fn open(&self, path: &Path, _: bool) -> io::Result<Box<dyn FileHandle>> {
        Ok(self.opened(path))
    }

    fn create_file(&self, path: &Path, permissions: u32) -> io::Result<Box<dyn FileHandle>> {
        self.create(path, false, permissions)?;
        Ok(self.opened(path))
    }

    fn create_dir(&self, path: &Path, permissions: u32) -> io::Result<()> {
        self.create(path, true, permissions)
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        self.remove(path, false)
    }

    fn remove_dir(&self, path: &Path) -> io::Result<()> {
        self.remove(path, true)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let (rename, from, to) = (there(self.0.table.rename)?, c_path(from), c_path(to));
        // SAFETY: as in `create`.
        done(serve(|| unsafe { rename(self.data(), from.as_ptr(), to.as_ptr()) }))
    }
}

impl FileHandle for OpenedFile {
    fn status(&self) -> io::Result<riverrun_linux::FileStatus> {
        self.of.look(&self.path)
    }

    fn read_at(&self, buffer: &mut [u8], at: u64) -> io::Result<usize> {
        let read = there(self.of.0.table.read)?;
        // SAFETY: what the host has given with its data; path and buffer are there as long as the call.
        moved(serve(|| unsafe {
            read(self.of.data(), self.path.as_ptr(), buffer.as_mut_ptr().cast(), buffer.len(), at)
        }))
    }

    fn write_at(&self, bytes: &[u8], at: u64) -> io::Result<usize> {
        let write = there(self.of.0.table.write)?;
        // SAFETY: as in `read_at`.
        moved(serve(|| unsafe { write(self.of.data(), self.path.as_ptr(), bytes.as_ptr().cast(), bytes.len(), at) }))
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        let resize = there(self.of.0.table.resize)?;
        // SAFETY: as in `read_at`.
        done(serve(|| unsafe { resize(self.of.data(), self.path.as_ptr(), len) }))
    }
}

/// Adds a name to what is in a directory.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn riverrun_entries_add(
    entries: Option<&mut Entries>,
    name: *const c_char,
    is_directory: bool,
) -> Returned {
    guard(|| {
        let (entries, name) = (given(entries, "entries")?, given(std::ptr::NonNull::new(name.cast_mut()), "name")?);
        // SAFETY: the header demands that texts end with a zero, and stay as long as the call.
        let name = unsafe { CStr::from_ptr(name.as_ptr()) };
        let kind = match is_directory {
            true => riverrun_linux::FileKind::Directory,
            false => riverrun_linux::FileKind::File,
        };
        entries.0.push((OsString::from_vec(name.to_bytes().to_vec()), kind));
        Ok(())
    })
}
