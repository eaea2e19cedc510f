//! The contract between engines and the host functions that guests call.
//!
//! When an engine calls a host function, the state is up to date but for a0 to a4, which the engine passes in registers.
//! The pc is that of the call; `instret` follows from [`EngineContext::count_base`]. The function changes the guest
//! registers of its results and no others. It returns, or it calls [`crate::abandon`].

use crate::context::{POLLS_OFFSET, RETURNS_OFFSET, VmContext};
use crate::polls::Polls;

#[cfg(doc)]
use crate::context::EngineContext;

/// Integer arguments that engines pass to a host function in registers; all others are in the [`VmContext`].
pub const REGISTER_ARGUMENTS: usize = 5;

/// The integer results of a host function. It writes float results to the [`VmContext`].
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Results {
    /// The new a0.
    pub a0: u64,
    /// The new a1.
    pub a1: u64,
}

/// A host function, called with its import and a0 to a4.
pub type HostFunction = unsafe extern "sysv64" fn(*const Import, u64, u64, u64, u64, u64) -> Results;

/// A bound host function, as engines call it.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Import {
    /// The code.
    pub code: HostFunction,
    /// The function's own data; null if no function is bound.
    pub environment: *const (),
    /// The machine; the state if no function is bound.
    pub context: *mut (),
}

/// A host function with raw values: it takes its arguments from an array and stores its result there.
/// [`Import::environment`] points to this.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct SlotFunction {
    /// The host's data.
    pub data: *mut (),
    /// The code.
    pub code: SlotCode,
}

/// Called with the function's data, [`Import::context`], and one raw value for each parameter or result, whichever are
/// more. Returns null or an error.
pub type SlotCode = unsafe extern "sysv64" fn(*mut (), *mut (), *mut u64) -> *mut SlotError;

/// The beginning of a [`SlotFunction`]'s error.
#[repr(C)]
#[derive(Debug)]
pub struct SlotError {
    /// Ends the run of this thread's guest, whose call of the import with this number has failed. The error carries it, so
    /// that the caller keeps nothing for errors during the call.
    pub fail: unsafe extern "sysv64" fn(*mut SlotError, u64) -> !,
}

/// An entry of a machine's table of imports, which host calls index.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Bound {
    /// The host function.
    pub import: Import,
    /// The code of a [`SlotFunction`] that compiled code may call directly, if at most [`REGISTER_ARGUMENTS`] arguments and
    /// at most one result are all in integer registers.
    pub slot_code: Option<SlotCode>,
    /// Its data.
    pub slot_data: *mut (),
}

/// The system call for a host function whose key is in t0 instead of a7.
pub const DYNAMIC_CALL: u64 = 504;

/// The system call by which a program with a libc says that its `main` has returned, with the status in a0, and that its
/// functions can be called (`guest/src/reactor.c`).
pub const READY_CALL: u64 = 505;

/// Numbers of system calls are below this, hashes of names are not.
pub const HASH_MIN: u32 = 100_000;

/// Entries of a machine's table of [`SystemCall`]s.
pub const SYSTEM_CALLS: usize = 128;
const _: () = assert!(SYSTEM_CALLS.is_power_of_two());

/// From a [`VmContext`] to the machine's table of [`SystemCall`]s. Its first entry ends the context's page, and all
/// others are empty while they are zeros: a machine that needs no entry has no page for them.
pub const SYSTEM_CALLS_OFFSET: usize = (4 << 10) - size_of::<SystemCall>();
const _: () = assert!(SYSTEM_CALLS_OFFSET >= POLLS_OFFSET + size_of::<Polls>());
const _: () = assert!(RETURNS_OFFSET >= SYSTEM_CALLS_OFFSET + SYSTEM_CALLS * size_of::<SystemCall>());

/// A cached host function of a system call, at the index given by the lowest bits of its key. Engines call it without
/// consulting the machine.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct SystemCall {
    /// The value of a7, or of t0.
    pub key: u64,
    /// The host function.
    pub import: Import,
}

impl SystemCall {
    /// The key of the first entry while that is empty. Zero is not: it is a key that belongs to this entry, while the other
    /// entries are empty with it.
    pub(crate) const NO_KEY: u64 = 1;
}

impl VmContext {
    /// The import of this number, if a host function is bound to it.
    ///
    /// # Safety
    /// [`EngineContext::imports`] is the address of a live table of [`EngineContext::imports_size`] bytes, or
    /// that number is 0.
    pub unsafe fn import(&self, index: u32) -> Option<*const Import> {
        if u64::from(index) * size_of::<Bound>() as u64 >= self.exit.imports_size {
            return None;
        }
        let import = (self.exit.imports as *const Bound).wrapping_add(index as usize).cast::<Import>();
        // SAFETY: as the caller promises, `index` being in the table.
        let is_bound = unsafe { !(*import).environment.is_null() };
        is_bound.then_some(import)
    }

    /// Instructions executed, the present one included, while a host function runs.
    pub fn instructions(&self) -> u64 {
        match self.exit.count_base {
            0 => self.hart.instret,
            base => base.wrapping_sub(self.exit.fuel as u64),
        }
    }
}
