//! Many machines of a program. libriscv's forks of a machine, which its authors recommend, are not in the crate's
//! interface.

use anyhow::{Context, Result};
use libriscv::{Machine, Options, SyscallRegistry};
use peer_common::instances::{self, Host};

/// Measures machines of the program.
///
/// # Errors
/// As libriscv says.
pub(crate) fn report(program: &str, count: &str) -> Result<()> {
    let elf = std::fs::read(program).with_context(|| program.to_owned())?;
    let touch = machine(&elf)?.address_of("touch")?.context("no function touch")?;
    instances::report(&mut Machines { elf, touch }, count)
}

fn machine(elf: &[u8]) -> Result<Machine> {
    let options = Options::builder().max_memory(16 << 20).stack_size(1 << 20).build()?;
    Ok(Machine::new(elf, options, &SyscallRegistry::empty())?)
}

struct Machines {
    elf: Vec<u8>,
    touch: u64,
}

impl Host for Machines {
    type Instance = Machine;

    fn create(&mut self) -> Result<Machine> {
        machine(&self.elf)
    }

    fn touch(&mut self, machine: &mut Machine, x: i64) -> Result<i64> {
        const A0: usize = 10;
        machine.setup_vmcall(self.touch)?;
        machine.registers()?.set_x(A0, x as u64)?;
        machine.run(u64::MAX)?;
        Ok(machine.return_value())
    }
}
