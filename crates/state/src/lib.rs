//! What the interpreters, compiled code and machines share: the register file, the window of guest memory, trap
//! causes, and the signal handlers that end guest code at faults and interruptions.
//!
//! A machine's whole state is one reservation of address space:
//!
//! ```text
//! | guard | VmContext | guard | window: 4 GiB of guest addresses | guard |
//!         ^               ^
//!         reservation     VmContext::window_base() = address of VmContext + WINDOW_OFFSET
//!         + GUARD_SIZE
//! ```
//!
//! A guest address modulo 2^32 is an offset into the window. What is not mapped faults, so no access needs a check.
//!
//! This crate uses `unsafe`: the window is raw memory, and faults arrive as signals. Safe code can write every field of a
//! [`VmContext`], including the pointers that engines keep in [`EngineContext`]. Therefore every function that follows one of
//! those pointers is `unsafe`: entering an engine, [`VmContext::import`], [`call_host`], [`Running::end`].

#![cfg_attr(loom, allow(dead_code, reason = "models have no signals"))]

mod claimed;
mod context;
mod exit;
mod float_env;
mod gate;
mod hart;
mod host_stack;
mod imports;
mod interruption;
mod leave;
#[cfg(all(loom, test))]
mod model;
mod perm;
mod return_addresses;
mod running;
mod seams;
mod signal;
mod signal_stack;
mod sync;
mod sys;
mod trap;
mod watch;
mod window;

pub use context::{
    EngineContext, GUARD_SIZE, LANDINGS_OFFSET, LANDINGS_SIZE, RETURNS_OFFSET, RETURNS_SIZE, SYSTEM_CALLS_OFFSET,
    VmContext, WINDOW_OFFSET,
};
pub use exit::{Exit, Reason, SLICE};
pub use float_env::{FloatEnv, GuestFloats};
pub use gate::{Gate, Opening};
pub use hart::{F_SLOT, Hart, SINK_SLOT};
pub use host_stack::host_stack_left;
pub use imports::{
    Bound, DYNAMIC_CALL, HASH_MIN, HostFunction, Import, READY_CALL, REGISTER_ARGUMENTS, Results, SYSTEM_CALLS,
    SlotCode, SlotError, SlotFunction, SystemCall, abandon, call_host,
};
pub use interruption::Interruption;
pub use leave::{FRAME_GAP, FRAME_SIZE, leave_engine, return_marker};
pub use perm::Perm;
pub use return_addresses::{RETURN_ADDRESS, SIGNAL_RETURN_ADDRESS, STACK_GUARD, STACK_RESERVED, STACK_TOP};
pub use running::{Claim, FaultExit, Running, Said};
pub use signal::{CodeRange, install_fault_handler};
pub use trap::{Trap, TrapCause};
pub use window::{
    Fault, Image, ImagePart, MAPPING_LIMIT, MAX_ADDRESS, MIN_ADDRESS, MapError, PAGE_SIZE, Region, WINDOW_SIZE, Window,
};
