//! The process's signal handlers: faults (SIGSEGV, SIGBUS) and interruptions (SIGURG) of guest code.

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
#[path = "signal_linux_x86_64.rs"]
mod host;
#[cfg(all(not(loom), target_os = "linux", target_arch = "x86_64"))]
#[path = "interrupt_linux_x86_64.rs"]
mod interrupt_host;
#[cfg(loom)]
#[path = "interrupt_loom.rs"]
mod interrupt_host;

pub(crate) use host::install_handlers;
pub use host::{CodeRange, install_fault_handler};
#[cfg(all(loom, test))]
pub(crate) use interrupt_host::take as take_interrupt;
pub(crate) use interrupt_host::{current_thread, install_interrupt_handler, interrupt, renew_interrupt_handler};
