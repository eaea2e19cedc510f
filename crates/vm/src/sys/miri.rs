//! Mappings under Miri: bytes of one allocation, which is zero where nothing was written. Which accesses pages allow is
//! not known here. Each function keeps the contract that `linux/mapping.rs` states.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::io;
use std::ptr::NonNull;

use crate::perm::Perm;

fn layout(len: usize) -> Layout {
    Layout::from_size_align(len, 64 << 10).expect("a reservation is no larger than addresses allow")
}

pub(crate) const HUGE_PAGE: usize = 2 << 20;

pub(crate) fn reserve(len: usize, _: bool) -> io::Result<NonNull<u8>> {
    // SAFETY: the layout has a size.
    NonNull::new(unsafe { alloc_zeroed(layout(len)) }).ok_or_else(|| io::ErrorKind::OutOfMemory.into())
}

pub(crate) unsafe fn release(start: *mut u8, len: usize) {
    // SAFETY: as the caller promises; `reserve` has allocated it with this layout.
    unsafe { dealloc(start, layout(len)) };
}

pub(crate) unsafe fn map_zeros(start: *mut u8, len: usize) -> io::Result<()> {
    // SAFETY: as the caller promises.
    unsafe { start.write_bytes(0, len) };
    Ok(())
}

pub(crate) unsafe fn map_file(start: *mut u8, len: usize, file: &ImageFile, offset: u64) -> io::Result<()> {
    let bytes = &file.0[offset as usize..][..len];
    // SAFETY: as the caller promises.
    unsafe { start.copy_from_nonoverlapping(bytes.as_ptr(), len) };
    Ok(())
}

pub(crate) unsafe fn move_pages(from: *mut u8, len: usize, to: *mut u8, new_len: usize) -> io::Result<()> {
    // SAFETY: as the caller promises.
    unsafe {
        to.write_bytes(0, new_len);
        to.copy_from_nonoverlapping(from, len.min(new_len));
        from.write_bytes(0, len);
    }
    Ok(())
}

pub(crate) unsafe fn discard(start: *mut u8, len: usize) -> io::Result<()> {
    // SAFETY: as the caller promises.
    unsafe { start.write_bytes(0, len) };
    Ok(())
}

pub(crate) fn room_is_free() -> bool {
    false
}

pub(crate) fn writable_room_is_free() -> bool {
    true
}

pub(crate) unsafe fn protect(_: *mut u8, _: usize, _: Perm) -> io::Result<()> {
    Ok(())
}

pub(crate) unsafe fn guard(_: *mut u8, _: usize) -> io::Result<()> {
    Ok(())
}

#[derive(Debug)]
pub(crate) struct ImageFile(Vec<u8>);

impl ImageFile {
    pub(crate) fn new() -> io::Result<ImageFile> {
        Ok(ImageFile(Vec::new()))
    }

    pub(crate) fn set_len(&mut self, len: u64) -> io::Result<()> {
        self.0.resize(len as usize, 0);
        Ok(())
    }

    pub(crate) fn view(&self, len: usize) -> io::Result<FileView> {
        Ok(self.0[..len].into())
    }

    pub(crate) fn write_all_at(&mut self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.0[offset as usize..][..bytes.len()].copy_from_slice(bytes);
        Ok(())
    }
}

pub(crate) type FileView = Box<[u8]>;

pub(crate) fn own_pages(_: *const u8, _: usize) -> Option<Vec<std::ops::Range<usize>>> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `cargo xtask miri` asserts that Miri finds the fault.
    #[test]
    #[ignore = "it fails on purpose"]
    fn a_use_of_what_was_released() {
        let start = reserve(64 << 10, false).unwrap();
        // SAFETY: none, on purpose: the read comes too late.
        unsafe {
            release(start.as_ptr(), 64 << 10);
            start.read();
        }
    }
}
