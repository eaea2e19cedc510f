//! Calls across the boundary: functions of the guest by the host, and host functions by the guest.

pub(crate) mod dyn_func;
pub(crate) mod fast_path;
pub(crate) mod func;
pub(crate) mod host_call;
pub(crate) mod target;
