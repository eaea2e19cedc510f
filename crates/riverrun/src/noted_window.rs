//! The window of a machine for handlers that are called while no engine has it.

use std::ptr::NonNull;

use riverrun_vm::VmContext;

use crate::instance::Instance;

/// Notes the window where host functions take it from, while no engine has it; forgets it when dropped, also by a panic.
pub(crate) struct NotedWindow(NonNull<VmContext>);

impl NotedWindow {
    /// # Safety
    /// The instance outlives the result, and no engine runs on it.
    pub(crate) unsafe fn of<T>(this: NonNull<Instance<T>>) -> NotedWindow {
        // SAFETY: the caller keeps the instance alive.
        unsafe {
            let state = NonNull::new_unchecked((*this.as_ptr()).state);
            (*state.as_ptr()).exit.window = Instance::window(this) as u64;
            NotedWindow(state)
        }
    }
}

impl Drop for NotedWindow {
    fn drop(&mut self) {
        // SAFETY: the context is part of the instance, which `of`'s caller keeps alive.
        unsafe { (*self.0.as_ptr()).exit.window = 0 };
    }
}
