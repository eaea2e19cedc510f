//! Calls of interpreted functions on the fast path.

use std::hint::cold_path;
use std::mem::offset_of;

use riverrun_vm::{Exit, RETURN_ADDRESS, SLICE, VmContext, Window};

use crate::code::{Code, Entry};
use crate::decoded_op::DecodedOp;
use crate::enter::enter_lightly;
use crate::fast::COUNTED;
use crate::return_ring::expect_return;
use crate::run::count_from;

const A0: usize = 10;

/// The first decoded op of a function.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// Published; never moved, and freed with its code.
    op: *const DecodedOp,
    ordinal: i32,
}

// SAFETY: ops are shared by all threads; nothing is done with this one but by `Place::call`, whose caller answers for
// the code.
unsafe impl Send for Place {}
// SAFETY: likewise.
unsafe impl Sync for Place {}

/// The outcome of [`Place::call`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The function has returned with these a0 and a1. Of the state, only fa0 and fa1 are up to date.
    Returned([u64; 2]),
    /// It exited; [`Code::exited`] says why.
    Exited,
    /// It has not begun, because fuel may be short.
    Refused,
}

impl Code {
    /// The function at an address; `None` if it cannot be decoded.
    pub fn place(&self, address: u64) -> Option<Place> {
        let Entry { op, ordinal } = self.entry(address)?;
        Some(Place { op: self.op(op), ordinal })
    }

    /// Prepares a window for [`Place::call`]. It stays ready until anything else runs in it. Until then its `instret`
    /// is out of date, and [`VmContext::instructions`] is right.
    ///
    /// # Safety
    /// As [`Code::run`].
    pub unsafe fn prepare(&self, window: &mut Window) {
        self.bind(window);
        let engine_window = &raw mut *window;
        let state = window.state_mut();
        state.exit.window = engine_window as u64;
        count_from(state, SLICE);
        // A guest that calls so deep that the ring has no room overwrites it: it is left where it returns, then, and that
        // comes here again.
        // SAFETY: the window's state, and a op of this code.
        unsafe { expect_return(state, RETURN_ADDRESS, self.returned()) };
    }

    /// Commits the hart after a [`Place::call`] that has exited before its end, and says why it has.
    ///
    /// # Safety
    /// As [`Code::run`]; the call was the last that was done with the window.
    #[cold]
    pub unsafe fn exited(&self, window: &mut Window) -> Exit {
        self.commit(window)
    }
}

impl Place {
    /// Offset of the first op, for [`crate::enter_from_entry_guard`].
    pub const OP: usize = offset_of!(Place, op);
    /// Offset of what is added to the state's fuel, in 32 bits: the call must not begin with the sum below 0.
    pub const ORDINAL: usize = offset_of!(Place, ordinal);

    /// No function.
    pub const NONE: Place = Place { op: std::ptr::null(), ordinal: 0 };

    /// Runs the interpreter from here on, until the guest reaches [`RETURN_ADDRESS`], which is in ra,
    /// or the engine leaves off: at the latest after as many instructions as there are in a slice, counted over such
    /// calls. The float environment is the caller's, and has to be the default one.
    ///
    /// # Safety
    /// The place's code is alive, and the window of `state` ready still for it, and has the image of the code's program
    /// mapped. No other engine runs on it, and the rounding mode is the default one.
    #[inline(always)]
    pub unsafe fn call(self, state: *mut VmContext) -> Outcome {
        // SAFETY: as the caller promises; places are published ops.
        unsafe {
            let fuel = (*state).exit.fuel + i64::from(self.ordinal);
            if COUNTED && fuel < 0 {
                return Outcome::Refused;
            }
            if !enter_lightly(self.op, state, fuel) {
                cold_path();
                return Outcome::Exited;
            }
            let slots = &(*state).hart.slots;
            Outcome::Returned([slots[A0], slots[A0 + 1]])
        }
    }

    /// The same, for `fuel` instructions at most.
    ///
    /// # Safety
    /// As [`Place::call`].
    pub unsafe fn call_within(self, state: *mut VmContext, fuel: u64) -> Outcome {
        // SAFETY: as the caller promises.
        unsafe {
            count_from(&mut *state, fuel.min(SLICE));
            self.call(state)
        }
    }
}
