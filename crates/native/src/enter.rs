//! The way from host code into compiled code and back.

#[cfg(all(target_arch = "x86_64", unix))]
#[path = "enter_x86_64.rs"]
mod host;

pub(crate) use host::{CALL_RETURNED, Stubs, enter_lightly, interrupt_landing, landing, stubs};
