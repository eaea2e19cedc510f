//! The data of a machine of this interface.

#[cfg(debug_assertions)]
use std::cell::Cell;
#[cfg(debug_assertions)]
use std::sync::atomic::AtomicUsize;

use riverrun_linux::Linux;

use crate::owned::Owned;

/// The data of a machine of this interface.
pub(crate) struct Host {
    pub(crate) data: Owned,
    pub(crate) linux: Linux,
    #[cfg(debug_assertions)]
    pub(crate) user: User,
}

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
