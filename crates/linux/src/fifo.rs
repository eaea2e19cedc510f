//! FIFOs: pipes with names. Opening an end waits for the other one.

use std::collections::BTreeMap;

use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use crate::call::Stop;
use crate::pipes::{Pipe, Reader, Writer};

/// An end that a thread opens: it counts as open for those at the other end.
#[derive(Debug)]
struct Waiting<E> {
    end: E,
    /// How often the other end had been opened before.
    since: u64,
}

/// The ends of one kind.
#[derive(Debug)]
struct Side<E> {
    /// How often one has been opened.
    opened: u64,
    /// Those that wait, by the number of the thread.
    waiting: BTreeMap<u32, Waiting<E>>,
}

impl<E> Default for Side<E> {
    fn default() -> Side<E> {
        Side { opened: 0, waiting: BTreeMap::new() }
    }
}

#[derive(Debug, Default)]
pub(crate) struct Fifo {
    pipe: Pipe,
    reads: Side<Reader>,
    writes: Side<Writer>,
}

/// How an end is opened.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OpenAttempt {
    /// The thread that opens it.
    pub(crate) thread: u32,
    pub(crate) blocks: bool,
    /// A signal ends its waiting.
    pub(crate) is_interrupted: bool,
}

/// A FIFO as a snapshot has it.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct SavedFifo {
    /// The number of its pipe, if an end is open.
    pub(crate) pipe: Option<u32>,
    pub(crate) opened: (u64, u64),
    /// Threads that wait, and how often the other end had been opened before.
    pub(crate) reads: Vec<(u32, u64)>,
    pub(crate) writes: Vec<(u32, u64)>,
}

impl<E> Side<E> {
    /// Opens a `new` end, which waits while it is alone, and others have been opened as often as before; `ENXIO` if it
    /// is not to wait.
    fn open(
        &mut self,
        attempt: OpenAttempt,
        others: u64,
        new: impl FnOnce() -> E,
        is_alone: impl FnOnce(&E) -> bool,
    ) -> Result<E, Stop> {
        let Waiting { end, since } = self.waiting.remove(&attempt.thread).unwrap_or_else(|| {
            self.opened = self.opened.wrapping_add(1);
            Waiting { end: new(), since: others }
        });
        if !is_alone(&end) || others != since {
            return Ok(end);
        }
        if !attempt.blocks {
            self.opened = self.opened.wrapping_sub(1);
            return Err(Errno::NXIO.into());
        }
        if attempt.is_interrupted {
            return Err(Errno::INTR.into());
        }
        self.waiting.insert(attempt.thread, Waiting { end, since });
        Err(Stop::WouldWait { streams: 0, span: None })
    }

    /// The threads that wait, and how often others had been opened before.
    fn save(&self) -> Vec<(u32, u64)> {
        self.waiting.iter().map(|(&thread, waiting)| (thread, waiting.since)).collect()
    }

    fn from_saved(opened: u64, saved: &[(u32, u64)], new: impl Fn() -> E) -> Side<E> {
        let waiting = saved.iter().map(|&(thread, since)| (thread, Waiting { end: new(), since }));
        Side { opened, waiting: waiting.collect() }
    }
}

impl Fifo {
    /// Opens the end to read from.
    pub(crate) fn reader(&mut self, attempt: OpenAttempt) -> Result<Reader, Stop> {
        let is_alone = |end: &Reader| attempt.blocks && end.is_hung_up();
        self.reads.open(attempt, self.writes.opened, || opened(&self.pipe).reader(), is_alone)
    }

    /// Opens the end to write to; `ENXIO` if that is not to wait, and no reader is there.
    pub(crate) fn writer(&mut self, attempt: OpenAttempt) -> Result<Writer, Stop> {
        self.writes.open(attempt, self.reads.opened, || opened(&self.pipe).writer(), Writer::is_hung_up)
    }

    pub(crate) fn pipe(&self) -> &Pipe {
        &self.pipe
    }

    /// The threads that wait.
    pub(crate) fn waiting(&self) -> impl Iterator<Item = u32> {
        self.reads.waiting.keys().chain(self.writes.waiting.keys()).copied()
    }

    /// A thread waits no longer.
    pub(crate) fn forget(&mut self, thread: u32) {
        self.reads.waiting.remove(&thread);
        self.writes.waiting.remove(&thread);
    }

    /// Its state; `number` numbers its pipe.
    pub(crate) fn save(&self, number: impl FnOnce(&Pipe) -> u32) -> SavedFifo {
        SavedFifo {
            pipe: self.pipe.is_open().then(|| number(&self.pipe)),
            opened: (self.reads.opened, self.writes.opened),
            reads: self.reads.save(),
            writes: self.writes.save(),
        }
    }

    pub(crate) fn from_saved(saved: &SavedFifo, pipe: Pipe) -> Fifo {
        let reads = Side::from_saved(saved.opened.0, &saved.reads, || pipe.reader());
        let writes = Side::from_saved(saved.opened.1, &saved.writes, || pipe.writer());
        Fifo { reads, writes, pipe }
    }
}

/// A pipe of which an end is to be opened: what it held is gone with its last end.
fn opened(pipe: &Pipe) -> &Pipe {
    if !pipe.is_open() {
        pipe.fill(&[]);
    }
    pipe
}

#[cfg(test)]
mod tests {
    use super::*;

    const WAITS: Stop = Stop::WouldWait { streams: 0, span: None };

    fn by(thread: u32) -> OpenAttempt {
        OpenAttempt { thread, blocks: true, is_interrupted: false }
    }

    #[test]
    fn ends_wait_for_each_other() {
        let mut fifo = Fifo::default();
        let mut buffer = [0; 4];
        assert_eq!(fifo.reader(by(1)).unwrap_err(), WAITS);
        assert_eq!(fifo.reader(by(1)).unwrap_err(), WAITS);
        // A writer that has come and gone has been there.
        let writer = fifo.writer(by(2)).unwrap();
        assert_eq!(writer.write(b"text", true), Ok(4));
        drop(writer);
        let reader = fifo.reader(by(1)).unwrap();
        assert_eq!((reader.read(&mut buffer, true), reader.read(&mut buffer, true)), (Ok(4), Ok(0)));
        drop(reader);
        // What no reader has read is gone with the last end.
        assert_eq!(fifo.writer(OpenAttempt { blocks: false, ..by(2) }).unwrap_err(), Errno::NXIO.into());
        assert_eq!(fifo.writer(by(2)).unwrap_err(), WAITS);
        let reader = fifo.reader(by(1)).unwrap();
        fifo.writer(by(2)).unwrap().write(b"lost", true).unwrap();
        drop(reader);
        let reader = fifo.reader(OpenAttempt { blocks: false, ..by(1) }).unwrap();
        assert_eq!(reader.read(&mut buffer, true), Ok(0));
    }

    #[test]
    fn a_signal_ends_the_waiting() {
        let mut fifo = Fifo::default();
        assert_eq!(fifo.reader(by(1)).unwrap_err(), WAITS);
        assert_eq!(fifo.reader(OpenAttempt { is_interrupted: true, ..by(1) }).unwrap_err(), Errno::INTR.into());
        assert_eq!(fifo.writer(by(2)).unwrap_err(), WAITS);
        let saved = fifo.save(|_| 7);
        assert_eq!(saved.pipe, Some(7));
        let mut again = Fifo::from_saved(&saved, Pipe::default());
        assert!(again.reader(by(1)).is_ok() && again.writer(by(2)).is_ok());
    }
}
