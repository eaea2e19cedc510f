//! Calls of functions with values, whose kinds are checked against the function's types.

use std::mem::MaybeUninit;

use riverrun::{RawMachine, Scalar};

use crate::arguments::{Result, array, array_mut, given, misuse};
#[cfg(not(debug_assertions))]
use crate::call::registers::*;
use crate::call::{by_registers, float_environment, within};
use crate::config::Limits;
use crate::error::{Error, Returned, guard};
use crate::func::{Func, PARAMETERS_MAX};
use crate::machine::{Host, Machine, with};
use crate::shape::{FEW, Shape};
use crate::value::{Value, ValueOf, counted, wrong_kind};

/// The body of a naked function that calls a function by registers, and writes its result, if it has one, as a value.
macro_rules! gives_value {
    (begin $begin:tt, symbols $symbols:tt, constants [$($constants:tt)*]) => {
        by_registers!(
            Host,
            at offset_of!(Func, func),
            begin $begin,
            end [
                "cmp byte ptr [rdi + {has_result}], 0",
                "je 26f",
                "mov [rdx + {of}], rax",
                "mov eax, [rdi + {result_kind}]",
                "mov [rdx + {kind}], eax",
                "26:",
                "xor eax, eax",
            ],
            back ["pop r9"],
            otherwise values_otherwise,
            left values_left,
            symbols $symbols,
            constants [
                $($constants)*
                has_result = offset_of!(Func, func) + Offsets::<Host>::RESULTS,
                result_kind = offset_of!(Func, func) + Offsets::<Host>::RESULT_NUMBER,
                kind = offset_of!(Value, kind),
                of = offset_of!(Value, of)
            ]
        )
    };
}

/// Calls the function with values of its types, and gives its results: none, one or two. Within a host function
/// this calls back into the guest that waits.
///
/// The thread's float environment has to be the default one, as C has it when a program starts: guest code runs
/// in it. Debug builds check that.
#[unsafe(no_mangle)]
#[unsafe(naked)]
pub unsafe extern "C" fn riverrun_func_call(
    func: Option<&Func>,
    machine: Option<Machine>,
    arguments: *const Value,
    arguments_len: usize,
    results: *mut Value,
    results_len: usize,
) -> Returned {
    gives_value!(
        begin [
            unless_null!("any"),
            "cmp rcx, [rdi + {parameters}]",
            "jne {any}",
            "cmp r9, [rdi + {results}]",
            "jne {any}",
            // One result, and NULL for it.
            "cmp r8, r9",
            "jb {any}",
            "test rcx, rcx",
            "jne {arguments}",
            "push r8",
            "xor edx, edx",
            "xor r8d, r8d",
        ],
        symbols [any = call_any, arguments = call_with_arguments],
        constants [
            parameters = offset_of!(Func, few) + offset_of!(Few, parameters_len),
            results = offset_of!(Func, few) + offset_of!(Few, results_len),
        ]
    )
}

/// As [`riverrun_func_call`], of a function that has arguments, and as many as are given; the result has room.
///
/// # Safety
/// As there.
unsafe extern "C" fn call_with_arguments(
    func: &Func,
    machine: Machine,
    arguments: *const Value,
    arguments_len: usize,
    results: *mut Value,
    results_len: usize,
) -> Returned {
    // SAFETY: as the caller promises.
    unsafe {
        match func.few.slots(arguments, arguments_len) {
            Some([first, second, third]) => call_values(func, machine, first, second, third, results),
            None => call_any(Some(func), Some(machine), arguments, arguments_len, results, results_len),
        }
    }
}

/// The same with the arguments in slots.
///
/// # Safety
/// As of [`riverrun_func_call`]; a function of few arguments, the result of which has room.
#[unsafe(naked)]
unsafe extern "C" fn call_values(
    func: &Func,
    machine: Machine,
    first: u64,
    second: u64,
    third: u64,
    results: *mut Value,
) -> Returned {
    gives_value!(
        begin ["push r9"],
        symbols [],
        constants []
    )
}

/// # Safety
/// As of [`call_values`].
unsafe extern "C" fn values_otherwise(
    func: &Func,
    machine: Machine,
    first: u64,
    second: u64,
    third: u64,
    results: *mut Value,
) -> Returned {
    guard(|| {
        // SAFETY: as the caller promises.
        let slot = unsafe { func.func.call_raw_few::<_, Box<Error>>(machine.0, [first, second, third])? };
        // SAFETY: likewise.
        unsafe { func.write_result(slot, results) };
        Ok(())
    })
}

/// # Safety
/// As of [`call_values`].
unsafe extern "C" fn values_left(func: &Func, machine: Machine, results: *mut Value) -> Returned {
    guard(|| {
        // SAFETY: as the caller promises.
        let slot = unsafe { func.func.go_on::<_, Box<Error>>(machine.0)? };
        // SAFETY: likewise.
        unsafe { func.write_result(slot, results) };
        Ok(())
    })
}

/// As [`riverrun_func_call`], of any function, with all that has to be checked.
///
/// # Safety
/// As there.
unsafe extern "C" fn call_any(
    func: Option<&Func>,
    machine: Option<Machine>,
    arguments: *const Value,
    arguments_len: usize,
    results: *mut Value,
    results_len: usize,
) -> Returned {
    guard(|| {
        let func = given(func, "func")?;
        let (arguments, results) =
            (array(arguments, arguments_len, "arguments")?, array_mut(results, results_len, "results")?);
        with(machine, |machine| call(func, machine, arguments, results))
    })
}

/// The outcome of a call with values.
#[repr(C)]
#[derive(Debug)]
pub struct Outcome {
    /// The address of the error, if it has failed; else, a number below 256, the kind of the result if there is one.
    pub error_or_kind: usize,
    /// The result as a raw value, if there is one.
    pub result: u64,
}

/// As `riverrun_func_call`, with up to three arguments as slots in registers. `shape` holds the kinds of the arguments, each
/// plus one, from the lowest byte on, and in the highest byte the number of results, which is one at most. For the inline
/// functions at the end of this header and for bindings.
#[unsafe(no_mangle)]
#[unsafe(naked)]
pub unsafe extern "C" fn riverrun_func_call_typed(
    func: Option<&Func>,
    machine: Option<Machine>,
    first: u64,
    second: u64,
    third: u64,
    shape: Shape,
) -> Outcome {
    by_registers!(
        Host,
        at offset_of!(Func, func),
        begin [
            unless_null!("otherwise"),
            "cmp [rdi + {shape}], r9d",
            "jne {otherwise}",
            "push r9",
        ],
        end [
            "mov rdx, rax",
            "mov eax, [rdi + {result_kind}]",
        ],
        back ["pop r9"],
        otherwise typed_otherwise,
        left typed_left,
        symbols [],
        constants [
            shape = offset_of!(Func, few) + offset_of!(Few, shape),
            result_kind = offset_of!(Func, func) + Offsets::<Host>::RESULT_NUMBER
        ]
    )
}

/// # Safety
/// As of [`riverrun_func_call_typed`].
unsafe extern "C" fn typed_otherwise(
    func: Option<&Func>,
    machine: Option<Machine>,
    first: u64,
    second: u64,
    third: u64,
    shape: Shape,
) -> Outcome {
    outcome(|result| {
        let func = given(func, "func")?;
        if func.few.shape == shape {
            return with(machine, |machine| {
                float_environment::check()?;
                // SAFETY: as the caller promises.
                let slot = unsafe { func.func.call_raw_few::<_, Box<Error>>(machine, [first, second, third])? };
                *result = func.results.first().map(|&scalar| Value::from_slot(scalar, slot));
                Ok(())
            });
        }
        let mut arguments = [Value::zero(Scalar::Bool); FEW];
        let mut len = 0;
        for ((argument, slot), kind) in arguments.iter_mut().zip([first, second, third]).zip(shape.kinds()) {
            *argument = Value { kind, of: ValueOf { u64: slot } };
            len += 1;
        }
        let mut results = [Value::zero(Scalar::Bool)];
        let results =
            results.get_mut(..shape.results()).ok_or_else(|| misuse("a call of `shape` has one result at most"))?;
        with(machine, |machine| call(func, machine, &arguments[..len], results))?;
        *result = results.first().copied();
        Ok(())
    })
}

/// # Safety
/// As of [`riverrun_func_call_typed`].
unsafe extern "C" fn typed_left(func: &Func, machine: Machine, _: u64) -> Outcome {
    outcome(|result| {
        // SAFETY: as the caller promises.
        let slot = unsafe { func.func.go_on::<_, Box<Error>>(machine.0)? };
        *result = func.results.first().map(|&scalar| Value::from_slot(scalar, slot));
        Ok(())
    })
}

/// Calls a function for its outcome.
#[inline(always)]
fn outcome(call: impl FnOnce(&mut Option<Value>) -> Result<()>) -> Outcome {
    let mut result = None;
    match guard(|| call(&mut result)) {
        Some(error) => Outcome { error_or_kind: Box::into_raw(error).expose_provenance(), result: 0 },
        None => {
            let result = result.unwrap_or(Value::zero(Scalar::Bool));
            // SAFETY: values that come from slots are wholly there.
            Outcome { error_or_kind: result.kind as usize, result: unsafe { result.of.u64 } }
        }
    }
}

/// Calls it as `riverrun_func_call` does, within limits of its own, and the machine's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn riverrun_func_call_within(
    func: Option<&Func>,
    machine: Option<Machine>,
    limits: Option<&Limits>,
    arguments: *const Value,
    arguments_len: usize,
    results: *mut Value,
    results_len: usize,
) -> Returned {
    guard(|| {
        let (func, limits) = (given(func, "func")?, given(limits, "limits")?);
        let (arguments, results) =
            (array(arguments, arguments_len, "arguments")?, array_mut(results, results_len, "results")?);
        with(machine, |machine| within(machine, limits, || call(func, machine, arguments, results)))
    })
}

#[inline(always)]
fn call(func: &Func, machine: RawMachine<Host>, arguments: &[Value], results: &mut [Value]) -> Result<()> {
    let parameters = func.func.parameters();
    counted("arguments", arguments.len(), parameters.len())?;
    counted("results", results.len(), func.results.len())?;
    let mut slots = [const { MaybeUninit::uninit() }; PARAMETERS_MAX];
    for (index, (&scalar, value)) in parameters.iter().zip(arguments).enumerate() {
        let slot = value.to_slot(scalar).ok_or_else(|| wrong_kind("argument", index, value.kind, scalar))?;
        slots[index].write(slot);
    }
    float_environment::check()?;
    let slots = slots.as_mut_ptr().cast::<u64>();
    // SAFETY: there are as many slots as the function has parameters, and the header demands that the machine is alive
    // and used by one thread; nothing of it is borrowed.
    unsafe {
        if results.len() > 1 {
            return call_for_all(func, machine, slots, results);
        }
        let slot = func.func.call_raw_first::<_, Box<Error>>(machine, slots)?;
        if let [result] = results {
            *result = Value::from_slot(func.results[0], slot);
        }
    }
    Ok(())
}

/// Calls a function of any number of results.
///
/// # Safety
/// As [`DynFunc::call_raw`].
#[inline(never)]
unsafe fn call_for_all(func: &Func, machine: RawMachine<Host>, slots: *mut u64, results: &mut [Value]) -> Result<()> {
    // SAFETY: as the caller promises; the call writes as many slots as there are results.
    unsafe {
        func.func.call_raw::<_, Box<Error>>(machine, slots)?;
        for (index, (result, &scalar)) in results.iter_mut().zip(&func.results).enumerate() {
            *result = Value::from_slot(scalar, *slots.add(index));
        }
    }
    Ok(())
}
