//! A guest's own faults: the dispatcher offers a trap, and the guest's handler of the signal that Linux sends for it takes
//! it. A trap that no handler takes ends the run by its own cause.

use riverrun::{Caller, Flow, Memory, TrapCause};

use crate::Linux;
use crate::abi::signal;
use crate::signals::{Registers, Sender};

/// Lets a signal handler of the thread that runs take the trap at the pc, if it has one.
pub(crate) fn handle<T>(caller: &mut Caller<'_, T>, get: &impl Fn(&mut T) -> &mut Linux, cause: TrapCause) -> Flow {
    let mut registers = Registers::of(caller);
    let (data, memory) = caller.split();
    let Some((number, sender)) = signal_of(cause, registers.pc, memory) else { return Flow::Trap(cause) };
    if !get(data).deliver_fault(memory, &mut registers, number, sender) {
        return Flow::Trap(cause);
    }
    registers.put(caller);
    Flow::Jump(registers.pc)
}

/// The signal that Linux sends for the trap of an instruction at `pc`; `None` for what no guest of Linux does.
fn signal_of(cause: TrapCause, pc: u64, memory: &Memory) -> Option<(u32, Sender)> {
    const ILL_ILLOPC: u32 = 1;
    const TRAP_BRKPT: u32 = 1;
    const BUS_ADRALN: u32 = 1;
    const SEGV_MAPERR: u32 = 1;
    const SEGV_ACCERR: u32 = 2;
    let (number, code, address) = match cause {
        TrapCause::IllegalInstruction { .. } => (signal::SIGILL, ILL_ILLOPC, pc),
        TrapCause::Breakpoint => (signal::SIGTRAP, TRAP_BRKPT, pc),
        TrapCause::MisalignedAtomic { address } => (signal::SIGBUS, BUS_ADRALN, address),
        TrapCause::LoadFault { address }
        | TrapCause::StoreFault { address }
        | TrapCause::StackOverflow { address }
        | TrapCause::FetchFault { address } => {
            let regions = memory.regions();
            let next = regions.partition_point(|region| region.end <= address);
            let is_mapped = regions.get(next).is_some_and(|region| region.start <= address);
            (signal::SIGSEGV, if is_mapped { SEGV_ACCERR } else { SEGV_MAPERR }, address)
        }
        _ => return None,
    };
    Some((number, Sender::Fault { code, address }))
}
