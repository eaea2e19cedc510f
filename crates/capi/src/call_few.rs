//! Calls with raw values of functions with few parameters, passed in registers.

use std::ptr;

use crate::arguments::{Result, given, misuse};
#[cfg(not(debug_assertions))]
use crate::call::registers::*;
use crate::call::{by_registers, float_environment};
use crate::error::{Error, guard};
use crate::func::Func;
#[cfg(not(debug_assertions))]
use crate::machine::Host;
use crate::machine::{Machine, with};

/// The outcome of a call.
#[repr(C)]
#[derive(Debug)]
pub struct Called {
    /// Why it has failed, or NULL.
    pub error: *mut Error,
    /// The first result as a raw value, if the function has one.
    pub result: u64,
}

/// Calls a function for its first result.
#[inline(always)]
pub(crate) fn for_result(call: impl FnOnce() -> Result<u64>) -> Called {
    let mut result = 0;
    let error = guard(|| {
        result = call()?;
        Ok(())
    });
    Called { error: error.map_or(ptr::null_mut(), Box::into_raw), result }
}

/// As `riverrun_func_call_for_result`, with up to three slots passed in registers instead of memory, which is faster; those
/// that the function does not have are ignored. A second result is written to `second_result`, which may be NULL if there is
/// none. A function with more parameters or results is an error.
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
        at offset_of!(Func, func),
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
