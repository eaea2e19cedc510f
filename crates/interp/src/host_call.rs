//! Handlers of host calls. The following op is a [`crate::handlers::second_op`]. A call whose function is not bound or not
//! cached exits, and the dispatcher does the rest.

#[cfg(by_hand)]
#[path = "host_call_x86_64.rs"]
mod host;
#[cfg(not(by_hand))]
#[path = "host_call_generic.rs"]
mod host;

pub(crate) use host::{host_call, host_call_with, system_call};
