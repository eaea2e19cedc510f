//! Calls of functions with few parameters by code that is no function: it jumps where others call.
//!
//! What is around a call, such as looking at the machine's gate, is part of the caller (`riverrun.h`, at its end). The
//! code here saves for whoever leaves the guest what its caller wants kept, in the machine's [`Frame`], and jumps to
//! the guest function, which returns to the caller then.
//!
//! Processors predict where a jump by register goes from where it stands and what was called before: one jump to many
//! functions is guessed less well, and later, than many jumps to one each. So the code exists several times, and which
//! one a function has hangs on what it calls.
//!
//! [`Frame`]: riverrun::support::Frame

use std::arch::naked_asm;
use std::mem::offset_of;
use std::ptr;

use riverrun::DynFunc;
use riverrun::support::{Frame, Gate, Offsets, Opening, State, signpost};

use crate::call_few::{Called, for_result};
use crate::func::Func;
use crate::host::GateHead;
use crate::machine::{Host, Machine};

/// Calls a function on a machine whose gate was open for it, and has got the word `RIVERRUN_GATE_CALLING`. If it still has
/// that word then, the call is over, and the result, if the function has one, is what this gives: the caller opens the
/// gate again. Else `riverrun_func_call_left` goes on with the call: callers need nothing else then that they would have to
/// keep.
pub type FuncCode = unsafe extern "C" fn(
    func: *const Func,
    machine: Machine,
    first: u64,
    second: u64,
    third: u64,
    gate: *mut GateHead,
) -> u64;

/// What a function's handle begins with: for the functions at this header's end, and for bindings.
#[repr(C)]
#[derive(Debug)]
pub struct FuncHead {
    /// What calls it while a machine's gate is open.
    pub code: FuncCode,
    /// The word of gates that are open for it; none has that of a function which is not called so.
    pub opening: u64,
    /// The guest function, for the code.
    pub entry: usize,
}

impl FuncHead {
    /// That of a function of a guest.
    pub(crate) fn of(func: &DynFunc) -> FuncHead {
        // Debug builds look at more than this code does.
        match func.host_entry().filter(|_| !cfg!(debug_assertions)) {
            Some((entry, opening)) => FuncHead { code: code_for(entry), opening: opening.word(), entry },
            None => FuncHead { code: COPIES[0], opening: Opening::NONE.word(), entry: 0 },
        }
    }
}

/// The code for a function at this address.
fn code_for(address: usize) -> FuncCode {
    let hash = (address as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
    COPIES[hash as usize % COPIES.len()]
}

/// Copies of [`code`].
macro_rules! copies {
    ($($copy:literal)*) => {
        [$(code::<$copy>),*]
    };
}

static COPIES: [FuncCode; 32] =
    copies!(0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31);

/// What the code gives where the call has not begun, with the arguments in the machine's frame.
const NOT_BEGUN: u64 = 0;
/// What it gives where the guest has been left.
const LEFT: u64 = 1;

/// # Safety
/// As [`FuncCode`] says.
#[unsafe(naked)]
unsafe extern "C" fn code<const COPY: usize>(
    func: *const Func,
    machine: Machine,
    first: u64,
    second: u64,
    third: u64,
    gate: *mut GateHead,
) -> u64 {
    naked_asm!(
        "mov r10, [rip + __riverrun_claimed@GOTTPOFF]",
        "mov rax, fs:[r10]",
        "cmp [r9 + {claim}], rax",
        "jne 22f",
        "mov r9, fs:[r10 + 8]",
        "lea rax, [r9 + {frame}]",
        "mov [rax + {host_stack}], rsp",
        "mov [rax + {kept}], r15",
        "mov [rax + {kept} + 8], r14",
        "mov [rax + {kept} + 16], r13",
        "mov [rax + {kept} + 24], r12",
        "mov [rax + {kept} + 32], rbx",
        "mov [rax + {kept} + 40], rbp",
        "cmp [r9 + {host_sp}], rax",
        "jne 25f",
        "24:",
        "mov rsi, [rsi + {sp}]",
        "jmp [rdi + {entry}]",
        "25:",
        "lea r11, [rip + {signpost}]",
        "mov [rax + {signpost_at}], r11",
        "mov [r9 + {host_sp}], rax",
        "jmp 24b",
        "22:",
        "mov qword ptr [r9 + {word}], {closed}",
        "mov rax, [rsi + {state}]",
        "mov [rax + {arguments}], rdx",
        "mov [rax + {arguments} + 8], rcx",
        "mov [rax + {arguments} + 16], r8",
        "mov eax, {not_begun}",
        "ret",
        // Has the next one begin at such an address, too.
        ".balign 64",
        claim = const Offsets::<Host>::CLAIM,
        word = const Offsets::<Host>::WORD,
        closed = const Offsets::<Host>::CLOSED,
        state = const Offsets::<Host>::STATE,
        arguments = const offset_of!(State, frame) + offset_of!(Frame, arguments),
        not_begun = const NOT_BEGUN,
        sp = const Offsets::<Host>::SP,
        host_sp = const Offsets::<Host>::HOST_SP,
        frame = const Offsets::<Host>::FRAME,
        host_stack = const offset_of!(Frame, sp),
        signpost_at = const offset_of!(Frame, signpost),
        kept = const offset_of!(Frame, kept),
        entry = const offset_of!(FuncHead, entry),
        signpost = sym left_signpost,
    )
}

/// Where whoever leaves the guest goes on: the caller is told so.
#[unsafe(naked)]
unsafe extern "C" fn left_signpost() {
    naked_asm!(
        signpost!("2", "3"),
        "3:",
        "mov rsp, [rdx + {host_stack}]",
        "mov rax, [rip + __riverrun_claimed@GOTTPOFF]",
        "mov rax, fs:[rax + 16]",
        "mov qword ptr [rax + {word}], {closed}",
        "mov eax, {left}",
        "ret",
        host_stack = const offset_of!(Frame, sp),
        word = const Offsets::<Host>::WORD,
        closed = const Offsets::<Host>::CLOSED,
        left = const LEFT,
    )
}

/// Goes on with a call for which a function's code has given this, while the gate's word was not
/// `RIVERRUN_GATE_CALLING` any more; nothing else was called since.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn riverrun_func_call_left(func: &Func, gate: &GateHead, given: u64) -> Called {
    // SAFETY: as the caller promises: it is what a gate begins with, which was open and so leads to its machine.
    let machine = unsafe { Machine::of_import((*ptr::from_ref(gate).cast::<Gate>()).machine()) };
    for_result(|| match given {
        // SAFETY: as the caller promises.
        LEFT => unsafe { func.func.go_on(machine.0) },
        // SAFETY: likewise; the code has put them there.
        _ => unsafe {
            let arguments = (*machine.0.state()).frame.arguments;
            func.func.call_raw_few(machine.0, arguments)
        },
    })
}
