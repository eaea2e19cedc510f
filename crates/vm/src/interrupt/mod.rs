//! Stopping guest code: at faults, by another thread's request, at deadlines.

mod clock;
mod fault;
mod gate;
mod interruption;
#[cfg(all(loom, test))]
mod model;
mod requests;
mod running;
mod watchdog;

pub(crate) use fault::install_handlers;
pub use fault::{CodeRange, install_fault_handler};
pub use gate::{Gate, Opening};
pub use interruption::Interruption;
pub use requests::Requests;
pub use running::{Claim, FaultExit, Running, Said};
