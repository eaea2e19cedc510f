//! Stubs that enter, exit and resume compiled code on x86-64 Unix.
//!
//! Compiled functions have LLVM's `x86_regcallcc`: parameters and results are in rax, rcx, rdx, rdi, rsi, r8, r9, r12, r13,
//! r14 and r15, the last one being the window's address; no register is preserved. Stubs that enter make the frame that
//! `leave.rs` describes, so that every exit finds it.

use std::arch::{asm, naked_asm};
use std::hint::cold_path;
use std::mem::offset_of;

use super::exit::{FRAME_GAP, FRAME_SIZE, return_marker};
use crate::callable::Callable;
use crate::context::{EngineContext, VmContext, WINDOW_OFFSET};
use crate::convention::{self, CALL_ARGUMENTS, PINNED, Pinned};
use crate::exit::Reason;
use crate::return_addresses::RETURN_ADDRESS;
use crate::{exit_by_marker, push_frame, unwind_marker};

const EXIT: usize = offset_of!(VmContext, exit);
const HOST_SP: usize = EXIT + offset_of!(EngineContext, host_sp);
const STACK_TOP: usize = EXIT + offset_of!(EngineContext, stack_top);
const COMPILED_SP: usize = EXIT + offset_of!(EngineContext, compiled_sp);
const REASON: usize = EXIT + offset_of!(EngineContext, reason);

/// From the window to the place of a pinned register in the state.
const fn home(fuel: bool, position: usize) -> i64 {
    convention::pinned(fuel)[position].home()
}

/// The stubs of code that counts fuel, or of code that does not.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stubs {
    /// Runs the function `target` on the stack whose top is `stack`, until compiled code exits.
    ///
    /// # Safety
    /// The target is a compiled function, the state that of a live window, its exit stubs set, the
    /// stack fit for use, and the guest's float environment in force.
    pub(crate) enter: unsafe extern "sysv64" fn(state: *mut VmContext, target: usize, stack: usize),
    /// Resumes suspended code.
    ///
    /// # Safety
    /// As [`Stubs::enter`]; and the frames on the stack are as they were then.
    pub(crate) resume: unsafe extern "sysv64" fn(state: *mut VmContext),
    /// The exit stub, which compiled code calls.
    pub(crate) exit: unsafe extern "sysv64" fn(),
    /// The exit stub for a function's beginning, for [`Reason::Start`].
    pub(crate) exit_at_start: unsafe extern "sysv64" fn(),
}

impl Stubs {
    /// Stores the exit stubs in the state, where compiled code finds them.
    pub(crate) fn tell(&self, state: &mut VmContext) {
        state.exit.exit_stub = self.exit as usize as u64;
        state.exit.exit_at_start_stub = self.exit_at_start as usize as u64;
    }
}

/// The stubs of code that counts fuel, or does not.
pub(crate) fn stubs(fuel: bool) -> Stubs {
    macro_rules! stubs {
        ($convention:ident) => {{
            use $convention::{enter, exit, exit_at_start, resume};
            Stubs { enter, resume, exit, exit_at_start }
        }};
    }
    if fuel { stubs!(counting) } else { stubs!(free) }
}

/// Tells a macro the host registers of the pinned registers, in the order of [`convention::pinned`], each with the name that
/// `stub` gives to its place below the window.
macro_rules! tell_pinned {
    ($to:ident) => {
        $to! {
            "rax" first, "rcx" second, "rdx" third, "rdi" fourth, "rsi" fifth,
            "r8" sixth, "r9" seventh, "r12" eighth, "r13" ninth, "r14" tenth
        }
    };
}

macro_rules! names {
    ($($register:literal $place:ident),+) => { [$($register),+] };
}

/// The host registers of the pinned registers, in the order of [`convention::pinned`]: those of LLVM's `x86_regcallcc`. The
/// window's address is in r15.
pub const PINNED_REGISTERS: [&str; PINNED] = tell_pinned!(names);

macro_rules! loads {
    ($($register:literal $place:ident),+) => {
        concat!(
            "lea r15, [rdi + {window}]\n",
            $("mov ", $register, ", [r15 + {", stringify!($place), "}]\n",)+
        )
    };
}

/// Loads the pinned registers from the state whose address is in rdi.
macro_rules! load_pinned {
    () => {
        tell_pinned!(loads)
    };
}

macro_rules! stores {
    ($($register:literal $place:ident),+) => {
        concat!(
            $("mov [r15 + {", stringify!($place), "}], ", $register, "\n",)+
            "lea rax, [r15 - {window}]"
        )
    };
}

/// Stores the pinned registers in the state; afterwards rax is the state's address.
macro_rules! store_pinned {
    () => {
        tell_pinned!(stores)
    };
}

/// The code of a stub that loads or stores the pinned registers of code that counts fuel, or of code that does not.
macro_rules! stub {
    ($fuel:expr, $($template:expr),+; $($name:ident = $value:expr),+ $(; marker $marker:ident)?) => {
        naked_asm!(
            $($template,)+
            $($name = const $value,)+
            $(marker = sym $marker,)?
            window = const WINDOW_OFFSET,
            gap = const FRAME_GAP,
            first = const home($fuel, 0),
            second = const home($fuel, 1),
            third = const home($fuel, 2),
            fourth = const home($fuel, 3),
            fifth = const home($fuel, 4),
            sixth = const home($fuel, 5),
            seventh = const home($fuel, 6),
            eighth = const home($fuel, 7),
            ninth = const home($fuel, 8),
            tenth = const home($fuel, 9),
        )
    };
}

macro_rules! return_to_host {
    () => {
        concat!("mov rdx, [rax + {host_sp}]\n", exit_by_marker!())
    };
}

macro_rules! convention {
    ($name:ident, $fuel:expr) => {
        mod $name {
            use super::*;

            #[unsafe(naked)]
            pub(super) unsafe extern "sysv64" fn enter(_: *mut VmContext, _: usize, _: usize) {
                stub!(
                    $fuel,
                    push_frame!("rdi"),
                    "mov r11, rsi",
                    "mov rsp, rdx",
                    load_pinned!(),
                    "call r11",
                    store_pinned!(),
                    "mov qword ptr [rax + {reason}], {returned}",
                    return_to_host!();
                    host_sp = HOST_SP,
                    reason = REASON,
                    returned = Reason::Returned as u64;
                    marker return_marker
                )
            }

            #[unsafe(naked)]
            pub(super) unsafe extern "sysv64" fn resume(_: *mut VmContext) {
                stub!(
                    $fuel,
                    push_frame!("rdi"),
                    "mov rsp, [rdi + {compiled_sp}]",
                    load_pinned!(),
                    "ret";
                    host_sp = HOST_SP,
                    compiled_sp = COMPILED_SP;
                    marker return_marker
                )
            }

            #[unsafe(naked)]
            pub(super) unsafe extern "sysv64" fn exit() {
                stub!(
                    $fuel,
                    store_pinned!(),
                    "mov [rax + {compiled_sp}], rsp",
                    return_to_host!();
                    host_sp = HOST_SP,
                    compiled_sp = COMPILED_SP
                )
            }

            #[unsafe(naked)]
            pub(super) unsafe extern "sysv64" fn exit_at_start() {
                stub!(
                    $fuel,
                    store_pinned!(),
                    "mov qword ptr [rax + {reason}], {start}",
                    "mov [rax + {compiled_sp}], rsp",
                    return_to_host!();
                    host_sp = HOST_SP,
                    compiled_sp = COMPILED_SP,
                    reason = REASON,
                    start = Reason::Start as u64
                )
            }
        }
    };
}

convention!(free, false);
convention!(counting, true);

/// Calls a function through [`Callable::ENTRY`] with this sp and a0 to a2. Returns a0 and a1, or `None` if the function
/// exited. After a return, fa0 and fa1 are the only registers in the state that are up to date.
///
/// It is inlined into its caller, which saves jumps. r12 to r15 are clobbered, so a caller with a loop saves them once.
///
/// # Safety
/// As [`Stubs::enter`].
#[inline(always)]
pub(crate) unsafe fn call_host_abi_entry(
    state: *mut VmContext,
    function: &Callable,
    sp: u64,
    arguments: [u64; CALL_ARGUMENTS],
) -> Option<[u64; 2]> {
    let [mut a0, mut a1, a2] = arguments;
    let returned: u64;
    // SAFETY: as the caller promises. Every exit from an engine can drop this frame, and execution continues at
    // the fault entry.
    unsafe {
        asm!(
            "sub rsp, 8",
            "push rbp",
            "push rbx",
            // The call pushes the address of the unwind marker, which follows it, into the gap.
            "lea rax, [rsp - {reserve} - 16]",
            "sub rsp, {reserve}",
            // Compared instead of written at each call: the exit would have to wait for the store.
            "cmp [r9 + {host_sp}], rax",
            "jne 3f",
            "2:",
            // The unwind table of the function that this is part of knows nothing of this frame. Host functions that the
            // guest has called by a jump return here, so to them this is the outermost frame: rip (16) is not known.
            ".cfi_undefined 16",
            "call [rdi + {entry}]",
            ".cfi_offset 16, -8",
            unwind_marker!("6", "4"),
            "mov r11d, 1",
            "add rsp, {reserve} + 24",
            "5:",
            ".pushsection .text.unlikely, \"ax\", @progbits",
            "3:",
            "mov [r9 + {host_sp}], rax",
            "jmp 2b",
            "4:",
            "lea rsp, [rdx + {frame} + 8]",
            "xor r11d, r11d",
            "jmp 5b",
            ".popsection",
            reserve = const FRAME_GAP - 16 + 4 * 8,
            frame = const FRAME_SIZE,
            host_sp = const convention::HOST_SP,
            entry = const Callable::ENTRY,
            inout("rdi") function => _,
            inout("rsi") sp => _,
            inout("rdx") a0 => a1,
            inout("rcx") a1 => _,
            inout("r8") a2 => _,
            inout("r9") state.wrapping_byte_add(WINDOW_OFFSET) => _,
            out("r11") returned,
            out("rax") a0,
            out("r12") _, out("r13") _, out("r14") _, out("r15") _,
            clobber_abi("sysv64"),
        );
    }
    if returned == 0 {
        cold_path();
        return None;
    }
    Some([a0, a1])
}

/// The entry of all functions without a host-ABI entry point: calls the function of the [`Callable`] in rdi on the stack of
/// compiled code. It restores the registers that the host's convention preserves from its caller's frame.
#[unsafe(naked)]
pub(crate) unsafe extern "sysv64" fn enter_function() {
    naked_asm!(
        "mov r15, r9",
        "mov r14, rsi",
        "mov rax, r8",
        "mov r10, [rdi + {function}]",
        "mov edi, {return_address}",
        // No host data may leak into the guest's registers.
        "xor esi, esi",
        "xor r8d, r8d",
        "xor r9d, r9d",
        "xor r12d, r12d",
        "xor r13d, r13d",
        "mov rsp, [r15 + {stack_top}]",
        "call r10",
        "mov r11d, {return_address}",
        "cmp rdi, r11",
        "jne {mismatched}",
        "mov rsp, [r15 + {host_sp}]",
        "mov rax, rdx",
        "mov rdx, rcx",
        "mov r15, [rsp + {gap}]",
        "mov r14, [rsp + {gap} + 8]",
        "mov r13, [rsp + {gap} + 16]",
        "mov r12, [rsp + {gap} + 24]",
        "mov rbx, [rsp + {gap} + 32]",
        "mov rbp, [rsp + {gap} + 40]",
        // Skips the alignment below the return address.
        "add rsp, 8",
        "ret",
        function = const Callable::FUNCTION,
        gap = const FRAME_GAP,
        stack_top = const STACK_TOP as isize - WINDOW_OFFSET as isize,
        host_sp = const HOST_SP as isize - WINDOW_OFFSET as isize,
        return_address = const RETURN_ADDRESS,
        mismatched = sym outermost_returned,
    )
}

/// Exits because the outermost function has returned, to whichever address, with all registers committed. Functions that
/// [`enter_function`] has called return here if they have exited before: their caller has already continued.
#[unsafe(naked)]
pub(crate) unsafe extern "sysv64" fn outermost_returned() {
    stub!(
        false,
        store_pinned!(),
        "mov qword ptr [rax + {reason}], {returned}",
        return_to_host!();
        host_sp = HOST_SP,
        reason = REASON,
        returned = Reason::Returned as u64
    )
}

/// The fault handler entry of compiled code, with the state's address in rax: exits and drops all frames.
#[unsafe(naked)]
pub(crate) unsafe extern "sysv64" fn fault_entry() {
    naked_asm!(
        "mov qword ptr [rax + {reason}], {fault}",
        return_to_host!(),
        reason = const REASON,
        fault = const Reason::Fault as u64,
        gap = const FRAME_GAP,
        host_sp = const HOST_SP,
    )
}

/// Where the handler of SIGURG redirects compiled code, with the state's address in rax: exits and drops all frames.
#[unsafe(naked)]
pub(crate) unsafe extern "sysv64" fn interrupt_entry() {
    naked_asm!(
        "mov qword ptr [rax + {reason}], {interrupted}",
        return_to_host!(),
        reason = const REASON,
        interrupted = const Reason::Interrupted as u64,
        gap = const FRAME_GAP,
        host_sp = const HOST_SP,
    )
}

// `enter_function` assumes these positions.
const _: () = {
    let [a2, a1, a0, ra, .., sp] = convention::pinned(false);
    assert!(matches!([a0, a1, a2, ra, sp], [Pinned::X(10), Pinned::X(11), Pinned::X(12), Pinned::X(1), Pinned::X(2)]));
};
