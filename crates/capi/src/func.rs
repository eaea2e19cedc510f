//! Functions of the guest.

use std::ffi::c_char;

use riverrun::{DynFunc, Scalar};

use crate::arguments::{Out, given, text, text_if_given};
use crate::call_code::FuncHead;
use crate::error::{Returned, delete, guard, guard_value};
use crate::machine::{Machine, with};
use crate::program::signature;
use crate::shape::{FEW, Shape};
use crate::value::{Extension, Value};

/// A function of a guest. It can be called on every machine of its program.
#[derive(Debug)]
#[repr(C)]
pub struct Func {
    /// First, at the address of the handle, where inline callers in C expect it.
    head: FuncHead,
    pub(crate) func: DynFunc,
    pub(crate) results: Box<[Scalar]>,
    pub(crate) few: Few,
}

const _: () = assert!(std::mem::offset_of!(Func, head) == 0);

/// Facts about a function whose arguments and results are all in registers.
#[derive(Debug)]
pub(crate) struct Few {
    /// How many slots it takes; of others, there are more than of any array's elements.
    pub(crate) slots_len: usize,
    /// How many parameters and results there are, for calls by values; likewise.
    pub(crate) parameters_len: usize,
    pub(crate) results_len: usize,
    parameters: [Extension; FEW],
    /// The same in one word ([`Shape`]), for calls of which the caller's compiler knows it.
    pub(crate) shape: Shape,
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
    pub(crate) unsafe fn slots(&self, arguments: *const Value, len: usize) -> Option<[u64; FEW]> {
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

/// The maximal number of parameters.
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
        Box::new(Func { head: FuncHead::of(&func), func, results, few })
    }

    /// Writes the result of a function that has one at most.
    ///
    /// # Safety
    /// If there is one, it has room.
    pub(crate) unsafe fn write_result(&self, slot: u64, results: *mut Value) {
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

/// The function at a guest address, such as a function pointer that the guest has passed.
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
