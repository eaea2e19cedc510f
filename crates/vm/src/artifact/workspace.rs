//! What compiled code needs only while it runs: a host stack, and a cache of look-ups.
//!
//! A machine whose guest waits gives its own to the thread, and takes the thread's again when the guest goes on: so machines
//! that wait do not hold one each.

use std::cell::Cell;
use std::io;
use std::sync::{Arc, Weak};

use super::loaded::Artifact;
use super::stack::Stack;

/// An entry, with the host address of the function.
#[derive(Clone, Copy, Debug)]
pub(super) enum EntryPoint {
    /// Resumes the suspended frames.
    Resume,
    /// At a function's start.
    Start(usize),
    /// At a re-entry point of a function.
    Inside(usize),
}

/// A cached look-up of a pc.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lookup {
    pub(super) pc: u64,
    pub(super) entry_point: Option<EntryPoint>,
}

/// Entries of the cache of look-ups.
const LOOKUPS: usize = 64;
/// An empty entry.
const EMPTY: Lookup = Lookup { pc: 1, entry_point: None };

/// A host stack, and the cache of look-ups in an artifact.
#[derive(Debug)]
pub(super) struct Workspace {
    pub(super) stack: Stack,
    /// By the pc's lower bits; none before the first. An odd pc marks an empty entry.
    lookups: Option<Box<[Lookup; LOOKUPS]>>,
    /// The artifact that the cache is of.
    artifact: Weak<Artifact>,
}

thread_local! {
    /// The one of a machine that waits.
    static RESTING: Cell<Option<Workspace>> = const { Cell::new(None) };
}

impl Workspace {
    /// One for this artifact.
    ///
    /// # Errors
    /// If the host has no memory for a stack.
    pub(super) fn take(artifact: &Arc<Artifact>) -> io::Result<Workspace> {
        let mut workspace = match RESTING.try_with(Cell::take).ok().flatten() {
            Some(workspace) => workspace,
            None => Workspace { stack: Stack::new()?, lookups: None, artifact: Weak::new() },
        };
        workspace.adopt(artifact);
        Ok(workspace)
    }

    /// Is for this artifact from now on.
    pub(super) fn adopt(&mut self, artifact: &Arc<Artifact>) {
        // The address is no other's: a weak reference keeps it.
        if self.artifact.as_ptr() != Arc::as_ptr(artifact) {
            self.lookups = None;
            self.artifact = Arc::downgrade(artifact);
        }
    }

    /// The entry for this pc, which is that of another pc or empty if this one was not looked up lately.
    pub(super) fn lookup(&mut self, pc: u64) -> &mut Lookup {
        let lookups = self.lookups.get_or_insert_with(|| Box::new([EMPTY; LOOKUPS]));
        &mut lookups[(pc >> 1) as usize % LOOKUPS]
    }

    /// Keeps it for the next run on this thread. Nothing runs on its stack.
    pub(super) fn rest(self) {
        // The one that was there, if any, is given back.
        let _ = RESTING.try_with(|resting| resting.replace(Some(self)));
    }
}
