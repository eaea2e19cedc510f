//! What the first call of a guest function prepares for the following ones, which take the fast path.
//!
//! Any code that invalidates a condition of [`Ready`] must call `Instance::forget_ready`.

use riverrun_vm::artifact::Prepared;
use riverrun_vm::{EntryGuard, VmContext};

use crate::registers::{Position, SP};

/// An engine that the fast path can enter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PlainEngine {
    /// The interpreter, without compiled code beside it.
    Interpreter,
    /// Compiled code that does not count fuel.
    Compiled,
}

/// What is prepared.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Preparation {
    None,
    Interpreter,
    Compiled(Prepared),
}

/// The conditions of the fast path. They hold while the entry guard is open for the program's code and an engine is
/// prepared:
///
/// - the engine is [prepared](riverrun_interp::Code::prepare), or its [execution](Prepared) is. Runs invalidate that, except
///   those within host functions, which restore the state;
/// - no call is in the guest: the guard is closed while one is, or says that a fast-path call is in it;
/// - the guest's own run is not suspended, so registers may be changed;
/// - there is no limit of fuel and no alarm, and the program cannot observe the float environment;
/// - the rounding mode is the default one, and sp is aligned for calls. A guest changes the mode by the reference
///   interpreter, which is not on the fast path; a host by methods that commit the whole state first.
///
/// Each call tests for interruptions and, for compiled code, whether this thread is the guard's owner.
#[derive(Debug)]
pub(crate) struct Ready {
    pub(crate) preparation: Preparation,
    /// The pc and the sp of the guest's own run, while `has_position`; all its registers are in [`VmContext::own_slots`].
    /// Calls change those of the hart: `Instance::forget_ready` puts these back, for all who change or run it next.
    pub(crate) pc: u64,
    /// The sp with which functions begin.
    pub(crate) sp: u64,
    pub(crate) has_position: bool,
}

impl Ready {
    pub(crate) fn none() -> Ready {
        Ready { preparation: Preparation::None, pc: 0, sp: 0, has_position: false }
    }

    /// The guest's position, for the machine with this entry guard.
    #[inline(always)]
    pub(crate) fn position<'a>(&self, entry_guard: &EntryGuard, state: &'a VmContext) -> Position<'a> {
        match self.has_position && !entry_guard.is_calling() {
            true => Position { pc: self.pc, slots: &state.own_slots },
            false => Position::of(state),
        }
    }

    /// Saves the guest's position. Functions begin with nothing reserved.
    pub(crate) fn take_position(&mut self, state: &mut VmContext) {
        state.hart.reservation = u64::MAX;
        state.own_slots = state.hart.slots;
        (self.pc, self.sp) = (state.hart.pc, state.hart.x(SP));
        self.has_position = true;
    }

    /// Restores the position that calls have changed. What they have reserved is so no more.
    pub(crate) fn put_back(&self, state: &mut VmContext) {
        (state.hart.pc, state.hart.slots) = (self.pc, state.own_slots);
        state.hart.reservation = u64::MAX;
    }
}
