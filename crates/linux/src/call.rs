//! A system call as its handler sees it, and how it ends.

use std::io::ErrorKind;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use riverrun::{Fault, MapError, Memory};
use rustix::io::Errno;

use crate::Linux;
use crate::refusal::{Denial, Refusal};
use crate::requests::{NewThread, Resumed, Wait};

/// Bytes of a path, its final zero included (`PATH_MAX`).
pub(crate) const PATH_MAX: u64 = 4096;
/// Bytes that one call transfers at most (`MAX_RW_COUNT`).
pub(crate) const MAX_TRANSFER: u64 = 0x7fff_f000;
/// Buffers that one call takes (`UIO_MAXIOV`).
pub(crate) const MAX_BUFFERS: u64 = 1024;
/// The longest time that a waiting call may miss an interruption of the machine.
const GLANCE: Duration = Duration::from_millis(5);

/// Why a call gives no result.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// It fails.
    Errno(Errno),
    /// It fails, because its path is not within the grants.
    Refused(Refusal),
    /// It fails, because that is not provided or not granted.
    Denied(Denial),
    /// The program has ended.
    Exit(i32),
    /// The machine's time is up; the call starts again when the machine runs again.
    Interrupted,
    /// What it asks for is not provided, by this name.
    Absent(&'static str),
    /// It fails by this error, because something of this name is not provided.
    Unsupported(Errno, &'static str),
    /// A file has nothing to give or no room, until another thread or one of these streams of the host changes that. It
    /// fails with `EAGAIN` after the time, if there is one.
    WouldWait { streams: u8, span: Option<Duration> },
    /// It waits.
    Wait(Wait),
    /// It waits for an event that cannot happen, for this reason.
    Endless(&'static str),
    /// It is about to run code that it has made of its own.
    NewCode,
    /// Another thread may run first.
    Yield,
    /// It makes a thread.
    Clone(NewThread),
    /// It ends its thread with this status.
    ThreadEnd(i32),
    /// The host's reader or writer of this stream counts more bytes than it was given.
    Miscounted(&'static str),
    /// The host has not called [`crate::start`], which it needs.
    NotStarted,
    /// The registers are to be taken from the signal frame at this address.
    SignalReturn(u64),
}

/// The result of a call's handler.
pub(crate) type Outcome = Result<u64, Stop>;

impl From<Errno> for Stop {
    fn from(errno: Errno) -> Stop {
        Stop::Errno(errno)
    }
}

impl From<Fault> for Stop {
    fn from(_: Fault) -> Stop {
        Stop::Errno(Errno::FAULT)
    }
}

impl From<MapError> for Stop {
    fn from(error: MapError) -> Stop {
        Stop::Errno(match error {
            MapError::Misaligned => Errno::INVAL,
            MapError::WriteAndExecute => Errno::ACCESS,
            _ => Errno::NOMEM,
        })
    }
}

impl From<std::io::Error> for Stop {
    fn from(error: std::io::Error) -> Stop {
        Stop::Errno(Errno::from_io_error(&error).unwrap_or(match error.kind() {
            ErrorKind::NotFound => Errno::NOENT,
            ErrorKind::PermissionDenied => Errno::ACCESS,
            ErrorKind::AlreadyExists => Errno::EXIST,
            ErrorKind::NotADirectory => Errno::NOTDIR,
            ErrorKind::IsADirectory => Errno::ISDIR,
            ErrorKind::DirectoryNotEmpty => Errno::NOTEMPTY,
            ErrorKind::ReadOnlyFilesystem => Errno::ROFS,
            ErrorKind::StorageFull => Errno::NOSPC,
            ErrorKind::QuotaExceeded => Errno::DQUOT,
            ErrorKind::FileTooLarge => Errno::FBIG,
            ErrorKind::ResourceBusy => Errno::BUSY,
            ErrorKind::CrossesDevices => Errno::XDEV,
            ErrorKind::TooManyLinks => Errno::MLINK,
            ErrorKind::InvalidFilename => Errno::NAMETOOLONG,
            ErrorKind::InvalidInput => Errno::INVAL,
            ErrorKind::Unsupported => Errno::OPNOTSUPP,
            ErrorKind::OutOfMemory => Errno::NOMEM,
            ErrorKind::Interrupted => Errno::INTR,
            ErrorKind::WouldBlock => Errno::AGAIN,
            ErrorKind::TimedOut => Errno::TIMEDOUT,
            ErrorKind::BrokenPipe => Errno::PIPE,
            _ => Errno::IO,
        }))
    }
}

/// How long a call may wait.
#[derive(Clone, Copy)]
pub(crate) struct Patience<'a> {
    pub(crate) deadline: Option<Instant>,
    pub(crate) interrupted: &'a AtomicBool,
    /// When a signal ends what the host waits for.
    pub(crate) alarm: Option<Instant>,
}

impl Patience<'static> {
    /// For what a host does, which nothing interrupts.
    pub(crate) fn endless() -> Patience<'static> {
        static NEVER: AtomicBool = AtomicBool::new(false);
        Patience { deadline: None, interrupted: &NEVER, alarm: None }
    }
}

impl Patience<'_> {
    /// Fails once the machine's time is up.
    pub(crate) fn check(&self) -> Result<(), Stop> {
        let late = self.deadline.is_some_and(|deadline| Instant::now() >= deadline);
        match late || self.interrupted.load(Ordering::Relaxed) {
            true => Err(Stop::Interrupted),
            false => Ok(()),
        }
    }

    /// How long to wait before testing again, at most until `until`; zero once that has passed.
    pub(crate) fn glance(&self, until: Option<Instant>) -> Result<Duration, Stop> {
        self.check()?;
        let now = Instant::now();
        let alarm = self.alarm;
        if alarm.is_some_and(|at| at <= now) && until.is_none_or(|until| until > now) {
            return Err(Errno::INTR.into());
        }
        let ends = [self.deadline, until, alarm].into_iter().flatten();
        Ok(ends.map(|end| end.saturating_duration_since(now)).fold(GLANCE, Duration::min))
    }
}

/// A call as its handler sees it.
pub(crate) struct Call<'a> {
    pub(crate) linux: &'a mut Linux,
    pub(crate) memory: &'a mut Memory,
    /// a0 to a5.
    pub(crate) args: [u64; 6],
    /// The call's number.
    pub(crate) number: u64,
    /// pc and sp.
    pub(crate) place: (u64, u64),
    /// How it goes on, if it has waited.
    pub(crate) resumed: Option<Resumed>,
    /// Bytes that it has moved, also before it waited, or messages if it moves several.
    pub(crate) done: u64,
    /// Bytes of the next one of these.
    pub(crate) part: u64,
    pub(crate) patience: Patience<'a>,
    /// Instructions executed so far.
    pub(crate) instructions: u64,
}

impl Call<'_> {
    /// Argument `n` as the C type `int`.
    pub(crate) fn int(&self, n: usize) -> i32 {
        self.args[n] as i32
    }

    /// Argument `n` as the C type `unsigned int`.
    pub(crate) fn uint(&self, n: usize) -> u32 {
        self.args[n] as u32
    }

    /// Argument `n` as the address of a path.
    pub(crate) fn path(&self, n: usize) -> Result<Vec<u8>, Stop> {
        c_string(self.memory, self.args[n], PATH_MAX, Errno::NAMETOOLONG)
    }

    /// Fails unless argument `n` has only these bits.
    pub(crate) fn only(&self, n: usize, bits: u32) -> Result<u32, Stop> {
        match self.uint(n) {
            flags if flags & !bits == 0 => Ok(flags),
            _ => Err(Errno::INVAL.into()),
        }
    }
}

/// How many of these bytes are writable; an error if the first one is not.
pub(crate) fn writable(memory: &mut Memory, address: u64, len: u64) -> Result<u64, Stop> {
    let len = len.min(MAX_TRANSFER);
    match memory.slice_mut(address, len) {
        Ok(_) => Ok(len),
        Err(fault) if fault.address > address => Ok((fault.address - address).min(len)),
        Err(fault) => Err(fault.into()),
    }
}

/// How many of these bytes are readable; an error if the first one is not.
pub(crate) fn readable(memory: &Memory, address: u64, len: u64) -> Result<u64, Stop> {
    let len = len.min(MAX_TRANSFER);
    match memory.slice(address, len) {
        Ok(_) => Ok(len),
        Err(fault) if fault.address > address => Ok((fault.address - address).min(len)),
        Err(fault) => Err(fault.into()),
    }
}

/// A C string of at most `limit` bytes, its zero included.
pub(crate) fn c_string(memory: &Memory, address: u64, limit: u64, too_long: Errno) -> Result<Vec<u8>, Stop> {
    let available = memory.slice(address, readable(memory, address, limit)?)?;
    match available.iter().position(|&byte| byte == 0) {
        Some(end) => Ok(available[..end].to_vec()),
        None if available.len() as u64 == limit => Err(too_long.into()),
        None => Err(Errno::FAULT.into()),
    }
}
