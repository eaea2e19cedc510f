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

/// Defines [`Reason`] and the way back from its numbers.
macro_rules! reasons {
    ($(#[$doc:meta])* $name:ident { $($(#[$meaning:meta])* $reason:ident = $number:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u64)]
        pub enum $name {
            $($(#[$meaning])* $reason = $number,)*
        }

        impl $name {
            /// The reason of this number.
            ///
            /// # Panics
            /// If there is none: safe code has written the context.
            pub fn of(number: u64) -> $name {
                match number {
                    $($number => $name::$reason,)*
                    _ => panic!("{number} is no reason to exit an engine"),
                }
            }
        }
    };
}

reasons! {
    /// Why the code of an engine's inner loop has exited: what handlers, compiled code, stubs and the fault handler
    /// write to [`crate::EngineContext::reason`]. The engine makes an [`Exit`] of it. Numbers are part of the ABI of
    /// compiled code.
    Reason {
        /// The outermost function has returned: in compiled code to ra, in the interpreter to the host.
        Returned = 0,
        /// The reference interpreter must execute the instruction here.
        Step = 1,
        /// The guest continues elsewhere, and no frames are suspended.
        Jump = 2,
        /// Fuel may be short.
        Limit = 3,
        /// Compiled code: an access has faulted; written by the fault handler entry. Registers are up to date in
        /// precise mode only.
        Fault = 4,
        /// Compiled code: the code at the pc, which was called or jumped to, has no compiled body. Suspended frames
        /// resume when it returns to ra.
        Call = 5,
        /// Compiled code: the run was interrupted; written by the entry for interruptions. Registers are as of the last
        /// call.
        Interrupted = 6,
        /// Compiled code: an `ecall` is at the pc, and the code can resume after it.
        Ecall = 7,
        /// Compiled code: stack or fuel may be short at a function's beginning. The suspended code's address says at
        /// which pc.
        Start = 8,
        /// The interpreter: a branch or jump whose target is not decoded yet.
        Undecoded = 9,
        /// The interpreter: compiled code can be entered here.
        Entry = 10,
        /// A host function has ended the run.
        Abandoned = 16,
        /// No host function is bound to the call at the pc, which has been counted.
        Unbound = 17,
    }
}

/// Instructions that an engine which counts them executes at most before it returns to the dispatcher, which looks at
/// interruptions: a tenth of a millisecond's worth, and 50 ms' where each third instruction faults a page in.
pub const SLICE: u64 = 128 << 10;
