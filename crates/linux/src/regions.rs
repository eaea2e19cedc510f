//! Parts of the guest's memory by what is mapped there, for calls on its address space and on mapped files.

use std::ops::Range;

use riverrun::{Memory, Region};

use crate::call::{Call, Stop};

/// Bytes of memory that are given back at once: for so much the kernel takes some milliseconds.
pub(crate) const CHUNK: u64 = 8 << 20;

/// The regions that have a part of a range.
pub(crate) fn overlapping(memory: &Memory, range: Range<u64>) -> &[Region] {
    let regions = memory.regions();
    let first = regions.partition_point(|region| region.end <= range.start);
    let last = regions.partition_point(|region| region.start < range.end);
    &regions[first..last.max(first)]
}

/// The parts of regions that lie in a range.
pub(crate) fn held(memory: &Memory, range: Range<u64>) -> Vec<Region> {
    let clip =
        |region: &Region| Region { start: region.start.max(range.start), end: region.end.min(range.end), ..*region };
    overlapping(memory, range.clone()).iter().map(clip).collect()
}

/// Gives back what a range holds, in chunks, and may be interrupted between.
pub(crate) fn discard(call: &mut Call<'_>, range: Range<u64>) -> Result<(), Stop> {
    for region in held(call.memory, range) {
        for start in (region.start..region.end).step_by(CHUNK as usize) {
            call.memory.discard(start, CHUNK.min(region.end - start))?;
            call.patience.check()?;
        }
    }
    Ok(())
}
