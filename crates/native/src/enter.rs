//! Entry from host code into compiled code, and exits from it.

#[cfg(all(target_arch = "x86_64", unix))]
#[path = "enter_x86_64.rs"]
mod host;

pub(crate) use host::{Stubs, call_host_entry, enter_function, interrupt_landing, landing, outermost_returned, stubs};
