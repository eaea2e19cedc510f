//! The host's data: a pointer with its destructor.

use std::ffi::c_void;

/// Frees what `data` points to. Called once, on the thread that drops the last owner.
pub type Destructor = unsafe extern "C" fn(data: *mut c_void);

/// A pointer of the host's, with what frees it.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Owned {
    /// First, where code of host functions looks for it ([`crate::host::Environment`]).
    pub(crate) data: *mut c_void,
    destructor: Option<Destructor>,
}

// SAFETY: the header demands of data that the threads of machines may use it, and free it.
unsafe impl Send for Owned {}
// SAFETY: likewise.
unsafe impl Sync for Owned {}

impl Owned {
    pub(crate) fn new(data: *mut c_void, destructor: Option<Destructor>) -> Owned {
        Owned { data, destructor }
    }

    /// Nothing.
    pub(crate) const NONE: Owned = Owned { data: std::ptr::null_mut(), destructor: None };
}

impl Drop for Owned {
    fn drop(&mut self) {
        if let Some(destructor) = self.destructor {
            // SAFETY: what the host has given with the pointer, called once.
            unsafe { destructor(self.data) };
        }
    }
}
