//! Calls of guest functions: with values, whose kinds are checked against the function's types, and with raw values.
//!
//! The inline functions at the end of `riverrun.h` make calls with few integers themselves ([`FuncHead`]); what they
//! cannot do comes here.

use std::ffi::c_void;
use std::mem::{MaybeUninit, offset_of};
use std::ptr::NonNull;

use riverrun::raw::{Binding, InlineFunc, RawMachine};

use crate::arguments::{Result, array, array_mut, check_array, given, misuse};
use crate::config::Limits;
use crate::error::{Returned, guard};
use crate::func::{Func, PARAMETERS_MAX};
use crate::host::EntryGuardHead;
use crate::host_data::Host;
use crate::machine::{Machine, with};
use crate::value::{KindCode, Value, counted};

/// The version of the layouts that `riverrun.h` compiles into its users, in a name to which they refer:
/// `tests/layout.rs` tells when it has to change.
#[unsafe(no_mangle)]
#[allow(non_upper_case_globals, reason = "C's name")]
pub static riverrun_layout_1: u8 = 1;

/// Calls a function on a machine whose entry guard is open for it, with up to three raw values. If the guard's word is
/// `RIVERRUN_ENTRY_GUARD_CALLING` afterwards, the function has returned this, and the caller opens the guard again.
/// Otherwise the library has made or finished the call, and the guard's `error` says whether it has failed.
pub type FuncCode = unsafe extern "C" fn(
    func: *const Func,
    machine: Machine,
    first: u64,
    second: u64,
    third: u64,
    entry_guard: *mut EntryGuardHead,
) -> u64;

/// The beginning of a function's handle, for the inline functions at the end of this header and for bindings.
#[repr(C)]
#[derive(Debug)]
pub struct FuncHead {
    /// The code that calls it while a machine's entry guard is open for it.
    pub code: FuncCode,
    /// The word of guards that are open for it. No guard has the word of a function that cannot be called so.
    pub entry_token: u64,
    /// The kinds of its parameters, each plus one, from the lowest byte on, and in the highest byte the number of its
    /// results, which is one at most; `UINT32_MAX` if it cannot be called so, or its result has to be checked.
    pub types: u32,
    /// The kind of its result, if it has one.
    pub result: KindCode,
}

const _: () = {
    assert!(offset_of!(FuncHead, code) == offset_of!(InlineFunc, code));
    assert!(offset_of!(FuncHead, entry_token) == offset_of!(InlineFunc, entry_token));
    assert!(offset_of!(FuncHead, types) == offset_of!(InlineFunc, types));
    assert!(offset_of!(FuncHead, result) == offset_of!(InlineFunc, result));
};

impl Binding for Host {
    type Data = Host;

    fn outcome(
        call: impl FnOnce() -> std::result::Result<u64, riverrun::Error>,
    ) -> std::result::Result<u64, NonNull<c_void>> {
        let mut result = 0;
        let failed = guard(|| {
            result = call()?;
            Ok(())
        });
        failed.map_or(Ok(result), |error| Err(NonNull::from(Box::leak(error)).cast()))
    }
}

/// Calls the function with values of its types, and gives its results: none, one or two. They may be in the array of
/// the arguments. Within a host function this calls back into the guest that waits.
///
/// The thread's float environment has to be the default one, as C has it when a program starts: guest code runs
/// in it. Debug builds check that.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn riverrun_func_call(
    func: Option<&Func>,
    machine: Option<Machine>,
    arguments: *const Value,
    arguments_len: usize,
    results: *mut Value,
    results_len: usize,
) -> Returned {
    guard(|| {
        let func = given(func, "func")?;
        let values = Values::new(arguments, arguments_len, results, results_len)?;
        with(machine, |machine| call_values(func, machine, values))
    })
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
        let values = Values::new(arguments, arguments_len, results, results_len)?;
        with(machine, |machine| within(machine, limits, || call_values(func, machine, values)))
    })
}

/// Calls the function with raw values, without a check of their types: wrong types give wrong values, and nothing worse.
/// `slots` holds the arguments, and then the results in the first places and unspecified values in the others. There must be
/// at least as many as `riverrun_func_slots` says; all of those are read. `riverrun_slot_i32` and the like make slots,
/// `riverrun_slot_as_i32` and the like read them.
///
/// The float environment must be as for `riverrun_func_call`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn riverrun_func_call_raw(
    func: Option<&Func>,
    machine: Option<Machine>,
    slots: *mut u64,
    slots_len: usize,
) -> Returned {
    guard(|| {
        let func = given(func, "func")?;
        with(machine, |machine| call_raw(func, machine, slots, slots_len))
    })
}

/// Calls it as `riverrun_func_call_raw` does, within limits of its own, and the machine's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn riverrun_func_call_raw_within(
    func: Option<&Func>,
    machine: Option<Machine>,
    limits: Option<&Limits>,
    slots: *mut u64,
    slots_len: usize,
) -> Returned {
    guard(|| {
        let (func, limits) = (given(func, "func")?, given(limits, "limits")?);
        with(machine, |machine| within(machine, limits, || call_raw(func, machine, slots, slots_len)))
    })
}

/// Does something within limits of a call.
fn within(machine: RawMachine<Host>, limits: &Limits, body: impl FnOnce() -> Result<()>) -> Result<()> {
    let mut failure = None;
    // SAFETY: `with` has found the machine alive and used by this thread alone; nothing of it is borrowed.
    unsafe {
        machine.within(limits.of_call(), || {
            failure = body().err();
            Ok(())
        })?;
    }
    failure.map_or(Ok(()), Err)
}

/// The arrays of a call. They are no slices: they may be one, and the guest's host functions may use them, too.
struct Values {
    arguments: *const Value,
    arguments_len: usize,
    results: *mut Value,
    results_len: usize,
}

impl Values {
    #[inline(always)]
    fn new(arguments: *const Value, arguments_len: usize, results: *mut Value, results_len: usize) -> Result<Values> {
        check_array(arguments, arguments_len, "arguments")?;
        check_array(results, results_len, "results")?;
        Ok(Values { arguments, arguments_len, results, results_len })
    }
}

fn call_values(func: &Func, machine: RawMachine<Host>, values: Values) -> Result<()> {
    let parameters = func.func().parameters();
    counted("arguments", values.arguments_len, parameters.len())?;
    counted("results", values.results_len, func.results.len())?;
    let mut slots = [const { MaybeUninit::<u64>::uninit() }; PARAMETERS_MAX];
    let arguments = array(values.arguments, values.arguments_len, "arguments")?;
    for (index, (&scalar, value)) in parameters.iter().zip(arguments).enumerate() {
        slots[index].write(value.raw(scalar, "argument", index)?);
    }
    check_float_environment()?;
    // SAFETY: a function has at most `PARAMETERS_MAX` parameters and two results; as many slots as parameters were written,
    // and the call writes one for each result. The machine is as in `within`. The results were counted.
    unsafe {
        machine.call(func.func(), slots.as_mut_ptr().cast())?;
        for (index, (&scalar, slot)) in func.results.iter().zip(&slots).enumerate() {
            values.results.add(index).write(Value::from_slot(scalar, slot.assume_init()));
        }
    }
    Ok(())
}

fn call_raw(func: &Func, machine: RawMachine<Host>, slots: *mut u64, slots_len: usize) -> Result<()> {
    let slots = array_mut(slots, slots_len, "slots")?;
    let needed = func.func().slots();
    if slots.len() < needed {
        return Err(misuse(format!("{slots_len} slots were given, but there have to be {needed}")));
    }
    check_float_environment()?;
    // SAFETY: there are enough slots, and the machine is as in `within`.
    unsafe { machine.call(func.func(), slots.as_mut_ptr())? };
    Ok(())
}

#[cfg(not(debug_assertions))]
#[inline(always)]
pub(crate) fn check_float_environment() -> Result<()> {
    Ok(())
}

/// Debug builds check the float environment in which guest code would run: that takes longer than a call.
#[cfg(debug_assertions)]
pub(crate) fn check_float_environment() -> Result<()> {
    use std::hint::black_box;
    let (tiny, one) = (black_box(f64::MIN_POSITIVE), black_box(1.0_f64));
    let has_denormals = black_box(tiny / 2.0) * 2.0 == tiny;
    let is_nearest = black_box(one + f64::EPSILON / 4.0) == 1.0 && black_box(one - f64::EPSILON / 8.0) == 1.0;
    if has_denormals && is_nearest {
        return Ok(());
    }
    Err(misuse(
        "the thread's float environment is not the default one (rounding to nearest, denormal numbers as they \
         are): guest code would compute otherwise",
    ))
}
