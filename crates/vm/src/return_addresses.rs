//! Return addresses that are not in the guest's text: that of functions which the host calls, and that of signal
//! handlers.
//!
//! Both lie above the initial sp in the guest's stack. No program has text there, so the dispatcher recognises a return
//! by the pc alone, and no register has to carry a marker. The bytes there are readable, because unwinders look at the
//! instructions at a return address: zeros end the stack, and those of `rt_sigreturn`, which a Linux personality writes,
//! say that a signal frame is at sp.

use crate::memory::MAX_ADDRESS;

/// Bytes below and above the stack that are not mapped.
pub const STACK_GUARD: u64 = 1 << 20;
/// One past the last address of the stack's pages.
pub const STACK_TOP: u64 = MAX_ADDRESS - STACK_GUARD;
/// Bytes at the top of the stack's pages that are not the guest's: the initial sp is below them.
pub const STACK_RESERVED: u64 = 64;

/// Where functions that the host has called return to.
pub const RETURN_ADDRESS: u64 = STACK_TOP - STACK_RESERVED;
/// Where signal handlers return to: a jump there is the system call `rt_sigreturn`. Eight bytes, two instructions.
pub const SIGNAL_RETURN_ADDRESS: u64 = RETURN_ADDRESS + 32;
const _: () = assert!(RETURN_ADDRESS.is_multiple_of(16) && SIGNAL_RETURN_ADDRESS + 8 <= STACK_TOP);
