//! Calls of functions with few parameters by code that is no function: it jumps where others call.
//!
//! What is around a call, such as looking at the machine's gate, is part of the caller (`riverrun.h`, at its end). The
//! code here saves for whoever leaves the guest what its caller wants kept, in the machine's [`Gate`], and jumps to
//! the guest function, which returns to the caller then.
//!
//! Processors predict where a jump by register goes from where it stands and what was called before: one jump to many
//! functions is guessed less well, and later, than many jumps to one each. So the code exists several times, and which
//! one a function has hangs on what it calls.
//!
//! [`Gate`]: riverrun::support::Gate

use std::arch::naked_asm;
use std::mem::offset_of;
use std::ptr;

use riverrun::DynFunc;
use riverrun::support::{Gate, Offsets, Opening, signpost};

use crate::call_few::{Called, for_result};
use crate::func::Func;
use crate::host::GateHead;
use crate::machine::{Host, Machine};

/// Calls a function on a machine whose gate is open for it, and gets the word `RIVERRUN_GATE_CALLING`. If it still has
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

/// What the code gives where the call has not begun, with the arguments in the gate.
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
        "mov qword ptr [r9 + {word}], {calling}",
        "mov rax, fs:[r10]",
        "cmp [r9 + {claim}], rax",
        "jne 22f",
        // Side by side, and one after the other: processors write neighbours two at a time.
        "mov [r9 + {kept}], r15",
        "mov [r9 + {kept} + 8], r14",
        "mov [r9 + {kept} + 16], r13",
        "mov [r9 + {kept} + 24], r12",
        "mov [r9 + {kept} + 32], rbx",
        "mov [r9 + {kept} + 40], rbp",
        "mov [r9 + {host_stack}], rsp",
        "lea rax, [r9 + {frame}]",
        "mov r9, fs:[r10 + 8]",
        "cmp [r9 + {host_sp}], rax",
        "jne 25f",
        "24:",
        "mov rsi, [rsi + {sp}]",
        "jmp [rdi + {entry}]",
        "25:",
        "lea r11, [rip + {signpost}]",
        "mov [rax + 8], r11",
        "mov [r9 + {host_sp}], rax",
        "jmp 24b",
        "22:",
        "mov qword ptr [r9 + {word}], {closed}",
        "mov [r9 + {arguments}], rdx",
        "mov [r9 + {arguments} + 8], rcx",
        "mov [r9 + {arguments} + 16], r8",
        "mov eax, {not_begun}",
        "ret",
        // Has the next one begin at such an address, too.
        ".balign 64",
        claim = const Gate::CLAIM,
        word = const Gate::WORD,
        calling = const Offsets::<Host>::CALLING,
        closed = const Gate::CLOSED,
        frame = const Gate::FRAME,
        kept = const Gate::KEPT,
        host_stack = const Gate::SP,
        arguments = const Gate::ARGUMENTS,
        not_begun = const NOT_BEGUN,
        sp = const Offsets::<Host>::SP,
        host_sp = const Offsets::<Host>::HOST_SP,
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
        "mov qword ptr [rdx + {word}], {closed}",
        "mov eax, {left}",
        "ret",
        host_stack = const Gate::SP - Gate::FRAME,
        word = const Gate::WORD - Gate::FRAME,
        closed = const Gate::CLOSED,
        left = const LEFT,
    )
}

/// Goes on with a call for which a function's code has given this, while the gate's word was not
/// `RIVERRUN_GATE_CALLING` any more; nothing else was called since.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn riverrun_func_call_left(func: &Func, gate: &GateHead, given: u64) -> Called {
    // SAFETY: as the caller promises: it is what a gate begins with.
    let gate = unsafe { &*ptr::from_ref(gate).cast::<Gate>() };
    // SAFETY: it was open, and so leads to its machine.
    let machine = unsafe { Machine::of_import(gate.machine()) };
    for_result(|| match given {
        // SAFETY: as the caller promises.
        LEFT => unsafe { func.func.go_on(machine.0) },
        // SAFETY: likewise.
        _ => unsafe { func.func.call_raw_few(machine.0, gate.arguments()) },
    })
}
