//! Entry from host code into the chain of handlers, and exit from it.

#[cfg(all(target_arch = "x86_64", unix))]
#[path = "enter_x86_64.rs"]
mod host;

pub use host::enter_from_entry_guard;
pub(crate) use host::{enter, enter_lightly, fault_entry};
#[cfg(not(trampoline))]
pub(crate) use host::{exit, returned};
