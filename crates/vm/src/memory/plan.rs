//! Changes of an address space before they are made: what its regions would be, and how many mappings the kernel would have.

use std::ops::Range;

use super::pages::Region;
use super::seams::Seams;
use crate::perm::Perm;

/// A change of a range of the guest's address space.
#[derive(Clone, Copy)]
pub(super) enum Change {
    /// Zeroed pages.
    Map(Perm),
    /// Pages of the image's file.
    File(Perm),
    /// Pages of a saved memory's file, whose origin is zeros.
    Backing(Perm),
    /// Other permissions.
    Protect(Perm),
    Unmap,
}

impl Change {
    /// What the guest may do there afterwards; `None` if nothing is mapped.
    pub(super) fn perm(self) -> Option<Perm> {
        match self {
            Change::Map(perm) | Change::Protect(perm) | Change::File(perm) | Change::Backing(perm) => Some(perm),
            Change::Unmap => None,
        }
    }
}

/// What a window is to be like once a range is changed.
pub(super) struct Plan {
    pub(super) range: Range<u64>,
    pub(super) regions: Vec<Region>,
    pub(super) seams: Seams,
    pub(super) origins: Vec<Range<u64>>,
    pub(super) touched: Vec<Range<u64>>,
    pub(super) backed: Vec<Range<u64>>,
    pub(super) used: u64,
}

pub(super) fn overlapping(regions: &[Region], start: u64, end: u64) -> &[Region] {
    let first = regions.partition_point(|region| region.end <= start);
    let last = regions.partition_point(|region| region.start < end);
    &regions[first..last.max(first)]
}

/// The regions once `start..end` has `perm`, or nothing is mapped there.
pub(super) fn regions_with(regions: &[Region], start: u64, end: u64, perm: Option<Perm>) -> Vec<Region> {
    let mut changed = Vec::with_capacity(regions.len() + 2);
    let mut push = |region: Region| match changed.last_mut() {
        _ if region.start >= region.end => {}
        Some(Region { end, perm, .. }) if *end == region.start && *perm == region.perm => *end = region.end,
        _ => changed.push(region),
    };
    let split = regions.partition_point(|region| region.end <= start);
    regions[..split].iter().for_each(|&region| push(region));
    let cut = overlapping(regions, start, end);
    if let Some(&first) = cut.first() {
        push(Region { end: first.end.min(start), ..first });
    }
    if let Some(perm) = perm {
        push(Region { start, end, perm });
    }
    if let Some(&last) = cut.last() {
        push(Region { start: last.start.max(end), ..last });
    }
    regions[split + cut.len()..].iter().for_each(|&region| push(region));
    changed
}

/// The addresses around an unmapped one that are not mapped either, in a window of `size` bytes.
pub(super) fn hole_around(regions: &[Region], address: u64, size: u64) -> Range<u64> {
    let next = regions.partition_point(|region| region.end <= address);
    let start = next.checked_sub(1).map_or(0, |previous| regions[previous].end);
    start..regions.get(next).map_or(size, |region| region.start)
}

/// Regions, the holes between them, and what seams within either make more.
pub(super) fn mappings(regions: &[Region], seams: &Seams) -> usize {
    let holes = regions.windows(2).map(|pair| pair[0].end..pair[1].start).filter(|hole| !hole.is_empty());
    let parts = |range: Range<u64>| 1 + seams.count_within(range);
    let regions = regions.iter().map(|region| region.start..region.end);
    regions.map(parts).sum::<usize>() + holes.map(parts).sum::<usize>()
}
