//! Why guest code stopped.

use std::fmt;

/// The reason of a trap. Addresses are guest addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum TrapCause {
    /// An encoding that is no instruction of the supported set, with its bits.
    IllegalInstruction {
        /// The 16 or 32 bits found.
        bits: u32,
    },
    /// An `ebreak`.
    Breakpoint,
    /// A load from an address that is not mapped readable.
    LoadFault {
        /// The lowest address that could not be read.
        address: u64,
    },
    /// A store to an address that is not mapped writable.
    StoreFault {
        /// The lowest address that could not be written.
        address: u64,
    },
    /// A load or store just below the stack: it has overflowed.
    StackOverflow {
        /// The address accessed.
        address: u64,
    },
    /// An atomic access whose address is not a multiple of its size.
    MisalignedAtomic {
        /// The address accessed.
        address: u64,
    },
    /// A jump to an address outside the program's text.
    FetchFault {
        /// The target.
        address: u64,
    },
    /// A call of an import that the program does not declare.
    UnboundImport {
        /// The import's number.
        index: u32,
    },
    /// The fuel is used up; the instruction at the trap's pc has not been executed.
    OutOfFuel,
    /// The host has interrupted the machine. Engines report this for deadlines, too; the machine turns it into
    /// [`TrapCause::Deadline`].
    Interrupted,
    /// The deadline has passed.
    Deadline,
    /// A signal that the guest sent to itself (`abort` sends 6), by number.
    Signal {
        /// The signal's Linux number.
        number: u32,
    },
    /// A system call that waits for what cannot come, without a timeout.
    EndlessWait {
        /// The system call.
        call: &'static str,
        /// What it waits for, and why that cannot come.
        reason: &'static str,
    },
}

impl fmt::Display for TrapCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            TrapCause::IllegalInstruction { bits } if bits & 3 == 3 => write!(f, "illegal instruction {bits:#010x}"),
            TrapCause::IllegalInstruction { bits } => write!(f, "illegal instruction {bits:#06x}"),
            TrapCause::Breakpoint => write!(f, "breakpoint"),
            TrapCause::LoadFault { address } => write!(f, "load from unmapped or unreadable address {address:#x}"),
            TrapCause::StoreFault { address } => write!(f, "store to unmapped or read-only address {address:#x}"),
            TrapCause::StackOverflow { address } => write!(f, "stack overflow at address {address:#x}"),
            TrapCause::MisalignedAtomic { address } => write!(f, "misaligned atomic access to address {address:#x}"),
            TrapCause::FetchFault { address } => write!(f, "jump to address {address:#x}, which is not in the text"),
            TrapCause::UnboundImport { index } => {
                write!(f, "call of import {index}, which the program does not declare")
            }
            TrapCause::OutOfFuel => write!(f, "out of fuel"),
            TrapCause::Interrupted => write!(f, "interrupted by the host"),
            TrapCause::Deadline => write!(f, "the deadline has passed"),
            TrapCause::Signal { number } => match signal_name(number) {
                Some(name) => write!(f, "the guest sent itself {name} (signal {number})"),
                None => write!(f, "the guest sent itself signal {number}"),
            },
            TrapCause::EndlessWait { call, reason } => write!(f, "{call}: {reason}"),
        }
    }
}

fn signal_name(number: u32) -> Option<&'static str> {
    Some(match number {
        2 => "SIGINT",
        4 => "SIGILL",
        6 => "SIGABRT",
        8 => "SIGFPE",
        9 => "SIGKILL",
        11 => "SIGSEGV",
        13 => "SIGPIPE",
        15 => "SIGTERM",
        _ => return None,
    })
}

/// A trap: its cause and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Trap {
    /// Why.
    pub cause: TrapCause,
    /// The address of the instruction that could not complete; the target of a jump that left
    /// the text.
    pub pc: u64,
}
