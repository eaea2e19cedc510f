//! Linux.

pub(crate) mod clock;
pub(crate) mod code;
pub(crate) mod fault;
pub(crate) mod host_stack;
pub(crate) mod interrupt;
pub(crate) mod mapping;
mod previous;
pub(crate) mod range_lock;
pub(crate) mod redirect;
mod signal_stack;
