//! The call code of the fast path from C: a stub that jumps to a compiled guest function with few parameters.
//!
//! The caller, inline code at the end of `riverrun.h`, tests the machine's entry guard and calls the stub. The stub saves
//! the caller's preserved registers in the guard ([`Gate`]), where an exit finds them, and jumps to the guest function,
//! which returns to the caller directly.
//!
//! Processors predict an indirect jump by its address and the history of branches. One jump to many functions is predicted
//! worse and later than many jumps to one function each. So there are several copies of the stub, and a function's copy is
//! chosen by the function's address.
//!
//! [`Gate`]: riverrun::support::Gate

use std::arch::naked_asm;
use std::mem::offset_of;
use std::ptr;

use riverrun::DynFunc;
use riverrun::support::{Gate, Offsets, Opening, unwind_marker};

use crate::call_few::{Called, for_result};
use crate::func::Func;
use crate::host::GateHead;
use crate::machine::{Host, Machine};

/// Calls a function on a machine whose entry guard is open for it, and sets the guard's word to `RIVERRUN_GATE_CALLING`. If
/// the word is unchanged afterwards, the call has ended, this returns the function's result, if it has one, and the caller
/// opens the guard again. Otherwise the caller passes the returned number to `riverrun_func_call_left`, which finishes the
/// call; it needs nothing else that the caller would have to keep.
pub type FuncCode = unsafe extern "C" fn(
    func: *const Func,
    machine: Machine,
    first: u64,
    second: u64,
    third: u64,
    gate: *mut GateHead,
) -> u64;

/// The beginning of a function's handle, for the inline functions at the end of this header and for bindings.
#[repr(C)]
#[derive(Debug)]
pub struct FuncHead {
    /// The code that calls it while a machine's entry guard is open for it.
    pub code: FuncCode,
    /// The word of guards that are open for it. No guard has the word of a function that cannot be called so.
    pub opening: u64,
    /// The guest function, for the code.
    pub entry: usize,
}

impl FuncHead {
    /// The head of a guest's function.
    pub(crate) fn of(func: &DynFunc) -> FuncHead {
        // Debug builds check more than this code can.
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

/// Returned if the call has not begun; its arguments are in the guard.
const NOT_BEGUN: u64 = 0;
/// Returned if the call has exited.
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
        // Adjacent stores in a row: processors combine two neighbours into one write.
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
        "lea r11, [rip + {marker}]",
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
        marker = sym exit_marker,
    )
}

/// Where exits continue: returns [`LEFT`] to the caller.
#[unsafe(naked)]
unsafe extern "C" fn exit_marker() {
    naked_asm!(
        unwind_marker!("2", "3"),
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

/// Finishes a call whose code has returned `given` and changed the guard's word. Nothing else may have been called since.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn riverrun_func_call_left(func: &Func, gate: &GateHead, given: u64) -> Called {
    // SAFETY: the caller passes the head of a machine's guard, which is the whole guard, as guards are never moved.
    let gate = unsafe { &*ptr::from_ref(gate).cast::<Gate>() };
    // SAFETY: the guard was open, so `Gate::lead_to` has set its machine, which the header demands is alive.
    let machine = unsafe { Machine::of_import(gate.machine()) };
    for_result(|| match given {
        // SAFETY: as the caller promises.
        LEFT => unsafe { func.func.go_on(machine.0) },
        // SAFETY: likewise.
        _ => unsafe { func.func.call_raw_few(machine.0, gate.arguments()) },
    })
}
