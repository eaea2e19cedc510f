//! A game in the terminal. The engine is here, in Rust: it moves and draws bodies, finds out which touch,
//! keeps timers. The rules are in `guest/main.cpp`, in C++, and can be changed while the game runs.
//!
//! - [`Script`]: the guest, called with what happens, replaced when its source changes.
//! - [`Scene`]: what the guest's calls work on.
//! - [`Builder`]: compiles the guest's source whenever it is saved.
//! - [`Screen`]: coloured characters, for a terminal or a picture.

mod build;
mod font;
mod game;
mod meter;
mod scene;
mod screen;
mod script;

pub use build::Builder;
pub use game::Game;
pub use meter::{Frame, Meter, Unit};
pub use scene::Scene;
pub use screen::Screen;
pub use script::Script;

#[allow(missing_docs)]
mod api {
    include!(concat!(env!("OUT_DIR"), "/api_host.rs"));
}

/// The guest as it was when the game was built.
pub const SCRIPT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/script"));

/// Frames a second.
pub const RATE: u32 = 60;
