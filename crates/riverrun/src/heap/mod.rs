//! The guest heap: blocks are in the guest's memory, all records in the host's. No guest can damage its heap's records, and
//! each block that a guest passes is looked up before it is used.
//!
//! ```text
//! classes     sizes to size classes
//! slab        blocks of one class: which are free
//! words       one word for each block of a slab: its owner and size, or the next free block
//! cache       magazines: blocks that were freed last
//! runs        page runs: slabs, large blocks, free pages
//! allocator   allocates blocks of slabs and page runs; knows addresses only
//! view        an allocator and its guest memory
//! owned, cxx  objects in that memory
//! ```
//!
//! The functions by which guests use it are in `host/heap.rs`.

mod allocator;
mod cache;
mod classes;
mod cxx;
mod deferred;
#[cfg(test)]
mod model;
mod options;
mod owned;
mod runs;
mod sites;
mod slab;
mod view;
mod words;

pub use cxx::{CxxLibrary, CxxString, CxxVector, GuestCxxString, GuestCxxVector};
pub use options::{HeapEvent, HeapOptions, HeapStatistics};
pub use owned::{GuestBox, GuestString, GuestVec};
pub(crate) use slab::Owner;
pub use view::Heap;
pub(crate) use view::{HeapRecords, HeapState, STEP, SavedHeap};
