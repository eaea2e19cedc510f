//! The calling convention of all compiled functions, and the offsets of the fields that they access.
//!
//! A function takes ten *pinned* guest registers and the window's address in host registers and returns them in the same
//! places. All other guest registers are in the [`VmContext`] below the window. At every call and return the live registers
//! are committed, in precise mode all of them. A function returns to its caller's host frame with the guest's return
//! address in `ra`; the caller compares it with its continuation.

use std::mem::offset_of;

use crate::context::{EngineContext, POLLS_OFFSET, VmContext, WINDOW_OFFSET};
use crate::imports::SYSTEM_CALLS_OFFSET;
use crate::polls::Polls;

/// The version of the contract between compiled code and this crate. Any change of this module, of the state's
/// layout or of the header must change it.
pub const ABI: u32 = 26;

/// A value that is passed in a host register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pinned {
    /// An integer register of the guest.
    X(u8),
    /// The remaining fuel less [`RESERVE`].
    Fuel,
}

impl Pinned {
    /// From the window to the value's place in the state, where it is when it is committed.
    pub const fn home(self) -> i64 {
        match self {
            Pinned::X(register) => slot(register),
            Pinned::Fuel => FUEL,
        }
    }
}

/// The ten pinned registers in the order of parameters, followed by the window's address. Short-lived values come first,
/// because LLVM allocates registers for intermediate results in this order, too. Code that counts fuel has it in the place
/// of s4.
pub const fn pinned(fuel: bool) -> [Pinned; PINNED] {
    use Pinned::X;
    let s4 = if fuel { Pinned::Fuel } else { X(20) };
    [X(12), X(11), X(10), X(1), s4, X(19), X(18), X(9), X(8), X(2)]
}

/// Their number, which is the position of the window's address.
pub const PINNED: usize = 10;

const fn below_window(offset: usize) -> i64 {
    offset as i64 - WINDOW_OFFSET as i64
}

const fn exit(offset: usize) -> i64 {
    below_window(offset_of!(VmContext, exit) + offset)
}

/// From the window to the state.
pub const STATE: i64 = below_window(0);
/// From the window to a slot of [`crate::Hart::slots`].
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
/// From the window to the [`crate::Reason`] of an exit.
pub const REASON: i64 = exit(offset_of!(EngineContext, reason));
/// From the window to the pc at which suspended frames resume, or [`NOWHERE`].
pub const RESUME: i64 = exit(offset_of!(EngineContext, target));
/// No guest's pc.
pub const NOWHERE: u64 = u64::MAX;
/// From the window to the exit stub; it returns when the code is resumed.
pub const EXIT: i64 = exit(offset_of!(EngineContext, exit_stub));
/// From the window to the exit stub for a function's beginning, [`crate::Reason::Start`]; code sets no other field for it.
pub const EXIT_AT_START: i64 = exit(offset_of!(EngineContext, exit_at_start_stub));
/// From the window to the function that drops all frames of compiled code and host functions above it, called with the
/// state by the host's convention.
pub const QUIT: i64 = exit(offset_of!(EngineContext, quit));
/// From the window to the stack limit.
pub const STACK_LIMIT: i64 = below_window(POLLS_OFFSET + offset_of!(Polls, stack_limit));
/// From the window to the word of requests: loops exit if it is greater than the window's address, and code that counts
/// exits behind host functions unless it is 0.
pub const POLL: i64 = below_window(POLLS_OFFSET + offset_of!(Polls, poll));
/// From the window to the host's stack pointer at the entry; host functions run below it.
pub const HOST_SP: i64 = exit(offset_of!(EngineContext, host_sp));
/// From the window to the address of the machine's imports.
pub const IMPORTS: i64 = exit(offset_of!(EngineContext, imports));
/// From the window to the table of system calls.
pub const SYSTEM_CALLS: i64 = below_window(SYSTEM_CALLS_OFFSET);
/// The reserve: instructions that code may execute after a test of its fuel.
pub const RESERVE: i64 = 128;
/// The part of the reserve that is left at least when functions return, and when one is entered at a re-entry point.
pub const RESERVE_BEHIND: i64 = 64;
/// From the window to the fuel less the reserve, while it is not in its register.
pub const FUEL: i64 = exit(offset_of!(EngineContext, fuel));
/// Integer arguments from a0 on that [`crate::artifact::call`] takes in host registers.
pub const CALL_ARGUMENTS: usize = 3;
