//! Arrays of zeros whose pages take memory only when they are written.

use std::io;
use std::ops::Deref;
use std::ptr::{self, NonNull};

/// Types whose all-zeros pattern is valid and that may be written through a shared reference.
///
/// # Safety
/// All zeros is a value of the type, and it needs no drop.
pub(crate) unsafe trait Zeroed: Sync {}

// SAFETY: an integer.
unsafe impl Zeroed for std::sync::atomic::AtomicU64 {}

/// `len` zeroed elements at a fixed address, backed by pages when first written.
#[derive(Debug)]
pub(crate) struct Arena<T: Zeroed> {
    start: NonNull<T>,
    len: usize,
}

// SAFETY: an Arena owns its elements as a Vec would.
unsafe impl<T: Zeroed + Send> Send for Arena<T> {}
// SAFETY: it gives out shared references only, and its elements are Sync.
unsafe impl<T: Zeroed> Sync for Arena<T> {}

impl<T: Zeroed> Arena<T> {
    /// Reserves address space for `len` elements.
    pub(crate) fn new(len: usize) -> io::Result<Arena<T>> {
        let too_large = || io::Error::from(io::ErrorKind::OutOfMemory);
        let bytes = len.max(1).checked_mul(size_of::<T>()).ok_or_else(too_large)?;
        // SAFETY: a fresh private mapping at an address of the kernel's choice.
        let start = unsafe {
            let protection = libc::PROT_READ | libc::PROT_WRITE;
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
            libc::mmap(ptr::null_mut(), bytes, protection, flags, -1, 0)
        };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        Ok(Arena { start: NonNull::new(start).expect("a mapping is never at null").cast(), len })
    }

    /// Writes an element that no other thread can reach yet.
    ///
    /// # Safety
    /// No reference to the element is in use, and no other thread accesses it.
    ///
    /// # Panics
    /// If `index` is not below the length.
    pub(crate) unsafe fn write(&self, index: usize, value: T) {
        assert!(index < self.len, "the arena has {} elements, not {index}", self.len);
        // SAFETY: in bounds; exclusive as the caller promises.
        unsafe { self.start.add(index).write(value) };
    }
}

impl<T: Zeroed> Deref for Arena<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        // SAFETY: the mapping is as long and lives as long as `self`; zeros are valid elements.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }
}

impl<T: Zeroed> Drop for Arena<T> {
    fn drop(&mut self) {
        // SAFETY: the whole mapping of `new`; references to elements borrow from `self`, so none is left.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.len.max(1) * size_of::<T>()) };
    }
}
