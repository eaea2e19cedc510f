//! Runs a static RISC-V program on libriscv, with instruction counting on, and prints
//! `{"instructions": N, "cpu_seconds": S}` as the last line of standard error.
//!
//! With `--instances PROGRAM COUNT`, it makes many machines of a program instead.
//!
//! The time is that of the guest's run only, not of loading it. Built with the feature `translation`,
//! libriscv translates the program as it loads it.

mod instances;

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use anyhow::{Context, Result, bail, ensure};
use libriscv::{Machine, Options, SyscallContext, SyscallHandler, SyscallId, SyscallRegistry, SyscallRegistryBuilder};

const MEMORY_BYTES: u64 = 256 << 20;
const STACK_BYTES: u32 = 8 << 20;

fn main() -> Result<()> {
    let (path, arguments) = peer_common::arguments()?;
    if path == "--instances" {
        let [_, program, count] = &arguments[..] else { bail!("usage: peer-libriscv --instances PROGRAM COUNT") };
        return instances::report(program, count);
    }
    let elf = std::fs::read(&path).with_context(|| path.clone())?;
    let heap = heap_start(&elf).with_context(|| format!("{path} is not a 64-bit ELF file"))?;

    let options = Options::builder().max_memory(MEMORY_BYTES).stack_size(STACK_BYTES).args(&arguments).build()?;
    let mut machine = Machine::new(elf, options, &SyscallRegistry::empty())?;
    replace_brk(heap)?;

    let start = peer_common::cpu_seconds()?;
    // A limit that is never reached: only 0 would turn counting off.
    let ended = machine.run(u64::MAX);
    let seconds = peer_common::cpu_seconds()? - start;
    ended.with_context(|| format!("{path} after {} instructions", machine.instruction_counter()))?;
    peer_common::report(seconds, Some(machine.instruction_counter()));
    match machine.return_value() {
        0 => Ok(()),
        status => bail!("{path} exited with status {status}"),
    }
}

static HEAP_START: AtomicU64 = AtomicU64::new(0);
static HEAP_END: AtomicU64 = AtomicU64::new(0);

/// Installs a `brk` that answers a query with the current end of the heap.
///
/// libriscv's own answers with the heap's start, which makes static glibc programs lay malloc's heap
/// over their thread-local storage. A machine installs libriscv's handlers when it is made, so this
/// must come after that.
fn replace_brk(heap: u64) -> Result<()> {
    HEAP_START.store(heap, Relaxed);
    HEAP_END.store(heap, Relaxed);
    // SAFETY: `brk` is `extern "C"`, does not panic, and uses the machine only while it runs.
    let handler = unsafe { SyscallHandler::new(brk) };
    SyscallRegistryBuilder::new().register(SyscallId::new(214)?, handler)?;
    Ok(())
}

unsafe extern "C" fn brk(machine: *mut libriscv::sys::RISCVMachine) {
    /// What libriscv keeps free between the image and its mmap area.
    const HEAP_BYTES: u64 = 16 << 20;
    /// The register of the first argument and of the result.
    const A0: usize = 10;

    // SAFETY: libriscv calls this with its machine, which outlives the call.
    let Some(mut context) = (unsafe { SyscallContext::from_raw(machine) }) else { return };
    let Ok(mut registers) = context.registers() else { return };
    let start = HEAP_START.load(Relaxed);
    if let Ok(wanted) = registers.x(A0)
        && (start..=start + HEAP_BYTES).contains(&wanted)
    {
        HEAP_END.store(wanted, Relaxed);
    }
    let _ = registers.set_x(A0, HEAP_END.load(Relaxed));
}

/// Where libriscv's heap starts: on the first page after the last loaded segment.
fn heap_start(elf: &[u8]) -> Result<u64> {
    const PT_LOAD: u64 = 1;
    const PAGE: u64 = 4096;
    let field = |at: u64, size: usize| -> Result<u64> {
        let at = usize::try_from(at)?;
        let bytes = elf.get(at..at + size).context("the file is too short")?;
        Ok(bytes.iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte)))
    };
    ensure!(elf.starts_with(b"\x7fELF\x02\x01"), "no header of a little-endian 64-bit file");
    let (table, entry_bytes, entries) = (field(32, 8)?, field(54, 2)?, field(56, 2)?);
    let mut end = 0;
    for header in (0..entries).map(|index| table + index * entry_bytes) {
        if field(header, 4)? == PT_LOAD {
            end = end.max(field(header + 16, 8)?.saturating_add(field(header + 40, 8)?));
        }
    }
    Ok(end.next_multiple_of(PAGE))
}
