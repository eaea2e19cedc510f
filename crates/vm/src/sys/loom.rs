//! The signal that interrupts, as a model has it: a flag that the one thread which runs guest code looks at.

use super::Redirect;
use crate::sync::atomic::{AtomicBool, Ordering};
use crate::sync::shared;

shared! { static IS_PENDING: AtomicBool = AtomicBool::new(false); }

/// The kernel's name of the thread that runs guest code.
pub(crate) fn current_thread() -> i32 {
    1
}

pub(crate) fn install_interrupt_handler(_: fn(usize) -> Option<Redirect>) {}

pub(crate) fn renew_interrupt_handler() {}

pub(crate) fn interrupt(thread: i32) {
    assert_eq!(thread, current_thread());
    IS_PENDING.store(true, Ordering::SeqCst);
}

/// Whether the signal has come since this was last asked.
pub(crate) fn take() -> bool {
    IS_PENDING.swap(false, Ordering::SeqCst)
}
