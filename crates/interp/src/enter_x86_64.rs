//! Entry into the chain of handlers, and exit from it, on x86-64 Unix.
//!
//! The frame is that of `arch/x86_64/exit.rs` in the crate `vm`, so that a host function can drop the chain.

use std::arch::{asm, naked_asm};
use std::mem::{offset_of, size_of};

use riverrun_vm::{
    EngineContext, FRAME_GAP, FRAME_SIZE, Reason, VmContext, exit_engine, push_frame, return_marker, unwind_marker,
};

use crate::decoded_op::DecodedOp;
#[cfg(not(trampoline))]
use crate::decoded_op::{Extra, Next};
use crate::return_ring::RETURNS_MASK;

const HOST_SP: usize = offset_of!(VmContext, exit) + offset_of!(EngineContext, host_sp);
const OP: usize = offset_of!(VmContext, exit) + offset_of!(EngineContext, op);
const FUEL: usize = offset_of!(VmContext, exit) + offset_of!(EngineContext, fuel);
const RETURNS: usize = offset_of!(VmContext, exit) + offset_of!(EngineContext, returns);
const REASON: usize = offset_of!(VmContext, exit) + offset_of!(EngineContext, reason);
const A0: usize = offset_of!(VmContext, hart.slots) + 10 * size_of::<u64>();

/// Assembly that calls the first handler, which calls the next in its tail.
#[cfg(not(trampoline))]
macro_rules! calls_chain {
    ($asm:ident [$($before:expr),* $(,)?] [$($after:expr),* $(,)?] $($operands:tt)*) => {
        $asm!($($before,)* "call [rdi]", $($after,)* $($operands)*)
    };
}

/// Assembly that calls the trampoline, which calls handlers in turn.
#[cfg(trampoline)]
macro_rules! calls_chain {
    ($asm:ident [$($before:expr),* $(,)?] [$($after:expr),* $(,)?] $($operands:tt)*) => {
        $asm!($($before,)* "call {chain}", $($after,)* chain = sym chain, $($operands)*)
    };
}

/// Runs the chain of handlers that begins at `op` until one exits.
///
/// # Safety
/// `op` is a published decoded op, `state` that of a live window whose engine tables are set, and the
/// guest's float environment is in force.
#[unsafe(naked)]
pub(crate) unsafe extern "sysv64" fn enter(op: *const DecodedOp, state: *mut VmContext, fuel: i64) {
    calls_chain! {
        naked_asm
        [
            push_frame!("rsi"),
            "mov r8, rdx",
            "mov rcx, [rsi + {returns}]",
            "and ecx, {mask}",
            "xor r9d, r9d",
        ]
        [
            "mov qword ptr [rsi + {reason}], {returned}",
            "mov rdi, rsi",
            "jmp {exit}",
        ]
        gap = const FRAME_GAP,
        host_sp = const HOST_SP,
        returns = const RETURNS,
        mask = const RETURNS_MASK,
        reason = const REASON,
        returned = const Reason::Returned as u64,
        exit = sym exit_engine,
        marker = sym return_marker,
    }
}

/// The same for the fast path, inlined into its caller: true if the function at which the chain began has returned, in which
/// case the state's reason is not written. Handlers preserve the registers that functions preserve, so only other exits load
/// what is pushed here. r12 to r15 are clobbered, so a caller with a loop saves them once.
///
/// # Safety
/// As [`enter`].
#[inline(always)]
pub(crate) unsafe fn enter_lightly(op: *const DecodedOp, state: *mut VmContext, fuel: i64) -> bool {
    // If the chain has returned, rsi still holds the state's address.
    let returned: *mut VmContext;
    // SAFETY: the caller provides a live state and a published op. The frame is that of every engine, so that every exit
    // finds it by `host_sp`.
    unsafe {
        calls_chain! {
            asm
            [
                "sub rsp, 8",
                "push rbp",
                "push rbx",
                "sub rsp, {gap}",
                "lea rax, [rip + 2f]",
                "mov [rsp + 8], rax",
                "mov [rsi + {host_sp}], rsp",
                "xor ecx, ecx",
                "xor r9d, r9d",
            ]
            [
                "add rsp, {gap} + 3 * 8",
                "3:",
                ".pushsection .text.unlikely, \"ax\", @progbits",
                unwind_marker!("2", "4"),
                "4:",
                "lea rsp, [rdx + {frame} + 8]",
                "xor esi, esi",
                "jmp 3b",
                ".popsection",
            ]
            // The places of r12 to r15 are part of it.
            gap = const FRAME_GAP + 4 * 8,
            frame = const FRAME_SIZE,
            host_sp = const HOST_SP,
            inout("rdi") op => _,
            inout("rsi") state => returned,
            inout("r8") fuel => _,
            out("r12") _, out("r13") _, out("r14") _, out("r15") _,
            clobber_abi("sysv64"),
        }
    }
    !returned.is_null()
}

/// Assembly that enters the chain for a caller that keeps the frame in an [`EntryGuard`](riverrun_vm::EntryGuard),
/// which holds all that exits need. The first op is in rdi, the state, whose `host_sp` is the frame, in rsi, the fuel
/// in r8; the stack is as the caller of the function that ends with this has left it. That caller gets a0. `{enter}` is
/// [`enter_from_entry_guard`].
#[cfg(not(trampoline))]
#[macro_export]
macro_rules! enter_chain {
    () => {
        "xor ecx, ecx\nxor r9d, r9d\njmp [rdi] # {enter}"
    };
}

/// As in builds whose handlers make tail calls.
#[cfg(trampoline)]
#[macro_export]
macro_rules! enter_chain {
    () => {
        "jmp {enter}"
    };
}

/// What [`enter_chain!`](crate::enter_chain) does, where the chain has a trampoline.
///
/// # Safety
/// As `enter`; it is jumped to by that code alone.
#[unsafe(naked)]
pub unsafe extern "sysv64" fn enter_from_entry_guard() {
    #[cfg(not(trampoline))]
    naked_asm!("ud2");
    #[cfg(trampoline)]
    naked_asm!(
        "sub rsp, 8",
        "xor ecx, ecx",
        "xor r9d, r9d",
        "call {chain}",
        "mov rax, [rsi + {a0}]",
        "add rsp, 8",
        "ret",
        a0 = const A0,
        chain = sym chain,
    );
}

/// The op to which functions that the host has called return: it ends the chain by returning, with a0 for those that
/// entered by [`enter_chain!`](crate::enter_chain).
#[cfg(not(trampoline))]
#[unsafe(naked)]
pub(crate) unsafe extern "sysv64" fn returned(
    _: *const DecodedOp,
    _: *mut VmContext,
    _: Extra,
    _: u64,
    _: i64,
    _: *const DecodedOp,
) -> Next {
    naked_asm!(
        "mov [rsi + {fuel}], r8",
        "mov rax, [rsi + {a0}]",
        "ret",
        // Has the function begin at such an address, too.
        ".balign 64",
        fuel = const FUEL,
        a0 = const A0,
    )
}

/// A handler that exits the chain without returning from the function.
#[cfg(not(trampoline))]
#[unsafe(naked)]
pub(crate) unsafe extern "sysv64" fn exit(
    _: *const DecodedOp,
    _: *mut VmContext,
    _: Extra,
    _: u64,
    _: i64,
    _: *const DecodedOp,
) -> Next {
    naked_asm!("mov rdi, rsi", "jmp {exit}", exit = sym exit_engine)
}

/// Calls handlers in turn and exits as tail-calling handlers do. Host backtraces end here, as they do in those: no unwind
/// table describes this frame.
#[cfg(trampoline)]
#[unsafe(naked)]
unsafe extern "sysv64" fn chain() {
    naked_asm!(
        "push rsi",
        "call {handlers}",
        "pop rsi",
        "test al, al",
        "jne 2f",
        "mov rdi, rsi",
        "jmp {exit}",
        "2:",
        "ret",
        handlers = sym call_handlers,
        exit = sym exit_engine,
    )
}

/// Calls handlers in turn: without optimisation, calls in tail position would pile up frames. True if the last one was
/// [`crate::handlers::returned`].
#[cfg(trampoline)]
unsafe extern "sysv64" fn call_handlers(
    op: *const DecodedOp,
    state: *mut VmContext,
    _: crate::decoded_op::Extra,
    returns: u64,
    fuel: i64,
    near: *const DecodedOp,
) -> bool {
    let mut next = crate::decoded_op::Next { op, returns, fuel, near };
    while !next.op.is_null() {
        let free = crate::decoded_op::Extra::uninit();
        // SAFETY: `enter`'s caller gives the first op, handlers the others.
        next = unsafe { (*next.op).handler()(next.op, state, free, next.returns, next.fuel, next.near) };
    }
    // SAFETY: `enter`'s caller promises that the state is alive.
    unsafe { (*state).exit.reason == Reason::Returned as u64 }
}

/// The fault handler entry of the interpreter: exits the chain with the op and fuel of the handler whose access has faulted,
/// which are in their registers. Frames between here and `enter` are dropped; they belong to handlers, which own nothing.
#[unsafe(naked)]
pub(crate) unsafe extern "sysv64" fn fault_entry() {
    naked_asm!(
        "mov [rsi + {op}], rdi",
        "mov [rsi + {fuel}], r8",
        "mov qword ptr [rsi + {reason}], {step}",
        "mov rdi, rsi",
        "jmp {exit}",
        op = const OP,
        fuel = const FUEL,
        reason = const REASON,
        step = const Reason::Step as u64,
        exit = sym exit_engine,
    )
}

// The handler is at the front of the op.
const _: () = assert!(size_of::<DecodedOp>() == 16);
