//! Functions of the guest.

use std::ffi::c_char;
use std::mem::MaybeUninit;

use riverrun::{Attempted, DynFunc, RawMachine, Scalar};

use crate::arguments::{Out, Result, array, array_mut, given, text, text_if_given};
use crate::config::Limits;
use crate::error::{Error, Returned, delete, guard, guard_value};
use crate::machine::{Host, Machine, with};
use crate::program::signature;
use crate::value::{Value, counted, wrong_kind};

/// A function of a guest. It is good for every machine of its program.
#[derive(Debug)]
pub struct Func {
    func: DynFunc,
    results: Box<[Scalar]>,
}

/// Parameters that a function has at most.
pub const PARAMETERS_MAX: usize = 16;

impl Func {
    fn new(func: DynFunc) -> Box<Func> {
        let results = func.results().collect();
        Box::new(Func { func, results })
    }
}

/// The function that the machine's program exports by this name, or that has a symbol of this name.
///
/// `signature` reads `i32 (f32, ptr)`. Where the guest has exported the function with its types, they have to be
/// the same, and NULL stands for them. Where it has not, it is for the host to know them: wrong types then give
/// wrong values, and nothing worse. Types are void, bool, i8, u8, i16, u16, i32, u32, i64, u64, f32, f64, ptr, and
/// as a result `{f32, i64}`, a structure of two, which is two results.
///
/// Programs with a C library have to be run first, until main has returned: their start code makes the library
/// ready. Memory stays as it is then.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn riverrun_func_new(
    machine: Option<Machine>,
    name: *const c_char,
    types: *const c_char,
    func: Out<'_, Box<Func>>,
) -> Returned {
    guard(|| {
        let func = given(func, "func")?;
        let (name, types) = (text(name, "name")?, text_if_given(types, "types")?);
        let types = types.map(signature).transpose()?;
        // SAFETY: the header demands that the machine is alive, and used by one thread.
        let made = with(machine, |machine| Ok(unsafe { machine.dyn_func(name, types.as_ref()) }?))?;
        func.write(Func::new(made));
        Ok(())
    })
}

/// The function at a guest address: a function pointer that the guest has handed over, for example.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn riverrun_func_at(
    machine: Option<Machine>,
    address: u64,
    types: *const c_char,
    func: Out<'_, Box<Func>>,
) -> Returned {
    guard(|| {
        let func = given(func, "func")?;
        let types = signature(text(types, "types")?)?;
        // SAFETY: as above.
        let made = with(machine, |machine| Ok(unsafe { machine.dyn_func_at(address, &types) }?))?;
        func.write(Func::new(made));
        Ok(())
    })
}

/// Frees the handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn riverrun_func_delete(func: Option<Box<Func>>) {
    delete(func);
}

/// The function's guest address.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn riverrun_func_address(func: Option<&Func>) -> u64 {
    func.map_or(0, |func| func.func.address())
}

/// How many slots a call takes: as many as parameters, or results.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn riverrun_func_slots(func: Option<&Func>) -> usize {
    func.map_or(0, |func| func.func.slots())
}

/// Calls the function with values of its types, and gives its results: none, one or two. Within a host function
/// this calls back into the guest that waits.
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
        let (arguments, results) =
            (array(arguments, arguments_len, "arguments")?, array_mut(results, results_len, "results")?);
        with(machine, |machine| call(func, machine, arguments, results))
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
        let (arguments, results) =
            (array(arguments, arguments_len, "arguments")?, array_mut(results, results_len, "results")?);
        with(machine, |machine| within(machine, limits, || call(func, machine, arguments, results)))
    })
}

/// Calls it with values as guest registers hold them, without a check: `slots` are the arguments, and the results
/// take the place of the first ones. There have to be as many as `riverrun_func_slots` says. The functions
/// `riverrun_slot_i32` and its like make slots, `riverrun_slot_as_i32` and its like read them.
///
/// What is demanded of the float environment is as of `riverrun_func_call`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn riverrun_func_call_unchecked(
    func: Option<&Func>,
    machine: Option<Machine>,
    slots: *mut u64,
) -> Returned {
    // SAFETY: the header demands as many slots, and that the machine is alive and used by one thread; nothing of it is
    // borrowed.
    match at_once(func, machine, |func, machine| unsafe { func.attempt_raw(machine, slots) }) {
        Ok(()) => None,
        // SAFETY: as before.
        Err(attempted) => unsafe { unchecked_otherwise(func, machine, slots, attempted) },
    }
}

/// Calls a function if nothing has to be seen to first: what is left is done by a function of its own, so that the
/// registers and the room that it needs are not kept for it here.
#[inline(always)]
fn at_once<R>(
    func: Option<&Func>,
    machine: Option<Machine>,
    attempt: impl FnOnce(&DynFunc, RawMachine<Host>) -> std::result::Result<R, Attempted>,
) -> std::result::Result<R, Attempted> {
    match (func, machine) {
        // Debug builds look at more.
        (Some(func), Some(machine)) if !cfg!(debug_assertions) => attempt(&func.func, machine.0),
        _ => Err(Attempted::NOT),
    }
}

/// # Safety
/// As of [`riverrun_func_call_unchecked`], which has attempted it.
#[cold]
#[inline(never)]
unsafe fn unchecked_otherwise(
    func: Option<&Func>,
    machine: Option<Machine>,
    slots: *mut u64,
    attempted: Attempted,
) -> Returned {
    guard(|| {
        let func = given(func, "func")?;
        with(machine, |machine| {
            float_environment::check()?;
            // SAFETY: as the caller promises.
            unsafe { func.func.finish_raw(machine, slots, attempted) }
        })
    })
}

/// What a call has come to.
#[repr(C)]
#[derive(Debug)]
pub struct Called {
    /// Why it has failed, or NULL.
    pub error: Option<Box<Error>>,
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
    // SAFETY: as of `riverrun_func_call_unchecked`.
    for_result(func, machine, |func, machine| unsafe { func.call_raw_first(machine, slots) })
}

/// Calls a function for its first result.
#[inline(always)]
fn for_result(
    func: Option<&Func>,
    machine: Option<Machine>,
    call: impl FnOnce(&DynFunc, RawMachine<Host>) -> Result<u64>,
) -> Called {
    let mut result = 0;
    let error = guard(|| {
        let func = given(func, "func")?;
        with(machine, |machine| {
            float_environment::check()?;
            result = call(&func.func, machine)?;
            Ok(())
        })
    });
    Called { error, result }
}

/// Calls it as `riverrun_func_call_for_result` does, with slots for up to three parameters given as values; those that
/// the function does not have are ignored. Faster by the way through memory. A function with more parameters is an
/// error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn riverrun_func_call_few(
    func: Option<&Func>,
    machine: Option<Machine>,
    first: u64,
    second: u64,
    third: u64,
) -> Called {
    let arguments = [first, second, third];
    // SAFETY: the header demands that the machine is alive and used by one thread; nothing of it is borrowed.
    match at_once(func, machine, |func, machine| unsafe { func.attempt_raw_few(machine, arguments) }) {
        Ok(result) => Called { error: None, result },
        // Lest they are kept for this while the guest runs.
        // SAFETY: as before.
        Err(attempted) if attempted.has_begun() => unsafe { few_otherwise(func, machine, 0, 0, 0, attempted) },
        // SAFETY: as before.
        Err(attempted) => unsafe { few_otherwise(func, machine, first, second, third, attempted) },
    }
}

/// # Safety
/// As of [`riverrun_func_call_few`], which has attempted it.
#[cold]
#[inline(never)]
unsafe fn few_otherwise(
    func: Option<&Func>,
    machine: Option<Machine>,
    first: u64,
    second: u64,
    third: u64,
    attempted: Attempted,
) -> Called {
    let arguments = [first, second, third];
    // SAFETY: as the caller promises.
    for_result(func, machine, |func, machine| unsafe { func.finish_raw_few(machine, arguments, attempted) })
}

/// Calls it as `riverrun_func_call_unchecked` does, within limits of its own, and the machine's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn riverrun_func_call_unchecked_within(
    func: Option<&Func>,
    machine: Option<Machine>,
    limits: Option<&Limits>,
    slots: *mut u64,
) -> Returned {
    guard(|| {
        let (func, limits) = (given(func, "func")?, given(limits, "limits")?);
        with(machine, |machine| within(machine, limits, || call_unchecked(func, machine, slots)))
    })
}

fn within(machine: RawMachine<Host>, limits: &Limits, body: impl FnOnce() -> Result<()>) -> Result<()> {
    let mut failure = None;
    // SAFETY: the header demands that the machine is alive, and used by one thread; nothing of it is borrowed.
    unsafe {
        machine.within(limits.of_call(), || {
            failure = body().err();
            Ok(())
        })?;
    }
    failure.map_or(Ok(()), Err)
}

fn call_unchecked(func: &Func, machine: RawMachine<Host>, slots: *mut u64) -> Result<()> {
    // SAFETY: both are alive; callers have as many slots.
    unsafe { riverrun_func_call_unchecked(Some(func), Some(Machine(machine)), slots) }.map_or(Ok(()), Err)
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

/// Debug builds look whether guest code would run in the float environment that is demanded: asking for it takes
/// longer than a call.
mod float_environment {
    #[cfg(not(debug_assertions))]
    #[inline(always)]
    pub(super) fn check() -> crate::arguments::Result<()> {
        Ok(())
    }

    #[cfg(debug_assertions)]
    pub(super) fn check() -> crate::arguments::Result<()> {
        use std::hint::black_box;
        let (tiny, one) = (black_box(f64::MIN_POSITIVE), black_box(1.0_f64));
        let has_denormals = black_box(tiny / 2.0) * 2.0 == tiny;
        let is_nearest = black_box(one + f64::EPSILON / 4.0) == 1.0 && black_box(one - f64::EPSILON / 8.0) == 1.0;
        if has_denormals && is_nearest {
            return Ok(());
        }
        Err(crate::arguments::misuse(
            "the thread's float environment is not the default one (rounding to nearest, denormal numbers as they \
             are): guest code would compute otherwise",
        ))
    }
}

/// How many parameters the function has.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn riverrun_func_parameters(func: Option<&Func>) -> usize {
    guard_value(0, || Some(func?.func.parameters().len()))
}

/// How many results the function has: none, one, or the two fields of a structure.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn riverrun_func_results(func: Option<&Func>) -> usize {
    guard_value(0, || Some(func?.results.len()))
}
