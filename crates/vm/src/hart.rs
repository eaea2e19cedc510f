//! The architectural state of a guest's hart: plain data without pointers, the same for every engine and host.

/// The slot of [`Hart::slots`] that takes what is written to x0.
pub const SINK_SLOT: u8 = 32;
/// The slot of the first float register.
pub const F_SLOT: u8 = 33;

/// Registers and control registers of a hart. Exact whenever no engine is running it: an engine commits all of it
/// before it exits, except at three exits of compiled code, which [`Exit`](crate::Exit) describes: `Fault`, `Lost` and
/// `Abandoned`.
#[repr(C)]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hart {
    /// x0 to x31, the sink of writes to x0, f0 to f31: one array, so that an operand is one byte
    /// whichever file it names. Slot 0 is 0 always.
    pub slots: [u64; 65],
    /// The address of the next instruction.
    pub pc: u64,
    /// Accrued float exceptions (`fflags`).
    pub fflags: u64,
    /// The dynamic rounding mode (`frm`), 0 to 7.
    pub frm: u64,
    /// Instructions executed since the machine was made: `instret`. While [`crate::EngineContext::count_base`] is not 0
    /// it says nothing, and [`crate::VmContext::instructions`] does.
    pub instret: u64,
    /// The address that `lr` reserved, or all ones.
    pub reservation: u64,
    /// What `lr` read there.
    pub reserved_value: u64,
}

impl Hart {
    /// A hart at its start: all registers 0, nothing reserved.
    pub fn new() -> Hart {
        Hart { slots: [0; 65], pc: 0, fflags: 0, frm: 0, instret: 0, reservation: u64::MAX, reserved_value: 0 }
    }

    /// What is in the integer register `n`.
    ///
    /// # Panics
    /// If `n` is above 31.
    pub fn x(&self, n: u8) -> u64 {
        assert!(n < 32, "x{n} is no register");
        self.slots[n as usize]
    }

    /// Writes the integer register `n`; writes to x0 have no effect.
    ///
    /// # Panics
    /// If `n` is above 31.
    pub fn set_x(&mut self, n: u8, value: u64) {
        assert!(n < 32, "x{n} is no register");
        if n != 0 {
            self.slots[n as usize] = value;
        }
    }

    /// What is in the float register `n`, NaN boxes included.
    ///
    /// # Panics
    /// If `n` is above 31.
    pub fn f(&self, n: u8) -> u64 {
        assert!(n < 32, "f{n} is no register");
        self.slots[F_SLOT as usize + n as usize]
    }

    /// Writes the float register `n`.
    ///
    /// # Panics
    /// If `n` is above 31.
    pub fn set_f(&mut self, n: u8, value: u64) {
        assert!(n < 32, "f{n} is no register");
        self.slots[F_SLOT as usize + n as usize] = value;
    }
}

impl Default for Hart {
    fn default() -> Hart {
        Hart::new()
    }
}
