//! A guest's memory: the window, its regions, and a program's image.

mod saved;
mod seams;
mod tracker;
mod window;

pub use saved::{Page, SavedMemory, SavedMemoryError};
pub(crate) use tracker::resolve_write;
pub use window::{
    Fault, Image, ImagePart, MAPPING_LIMIT, MAX_ADDRESS, MIN_ADDRESS, MapError, PAGE_SIZE, Region, WINDOW_SIZE, Window,
};
