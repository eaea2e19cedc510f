//! Invariant: the hart that began a call by the host is in the machine when the call ends. [`OwnHart`] keeps it.

use std::ptr::NonNull;

use crate::instance::{Instance, Suspended};
use crate::noted_window::NotedWindow;

/// A call by the host, which the machine's hart begins. When dropped, also by a panic, it has the personality put that hart
/// back ([`crate::Linker::harts`]) if another one is in the machine: the call was given up while this one ran.
pub(crate) struct OwnHart<T>(NonNull<Instance<T>>);

impl<T> OwnHart<T> {
    /// # Safety
    /// The instance is alive until the result is dropped, and no engine runs on it at either time.
    pub(crate) unsafe fn of(instance: NonNull<Instance<T>>) -> OwnHart<T> {
        // SAFETY: the caller keeps the instance alive.
        unsafe { (*instance.as_ptr()).has_own_hart = true };
        OwnHart(instance)
    }

    /// Whether another hart is in the machine.
    pub(crate) fn is_away(&self) -> bool {
        // SAFETY: `of`'s caller keeps the instance alive.
        unsafe { !(*self.0.as_ptr()).has_own_hart }
    }
}

impl<T> Drop for OwnHart<T> {
    fn drop(&mut self) {
        if !self.is_away() {
            return;
        }
        // SAFETY: `of`'s caller keeps the instance alive, and no engine runs: the noted window is the instance's own.
        unsafe {
            let at = self.0.as_ptr();
            if let Some(handler) = (*at).hart_handler.clone() {
                let _noted = NotedWindow::of(self.0);
                handler(Suspended::new(self.0));
            }
            (*at).has_own_hart = true;
        }
    }
}
