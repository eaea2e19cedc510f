//! The thread-local claim of a thread: which machine it called last. Each call on the fast path reads it first.

#[cfg(all(target_arch = "x86_64", unix))]
#[path = "claimed_x86_64.rs"]
mod host;

pub(crate) use host::{gate, get, set};
