//! Pipes within a machine.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::io::Errno;

use crate::call::Stop;

/// Bytes that a pipe holds, as in Linux.
pub(crate) const CAPACITY: usize = 64 << 10;
/// Bytes that are written in one piece (`PIPE_BUF`).
const ATOMIC: usize = 4096;
/// Descriptors of pipes that a guest may have: bounds what they hold.
pub(crate) const MAX_ENDS: usize = 128;

#[derive(Debug, Default)]
struct Shared {
    bytes: Mutex<VecDeque<u8>>,
    readers: AtomicUsize,
    writers: AtomicUsize,
    /// Count what has been done at each end.
    written: AtomicU64,
    taken: AtomicU64,
}

/// A pipe, which its ends share.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pipe(Arc<Shared>);

impl Pipe {
    /// One with these bytes in it, and no ends yet.
    pub(crate) fn holding(bytes: &[u8]) -> Pipe {
        let pipe = Pipe::default();
        pipe.fill(bytes);
        pipe
    }

    /// Another end to read from.
    pub(crate) fn reader(&self) -> Reader {
        self.0.readers.fetch_add(1, Ordering::Relaxed);
        Reader(self.clone(), true)
    }

    /// One that no descriptor has: it does not count.
    pub(crate) fn kept_reader(&self) -> Reader {
        Reader(self.clone(), false)
    }

    /// Another end to write to.
    pub(crate) fn writer(&self) -> Writer {
        self.0.writers.fetch_add(1, Ordering::Relaxed);
        Writer(self.clone(), true)
    }

    /// One that no descriptor has: it does not count.
    pub(crate) fn kept_writer(&self) -> Writer {
        Writer(self.clone(), false)
    }

    /// The bytes that have been written and not been read.
    pub(crate) fn contents(&self) -> Vec<u8> {
        self.bytes().iter().copied().collect()
    }

    /// Replaces these.
    pub(crate) fn fill(&self, bytes: &[u8]) {
        *self.bytes() = bytes.iter().copied().collect();
    }

    /// A number that no other pipe has at the same time.
    pub(crate) fn identity(&self) -> usize {
        Arc::as_ptr(&self.0).addr()
    }

    fn bytes(&self) -> MutexGuard<'_, VecDeque<u8>> {
        self.0.bytes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The end of a pipe that is read from.
#[derive(Debug)]
pub(crate) struct Reader(Pipe, bool);

/// The end of a pipe that is written to.
#[derive(Debug)]
pub(crate) struct Writer(Pipe, bool);

pub(crate) fn pipe() -> (Reader, Writer) {
    let pipe = Pipe::default();
    (pipe.reader(), pipe.writer())
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.0.0.readers.fetch_sub(usize::from(self.1), Ordering::Relaxed);
        self.0.0.taken.fetch_add(1, Ordering::Relaxed);
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.0.0.writers.fetch_sub(usize::from(self.1), Ordering::Relaxed);
        self.0.0.written.fetch_add(1, Ordering::Relaxed);
    }
}

impl Reader {
    pub(crate) fn pipe(&self) -> &Pipe {
        &self.0
    }

    /// Changes whenever there may be more to read.
    pub(crate) fn activity(&self) -> u64 {
        self.0.0.written.load(Ordering::Relaxed)
    }

    /// Bytes that can be read.
    pub(crate) fn available(&self) -> usize {
        self.0.bytes().len()
    }

    pub(crate) fn is_hung_up(&self) -> bool {
        self.0.0.writers.load(Ordering::Relaxed) == 0
    }

    pub(crate) fn is_ready(&self) -> bool {
        !self.0.bytes().is_empty()
    }

    pub(crate) fn read(&self, buffer: &mut [u8], blocking: bool) -> Result<usize, Stop> {
        let mut bytes = self.0.bytes();
        let len = bytes.len().min(buffer.len());
        if len == 0 && !buffer.is_empty() && !self.is_hung_up() {
            return Err(would_wait(blocking));
        }
        self.0.0.taken.fetch_add(1, Ordering::Relaxed);
        for (to, from) in buffer.iter_mut().zip(bytes.drain(..len)) {
            *to = from;
        }
        Ok(len)
    }
}

impl Writer {
    pub(crate) fn pipe(&self) -> &Pipe {
        &self.0
    }

    /// Changes whenever there may be more room.
    pub(crate) fn activity(&self) -> u64 {
        self.0.0.taken.load(Ordering::Relaxed)
    }

    /// Bytes that have been written and not been read.
    pub(crate) fn waiting(&self) -> usize {
        self.0.bytes().len()
    }

    pub(crate) fn is_hung_up(&self) -> bool {
        self.0.0.readers.load(Ordering::Relaxed) == 0
    }

    pub(crate) fn is_ready(&self) -> bool {
        self.0.bytes().len() + ATOMIC <= CAPACITY
    }

    pub(crate) fn write(&self, from: &[u8], blocking: bool) -> Result<usize, Stop> {
        if self.is_hung_up() {
            return Err(Errno::PIPE.into());
        }
        let mut bytes = self.0.bytes();
        let room = CAPACITY.saturating_sub(bytes.len());
        let len = room.min(from.len());
        // Few bytes are written at once, or not at all.
        if len < from.len().min(ATOMIC) {
            return Err(would_wait(blocking));
        }
        self.0.0.written.fetch_add(1, Ordering::Relaxed);
        bytes.extend(&from[..len]);
        Ok(len)
    }
}

/// Why a transfer that finds no bytes, or no room, gives no result.
pub(crate) fn would_wait(blocking: bool) -> Stop {
    match blocking {
        true => Stop::WouldWait { streams: 0 },
        false => Errno::AGAIN.into(),
    }
}
