//! Runs a WASI command on Wasmtime and prints `{"cpu_seconds": S}` as the last line of standard error; or,
//! with `--compile MODULE FILE`, compiles it into a file that it runs too; or, with `--instances MODULE COUNT` or
//! `--pooled-instances MODULE COUNT`, makes many instances of it.
//!
//! The time is that of the guest's run only, not of compiling and instantiating the module.

mod instances;
mod wasi;

use anyhow::{Context, Result, bail};
use peer_common::wasi::Process;
use wasmtime::{Config, Engine, Linker, Module, Store};

fn main() -> Result<()> {
    let mut config = Config::new();
    config.wasm_wide_arithmetic(true);
    let (path, arguments) = peer_common::arguments()?;
    if let mode @ ("--instances" | "--pooled-instances") = path.as_str() {
        let [_, module, count] = &arguments[..] else { bail!("usage: peer-wasmtime {mode} MODULE COUNT") };
        let pooling = mode == "--pooled-instances";
        instances::configure(&mut config, pooling, count)?;
        let engine = Engine::new(&config)?;
        return instances::report(&engine, &Module::from_file(&engine, module)?, pooling, count);
    }
    let engine = Engine::new(&config)?;
    if path == "--compile" {
        let [_, module, output] = &arguments[..] else { bail!("usage: peer-wasmtime --compile MODULE FILE") };
        let wasm = std::fs::read(module).with_context(|| module.clone())?;
        let compiled = engine.precompile_module(&wasm)?;
        return std::fs::write(output, compiled).with_context(|| output.clone());
    }

    let bytes = std::fs::read(&path).with_context(|| path.clone())?;
    let module = if bytes.starts_with(b"\0asm") {
        Module::new(&engine, &bytes)?
    } else {
        // SAFETY: the harness names a file that this program made.
        unsafe { Module::deserialize_file(&engine, &path)? }
    };
    let mut store = Store::new(&engine, Process::new(&arguments));
    let mut linker = Linker::new(&engine);
    wasi::define(&mut linker, &mut store, &module)?;
    let instance = linker.instantiate(&mut store, &module)?;
    let start = instance.get_typed_func::<(), ()>(&mut store, "_start")?;

    let begin = peer_common::cpu_seconds()?;
    let ended = start.call(&mut store, ());
    let seconds = peer_common::cpu_seconds()? - begin;
    if let Err(error) = ended {
        match error.downcast_ref::<wasi::Exit>() {
            Some(wasi::Exit(0)) => {}
            Some(exit) => bail!("{path}: {exit}"),
            None => return Err(error.into()),
        }
    }
    peer_common::report(seconds, None);
    Ok(())
}
