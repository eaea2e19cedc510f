//! Calls across the boundary: host functions, and functions of the guest.

#[cfg(all(target_arch = "x86_64", unix))]
#[path = "by_registers_x86_64.rs"]
pub(crate) mod by_registers;
pub(crate) mod convention;
pub(crate) mod dynamic;
pub(crate) mod fast_path;
pub(crate) mod func;
pub(crate) mod host;
pub(crate) mod missing;
pub(crate) mod own;
pub(crate) mod pointer;
pub(crate) mod registry;
pub(crate) mod structure;
pub(crate) mod value;
