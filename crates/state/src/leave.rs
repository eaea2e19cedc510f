//! Exits from every engine to the host frame that has entered it, dropping all frames above.

#[cfg(all(target_arch = "x86_64", unix))]
#[path = "leave_x86_64.rs"]
mod host;

pub(crate) use host::enter_host;
pub use host::{FRAME_GAP, FRAME_SIZE, leave_engine, return_marker};
