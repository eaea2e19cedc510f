//! How a guest goes on after its host has been asked.

use riverrun_vm::TrapCause;

/// How a guest's run continues after an `ecall`, an [`Alarm`](crate::Alarm), or a trap that its host handles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// After the `ecall`; where an alarm has suspended it; at the instruction that has trapped, which is executed again.
    Continue,
    /// At this address.
    Jump(u64),
    /// It ends: the guest has exited with this status.
    Exit(i32),
    /// It traps at the `ecall`, where an alarm has suspended it, or where it has trapped.
    Trap(TrapCause),
}
