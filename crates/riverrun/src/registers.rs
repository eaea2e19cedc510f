//! A guest's registers, as its host sees them.

use riverrun_state::State;

const SP: u8 = 2;

/// Where a guest stands: what the state says, unless calls on the fast path have left to be put back what they
/// changed ([`crate::call::fast_path`]).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Position {
    pub(crate) pc: u64,
    pub(crate) sp: u64,
}

impl Position {
    /// As the state has it.
    pub(crate) fn of(state: &State) -> Position {
        Position { pc: state.pc, sp: state.x(SP) }
    }

    /// Register `n` of a guest that stands here.
    pub(crate) fn x(self, state: &State, n: u8) -> u64 {
        if n == SP { self.sp } else { state.x(n) }
    }
}

/// The methods that read and write registers, for every type that has a `memory`.
macro_rules! accessors {
    () => {
        /// Integer register `n`.
        ///
        /// # Panics
        /// If `n` is above 31.
        pub fn x(&self, n: u8) -> u64 {
            self.position().x(self.state(), n)
        }

        /// Writes integer register `n`; writes to x0 have no effect.
        ///
        /// # Panics
        /// If `n` is above 31.
        pub fn set_x(&mut self, n: u8, value: u64) {
            self.state_mut().set_x(n, value);
        }

        /// Float register `n`, all 64 bits.
        ///
        /// # Panics
        /// If `n` is above 31.
        pub fn f(&self, n: u8) -> u64 {
            self.state().f(n)
        }

        /// Writes float register `n`, all 64 bits.
        ///
        /// # Panics
        /// If `n` is above 31.
        pub fn set_f(&mut self, n: u8, value: u64) {
            self.state_mut().set_f(n, value);
        }

        /// The float control and status register: rounding mode and accrued exceptions.
        pub fn fcsr(&self) -> u32 {
            let state = self.state();
            (state.frm << 5 | state.fflags) as u32
        }

        /// Writes the float control and status register; bits above the lowest eight have no effect.
        pub fn set_fcsr(&mut self, value: u32) {
            let state = self.state_mut();
            state.frm = u64::from(value >> 5 & 7);
            state.fflags = u64::from(value & 31);
            // Host functions round as they always do.
            self.guard_floats();
        }
    };
}
pub(crate) use accessors;
