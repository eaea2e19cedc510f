//! What a run that can wait has beside its machine: the call of an async host function for which the guest waits.
//!
//! The owner is a future of `resuming.rs`. [`crate::instance::Instance`] has its address while it is polled.

use std::ptr::NonNull;
use std::task::{Context, Poll};

use riverrun_vm::{Interruption, VmContext};

use crate::error::HostError;

/// Polls the future of a host function, and writes its result to the registers of the context.
pub(crate) type Poller = Box<dyn FnMut(&mut Context<'_>, NonNull<VmContext>) -> Poll<Result<(), HostError>> + Send>;

/// Calls a host function, whose machine and environment these are: the beginning of a wait.
pub(crate) type Start = unsafe fn(NonNull<()>, *const ()) -> Result<Poller, HostError>;

/// What a run that can wait has beside its machine.
#[derive(Default)]
pub(crate) struct Suspension {
    /// What the guest waits for.
    pub(crate) awaited: Option<Awaited>,
}

/// A host function's call.
pub(crate) struct Awaited {
    pub(crate) environment: *const (),
    pub(crate) start: Start,
    /// Its future, once it has begun.
    pub(crate) poller: Option<Poller>,
    /// Has its executor woken by limits, once it was not ready.
    pub(crate) wakes: Option<Wakes>,
}

/// Keeps the waker of a guest that waits where requests and deadlines find it.
pub(crate) struct Wakes(pub(crate) Interruption);

impl Drop for Wakes {
    fn drop(&mut self) {
        self.0.forget_waker();
    }
}

// SAFETY: the environment is that of a closure which is Send and Sync, and lives as long as its machine.
unsafe impl Send for Awaited {}
