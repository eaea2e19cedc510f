//! Why an engine returns to the dispatcher: one list for all engines.

use crate::trap::TrapCause;

/// Why an engine has stopped running a guest. The hart is committed unless the variant says otherwise; its pc says where
/// the guest is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// The guest continues at the pc, in whichever engine has code for it.
    Continue,
    /// The instruction at the pc is for the reference interpreter: it is rare, it traps, or the engine has no code for it.
    Step,
    /// At the pc is an `ecall`, which has not been executed.
    Ecall,
    /// The engine does not continue at the pc: the fuel may not reach its next check, or the run is to end.
    Refused,
    /// The access at the pc has faulted, in code that does not commit its registers there: the pc is as near as is known,
    /// and registers are as of the last call.
    Fault {
        /// The guest address that could not be accessed, modulo 2^32.
        address: u64,
    },
    /// Compiled code was stopped where it does not commit its registers: the pc is as near as is known, and registers are
    /// as of the last call.
    Lost(TrapCause),
    /// A host function has ended the run.
    Abandoned {
        /// Whether the hart holds the arguments of that call. Code that is not precise passes them in the host's registers.
        has_arguments: bool,
    },
}

/// Instructions that an engine which counts them executes at most before it returns to the dispatcher, which looks at
/// interruptions: a few milliseconds' worth.
pub const SLICE: u64 = 4 << 20;
