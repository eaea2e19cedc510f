//! x86-64 with the System V convention.

pub(crate) mod enter;
pub(crate) mod exit;
pub(crate) mod features;
pub(crate) mod float_env;
pub(crate) mod owner;

/// LLVM's name of the target that this build can run.
pub const TRIPLE: &str = "x86_64-unknown-linux-gnu";
