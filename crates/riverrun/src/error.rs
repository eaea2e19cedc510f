//! What can go wrong: loading, resources, guests' traps, hosts' errors.

use std::fmt;

use riverrun_program::{Absent, LoadError, absent};
use riverrun_vm::{Fault, MapError, TrapCause};

use crate::backtrace::{Backtrace, Shown};

/// An error of a host function; it ends the guest's run and comes out of [`crate::Machine::run`].
pub type HostError = Box<dyn std::error::Error + Send + Sync + 'static>;

/// Every error of this crate.
///
/// `Display` is one line. `Debug`, which is what `fn main() -> Result<(), riverrun::Error>` prints, has the guest's
/// backtrace on further lines: some 30 at most.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The bytes are no program that can be run.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// Compiled code cannot be used.
    #[error(transparent)]
    Artifact(#[from] riverrun_vm::artifact::ArtifactError),
    /// The program cannot be compiled.
    #[cfg(feature = "compile")]
    #[error("cannot compile the program: {0}")]
    Compile(#[from] riverrun_aot::CompileError),
    /// A file could not be read.
    #[error("cannot read {path}: {source}")]
    File {
        /// The file.
        path: std::path::PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A file could not be written.
    #[error("cannot write {path}: {source}")]
    Output {
        /// The file.
        path: std::path::PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A setting of [`crate::Config`] is out of range.
    #[error("the configuration asks for {0}")]
    Config(String),
    /// The program, below its stack, does not fit the addresses that [`crate::Config::address_bits`] gives a guest.
    #[error(
        "the program ends at {end:#x}, and addresses of {bits} bits end at {room:#x}, where its stack is: raise \
         `Config::address_bits`, lower `Config::stack_size`, or link the program to lower addresses"
    )]
    AddressSpace {
        /// Where the program ends.
        end: u64,
        /// Where it has to end at the latest.
        room: u64,
        /// The configured bits.
        bits: u32,
    },
    /// The host lacks a resource.
    #[error("the host has no more {what}: {source}")]
    Resource {
        /// Which one.
        what: &'static str,
        /// What the host said, and which of its limits that was, with the remedy, where it can be found out.
        source: std::io::Error,
    },
    /// Guest memory could not be mapped as asked.
    #[error("cannot map guest memory: {0}")]
    Map(#[from] MapError),
    /// A guest address that the host was to access is not mapped so.
    #[error(transparent)]
    Fault(#[from] Fault),
    /// A guest address leads to no string.
    #[error(transparent)]
    String(#[from] crate::memory::StringError),
    /// The heap was not used as it can be.
    #[error(transparent)]
    Heap(#[from] crate::heap_error::HeapError),
    /// The guest trapped.
    #[error(transparent)]
    Trap(Box<Trap>),
    /// The run was stopped where compiled code keeps no account of registers, and cannot go on.
    #[error(
        "the run was stopped inside compiled code at pc {pc:#x}, where registers are not known, and cannot go on: \
         set a pc, call a function, or compile with precise (faults, failing host functions)"
    )]
    Lost {
        /// Where it was, as near as is known.
        pc: u64,
    },
    /// A snapshot cannot be taken or used.
    #[error(transparent)]
    Snapshot(#[from] crate::snapshot_error::SnapshotError),
    /// A pool could not make the host's own state for a new machine.
    #[error("the host's own state for a new machine cannot be made: {0}")]
    Data(#[source] HostError),
    /// A host function failed.
    #[error(transparent)]
    Host(Box<HostFailure>),
    /// What guest and host say of a function does not fit.
    #[error(transparent)]
    Link(#[from] LinkError),
    /// The guest has ended itself while one of its functions was called.
    #[error("the guest has exited with status {status} instead of returning")]
    Exited {
        /// Its exit status.
        status: i32,
    },
    /// Guest and host call each other without end.
    #[error("host and guest have called each other {limit} times, which is the limit (`Config::call_depth`)")]
    CallDepth {
        /// The limit.
        limit: u32,
    },
    /// Guest and host call each other, and the host thread's stack is nearly used up.
    #[error(
        "host and guest call each other, and {left} bytes are left of the host thread's stack: too few for another call; make the thread's stack larger, or lower `Config::call_depth`"
    )]
    HostStack {
        /// Bytes that are left.
        left: usize,
    },
}

impl Error {
    /// The trap, if it is one.
    pub fn trap(&self) -> Option<&Trap> {
        match self {
            Error::Trap(trap) => Some(trap),
            _ => None,
        }
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Trap(trap) => fmt::Debug::fmt(trap, f),
            Error::Host(failure) => fmt::Debug::fmt(failure, f),
            other => fmt::Display::fmt(other, f),
        }
    }
}

/// The error's line, and those of the backtrace below it.
fn with_backtrace(f: &mut fmt::Formatter<'_>, error: &dyn fmt::Display, backtrace: &Backtrace) -> fmt::Result {
    write!(f, "{error}")?;
    if backtrace.is_empty() { Ok(()) } else { write!(f, "\n{backtrace}") }
}

/// A host function's failure, which has ended its caller's run.
pub struct HostFailure {
    /// The function; `None` for a handler: of system calls ([`crate::Linker::ecall`]), of traps
    /// ([`crate::Linker::trap`]) or of alarms.
    pub function: Option<String>,
    /// Which handler it is, where it is one.
    pub(crate) handler: Handler,
    /// The address of the guest's call or trap.
    pub pc: u64,
    /// The guest's calls that led there, innermost first.
    pub backtrace: Backtrace,
    /// What the function said.
    pub source: HostError,
}

/// A handler of the host's, which has no name.
#[derive(Clone, Copy)]
pub(crate) enum Handler {
    SystemCall,
    Trap,
    Alarm,
}

/// In one line; the backtrace is the caller's to print.
impl fmt::Display for HostFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The cause comes before the place: a host that has room for one line shows the beginning.
        match (&self.function, self.handler) {
            (Some(function), _) => write!(f, "the host function {function} failed: {}; called", self.source)?,
            (None, Handler::SystemCall) => write!(f, "a system call failed: {}; called", self.source)?,
            (None, Handler::Trap) => write!(f, "the host's handler of the trap failed: {}; trapped", self.source)?,
            (None, Handler::Alarm) => {
                write!(f, "the host's handler of the alarm failed: {}; interrupted", self.source)?
            }
        }
        write!(f, " at pc {:#x}{}", self.pc, self.backtrace.summary())
    }
}

/// The line of `Display`, and the backtrace.
impl fmt::Debug for HostFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        with_backtrace(f, self, &self.backtrace)
    }
}

impl std::error::Error for HostFailure {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&*self.source)
    }
}

/// What guest and host say of a function does not fit.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LinkError {
    /// The guest calls a function that the linker does not have.
    #[error(
        "the program calls the host function {name}{}, which the linker does not have: register it with `Linker::func`",
        signature.as_ref().map_or(String::new(), |signature| format!(" ({signature})"))
    )]
    Missing {
        /// Its name.
        name: String,
        /// How the guest calls it, where it says so.
        signature: Option<String>,
    },
    /// The guest calls a function by other types than the linker has it.
    #[error("the program calls the host function {name} as `{guest}`, but the linker has it as `{host}`")]
    Import {
        /// Its name.
        name: String,
        /// How the guest calls it.
        guest: String,
        /// How the linker has it.
        host: String,
    },
    /// The guest's function has other types than the host calls it with.
    #[error("the program exports {name} as `{guest}`, but the host calls it as `{host}`")]
    Export {
        /// Its name.
        name: String,
        /// Its signature.
        guest: String,
        /// How the host calls it.
        host: String,
    },
    /// The guest has no such function.
    #[error("the program has no function {name}: export it, or keep its symbol (do not strip the program)")]
    NoFunction {
        /// Its name.
        name: String,
    },
    /// The guest does not say which types its function has, and the host has to.
    #[error("the program does not say which types {name} has: export it with its types, or give a signature")]
    NoSignature {
        /// Its name.
        name: String,
    },
    /// A function was called on a machine of another program than its own.
    #[error("the function at {address:#x} is one of another program than the machine's")]
    OtherProgram {
        /// The function's address.
        address: u64,
    },
    /// A function with such types cannot be called by types that are known at run time only.
    #[error(
        "functions of the types `{signature}` cannot be called so: 16 parameters that are no structures, and a \
         result that is none or of two fields, are possible"
    )]
    Unsupported {
        /// The types.
        signature: String,
    },
    /// A function has more parameters than a call gives.
    #[error("the function of the types `{signature}` has more than {limit} parameters: call it by slots")]
    TooManyParameters {
        /// The types.
        signature: String,
        /// How many the call gives at most.
        limit: usize,
    },
    /// No function can be at the address.
    #[error("no function can be at {address:#x}, which is not in the program's text")]
    NoCode {
        /// The address.
        address: u64,
    },
    /// Two functions of one name.
    #[error("the linker already has a function {name}")]
    Duplicate {
        /// The name.
        name: String,
    },
    /// Two names have one hash, by which guests may call them.
    #[error("the names {first} and {second} have the same hash, {hash:#010x}: rename one of them")]
    Collision {
        /// One name.
        first: String,
        /// The other.
        second: String,
        /// Their CRC-32.
        hash: u32,
    },
    /// A name's hash could be a system call's number.
    #[error("the name {name} has the hash {hash}, which could be the number of a system call: rename it")]
    Hash {
        /// The name.
        name: String,
        /// Its CRC-32.
        hash: u32,
    },
    /// A number that no system call can have.
    #[error("system call {number}: numbers are below 100000, and 504 is that of dynamic calls")]
    Number {
        /// The number.
        number: u32,
    },
}

/// A guest's trap: why, where, and who had called.
#[derive(Clone)]
#[non_exhaustive]
pub struct Trap {
    /// Why.
    pub cause: TrapCause,
    /// The address of the instruction that could not complete.
    pub pc: u64,
    /// What the guest said of it just before: for `abort`, what it last wrote to standard error, at most 1 KiB on one
    /// line, such as C++'s type and `what()` of an exception that it does not catch, or a failed assertion. For an
    /// endless wait of a guest with several threads, where each of them waits, in several lines.
    pub message: Option<String>,
    /// The calls that led there, innermost first; none where a limit stopped a run, as that may happen
    /// often ([`crate::Machine::backtrace`] gives them then), and only the innermost where compiled code keeps no
    /// account of registers ([`Backtrace::callers_unknown`]).
    pub backtrace: Backtrace,
}

impl Trap {
    /// The cause, and of an instruction that riverrun does not have, the extension that it belongs to.
    pub fn reason(&self) -> impl fmt::Display + '_ {
        fmt::from_fn(move |f| {
            write!(f, "{}", self.cause)?;
            let TrapCause::IllegalInstruction { bits } = self.cause else { return Ok(()) };
            match absent(bits) {
                Some(Absent { name: Some(name), extension }) => {
                    write!(f, ": {name} needs {extension}, which riverrun does not have")
                }
                Some(Absent { name: None, extension }) => {
                    write!(f, ": it needs {extension}, which riverrun does not have")
                }
                None => Ok(()),
            }
        })
    }
}

/// Cause, function and source line, in one line; the backtrace is the caller's to print, or `Debug`'s.
impl fmt::Display for Trap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(message) = self.message.as_ref().filter(|_| !matches!(self.cause, TrapCause::EndlessWait { .. }))
        else {
            return write!(f, "{} at pc {:#x}{}", self.reason(), self.pc, self.backtrace.summary());
        };
        // The innermost frames are the C library's.
        match self.backtrace.innermost_source() {
            Some((_, function, position)) => {
                write!(f, "the guest aborted: {message}, in {} at {}", Shown(function), Shown(&position))
            }
            None => write!(f, "the guest aborted: {message}"),
        }
    }
}

/// The line of `Display`, and the backtrace, of each thread where all wait for ever.
impl fmt::Debug for Trap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let (TrapCause::EndlessWait { .. }, Some(threads)) = (self.cause, &self.message) {
            return write!(f, "{self}\n{threads}");
        }
        with_backtrace(f, self, &self.backtrace)
    }
}

impl std::error::Error for Trap {}
