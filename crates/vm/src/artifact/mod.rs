//! Artifacts of compiled guest code: what they look like, loading them, entering and leaving their
//! code. The compiler is elsewhere and not needed for any of this.
//!
//! An artifact is a shared object followed by a [`Header`]. Its code keeps the convention that
//! [`crate::convention`] describes; an [`Execution`] runs it, on a host stack of its own. Some functions have bodies besides
//! that are the host's own functions.

mod debugger;
mod dispatch;
mod error;
mod execution;
mod header;
mod host_abi_entries;
mod linked;
mod loaded;
mod mapping;
mod stack;
mod workspace;

pub use crate::arch::TRIPLE;
pub use crate::callable::Callable;
pub use crate::convention::ABI;
pub use dispatch::{DISPATCH_SYMBOL, Dispatch, FAULT_EXITS_SECTION, IDENTITY_SYMBOL, REENTRY_POINTS_SYMBOL};
pub use error::ArtifactError;
pub use execution::{Entry, Execution, Prepared, call};
pub use header::{Fidelity, Header, Identity, LLVM_INSTRUCTION, Options, ProgramHash, Quick};
pub use host_abi_entries::HOST_ABI_ENTRIES_SYMBOL;
pub use linked::LinkedArtifact;
pub use loaded::{Artifact, GUEST_FILE, Symbol};
pub use stack::MAX_FRAME;
