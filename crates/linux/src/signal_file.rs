//! The set of signals that a file gives to its readers: those of the set that wait for the reading thread.

use std::sync::atomic::{AtomicU64, Ordering};

/// The set of signals that a file gives.
#[derive(Debug)]
pub(crate) struct SignalFile(AtomicU64);

impl SignalFile {
    pub(crate) fn new(set: u64) -> SignalFile {
        SignalFile(AtomicU64::new(set))
    }

    pub(crate) fn set(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    pub(crate) fn change(&self, set: u64) {
        self.0.store(set, Ordering::Relaxed);
    }
}
