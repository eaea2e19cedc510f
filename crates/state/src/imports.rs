//! The host functions that guests call, as engines see them.

use crate::registers::State;

/// Integer arguments that engines hand to a host function in registers; it finds all others in the
/// [`State`], which is exact at the call.
pub const REGISTER_ARGUMENTS: usize = 5;

/// What a host function leaves in a0 and a1. Float results it writes to the [`State`].
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Results {
    /// What a0 is to hold.
    pub a0: u64,
    /// What a1 is to hold.
    pub a1: u64,
}

/// A host function, called with its import and a0 to a4. Besides its results it changes no register of
/// the guest.
pub type HostFunction = unsafe extern "sysv64" fn(*const Import, u64, u64, u64, u64, u64) -> Results;

/// An entry of the table that a guest's host calls index.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Import {
    /// What to call; `None` where nothing is bound.
    pub code: Option<HostFunction>,
    /// The function's own data.
    pub environment: *const (),
    /// The machine that it is bound for.
    pub context: *mut (),
}

impl State {
    /// The import of this number, if a host function is bound to it.
    ///
    /// # Safety
    /// [`crate::EngineExit::imports`] is the address of a live table of
    /// [`crate::EngineExit::imports_len`] imports, or that number is 0.
    pub unsafe fn import(&self, index: u32) -> Option<Import> {
        if u64::from(index) >= self.exit.imports_len {
            return None;
        }
        // SAFETY: as the caller promises.
        let import = unsafe { *(self.exit.imports as *const Import).add(index as usize) };
        import.code.is_some().then_some(import)
    }
}
