//! WASI's functions, defined for wasmi.

use anyhow::Result;
use peer_common::wasi::{self, BAD_DESCRIPTOR, MODULE, NOT_SUPPORTED, Process, SUCCESS};
use wasmi::{Caller, Error, Extern, ExternType, Func, Linker, Module, Store, Val};

/// Defines what `module` imports; whatever is not written here answers "not supported".
pub(crate) fn define(linker: &mut Linker<Process>, store: &mut Store<Process>, module: &Module) -> Result<()> {
    linker.allow_shadowing(true);
    for import in module.imports() {
        let ExternType::Func(signature) = import.ty() else { continue };
        let unsupported = Func::new(&mut *store, signature.clone(), |_, _, results| {
            results.fill(Val::I32(NOT_SUPPORTED));
            Ok(())
        });
        linker.define(import.module(), import.name(), unsupported)?;
    }
    linker.func_wrap(MODULE, "args_sizes_get", |mut caller: Caller<'_, Process>, count: i32, bytes: i32| {
        with_memory(&mut caller, |memory, process| process.args_sizes_get(memory, count, bytes))
    })?;
    linker.func_wrap(MODULE, "args_get", |mut caller: Caller<'_, Process>, pointers: i32, buffer: i32| {
        with_memory(&mut caller, |memory, process| process.args_get(memory, pointers, buffer))
    })?;
    linker.func_wrap(MODULE, "environ_sizes_get", |mut caller: Caller<'_, Process>, count: i32, bytes: i32| {
        with_memory(&mut caller, |memory, _| wasi::environ_sizes_get(memory, count, bytes))
    })?;
    linker.func_wrap(MODULE, "environ_get", |_: i32, _: i32| SUCCESS)?;
    linker.func_wrap(MODULE, "fd_prestat_get", |_: i32, _: i32| BAD_DESCRIPTOR)?;
    linker.func_wrap(
        MODULE,
        "fd_write",
        |mut caller: Caller<'_, Process>, fd: i32, vectors: i32, count: i32, written: i32| {
            with_memory(&mut caller, |memory, _| wasi::fd_write(memory, fd, vectors, count, written))
        },
    )?;
    linker.func_wrap(MODULE, "proc_exit", |status: i32| -> Result<(), Error> { Err(Error::i32_exit(status)) })?;
    Ok(())
}

fn with_memory(
    caller: &mut Caller<'_, Process>,
    call: impl FnOnce(&mut [u8], &mut Process) -> i32,
) -> Result<i32, Error> {
    let memory = caller.get_export("memory").and_then(Extern::into_memory);
    let memory = memory.ok_or_else(|| Error::new("the module exports no memory"))?;
    let (bytes, process) = memory.data_and_store_mut(caller);
    Ok(call(bytes, process))
}
