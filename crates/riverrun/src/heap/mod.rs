//! The guest's heap, whose records its host keeps.
//!
//! ```text
//! classes     sizes to size classes
//! slab        blocks of one class: which are free
//! words       what is known of each block of a slab
//! cache       blocks that were freed last
//! runs        runs of pages: slabs, large blocks, free ones
//! allocator   blocks to slabs and runs; addresses only
//! view        an allocator, and the guest memory behind it
//! owned, cxx  objects in that memory
//! guest       the functions that guests call
//! ```

mod allocator;
mod cache;
mod classes;
mod cxx;
mod deferred;
mod error;
mod guest;
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
pub use error::{HeapError, HeapProblem};
pub(crate) use guest::add_to_linker;
pub use options::{HeapEvent, HeapOptions, HeapStatistics};
pub use owned::{GuestBox, GuestString, GuestVec};
pub use view::Heap;
pub(crate) use view::HeapState;
