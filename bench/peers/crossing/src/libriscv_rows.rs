//! libriscv's rows, by its crate: the guest is that of riverrun, but makes system calls.

use anyhow::{Context, Result, ensure};
use libriscv::sys::RISCVMachine;
use libriscv::{Machine, Options, SyscallContext, SyscallHandler, SyscallId, SyscallRegistry, SyscallRegistryBuilder};

use crate::measure::{MANY, Row};

const A0: usize = 10;
/// More instructions than any sample takes: only 0 would turn counting off.
const LIMIT: u64 = u64::MAX;

unsafe extern "C" fn i64(machine: *mut RISCVMachine) {
    // SAFETY: libriscv calls this with its machine, which outlives the call.
    let Some(mut context) = (unsafe { SyscallContext::from_raw(machine) }) else { return };
    if let Ok(mut registers) = context.registers() {
        let _ = registers.set_x(A0, 42);
    }
}

unsafe extern "C" fn many(machine: *mut RISCVMachine) {
    // SAFETY: as above.
    let Some(mut context) = (unsafe { SyscallContext::from_raw(machine) }) else { return };
    if let Ok(mut registers) = context.registers() {
        let [a, b, c, d, e] = [0, 1, 2, 3, 4].map(|n| registers.x(A0 + n).unwrap_or_default() as i32);
        let _ = registers.set_x(A0, (i64::from(a) + i64::from(b ^ c ^ d ^ e)) as u64);
    }
}

fn machine(elf: &[u8]) -> Result<Machine> {
    let options = Options::builder().max_memory(64 << 20).stack_size(1 << 20).build()?;
    let machine = Machine::new(elf, options, &SyscallRegistry::empty())?;
    // A machine installs libriscv's own handlers when it is made, so ours come after that.
    // SAFETY: the handlers are `extern "C"`, do not panic, and use the machine only while they run.
    let (i64, many) = unsafe { (SyscallHandler::new(i64), SyscallHandler::new(many)) };
    let mut registry = SyscallRegistryBuilder::new();
    registry.register(SyscallId::new(402)?, i64)?;
    registry.register(SyscallId::new(403)?, many)?;
    Ok(machine)
}

pub(crate) fn rows(engine: &str, elf: &[u8]) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    let all = [
        ("nop", "nop", false, 0),
        ("i64", "i64", false, 42),
        ("many", "many", false, MANY),
        ("i64 host", "i64_host", true, 42),
        ("many host", "many_host", true, MANY),
    ];
    for (name, symbol, is_loop, result) in all {
        let mut machine = machine(elf)?;
        let address = machine.address_of(symbol)?.with_context(|| format!("no function {symbol}"))?;
        let mut call = move |argument: u64| -> Result<i64> {
            machine.setup_vmcall(address)?;
            if is_loop {
                machine.registers()?.set_x(A0, argument)?;
            }
            machine.run(LIMIT)?;
            Ok(machine.return_value())
        };
        ensure!(!is_loop && name == "nop" || call(3)? == result, "{engine}: {name}");
        rows.push(Row::new(engine, name, move |times| match is_loop {
            true => {
                call(times).expect("a loop");
            }
            false => {
                for _ in 0..times {
                    call(0).expect("a call");
                }
            }
        }));
    }
    Ok(rows)
}
