//! A guest's memory: the window, its regions, a program's image, and what snapshots keep.

mod access;
mod address_space;
mod backing;
mod changes;
mod error;
mod image;
mod layout;
mod pages;
mod plan;
mod ranges;
mod restore;
mod saved;
mod seams;
mod spare;
mod tracker;
mod window;

pub use address_space::{AddressSpace, STACK_GUARD};
pub use error::{Fault, MapError};
pub use image::{Image, ImagePart};
pub use pages::{MAX_ADDRESS, MIN_ADDRESS, PAGE_SIZE, Page, Region};
pub use saved::{SavedMemory, SavedMemoryError};
pub(crate) use tracker::resolve_write;
pub use window::{MAPPING_LIMIT, Window};
