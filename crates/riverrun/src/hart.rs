//! Harts as their host sees them: the registers of a guest's thread while another one runs.
//!
//! A machine has one hart. A personality that has threads keeps a [`Hart`] for each that does not run, and exchanges the
//! machine's with it ([`Caller::swap_hart`]) where the guest is committed: in a system call or at an alarm. Host frames
//! hold nothing of the guest, so nothing else is exchanged; frames of compiled code that were suspended for another hart
//! resume only where this one comes to their continuation, and take every register from it.

use riverrun_vm::VmContext;

#[cfg(doc)]
use crate::caller::Caller;
use crate::registers::Position;

/// The registers of a guest's thread that does not run: plain data.
///
/// ```
/// let mut hart = riverrun::Hart::new();
/// hart.set_x(10, 42);
/// hart.set_pc(0x1_0000);
/// assert_eq!((hart.x(10), hart.x(0), hart.pc()), (42, 0, 0x1_0000));
/// ```
#[derive(Clone, Debug, Default)]
pub struct Hart {
    hart: riverrun_vm::Hart,
    /// Whether it began the call by the host that is in progress.
    began_call: bool,
}

impl Hart {
    /// All registers zero.
    pub fn new() -> Hart {
        Hart::default()
    }

    /// The address of the next instruction.
    pub fn pc(&self) -> u64 {
        self.hart.pc
    }

    /// Sets the address of the next instruction.
    pub fn set_pc(&mut self, pc: u64) {
        self.hart.pc = pc;
    }

    /// Integer register `n`.
    ///
    /// # Panics
    /// If `n` is above 31.
    pub fn x(&self, n: u8) -> u64 {
        self.hart.x(n)
    }

    /// Writes integer register `n`; writes to x0 have no effect.
    ///
    /// # Panics
    /// If `n` is above 31.
    pub fn set_x(&mut self, n: u8, value: u64) {
        self.hart.set_x(n, value);
    }

    /// Float register `n`, all 64 bits.
    ///
    /// # Panics
    /// If `n` is above 31.
    pub fn f(&self, n: u8) -> u64 {
        self.hart.f(n)
    }

    /// Writes float register `n`, all 64 bits.
    ///
    /// # Panics
    /// If `n` is above 31.
    pub fn set_f(&mut self, n: u8, value: u64) {
        self.hart.set_f(n, value);
    }

    /// The float control and status register.
    pub fn fcsr(&self) -> u32 {
        (self.hart.frm << 5 | self.hart.fflags) as u32
    }

    /// Writes the float control and status register; bits above the lowest eight have no effect.
    pub fn set_fcsr(&mut self, value: u32) {
        (self.hart.frm, self.hart.fflags) = (u64::from(value >> 5 & 7), u64::from(value & 31));
    }

    /// Whether it began the call by the host that is in progress: the call returns when this hart does.
    pub fn began_call(&self) -> bool {
        self.began_call
    }

    /// A copy of the machine's hart.
    pub(crate) fn of(state: &VmContext) -> Hart {
        Hart { hart: state.hart.clone(), began_call: false }
    }

    /// Exchanges it with the machine's. Instructions are counted for the machine, and nothing stays reserved.
    pub(crate) fn swap(&mut self, state: &mut VmContext, began_call: &mut bool) {
        let instret = state.hart.instret;
        std::mem::swap(&mut self.hart, &mut state.hart);
        std::mem::swap(&mut self.began_call, began_call);
        state.hart.instret = instret;
        state.hart.reservation = u64::MAX;
    }

    pub(crate) fn position(&self) -> Position<'_> {
        Position { pc: self.hart.pc, slots: &self.hart.slots }
    }
}
