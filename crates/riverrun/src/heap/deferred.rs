//! Blocks of dropped owned objects. An object cannot reach its machine when it is dropped, so it puts its block on a list,
//! which the heap empties before its next operation.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::memory::Memory;

/// Memory that waits to be freed.
#[derive(Clone, Copy, Debug)]
pub(super) enum GivenUp {
    /// None: the object has given up its block.
    Nothing,
    /// A block of the host's.
    Block(u64),
    /// A block of the host's that holds a C++ object, and the block that `owns` says is the object's.
    Object { address: u64, owns: fn(&Memory, u64) -> Option<u64> },
}

#[derive(Debug, Default)]
struct List {
    filled: AtomicBool,
    given_up: Mutex<Vec<GivenUp>>,
}

/// The list of one heap; clones are the same list.
#[derive(Clone, Debug, Default)]
pub(super) struct Deferred(Arc<List>);

impl Deferred {
    pub(super) fn push(&self, given_up: GivenUp) {
        // A panic of another thread cannot have left a vector of numbers inconsistent.
        self.0.given_up.lock().unwrap_or_else(PoisonError::into_inner).push(given_up);
        self.0.filled.store(true, Ordering::Release);
    }

    /// Whether objects still have the list, so that they may put their blocks on it.
    pub(super) fn has_objects(&self) -> bool {
        Arc::strong_count(&self.0) > 1
    }

    /// Whether there is something on the list, as far as this thread knows.
    #[inline(always)]
    pub(super) fn is_filled(&self) -> bool {
        self.0.filled.load(Ordering::Acquire)
    }

    pub(super) fn take(&self) -> Vec<GivenUp> {
        let mut given_up = self.0.given_up.lock().unwrap_or_else(PoisonError::into_inner);
        self.0.filled.store(false, Ordering::Relaxed);
        std::mem::take(&mut given_up)
    }
}
