//! Calls of functions with raw values, whose types are not checked.

use riverrun::RawMachine;

use crate::arguments::{Result, array, given, misuse};
#[cfg(not(debug_assertions))]
use crate::call::registers::*;
use crate::call::{by_registers, float_environment, within};
use crate::call_few::{Called, for_result};
use crate::config::Limits;
use crate::error::{Error, Returned, guard};
use crate::func::Func;
use crate::machine::{Host, Machine, with};

/// Calls the function with raw values, without a check of their types: `slots` holds the arguments, and then the results in
/// the first places and unspecified values in the others. There must be at least as many as `riverrun_func_slots` says; all
/// of those are read. `riverrun_slot_i32` and the like make slots, `riverrun_slot_as_i32` and the like read them.
///
/// The float environment must be as for `riverrun_func_call`.
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
        at offset_of!(Func, func),
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
            count = offset_of!(Func, func) + Offsets::<Host>::COUNT,
            has_result = offset_of!(Func, func) + Offsets::<Host>::RESULTS
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

/// As `riverrun_func_call_unchecked`, but returns the first result instead of writing it to the slots, which is faster.
/// There must be as many slots as parameters.
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
