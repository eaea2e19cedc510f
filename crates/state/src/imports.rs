//! The host functions that guests call, as engines see them.
//!
//! An engine calls a host function with the state exact but for what it has in registers: the pc is that
//! of the call, `instret` follows from [`EngineExit::count_base`]. Besides its results the function
//! changes no register of the guest. It returns, or it calls [`abandon`].

use std::ptr;

use crate::leave::{enter_host, leave_engine};
use crate::registers::State;

#[cfg(doc)]
use crate::registers::EngineExit;

/// Integer arguments that engines hand to a host function in registers; it finds all others in the
/// [`State`].
pub const REGISTER_ARGUMENTS: usize = 5;

/// [`EngineExit::reason`]: a host function has ended the run.
pub const REASON_ABANDONED: u64 = 16;
/// [`EngineExit::reason`]: the call at the pc, which has been counted, leads to no host function.
pub const REASON_UNBOUND: u64 = 17;

/// What a host function leaves in a0 and a1. Float results it writes to the [`State`].
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Results {
    /// What a0 is to hold.
    pub a0: u64,
    /// What a1 is to hold.
    pub a1: u64,
}

/// A host function, called with its import and a0 to a4.
pub type HostFunction = unsafe extern "sysv64" fn(*const Import, u64, u64, u64, u64, u64) -> Results;

/// What a guest's host call leads to.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Import {
    /// What to call.
    pub code: HostFunction,
    /// The function's own data; null where nothing is bound.
    pub environment: *const (),
    /// The machine that it is bound for; the state, where nothing is bound.
    pub context: *mut (),
}

impl Import {
    /// No host function: calls of it are left to the single-step engine, which traps.
    pub fn unbound(state: *mut State) -> Import {
        Import { code: unbound, environment: ptr::null(), context: state.cast() }
    }
}

/// A host function that takes its arguments from an array, and puts its result there: the beginning of the
/// [`Import::environment`] of its import.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct SlotFunction {
    /// The host's data.
    pub data: *mut (),
    /// What is called.
    pub code: SlotCode,
}

/// Called with the function's data, [`Import::context`], and as many slots as there are parameters or results. Gives
/// null, or an error.
pub type SlotCode = unsafe extern "sysv64" fn(*mut (), *mut (), *mut u64) -> *mut SlotError;

/// The beginning of a [`SlotFunction`]'s error.
#[repr(C)]
#[derive(Debug)]
pub struct SlotError {
    /// Ends the run of this thread's guest, whose call of the import with this number has failed. It is with the error, as
    /// nothing else need be kept then until the function returns.
    pub fail: unsafe extern "sysv64" fn(*mut SlotError, u64) -> !,
}

/// An entry of the table that a guest's host calls index.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Bound {
    /// What it leads to.
    pub import: Import,
    /// What engines call that know the types, which are those of the program's record: registers that hold no result need
    /// not be as they were.
    pub typed: HostFunction,
    /// The code of a [`SlotFunction`] that they may call instead: the types are in integer registers,
    /// [`REGISTER_ARGUMENTS`] at most, and one for a result.
    pub slot_code: Option<SlotCode>,
    /// Its data.
    pub slot_data: *mut (),
}

impl Bound {
    /// No host function.
    pub fn unbound(state: *mut State) -> Bound {
        Bound { import: Import::unbound(state), typed: unbound, slot_code: None, slot_data: ptr::null_mut() }
    }
}

unsafe extern "sysv64" fn unbound(import: *const Import, _: u64, _: u64, _: u64, _: u64, _: u64) -> Results {
    // SAFETY: an engine has called this, with an entry of the machine's table, and this frame has
    // nothing to clean up.
    unsafe {
        let state = (*import).context.cast::<State>();
        (*state).exit.reason = REASON_UNBOUND;
        leave_engine(state)
    }
}

/// Ends the run of the engine that has called a host function, with [`REASON_ABANDONED`].
///
/// # Safety
/// An engine runs on `state` and has called the host function from which this is called. No frame in
/// between has anything to clean up: they are dropped.
pub unsafe fn abandon(state: *mut State) -> ! {
    // SAFETY: as the caller promises.
    unsafe {
        (*state).exit.reason = REASON_ABANDONED;
        leave_engine(state)
    }
}

/// The system call by which a guest calls a host function whose key is in t0 instead of a7.
pub const DYNAMIC_CALL: u64 = 504;

/// The system call by which a program with a libc says that its `main` has returned, with the status in a0: it is ready
/// to be called (`guest/src/reactor.c`).
pub const READY_CALL: u64 = 505;

/// Numbers of system calls are below this, hashes of names are not.
pub const HASH_MIN: u32 = 100_000;

/// How many host functions are known by their keys at once.
pub const SYSTEM_CALLS: usize = 128;
const _: () = assert!(SYSTEM_CALLS.is_power_of_two());

/// A host function that a system call has led to, at the place that the lowest bits of its key name:
/// engines call it without asking further.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct SystemCall {
    /// What was in a7, or in t0.
    pub key: u64,
    /// What it means.
    pub import: Import,
}

impl SystemCall {
    /// The key of a place that holds nothing: one that belongs elsewhere.
    pub(crate) const fn no_key(place: usize) -> u64 {
        place as u64 ^ 1
    }
}

/// Calls a host function where no engine runs; false if it has ended the run ([`abandon`]).
///
/// # Safety
/// The import is bound, for the machine of `state`, whose engines are all left or wait.
pub unsafe fn call_host(state: *mut State, import: *const Import) -> bool {
    // SAFETY: as the caller promises.
    unsafe {
        (*state).exit.reason = 0;
        enter_host(state, import);
        (*state).exit.reason != REASON_ABANDONED
    }
}

impl State {
    /// The import of this number, if a host function is bound to it.
    ///
    /// # Safety
    /// [`EngineExit::imports`] is the address of a live table of [`EngineExit::imports_size`] bytes, or
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
            0 => self.instret,
            base => base.wrapping_sub(self.exit.fuel as u64),
        }
    }
}
