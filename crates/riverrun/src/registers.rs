//! A guest's registers, as its host sees them.

use riverrun_vm::{F_SLOT, VmContext};

/// The numbers of registers.
pub(crate) const RA: u8 = 1;
pub(crate) const SP: u8 = 2;

/// Where a guest stands: what the state says, unless calls on the fast path have left to be put back what they
/// changed (`call/fast_path.rs`).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Position<'a> {
    pub(crate) pc: u64,
    /// As [`Hart::slots`].
    pub(crate) slots: &'a [u64; 65],
}

impl<'a> Position<'a> {
    /// As the state has it.
    pub(crate) fn of(state: &'a VmContext) -> Position<'a> {
        Position { pc: state.hart.pc, slots: &state.hart.slots }
    }

    /// Integer register `n`.
    ///
    /// # Panics
    /// If `n` is above 31.
    pub(crate) fn x(self, n: u8) -> u64 {
        assert!(n < 32, "there is no register x{n}");
        self.slots[usize::from(n)]
    }

    /// Float register `n`.
    ///
    /// # Panics
    /// If `n` is above 31.
    pub(crate) fn f(self, n: u8) -> u64 {
        assert!(n < 32, "there is no register f{n}");
        self.slots[usize::from(F_SLOT + n)]
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
            self.position().x(n)
        }

        /// Writes integer register `n`; writes to x0 have no effect.
        ///
        /// # Panics
        /// If `n` is above 31.
        pub fn set_x(&mut self, n: u8, value: u64) {
            self.state_mut().hart.set_x(n, value);
        }

        /// Float register `n`, all 64 bits.
        ///
        /// # Panics
        /// If `n` is above 31.
        pub fn f(&self, n: u8) -> u64 {
            self.position().f(n)
        }

        /// Writes float register `n`, all 64 bits.
        ///
        /// # Panics
        /// If `n` is above 31.
        pub fn set_f(&mut self, n: u8, value: u64) {
            self.state_mut().hart.set_f(n, value);
        }

        /// The float control and status register: rounding mode and accrued exceptions.
        pub fn fcsr(&self) -> u32 {
            let state = self.state();
            (state.hart.frm << 5 | state.hart.fflags) as u32
        }

        /// Writes the float control and status register; bits above the lowest eight have no effect.
        pub fn set_fcsr(&mut self, value: u32) {
            let state = self.state_mut();
            state.hart.frm = u64::from(value >> 5 & 7);
            state.hart.fflags = u64::from(value & 31);
            // Host functions round as they always do.
            self.guard_floats();
        }
    };
}
pub(crate) use accessors;
