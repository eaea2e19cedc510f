//! What a thread has claimed: what each call of a guest function reads first.

#[cfg(all(target_arch = "x86_64", unix))]
#[path = "claimed_x86_64.rs"]
mod host;

pub(crate) use host::{gate, get, set};
