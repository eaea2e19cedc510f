//! A guest apart from its machine: what a snapshot holds of it.

use std::ops::Range;

use riverrun_vm::{Hart, SavedMemory};

use crate::heap::HeapRecords;

#[cfg(doc)]
use crate::instance::Instance;

/// The guest's part of a snapshot: all that is not the program's.
#[derive(Debug)]
pub(crate) struct Guest {
    pub(crate) memory: SavedMemory,
    pub(crate) hart: Hart,
    pub(crate) heap: HeapRecords,
    pub(crate) stack: Range<u64>,
    /// As [`Instance::lost`].
    pub(crate) lost: Option<u64>,
    /// As [`Instance::is_suspended`].
    pub(crate) is_suspended: bool,
    /// As [`Instance::is_initializing`].
    pub(crate) is_initializing: bool,
    /// As [`Instance::guards_floats`].
    pub(crate) guards_floats: bool,
}
