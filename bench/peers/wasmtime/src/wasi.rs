//! WASI's functions, defined for Wasmtime.

use peer_common::wasi::{self, BAD_DESCRIPTOR, MODULE, NOT_SUPPORTED, Process, SUCCESS};
use wasmtime::{Caller, Error, Extern, ExternType, Func, Linker, Module, Result, Store, Val};

/// What `proc_exit` ends the program with.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Exit(pub(crate) i32);

impl std::fmt::Display for Exit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "exit with status {}", self.0)
    }
}

impl std::error::Error for Exit {}

/// Defines what `module` imports; whatever is not written here answers "not supported".
pub(crate) fn define(linker: &mut Linker<Process>, store: &mut Store<Process>, module: &Module) -> Result<()> {
    linker.allow_shadowing(true);
    for import in module.imports() {
        let ExternType::Func(signature) = import.ty() else { continue };
        let unsupported = Func::new(&mut *store, signature.clone(), |_, _, results| {
            results.fill(Val::I32(NOT_SUPPORTED));
            Ok(())
        });
        linker.define(&mut *store, import.module(), import.name(), unsupported)?;
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
    linker.func_wrap(MODULE, "clock_time_get", |mut caller: Caller<'_, Process>, _: i32, _: i64, time: i32| {
        with_memory(&mut caller, |memory, _| wasi::clock_time_get(memory, time))
    })?;
    linker.func_wrap(MODULE, "proc_exit", |status: i32| -> Result<()> { Err(Error::new(Exit(status))) })?;
    Ok(())
}

fn with_memory(caller: &mut Caller<'_, Process>, call: impl FnOnce(&mut [u8], &mut Process) -> i32) -> Result<i32> {
    let memory = caller.get_export("memory").and_then(Extern::into_memory);
    let memory = memory.ok_or_else(|| Error::msg("the module exports no memory"))?;
    let (bytes, process) = memory.data_and_store_mut(caller);
    Ok(call(bytes, process))
}
