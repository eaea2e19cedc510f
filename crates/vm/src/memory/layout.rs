//! How a window is mapped, to compare it with that of a new one.

use std::ops::Range;

use super::pages::Region;
use super::seams::Seams;

/// All that a window knows of its mappings.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Layout {
    pub(super) regions: Vec<Region>,
    pub(super) seams: Seams,
    pub(super) image: Vec<Range<u64>>,
    pub(super) origins: Vec<Range<u64>>,
}

/// A program's memory before its first instruction, as its windows have it.
#[derive(Debug)]
pub(super) struct Start {
    pub(super) stack: Range<u64>,
    pub(super) layout: Layout,
}
