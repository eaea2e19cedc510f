//! A shared object in memory.
//!
//! The compiler's objects have nothing that a dynamic loader would have to see to: no relocations, no data that
//! changes, nothing from elsewhere. So they are just mapped, and where it is best: calls between host and guest are
//! jumps from one to the other, and processors predict those best that do not lead far.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

use object::{Object, ObjectSegment, SegmentFlags};

use crate::error::ArtifactError;

const PAGE: usize = 4096;

/// Processors that keep the lower half of a target apart from the upper one want both in the same part of this size.
const NEAR: usize = 1 << 32;
/// Places are tried at such distances.
const STEP: usize = 16 << 20;
/// Above the host's code, so much is left to its data.
const ABOVE: usize = 1 << 30;

/// The mapped segments of an object. None can be written: those that say so are for dynamic loaders.
#[derive(Debug)]
pub(crate) struct Mapping {
    start: *mut libc::c_void,
    len: usize,
    /// From the object's own addresses to the host's.
    pub(crate) bias: usize,
}

// SAFETY: what is mapped belongs to this, and never changes.
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
            // SAFETY: the part lies in what was reserved for it, where nothing else is.
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
        // SAFETY: this is what was reserved, whole, and nobody has it any more.
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
    /// What is to be mapped of a segment, if anything is.
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

/// Sets addresses aside: near `host`, below it if there is room, or else anywhere.
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
            // Kernels that do not know the flag take the address for a hint.
            if start as usize == at {
                return Ok(start);
            }
            // SAFETY: the mapping of just now.
            unsafe { libc::munmap(start, len) };
        }
    }
    reserve(0, 0)
}
