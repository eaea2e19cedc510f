//! The convention that all compiled functions share.
//!
//! A function takes ten guest registers and the window's address in host registers, and returns
//! them in the same places; all other guest registers stand in the [`VmContext`], below the window. All
//! that may still be read is exact at every call, and everything is in precise code. A function
//! returns to its caller's host frame with the address that the guest returns to in `ra`: the caller
//! compares, and leaves compiled code where they differ.

use std::mem::offset_of;

use riverrun_state::{EngineContext, VmContext, WINDOW_OFFSET};

/// What stands in a host register at calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hot {
    /// An integer register of the guest.
    X(u8),
    /// The instructions that may still be executed, less [`RESERVE`].
    Fuel,
}

/// The ten registers, in the order of the parameters; the window's address follows. First come those whose values
/// are soon done with: LLVM takes its registers for intermediate results in this order, too. Code that
/// counts fuel has it in the place of s4.
pub const fn hot(fuel: bool) -> [Hot; HOT] {
    use Hot::X;
    let s4 = if fuel { Hot::Fuel } else { X(20) };
    [X(12), X(11), X(10), X(1), s4, X(19), X(18), X(9), X(8), X(2)]
}

/// How many there are: the position of the window's address.
pub const HOT: usize = 10;

const fn below_window(offset: usize) -> i64 {
    offset as i64 - WINDOW_OFFSET as i64
}

const fn exit(offset: usize) -> i64 {
    below_window(offset_of!(VmContext, exit) + offset)
}

/// From the window to the state.
pub const STATE: i64 = below_window(0);
/// From the window to a slot of [`Hart::slots`].
pub const fn slot(slot: u8) -> i64 {
    below_window(offset_of!(VmContext, hart.slots) + 8 * slot as usize)
}
/// From the window to the pc.
pub const PC: i64 = below_window(offset_of!(VmContext, hart.pc));
/// From the window to the accrued float exceptions.
pub const FFLAGS: i64 = below_window(offset_of!(VmContext, hart.fflags));
/// From the window to the address that `lr` reserved.
pub const RESERVATION: i64 = below_window(offset_of!(VmContext, hart.reservation));
/// From the window to what `lr` read.
pub const RESERVED_VALUE: i64 = below_window(offset_of!(VmContext, hart.reserved_value));
/// From the window to where code says why it wants to be left, a [`Reason`].
pub const REASON: i64 = exit(offset_of!(EngineContext, reason));
/// From the window to where code says at which pc it can go on once it has been left, or [`NOWHERE`].
pub const RESUME: i64 = exit(offset_of!(EngineContext, target));
/// No guest's pc.
pub const NOWHERE: u64 = u64::MAX;
/// From the window to the function that leaves compiled code; it returns where code goes on.
pub const LEAVE: i64 = exit(offset_of!(EngineContext, leave));
/// From the window to one that does the same where a function begins, for [`Reason::Start`]: it needs to be told nothing.
pub const LEAVE_AT_START: i64 = exit(offset_of!(EngineContext, leave_at_start));
/// From the window to the function that drops all frames of compiled code and the host's above it, called with the state
/// by the host's convention.
pub const QUIT: i64 = exit(offset_of!(EngineContext, quit));
/// From the window to the least stack pointer with which code may go on.
pub const STACK_LIMIT: i64 = exit(offset_of!(EngineContext, stack_limit));
/// From the window to the host's stack pointer, as the entry has left it: host functions run below it.
pub const HOST_SP: i64 = exit(offset_of!(EngineContext, host_sp));
/// From the window to the address of the machine's imports.
pub const IMPORTS: i64 = exit(offset_of!(EngineContext, imports));
/// From the window to the table of system calls.
pub const SYSTEM_CALLS: i64 = below_window(riverrun_state::SYSTEM_CALLS_OFFSET);
/// Instructions that code which counts may execute without a look at its fuel.
pub const RESERVE: i64 = 128;
/// Of these, those that are left at least where functions return, and where one is entered elsewhere than at its start.
pub const RESERVE_BEHIND: i64 = 64;
/// From the window to the fuel, while it is not in its register.
pub const FUEL: i64 = exit(offset_of!(EngineContext, fuel));

/// Why compiled code was left. It has told the pc then, and all registers are exact.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub enum Reason {
    /// The outermost function has returned, to ra.
    Returned = 0,
    /// The instruction at the pc is for the single-step engine.
    Step = 1,
    /// The guest goes on at the pc, wherever that is, and nothing waits.
    Jump = 2,
    /// Fuel may be short.
    Limit = 3,
    /// An access has faulted; written by the landing. Registers are exact in precise code only.
    Fault = 4,
    /// The code at the pc has no compiled body. It was called or jumped to; what waits is returned to, by ra.
    Call = 5,
    /// The run is to end; written by the landing. Registers are as of the last call.
    Interrupted = 6,
    /// At the pc is an `ecall`, and execution can go on behind it.
    Ecall = 7,
    /// Stack or fuel may be short where a function begins. The pc is where the code waits that has left.
    Start = 8,
}
