//! Runs a WASI command on wasmi and prints `{"cpu_seconds": S}` as the last line of standard error.
//!
//! The time is that of the guest's run only, not of translating and instantiating the module.

mod wasi;

use anyhow::{Context, Result, bail};
use peer_common::wasi::Process;
use wasmi::{Config, Engine, Linker, Module, Store};

fn main() -> Result<()> {
    let (path, arguments) = peer_common::arguments()?;
    let wasm = std::fs::read(&path).with_context(|| path.clone())?;

    let mut config = Config::default();
    config.wasm_wide_arithmetic(true);
    // The default is a thousand calls deep; programs recurse deeper.
    config.set_max_recursion_depth(1 << 20).set_max_stack_height(256 << 20);
    let engine = Engine::new(&config);
    let module = Module::new(&engine, &wasm)?;
    let mut store = Store::new(&engine, Process::new(&arguments));
    let mut linker = Linker::new(&engine);
    wasi::define(&mut linker, &mut store, &module)?;
    let instance = linker.instantiate_and_start(&mut store, &module)?;
    let start = instance.get_typed_func::<(), ()>(&store, "_start")?;

    let begin = peer_common::cpu_seconds()?;
    let ended = start.call(&mut store, ());
    let seconds = peer_common::cpu_seconds()? - begin;
    let status = match ended {
        Ok(()) => 0,
        Err(error) => error.i32_exit_status().ok_or(error).with_context(|| path.clone())?,
    };
    peer_common::report(seconds, None);
    match status {
        0 => Ok(()),
        status => bail!("{path} exited with status {status}"),
    }
}
