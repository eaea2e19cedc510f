//! Stopping guest code: at faults, by another thread's request, at deadlines.

mod activation;
pub mod clock;
mod entry_guard;
mod fault;
mod interruption;
#[cfg(all(loom, test))]
mod model;
mod requests;
mod watchdog;

pub use activation::{Activation, FaultExit, Ownership, Published};
pub use entry_guard::{EntryGuard, EntryToken};
pub(crate) use fault::install_handlers;
pub use fault::{CodeRange, install_fault_handler};
pub use interruption::{Interruption, WeakInterruption};
pub use requests::Requests;
