//! Errors for C, and the wrapper around each function of the interface.

use std::any::Any;
use std::ffi::CString;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

use riverrun::raw::{Import, RawMachine, SlotError};
use riverrun::{Frame, HostError, HostFailure, TrapCause};

use crate::failure::{FrameText, Trap};
use crate::host_data::Host;
use crate::owned::Owned;

pub(crate) use crate::failure::ErrorKind;

/// An error: message and details.
///
/// Errors are owned: `riverrun_error_delete` frees them.
#[repr(C)]
pub struct Error {
    /// First, where engines look for it.
    _failing: SlotError,
    pub(crate) kind: ErrorKind,
    pub(crate) message: CString,
    pub(crate) trap: Option<Trap>,
    pub(crate) frames: Vec<FrameText>,
    pub(crate) status: i32,
    /// The host's data, in an error that the host has made.
    pub(crate) data: Owned,
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {:?}", self.kind, self.message)
    }
}

/// Without the zeros that would end it early.
pub(crate) fn c_string(text: impl Into<String>) -> CString {
    let mut text: String = text.into();
    text.retain(|c| c != '\0');
    CString::new(text).unwrap_or_default()
}

impl Error {
    #[cold]
    pub(crate) fn new(kind: ErrorKind, message: impl Into<String>) -> Box<Error> {
        Box::new(Error {
            _failing: SlotError { fail: fail_call },
            kind,
            message: c_string(message),
            trap: None,
            frames: Vec::new(),
            status: 0,
            data: Owned::NONE,
        })
    }

    /// The same without the host's data.
    pub(crate) fn copy(&self) -> Box<Error> {
        Box::new(Error {
            _failing: SlotError { fail: fail_call },
            kind: self.kind,
            message: self.message.clone(),
            trap: self.trap,
            frames: self.frames.clone(),
            status: self.status,
            data: Owned::NONE,
        })
    }
}

fn frames(backtrace: &[Frame]) -> Vec<FrameText> {
    let text = |frame: &Frame| {
        let place = frame.locations.first();
        FrameText {
            pc: frame.frame.pc,
            function: frame.function.as_deref().map(c_string),
            offset: frame.offset,
            file: place.and_then(|place| place.file.as_deref()).map(c_string),
            line: place.and_then(|place| place.line).unwrap_or(0),
        }
    };
    backtrace.iter().map(text).collect()
}

/// An error that a host function has returned, on its way through the guest.
#[derive(Debug)]
pub(crate) struct Raised(pub(crate) Box<Error>);

impl fmt::Display for Raised {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message.to_string_lossy())
    }
}

impl std::error::Error for Raised {}

impl From<Box<Error>> for Raised {
    fn from(error: Box<Error>) -> Raised {
        Raised(error)
    }
}

impl From<riverrun::Error> for Box<Error> {
    #[cold]
    fn from(error: riverrun::Error) -> Box<Error> {
        use riverrun::Error as E;
        let kind = match &error {
            E::Load(_) => ErrorKind::Load,
            E::Artifact(_) => ErrorKind::Artifact,
            E::File { .. } | E::Output { .. } => ErrorKind::File,
            E::Snapshot(_) => ErrorKind::Snapshot,
            E::Config(_) | E::AddressSpace { .. } => ErrorKind::Config,
            E::Resource { .. } => ErrorKind::Resource,
            E::Map(_) | E::Fault(_) | E::String(_) => ErrorKind::Memory,
            E::Heap(_) => ErrorKind::Heap,
            E::Trap(_) => ErrorKind::Trap,
            E::Lost { .. } => ErrorKind::Lost,
            E::Host(_) => ErrorKind::Host,
            E::Link(_) => ErrorKind::Link,
            E::Exited { .. } => ErrorKind::Exited,
            E::CallDepth { .. } | E::HostStack { .. } => ErrorKind::CallDepth,
            #[cfg(feature = "compile")]
            E::Compile(_) => ErrorKind::Compile,
            _ => ErrorKind::Other,
        };
        let mut this = Error::new(kind, error.to_string());
        match error {
            E::Trap(trap) => {
                this.frames = frames(&trap.backtrace);
                this.trap = Some(Trap::new(trap.cause, trap.pc, this.frames.first()));
            }
            E::Lost { pc } => this.trap = Some(Trap::new(TrapCause::Interrupted, pc, None)),
            E::Exited { status } => this.status = status,
            E::Host(failure) => {
                let HostFailure { backtrace, source, .. } = *failure;
                this.frames = frames(&backtrace);
                this.data = data_of(source);
            }
            _ => {}
        }
        this
    }
}

/// # Safety
/// As [`RawMachine::fail`].
#[cold]
#[inline(never)]
pub(crate) unsafe extern "sysv64" fn fail(import: *const Import, error: Box<Error>) -> ! {
    // SAFETY: as the caller promises.
    unsafe { RawMachine::<Host>::fail(import, Raised(error).into()) }
}

/// Ends the run of this thread's guest, for the error of a function by slots that it has called by this number.
///
/// # Safety
/// As [`RawMachine::fail_call`]; the error is a box that this function owns.
pub(crate) unsafe extern "sysv64" fn fail_call(error: *mut SlotError, number: u64) -> ! {
    // SAFETY: as the caller promises.
    unsafe { RawMachine::<Host>::fail_call(number, Raised(Box::from_raw(error.cast::<Error>())).into()) }
}

/// The host's data, if the error is one of the host's.
fn data_of(source: HostError) -> Owned {
    match source.downcast::<Raised>() {
        Ok(raised) => raised.0.data,
        Err(_) => Owned::NONE,
    }
}

impl From<riverrun_linux::Error> for Box<Error> {
    fn from(error: riverrun_linux::Error) -> Box<Error> {
        use riverrun_linux::Error as E;
        let kind = match error {
            E::Snapshot(error) => return (*error).into(),
            E::FileGone { .. }
            | E::Reopen { .. }
            | E::CurrentDirectory { .. }
            | E::TooManyDescriptors { .. }
            | E::Damaged(_)
            | E::SavedVersion { .. }
            | E::NoState
            | E::NotRestored => ErrorKind::Snapshot,
            _ => ErrorKind::Config,
        };
        Error::new(kind, error.to_string())
    }
}

impl From<riverrun::StringError> for Box<Error> {
    fn from(error: riverrun::StringError) -> Box<Error> {
        riverrun::Error::from(error).into()
    }
}

impl From<riverrun::Fault> for Box<Error> {
    fn from(fault: riverrun::Fault) -> Box<Error> {
        riverrun::Error::from(fault).into()
    }
}

impl From<riverrun::MapError> for Box<Error> {
    fn from(error: riverrun::MapError) -> Box<Error> {
        riverrun::Error::from(error).into()
    }
}

impl From<riverrun::HeapError> for Box<Error> {
    fn from(error: riverrun::HeapError) -> Box<Error> {
        riverrun::Error::from(error).into()
    }
}

/// The result of a function of the interface: an owned error, or `NULL`.
pub(crate) type Returned = Option<Box<Error>>;

/// Runs the body of a function of the interface; a panic becomes an error.
#[inline(always)]
pub(crate) fn guard(body: impl FnOnce() -> Result<(), Box<Error>>) -> Returned {
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(())) => None,
        Ok(Err(error)) => Some(error),
        Err(panic) => Some(panicked(&*panic)),
    }
}

/// As [`guard`], for functions that cannot fail; they return `otherwise` if a handle is NULL.
#[inline(always)]
pub(crate) fn guard_value<T>(otherwise: T, body: impl FnOnce() -> Option<T>) -> T {
    catch_unwind(AssertUnwindSafe(body)).ok().flatten().unwrap_or(otherwise)
}

/// Drops a handle that C returns.
pub(crate) fn delete<T>(handle: Option<Box<T>>) {
    // A destructor that unwinds is the host's fault, which ends here.
    let _ = catch_unwind(AssertUnwindSafe(|| drop(handle)));
}

#[cold]
#[inline(never)]
fn panicked(panic: &(dyn Any + Send)) -> Box<Error> {
    let message = panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    Error::new(
        ErrorKind::Other,
        format!("riverrun has panicked, which is a bug of its own: {}", message.unwrap_or("?")),
    )
}
