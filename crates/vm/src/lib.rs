//! A machine below the public interface: what the interpreters, compiled code and the dispatcher share.
//!
//! ```text
//! hart, context, exit, trap   registers, what engines keep beside them, why they stop
//! imports, host_call          host functions as engines call them
//! convention, callable        what compiled code and its stubs agree upon
//! memory                      the window of guest memory
//! interrupt                   faults, requests to stop, deadlines
//! artifact                    compiled code: loading it, running it
//! arch, sys                   what depends on the processor, and on the operating system
//! ```
//!
//! A machine's whole state is one reservation of address space:
//!
//! ```text
//! | guard | VmContext | guard | window: all guest addresses, 4 GiB or fewer | guard |
//!         ^               ^
//!         reservation     VmContext::window_base() = address of VmContext + WINDOW_OFFSET
//!         + GUARD_SIZE
//! ```
//!
//! A guest address modulo the window's size, a power of two ([`AddressSpace`]), is an offset into the window. What is
//! not mapped faults, so no access needs a check.
//!
//! This crate uses `unsafe`: the window is raw memory, and faults arrive as signals. Safe code can write every field of a
//! [`VmContext`], including the pointers that engines keep in [`EngineContext`]. Therefore every function that follows
//! one of those pointers is `unsafe`: entering an engine, [`VmContext::import`], [`call_host`], [`Activation::end`].

#![cfg_attr(loom, allow(dead_code, reason = "models have no signals"))]

mod arch;
pub mod artifact;
mod callable;
mod context;
pub mod convention;
mod exit;
mod hart;
mod host_call;
mod imports;
mod interrupt;
mod memory;
mod perm;
mod polls;
mod return_addresses;
mod sync;
mod sys;
mod trap;
mod whole_file;

pub use arch::{FRAME_GAP, FRAME_SIZE, Features, FloatEnv, GuestFloats, PINNED_REGISTERS, exit_engine, return_marker};
pub use context::{
    ADDRESS_MASK_OFFSET, EngineContext, GUARD_SIZE, JUMP_CACHE_OFFSET, JUMP_CACHE_SIZE, POLLS_OFFSET, RETURNS_OFFSET,
    RETURNS_SIZE, VmContext, WINDOW_OFFSET,
};
pub use exit::{Exit, Reason, SLICE};
pub use hart::{F_SLOT, Hart, SINK_SLOT};
pub use host_call::{abandon, call_host};
pub use imports::{
    Bound, DYNAMIC_CALL, HASH_MIN, HostFunction, Import, READY_CALL, REGISTER_ARGUMENTS, Results, SYSTEM_CALLS,
    SYSTEM_CALLS_OFFSET, SlotCode, SlotError, SlotFunction, SystemCall,
};
pub use interrupt::{
    Activation, CodeRange, EntryGuard, EntryToken, FaultExit, Interruption, Ownership, Published, Requests,
    WeakInterruption, clock, install_fault_handler,
};
pub use memory::{
    AddressSpace, Fault, Image, ImagePart, MAPPING_LIMIT, MAX_ADDRESS, MIN_ADDRESS, MapError, PAGE_SIZE, Page, Region,
    STACK_GUARD, SavedMemory, SavedMemoryError, Window,
};
pub use perm::Perm;
pub use polls::Polls;
pub use return_addresses::{RETURN_ADDRESS, SIGNAL_RETURN_ADDRESS, STACK_RESERVED};
pub use sys::{LockKind, RangeLock, host_stack_left, range_lock_in_the_way, set_range_lock};
pub use trap::{Trap, TrapCause};
pub use whole_file::{is_same_file, make_folder_of, open_regular, read_whole, write_whole};
