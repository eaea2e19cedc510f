//! A guest's memory: the window, its regions, a program's image, and what snapshots keep.

mod image;
mod pages;
mod saved;
mod seams;
mod tracker;
mod window;

pub use image::{Image, ImagePart};
pub use pages::{MAX_ADDRESS, MIN_ADDRESS, PAGE_SIZE, Page, Region, WINDOW_SIZE};
pub use saved::{SavedMemory, SavedMemoryError};
pub(crate) use tracker::resolve_write;
pub use window::{Fault, MAPPING_LIMIT, MapError, Window};
