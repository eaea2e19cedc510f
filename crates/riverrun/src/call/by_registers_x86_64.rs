//! Calls of compiled functions on x86-64 Unix, from functions that other languages call each time.
//!
//! Such functions have few arguments and a result in registers, and keep nothing in registers that functions preserve:
//! what is put back from the stack makes each call wait for the one before. What their callers have there is pushed,
//! and taken back only where compiled code is left.

use std::marker::PhantomData;
use std::mem::offset_of;

use riverrun_vm::Gate;
use riverrun_vm::artifact::Callable;
use riverrun_vm::convention;

use crate::call::dynamic::DynFunc;
use crate::call::fast_path::Ready;
use crate::call::func::Target;
use crate::instance::{Instance, SP};

/// Where [`by_registers!`](crate::by_registers) finds what it needs.
#[derive(Debug)]
pub struct Offsets<T>(PhantomData<T>);

impl<T> Offsets<T> {
    const READY: usize = offset_of!(Instance<T>, ready);

    /// From a machine to its state's address.
    pub const STATE: usize = offset_of!(Instance<T>, state);
    /// From a machine to its gate's address.
    pub const GATE: usize = offset_of!(Instance<T>, gate);
    /// From a machine to the guest's sp.
    pub const SP: usize = Self::READY + offset_of!(Ready, slots) + size_of::<u64>() * SP as usize;
    /// From a function to what its gate has to be open for.
    pub const OPENING: usize = offset_of!(DynFunc, few);
    /// From a function to what is called, with the function's address in rdi.
    pub const ENTRY: usize = Callable::ENTRY;
    /// From a function to the byte that says how many parameters it has; more than three, if not only such in registers.
    pub const COUNT: usize = offset_of!(DynFunc, few_count);
    /// From a function to the byte that is 0 if it has no result.
    pub const RESULTS: usize = offset_of!(DynFunc, results);
    /// From a function to the number of its result's type, of 32 bits.
    pub const RESULT_NUMBER: usize = offset_of!(DynFunc, result_number);
    /// From a gate to its word, and to its claim.
    pub const WORD: usize = Gate::WORD;
    /// The second of these.
    pub const CLAIM: usize = Gate::CLAIM;
    /// From a gate to its machine's address.
    pub const MACHINE: usize = Gate::MACHINE;
    /// What the word says of calls that are in the guest.
    pub const CALLING: i64 = Gate::CALLING as i64;
    /// What it says if no call can be made.
    pub const CLOSED: i64 = Gate::CLOSED as i64;
    /// From the window to the host's stack pointer.
    pub const HOST_SP: i64 = convention::HOST_SP;
    /// What is between that and what was pushed.
    pub const GAP: usize = riverrun_vm::FRAME_GAP;
    /// What is from there to what was on the stack before.
    pub const FRAME_SIZE: usize = riverrun_vm::FRAME_SIZE;
}

// Host-ABI entry points are called with the function's own address.
const _: () = assert!(offset_of!(DynFunc, target) == 0 && offset_of!(Target, function) == 0);

/// The code of a naked function that calls a [`DynFunc`] on the [`RawMachine`] in rsi, as `Instance::attempt` does it.
/// The function is so many bytes (`at`) into what rdi points to, which is what is called the function below. When `begin`
/// has been done, its arguments are in rdx, rcx and r8, with zeros for those that there are not, and it has pushed a word
/// to keep. When the call is over, the result is in rax, the function in rdi
/// again, and the word in rdx: `end` puts there what is returned, and leaves rcx and r8 as they are.
///
/// Where the call cannot be made so, `otherwise` makes it, a function with the parameters of this one, which `back`
/// puts where they were. Where it leaves compiled code, `left` goes on with it by [`DynFunc::go_on`]: a function of
/// the function, the machine and the word.
///
/// [`RawMachine`]: crate::RawMachine
#[doc(hidden)]
#[macro_export]
macro_rules! by_registers {
    (
        $host:ty,
        at $at:expr,
        begin [$($begin:expr),* $(,)?],
        end [$($end:literal),* $(,)?],
        back [$($back:literal),*],
        otherwise $otherwise:path,
        left $left:path,
        symbols [$($symbol:ident = $function:path),*],
        constants [$($constant:ident = $value:expr),*]
    ) => {
        ::std::arch::naked_asm!(
            $($begin,)*
            "20:",
            "mov r10, [rip + __riverrun_claimed@GOTTPOFF]",
            "mov rax, [rsi + {gate}]",
            "mov r11, [rdi + {opening}]",
            "cmp [rax + {word}], r11",
            "jne 21f",
            "mov r11, fs:[r10]",
            "mov qword ptr [rax + {word}], {calling}",
            "cmp [rax + {claim}], r11",
            "jne 22f",
            "push rdi",
            "push rbp",
            "push rbx",
            "push r12",
            "push r13",
            "push r14",
            "push r15",
            // Aligned; the gap's second word takes the call's own address.
            "sub rsp, 8",
            "mov rsi, [rsi + {sp}]",
            "mov r9, fs:[r10 + 8]",
            "lea rax, [rsp - {gap} + 8]",
            // Written at each call, it would have to be waited for at each end.
            "cmp [r9 + {host_sp}], rax",
            "jne 25f",
            "24:",
            "add rdi, {at}",
            "call [rdi + {entry}]",
            $crate::support::unwind_marker!("26", "23"),
            "mov rcx, [rip + __riverrun_claimed@GOTTPOFF]",
            "add rsp, 7 * 8",
            "pop rdi",
            "pop rdx",
            // What calls that the host has made meanwhile have claimed has been given back.
            "mov rcx, fs:[rcx + 16]",
            "mov r8, [rdi + {opening}]",
            $($end,)*
            "mov [rcx + {word}], r8",
            "ret",
            "22:",
            "mov qword ptr [rax + {word}], {closed}",
            "21:",
            $($back,)*
            "jmp {otherwise}",
            "23:",
            "lea rsp, [rdx + {frame}]",
            "pop rdi",
            "pop rdx",
            "mov rax, [rip + __riverrun_claimed@GOTTPOFF]",
            "mov rax, fs:[rax + 16]",
            "mov rsi, [rax + {machine}]",
            "jmp {left}",
            "25:",
            "mov [r9 + {host_sp}], rax",
            "jmp 24b",
            // Has the function begin at such an address, too.
            ".balign 64",
            gate = const $crate::support::Offsets::<$host>::GATE,
            sp = const $crate::support::Offsets::<$host>::SP,
            opening = const $at + $crate::support::Offsets::<$host>::OPENING,
            entry = const $crate::support::Offsets::<$host>::ENTRY,
            word = const $crate::support::Offsets::<$host>::WORD,
            machine = const $crate::support::Offsets::<$host>::MACHINE,
            claim = const $crate::support::Offsets::<$host>::CLAIM,
            calling = const $crate::support::Offsets::<$host>::CALLING,
            closed = const $crate::support::Offsets::<$host>::CLOSED,
            frame = const $crate::support::Offsets::<$host>::FRAME_SIZE,
            gap = const $crate::support::Offsets::<$host>::GAP,
            host_sp = const $crate::support::Offsets::<$host>::HOST_SP,
            at = const $at,
            otherwise = sym $otherwise,
            left = sym $left,
            $($symbol = sym $function,)*
            $($constant = const $value,)*
        )
    };
}
