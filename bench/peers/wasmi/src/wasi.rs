//! As much of WASI preview 1 as a program needs that reads its arguments and prints.

use std::io::Write;

use anyhow::Result;
use wasmi::{Caller, Error, Extern, ExternType, Func, Linker, Memory, Module, Store, Val};

const MODULE: &str = "wasi_snapshot_preview1";
const SUCCESS: i32 = 0;
const BAD_DESCRIPTOR: i32 = 8;
const FAULT: i32 = 21;
const NOT_SUPPORTED: i32 = 58;

/// The guest process: its arguments, each ending in a zero byte.
pub(crate) struct Process {
    arguments: Vec<Vec<u8>>,
}

impl Process {
    pub(crate) fn new(arguments: &[String]) -> Process {
        Process { arguments: arguments.iter().map(|argument| [argument.as_bytes(), b"\0"].concat()).collect() }
    }
}

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
    linker.func_wrap(MODULE, "args_sizes_get", args_sizes_get)?;
    linker.func_wrap(MODULE, "args_get", args_get)?;
    linker.func_wrap(MODULE, "environ_sizes_get", environ_sizes_get)?;
    linker.func_wrap(MODULE, "environ_get", |_: i32, _: i32| SUCCESS)?;
    linker.func_wrap(MODULE, "fd_prestat_get", |_: i32, _: i32| BAD_DESCRIPTOR)?;
    linker.func_wrap(MODULE, "fd_write", fd_write)?;
    linker.func_wrap(MODULE, "proc_exit", |status: i32| -> Result<(), Error> { Err(Error::i32_exit(status)) })?;
    Ok(())
}

fn memory(caller: &Caller<'_, Process>) -> Result<Memory, Error> {
    caller.get_export("memory").and_then(Extern::into_memory).ok_or_else(|| Error::new("the module exports no memory"))
}

/// Writes `values` from `address` on; false if they do not fit.
fn write_words(caller: &mut Caller<'_, Process>, address: i32, values: &[u32]) -> Result<bool, Error> {
    let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    Ok(memory(caller)?.write(caller, address as u32 as usize, &bytes).is_ok())
}

fn errno(done: bool) -> i32 {
    if done { SUCCESS } else { FAULT }
}

fn args_sizes_get(mut caller: Caller<'_, Process>, count: i32, bytes: i32) -> Result<i32, Error> {
    let arguments = &caller.data().arguments;
    let (number, size) = (arguments.len() as u32, arguments.concat().len() as u32);
    Ok(errno(write_words(&mut caller, count, &[number])? && write_words(&mut caller, bytes, &[size])?))
}

fn args_get(mut caller: Caller<'_, Process>, pointers: i32, buffer: i32) -> Result<i32, Error> {
    let arguments = caller.data().arguments.clone();
    let mut addresses = Vec::new();
    let mut next = buffer as u32;
    for argument in &arguments {
        addresses.push(next);
        next += argument.len() as u32;
    }
    let text = memory(&caller)?.write(&mut caller, buffer as u32 as usize, &arguments.concat()).is_ok();
    Ok(errno(text && write_words(&mut caller, pointers, &addresses)?))
}

fn environ_sizes_get(mut caller: Caller<'_, Process>, count: i32, bytes: i32) -> Result<i32, Error> {
    Ok(errno(write_words(&mut caller, count, &[0])? && write_words(&mut caller, bytes, &[0])?))
}

fn fd_write(mut caller: Caller<'_, Process>, fd: i32, vectors: i32, count: i32, written: i32) -> Result<i32, Error> {
    let memory = memory(&caller)?;
    let mut text = Vec::new();
    for index in 0..count as u32 as usize {
        let mut vector = [0; 8];
        let at = vectors as u32 as usize + 8 * index;
        if memory.read(&caller, at, &mut vector).is_err() {
            return Ok(FAULT);
        }
        let [address, size] =
            [0, 4].map(|i| u32::from_le_bytes([vector[i], vector[i + 1], vector[i + 2], vector[i + 3]]));
        match memory.data(&caller).get(address as usize..).and_then(|data| data.get(..size as usize)) {
            Some(bytes) => text.extend_from_slice(bytes),
            None => return Ok(FAULT),
        }
    }
    match fd {
        1 => std::io::stdout().write_all(&text),
        2 => std::io::stderr().write_all(&text),
        _ => return Ok(BAD_DESCRIPTOR),
    }
    .map_err(|error| Error::new(error.to_string()))?;
    Ok(errno(write_words(&mut caller, written, &[text.len() as u32])?))
}
