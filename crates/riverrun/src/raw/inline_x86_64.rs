//! The engine's part of the inline fast path: what inline code in C and C++ calls after it has compared the entry guard.
//!
//! The inline code compares the machine's guard ([`EntryGuard`]) with the function's entry token and calls the
//! function's code with up to three integer arguments. Each engine has a version of that code; the handle has the one
//! for its function. If the guard says [`EntryGuard::CALLING`] afterwards, the function has returned, and the inline
//! code opens the guard again. Otherwise the call was made or finished on the general path, and [`EntryGuard::error`]
//! says whether it failed.

use std::arch::naked_asm;
use std::ffi::c_void;
use std::mem::offset_of;
use std::ptr::{self, NonNull};

use riverrun_interp::Place;
use riverrun_program::Scalar;
use riverrun_vm::artifact::Callable;
use riverrun_vm::{EngineContext, EntryGuard, EntryToken, RETURN_ADDRESS, VmContext, convention, unwind_marker};

use crate::call::dyn_func::DynFunc;
use crate::call::fast_path::Unfinished;
use crate::call::target::Target;
use crate::error::Error;
use crate::instance::Instance;
use crate::raw::RawMachine;
use crate::ready::Ready;
use crate::registers::{RA, SP};

/// A binding whose callers are inline code.
pub trait Binding {
    /// The data of its machines.
    type Data: 'static;

    /// Makes a call, which may panic. Returns its result or the binding's own error, which is never null.
    fn outcome(call: impl FnOnce() -> Result<u64, Error>) -> Result<u64, NonNull<c_void>>;
}

/// Calls the function at a machine that has this guard, which is open for it.
pub type EnterCode = unsafe extern "C" fn(
    func: *const InlineFunc,
    machine: *mut c_void,
    u64,
    u64,
    u64,
    entry_guard: *const EntryGuard,
) -> u64;

/// A function for callers that are inline code. They know its first four fields.
#[repr(C)]
#[derive(Debug)]
pub struct InlineFunc {
    /// What they call.
    pub code: EnterCode,
    /// The guard has to be open for this token; no guard has the token of a function that inline code cannot call.
    pub entry_token: EntryToken,
    /// The function's types (`types_word`).
    pub types: u32,
    /// The result's type: its position in [`Scalar::ALL`]; 0 if there is none.
    pub result: u32,
    func: DynFunc,
}

/// The types of a function that inline code can call, in a word: from the lowest byte on, for each parameter the position of
/// its type in [`Scalar::ALL`] plus one; in the highest byte, the number of results.
fn types_word(parameters: &[Scalar], results: usize) -> u32 {
    let parameters = parameters.iter().zip(0..).map(|(&scalar, n)| (scalar as u32 + 1) << (8 * n));
    (results as u32) << 24 | parameters.sum::<u32>()
}

impl InlineFunc {
    /// The function, for inline code of a binding if `is_open`.
    pub fn new<B: Binding>(func: DynFunc, is_open: bool) -> InlineFunc {
        let Target { function, compiled, interpreted, .. } = &func.target;
        let (code, entry_token): (EnterCode, EntryToken) = match function.host_abi_entry() {
            _ if !is_open || !func.is_few() => (enter_compiled::<B>, EntryToken::NONE),
            Some(_) => (enter_host_abi_entry::<B>, *compiled),
            None if *compiled != EntryToken::NONE => (enter_compiled::<B>, *compiled),
            None => match func.parameters().len() {
                0 => (enter_interpreter::<B, 0>, *interpreted),
                1 => (enter_interpreter::<B, 1>, *interpreted),
                2 => (enter_interpreter::<B, 2>, *interpreted),
                _ => (enter_interpreter::<B, 3>, *interpreted),
            },
        };
        let result = func.results().next();
        // Inline code that compares types reads no bool: guests may leave anything in the rest of its register.
        let types = match result {
            _ if !func.is_few() => u32::MAX,
            Some(Scalar::Bool) => u32::MAX,
            result => types_word(func.parameters(), result.iter().len()),
        };
        InlineFunc { code, entry_token, types, result: result.map_or(0, |scalar| scalar as u32), func }
    }

    /// The function.
    pub fn func(&self) -> &DynFunc {
        &self.func
    }
}

/// From a machine to the sp with which its functions begin.
const GUEST_SP: usize = offset_of!(Instance<()>, ready) + offset_of!(Ready, sp);
/// From a function to its entries.
const TARGET: usize = offset_of!(InlineFunc, func) + offset_of!(DynFunc, target);

/// From the state to a guest register.
const fn slot(register: u8) -> usize {
    offset_of!(VmContext, hart.slots) + size_of::<u64>() * register as usize
}

/// Assembly that keeps the caller's registers in the guard, whose address is in r9.
macro_rules! keep_registers {
    () => {
        // Adjacent stores in a row: processors combine two neighbours into one write.
        "mov [r9 + {kept}], r15
        mov [r9 + {kept} + 8], r14
        mov [r9 + {kept} + 16], r13
        mov [r9 + {kept} + 24], r12
        mov [r9 + {kept} + 32], rbx
        mov [r9 + {kept} + 40], rbp
        mov [r9 + {host_stack}], rsp"
    };
}

/// Enters the host-ABI entry point of a compiled function, which returns to the caller of this. The frame for exits is
/// in the guard.
///
/// # Safety
/// As of [`EnterCode`].
#[unsafe(naked)]
unsafe extern "C" fn enter_host_abi_entry<B: Binding>(
    func: *const InlineFunc,
    machine: *mut c_void,
    first: u64,
    second: u64,
    third: u64,
    entry_guard: *const EntryGuard,
) -> u64 {
    naked_asm!(
        concat!("mov r10, [rip + ", riverrun_vm::owner_symbol!(), "@GOTTPOFF]"),
        "mov qword ptr [r9 + {word}], {calling}",
        "mov rax, fs:[r10]",
        "cmp [r9 + {owner}], rax",
        "jne {not_begun}",
        keep_registers!(),
        "lea rax, [r9 + {frame}]",
        "mov r9, fs:[r10 + 8]",
        "cmp [r9 + {host_sp}], rax",
        "jne 3f",
        "2:",
        "mov rsi, [rsi + {sp}]",
        "lea rdi, [rdi + {function}]",
        "jmp [rdi + {entry}]",
        "3:",
        "lea r11, [rip + {exited}]",
        "mov [rax + 8], r11",
        "mov [r9 + {host_sp}], rax",
        "jmp 2b",
        // Has the function begin at such an address, too.
        ".balign 64",
        owner = const EntryGuard::FAST_OWNER,
        word = const EntryGuard::WORD,
        calling = const EntryGuard::CALLING as i64,
        frame = const EntryGuard::FRAME,
        kept = const EntryGuard::KEPT,
        host_stack = const EntryGuard::SP,
        sp = const GUEST_SP,
        host_sp = const convention::HOST_SP,
        function = const TARGET + offset_of!(Target, function),
        entry = const Callable::ENTRY,
        not_begun = sym call_in_general::<B>,
        exited = sym exit_marker::<B>,
    )
}

/// Where exits from [`enter_host_abi_entry`] continue: it returns to its caller.
///
/// # Safety
/// It must not be called: exits read its first instruction.
#[unsafe(naked)]
unsafe extern "C" fn exit_marker<B: Binding>() {
    naked_asm!(
        unwind_marker!("2", "3"),
        "3:",
        "mov rsp, [rdx + {host_stack}]",
        "lea rdi, [rdx - {frame}]",
        "jmp {finish}",
        host_stack = const EntryGuard::SP - EntryGuard::FRAME,
        frame = const EntryGuard::FRAME,
        finish = sym finish::<B>,
    )
}

/// Enters a compiled function on the stack of compiled code.
///
/// # Safety
/// As of [`EnterCode`].
unsafe extern "C" fn enter_compiled<B: Binding>(
    func: *const InlineFunc,
    machine: *mut c_void,
    first: u64,
    second: u64,
    third: u64,
    entry_guard: *const EntryGuard,
) -> u64 {
    // SAFETY: the inline code's handles are a live function and a live machine, whose guard it has found open.
    let outcome = unsafe {
        let instance = NonNull::new_unchecked(machine).cast::<Instance<B::Data>>();
        Instance::enter_compiled(instance, &(*func).func.target, [first, second, third])
    };
    match outcome {
        Ok([a0, _]) => a0,
        // SAFETY: as above; the engine has exited.
        Err(Unfinished::Exited) => unsafe { finish::<B>(entry_guard) },
        // SAFETY: as above.
        Err(_) => unsafe { call_in_general::<B>(func, machine, first, second, third, entry_guard) },
    }
}

/// Enters the interpreter with so many arguments. The frame for exits is in the guard.
///
/// # Safety
/// As of [`EnterCode`].
#[unsafe(naked)]
unsafe extern "C" fn enter_interpreter<B: Binding, const ARGUMENTS: usize>(
    func: *const InlineFunc,
    machine: *mut c_void,
    first: u64,
    second: u64,
    third: u64,
    entry_guard: *const EntryGuard,
) -> u64 {
    naked_asm!(
        "mov qword ptr [r9 + {word}], {calling}",
        "cmp qword ptr [r9 + {owner}], {all}",
        "jne {not_begun}",
        "mov r11, [rsi + {sp}]",
        "mov rsi, [rsi + {state}]",
        ".if {arguments} > 0",
        "mov [rsi + {a0}], rdx",
        ".endif",
        ".if {arguments} > 1",
        "mov [rsi + {a0} + 8], rcx",
        ".endif",
        ".if {arguments} > 2",
        "mov [rsi + {a0} + 16], r8",
        ".endif",
        "movsxd rax, dword ptr [rdi + {ordinal}]",
        "add rax, [rsi + {fuel}]",
        "js 4f",
        keep_registers!(),
        // Most functions preserve sp and ra, so comparing is cheaper than storing.
        "mov ecx, {return_address}",
        "lea rdx, [r9 + {frame}]",
        "cmp [rsi + {guest_sp}], r11",
        "jne 3f",
        "cmp [rsi + {guest_ra}], rcx",
        "jne 3f",
        "cmp [rsi + {host_sp}], rdx",
        "jne 3f",
        "2:",
        "mov rdi, [rdi + {op}]",
        "mov r8, rax",
        riverrun_interp::enter_chain!(),
        "3:",
        "mov [rsi + {guest_sp}], r11",
        "mov [rsi + {guest_ra}], rcx",
        "mov [rsi + {host_sp}], rdx",
        "lea r11, [rip + {exited}]",
        "mov [rdx + 8], r11",
        "jmp 2b",
        "4:",
        "mov rsi, [r9 + {machine}]",
        "jmp {not_begun}",
        // Has the function begin at such an address, too.
        ".balign 64",
        arguments = const ARGUMENTS,
        owner = const EntryGuard::FAST_OWNER,
        all = const EntryGuard::ALL as i64,
        word = const EntryGuard::WORD,
        calling = const EntryGuard::CALLING as i64,
        machine = const EntryGuard::MACHINE,
        frame = const EntryGuard::FRAME,
        kept = const EntryGuard::KEPT,
        host_stack = const EntryGuard::SP,
        state = const offset_of!(Instance<()>, state),
        sp = const GUEST_SP,
        fuel = const offset_of!(VmContext, exit) + offset_of!(EngineContext, fuel),
        host_sp = const offset_of!(VmContext, exit) + offset_of!(EngineContext, host_sp),
        a0 = const slot(10),
        guest_sp = const slot(SP),
        guest_ra = const slot(RA),
        return_address = const RETURN_ADDRESS,
        ordinal = const TARGET + offset_of!(Target, place) + Place::ORDINAL,
        op = const TARGET + offset_of!(Target, place) + Place::OP,
        enter = sym riverrun_interp::enter_from_entry_guard,
        not_begun = sym call_in_general::<B>,
        exited = sym exit_marker::<B>,
    )
}

/// Makes a call that has not begun on the general path.
///
/// # Safety
/// As of [`EnterCode`].
#[cold]
unsafe extern "C" fn call_in_general<B: Binding>(
    func: *const InlineFunc,
    machine: *mut c_void,
    first: u64,
    second: u64,
    third: u64,
    entry_guard: *const EntryGuard,
) -> u64 {
    // SAFETY: as in `enter_compiled`; a function of few values has three slots at most.
    unsafe {
        (*entry_guard).close();
        conclude::<B>(&*entry_guard, || {
            let machine = RawMachine::<B::Data>::from_ptr(NonNull::new_unchecked(machine));
            let mut slots = [first, second, third];
            machine.call(&(*func).func, slots.as_mut_ptr())?;
            Ok(slots[0])
        })
    }
}

/// Finishes a call whose engine has exited.
///
/// # Safety
/// The engine was entered by code of an [`InlineFunc`] with this guard, and nothing has been called since.
#[cold]
unsafe extern "C" fn finish<B: Binding>(entry_guard: *const EntryGuard) -> u64 {
    // SAFETY: the guard was open, so `EntryGuard::lead_to` has set its machine, which is alive because it is being called.
    unsafe {
        (*entry_guard).close();
        let instance = NonNull::new_unchecked((*entry_guard).machine()).cast::<Instance<B::Data>>();
        conclude::<B>(&*entry_guard, || Ok(Instance::finish_exited(instance)?.a[0]))
    }
}

/// Makes the rest of a call, and notes its error in the guard.
fn conclude<B: Binding>(entry_guard: &EntryGuard, call: impl FnOnce() -> Result<u64, Error>) -> u64 {
    let (result, error) = match B::outcome(call) {
        Ok(result) => (result, ptr::null_mut()),
        Err(error) => (0, error.as_ptr()),
    };
    entry_guard.set_error(error.cast());
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_have_a_byte_each() {
        assert_eq!(types_word(&[Scalar::Bool, Scalar::Ptr, Scalar::I32], 1), 0x01_06_0c_01);
        assert_eq!(types_word(&[], 0), 0);
        assert!(Scalar::ALL.len() < 255);
    }
}
