//! Linkers: the host functions that guests can call.

use std::ffi::{c_char, c_void};
use std::sync::Arc;

use riverrun::raw::{self, RawMachine};
use riverrun::{Caller, HeapOptions, Signature};

use crate::arguments::{Out, Result, given, text};
use crate::config::{Engine, UNLIMITED};
use crate::error::{Raised, Returned, delete, guard};
use crate::host::{Checked, Environment, HostCode, HostFunc, HostFuncRaw, Raw};
use crate::host_data::Host;
use crate::host_words::HostFunction;
use crate::linux::Linux;
use crate::machine::Machine;
use crate::owned::{Destructor, Owned};
use crate::program::{Program, signature};
use crate::serving;

/// The host functions that guests can call. Any number of threads may make machines with it while no thread changes it; a
/// machine keeps the functions that the linker had when the machine was made.
#[derive(Debug)]
pub struct Linker {
    pub(crate) linker: riverrun::Linker<Host>,
    has_linux: bool,
}

/// A linker with no functions: every call to the host is an error, but for Linux's `exit`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn riverrun_linker_new(engine: Option<&Engine>, linker: Out<'_, Box<Linker>>) -> Returned {
    guard(|| {
        let (engine, linker) = (given(engine, "engine")?, given(linker, "linker")?);
        linker.write(Box::new(Linker { linker: riverrun::Linker::new(&engine.0), has_linux: false }));
        Ok(())
    })
}

/// Frees the linker; machines that were made with it stay usable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn riverrun_linker_delete(linker: Option<Box<Linker>>) {
    delete(linker);
}

/// What guests call a host function by.
enum Named<'a> {
    Name(&'a str),
    Number(u32),
}

impl Linker {
    /// Adds a host function: with code for its types, if there is such, else by slots.
    fn add<F: HostFunction>(&mut self, named: Named<'_>, types: Signature, function: F) -> Result<()> {
        let linker = &mut self.linker;
        let Some(code) = F::code(&types) else {
            let by_slots = move |mut caller: Caller<'_, Host>, slots: &mut [u64]| {
                let machine = Machine(RawMachine::of_caller(&mut caller));
                function.call(machine, slots).map_err(|error| Raised(error).into())
            };
            match named {
                Named::Name(name) => linker.dyn_func(name, &types, by_slots)?,
                Named::Number(number) => linker.dyn_syscall(number, &types, by_slots)?,
            };
            return Ok(());
        };
        // SAFETY: the code is for these types, and this environment.
        unsafe {
            match named {
                Named::Name(name) => raw::add_code(linker, name, types, code, Arc::new(function))?,
                Named::Number(number) => raw::add_syscall_code(linker, number, types, code, Arc::new(function))?,
            }
        }
        Ok(())
    }
}

/// Adds a host function that takes values with their types. `types` is a signature such as `i32 (f32, ptr)`.
///
/// `destructor`, which may be NULL, frees `data` when the linker and all machines are gone; at once if this fails.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn riverrun_linker_func(
    linker: Option<&mut Linker>,
    name: *const c_char,
    types: *const c_char,
    function: Option<HostFunc>,
    data: *mut c_void,
    destructor: Option<Destructor>,
) -> Returned {
    let owned = Owned::new(data, destructor);
    guard(|| {
        let (linker, function) = (given(linker, "linker")?, given(function, "function")?);
        let (name, types) = (text(name, "name")?, signature(text(types, "types")?)?);
        let function = Checked::new(owned, function, &types)?;
        linker.add(Named::Name(name), types, function)
    })
}

/// Adds a host function that takes raw values in slots. Otherwise as `riverrun_linker_func`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn riverrun_linker_func_raw(
    linker: Option<&mut Linker>,
    name: *const c_char,
    types: *const c_char,
    function: Option<HostFuncRaw>,
    data: *mut c_void,
    destructor: Option<Destructor>,
) -> Returned {
    let owned = Owned::new(data, destructor);
    guard(|| {
        let (linker, function) = (given(linker, "linker")?, given(function, "function")?);
        let (name, types) = (text(name, "name")?, signature(text(types, "types")?)?);
        linker.add(Named::Name(name), types, Raw::new(owned, function))
    })
}

/// Adds a system call: a host function that guests call by `ecall` with this number in a7. Otherwise as
/// `riverrun_linker_func_raw`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn riverrun_linker_syscall(
    linker: Option<&mut Linker>,
    number: u32,
    types: *const c_char,
    function: Option<HostFuncRaw>,
    data: *mut c_void,
    destructor: Option<Destructor>,
) -> Returned {
    let owned = Owned::new(data, destructor);
    guard(|| {
        let (linker, function) = (given(linker, "linker")?, given(function, "function")?);
        let types = signature(text(types, "types")?)?;
        linker.add(Named::Number(number), types, Raw::new(owned, function))
    })
}

/// Adds a host function that the guest calls directly: for bindings, such as `riverrun.hpp`. It finds `data` at
/// `entry->environment->data`. Guests that can observe the float environment, by their rounding mode or their exceptions,
/// call `guarded` instead, which must compute floats in `riverrun_with_host_floats`; code without floats may be given as
/// both. Otherwise as `riverrun_linker_func`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn riverrun_linker_func_code(
    linker: Option<&mut Linker>,
    name: *const c_char,
    types: *const c_char,
    code: Option<HostCode>,
    guarded: Option<HostCode>,
    data: *mut c_void,
    destructor: Option<Destructor>,
) -> Returned {
    let environment = Arc::new(Owned::new(data, destructor));
    guard(|| {
        let (code, guarded) = (given(code, "code")?, given(guarded, "guarded")?);
        let linker = given(linker, "linker")?;
        let (name, types) = (text(name, "name")?, signature(text(types, "types")?)?);
        // SAFETY: both are functions of these parameters: an import is an import (`crate::host` asserts that),
        // and C's calling convention is this one.
        let [plain, guarded] =
            [code, guarded].map(|code| unsafe { std::mem::transmute::<HostCode, raw::HostFunction>(code) });
        let code = raw::HostCode::new(plain, guarded);
        // SAFETY: the header demands that the code is for these types; the environment begins with the data.
        unsafe { raw::add_code(&mut linker.linker, name, types, code, environment)? };
        Ok(())
    })
}

// C's calling convention is the engines'.
const _: () = assert!(cfg!(all(target_arch = "x86_64", unix)));
const _: () = assert!(size_of::<*const Environment>() == size_of::<usize>());

/// Lets guests use Linux's system calls, as `riverrun_linux_t` grants them: without this, programs with a C
/// library do not run.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn riverrun_linker_add_linux(linker: Option<&mut Linker>) -> Returned {
    guard(|| {
        let linker = given(linker, "linker")?;
        riverrun_linux::add_to_linker(&mut linker.linker, serving::linux_of_caller);
        linker.has_linux = true;
        Ok(())
    })
}

/// Lets guests use the guest heap by the functions of the guest's header `riverrun/heap.h`. The heap may have `limit`
/// bytes; `RIVERRUN_UNLIMITED` is as many as the machine's memory allows.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn riverrun_linker_add_heap(linker: Option<&mut Linker>, limit: u64) -> Returned {
    guard(|| {
        let linker = given(linker, "linker")?;
        let mut options = HeapOptions::new();
        if limit != UNLIMITED {
            options.limit(limit);
        }
        linker.linker.heap(&options)?;
        Ok(())
    })
}

/// Makes a machine of the program, at its first instruction, with these grants, which the caller keeps; NULL grants
/// nothing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn riverrun_machine_new(
    linker: Option<&Linker>,
    program: Option<&Program>,
    granted: Option<&Linux>,
    machine: Out<'_, Machine>,
) -> Returned {
    guard(|| {
        let (linker, program) = (given(linker, "linker")?, given(program, "program")?);
        let machine = given(machine, "machine")?;
        machine.write(instantiate(linker, program, granted)?);
        Ok(())
    })
}

fn instantiate(linker: &Linker, program: &Program, granted: Option<&Linux>) -> Result<Machine> {
    let granted = granted.map_or_else(|| Ok(riverrun_linux::Linux::builder()), Linux::builder)?;
    let mut machine = linker.linker.instantiate(&program.program, Host::new(granted.build()))?;
    if linker.has_linux {
        riverrun_linux::start(&mut machine, |host| &mut host.linux)?;
    }
    Ok(Machine::new(machine))
}
