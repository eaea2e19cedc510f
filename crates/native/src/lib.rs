//! Artifacts of compiled guest code: what they look like, loading them, entering and leaving their
//! code. The compiler is elsewhere and not needed for any of this.
//!
//! An artifact is a shared object followed by a [`Header`]. Its code keeps the convention that
//! [`convention`] describes; an [`Execution`] runs it, on a host stack of its own. Some functions have bodies besides
//! that are the host's own functions.

mod artifact;
pub mod convention;
#[path = "debugger_x86_64.rs"]
mod debugger;
mod dispatch;
mod enter;
mod error;
mod execution;
mod features;
mod header;
mod host_entries;
mod linked;
mod mapping;
mod stack;

pub use artifact::{Artifact, GUEST_FILE, Symbol};
pub use dispatch::{DISPATCH_SYMBOL, Dispatch, ENTRANCES_SYMBOL, FAULT_EXITS_SECTION, IDENTITY_SYMBOL};
pub use error::ArtifactError;
pub use execution::{CALL_ARGUMENTS, Callable, Entry, Execution, Prepared, call};
pub use features::Features;
pub use header::{ABI, Header, Identity, Options, ProgramHash, TRIPLE};
pub use host_entries::HOST_ENTRIES_SYMBOL;
pub use linked::LinkedArtifact;
pub use stack::MAX_FRAME;
