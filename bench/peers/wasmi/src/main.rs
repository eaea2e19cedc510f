//! Runs a WASI command on wasmi and prints `{"cpu_seconds": S}` as the last line of standard error.
//!
//! The time is that of the guest's run only, not of translating and instantiating the module.

mod wasi;

use anyhow::{Context, Result, bail};
use nix::time::{ClockId, clock_gettime};
use wasmi::{Config, Engine, Linker, Module, Store};

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let path = arguments.first().context("usage: peer-wasmi MODULE [ARGUMENT]...")?;
    let wasm = std::fs::read(path).with_context(|| path.clone())?;

    let mut config = Config::default();
    config.wasm_wide_arithmetic(true);
    let engine = Engine::new(&config);
    let module = Module::new(&engine, &wasm)?;
    let mut store = Store::new(&engine, wasi::Process::new(&arguments));
    let mut linker = Linker::new(&engine);
    wasi::define(&mut linker, &mut store, &module)?;
    let instance = linker.instantiate_and_start(&mut store, &module)?;
    let start = instance.get_typed_func::<(), ()>(&store, "_start")?;

    let begin = cpu_seconds()?;
    let ended = start.call(&mut store, ());
    let seconds = cpu_seconds()? - begin;
    let status = match ended {
        Ok(()) => 0,
        Err(error) => error.i32_exit_status().ok_or(error).with_context(|| path.clone())?,
    };
    eprintln!("{}", serde_json::json!({ "cpu_seconds": seconds }));
    match status {
        0 => Ok(()),
        status => bail!("{path} exited with status {status}"),
    }
}

/// CPU time that this process has used, in seconds.
fn cpu_seconds() -> Result<f64> {
    let time = clock_gettime(ClockId::CLOCK_PROCESS_CPUTIME_ID)?;
    Ok(time.tv_sec() as f64 + time.tv_nsec() as f64 * 1e-9)
}
