//! What errors consist of: kinds, traps, frames.

use std::ffi::{CString, c_char};
use std::ptr;

use riverrun::TrapCause;

/// What kind of error it is.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// The host has called a function as this header forbids: a handle is NULL, types or counts are wrong, the
    /// machine is running.
    Misuse = 1,
    /// The bytes are no program that can be run.
    Load = 2,
    /// Compiled code cannot be used.
    Artifact = 3,
    /// The program cannot be compiled.
    Compile = 4,
    /// A file cannot be read or written.
    File = 5,
    /// A setting is out of range, or cannot be granted.
    Config = 6,
    /// The host lacks memory or address space.
    Resource = 7,
    /// A guest address is not mapped for the access, or cannot be mapped so.
    Memory = 8,
    /// The guest's heap has no room, or was not used as it can be.
    Heap = 9,
    /// The guest's and the host's types of a function differ, or one of them is missing.
    Link = 10,
    /// The guest trapped: `riverrun_error_trap` has the details.
    Trap = 11,
    /// The run was stopped inside of compiled code where registers are not known, and cannot go on. Functions
    /// can be called.
    Lost = 12,
    /// A host function failed.
    Host = 13,
    /// The guest has ended itself while one of its functions was called: `riverrun_error_exit_status`.
    Exited = 14,
    /// Host and guest call each other too deep.
    CallDepth = 15,
    /// Anything else.
    Other = 16,
    /// A snapshot cannot be taken or used, or a file that its guest had open cannot be opened.
    Snapshot = 17,
}

/// Why a guest trapped.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrapKind {
    /// No instruction; `detail` has its bits.
    IllegalInstruction = 1,
    /// An `ebreak`.
    Breakpoint = 2,
    /// A load from an address that cannot be read; `detail` is the address, as for all faults.
    LoadFault = 3,
    /// A store to an address that cannot be written.
    StoreFault = 4,
    /// An access just below the stack.
    StackOverflow = 5,
    /// An atomic access whose address is not a multiple of its size.
    MisalignedAtomic = 6,
    /// A jump to an address without code.
    FetchFault = 7,
    /// A call of an import that the program does not declare; `detail` is its number.
    UnboundImport = 8,
    /// The fuel is used up.
    OutOfFuel = 9,
    /// The host has interrupted the machine.
    Interrupted = 10,
    /// A signal that the guest has sent to itself, as by `abort`; `detail` is its number.
    Signal = 11,
    /// Anything else.
    Other = 12,
    /// The time is up.
    Deadline = 13,
    /// A system call without a timeout waits for an event that cannot happen.
    EndlessWait = 14,
}

/// A guest's trap.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Trap {
    /// Why.
    pub kind: TrapKind,
    /// The address of the instruction that could not complete.
    pub pc: u64,
    /// What the kind says of it.
    pub detail: u64,
    /// The function that the pc lies in, demangled; NULL if it is not known. It lives as long as the error.
    pub function: *const c_char,
}

// SAFETY: the string is the error's, and does not change.
unsafe impl Send for Trap {}
// SAFETY: likewise.
unsafe impl Sync for Trap {}

impl Trap {
    pub(crate) fn new(cause: TrapCause, pc: u64, frame: Option<&FrameText>) -> Trap {
        let (kind, detail) = match cause {
            TrapCause::IllegalInstruction { bits } => (TrapKind::IllegalInstruction, bits.into()),
            TrapCause::Breakpoint => (TrapKind::Breakpoint, 0),
            TrapCause::LoadFault { address } => (TrapKind::LoadFault, address),
            TrapCause::StoreFault { address } => (TrapKind::StoreFault, address),
            TrapCause::StackOverflow { address } => (TrapKind::StackOverflow, address),
            TrapCause::MisalignedAtomic { address } => (TrapKind::MisalignedAtomic, address),
            TrapCause::FetchFault { address } => (TrapKind::FetchFault, address),
            TrapCause::UnboundImport { index } => (TrapKind::UnboundImport, index.into()),
            TrapCause::OutOfFuel => (TrapKind::OutOfFuel, 0),
            TrapCause::Interrupted => (TrapKind::Interrupted, 0),
            TrapCause::Deadline => (TrapKind::Deadline, 0),
            TrapCause::Signal { number } => (TrapKind::Signal, number.into()),
            TrapCause::EndlessWait { .. } => (TrapKind::EndlessWait, 0),
            _ => (TrapKind::Other, 0),
        };
        let function = frame.and_then(|frame| frame.function.as_ref());
        Trap { kind, pc, detail, function: function.map_or(ptr::null(), |name| name.as_ptr()) }
    }
}

/// A call that had not returned when the guest stopped.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Frame {
    /// The address of the instruction.
    pub pc: u64,
    /// The function, demangled; NULL if it is not known. It lives as long as the error.
    pub function: *const c_char,
    /// How far into the function it is, in bytes.
    pub offset: u64,
    /// The source file; NULL if it is not known. It lives as long as the error.
    pub file: *const c_char,
    /// The line in it; 0 if it is not known.
    pub line: u32,
}

/// A frame's strings, which live as long as the error.
#[derive(Clone)]
pub(crate) struct FrameText {
    pub(crate) pc: u64,
    pub(crate) function: Option<CString>,
    pub(crate) offset: u64,
    pub(crate) file: Option<CString>,
    pub(crate) line: u32,
}
