//! The data of a machine of this interface.

#[cfg(debug_assertions)]
use std::cell::Cell;
use std::sync::Arc;
#[cfg(debug_assertions)]
use std::sync::atomic::AtomicUsize;

use riverrun_linux::Linux;

use crate::owned::Owned;

/// The data of a machine of this interface.
pub(crate) struct Host {
    pub(crate) data: Owned,
    pub(crate) linux: Linux,
    /// The run or call that can wait, until another one begins.
    pub(crate) future: OwnFuture,
    #[cfg(debug_assertions)]
    pub(crate) user: User,
}

/// What a machine knows of its run or call that can wait (`crate::future`).
pub(crate) trait Waits {
    /// Whether it is being polled.
    fn is_polled(&self) -> bool;

    /// Whether it is over: it is done, has failed or was given up.
    fn is_over(&self) -> bool;

    /// Gives it up, unless it is being polled: the machine's context is as before.
    fn give_up(&self);
}

/// A machine's [`Waits`].
pub(crate) struct OwnFuture(pub(crate) Option<Arc<dyn Waits>>);

// SAFETY: the header demands that one thread at a time uses a machine, and its future with it.
unsafe impl Send for OwnFuture {}
// SAFETY: likewise.
unsafe impl Sync for OwnFuture {}

impl std::fmt::Debug for Host {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Host").field("linux", &self.linux).finish_non_exhaustive()
    }
}

impl Host {
    pub(crate) fn new(linux: Linux) -> Host {
        Host {
            data: Owned::NONE,
            linux,
            future: OwnFuture(None),
            #[cfg(debug_assertions)]
            user: User::default(),
        }
    }
}

impl Host {
    /// Makes it as new, for another use.
    pub(crate) fn reset(&mut self) -> std::result::Result<(), riverrun::HostError> {
        self.data = Owned::NONE;
        Ok(self.linux.reset()?)
    }
}

/// The thread that uses a machine, and how deeply its uses nest.
#[cfg(debug_assertions)]
#[derive(Debug, Default)]
pub(crate) struct User {
    pub(crate) thread: AtomicUsize,
    pub(crate) times: Cell<usize>,
}
