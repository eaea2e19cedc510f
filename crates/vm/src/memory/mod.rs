//! A guest's memory: the window, its regions, and a program's image.

mod saved;
mod seams;
mod window;

pub use saved::{Page, SavedMemory, SavedMemoryError};
pub use window::{
    Fault, Image, ImagePart, MAPPING_LIMIT, MAX_ADDRESS, MIN_ADDRESS, MapError, PAGE_SIZE, Region, WINDOW_SIZE, Window,
};
