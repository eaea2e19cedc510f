//! Running the interpreter for a slice, and single steps of the reference interpreter, for the dispatcher.

use riverrun_isa::Format;
use riverrun_vm::{Exit, FloatEnv, RETURN_ADDRESS, Reason, Trap, TrapCause, VmContext, Window};

#[cfg(doc)]
use riverrun_vm::EngineContext;

use crate::code::Code;
use crate::decoded_op::DecodedOp;
use crate::enter::enter;
use crate::fast::COUNTED;
use crate::step::{Step, fetch, step};

impl Code {
    /// Runs the interpreter from the guest's pc on, for `limit` instructions at most, and says how many were executed.
    /// It exits with [`Exit::Step`] where it cannot begin.
    ///
    /// # Safety
    /// The window has the image of this code's program mapped, whose text is not read from memory but from the program.
    /// What the state's [`EngineContext`] holds is what engines have left there; [`EngineContext::imports`] is the table
    /// of the program's imports, all bound for the machine of this window, or there is none.
    pub unsafe fn run(&self, window: &mut Window, limit: u64) -> (Exit, u64) {
        let hart = &window.state().hart;
        let entry = self.entry(hart.pc).filter(|_| FloatEnv::supports(hart.frm));
        let Some(entry) = entry.filter(|entry| limit as i64 + i64::from(entry.ordinal) >= 0) else {
            return (Exit::Step, 0);
        };
        self.bind(window);
        self.prepare_host_calls(window, limit);
        let before = window.state().hart.instret;
        let state = window.state_ptr();
        let fuel = limit as i64 + i64::from(entry.ordinal);
        // SAFETY: the window, and with it the state, is borrowed for as long as the engine runs; its tables are bound;
        // entries are published ops; the float environment can be had, and nothing runs within it but handlers.
        unsafe {
            let env = FloatEnv::enter(&*state);
            enter(self.op(entry.op), state, fuel);
            env.leave(&mut *state);
        }
        let exit = self.commit(window);
        // Guest functions that a host function has called count here, too.
        (exit, window.state().hart.instret - before)
    }

    /// Executes the instruction at the guest's pc by the reference interpreter.
    ///
    /// # Errors
    /// The trap that the instruction ends with; the hart is as it was before.
    pub fn step(&self, window: &mut Window) -> Result<Step, Trap> {
        step(window, &self.image)
    }
}

/// Writes a word unless it has this value already: comparing is faster than storing.
#[inline(always)]
pub(crate) fn set(place: &mut u64, value: u64) {
    if *place != value {
        *place = value;
    }
}

/// Makes `instret` follow from the fuel, which begins at `limit`.
#[inline(always)]
pub(crate) fn count_from(state: &mut VmContext, limit: u64) {
    state.exit.fuel = limit as i64;
    state.exit.count_base = if COUNTED { state.hart.instret + limit } else { 0 };
}

/// Commits the state's `instret`. A window that was ready for [`crate::Place::call`] is no longer ready.
#[inline(always)]
pub fn end_count(state: &mut VmContext) {
    state.hart.instret = state.instructions();
    state.exit.count_base = 0;
}

impl Code {
    /// The cause of a fault of the access at `pc`, which could not access `address`.
    pub fn fault_of(&self, pc: u64, address: u64) -> TrapCause {
        let inst = fetch(&self.image, pc);
        match inst.map(|inst| inst.op.info().format) {
            Ok(Format::Store | Format::FStore | Format::Amo) => TrapCause::StoreFault { address },
            _ => TrapCause::LoadFault { address },
        }
    }

    /// Stores in the state what host functions need while the interpreter runs for at most `limit` instructions.
    #[inline]
    pub(crate) fn prepare_host_calls(&self, window: &mut Window, limit: u64) {
        let engine_window = &raw mut *window;
        let state = window.state_mut();
        set(&mut state.exit.window, engine_window as u64);
        count_from(state, limit);
    }

    /// Commits the hart after the interpreter has run.
    pub(crate) fn commit(&self, window: &mut Window) -> Exit {
        let state = window.state_mut();
        let op = state.exit.op as *const DecodedOp;
        let reason = Reason::of(state.exit.reason);
        let left = match reason {
            Reason::Jump => {
                state.hart.pc = state.exit.target;
                state.exit.fuel
            }
            Reason::Returned => {
                state.hart.pc = RETURN_ADDRESS;
                state.exit.fuel
            }
            Reason::Abandoned => state.exit.fuel,
            Reason::Unbound => state.exit.fuel + 1,
            _ => {
                let (pc, ordinal) = self.origin(op);
                state.hart.pc = pc;
                state.exit.fuel - i64::from(ordinal)
            }
        };
        state.exit.fuel = left;
        end_count(state);
        match reason {
            Reason::Limit | Reason::Jump | Reason::Entry => Exit::Continue,
            Reason::Abandoned => Exit::Abandoned { has_arguments: true },
            Reason::Undecoded if self.resolve(op) => Exit::Continue,
            _ => Exit::Step,
        }
    }
}
