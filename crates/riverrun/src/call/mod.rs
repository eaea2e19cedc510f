//! Calls across the boundary: host functions, and functions of the guest.

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
