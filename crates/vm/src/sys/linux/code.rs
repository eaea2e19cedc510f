//! Mappings of compiled code.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::ptr::NonNull;

use super::mapping::reserve;

/// Processors store the lower half of branch targets separately, so jumps should stay within an aligned range of this size.
const NEAR: usize = 1 << 32;
/// The distance between the addresses that are tried.
const STEP: usize = 16 << 20;
/// The distance above the host's code that is left for its data.
const ABOVE: usize = 1 << 30;

/// Reserves addresses near `host`, preferably below it, or else anywhere.
///
/// # Errors
/// If the host has no such space left.
pub(crate) fn reserve_near(len: usize, host: usize) -> io::Result<NonNull<u8>> {
    let reserve_at = |at: usize, flags| {
        let flags = flags | libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        // SAFETY: a fresh mapping, which replaces none.
        let start = unsafe { libc::mmap(at as *mut libc::c_void, len, libc::PROT_NONE, flags, -1, 0) };
        if start == libc::MAP_FAILED { Err(io::Error::last_os_error()) } else { Ok(start) }
    };
    let is_near = |&at: &usize| at != 0 && at / NEAR == host / NEAR && (at + len) / NEAR == host / NEAR;
    let below = (1..NEAR / STEP).map_while(|steps| (host / STEP).checked_sub(steps + len / STEP).map(|at| at * STEP));
    let above = (ABOVE / STEP..NEAR / STEP).map(|steps| (host / STEP + steps) * STEP);
    for at in below.chain(above).filter(is_near) {
        if let Ok(start) = reserve_at(at, libc::MAP_FIXED_NOREPLACE) {
            // Kernels without this flag treat the address as a hint.
            if start as usize == at {
                return Ok(NonNull::new(start.cast()).expect("a mapping is never at null"));
            }
            // SAFETY: the mapping of just now.
            unsafe { libc::munmap(start, len) };
        }
    }
    reserve(len, false)
}

/// Maps a part of an object's file: code, or data that is never written.
///
/// # Safety
/// The pages lie in a reservation, and nothing uses them.
///
/// # Errors
/// If the host refuses.
pub(crate) unsafe fn map_code(at: *mut u8, len: usize, file: &File, offset: u64, is_code: bool) -> io::Result<()> {
    let protection = libc::PROT_READ | if is_code { libc::PROT_EXEC } else { 0 };
    let offset = libc::off_t::try_from(offset).map_err(|_| io::ErrorKind::InvalidInput)?;
    // SAFETY: the caller ensures that only unused pages of a reservation are replaced.
    let mapped = unsafe {
        libc::mmap(at.cast(), len, protection, libc::MAP_PRIVATE | libc::MAP_FIXED, file.as_raw_fd(), offset)
    };
    match mapped == libc::MAP_FAILED {
        true => Err(io::Error::last_os_error()),
        false => Ok(()),
    }
}
