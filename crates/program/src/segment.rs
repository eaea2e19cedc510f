//! Loadable segments: where they lie in memory and in the file, and whether that can be.

use std::ops::Range;

use object::LittleEndian;
use object::elf::{PF_R, PF_W, PF_X, ProgramHeader64};

use crate::address_space::{ADDRESS_END, ADDRESS_START, PAGE_SIZE, Permissions};
use crate::error::LoadError;

/// A part of the program that is in memory before its first instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Index in the program header table.
    pub index: usize,
    /// Guest address of the first byte, load bias included.
    pub address: u64,
    /// Size in memory, in bytes, above 0. What the file does not fill is zero.
    pub memory_size: u64,
    /// The bytes of the file that fill the segment's beginning.
    pub file: Range<usize>,
    /// What the guest may do here.
    pub permissions: Permissions,
}

impl Segment {
    /// The guest addresses that the segment occupies.
    pub fn addresses(&self) -> Range<u64> {
        self.address..self.address + self.memory_size
    }

    /// The guest addresses that the file fills.
    pub fn filled(&self) -> Range<u64> {
        self.address..self.address + self.file.len() as u64
    }

    /// Checks a PT_LOAD header by itself. `Ok(None)`: it occupies no memory.
    pub(crate) fn check(
        index: usize,
        header: &ProgramHeader64<LittleEndian>,
        bias: u64,
        file_length: usize,
    ) -> Result<Option<Self>, LoadError> {
        let offset = header.p_offset.get(LittleEndian);
        let file_size = header.p_filesz.get(LittleEndian);
        let memory_size = header.p_memsz.get(LittleEndian);
        let link_address = header.p_vaddr.get(LittleEndian);
        let alignment = header.p_align.get(LittleEndian);

        if file_size > memory_size {
            return Err(LoadError::FileSizeExceedsMemorySize { index, file_size, memory_size });
        }
        if memory_size == 0 {
            return Ok(None);
        }
        // gABI, "Program Header": 0 and 1 mean that no alignment is required.
        let congruent = alignment <= 1 || alignment.is_power_of_two() && offset % alignment == link_address % alignment;
        if !congruent {
            return Err(LoadError::Misaligned { index, offset, address: link_address, alignment });
        }
        let address = link_address.wrapping_add(bias);
        let in_window = link_address.checked_add(bias).is_some_and(|start| start >= ADDRESS_START)
            && address.checked_add(memory_size).is_some_and(|end| end <= ADDRESS_END);
        if !in_window {
            return Err(LoadError::OutOfWindow { index, address, memory_size });
        }
        let file = file_range(offset, file_size, file_length, || format!("segment {index}"))?;
        let permissions = permissions_of(header);
        if permissions.is_writable_and_executable() {
            return Err(LoadError::WritableAndExecutable { index, address });
        }
        Ok(Some(Self { index, address, memory_size, file, permissions }))
    }
}

fn permissions_of(header: &ProgramHeader64<LittleEndian>) -> Permissions {
    let flags = header.p_flags.get(LittleEndian).0;
    let write = flags & PF_W.0 != 0;
    Permissions { read: flags & PF_R.0 != 0 || write, write, execute: flags & PF_X.0 != 0 }
}

/// The bytes of the file from `offset` on, or an error that names `what` if they are not all there.
pub(crate) fn file_range(
    offset: u64,
    size: u64,
    file_length: usize,
    what: impl FnOnce() -> String,
) -> Result<Range<usize>, LoadError> {
    if size == 0 {
        return Ok(0..0);
    }
    let end = offset.saturating_add(size);
    let range = usize::try_from(offset).ok().zip(usize::try_from(end).ok());
    match range {
        Some((start, end)) if end <= file_length => Ok(start..end),
        _ => Err(LoadError::Truncated { what: what(), end, length: file_length as u64 }),
    }
}

/// Whole pages with the same permissions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageRange {
    /// Guest addresses, both ends multiples of [`PAGE_SIZE`].
    pub addresses: Range<u64>,
    /// What the guest may do here: all that any segment in these pages allows.
    pub permissions: Permissions,
}

/// Lays `segments`, sorted by address, out in pages.
///
/// Linkers may end one segment and begin the next in the same page. Such a page gets the
/// permissions of both, unless that made it writable and executable.
pub(crate) fn lay_out_pages(segments: &[Segment]) -> Result<Vec<PageRange>, LoadError> {
    for pair in segments.windows(2) {
        if pair[1].address < pair[0].addresses().end {
            return Err(LoadError::Overlapping {
                first: pair[0].index,
                second: pair[1].index,
                address: pair[1].address,
            });
        }
    }
    let mut pages: Vec<PageRange> = Vec::with_capacity(segments.len());
    for segment in segments {
        let permissions = segment.permissions;
        let mut start = segment.address / PAGE_SIZE * PAGE_SIZE;
        let end = segment.addresses().end.next_multiple_of(PAGE_SIZE);
        if let Some(last) = pages.last_mut().filter(|last| start < last.addresses.end) {
            // Segments do not overlap, so only the last page can be shared.
            let shared = start..last.addresses.end;
            let union = last.permissions.union(permissions);
            if union.is_writable_and_executable() {
                return Err(LoadError::SharedPage { index: segment.index, permissions, page: shared.start });
            }
            last.addresses.end = shared.start;
            if last.addresses.is_empty() {
                pages.pop();
            }
            start = shared.end;
            pages.push(PageRange { addresses: shared, permissions: union });
        }
        if start < end {
            pages.push(PageRange { addresses: start..end, permissions });
        }
    }
    Ok(pages)
}
