//! Mappings on Linux. A change replaces what was there; if it fails, nothing has changed.

use std::ffi::CStr;
use std::fs::File;
use std::io;
use std::ops::Deref;
use std::os::fd::{AsRawFd, FromRawFd};
use std::os::unix::fs::FileExt;
use std::ptr::{self, NonNull};
use std::slice;
use std::sync::LazyLock;

use crate::perm::Perm;

const ANONYMOUS: libc::c_int = libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;

/// Bytes of a page of the host.
pub(crate) const PAGE_SIZE: usize = 4096;
/// Bytes of a huge page, at whose multiples it begins.
pub(crate) const HUGE_PAGE: usize = 2 << 20;

/// Reserves `len` bytes of address space, all of which can be written to, or none accessed.
///
/// # Errors
/// If the host has no such space left.
pub(crate) fn reserve(len: usize, is_writable: bool) -> io::Result<NonNull<u8>> {
    let protection = if is_writable { libc::PROT_READ | libc::PROT_WRITE } else { libc::PROT_NONE };
    // SAFETY: a fresh private mapping at an address of the kernel's choice.
    let start = unsafe { libc::mmap(ptr::null_mut(), len, protection, libc::MAP_PRIVATE | ANONYMOUS, -1, 0) };
    match start == libc::MAP_FAILED {
        true => Err(io::Error::last_os_error()),
        false => Ok(NonNull::new(start.cast()).expect("a mapping is never at null")),
    }
}

/// Whether the kernel lets address space be writable without counting it as memory. It does unless it is told never to
/// promise more memory than it has (`vm.overcommit_memory`): then it refuses what no host has.
pub(crate) fn writable_room_is_free() -> bool {
    static IS_FREE: LazyLock<bool> = LazyLock::new(|| {
        const MUCH: usize = 16 << 40;
        // SAFETY: a fresh mapping, which nothing uses.
        reserve(MUCH, true).is_ok_and(|start| unsafe { libc::munmap(start.as_ptr().cast(), MUCH) } == 0)
    });
    *IS_FREE
}

/// Whether a reservation that nobody uses takes nothing from the rest of the process: it has no limit of addresses or data.
pub(crate) fn room_is_free() -> bool {
    let is_unlimited = |resource| {
        let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        // SAFETY: the limit is written to a place of its type.
        unsafe { libc::getrlimit(resource, &mut limit) == 0 && limit.rlim_cur == libc::RLIM_INFINITY }
    };
    writable_room_is_free() && is_unlimited(libc::RLIMIT_AS) && is_unlimited(libc::RLIMIT_DATA)
}

/// Gives a reservation back.
///
/// # Safety
/// It is a whole one of [`reserve`], and nothing refers to it any more.
pub(crate) unsafe fn release(start: *mut u8, len: usize) {
    // SAFETY: as the caller promises.
    unsafe { libc::munmap(start.cast(), len) };
}

/// Maps pages that are zero, and that nobody can access.
///
/// # Safety
/// They lie in a reservation, and no view of them is held.
///
/// # Errors
/// If the host refuses.
pub(crate) unsafe fn map_zeros(start: *mut u8, len: usize) -> io::Result<()> {
    // SAFETY: as the caller promises.
    unsafe { map(start, len, ANONYMOUS | libc::MAP_FIXED, -1, 0) }
}

/// Maps pages of a file, copied where they are written to; nobody can access them.
///
/// # Safety
/// As [`map_zeros`].
///
/// # Errors
/// If the host refuses.
pub(crate) unsafe fn map_file(start: *mut u8, len: usize, file: &ImageFile, offset: u64) -> io::Result<()> {
    // SAFETY: as the caller promises.
    unsafe { map(start, len, libc::MAP_NORESERVE | libc::MAP_FIXED, file.0.as_raw_fd(), offset) }
}

/// Moves pages of no file with their permissions, in place of what is at `to`; what `new_len` adds is zero. The pages
/// at `from` stay mapped, and are zero. Both ranges belong to the reservation at any time: the pages go by way of an
/// address of the kernel's choice, and only that is given back.
///
/// # Safety
/// As [`map_zeros`], of both ranges, which do not overlap.
///
/// # Errors
/// If the kernel is older than Linux 5.7, or keeps several mappings of different origin in the range. Then nothing has
/// changed. If the kernel has no memory for its own records, what was at `to` may be zero and without access.
pub(crate) unsafe fn move_pages(from: *mut u8, len: usize, to: *mut u8, new_len: usize) -> io::Result<()> {
    let (flags, anywhere) = (libc::MREMAP_MAYMOVE | libc::MREMAP_DONTUNMAP, ptr::null_mut::<u8>());
    // SAFETY: as the caller promises.
    let between = unsafe { libc::mremap(from.cast(), len, len, flags, anywhere) };
    if between == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: as the caller promises; nobody else knows the pages' address.
    unsafe {
        place(between.cast(), len, to, new_len).inspect_err(|_| {
            if place(between.cast(), len, from, len).is_err() {
                libc::munmap(between, len);
            }
        })
    }
}

/// Moves pages into a reservation.
unsafe fn place(pages: *mut u8, len: usize, to: *mut u8, new_len: usize) -> io::Result<()> {
    let flags = libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED;
    // SAFETY: as the callers promise.
    match unsafe { libc::mremap(pages.cast(), len, new_len, flags, to) } {
        libc::MAP_FAILED => {
            let error = io::Error::last_os_error();
            // A gap, if the kernel has left one, must not be another's. This fails where there is none.
            // SAFETY: as the callers promise; nothing is replaced.
            let _ = unsafe { map(to, new_len, ANONYMOUS | libc::MAP_FIXED_NOREPLACE, -1, 0) };
            Err(error)
        }
        _ => Ok(()),
    }
}

/// Makes pages of no file zero again.
///
/// # Safety
/// As [`map_zeros`].
///
/// # Errors
/// If the host refuses.
pub(crate) unsafe fn discard(start: *mut u8, len: usize) -> io::Result<()> {
    /// The same for pages that the host has locked in memory; Linux 5.18.
    const MADV_DONTNEED_LOCKED: libc::c_int = 24;
    // SAFETY: as the caller promises.
    let advise = |advice| unsafe { libc::madvise(start.cast(), len, advice) } == 0;
    match advise(libc::MADV_DONTNEED) || advise(MADV_DONTNEED_LOCKED) {
        true => Ok(()),
        false => Err(io::Error::last_os_error()),
    }
}

/// Changes the permissions of mapped pages.
///
/// # Safety
/// As [`map_zeros`].
///
/// # Errors
/// If the host refuses.
pub(crate) unsafe fn protect(start: *mut u8, len: usize, perm: Perm) -> io::Result<()> {
    // SAFETY: as the caller promises.
    match unsafe { libc::mprotect(start.cast(), len, protection(perm)) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Maps pages that nobody can access. The kernel refuses to count writable ones only after it has unmapped what they
/// replace, and another thread could take such a gap: so [`protect`] makes them writable.
unsafe fn map(start: *mut u8, len: usize, flags: libc::c_int, fd: libc::c_int, offset: u64) -> io::Result<()> {
    let flags = flags | libc::MAP_PRIVATE;
    // SAFETY: callers promise that the pages lie in a reservation, and that no view of them is held.
    let at = unsafe { libc::mmap(start.cast(), len, libc::PROT_NONE, flags, fd, offset as libc::off_t) };
    match at == libc::MAP_FAILED {
        true => Err(io::Error::last_os_error()),
        false => Ok(()),
    }
}

/// Guest text is data to the host: never executable.
fn protection(perm: Perm) -> libc::c_int {
    match perm {
        Perm::NONE => libc::PROT_NONE,
        _ if perm.contains(Perm::WRITE) => libc::PROT_READ | libc::PROT_WRITE,
        _ => libc::PROT_READ,
    }
}

/// An anonymous file of this process, in memory.
///
/// # Errors
/// If the host has no more file descriptors or memory.
pub(crate) fn memory_file(name: &CStr) -> io::Result<File> {
    // SAFETY: the name is a C string.
    let fd = unsafe { libc::memfd_create(name.as_ptr(), libc::MFD_CLOEXEC) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptor is fresh and owned by nobody else.
    Ok(unsafe { File::from_raw_fd(fd) })
}

/// A file in memory (a memfd).
#[derive(Debug)]
pub(crate) struct ImageFile(File);

impl ImageFile {
    /// An empty one.
    ///
    /// # Errors
    /// If the host has no more file descriptors or memory.
    pub(crate) fn new() -> io::Result<ImageFile> {
        memory_file(c"riverrun-image").map(ImageFile)
    }

    /// Makes it this long; what is new is zero.
    ///
    /// # Errors
    /// If the host has no memory.
    pub(crate) fn set_len(&mut self, len: u64) -> io::Result<()> {
        self.0.set_len(len)
    }

    /// Its first `len` bytes, as memory that can be read. Nobody may write the file from now on.
    ///
    /// # Errors
    /// If the host refuses.
    pub(crate) fn view(&self, len: usize) -> io::Result<FileView> {
        if len == 0 {
            return Ok(FileView { start: NonNull::dangling(), len });
        }
        // SAFETY: a fresh mapping at an address of the kernel's choice.
        let start =
            unsafe { libc::mmap(ptr::null_mut(), len, libc::PROT_READ, libc::MAP_SHARED, self.0.as_raw_fd(), 0) };
        match start == libc::MAP_FAILED {
            true => Err(io::Error::last_os_error()),
            false => Ok(FileView { start: NonNull::new(start.cast()).expect("a mapping is never at null"), len }),
        }
    }

    /// Writes bytes.
    ///
    /// # Errors
    /// If the host has no memory.
    pub(crate) fn write_all_at(&mut self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.0.write_all_at(bytes, offset)
    }
}

/// A file in memory that nobody writes any more, mapped.
#[derive(Debug)]
pub(crate) struct FileView {
    start: NonNull<u8>,
    len: usize,
}

// SAFETY: the mapping is the view's own, and its bytes never change.
unsafe impl Send for FileView {}
// SAFETY: as above.
unsafe impl Sync for FileView {}

impl Deref for FileView {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: the mapping of `ImageFile::view` has so many bytes, lives as long as the view, and its file is only read.
        unsafe { slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }
}

impl Drop for FileView {
    fn drop(&mut self) {
        if self.len != 0 {
            // SAFETY: this is the whole mapping of `ImageFile::view`, from which nothing borrows any more.
            unsafe { libc::munmap(self.start.as_ptr().cast(), self.len) };
        }
    }
}

/// Which of the pages are this process's own: written, or at least read where there is no file. `None` if the host does
/// not tell.
pub(crate) fn own_pages(start: *const u8, len: usize) -> Option<Vec<bool>> {
    const PAGE: usize = 4096;
    const PRESENT: u64 = 1 << 63;
    const SWAPPED: u64 = 1 << 62;
    const OF_A_FILE: u64 = 1 << 61;
    // Opened anew each time: the file belongs to the process that has opened it, and hosts may fork.
    let file = File::open("/proc/self/pagemap").ok()?;
    let mut entries = vec![0; len / PAGE * size_of::<u64>()];
    file.read_exact_at(&mut entries, (start.addr() / PAGE * size_of::<u64>()) as u64).ok()?;
    let is_own = |entry: &[u8; 8]| {
        let entry = u64::from_ne_bytes(*entry);
        entry & (PRESENT | SWAPPED) != 0 && entry & OF_A_FILE == 0
    };
    Some(entries.as_chunks().0.iter().map(is_own).collect())
}
