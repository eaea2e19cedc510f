//! What can go wrong: loading, resources, guests' traps, hosts' errors.

use std::fmt;

use riverrun_program::{FrameDescription as Frame, LoadError};
use riverrun_state::{Fault, MapError, TrapCause};

/// An error of a host function; it ends the guest's run and comes out of [`crate::Machine::run`].
pub type HostError = Box<dyn std::error::Error + Send + Sync + 'static>;

/// Every error of this crate.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The bytes are no program that can be run.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// Compiled code cannot be used.
    #[error(transparent)]
    Artifact(#[from] riverrun_native::ArtifactError),
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
    /// A setting of [`crate::Config`] is out of range.
    #[error("the configuration asks for {0}")]
    Config(String),
    /// The host lacks a resource.
    #[error("the host has no more {what}: {source}")]
    Resource {
        /// Which one.
        what: &'static str,
        /// What the host said.
        source: std::io::Error,
    },
    /// Guest memory could not be mapped as asked.
    #[error("cannot map guest memory: {0}")]
    Map(#[from] MapError),
    /// A guest address that the host was to access is not mapped so.
    #[error(transparent)]
    Fault(#[from] Fault),
    /// The guest trapped.
    #[error(transparent)]
    Trap(Box<Trap>),
    /// The run was stopped where compiled code keeps no account of registers, and cannot go on.
    #[error(
        "the run was stopped inside compiled code at pc {pc:#x}, where registers are not known, and cannot go on: \
         set a pc, call a function, or compile with fuel (limits) or precise (faults)"
    )]
    Lost {
        /// Where it was, as near as is known.
        pc: u64,
    },
    /// A host function failed.
    #[error("a host function failed: {0}")]
    Host(#[source] HostError),
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

/// A guest's trap: why, where, and who had called.
#[derive(Clone, Debug)]
pub struct Trap {
    /// Why.
    pub cause: TrapCause,
    /// The address of the instruction that could not complete.
    pub pc: u64,
    /// The calls that led there, innermost first; none where a limit stopped the guest, as that
    /// may happen often ([`crate::Machine::backtrace`] gives them then).
    pub backtrace: Vec<Frame>,
}

/// The cause and where it came up, in one line; the backtrace is the caller's to print.
impl fmt::Display for Trap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at pc {:#x}", self.cause, self.pc)?;
        match self.backtrace.first() {
            Some(Frame { function: Some(name), offset, .. }) => write!(f, " in {name}+{offset:#x}"),
            _ => Ok(()),
        }
    }
}

impl std::error::Error for Trap {}
