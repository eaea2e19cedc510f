//! Faults of guest code, which arrive as signals of the host.

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
#[path = "signal_linux_x86_64.rs"]
mod host;

pub(crate) use host::install_handlers;
pub use host::{CodeRange, install_fault_handler};
