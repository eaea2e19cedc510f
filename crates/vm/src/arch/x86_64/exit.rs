//! Exits from an engine on x86-64 Unix.
//!
//! The code that enters an engine makes a frame of [`FRAME_SIZE`] bytes: it pushes rbp, rbx, r12 to r15 in this order,
//! reserves [`FRAME_GAP`] bytes below, and stores the stack pointer, aligned for calls, in
//! [`crate::EngineContext::host_sp`]. The places of r12 to r15 may hold anything if the caller does not need them back.
//! Calls from C have the same frame in the machine's entry guard ([`crate::EntryGuard::FRAME`]), as they have none on
//! the stack.
//!
//! The second word of the gap is the address of an *unwind marker*: the instruction `nop dword ptr [rax + distance]`,
//! whose operand is the distance to the code that continues after an exit. Where the marker follows the call into the
//! engine, the return address that the call pushes is that word, and nothing has to be stored. The code that continues
//! finds 0 in rax and the frame's address in rdx; it must reset the stack pointer, to [`FRAME_SIZE`] bytes above rdx if
//! the frame is on the stack.

use std::arch::naked_asm;
use std::mem::offset_of;

use crate::context::{EngineContext, VmContext};
use crate::imports::Import;

/// Bytes between the stored stack pointer and the pushed registers: the unwind marker's address, and alignment.
pub const FRAME_GAP: usize = 24;
/// Bytes of the gap and of the pushed registers.
pub const FRAME_SIZE: usize = FRAME_GAP + 6 * 8;

/// Assembly that makes the frame of an engine's entry; `$state` is the register with the state's address. `gap` is
/// [`FRAME_GAP`], `marker` the unwind marker, `host_sp` the offset of [`crate::EngineContext::host_sp`].
#[macro_export]
macro_rules! push_frame {
    ($state:literal) => {
        concat!(
            "push rbp\npush rbx\npush r12\npush r13\npush r14\npush r15\n",
            "sub rsp, {gap}\n",
            "lea rax, [rip + {marker}]\n",
            "mov [rsp + 8], rax\n",
            "mov [",
            $state,
            " + {host_sp}], rsp",
        )
    };
}

/// An unwind marker labelled `$label` that leads to the next label `$place`.
#[macro_export]
macro_rules! unwind_marker {
    ($label:literal, $place:literal) => {
        concat!($label, ":\n.byte 0x0f, 0x1f, 0x80\n.long ", $place, "f - ", $label, "b")
    };
}

/// The unwind marker of engines that are entered by a function call: they return.
///
/// # Safety
/// It must not be called: exits read its first instruction.
#[unsafe(naked)]
pub unsafe extern "sysv64" fn return_marker() {
    naked_asm!(unwind_marker!("2", "3"), "3:", "lea rsp, [rdx + {frame}]", "ret", frame = const FRAME_SIZE)
}

/// Assembly that exits an engine by its unwind marker. rdx holds [`crate::EngineContext::host_sp`]; `gap` is [`FRAME_GAP`].
#[macro_export]
macro_rules! exit_by_marker {
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

/// Exits to the host frame that has entered the engine.
///
/// # Safety
/// An engine runs on the state, and no frame between it and the caller owns anything that must be dropped.
#[unsafe(naked)]
pub unsafe extern "sysv64" fn exit_engine(_: *mut VmContext) -> ! {
    naked_asm!(
        "mov rdx, [rdi + {host_sp}]",
        exit_by_marker!(),
        host_sp = const offset_of!(VmContext, exit) + offset_of!(EngineContext, host_sp),
        gap = const FRAME_GAP,
    )
}

/// Calls a host function as an engine does, with arguments from the state and results stored in it.
///
/// # Safety
/// As [`crate::call_host`].
#[unsafe(naked)]
pub(crate) unsafe extern "sysv64" fn enter_host(_: *mut VmContext, _: *const Import) {
    naked_asm!(
        push_frame!("rdi"),
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
        "jmp {exit}",
        host_sp = const offset_of!(VmContext, exit) + offset_of!(EngineContext, host_sp),
        gap = const FRAME_GAP,
        code = const offset_of!(Import, code),
        exit = sym exit_engine,
        marker = sym return_marker,
    )
}

// The code above addresses a0 to a4 as 80 to 112.
const _: () = assert!(offset_of!(VmContext, hart.slots) == 0);
