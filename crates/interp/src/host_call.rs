//! Handlers of calls of host functions. The next cell holds a [`crate::handlers::second_cell`]; where it is none that is
//! known, the single-step engine does the rest.

#[cfg(by_hand)]
#[path = "host_call_x86_64.rs"]
mod host;
#[cfg(not(by_hand))]
#[path = "host_call_generic.rs"]
mod host;

pub(crate) use host::{host_call, host_call_with, system_call};
