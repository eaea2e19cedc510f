//! Open files on their way in messages (`SCM_RIGHTS`), beside the bytes of the pipe that their sockets share. What a file is
//! only those know who send and receive it: `crate::messages`.
//!
//! Invariant: no socket of a pair is on its way, so that no pipe keeps itself alive; the same module sends none.

use std::any::Any;
use std::collections::VecDeque;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// An open file.
pub(crate) type Carried = Arc<dyn Any + Send + Sync>;

/// The files of a message, and which bytes of the pipe are the message's: counted from the next one that is read.
struct Sent {
    bytes: Range<usize>,
    files: Vec<Carried>,
}

/// The files on their way in a pipe.
#[derive(Default)]
pub(crate) struct Rights(VecDeque<Sent>);

impl fmt::Debug for Rights {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Rights({})", self.files().count())
    }
}

impl Rights {
    /// Adds those of a message that is these bytes.
    pub(crate) fn add(&mut self, bytes: Range<usize>, files: &[Carried]) {
        if !files.is_empty() {
            self.0.push_back(Sent { bytes, files: files.to_vec() });
        }
    }

    /// Where reading bytes ends: behind the first message with files.
    pub(crate) fn bound(&self) -> usize {
        self.0.front().map_or(usize::MAX, |sent| sent.bytes.end)
    }

    /// Those of the next so many bytes, if there is one.
    pub(crate) fn within(&self, len: usize) -> Vec<Carried> {
        let reached = self.0.front().filter(|sent| sent.bytes.start < len);
        reached.map(|sent| sent.files.clone()).unwrap_or_default()
    }

    /// Takes those of the next so many bytes, which are read.
    pub(crate) fn take(&mut self, len: usize) -> Vec<Carried> {
        let is_reached = self.0.front().is_some_and(|sent| sent.bytes.start < len);
        let taken = if is_reached { self.0.pop_front() } else { None };
        for Sent { bytes, .. } in &mut self.0 {
            *bytes = bytes.start.saturating_sub(len)..bytes.end.saturating_sub(len);
        }
        taken.map(|sent| sent.files).unwrap_or_default()
    }

    pub(crate) fn files(&self) -> impl Iterator<Item = &Carried> {
        self.0.iter().flat_map(|sent| &sent.files)
    }

    /// Drops them all.
    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }
}
