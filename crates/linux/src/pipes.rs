//! Pipes within a machine.

use std::any::Any;
use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use rustix::io::Errno;

use crate::call::Stop;
use crate::rights::{Carried, Rights};

/// Bytes that a pipe holds, as in Linux.
pub(crate) const CAPACITY: usize = 64 << 10;
/// Bytes that are written in one piece (`PIPE_BUF`).
pub(crate) const ATOMIC: usize = 4096;
/// Bytes before a message, which have its length and that of its sender's name, which follows them.
const PREFIX: usize = 4;
/// Bits of the length of a message in them.
const LEN_BITS: u32 = 24;
/// Descriptors of pipes that a guest may have: bounds what they hold.
pub(crate) const MAX_ENDS: usize = 128;

#[derive(Debug, Default)]
struct Shared {
    bytes: Mutex<VecDeque<u8>>,
    /// Files that come with these bytes, if sockets share it.
    rights: Mutex<Rights>,
    readers: AtomicUsize,
    writers: AtomicUsize,
    /// The identity of the pipe whose reader alone sends messages by this one; 0 for any.
    partner: AtomicUsize,
    /// Sockets that read it: two while one is restored in another's place.
    sockets: AtomicUsize,
    /// Whether the last of them went without reading all, and the one that writes has not been told.
    is_reset: AtomicBool,
    /// Count what has been done at each end.
    written: AtomicU64,
    taken: AtomicU64,
    fifo: Mutex<Option<Weak<Owner>>>,
    capacity: Capacity,
}

/// How many bytes a pipe takes now.
#[derive(Debug)]
struct Capacity(AtomicUsize);

impl Default for Capacity {
    fn default() -> Capacity {
        Capacity(AtomicUsize::new(CAPACITY))
    }
}

/// What has the names of a FIFO: an inode, which this file knows nothing of.
pub(crate) type Owner = dyn Any + Send + Sync;

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
        Reader(self.clone(), AtomicBool::new(true))
    }

    /// One that no descriptor has: it does not count.
    pub(crate) fn kept_reader(&self) -> Reader {
        Reader(self.clone(), AtomicBool::new(false))
    }

    /// Another end to write to.
    pub(crate) fn writer(&self) -> Writer {
        self.0.writers.fetch_add(1, Ordering::Relaxed);
        Writer(self.clone(), AtomicBool::new(true))
    }

    /// One that no descriptor has: it does not count.
    pub(crate) fn kept_writer(&self) -> Writer {
        Writer(self.clone(), AtomicBool::new(false))
    }

    /// Makes it the pipe of a FIFO.
    pub(crate) fn set_fifo(&self, fifo: Weak<Owner>) {
        *self.0.fifo.lock().unwrap_or_else(PoisonError::into_inner) = Some(fifo);
    }

    /// The FIFO that it is the pipe of, as long as that has a name or something else keeps it.
    pub(crate) fn fifo(&self) -> Option<Arc<Owner>> {
        self.0.fifo.lock().unwrap_or_else(PoisonError::into_inner).as_ref()?.upgrade()
    }

    /// The bytes that have been written and not been read.
    pub(crate) fn contents(&self) -> Vec<u8> {
        self.bytes().iter().copied().collect()
    }

    /// Bytes that it takes.
    pub(crate) fn capacity(&self) -> usize {
        self.0.capacity.0.load(Ordering::Relaxed)
    }

    /// Makes it take so many bytes, rounded up to pages and a power of two; how many that are. `EPERM` for more than pipes
    /// have, `EBUSY` if it holds more.
    pub(crate) fn set_capacity(&self, bytes: usize) -> Result<usize, Errno> {
        if bytes > CAPACITY {
            return Err(Errno::PERM);
        }
        let bytes = bytes.max(ATOMIC).next_power_of_two();
        if self.bytes().len() > bytes {
            return Err(Errno::BUSY);
        }
        self.0.capacity.0.store(bytes, Ordering::Relaxed);
        self.0.taken.fetch_add(1, Ordering::Relaxed);
        Ok(bytes)
    }

    /// Replaces these. It takes as many bytes as new pipes do from then on.
    pub(crate) fn fill(&self, bytes: &[u8]) {
        self.rights().clear();
        self.0.capacity.0.store(CAPACITY, Ordering::Relaxed);
        *self.bytes() = bytes.iter().copied().collect();
    }

    /// The files on their way in it.
    pub(crate) fn rights(&self) -> MutexGuard<'_, Rights> {
        self.0.rights.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether an end is open.
    pub(crate) fn is_open(&self) -> bool {
        self.0.readers.load(Ordering::Relaxed) + self.0.writers.load(Ordering::Relaxed) > 0
    }

    /// A number that no other pipe has at the same time.
    pub(crate) fn identity(&self) -> usize {
        Arc::as_ptr(&self.0).addr()
    }

    /// Whether who reads another pipe may send messages by this one.
    pub(crate) fn takes_from(&self, other: &Pipe) -> bool {
        matches!(self.0.partner.load(Ordering::Relaxed), partner if partner == 0 || partner == other.identity())
    }

    /// Takes messages from who reads another pipe alone, which is there as long as this holds, or from any.
    pub(crate) fn set_partner(&self, other: Option<&Pipe>) {
        self.0.partner.store(other.map_or(0, Pipe::identity), Ordering::Relaxed);
    }

    /// Notes that a socket reads it.
    pub(crate) fn enter(&self) {
        self.0.sockets.fetch_add(1, Ordering::Relaxed);
    }

    /// Notes that one does not any more; whether it was the last.
    pub(crate) fn leave(&self) -> bool {
        self.0.sockets.fetch_sub(1, Ordering::Relaxed) == 1
    }

    /// Sets whether who has read it is gone and has not read all.
    pub(crate) fn set_reset(&self, is_reset: bool) {
        self.0.is_reset.store(is_reset, Ordering::Relaxed);
    }

    /// Whether that is so, until it was told.
    pub(crate) fn is_reset(&self) -> bool {
        self.0.is_reset.load(Ordering::Relaxed)
    }

    /// Whether that is so; from then on it counts as told.
    pub(crate) fn take_reset(&self) -> bool {
        self.0.is_reset.swap(false, Ordering::Relaxed)
    }

    fn bytes(&self) -> MutexGuard<'_, VecDeque<u8>> {
        self.0.bytes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The pipes that a snapshot has, numbered as they are met.
#[derive(Default)]
pub(crate) struct PipeNumbers {
    numbers: BTreeMap<usize, u32>,
    /// What is in each.
    pub(crate) contents: Vec<Vec<u8>>,
}

impl PipeNumbers {
    pub(crate) fn number(&mut self, pipe: &Pipe) -> u32 {
        *self.numbers.entry(pipe.identity()).or_insert_with(|| {
            self.contents.push(pipe.contents());
            self.contents.len() as u32 - 1
        })
    }
}

/// The end of a pipe that is read from, and whether it counts as open.
#[derive(Debug)]
pub(crate) struct Reader(Pipe, AtomicBool);

/// The end of a pipe that is written to, and whether it counts as open.
#[derive(Debug)]
pub(crate) struct Writer(Pipe, AtomicBool);

pub(crate) fn pipe() -> (Reader, Writer) {
    let pipe = Pipe::default();
    (pipe.reader(), pipe.writer())
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.close();
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.close();
    }
}

/// A message that was read.
pub(crate) struct Message {
    pub(crate) len: usize,
    /// The name of its sender, of any length.
    pub(crate) sender: Vec<u8>,
    pub(crate) files: Vec<Carried>,
}

impl Reader {
    pub(crate) fn pipe(&self) -> &Pipe {
        &self.0
    }

    /// Ends it before it is dropped.
    pub(crate) fn close(&self) {
        if self.1.swap(false, Ordering::Relaxed) {
            if self.0.0.readers.fetch_sub(1, Ordering::Relaxed) == 1 {
                self.0.rights().clear();
            }
            self.0.0.taken.fetch_add(1, Ordering::Relaxed);
        }
    }

    pub(crate) fn is_closed(&self) -> bool {
        !self.1.load(Ordering::Relaxed)
    }

    /// Drops what has been written and not been read.
    pub(crate) fn clear(&self) {
        self.0.fill(&[]);
        self.0.0.taken.fetch_add(1, Ordering::Relaxed);
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
        if !buffer.is_empty() && !self.is_ready() && !self.is_hung_up() {
            return Err(would_wait(blocking));
        }
        Ok(self.read_available(buffer))
    }

    /// Reads what there is.
    pub(crate) fn read_available(&self, buffer: &mut [u8]) -> usize {
        let mut bytes = self.0.bytes();
        let len = bytes.len().min(buffer.len());
        self.0.0.taken.fetch_add(1, Ordering::Relaxed);
        for (to, from) in buffer.iter_mut().zip(bytes.drain(..len)) {
            *to = from;
        }
        len
    }

    /// Copies what would be read next; how many bytes.
    pub(crate) fn peek(&self, buffer: &mut [u8]) -> usize {
        let bytes = self.0.bytes();
        buffer.iter_mut().zip(&*bytes).map(|(to, &from)| *to = from).count()
    }

    /// Reads what there is, or copies it if it `stays`, and the files that come with it: they end what is read.
    pub(crate) fn receive(&self, buffer: &mut [u8], stays: bool) -> (usize, Vec<Carried>) {
        let most = buffer.len().min(self.0.rights().bound());
        match stays {
            true => {
                let len = self.peek(&mut buffer[..most]);
                (len, self.0.rights().within(len))
            }
            false => {
                let len = self.read_available(&mut buffer[..most]);
                (len, self.0.rights().take(len))
            }
        }
    }

    /// The lengths of the next message and of its sender's name, as [`Writer::write_message`] has written them.
    fn lengths(bytes: &VecDeque<u8>) -> Option<(usize, usize)> {
        let mut prefix = [0; PREFIX];
        if bytes.len() < PREFIX {
            return None;
        }
        prefix.iter_mut().zip(bytes).for_each(|(to, &from)| *to = from);
        let prefix = u32::from_le_bytes(prefix);
        // What is restored from bytes that were forged may say anything.
        let name = ((prefix >> LEN_BITS) as usize).min(bytes.len() - PREFIX);
        Some(((prefix as usize & ((1 << LEN_BITS) - 1)).min(bytes.len() - PREFIX - name), name))
    }

    /// The length of the next message.
    pub(crate) fn next_message(&self) -> Option<usize> {
        Reader::lengths(&self.0.bytes()).map(|(len, _)| len)
    }

    /// Copies the beginning of the next message, and drops the rest of it unless it `stays`.
    pub(crate) fn read_message(&self, buffer: &mut [u8], stays: bool) -> Option<Message> {
        let mut bytes = self.0.bytes();
        let (len, name) = Reader::lengths(&bytes)?;
        let whole = PREFIX + name + len;
        buffer.iter_mut().zip(bytes.range(PREFIX + name..whole)).for_each(|(to, &from)| *to = from);
        let sender = bytes.range(PREFIX..PREFIX + name).copied().collect();
        let mut rights = self.0.rights();
        if stays {
            return Some(Message { len, sender, files: rights.within(whole) });
        }
        self.0.0.taken.fetch_add(1, Ordering::Relaxed);
        bytes.drain(..whole);
        Some(Message { len, sender, files: rights.take(whole) })
    }
}

impl Writer {
    pub(crate) fn pipe(&self) -> &Pipe {
        &self.0
    }

    /// Ends it before it is dropped.
    pub(crate) fn close(&self) {
        if self.1.swap(false, Ordering::Relaxed) {
            self.0.0.writers.fetch_sub(1, Ordering::Relaxed);
            self.0.0.written.fetch_add(1, Ordering::Relaxed);
        }
    }

    pub(crate) fn is_closed(&self) -> bool {
        !self.1.load(Ordering::Relaxed)
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
        self.0.bytes().len() + ATOMIC <= self.0.capacity()
    }

    pub(crate) fn write(&self, from: &[u8], blocking: bool) -> Result<usize, Stop> {
        if self.is_hung_up() {
            return Err(Errno::PIPE.into());
        }
        self.write_available(from).map_err(|_| would_wait(blocking))
    }

    /// Writes what there is room for, and files that come with it; `EAGAIN` without room.
    pub(crate) fn send(&self, from: &[u8], files: &[Carried]) -> Result<usize, Errno> {
        let start = self.waiting();
        let len = self.write_available(from)?;
        if len != 0 {
            self.0.rights().add(start..start + len, files);
        }
        Ok(len)
    }

    /// Writes what there is room for; `EAGAIN` without room.
    pub(crate) fn write_available(&self, from: &[u8]) -> Result<usize, Errno> {
        let mut bytes = self.0.bytes();
        let room = self.0.capacity().saturating_sub(bytes.len());
        let len = room.min(from.len());
        // Few bytes are written at once, or not at all.
        if len < from.len().min(ATOMIC) {
            return Err(Errno::AGAIN);
        }
        self.0.0.written.fetch_add(1, Ordering::Relaxed);
        bytes.extend(&from[..len]);
        Ok(len)
    }

    /// Writes a message as a whole, its length and its sender's name before it, with its files: `EAGAIN` if there is no room
    /// now, `EMSGSIZE` if there never is.
    pub(crate) fn write_message(&self, message: &[u8], sender: &[u8], files: &[Carried]) -> Result<(), Errno> {
        let whole = PREFIX + sender.len() + message.len();
        let Some(name) = u8::try_from(sender.len()).ok().filter(|_| whole <= CAPACITY) else {
            return Err(Errno::MSGSIZE);
        };
        let mut bytes = self.0.bytes();
        if bytes.len() + whole > CAPACITY {
            return Err(Errno::AGAIN);
        }
        self.0.0.written.fetch_add(1, Ordering::Relaxed);
        self.0.rights().add(bytes.len()..bytes.len() + whole, files);
        bytes.extend((message.len() as u32 | u32::from(name) << LEN_BITS).to_le_bytes());
        bytes.extend(sender);
        bytes.extend(message);
        Ok(())
    }
}

/// Why a transfer that finds no bytes, or no room, gives no result.
pub(crate) fn would_wait(blocking: bool) -> Stop {
    match blocking {
        true => Stop::WouldWait { streams: 0, span: None },
        false => Errno::AGAIN.into(),
    }
}
