//! Mappings on Linux. A change replaces what was there; if it fails, nothing has changed.

use std::ffi::CStr;
use std::fs::File;
use std::io;
use std::ops::{Deref, Range};
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

/// Whether a reservation that no window uses takes nothing from the rest of the process: it has no limit of addresses
/// or data.
pub(crate) fn room_is_free() -> bool {
    let is_unlimited = |resource| {
        let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        // SAFETY: the limit is written to a place of its type.
        unsafe { libc::getrlimit(resource, &mut limit) == 0 && limit.rlim_cur == libc::RLIM_INFINITY }
    };
    writable_room_is_free() && is_unlimited(libc::RLIMIT_AS) && is_unlimited(libc::RLIMIT_DATA)
}

/// Whether [`guard`] works here: Linux 6.13 or newer.
fn has_guards() -> bool {
    static HAS_GUARDS: LazyLock<bool> = LazyLock::new(|| {
        let Ok(page) = reserve(PAGE_SIZE, true) else { return false };
        // A kernel, or what stands for one, may accept advice that it does not know. So it is asked to read the page.
        // SAFETY: a fresh mapping, which nothing uses.
        unsafe {
            let is_advised = libc::madvise(page.as_ptr().cast(), PAGE_SIZE, MADV_GUARD_INSTALL) == 0;
            let is_guarded = is_advised
                && memory_file(c"riverrun-probe")
                    .is_ok_and(|file| libc::write(file.as_raw_fd(), page.as_ptr().cast(), 1) == -1);
            release(page.as_ptr(), PAGE_SIZE);
            is_guarded
        }
    });
    *HAS_GUARDS
}

/// The advice that makes pages guards.
const MADV_GUARD_INSTALL: libc::c_int = 102;

/// Makes pages inaccessible. They stay in the mapping that they are in, if the kernel can do that.
///
/// # Safety
/// They lie in a reservation and have never been mapped otherwise, and no view of them is held.
///
/// # Errors
/// If the host refuses.
pub(crate) unsafe fn guard(start: *mut u8, len: usize) -> io::Result<()> {
    // The kernel refuses where the process has locked its memory.
    // SAFETY: as the caller promises.
    match has_guards() && unsafe { libc::madvise(start.cast(), len, MADV_GUARD_INSTALL) } == 0 {
        true => Ok(()),
        // SAFETY: as the caller promises.
        false => unsafe { protect(start, len, Perm::NONE) },
    }
}

/// Gives a reservation back.
///
/// # Safety
/// It is a whole one of [`reserve`], and nothing refers to it any more.
pub(crate) unsafe fn release(start: *mut u8, len: usize) {
    // The kernel refuses where the process has as many mappings as it may, and this would part one: then the addresses are
    // lost, but not the memory.
    // SAFETY: as the caller promises.
    unsafe {
        if libc::munmap(start.cast(), len) != 0 {
            let _ = discard(start, len);
        }
    }
}

/// Maps pages that are zero and inaccessible.
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

/// Maps pages of a file, copied where they are written to; they are inaccessible at first.
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
    // SAFETY: as the caller promises; no other code knows the pages' address.
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

/// Maps inaccessible pages. The kernel refuses to count writable ones only after it has unmapped what they
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
    // SAFETY: the descriptor is fresh and has no other owner.
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

    /// Its first `len` bytes, as memory that can be read. The caller does not write the file any more.
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

/// A file in memory whose content does not change any more, mapped.
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

/// Which parts of a range of pages are this process's own: written, or at least read where there is no file. `None` if the
/// host does not tell.
pub(crate) fn own_pages(start: *const u8, len: usize) -> Option<Vec<Range<usize>>> {
    // Opened anew each time: the file belongs to the process that has opened it, and hosts may fork.
    let file = File::open("/proc/self/pagemap").ok()?;
    scan_pages(&file, start.addr(), len).or_else(|_| read_pages(&file, start.addr(), len)).ok()
}

/// Adds a range behind others.
fn append(ranges: &mut Vec<Range<usize>>, range: Range<usize>) {
    match ranges.last_mut() {
        Some(last) if last.end == range.start => last.end = range.end,
        _ => ranges.push(range),
    }
}

/// The same by one call that looks at pages only where there are any: Linux 6.7, unless a filter of system calls forbids it.
fn scan_pages(file: &File, start: usize, len: usize) -> io::Result<Vec<Range<usize>>> {
    /// The argument of `PAGEMAP_SCAN`.
    #[repr(C)]
    #[derive(Default)]
    struct Scan {
        size: u64,
        flags: u64,
        start: u64,
        end: u64,
        walk_end: u64,
        found: u64,
        found_len: u64,
        max_pages: u64,
        category_inverted: u64,
        category_mask: u64,
        category_anyof_mask: u64,
        return_mask: u64,
    }
    #[repr(C)]
    #[derive(Clone, Copy, Default)]
    struct Found {
        start: u64,
        end: u64,
        categories: u64,
    }
    const FOUND: usize = 512;
    const SCAN: libc::c_ulong =
        3 << 30 | (size_of::<Scan>() as libc::c_ulong) << 16 | (b'f' as libc::c_ulong) << 8 | 16;
    const OF_A_FILE: u64 = 1 << 2;
    const PRESENT: u64 = 1 << 3;
    const SWAPPED: u64 = 1 << 4;

    let mut found = [Found::default(); FOUND];
    let mut own: Vec<Range<usize>> = Vec::new();
    let mut scan = Scan {
        size: size_of::<Scan>() as u64,
        start: start as u64,
        end: (start + len) as u64,
        found: found.as_mut_ptr() as u64,
        found_len: FOUND as u64,
        category_inverted: OF_A_FILE,
        category_mask: OF_A_FILE,
        category_anyof_mask: PRESENT | SWAPPED,
        return_mask: OF_A_FILE,
        ..Scan::default()
    };
    while scan.start < scan.end {
        // SAFETY: the kernel writes to `scan` and as many elements of `found` as it is told, whose borrow is not used until
        // then.
        let count = unsafe { libc::ioctl(file.as_raw_fd(), SCAN, &raw mut scan) };
        let count = usize::try_from(count).map_err(|_| io::Error::last_os_error())?;
        for part in &found[..count.min(FOUND)] {
            append(&mut own, part.start as usize - start..part.end as usize - start);
        }
        if scan.walk_end <= scan.start {
            return Err(io::Error::other("the kernel's scan of pages does not go on"));
        }
        scan.start = scan.walk_end;
    }
    Ok(own)
}

/// The same from the entries of all pages.
fn read_pages(file: &File, start: usize, len: usize) -> io::Result<Vec<Range<usize>>> {
    const PRESENT: u64 = 1 << 63;
    const SWAPPED: u64 = 1 << 62;
    const OF_A_FILE: u64 = 1 << 61;
    let mut entries = vec![0; len / PAGE_SIZE * size_of::<u64>()];
    file.read_exact_at(&mut entries, (start / PAGE_SIZE * size_of::<u64>()) as u64)?;
    let mut own: Vec<Range<usize>> = Vec::new();
    for (page, entry) in entries.as_chunks().0.iter().enumerate() {
        let entry = u64::from_ne_bytes(*entry);
        if entry & (PRESENT | SWAPPED) == 0 || entry & OF_A_FILE != 0 {
            continue;
        }
        append(&mut own, page * PAGE_SIZE..(page + 1) * PAGE_SIZE);
    }
    Ok(own)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn guards_cannot_be_read() {
        let start = reserve(3 * PAGE_SIZE, true).unwrap().as_ptr();
        let file = memory_file(c"riverrun-test").unwrap();
        // SAFETY: the pages are the test's own, and the kernel checks what it is to read.
        unsafe {
            guard(start.add(PAGE_SIZE), PAGE_SIZE).unwrap();
            let read = |page: usize| libc::write(file.as_raw_fd(), start.add(page * PAGE_SIZE + 7).cast(), 1);
            assert_eq!([read(0), read(1), read(2)], [1, -1, 1]);
            release(start, 3 * PAGE_SIZE);
        }
    }

    #[test]
    fn pages_are_told_alike_by_either_way() {
        const PAGES: usize = 4096;
        let mut image = ImageFile::new().unwrap();
        image.set_len(64 * PAGE_SIZE as u64).unwrap();
        let start = reserve(PAGES * PAGE_SIZE, true).unwrap().as_ptr();
        // SAFETY: all of it lies in the reservation, which no other code uses.
        unsafe {
            map_file(start.add(8 * PAGE_SIZE), 64 * PAGE_SIZE, &image, 0).unwrap();
            protect(start.add(8 * PAGE_SIZE), 64 * PAGE_SIZE, Perm::READ | Perm::WRITE).unwrap();
            // A page of the file that is read, and written ones: in the file, beside it, and more runs than one call tells.
            assert_eq!(start.add(9 * PAGE_SIZE).read_volatile(), 0);
            let written: Vec<usize> = [7, 8, 20, 21, 71, 72].into_iter().chain((100..PAGES).step_by(3)).collect();
            written.iter().for_each(|page| start.add(page * PAGE_SIZE).write_volatile(1));
            let file = File::open("/proc/self/pagemap").unwrap();
            let told = read_pages(&file, start.addr(), PAGES * PAGE_SIZE).unwrap();
            let pages: Vec<usize> = told.iter().flat_map(|own| own.clone().step_by(PAGE_SIZE)).collect();
            assert_eq!(pages, written.iter().map(|page| page * PAGE_SIZE).collect::<Vec<_>>());
            match scan_pages(&file, start.addr(), PAGES * PAGE_SIZE) {
                Ok(scanned) => assert_eq!(scanned, told),
                // Before Linux 6.7.
                Err(error) => assert_eq!(error.raw_os_error(), Some(libc::ENOTTY)),
            }
            release(start, PAGES * PAGE_SIZE);
        }
    }
}
