//! Leaving an engine on x86-64 Unix.
//!
//! Every engine is entered by code that pushes rbp, rbx, r12 to r15 in this order, leaves [`FRAME_GAP`]
//! bytes below, and notes the stack pointer, aligned for calls, in [`crate::EngineExit::host_sp`]: it may lack in the
//! places of r12 to r15 what nobody wants back. What runs on its caller's stack alone may have the same in the
//! machine's gate ([`crate::Gate::FRAME`]).
//!
//! The gap's second word is the address of a *signpost*, which tells whoever leaves the engine otherwise than by returning
//! where to go on: an instruction that does nothing, `nop dword ptr [rax + distance]`, with the distance from there to the
//! place. It can be where a call returns to, whose address is in the gap then without being stored for this. What goes on
//! there has 0 in rax, and in rdx where the frame is: it is for it to put the stack pointer back, [`FRAME_SIZE`] bytes above
//! if the frame is on the stack.

use std::arch::naked_asm;
use std::mem::offset_of;

use crate::imports::Import;
use crate::registers::{EngineExit, State};

/// Bytes between the host's stack pointer and what was pushed: room for the signpost, and for what aligns it.
pub const FRAME_GAP: usize = 24;
/// Bytes of the gap and of what was pushed.
pub const FRAME_SIZE: usize = FRAME_GAP + 6 * 8;

/// A signpost that leads to the next place with this label, at one of its own.
#[macro_export]
macro_rules! signpost {
    ($label:literal, $place:literal) => {
        concat!($label, ":\n.byte 0x0f, 0x1f, 0x80\n.long ", $place, "f - ", $label, "b")
    };
}

/// The signpost of engines that are functions of the host's: they return.
///
/// # Safety
/// It is for nobody to call: what leaves an engine looks at it.
#[unsafe(naked)]
pub unsafe extern "sysv64" fn return_signpost() {
    naked_asm!(signpost!("2", "3"), "3:", "lea rsp, [rdx + {frame}]", "ret", frame = const FRAME_SIZE)
}

/// What leaves an engine by its signpost, with in rdx what [`crate::EngineExit::host_sp`] says. `gap` is [`FRAME_GAP`].
#[macro_export]
macro_rules! leave_by_signpost {
    () => {
        "mov rcx, [rdx + 8]
        movsxd rax, dword ptr [rcx + 3]
        add rcx, rax
        mov r15, [rdx + {gap}]
        mov r14, [rdx + {gap} + 8]
        mov r13, [rdx + {gap} + 16]
        mov r12, [rdx + {gap} + 24]
        mov rbx, [rdx + {gap} + 32]
        mov rbp, [rdx + {gap} + 40]
        xor eax, eax
        jmp rcx"
    };
}

/// Returns to whoever has entered the engine.
///
/// # Safety
/// An engine runs on the state, and no frame above its entry has anything to clean up.
#[unsafe(naked)]
pub unsafe extern "sysv64" fn leave_engine(_: *mut State) -> ! {
    naked_asm!(
        "mov rdx, [rdi + {host_sp}]",
        leave_by_signpost!(),
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
        "lea rax, [rip + {signpost}]",
        "mov [rsp + 8], rax",
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
        signpost = sym return_signpost,
    )
}

// The integer registers are addressed by constants.
const _: () = assert!(offset_of!(State, slots) == 0);
