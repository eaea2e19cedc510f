//! Open files, to which descriptors refer: reading and writing.

use std::fmt;
use std::io::{ErrorKind, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rustix::fs::{OFlags, SeekFrom, fcntl_setfl};
use rustix::io::Errno;

use crate::abi::open;
use crate::call::{Patience, Stop};
use crate::devices::Device;
use crate::event::Event;
use crate::events::{READ, WRITE};
use crate::grant::DirAccess;
use crate::guest_path::GuestPath;
use crate::halves::Attached;
use crate::host_file::HostFile;
use crate::host_socket::HostSocket;
use crate::inode::Inode;
use crate::interests::Interests;
use crate::memory_file::MemoryFile;
use crate::pipes;
use crate::random::{self, Random};
use crate::requests::{ENDS, SOCKETS};
use crate::signal_file::SignalFile;
use crate::socket::Socket;
use crate::stream::Stream;
use crate::timer_file::TimerFile;
use crate::transfer::{STEP, in_steps, position};
use crate::virtual_file::{VirtualDirectory, VirtualFile, VirtualName};

/// The kinds of open files.
pub(crate) enum Kind {
    /// A regular file of the host.
    Regular(HostFile),
    Directory(Directory),
    /// A file in memory.
    Memory(MemoryFile),
    /// A regular file of a file system that the host implements.
    Virtual(VirtualFile),
    Device(Device),
    /// One of the host's own standard streams.
    Stream(Stream),
    Reader(Mutex<Box<dyn Read + Send>>),
    Writer(Mutex<Box<dyn Write + Send>>),
    PipeReader(pipes::Reader),
    PipeWriter(pipes::Writer),
    Event(Event),
    Timer(TimerFile),
    Signals(SignalFile),
    Epoll(Interests),
    /// The guest's own process.
    Process,
    Socket(Socket),
}

pub(crate) struct Directory {
    pub(crate) path: GuestPath,
    pub(crate) place: DirectoryPlace,
    /// How many of the entries that are the guest's alone have been read: they come first.
    pub(crate) own_entries: Mutex<u64>,
}

/// Whose directory it is.
pub(crate) enum DirectoryPlace {
    /// The guest's alone.
    Own,
    /// The host's, as it is granted.
    Host(OwnedFd, DirAccess),
    /// That of the private tree.
    Memory(MemoryDirectory),
    /// That of a file system which the host implements.
    Virtual(VirtualDirectory),
}

impl Directory {
    pub(crate) fn new(path: GuestPath, place: DirectoryPlace) -> Directory {
        Directory { path, place, own_entries: Mutex::default() }
    }

    pub(crate) fn in_memory(path: GuestPath, inode: Arc<Inode>) -> Directory {
        Directory::new(
            path,
            DirectoryPlace::Memory(MemoryDirectory { inode, position: Mutex::default(), end: AtomicU64::new(0) }),
        )
    }

    pub(crate) fn in_virtual(name: VirtualName) -> Directory {
        Directory::new(name.path.clone(), DirectoryPlace::Virtual(VirtualDirectory::new(name)))
    }
}

/// A directory of the private tree.
pub(crate) struct MemoryDirectory {
    pub(crate) inode: Arc<Inode>,
    /// The order of the entry that was read last.
    pub(crate) position: Mutex<u64>,
    /// That of the last entry that was there when reading began: what is made or renamed meanwhile would make it endless.
    pub(crate) end: AtomicU64,
}

/// An open file description, which duplicated descriptors share.
pub(crate) struct OpenFile {
    pub(crate) kind: Kind,
    /// Access mode, O_APPEND, O_NONBLOCK, O_PATH.
    status: AtomicU32,
    /// A number that no other open file has.
    number: u64,
    /// Counts calls that read or write.
    activity: AtomicU64,
    /// References to it that a guest which can be reset keeps for that, beside its own.
    kept: AtomicUsize,
    /// Which of the three standard streams it is, if it is one.
    pub(crate) standard: Option<u8>,
    /// The FIFO that it is an end of, which stays while this is open.
    _fifo: Option<Arc<Inode>>,
}

impl fmt::Debug for OpenFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenFile").field("number", &self.number).finish_non_exhaustive()
    }
}

impl Kind {
    /// The FIFO that this is an end of. Ends that are kept for a reset are none of the guest's: they keep no FIFO.
    pub(crate) fn fifo(&self) -> Option<Arc<Inode>> {
        match self {
            Kind::PipeReader(end) if !end.is_closed() => Inode::of_pipe(end.pipe()),
            Kind::PipeWriter(end) if !end.is_closed() => Inode::of_pipe(end.pipe()),
            _ => None,
        }
    }
}

/// The status flags that `fcntl` may change.
pub(crate) const CHANGEABLE: u32 = open::APPEND | open::NON_BLOCKING;

impl OpenFile {
    pub(crate) fn new(kind: Kind, status: u32) -> OpenFile {
        static NUMBERS: AtomicU64 = AtomicU64::new(0);
        let status = AtomicU32::new(status & (open::ACCESS_MODE | open::PATH | CHANGEABLE));
        let number = NUMBERS.fetch_add(1, Ordering::Relaxed);
        let (activity, kept, _fifo) = (AtomicU64::new(0), AtomicUsize::new(0), kind.fifo());
        OpenFile { kind, status, number, activity, kept, standard: None, _fifo }
    }

    /// Standard stream `number`, 0 to 2.
    pub(crate) fn standard(number: u8, kind: Kind) -> OpenFile {
        let status = if number == 0 { 0 } else { open::WRITE_ONLY };
        OpenFile { standard: Some(number), ..OpenFile::new(kind, status) }
    }

    /// That a call fails for which the host's reader or writer counts more bytes than it was given.
    fn miscounted(&self) -> Stop {
        let names = ["standard input", "standard output", "standard error"];
        Stop::Miscounted(self.standard.map_or("a stream", |number| names[usize::from(number)]))
    }

    pub(crate) fn status(&self) -> u32 {
        self.status.load(Ordering::Relaxed)
    }

    /// Sets O_APPEND and O_NONBLOCK as in `flags`.
    pub(crate) fn set_status(&self, flags: u32) -> Result<(), Stop> {
        if let Kind::Regular(file) = &self.kind {
            let append = flags & open::APPEND != 0;
            fcntl_setfl(&file.fd, if append { OFlags::APPEND } else { OFlags::empty() })?;
        }
        self.status.store(self.status() & !CHANGEABLE | flags & CHANGEABLE, Ordering::Relaxed);
        Ok(())
    }

    /// Notes another reference that is kept for a reset.
    pub(crate) fn keep(&self) {
        self.kept.fetch_add(1, Ordering::Relaxed);
    }

    /// Whether it is there for a reset only, but for this reference: the guest has closed it.
    pub(crate) fn is_only_kept(self: &Arc<OpenFile>) -> bool {
        let kept = self.kept.load(Ordering::Relaxed);
        kept != 0 && Arc::strong_count(self) == kept + 1
    }

    /// A number that no other open file has, also none that is closed.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// Changes whenever one of these events may have come again.
    pub(crate) fn activity(&self, events: u16) -> u64 {
        match &self.kind {
            Kind::PipeReader(end) => end.activity(),
            Kind::PipeWriter(end) => end.activity(),
            Kind::Event(event) => event.activity(),
            Kind::Timer(timer) => timer.activity(),
            Kind::Socket(socket) => socket.activity(events),
            _ => self.activity.load(Ordering::Relaxed),
        }
    }

    /// Notes that a call waits for events; `None` for none that the host has not told yet. The host's stream that
    /// brings them, as [`On::Files`](crate::requests::On) has it; 0 if it is none.
    pub(crate) fn await_events(&self, events: Option<u16>) -> u8 {
        match (&self.kind, self.standard) {
            // It tells an end again and again, as sockets do.
            (Kind::Stream(_), Some(number)) => match events {
                Some(events) if events & (READ | WRITE) != 0 => 1 << number,
                Some(_) => ENDS << number,
                None => 0,
            },
            (Kind::Socket(socket), _) => match (socket.host(), events) {
                (Some(host), Some(events)) => {
                    host.await_events(events);
                    SOCKETS
                }
                (Some(_), None) => SOCKETS,
                (None, _) => 0,
            },
            _ => 0,
        }
    }

    pub(crate) fn blocking(&self) -> bool {
        self.status() & open::NON_BLOCKING == 0
    }

    /// `EBADF` unless it is open for reading.
    pub(crate) fn check_readable(&self) -> Result<(), Stop> {
        match self.status() & (open::ACCESS_MODE | open::PATH) {
            0 | open::READ_WRITE => Ok(()),
            _ => Err(Errno::BADF.into()),
        }
    }

    /// `EBADF` unless it is open for writing.
    pub(crate) fn check_writable(&self) -> Result<(), Stop> {
        match self.status() & (open::ACCESS_MODE | open::PATH) {
            open::WRITE_ONLY | open::READ_WRITE => Ok(()),
            _ => Err(Errno::BADF.into()),
        }
    }

    /// The host's file; `EINVAL` if it is something else.
    pub(crate) fn host_file(&self) -> Result<&HostFile, Stop> {
        match &self.kind {
            Kind::Regular(file) => Ok(file),
            Kind::Directory(_) => Err(Errno::ISDIR.into()),
            _ => Err(Errno::INVAL.into()),
        }
    }

    /// `EINVAL` if it is no file with contents that it could change, `EISDIR` for a directory.
    pub(crate) fn check_contents(&self) -> Result<(), Stop> {
        match &self.kind {
            Kind::Memory(_) | Kind::Virtual(_) => Ok(()),
            _ => self.host_file().map(drop),
        }
    }

    /// The host's descriptor; `EINVAL` if it is something else than a regular file.
    pub(crate) fn regular(&self) -> Result<BorrowedFd<'_>, Stop> {
        Ok(self.host_file()?.fd.as_fd())
    }

    /// The host's socket that it is.
    pub(crate) fn host_socket(&self) -> Option<&HostSocket> {
        match &self.kind {
            Kind::Socket(socket) => socket.host(),
            _ => None,
        }
    }

    /// The guest's path by which it was opened, if it is a file or directory.
    pub(crate) fn path(&self) -> Option<&GuestPath> {
        match &self.kind {
            Kind::Regular(file) => Some(&file.path),
            Kind::Directory(directory) => Some(&directory.path),
            Kind::Memory(file) => Some(&file.path),
            Kind::Virtual(file) => Some(&file.name.path),
            _ => None,
        }
    }

    /// What `/proc/self/fd/NUMBER` leads to.
    pub(crate) fn name(&self, number: i32) -> Vec<u8> {
        if let Some(path) = self.path() {
            return path.to_bytes();
        }
        match &self.kind {
            Kind::Device(device) => format!("/dev/{}", device.name()).into_bytes(),
            Kind::Socket(_) => format!("socket:[{number}]").into_bytes(),
            _ => format!("pipe:[{number}]").into_bytes(),
        }
    }

    /// Where it is read or written next, if it has a position.
    pub(crate) fn position(&self) -> u64 {
        match &self.kind {
            Kind::Regular(file) => rustix::fs::tell(&file.fd).unwrap_or(0),
            Kind::Memory(file) => file.position(),
            Kind::Virtual(file) => file.position(),
            _ => 0,
        }
    }

    /// Reads a file that can be mapped; `ENODEV` if it is something else.
    pub(crate) fn read_mapped(&self, buffer: &mut [u8], at: u64) -> Result<usize, Stop> {
        match &self.kind {
            Kind::Regular(file) => Ok(rustix::io::pread(&file.fd, buffer, at)?),
            Kind::Memory(file) => Ok(file.read_at(buffer, at)),
            Kind::Virtual(file) => file.read_at(buffer, at),
            _ => Err(Errno::NODEV.into()),
        }
    }

    /// Whether it has a position, that `pread` and `lseek` could use.
    pub(crate) fn check_seekable(&self) -> Result<(), Stop> {
        match &self.kind {
            Kind::Regular(_) | Kind::Directory(_) | Kind::Memory(_) | Kind::Virtual(_) | Kind::Device(_) => Ok(()),
            // The guest must not change what others have written to standard output.
            Kind::Stream(stream) if stream.is_regular() && self.check_writable().is_err() => Ok(()),
            _ => Err(Errno::SPIPE.into()),
        }
    }

    /// Takes back having read `len` bytes at the file's position.
    pub(crate) fn step_back(&self, len: u64) -> Result<(), Stop> {
        let back = SeekFrom::Current(-(len as i64));
        match &self.kind {
            Kind::Regular(file) => drop(rustix::fs::seek(&file.fd, back)?),
            Kind::Memory(file) => drop(file.seek(back)?),
            Kind::Virtual(file) => drop(file.seek(back)?),
            Kind::Stream(stream) if stream.is_regular() => drop(rustix::fs::seek(stream.fd, back)?),
            _ => {}
        }
        Ok(())
    }

    /// Reads at the file's position, or `at` another.
    pub(crate) fn read(
        &self,
        buffer: &mut [u8],
        at: Option<u64>,
        random: &mut Random,
        patience: Patience<'_>,
    ) -> Result<usize, Stop> {
        self.check_readable()?;
        if at.is_some() {
            self.check_seekable()?;
        }
        self.activity.fetch_add(1, Ordering::Relaxed);
        match &self.kind {
            Kind::Regular(file) => file.read(buffer, at, patience),
            Kind::Directory(_) => Err(Errno::ISDIR.into()),
            Kind::Memory(file) => in_steps(buffer.len(), STEP, patience, |range| {
                Ok(match at {
                    Some(at) => file.read_at(&mut buffer[range.clone()], position(at, range.start as u64)?),
                    None => file.read(&mut buffer[range]),
                })
            }),
            Kind::Virtual(file) => file.read(buffer, at, patience),
            Kind::Device(device) => {
                in_steps(buffer.len(), random::STEP, patience, |range| device.read(random, &mut buffer[range]))
            }
            Kind::Stream(stream) => match at {
                Some(at) => stream.read_at(buffer, at, patience),
                None => stream.read(buffer, patience).map_err(|stop| self.would_wait(stop, READ)),
            },
            Kind::Reader(reader) => {
                let mut reader = reader.lock().unwrap_or_else(PoisonError::into_inner);
                loop {
                    match reader.read(buffer) {
                        // A signal of the host's, which the guest knows nothing of.
                        Err(error) if error.kind() == ErrorKind::Interrupted => patience.check()?,
                        read => return Some(read?).filter(|&count| count <= buffer.len()).ok_or(self.miscounted()),
                    }
                }
            }
            Kind::PipeReader(pipe) => pipe.read(buffer, self.blocking()),
            Kind::Event(event) => event.read(buffer).map_err(|stop| self.would_wait(stop, READ)),
            Kind::Timer(timer) => timer.read(buffer).map_err(|stop| self.would_wait(stop, READ)),
            // See `Call::read_signals` and `socket_calls::receive`.
            Kind::Epoll(_) | Kind::Signals(_) | Kind::Socket(_) | Kind::Process => Err(Errno::INVAL.into()),
            Kind::Writer(_) | Kind::PipeWriter(_) => Err(Errno::BADF.into()),
        }
    }

    /// Whether a write that this file has cut short waits for room in it: in a pipe that has a reader, or a stream of
    /// the host.
    pub(crate) fn waits_for_room(&self) -> bool {
        match &self.kind {
            Kind::PipeWriter(pipe) => self.blocking() && !pipe.is_hung_up() && !pipe.is_ready(),
            Kind::Stream(stream) => self.blocking() && !stream.is_regular(),
            _ => false,
        }
    }

    /// That a call fails which finds nothing, or no room, unless it is to wait for these events.
    pub(crate) fn would_wait(&self, stop: Stop, events: u16) -> Stop {
        match stop {
            Stop::Errno(Errno::AGAIN) if self.blocking() => self.wait_for(events),
            stop => stop,
        }
    }

    /// That a call waits until it can read or write.
    pub(crate) fn wait_for(&self, events: u16) -> Stop {
        let (streams, span) = self.awaited(events);
        Stop::WouldWait { streams, span }
    }

    /// Notes that a call waits for events: the host's streams that bring them, and how long it waits.
    pub(crate) fn awaited(&self, events: u16) -> (u8, Option<Duration>) {
        let span = match &self.kind {
            Kind::Socket(socket) => socket.timeout(events),
            _ => None,
        };
        (self.await_events(Some(events)), span)
    }

    /// Writes at the file's position, or `at` another.
    pub(crate) fn write(&self, bytes: &[u8], at: Option<u64>, patience: Patience<'_>) -> Result<usize, Stop> {
        self.check_writable()?;
        if at.is_some() {
            self.check_seekable()?;
        }
        self.activity.fetch_add(1, Ordering::Relaxed);
        match &self.kind {
            Kind::Regular(file) => file.write(bytes, at, self.status() & open::APPEND != 0, patience),
            Kind::Memory(file) => {
                let appends = self.status() & open::APPEND != 0;
                in_steps(bytes.len(), STEP, patience, |range| {
                    let at = at.map(|at| position(at, range.start as u64)).transpose()?;
                    file.write(&bytes[range], at, appends)
                })
            }
            Kind::Virtual(file) => file.write(bytes, at, self.status() & open::APPEND != 0, patience),
            Kind::Device(device) => device.write(bytes),
            Kind::Stream(stream) => stream.write(bytes, patience).map_err(|stop| self.would_wait(stop, WRITE)),
            Kind::Writer(writer) => {
                let mut writer = writer.lock().unwrap_or_else(PoisonError::into_inner);
                let mut rest = bytes;
                while !rest.is_empty() {
                    match writer.write(rest) {
                        Ok(0) => return Err(std::io::Error::from(ErrorKind::WriteZero).into()),
                        Ok(count) => rest = rest.get(count..).ok_or(self.miscounted())?,
                        Err(error) if error.kind() == ErrorKind::Interrupted => {}
                        Err(error) => return Err(error.into()),
                    }
                }
                writer.flush()?;
                Ok(bytes.len())
            }
            Kind::PipeWriter(pipe) => {
                in_steps(bytes.len(), bytes.len().max(1), patience, |range| pipe.write(&bytes[range], self.blocking()))
            }
            Kind::Event(event) => event.write(bytes).map_err(|stop| self.would_wait(stop, WRITE)),
            Kind::Socket(socket) => {
                socket.send(bytes, &Attached::default()).map_err(|errno| self.would_wait(errno.into(), WRITE))
            }
            Kind::Epoll(_) | Kind::Timer(_) | Kind::Signals(_) | Kind::Process => Err(Errno::INVAL.into()),
            Kind::Directory(_) | Kind::Reader(_) | Kind::PipeReader(_) => Err(Errno::BADF.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A reader that fails with `Interrupted` three times, then returns one byte.
    struct Busy(u32);

    impl Read for Busy {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            self.0 += 1;
            match self.0 {
                ..4 => Err(ErrorKind::Interrupted.into()),
                _ => b"x".as_slice().read(buffer),
            }
        }
    }

    #[test]
    fn interruptions_of_a_hosts_reader_are_not_the_guests() {
        let file = OpenFile::standard(0, Kind::Reader(Mutex::new(Box::new(Busy(0)))));
        let read = |patience| file.read(&mut [0], None, &mut Random::new(Some(1)), patience);
        static ALWAYS: std::sync::atomic::AtomicBool = std::sync::atomic::AtomicBool::new(true);
        let late = Patience { interrupted: &ALWAYS, ..Patience::endless() };
        assert_eq!((read(late), read(Patience::endless())), (Err(Stop::Interrupted), Ok(1)));
    }

    /// Counts a byte more than it was given.
    struct Boastful;

    impl Read for Boastful {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            Ok(buffer.len() + 1)
        }
    }

    impl Write for Boastful {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            Ok(bytes.len() + 1)
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn what_a_hosts_streams_count_is_no_more_than_they_were_given() {
        let input = OpenFile::standard(0, Kind::Reader(Mutex::new(Box::new(Boastful))));
        let output = OpenFile::standard(2, Kind::Writer(Mutex::new(Box::new(Boastful))));
        let read = input.read(&mut [0; 4], None, &mut Random::new(Some(1)), Patience::endless());
        assert_eq!(read, Err(Stop::Miscounted("standard input")));
        assert_eq!(output.write(b"text", None, Patience::endless()), Err(Stop::Miscounted("standard error")));
    }
}
