//! The host's own standard streams as a guest uses them: calls do not wait, so that the guest's other threads can run,
//! and do not change the streams for other processes.
//!
//! Other processes share a stream's open file description, so it must stay blocking. `poll` alone does not prevent a call
//! from blocking: another process may be quicker, and a terminal may have too little room. So pipes and terminals are
//! reopened as non-blocking, and calls on sockets are non-blocking one by one.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{CWD, Mode, OFlags, fcntl_getfl, fstat};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags};

use crate::abi::mode;
use crate::call::{Patience, Stop};
use crate::host_file::SizeLimit;
use crate::transfer::{STEP, in_steps, position};

/// Bytes that one call to the host moves where the host does not wait.
const NON_BLOCKING_STEP: usize = 64 << 10;
/// Bytes that a pipe takes without blocking once it is ready (`PIPE_BUF`).
const PIPE_STEP: usize = 4096;
/// How long to wait for a stream that is ready, but not for the whole write.
const PAUSE: Duration = Duration::from_millis(1);

pub(crate) struct Stream {
    pub(crate) fd: BorrowedFd<'static>,
    kind: Kind,
    is_pipe: bool,
    /// For files.
    limit: SizeLimit,
}

enum Kind {
    /// A file, on which calls do not block.
    Regular,
    /// Calls on it can be told not to wait.
    Socket,
    /// A pipe or terminal, opened anew: calls on this do not wait.
    Own(OwnedFd),
    /// Something that cannot be opened anew: calls may wait, if `poll` is wrong. They move this many bytes at most.
    Shared(usize),
}

impl Stream {
    /// One that is read from, or written to.
    pub(crate) fn new(fd: BorrowedFd<'static>, writes: bool, limit: SizeLimit) -> Stream {
        let access = if writes { OFlags::WRONLY } else { OFlags::RDONLY };
        let file_type = fstat(fd).map_or(0, |status| status.st_mode & mode::TYPE);
        let kind = match file_type {
            mode::REGULAR | mode::BLOCK_DEVICE => Kind::Regular,
            mode::SOCKET => Kind::Socket,
            mode::FIFO => open_anew(fd, access).map_or(Kind::Shared(PIPE_STEP), Kind::Own),
            _ if rustix::termios::isatty(fd) => open_anew(fd, access).map_or(Kind::Shared(1), Kind::Own),
            _ => Kind::Shared(PIPE_STEP),
        };
        Stream { fd, kind, is_pipe: file_type == mode::FIFO, limit }
    }

    /// A file, which has a position.
    pub(crate) fn is_regular(&self) -> bool {
        matches!(self.kind, Kind::Regular)
    }

    /// `EAGAIN` unless the stream is ready.
    fn check_ready(&self, events: PollFlags) -> Result<(), Stop> {
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        while !self.is_regular() {
            // What is opened anew does not know how the stream has been used before, such as that a pipe's writers
            // are gone.
            let mut asked = [PollFd::new(&self.fd, events)];
            match poll(&mut asked, Some(&now)) {
                // The host need not ignore the signal that writing would bring. A reader that goes between this and
                // the write still brings it.
                Ok(1) if self.is_pipe && asked[0].revents().contains(PollFlags::ERR) => return Err(Errno::PIPE.into()),
                Ok(0) => return Err(Errno::AGAIN.into()),
                Err(Errno::INTR) => {}
                Ok(_) => break,
                Err(errno) => return Err(errno.into()),
            }
        }
        Ok(())
    }

    /// Makes a call that moves bytes, if the stream is ready.
    fn transfer(
        &self,
        events: PollFlags,
        patience: Patience<'_>,
        mut call: impl FnMut() -> Result<usize, Errno>,
    ) -> Result<usize, Stop> {
        loop {
            self.check_ready(events)?;
            match call() {
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => {
                    // The guest will look again at once.
                    std::thread::sleep(PAUSE.min(patience.glance(None)?));
                    return Err(Errno::AGAIN.into());
                }
                result => return Ok(result?),
            }
        }
    }

    /// Reads what there is; `EAGAIN` if there is nothing yet.
    pub(crate) fn read(&self, buffer: &mut [u8], patience: Patience<'_>) -> Result<usize, Stop> {
        if self.is_regular() {
            return in_steps(buffer.len(), STEP, patience, |range| Ok(rustix::io::read(self.fd, &mut buffer[range])?));
        }
        let len = buffer.len().min(NON_BLOCKING_STEP);
        let buffer = &mut buffer[..len];
        self.transfer(PollFlags::IN, patience, || match &self.kind {
            Kind::Regular | Kind::Shared(_) => rustix::io::read(self.fd, &mut *buffer),
            Kind::Own(fd) => rustix::io::read(fd, &mut *buffer),
            Kind::Socket => rustix::net::recv(self.fd, &mut *buffer, RecvFlags::DONTWAIT).map(|(len, _)| len),
        })
    }

    /// Reads a file, not at its own position.
    pub(crate) fn read_at(&self, buffer: &mut [u8], at: u64, patience: Patience<'_>) -> Result<usize, Stop> {
        in_steps(buffer.len(), STEP, patience, |range| {
            let at = position(at, range.start as u64)?;
            Ok(rustix::io::pread(self.fd, &mut buffer[range], at)?)
        })
    }

    /// Writes what there is room for; `EAGAIN` without room.
    pub(crate) fn write(&self, bytes: &[u8], patience: Patience<'_>) -> Result<usize, Stop> {
        let step = match self.kind {
            Kind::Regular => STEP,
            Kind::Socket | Kind::Own(_) => NON_BLOCKING_STEP,
            Kind::Shared(step) => step,
        };
        let bytes = match self.kind {
            Kind::Regular => {
                let appends = fcntl_getfl(self.fd)?.contains(OFlags::APPEND);
                self.limit.allowed(self.fd, bytes, None, appends)?
            }
            _ => bytes,
        };
        let mut done = 0;
        loop {
            let part = &bytes[done..bytes.len().min(done + step)];
            let moved = self.transfer(PollFlags::OUT, patience, || match &self.kind {
                Kind::Regular | Kind::Shared(_) => rustix::io::write(self.fd, part),
                Kind::Own(fd) => rustix::io::write(fd, part),
                Kind::Socket => rustix::net::send(self.fd, part, SendFlags::DONTWAIT | SendFlags::NOSIGNAL),
            });
            let moved = match moved {
                Ok(moved) => moved,
                Err(_) if done > 0 => return Ok(done),
                Err(stop) => return Err(stop),
            };
            done += moved;
            if done >= bytes.len() || moved < part.len() || patience.check().is_err() {
                return Ok(done);
            }
        }
    }

    /// What is asked of it in [`ready`].
    pub(crate) fn asked(&self, events: PollFlags) -> PollFd<'_> {
        PollFd::new(&self.fd, events)
    }

    /// What of these events would not block, and whether its other end is gone.
    pub(crate) fn poll(&self, events: PollFlags) -> PollFlags {
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        let mut asked = [PollFd::new(&self.fd, events)];
        match self.is_regular() || poll(&mut asked, Some(&now)).is_err() {
            true => events,
            false => asked[0].revents(),
        }
    }
}

/// The numbers of those streams that are ready, once one is or this time has passed.
pub(crate) fn ready(asked: &[(usize, PollFd<'_>)], time: Duration) -> Vec<usize> {
    let span = Timespec { tv_sec: time.as_secs() as i64, tv_nsec: time.subsec_nanos().into() };
    let mut entries: Vec<PollFd<'_>> = asked.iter().map(|(_, entry)| entry.clone()).collect();
    match poll(&mut entries, Some(&span)) {
        Ok(_) => {}
        Err(Errno::INTR) => return Vec::new(),
        Err(_) => {
            // More than the host may ask for at once. It looks again later.
            std::thread::sleep(time);
            return Vec::new();
        }
    }
    let is_ready = |(_, entry): &(&(usize, PollFd<'_>), &PollFd<'_>)| !entry.revents().is_empty();
    asked.iter().zip(&entries).filter(is_ready).map(|((number, _), _)| *number).collect()
}

/// The same pipe or terminal as a non-blocking descriptor of our own; `None` if the user may not open it, or opening it
/// gives another file.
fn open_anew(fd: BorrowedFd<'_>, access: OFlags) -> Option<OwnedFd> {
    let path = format!("/proc/self/fd/{}", fd.as_raw_fd());
    let flags = access | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let is_master = |status: &rustix::fs::Stat| {
        let number = status.st_rdev;
        (rustix::fs::major(number), rustix::fs::minor(number)) == (5, 2)
    };
    let old = fstat(fd).ok().filter(|status| !is_master(status))?;
    let own = rustix::fs::openat(CWD, path, flags, Mode::empty()).ok()?;
    let new = fstat(own.as_fd()).ok()?;
    let identity = |status: &rustix::fs::Stat| (status.st_dev, status.st_ino, status.st_rdev);
    (identity(&old) == identity(&new)).then_some(own)
}
