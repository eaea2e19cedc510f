//! Errors and traps.

use std::ffi::{c_char, c_void};
use std::ptr;

use riverrun::TrapCause;

use crate::arguments::{Out, text};
use crate::error::{Error, FrameText, delete, guard_value};
use crate::owned::{Destructor, Owned};

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

/// An error of the host's own, for host functions to return: it ends the guest's run, and comes out of the
/// call that has begun it, with where the guest was. `message` is UTF-8.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn riverrun_error_new(message: *const c_char) -> Option<Box<Error>> {
    let message = text(message, "message");
    guard_value(None, || Some(Some(message.map_or_else(|wrong| wrong, |text| Error::new(ErrorKind::Host, text)))))
}

/// Frees the error. NULL is allowed, as for all functions whose names end in `_delete`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn riverrun_error_delete(error: Option<Box<Error>>) {
    delete(error);
}

/// What kind of error it is.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn riverrun_error_kind(error: Option<&Error>) -> ErrorKind {
    error.map_or(ErrorKind::Misuse, |error| error.kind)
}

/// The error's message: UTF-8, usually one line. It lives as long as the error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn riverrun_error_message(error: Option<&Error>) -> *const c_char {
    error.map_or(c"`error` is NULL", |error| &error.message).as_ptr()
}

/// The trap, of errors of the kinds `RIVERRUN_ERROR_TRAP` and `RIVERRUN_ERROR_LOST`; otherwise NULL. It lives as
/// long as the error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn riverrun_error_trap(error: Option<&Error>) -> Option<&Trap> {
    error.and_then(|error| error.trap.as_ref())
}

/// The guest's exit status, of errors of the kind `RIVERRUN_ERROR_EXITED`; otherwise 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn riverrun_error_exit_status(error: Option<&Error>) -> i32 {
    error.map_or(0, |error| error.status)
}

/// How many calls of the guest had not returned when it trapped, or its host function failed; 0 where that is
/// not known, and 1 where only the innermost is: an access has faulted in compiled code that is not precise.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn riverrun_error_frames(error: Option<&Error>) -> usize {
    error.map_or(0, |error| error.frames.len())
}

/// One of these calls; 0 is the innermost. False if there is no such call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn riverrun_error_frame(error: Option<&Error>, index: usize, frame: Out<'_, Frame>) -> bool {
    let (Some(text), Some(frame)) = (error.and_then(|error| error.frames.get(index)), frame) else { return false };
    let pointer = |text: &Option<std::ffi::CString>| text.as_ref().map_or(ptr::null(), |text| text.as_ptr());
    let FrameText { pc, function, offset, file, line } = text;
    let (function, file) = (pointer(function), pointer(file));
    frame.write(Frame { pc: *pc, function, offset: *offset, file, line: *line });
    true
}

/// Puts data of the host's into an error that a host function is about to return. The error that comes out of
/// the guest has it. `destructor` may be NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn riverrun_error_set_data(
    error: Option<&mut Error>,
    data: *mut c_void,
    destructor: Option<Destructor>,
) {
    let owned = Owned::new(data, destructor);
    guard_value((), || {
        // Without an error the data is freed.
        error?.data = owned;
        Some(())
    });
}

/// The data that `riverrun_error_set_data` has set, or NULL. It lives as long as the error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn riverrun_error_data(error: Option<&Error>) -> *mut c_void {
    error.map_or(ptr::null_mut(), |error| error.data.data)
}
