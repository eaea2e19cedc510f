//! Return addresses that are not in the guest's text: that of functions which the host calls, and that of signal
//! handlers.
//!
//! Both lie above the initial sp in the stack of the largest address space. No program has text there, so the dispatcher
//! recognises a return by the pc alone, and no register has to carry a marker. They are the same in smaller spaces, which
//! have no such address: a pc is not taken modulo the size. Memory accesses are, and there find the same bytes above the
//! initial sp. These are readable, because unwinders look at the instructions at a return address: zeros end the stack, and
//! those of `rt_sigreturn`, which a Linux personality writes, say that a signal frame is at sp.

use crate::memory::AddressSpace;

/// Bytes at the top of the stack's pages that are not the guest's: the initial sp is below them.
pub const STACK_RESERVED: u64 = 64;

/// Where functions that the host has called return to.
pub const RETURN_ADDRESS: u64 = AddressSpace::LARGEST.stack_top() - STACK_RESERVED;
/// Where signal handlers return to: a jump there is the system call `rt_sigreturn`. Eight bytes, two instructions.
pub const SIGNAL_RETURN_ADDRESS: u64 = RETURN_ADDRESS + 32;
const _: () = assert!(RETURN_ADDRESS.is_multiple_of(16) && 32 + 8 <= STACK_RESERVED);
