//! Leaving an engine on x86-64 Unix.
//!
//! Every engine is entered by code that pushes rbp, rbx, r12 to r15 in this order, leaves [`FRAME_GAP`]
//! bytes below, and notes the stack pointer, aligned for calls, in [`crate::EngineExit::host_sp`]: it may lack in the
//! places of r12 to r15 what nobody wants back. Whoever leaves it
//! otherwise than by returning has 0 in rax.

use std::arch::naked_asm;
use std::mem::offset_of;

use crate::imports::Import;
use crate::registers::{EngineExit, State};

/// Bytes between the host's stack pointer and what was pushed: room for a call's own address, and for what aligns it.
pub const FRAME_GAP: usize = 24;

/// Returns to whoever has entered the engine.
///
/// # Safety
/// An engine runs on the state, and no frame above its entry has anything to clean up.
#[unsafe(naked)]
pub unsafe extern "sysv64" fn leave_engine(_: *mut State) -> ! {
    naked_asm!(
        "mov rsp, [rdi + {host_sp}]",
        "add rsp, {gap}",
        "pop r15",
        "pop r14",
        "pop r13",
        "pop r12",
        "pop rbx",
        "pop rbp",
        "xor eax, eax",
        "ret",
        host_sp = const offset_of!(State, exit) + offset_of!(EngineExit, host_sp),
        gap = const FRAME_GAP,
    )
}

/// Calls a host function as an engine does, with the arguments and results of the state.
///
/// # Safety
/// As [`crate::call_host`].
#[unsafe(naked)]
pub(crate) unsafe extern "sysv64" fn enter_host(_: *mut State, _: *const Import) {
    naked_asm!(
        "push rbp",
        "push rbx",
        "push r12",
        "push r13",
        "push r14",
        "push r15",
        "sub rsp, {gap}",
        "mov [rdi + {host_sp}], rsp",
        "mov rbx, rdi",
        "mov rdi, rsi",
        "mov rsi, [rbx + 80]",
        "mov rdx, [rbx + 88]",
        "mov rcx, [rbx + 96]",
        "mov r8, [rbx + 104]",
        "mov r9, [rbx + 112]",
        "call [rdi + {code}]",
        "mov [rbx + 80], rax",
        "mov [rbx + 88], rdx",
        "mov rdi, rbx",
        "jmp {leave}",
        host_sp = const offset_of!(State, exit) + offset_of!(EngineExit, host_sp),
        gap = const FRAME_GAP,
        code = const offset_of!(Import, code),
        leave = sym leave_engine,
    )
}

// The integer registers are addressed by constants.
const _: () = assert!(offset_of!(State, slots) == 0);
