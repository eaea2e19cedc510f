//! Entry from host code into the chain of handlers, and exit from it.

#[cfg(all(target_arch = "x86_64", unix))]
#[path = "enter_x86_64.rs"]
mod host;

pub use host::enter_from_gate;
pub(crate) use host::{enter, enter_lightly, landing};
#[cfg(not(trampoline))]
pub(crate) use host::{left, returned};
