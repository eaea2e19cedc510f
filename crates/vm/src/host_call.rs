//! Host functions outside of engines: the one that stands for none, the end of a run by a host function, and a call while no
//! engine runs.

use std::ptr;

use crate::arch::{enter_host, exit_engine};
use crate::context::VmContext;
use crate::exit::Reason;
use crate::imports::{Bound, Import, Results};

impl Import {
    /// No host function: a call exits, and the reference interpreter traps.
    pub fn unbound(state: *mut VmContext) -> Import {
        Import { code: unbound, environment: ptr::null(), context: state.cast() }
    }
}

impl Bound {
    /// No host function.
    pub fn unbound(state: *mut VmContext) -> Bound {
        Bound { import: Import::unbound(state), slot_code: None, slot_data: ptr::null_mut() }
    }
}

unsafe extern "sysv64" fn unbound(import: *const Import, _: u64, _: u64, _: u64, _: u64, _: u64) -> Results {
    // SAFETY: an engine has called this with an entry of the machine's table, whose context `Import::unbound` has set to
    // the state; this frame owns nothing.
    unsafe {
        let state = (*import).context.cast::<VmContext>();
        (*state).exit.reason = Reason::Unbound as u64;
        exit_engine(state)
    }
}

/// Ends the run of the engine that has called a host function, with [`Reason::Abandoned`].
///
/// # Safety
/// An engine runs on `state` and has called the host function that calls this. The frames in between are dropped, and own
/// nothing that needs it.
pub unsafe fn abandon(state: *mut VmContext) -> ! {
    // SAFETY: as the caller promises.
    unsafe {
        (*state).exit.reason = Reason::Abandoned as u64;
        exit_engine(state)
    }
}

/// Calls a host function while no engine runs; false if it has ended the run ([`abandon`]).
///
/// # Safety
/// The import is bound for the machine of `state`, and none of the machine's engines is running.
pub unsafe fn call_host(state: *mut VmContext, import: *const Import) -> bool {
    // SAFETY: as the caller promises.
    unsafe {
        (*state).exit.reason = 0;
        enter_host(state, import);
        (*state).exit.reason != Reason::Abandoned as u64
    }
}
