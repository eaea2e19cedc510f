//! What owned objects have given up. An object cannot reach its machine when it is dropped, so it puts its
//! block on a list, which the heap works off before whatever it does next.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::memory::Memory;

/// What is to be freed.
#[derive(Clone, Copy, Debug)]
pub(super) enum GivenUp {
    /// Nothing any more.
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
        // A vector of numbers is sound whoever panicked while holding it.
        self.0.given_up.lock().unwrap_or_else(PoisonError::into_inner).push(given_up);
        self.0.filled.store(true, Ordering::Release);
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
