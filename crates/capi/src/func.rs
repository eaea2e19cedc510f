//! Functions of the guest.

use std::ffi::c_char;
use std::mem::MaybeUninit;
#[cfg(not(debug_assertions))]
use std::mem::offset_of;
use std::ptr;

use riverrun::{DynFunc, RawMachine, Scalar};

use crate::arguments::{Out, Result, array, array_mut, given, misuse, text, text_if_given};
use crate::config::Limits;
use crate::error::{Error, Returned, delete, guard, guard_value};
use crate::machine::{Host, Machine, with};
use crate::program::signature;
use crate::shape::{FEW, Shape};
use crate::value::{Extension, Value, ValueOf, counted, wrong_kind};

#[cfg(not(debug_assertions))]
use riverrun::{by_registers, support::Offsets};

#[cfg(not(debug_assertions))]
const _: () = assert!(offset_of!(Func, func) == 0);

/// Debug builds look at more than can be looked at there.
#[cfg(debug_assertions)]
macro_rules! by_registers {
    (
        $host:ty, begin $begin:tt, end $end:tt, back $back:tt, otherwise $otherwise:path, left $left:path,
        symbols [$any:ident = $call_any:path, $($symbol:ident = $function:path),*], constants $constants:tt
    ) => {
        std::arch::naked_asm!(
            concat!("jmp {", stringify!($any), "} # {otherwise} {left}" $(, " {", stringify!($symbol), "}")*),
            $any = sym $call_any,
            otherwise = sym $otherwise,
            left = sym $left,
            $($symbol = sym $function,)*
        )
    };
    (
        $host:ty, begin $begin:tt, end $end:tt, back $back:tt, otherwise $otherwise:path, left $left:path,
        symbols [], constants $constants:tt
    ) => {
        std::arch::naked_asm!("jmp {otherwise} # {left}", otherwise = sym $otherwise, left = sym $left)
    };
}

/// A function of a guest. It is good for every machine of its program.
#[derive(Debug)]
#[repr(C)]
pub struct Func {
    /// First, as it is called with its address.
    func: DynFunc,
    results: Box<[Scalar]>,
    few: Few,
}

/// What is known of a function that is called by registers alone.
#[derive(Debug)]
struct Few {
    /// How many slots it takes; of others, there are more than of any array's elements.
    slots_len: usize,
    /// How many parameters and results there are, for calls by values; likewise.
    parameters_len: usize,
    results_len: usize,
    parameters: [Extension; FEW],
    /// The same in one word ([`Shape`]), for calls of which the caller's compiler knows it.
    shape: Shape,
}

/// Parameters that a function has at most.
pub const PARAMETERS_MAX: usize = 16;

impl Func {
    fn new(func: DynFunc) -> Box<Func> {
        let results: Box<[Scalar]> = func.results().collect();
        let mut few = Few::NONE;
        let is_plain = func.parameters().iter().chain(&results).all(|&scalar| Extension::of(scalar).is_some());
        if let Some(counts) = func.few() {
            few.slots_len = func.slots();
            few.shape = Shape::of(func.parameters(), &results);
            if is_plain {
                [few.parameters_len, few.results_len] = counts;
                for (parameter, &scalar) in few.parameters.iter_mut().zip(func.parameters()) {
                    *parameter = Extension::of(scalar).unwrap_or(Extension::NONE);
                }
            }
        }
        Box::new(Func { func, results, few })
    }

    /// Writes the result of a function that has one at most.
    ///
    /// # Safety
    /// If there is one, it has room.
    unsafe fn write_result(&self, slot: u64, results: *mut Value) {
        if let [scalar] = *self.results {
            // SAFETY: as the caller promises.
            unsafe { *results = Value::from_slot(scalar, slot) };
        }
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

/// The code of a naked function that calls a function by registers, and keeps where to write its result as a value, where
/// it has one.
macro_rules! gives_value {
    (begin $begin:tt, symbols $symbols:tt, constants [$($constants:tt)*]) => {
        by_registers!(
            Host,
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
                has_result = Offsets::<Host>::RESULTS,
                result_kind = Offsets::<Host>::RESULT_NUMBER,
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
            "test rdi, rdi",
            "je {any}",
            "test rsi, rsi",
            "je {any}",
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

impl Few {
    const NONE: Few = Few {
        slots_len: usize::MAX,
        parameters_len: usize::MAX,
        results_len: usize::MAX,
        parameters: [Extension::NONE; FEW],
        shape: Shape::NONE,
    };

    /// The arguments of a function of so few parameters; nothing, if one is of another type.
    ///
    /// # Safety
    /// There are so many values.
    #[inline(always)]
    unsafe fn slots(&self, arguments: *const Value, len: usize) -> Option<[u64; FEW]> {
        let mut slots = [0; FEW];
        // Without a loop, these stay in registers.
        if len > 0 {
            if arguments.is_null() {
                return None;
            }
            // SAFETY: as the caller promises.
            let slot = |n: usize| unsafe { self.parameters[n].slot_of(&*arguments.add(n)) };
            slots[0] = slot(0)?;
            if len > 1 {
                slots[1] = slot(1)?;
                if len > 2 {
                    slots[2] = slot(2)?;
                }
            }
        }
        Some(slots)
    }
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

/// What a call by values has come to.
#[repr(C)]
#[derive(Debug)]
pub struct Outcome {
    /// The address of the error, if it has failed; else, a number below 256, the kind of the result if there is one.
    pub error_or_kind: usize,
    /// The result as a slot, if there is one.
    pub result: u64,
}

/// Calls it as `riverrun_func_call` does, with slots for up to three arguments given as values, and what their kinds
/// and the number of results are in one word: the arguments' kinds, each plus one, from the lowest byte on, and in the
/// highest byte the number of results, one at most. For the functions at this header's end, and for bindings.
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
        begin [
            "test rdi, rdi",
            "je {otherwise}",
            "test rsi, rsi",
            "je {otherwise}",
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
            result_kind = Offsets::<Host>::RESULT_NUMBER
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
            "test rdi, rdi",
            "je {otherwise}",
            "test rsi, rsi",
            "je {otherwise}",
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

/// The address that is no error's.
const NOT_CALLED: usize = 1;

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
/// the function does not have are ignored. Faster by the way through memory. A function with more parameters is an
/// error. One with two results is not called: the error is the address 1 then, which is not to be freed.
#[unsafe(no_mangle)]
#[unsafe(naked)]
pub unsafe extern "C" fn riverrun_func_call_few(
    func: Option<&Func>,
    machine: Option<Machine>,
    first: u64,
    second: u64,
    third: u64,
) -> Called {
    by_registers!(
        Host,
        // What is pushed nobody looks at.
        begin ["test rdi, rdi", "je {otherwise}", "test rsi, rsi", "je {otherwise}", "push r9"],
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
) -> Called {
    if func.is_some_and(|func| func.results.len() > 1) {
        return Called { error: ptr::without_provenance_mut(NOT_CALLED), result: 0 };
    }
    for_result(|| {
        let func = given(func, "func")?;
        with(machine, |machine| {
            float_environment::check()?;
            // SAFETY: as the caller promises.
            unsafe { func.func.call_raw_few(machine, [first, second, third]) }
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

fn call_unchecked(func: &Func, machine: RawMachine<Host>, slots: *mut u64, slots_len: usize) -> Result<()> {
    // SAFETY: both are alive; callers have as many slots.
    unsafe { riverrun_func_call_unchecked(Some(func), Some(Machine(machine)), slots, slots_len) }.map_or(Ok(()), Err)
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
