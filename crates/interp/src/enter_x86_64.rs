//! Entry and exit on x86-64 Unix.

use std::arch::{asm, naked_asm};
use std::mem::{offset_of, size_of};

use riverrun_state::{EngineExit, FRAME_GAP, State};

use crate::cell::Cell;
use crate::handlers::{REASON_STEP, RETURNS_MASK};

const HOST_SP: usize = offset_of!(State, exit) + offset_of!(EngineExit, host_sp);
const OP: usize = offset_of!(State, exit) + offset_of!(EngineExit, op);
const FUEL: usize = offset_of!(State, exit) + offset_of!(EngineExit, fuel);
const RETURNS: usize = offset_of!(State, exit) + offset_of!(EngineExit, returns);
const REASON: usize = offset_of!(State, exit) + offset_of!(EngineExit, reason);

/// Assembly that calls the first handler, which calls the next in its tail.
#[cfg(not(trampoline))]
macro_rules! calls_chain {
    ($asm:ident [$($before:literal)*] [$($after:literal)*] $($operands:tt)*) => {
        $asm!($($before,)* "call [rdi]", $($after,)* $($operands)*)
    };
}

/// Assembly that calls what calls handlers in turn.
#[cfg(trampoline)]
macro_rules! calls_chain {
    ($asm:ident [$($before:literal)*] [$($after:literal)*] $($operands:tt)*) => {
        $asm!($($before,)* "call {chain}", $($after,)* chain = sym chain, $($operands)*)
    };
}

/// Runs the chain of handlers that begins at `op`, until one leaves it.
///
/// # Safety
/// `op` is a published cell, `state` that of a live window whose engine tables are set, and the
/// guest's float environment is in force.
#[unsafe(naked)]
pub(crate) unsafe extern "sysv64" fn enter(op: *const Cell, state: *mut State, fuel: i64) {
    calls_chain! {
        naked_asm
        [
            "push rbp"
            "push rbx"
            "push r12"
            "push r13"
            "push r14"
            "push r15"
            "sub rsp, {gap}"
            "mov [rsi + {host_sp}], rsp"
            "mov r8, rdx"
            "mov rcx, [rsi + {returns}]"
            "and ecx, {mask}"
            "xor r9d, r9d"
        ]
        [
            "jmp {leave}"
        ]
        gap = const FRAME_GAP,
        host_sp = const HOST_SP,
        returns = const RETURNS,
        mask = const RETURNS_MASK,
        leave = sym leave,
    }
}

/// The same with no return noted, for callers to whom everything counts. Handlers keep what functions keep, so that
/// what is pushed here is only loaded by who leaves otherwise than by returning. `IS_FUNCTION` says whether the caller is
/// one that is called each time: the registers that its own caller wants kept are kept here; or part of a loop, that
/// keeps what it has in them once.
///
/// # Safety
/// As [`enter`].
#[inline(always)]
pub(crate) unsafe fn enter_lightly<const IS_FUNCTION: bool>(op: *const Cell, state: *mut State, fuel: i64) {
    /// What the frame has above the gap is given as `push` and `above`, which is its size.
    macro_rules! enter {
        ([$($push:literal)*] $above:literal, $gap:expr $(, $kept:tt)*) => {
            calls_chain! {
                asm
                [
                    "lea rax, [rip + 2f]"
                    "push rax"
                    "push rbp"
                    "push rbx"
                    $($push)*
                    "sub rsp, {gap}"
                    "mov [rsi + {host_sp}], rsp"
                    "xor ecx, ecx"
                    "xor r9d, r9d"
                ]
                [
                    $above
                    "2:"
                ]
                gap = const $gap,
                host_sp = const HOST_SP,
                inout("rdi") op => _,
                inout("rsi") state => _,
                inout("r8") fuel => _,
                $(out($kept) _,)*
                clobber_abi("sysv64"),
            }
        };
    }
    // SAFETY: as the caller promises. The frame is one that everybody can leave who leaves an engine.
    unsafe {
        match IS_FUNCTION {
            true => enter!(["push r12" "push r13" "push r14" "push r15"] "add rsp, {gap} + 7 * 8", FRAME_GAP),
            false => enter!([] "add rsp, {gap} + 3 * 8", FRAME_GAP + 4 * 8, "r12", "r13", "r14", "r15"),
        }
    }
}

/// Returns to `enter`'s caller, from the stack as `enter` left it.
#[unsafe(naked)]
unsafe extern "sysv64" fn leave() {
    naked_asm!(
        "add rsp, {gap}",
        "pop r15",
        "pop r14",
        "pop r13",
        "pop r12",
        "pop rbx",
        "pop rbp",
        "ret",
        gap = const FRAME_GAP,
    )
}

/// Where backtraces end, as they do in handlers that call each other: nothing describes this frame, nor who has entered.
#[cfg(trampoline)]
#[unsafe(naked)]
unsafe extern "sysv64" fn chain() {
    naked_asm!("sub rsp, 8", "call {handlers}", "add rsp, 8", "ret", handlers = sym call_handlers)
}

/// Calls handlers in turn: without optimisation, calls in tail position would pile up frames.
#[cfg(trampoline)]
unsafe extern "sysv64" fn call_handlers(
    op: *const Cell,
    state: *mut State,
    _: crate::cell::Extra,
    returns: u64,
    fuel: i64,
    near: *const Cell,
) {
    let mut next = crate::cell::Next { op, returns, fuel, near };
    while !next.op.is_null() {
        let free = crate::cell::Extra::uninit();
        // SAFETY: `enter`'s caller gives the first cell, handlers the others.
        next = unsafe { (*next.op).handler()(next.op, state, free, next.returns, next.fuel, next.near) };
    }
}

/// Where the fault handler sends a handler whose access faulted: leaves the chain with op and
/// fuel as they stand in their registers. Frames between here and `enter` are dropped; they
/// belong to handlers, which have nothing to clean up.
#[unsafe(naked)]
pub(crate) unsafe extern "sysv64" fn landing() {
    naked_asm!(
        "mov [rsi + {op}], rdi",
        "mov [rsi + {fuel}], r8",
        "mov qword ptr [rsi + {reason}], {step}",
        "mov rsp, [rsi + {host_sp}]",
        "jmp {leave}",
        op = const OP,
        fuel = const FUEL,
        reason = const REASON,
        step = const REASON_STEP,
        host_sp = const HOST_SP,
        leave = sym leave,
    )
}

// The handler is at the front of the cell.
const _: () = assert!(size_of::<Cell>() == 16);
