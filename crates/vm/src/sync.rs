//! What threads share: atomics and locks of the standard library, or of loom, which tries the orders in which threads
//! can act on them (`interrupt/model.rs`).

#[cfg(not(loom))]
pub(crate) use std::sync::{Condvar, Mutex, MutexGuard, atomic};

#[cfg(loom)]
#[path = "sync_loom.rs"]
pub(crate) mod atomic;
#[cfg(loom)]
pub(crate) use loom::sync::{Condvar, Mutex, MutexGuard};

/// Loads what another thread may have stored while its processor keeps it back still. All other loads give what is in
/// memory.
pub(crate) trait LoadLate {
    type Value;
    fn load_late(&self) -> Self::Value;
}

#[cfg(not(loom))]
impl LoadLate for atomic::AtomicU64 {
    type Value = u64;
    fn load_late(&self) -> u64 {
        self.load(atomic::Ordering::Acquire)
    }
}

#[cfg(not(loom))]
impl LoadLate for atomic::AtomicBool {
    type Value = bool;
    fn load_late(&self) -> bool {
        self.load(atomic::Ordering::Acquire)
    }
}

/// Statics, which loom makes anew for each order that it tries.
macro_rules! shared {
    ($($(#[$doc:meta])* static $name:ident: $type:ty = $value:expr;)*) => {
        $(#[cfg(not(loom))] $(#[$doc])* static $name: $type = $value;)*
        #[cfg(loom)]
        loom::lazy_static! { $($(#[$doc])* static ref $name: $type = $value;)* }
    };
}
pub(crate) use shared;
