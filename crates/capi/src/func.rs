//! Functions of the guest.

use std::ffi::c_char;
use std::mem::offset_of;

use riverrun::raw::InlineFunc;
use riverrun::{DynFunc, Scalar};

use crate::arguments::{Out, given, text, text_if_given};
use crate::error::{Returned, delete, guard, guard_value};
use crate::host_data::Host;
use crate::machine::{Machine, with};
use crate::program::signature;

/// A function of a guest. It can be called on every machine of its program.
#[derive(Debug)]
#[repr(C)]
pub struct Func {
    /// First, at the address of the handle, where inline callers in C expect it.
    inline: InlineFunc,
    pub(crate) results: Box<[Scalar]>,
}

// Inline code in C knows of it that it begins so ([`crate::call::FuncHead`]).
const _: () = assert!(offset_of!(Func, inline) == 0);

/// The maximal number of parameters.
pub const PARAMETERS_MAX: usize = 16;

impl Func {
    fn new(func: DynFunc) -> Box<Func> {
        let results = func.results().collect();
        // Debug builds check more than inline code can.
        Box::new(Func { inline: InlineFunc::new::<Host>(func, !cfg!(debug_assertions)), results })
    }

    pub(crate) fn func(&self) -> &DynFunc {
        self.inline.func()
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
    func.map_or(0, |func| func.func().address())
}

/// How many slots a call takes: as many as parameters, or results.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn riverrun_func_slots(func: Option<&Func>) -> usize {
    func.map_or(0, |func| func.func().slots())
}

/// How many parameters the function has.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn riverrun_func_parameters(func: Option<&Func>) -> usize {
    guard_value(0, || Some(func?.func().parameters().len()))
}

/// How many results the function has: none, one, or the two fields of a structure.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn riverrun_func_results(func: Option<&Func>) -> usize {
    guard_value(0, || Some(func?.results.len()))
}
