//! Entry and exit on x86-64 Unix.
//!
//! Compiled functions have LLVM's `x86_regcallcc`: the window's address in rax, then rcx, rdx, rdi,
//! rsi, r8, r9, r12, r13, r14, r15, the same for results; no register is preserved.

use std::arch::{asm, naked_asm};
use std::mem::offset_of;

use riverrun_state::{EngineExit, RETURN_ADDRESS, State, WINDOW_OFFSET};

use crate::convention::Reason;

const EXIT: usize = offset_of!(State, exit);
const HOST_SP: usize = EXIT + offset_of!(EngineExit, host_sp);
const COMPILED_SP: usize = EXIT + offset_of!(EngineExit, compiled_sp);
const REASON: usize = EXIT + offset_of!(EngineExit, reason);
const FUEL: usize = EXIT + offset_of!(EngineExit, fuel);
const A5: usize = offset_of!(State, slots) + 8 * 15;

/// Why code was left: the function that the host has called has returned.
pub(crate) const CALL_RETURNED: u64 = 32;

/// The ways in and out of code of one convention.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stubs {
    /// Runs the function `target` on the stack whose top is `stack`, until compiled code is left.
    ///
    /// # Safety
    /// The target is a compiled function, the state that of a live window, its `leave` set, the
    /// stack fit for use, and the guest's float environment in force.
    pub(crate) enter: unsafe extern "sysv64" fn(state: *mut State, target: usize, stack: usize),
    /// Goes on where code was left.
    ///
    /// # Safety
    /// As [`Stubs::enter`]; and the frames on the stack are as they were then.
    pub(crate) resume: unsafe extern "sysv64" fn(state: *mut State),
    /// What compiled code calls to be left.
    pub(crate) leave: unsafe extern "sysv64" fn(),
}

/// The stubs of code that counts fuel, or does not.
pub(crate) fn stubs(fuel: bool) -> Stubs {
    match fuel {
        true => Stubs { enter: counting::enter, resume: counting::resume, leave: counting::leave },
        false => Stubs { enter: free::enter, resume: free::resume, leave: free::leave },
    }
}

macro_rules! save_host {
    () => {
        "push rbp
        push rbx
        push r12
        push r13
        push r14
        push r15
        sub rsp, 8
        mov [rdi + {host_sp}], rsp"
    };
}

macro_rules! load_hot {
    () => {
        "lea rax, [rdi + {window}]
        mov rcx, [rdi + 8]
        mov rdx, [rdi + 16]
        mov rsi, [rdi + 88]
        mov r8, [rdi + 96]
        mov r9, [rdi + 104]
        mov r12, [rdi + 112]
        mov r13, [rdi + {eighth}]
        mov r14, [rdi + 64]
        mov r15, [rdi + 72]
        mov rdi, [rdi + 80]"
    };
}

/// From here on rax is the state's address.
macro_rules! store_hot {
    () => {
        "sub rax, {window}
        mov [rax + 8], rcx
        mov [rax + 16], rdx
        mov [rax + 80], rdi
        mov [rax + 88], rsi
        mov [rax + 96], r8
        mov [rax + 104], r9
        mov [rax + 112], r12
        mov [rax + {eighth}], r13
        mov [rax + 64], r14
        mov [rax + 72], r15"
    };
}

macro_rules! return_to_host {
    () => {
        "mov rsp, [rax + {host_sp}]
        add rsp, 8
        pop r15
        pop r14
        pop r13
        pop r12
        pop rbx
        pop rbp
        ret"
    };
}

macro_rules! convention {
    ($name:ident, $eighth:expr) => {
        mod $name {
            use super::*;

            #[unsafe(naked)]
            pub(super) unsafe extern "sysv64" fn enter(_: *mut State, _: usize, _: usize) {
                naked_asm!(
                    save_host!(),
                    "mov r11, rsi",
                    "mov rsp, rdx",
                    load_hot!(),
                    "call r11",
                    store_hot!(),
                    "mov qword ptr [rax + {reason}], {returned}",
                    return_to_host!(),
                    host_sp = const HOST_SP,
                    window = const WINDOW_OFFSET,
                    eighth = const $eighth,
                    reason = const REASON,
                    returned = const Reason::Returned as u64,
                )
            }

            #[unsafe(naked)]
            pub(super) unsafe extern "sysv64" fn resume(_: *mut State) {
                naked_asm!(
                    save_host!(),
                    "mov rsp, [rdi + {compiled_sp}]",
                    load_hot!(),
                    "ret",
                    host_sp = const HOST_SP,
                    compiled_sp = const COMPILED_SP,
                    window = const WINDOW_OFFSET,
                    eighth = const $eighth,
                )
            }

            #[unsafe(naked)]
            pub(super) unsafe extern "sysv64" fn leave() {
                naked_asm!(
                    store_hot!(),
                    "mov [rax + {compiled_sp}], rsp",
                    return_to_host!(),
                    host_sp = const HOST_SP,
                    compiled_sp = const COMPILED_SP,
                    window = const WINDOW_OFFSET,
                    eighth = const $eighth,
                )
            }
        }
    };
}

convention!(free, A5);
convention!(counting, FUEL);

/// Runs a function that the host calls, of code that does not count, for callers to whom every store counts:
/// what they have in registers that guests may use is theirs to keep. Where the function has returned, the
/// state has no registers but a0 and a1, and [`CALL_RETURNED`] is the reason.
///
/// # Safety
/// As [`Stubs::enter`].
#[inline(always)]
pub(crate) unsafe fn enter_lightly(state: *mut State, target: usize, stack: usize) {
    // SAFETY: as the caller promises. The frame is one that everybody can leave who leaves an engine; of
    // the registers that functions preserve it keeps two, the others are outputs here.
    unsafe {
        asm!(
            "call {stub}",
            stub = sym light_stub,
            inout("rdi") state => _,
            inout("rsi") target => _,
            inout("rdx") stack => _,
            out("r12") _,
            out("r13") _,
            out("r14") _,
            out("r15") _,
            clobber_abi("sysv64"),
        );
    }
}

#[unsafe(naked)]
unsafe extern "sysv64" fn light_stub() {
    naked_asm!(
        "push rbp",
        "push rbx",
        "sub rsp, 40",
        "mov [rdi + {host_sp}], rsp",
        "mov r11, rsi",
        "mov rsp, rdx",
        load_hot!(),
        "call r11",
        "mov r11d, {return_address}",
        "cmp rcx, r11",
        "jne 2f",
        "sub rax, {window}",
        "mov [rax + 80], rdi",
        "mov [rax + 88], rsi",
        "mov qword ptr [rax + {reason}], {call_returned}",
        // Whoever waits may have resumed the function, and wants all registers back.
        return_to_host!(),
        "2:",
        store_hot!(),
        "mov qword ptr [rax + {reason}], {returned}",
        return_to_host!(),
        host_sp = const HOST_SP,
        window = const WINDOW_OFFSET,
        eighth = const A5,
        reason = const REASON,
        return_address = const RETURN_ADDRESS,
        call_returned = const CALL_RETURNED,
        returned = const Reason::Returned as u64,
    )
}

/// Where the fault handler sends compiled code, with the state's address in rax: leaves it, its
/// frames dropped.
#[unsafe(naked)]
pub(crate) unsafe extern "sysv64" fn landing() {
    naked_asm!(
        "mov qword ptr [rax + {reason}], {fault}",
        return_to_host!(),
        reason = const REASON,
        fault = const Reason::Fault as u64,
        host_sp = const HOST_SP,
    )
}

/// Where the handler of interruptions sends compiled code, with the state's address in rax: leaves
/// it, its frames dropped.
#[unsafe(naked)]
pub(crate) unsafe extern "sysv64" fn interrupt_landing() {
    naked_asm!(
        "mov qword ptr [rax + {reason}], {interrupted}",
        return_to_host!(),
        reason = const REASON,
        interrupted = const Reason::Interrupted as u64,
        host_sp = const HOST_SP,
    )
}

// The stubs address the integer registers by constants.
const _: () = assert!(offset_of!(State, slots) == 0);
