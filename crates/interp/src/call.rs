//! The short way of a host into a guest function and back.

use riverrun_native::Execution;
use riverrun_state::{RETURN_ADDRESS, State, Trap, Window};

use crate::code::{Code, Entry};
use crate::enter::enter_lightly;
use crate::handlers::{COUNTED, REASON_RETURNED, expect_return};
use crate::run::{Left, SLICE, Visit};

const A0: usize = 10;

/// Where a function begins in decoded code.
#[derive(Clone, Copy, Debug)]
pub struct Place(Entry);

/// How [`Code::call`] has gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The function has returned, with this in a0 and a1. What is in the state's other registers but fa0 and fa1,
    /// and in the pc, says nothing.
    Returned([u64; 2]),
    /// It was left; [`Code::left`] says why.
    Left,
    /// It has not begun, for want of fuel.
    Refused,
}

/// What has become of a call that was left before its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Called {
    /// The state is exact, and [`Code::run`] goes on.
    Unfinished,
    /// A host function has ended the run.
    Abandoned,
    /// As [`crate::Stop::Lost`].
    Lost(Trap),
}

impl Code {
    /// Where the function at an address begins; `None` where that is not decoded, and cannot be.
    pub fn place(&self, address: u64) -> Option<Place> {
        self.entry(address).map(Place)
    }

    /// Makes a window ready for [`Code::call`]. It stays ready until anything else is run in it.
    pub fn prepare(&self, window: &mut Window) {
        self.bind(window);
        let engine_window = &raw mut *window;
        let state = window.state_mut();
        state.exit.window = engine_window as u64;
        state.exit.count_base = 0;
    }

    /// Runs the fast engine from `place` on, until the guest comes to [`RETURN_ADDRESS`], which is in ra,
    /// or the engine leaves off, at the latest after `fuel` instructions. The float environment is the caller's,
    /// and has to be the default one.
    ///
    /// # Safety
    /// The place is one of this code, for which the window of `state` is ready still, and that has the image of the
    /// code's program mapped. No other engine runs on it, and the rounding mode is the default one.
    #[inline(always)]
    pub unsafe fn call(&self, state: *mut State, place: Place, fuel: u64) -> Outcome {
        let Place(Entry { cell, ordinal }) = place;
        let limit = fuel.min(SLICE);
        let start = limit as i64 + i64::from(ordinal);
        // SAFETY: as the caller promises; places are published cells.
        unsafe {
            if COUNTED {
                if start < 0 {
                    return Outcome::Refused;
                }
                (*state).exit.count_base = (*state).instret + limit;
            }
            expect_return(state, RETURN_ADDRESS, self.returned());
            enter_lightly(self.cell(cell), state, start);
            if (*state).exit.reason != REASON_RETURNED {
                return Outcome::Left;
            }
            if COUNTED {
                (*state).instret = (*state).exit.count_base.wrapping_sub((*state).exit.fuel as u64);
                (*state).exit.count_base = 0;
            }
        }
        // SAFETY: as the caller promises.
        let slots = unsafe { &(*state).slots };
        Outcome::Returned([slots[A0], slots[A0 + 1]])
    }

    /// What has become of a [`Code::call`] with this fuel that was left.
    #[cold]
    pub fn left(&self, window: &mut Window, fuel: u64) -> Called {
        match self.fast_left(window, fuel.min(SLICE)) {
            Left::Abandoned => Called::Abandoned,
            Left::AtStep | Left::Elsewhere => Called::Unfinished,
        }
    }

    /// What has become of a call of a compiled function that was left.
    #[cold]
    pub fn compiled_left(&self, window: &mut Window, execution: &mut Execution) -> Called {
        let exit = execution.left(window);
        match self.visited(window, exit, execution.is_precise()) {
            Visit::Abandoned => Called::Abandoned,
            Visit::Lost(cause) => Called::Lost(Trap { cause, pc: window.state().pc }),
            _ => Called::Unfinished,
        }
    }
}
