//! Mapping an artifact's shared object, without the dynamic loader.
//!
//! The compiler's objects have no relocations, no writable data and no imports, so mapping their segments suffices. They are
//! mapped near the host's code, because processors predict jumps between host and guest earlier if these are in the same 4
//! GiB.

use std::fs::File;
use std::ptr::NonNull;

use object::{Object, ObjectSegment, SegmentFlags};

use super::error::ArtifactError;
use crate::sys;

/// Bytes of an artifact at most.
const MAX_LEN: usize = 1 << 32;

/// The mapped segments of an object. None is writable, even if its flags say so for dynamic loaders.
#[derive(Debug)]
pub(crate) struct Mapping {
    start: NonNull<u8>,
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
        if len > MAX_LEN {
            return Err(ArtifactError::Damaged);
        }
        let start = sys::reserve_near(len, host).map_err(ArtifactError::Load)?;
        let mapping = Mapping { start, len, bias: (start.as_ptr() as usize).wrapping_sub(first) };
        for part in parts {
            let at = mapping.bias.wrapping_add(part.address) as *mut u8;
            // SAFETY: the part is within the range that `reserve_near` has just reserved for this mapping.
            unsafe { sys::map_code(at, part.len, file, part.offset, part.is_code) }.map_err(ArtifactError::Load)?;
        }
        Ok(mapping)
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: this is the whole reserved range; `Artifact` keeps the mapping as long as its code is used.
        unsafe { sys::release(self.start.as_ptr(), self.len) };
    }
}

/// A segment, in whole pages.
struct Part {
    address: usize,
    len: usize,
    offset: u64,
    is_code: bool,
}

impl Part {
    /// The pages of a segment that must be mapped, if any.
    fn of(segment: &object::Segment<'_, '_>) -> Option<Part> {
        let SegmentFlags::Elf { p_flags, .. } = segment.flags() else { return None };
        let (offset, size) = segment.file_range();
        let inside = segment.address() as usize % sys::PAGE_SIZE;
        let offset = offset.checked_sub(inside as u64)?;
        (size != 0).then(|| Part {
            address: segment.address() as usize - inside,
            len: (size as usize).saturating_add(inside).next_multiple_of(sys::PAGE_SIZE),
            offset,
            is_code: p_flags.0 & object::elf::PF_X.0 != 0,
        })
    }
}
