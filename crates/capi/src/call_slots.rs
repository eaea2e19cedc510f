//! Calls of functions by slots, which nobody compares.

use std::ptr;

use riverrun::RawMachine;

use crate::arguments::{Result, array, given, misuse};
#[cfg(not(debug_assertions))]
use crate::call::registers::*;
use crate::call::{by_registers, float_environment, within};
use crate::config::Limits;
use crate::error::{Error, Returned, guard};
use crate::func::Func;
use crate::machine::{Host, Machine, with};

/// Calls it with values as guest registers hold them, without a check of their types: `slots` are the arguments, and
/// the results take the place of the first ones; of others, there may be anything then. There have to be as many as
/// `riverrun_func_slots` says, or more, and all are read. The functions `riverrun_slot_i32` and its like make slots,
/// `riverrun_slot_as_i32` and its like read them.
///
/// What is demanded of the float environment is as of `riverrun_func_call`.
#[unsafe(no_mangle)]
#[unsafe(naked)]
pub unsafe extern "C" fn riverrun_func_call_unchecked(
    func: Option<&Func>,
    machine: Option<Machine>,
    slots: *mut u64,
    slots_len: usize,
) -> Returned {
    by_registers!(
        Host,
        begin [
            unless_null!("otherwise"),
            "cmp rcx, [rdi + {slots_len}]",
            "jb {otherwise}",
            "test rdx, rdx",
            "jne 32f",
            "test rcx, rcx",
            "jne {otherwise}",
            "32:",
            "push rdx",
            "movzx eax, byte ptr [rdi + {count}]",
            "xor ecx, ecx",
            "xor r8d, r8d",
            "test eax, eax",
            "jne 30f",
            "xor edx, edx",
        ],
        end [
            "cmp byte ptr [rdi + {has_result}], 0",
            "je 26f",
            "mov [rdx], rax",
            "26:",
            "xor eax, eax",
        ],
        back [
            "pop rdx",
            // There are enough.
            "mov rcx, [rdi + {slots_len}]",
            "jmp {otherwise}",
            "30:",
            "mov r9, rdx",
            "mov rdx, [r9]",
            "cmp eax, 2",
            "jb 20b",
            "mov rcx, [r9 + 8]",
            "je 20b",
            "mov r8, [r9 + 16]",
            "jmp 20b"
        ],
        otherwise slots_otherwise,
        left slots_left,
        symbols [],
        constants [
            slots_len = offset_of!(Func, few) + offset_of!(Few, slots_len),
            count = Offsets::<Host>::COUNT,
            has_result = Offsets::<Host>::RESULTS
        ]
    )
}

/// # Safety
/// As of [`riverrun_func_call_unchecked`].
unsafe extern "C" fn slots_otherwise(
    func: Option<&Func>,
    machine: Option<Machine>,
    slots: *mut u64,
    slots_len: usize,
) -> Returned {
    guard(|| {
        let func = given(func, "func")?;
        with(machine, |machine| {
            enough_slots(func, slots, slots_len)?;
            float_environment::check()?;
            // SAFETY: as the caller promises.
            unsafe { func.func.call_raw(machine, slots) }
        })
    })
}

#[inline(always)]
fn enough_slots(func: &Func, slots: *const u64, slots_len: usize) -> Result<()> {
    if slots_len < func.func.slots() || slots.is_null() && slots_len != 0 {
        return Err(too_few_slots(func, slots, slots_len));
    }
    Ok(())
}

#[cold]
fn too_few_slots(func: &Func, slots: *const u64, slots_len: usize) -> Box<Error> {
    match array(slots, slots_len, "slots") {
        Ok(_) => misuse(format!("{slots_len} slots were given, but there have to be {}", func.func.slots())),
        Err(error) => error,
    }
}

/// # Safety
/// As of [`riverrun_func_call_unchecked`].
unsafe extern "C" fn slots_left(func: &Func, machine: Machine, slots: *mut u64) -> Returned {
    guard(|| {
        // SAFETY: as the caller promises.
        let result = unsafe { func.func.go_on::<_, Box<Error>>(machine.0)? };
        if !func.results.is_empty() {
            // SAFETY: as the caller promises, there is room for it.
            unsafe { *slots = result };
        }
        Ok(())
    })
}

/// What a call has come to.
#[repr(C)]
#[derive(Debug)]
pub struct Called {
    /// Why it has failed, or NULL.
    pub error: *mut Error,
    /// The first result as a slot, if the function has one.
    pub result: u64,
}

/// Calls it as `riverrun_func_call_unchecked` does, and gives the first result instead of writing it to the slots:
/// faster by the way through memory. There have to be as many slots as parameters.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn riverrun_func_call_for_result(
    func: Option<&Func>,
    machine: Option<Machine>,
    slots: *const u64,
) -> Called {
    for_result(|| {
        let func = given(func, "func")?;
        with(machine, |machine| {
            float_environment::check()?;
            // SAFETY: as of `riverrun_func_call_unchecked`.
            unsafe { func.func.call_raw_first(machine, slots) }
        })
    })
}

/// Calls a function for its first result.
#[inline(always)]
fn for_result(call: impl FnOnce() -> Result<u64>) -> Called {
    let mut result = 0;
    let error = guard(|| {
        result = call()?;
        Ok(())
    });
    Called { error: error.map_or(ptr::null_mut(), Box::into_raw), result }
}

/// Calls it as `riverrun_func_call_for_result` does, with slots for up to three parameters given as values; those that
/// the function does not have are ignored. Faster by the way through memory. A second result is written to `second_result`,
/// which may be NULL if there is none. A function with more parameters or results is an error.
#[unsafe(no_mangle)]
#[unsafe(naked)]
pub unsafe extern "C" fn riverrun_func_call_few(
    func: Option<&Func>,
    machine: Option<Machine>,
    first: u64,
    second: u64,
    third: u64,
    second_result: *mut u64,
) -> Called {
    by_registers!(
        Host,
        // It has one result at most.
        begin [unless_null!("otherwise"), "push r9"],
        end ["mov rdx, rax", "xor eax, eax"],
        back ["pop r9"],
        otherwise few_otherwise,
        left few_left,
        symbols [],
        constants []
    )
}

/// # Safety
/// As of [`riverrun_func_call_few`].
unsafe extern "C" fn few_otherwise(
    func: Option<&Func>,
    machine: Option<Machine>,
    first: u64,
    second: u64,
    third: u64,
    second_result: *mut u64,
) -> Called {
    for_result(|| {
        let func = given(func, "func")?;
        let has_second = func.results.len() > 1;
        if has_second && second_result.is_null() {
            return Err(misuse("the function has two results, so there have to be 2 slots, but there is room for one"));
        }
        with(machine, |machine| {
            float_environment::check()?;
            let mut slots = [first, second, third];
            // SAFETY: as the caller promises.
            unsafe {
                if !has_second || func.func.parameters().len() > slots.len() {
                    return func.func.call_raw_few(machine, slots);
                }
                func.func.call_raw::<_, Box<Error>>(machine, slots.as_mut_ptr())?;
                *second_result = slots[1];
            }
            Ok(slots[0])
        })
    })
}

/// # Safety
/// As of [`riverrun_func_call_few`].
unsafe extern "C" fn few_left(func: &Func, machine: Machine) -> Called {
    // SAFETY: as the caller promises.
    for_result(|| unsafe { func.func.go_on(machine.0) })
}

/// Calls it as `riverrun_func_call_unchecked` does, within limits of its own, and the machine's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn riverrun_func_call_unchecked_within(
    func: Option<&Func>,
    machine: Option<Machine>,
    limits: Option<&Limits>,
    slots: *mut u64,
    slots_len: usize,
) -> Returned {
    guard(|| {
        let (func, limits) = (given(func, "func")?, given(limits, "limits")?);
        with(machine, |machine| within(machine, limits, || call_unchecked(func, machine, slots, slots_len)))
    })
}

fn call_unchecked(func: &Func, machine: RawMachine<Host>, slots: *mut u64, slots_len: usize) -> Result<()> {
    // SAFETY: both are alive; callers have as many slots.
    unsafe { riverrun_func_call_unchecked(Some(func), Some(Machine(machine)), slots, slots_len) }.map_or(Ok(()), Err)
}
