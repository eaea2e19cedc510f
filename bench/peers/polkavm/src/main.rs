//! Runs a program on PolkaVM and prints `{"cpu_seconds": S}` as the last line of standard error; or, with
//! `--link ELF FILE`, makes PolkaVM's form of a program. `--interpret` before the program's name takes the
//! interpreter. Gas is counted, once a block.
//!
//! The time is that of the guest's run only, not of loading and compiling it.

use anyhow::{Context, Result, anyhow, bail, ensure};
use nix::time::{ClockId, clock_getcpuclockid};
use nix::unistd::Pid;
use polkavm::{BackendKind, Config, Engine, GasMeteringKind, InterruptKind, Module, ModuleConfig, ProgramBlob, Reg};
use polkavm_linker::TargetInstructionSet;

/// As WebAssembly's programs have.
const STACK_BYTES: u32 = 1 << 20;

/// The size of the array that programs print into: see `start-polkavm.c`.
const PRINTED_BYTES: u32 = 256;

fn main() -> Result<()> {
    let (first, mut arguments) = peer_common::arguments()?;
    if first == "--link" {
        let [_, program, output] = &arguments[..] else { bail!("usage: peer-polkavm --link ELF FILE") };
        let elf = std::fs::read(program).with_context(|| program.clone())?;
        let mut config = polkavm_linker::Config::default();
        config.set_min_stack_size(STACK_BYTES);
        let linked = polkavm_linker::program_from_elf(config, TargetInstructionSet::Latest, &elf)
            .map_err(|error| anyhow!("{program}: {error}"))?;
        return std::fs::write(output, linked).with_context(|| output.clone());
    }
    let interpret = first == "--interpret";
    if interpret {
        arguments.remove(0);
    }
    let [path, size] = &arguments[..] else { bail!("usage: peer-polkavm [--interpret] PROGRAM SIZE") };
    let size: u64 = size.parse().context("the size")?;

    let blob = std::fs::read(path).with_context(|| path.clone())?;
    let blob = ProgramBlob::parse(blob.into()).map_err(|error| anyhow!("{path}: {error}"))?;
    let mut config = Config::new();
    config.set_backend(Some(if interpret { BackendKind::Interpreter } else { BackendKind::Compiler }));
    let engine = Engine::new(&config).map_err(|error| anyhow!("{error}"))?;
    let mut module_config = ModuleConfig::new();
    module_config.set_gas_metering(Some(GasMeteringKind::Sync));
    let module = Module::from_blob(&engine, &module_config, blob).map_err(|error| anyhow!("{path}: {error}"))?;
    let run = module.exports().find(|export| export.symbol().as_bytes() == b"run").context("nothing called run")?;
    let mut instance = module.instantiate().map_err(|error| anyhow!("{path}: {error}"))?;
    instance.set_gas(i64::MAX);
    instance.prepare_call_typed(run.program_counter(), (size,));

    // Compiled programs run in a process of their own.
    let clock = match instance.pid() {
        Some(pid) => clock_getcpuclockid(Pid::from_raw(i32::try_from(pid)?))?,
        None => ClockId::CLOCK_PROCESS_CPUTIME_ID,
    };
    let begin = peer_common::seconds(clock)?;
    let ended = instance.run().map_err(|error| anyhow!("{path}: {error}"))?;
    let seconds = peer_common::seconds(clock)? - begin;
    ensure!(matches!(ended, InterruptKind::Finished), "{path}: {ended:?}");

    let address = u32::try_from(instance.reg(Reg::A0))?;
    let text = instance.read_memory(address, PRINTED_BYTES).map_err(|error| anyhow!("{path}: {error}"))?;
    let text = text.split(|&byte| byte == 0).next().unwrap_or_default();
    print!("{}", String::from_utf8_lossy(text));
    peer_common::report(seconds, None);
    Ok(())
}
