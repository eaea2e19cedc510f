//! The host's floating-point environment while guest code runs.

#[cfg(target_arch = "x86_64")]
#[path = "float_env_x86_64.rs"]
mod host;

pub use host::{FloatEnv, GuestFloats};
