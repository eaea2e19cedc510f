//! The short way of a host into a guest function and back.

use riverrun_native::Execution;
use riverrun_state::{FloatEnv, Interruption, RETURN_ADDRESS, Trap, Window};

use crate::code::{Code, Entry};
use crate::enter::{enter, enter_lightly};
use crate::handlers::{COUNTED, REASON_RETURNED, expect_return};
use crate::run::{Left, SLICE, Visit};

/// Where a function begins in decoded code.
#[derive(Clone, Copy, Debug)]
pub struct Place(Entry);

/// How a call has gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Called {
    /// The function has returned.
    Returned,
    /// Nothing has happened; [`Code::run`] can do it, from the function's address on.
    Refused,
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

    /// Runs the fast engine from `place` on, until the guest comes to [`RETURN_ADDRESS`], which is in ra,
    /// or the engine leaves off, at the latest after `fuel` instructions.
    ///
    /// # Safety
    /// The place is one of this code, and the window has the image of its program mapped.
    #[inline(always)]
    pub unsafe fn call(&self, window: &mut Window, place: Place, fuel: u64) -> Called {
        let Place(Entry { cell, ordinal }) = place;
        let limit = fuel.min(SLICE);
        self.bind(window);
        let state = window.state_ptr();
        let start = limit as i64 + i64::from(ordinal);
        // SAFETY: the window, and with it the state, is borrowed until the engine has left off; its
        // tables are bound; places are published cells.
        unsafe {
            if COUNTED && start < 0 || !FloatEnv::supports((*state).frm) {
                return Called::Refused;
            }
            self.prepare_host_calls(window, limit);
            expect_return(state, RETURN_ADDRESS, self.returned());
            let cell = self.cell(cell);
            if (*state).frm == 0 && !self.touches_float_environment() {
                // The environment is the one that Rust demands, which is the guest's too; to ask for it
                // takes longer than all the rest. And nobody will look at what accrues.
                enter_lightly(cell, state, start);
            } else {
                let environment = FloatEnv::enter(&*state);
                enter(cell, state, start);
                environment.leave(&mut *state);
            }
            if (*state).exit.reason == REASON_RETURNED {
                (*state).exit.count_base = 0;
                if COUNTED {
                    let left = (*state).exit.fuel as u64;
                    (*state).instret = (*state).instret.wrapping_add(limit.wrapping_sub(left));
                }
                return Called::Returned;
            }
        }
        self.call_left(window, limit)
    }

    /// The same in compiled code, which begins at `function` for the guest's `pc`.
    ///
    /// # Safety
    /// As [`Execution::call`], and as [`Code::call`] of the window.
    #[inline(always)]
    pub unsafe fn call_compiled(
        &self,
        window: &mut Window,
        execution: &mut Execution,
        pc: u64,
        function: usize,
        interruption: &Interruption,
    ) -> Called {
        if window.state().frm != 0 {
            return Called::Refused;
        }
        // SAFETY: as the caller promises.
        match unsafe { execution.call(window, pc, function, self.touches_float_environment(), interruption) } {
            None => Called::Returned,
            Some(exit) => match self.visited(window, exit, execution.is_precise()) {
                Visit::Abandoned => Called::Abandoned,
                Visit::Lost(cause) => Called::Lost(Trap { cause, pc: window.state().pc }),
                _ => Called::Unfinished,
            },
        }
    }

    #[cold]
    fn call_left(&self, window: &mut Window, limit: u64) -> Called {
        match self.fast_left(window, limit) {
            Left::Abandoned => Called::Abandoned,
            Left::AtStep | Left::Elsewhere => Called::Unfinished,
        }
    }
}
