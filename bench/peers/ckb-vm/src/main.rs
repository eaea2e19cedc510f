//! Runs a program on CKB-VM's interpreter in assembly and prints `{"instructions": N, "cpu_seconds": S}` as
//! the last line of standard error. Each instruction costs one cycle, so that cycles are instructions.
//!
//! The time is that of the guest's run only, not of loading it.

use std::io::Write;

use anyhow::{Context, Result, ensure};
use ckb_vm::machine::VERSION2;
use ckb_vm::machine::asm::{AsmCoreMachine, AsmMachine};
use ckb_vm::registers::{A0, A1, A2, A7};
use ckb_vm::{
    Bytes, DefaultMachineBuilder, DefaultMachineRunner, Error, ISA_A, ISA_B, ISA_IMC, ISA_MOP, Memory, Register,
    SupportMachine, Syscalls,
};

fn main() -> Result<()> {
    let (path, arguments) = peer_common::arguments()?;
    let elf = Bytes::from(std::fs::read(&path).with_context(|| path.clone())?);

    let core = <Box<AsmCoreMachine> as SupportMachine>::new(ISA_IMC | ISA_A | ISA_B | ISA_MOP, VERSION2, u64::MAX);
    let machine =
        DefaultMachineBuilder::new(core).instruction_cycle_func(Box::new(|_| 1)).syscall(Box::new(Print)).build();
    let mut machine = AsmMachine::new(machine);
    machine.load_program(&elf, arguments.into_iter().map(|argument| Ok(Bytes::from(argument))))?;

    let begin = peer_common::cpu_seconds()?;
    let status = machine.run();
    let seconds = peer_common::cpu_seconds()? - begin;
    let status = status.with_context(|| path.clone())?;
    ensure!(status == 0, "{path} exited with status {status}");
    peer_common::report(seconds, Some(machine.machine.cycles()));
    Ok(())
}

/// `write` to standard output.
struct Print;

impl<M: SupportMachine> Syscalls<M> for Print {
    fn initialize(&mut self, _: &mut M) -> Result<(), Error> {
        Ok(())
    }

    fn ecall(&mut self, machine: &mut M) -> Result<bool, Error> {
        const WRITE: u64 = 64;
        if machine.registers()[A7].to_u64() != WRITE {
            return Ok(false);
        }
        let [address, size] = [A1, A2].map(|register| machine.registers()[register].to_u64());
        let text = machine.memory_mut().load_bytes(address, size)?;
        std::io::stdout().write_all(&text).map_err(|error| Error::External(error.to_string()))?;
        machine.set_register(A0, M::REG::from_u64(size));
        Ok(true)
    }
}
