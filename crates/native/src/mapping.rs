//! Mapping an artifact's shared object, without the dynamic loader.
//!
//! The compiler's objects have no relocations, no writable data and no imports, so mapping their segments suffices. They are
//! mapped near the host's code, because processors predict jumps between host and guest earlier if these are in the same 4
//! GiB.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

use object::{Object, ObjectSegment, SegmentFlags};

use crate::error::ArtifactError;

const PAGE: usize = 4096;

/// Processors store the lower half of branch targets separately, so jumps should stay within an aligned range of this size.
const NEAR: usize = 1 << 32;
/// The distance between the addresses that are tried.
const STEP: usize = 16 << 20;
/// The distance above the host's code that is left for its data.
const ABOVE: usize = 1 << 30;

/// The mapped segments of an object. None is writable, even if its flags say so for dynamic loaders.
#[derive(Debug)]
pub(crate) struct Mapping {
    start: *mut libc::c_void,
    len: usize,
    /// From the object's own addresses to the host's.
    pub(crate) bias: usize,
}

// SAFETY: the mapping is owned by this value and never written.
unsafe impl Send for Mapping {}
// SAFETY: as above.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// Maps the object that the file has, near `host` if there is room.
    ///
    /// # Errors
    /// [`ArtifactError::Load`], and [`ArtifactError::Damaged`] where it needs more than that.
    pub(crate) fn new(file: &File, object: &object::File<'_>, host: usize) -> Result<Mapping, ArtifactError> {
        if object.dynamic_relocations().is_some_and(|mut relocations| relocations.next().is_some()) {
            return Err(ArtifactError::Damaged);
        }
        let parts: Vec<Part> = object.segments().filter_map(|segment| Part::of(&segment)).collect();
        let first = parts.iter().map(|part| part.address).min().ok_or(ArtifactError::Lacks("segments"))?;
        let end = parts.iter().map(|part| part.address.saturating_add(part.len)).max().unwrap_or(first);
        let len = end - first;
        if len > NEAR {
            return Err(ArtifactError::Damaged);
        }
        let start = reserve(len, host).map_err(ArtifactError::Load)?;
        let mapping = Mapping { start, len, bias: (start as usize).wrapping_sub(first) };
        for part in parts {
            let protection = libc::PROT_READ | if part.is_code { libc::PROT_EXEC } else { 0 };
            let flags = libc::MAP_PRIVATE | libc::MAP_FIXED;
            let at = mapping.bias.wrapping_add(part.address) as *mut libc::c_void;
            // SAFETY: the part is within the range that `reserve` has just reserved for this mapping.
            let mapped = unsafe { libc::mmap(at, part.len, protection, flags, file.as_raw_fd(), part.offset) };
            if mapped == libc::MAP_FAILED {
                return Err(ArtifactError::Load(io::Error::last_os_error()));
            }
        }
        Ok(mapping)
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: this is the whole reserved range; `Artifact` keeps the mapping as long as its code is used.
        unsafe { libc::munmap(self.start, self.len) };
    }
}

/// A segment, in whole pages.
struct Part {
    address: usize,
    len: usize,
    offset: libc::off_t,
    is_code: bool,
}

impl Part {
    /// The pages of a segment that must be mapped, if any.
    fn of(segment: &object::Segment<'_, '_>) -> Option<Part> {
        let SegmentFlags::Elf { p_flags, .. } = segment.flags() else { return None };
        let (offset, size) = segment.file_range();
        let inside = segment.address() as usize % PAGE;
        let offset = libc::off_t::try_from(offset.checked_sub(inside as u64)?).ok()?;
        (size != 0).then(|| Part {
            address: segment.address() as usize - inside,
            len: (size as usize).saturating_add(inside).next_multiple_of(PAGE),
            offset,
            is_code: p_flags.0 & object::elf::PF_X.0 != 0,
        })
    }
}

/// Reserves addresses near `host`, preferably below it, or else anywhere.
fn reserve(len: usize, host: usize) -> io::Result<*mut libc::c_void> {
    let reserve = |at: usize, flags| {
        let flags = flags | libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        // SAFETY: a fresh mapping, which replaces none.
        let start = unsafe { libc::mmap(at as *mut libc::c_void, len, libc::PROT_NONE, flags, -1, 0) };
        if start == libc::MAP_FAILED { Err(io::Error::last_os_error()) } else { Ok(start) }
    };
    let is_near = |&at: &usize| at != 0 && at / NEAR == host / NEAR && (at + len) / NEAR == host / NEAR;
    let below = (1..NEAR / STEP).map_while(|steps| (host / STEP).checked_sub(steps + len / STEP).map(|at| at * STEP));
    let above = (ABOVE / STEP..NEAR / STEP).map(|steps| (host / STEP + steps) * STEP);
    for at in below.chain(above).filter(is_near) {
        if let Ok(start) = reserve(at, libc::MAP_FIXED_NOREPLACE) {
            // Kernels without this flag treat the address as a hint.
            if start as usize == at {
                return Ok(start);
            }
            // SAFETY: the mapping of just now.
            unsafe { libc::munmap(start, len) };
        }
    }
    reserve(0, 0)
}
