//! The log of system calls: those that a guest makes, and those that are refused.

use std::collections::BTreeSet;
use std::fmt;
use std::io::Write;

use riverrun::Memory;
use rustix::io::Errno;

use crate::call::{Outcome, Stop, readable};
use crate::guest_path::GuestPath;
use crate::refusal::{Reason, Refusal};
use crate::table;

/// Which system calls are reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detail {
    /// Those that are not provided, and paths that are refused, each once.
    Unknown,
    /// All, with arguments and results.
    All,
}

#[derive(Default)]
pub(crate) struct Log {
    sink: Option<Box<dyn Write + Send>>,
    all: bool,
    reported: BTreeSet<String>,
    /// The first library whose code was refused because it was not named.
    pub(crate) unnamed_library: Option<GuestPath>,
}

/// How many lines there are of what is reported once: more than there are names of calls.
const MAX_REPORTED: usize = 1000;

impl fmt::Debug for Log {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Log").field("all", &self.all).finish_non_exhaustive()
    }
}

/// A call to be reported.
pub(crate) struct Line<'a> {
    pub(crate) number: u64,
    pub(crate) args: &'a [u64; 6],
    /// The guest's memory, after the call.
    pub(crate) memory: &'a Memory,
    pub(crate) outcome: &'a Outcome,
}

impl Log {
    pub(crate) fn new(sink: Box<dyn Write + Send>, detail: Detail) -> Log {
        Log { sink: Some(sink), all: detail == Detail::All, ..Log::default() }
    }

    pub(crate) fn write(&mut self, line: &Line<'_>) {
        if let Err(Stop::Refused(Refusal { path, reason: Reason::UnnamedLibrary })) = line.outcome {
            self.unnamed_library.get_or_insert_with(|| path.clone());
        }
        let Some(sink) = &mut self.sink else { return };
        let text = match line.outcome {
            _ if self.all => line.to_string(),
            Err(Stop::Refused(refusal)) => refusal.to_string(),
            Err(Stop::Denied(denial)) => denial.to_string(),
            Err(Stop::Absent(what) | Stop::Unsupported(_, what)) => format!("{what} is not provided"),
            _ if table::is_provided(line.number) => return,
            _ => match table::name(line.number) {
                Some(name) => format!("system call {name} ({}) is not provided", line.number),
                None => format!("system call {} does not exist", line.number),
            },
        };
        if self.all || self.reported.len() < MAX_REPORTED && self.reported.insert(text.clone()) {
            // A log that cannot be written is no reason to stop the guest.
            let _ = writeln!(sink, "{text}");
        }
    }
}

/// Bytes of a text that are shown at most.
const TEXT_MAX: u64 = 256;

impl Line<'_> {
    /// The text at an address in quotation marks, with three dots if it is longer; `None` if it cannot be read.
    fn text(&self, address: u64) -> Option<String> {
        let bytes = self.memory.slice(address, readable(self.memory, address, TEXT_MAX).ok()?).ok()?;
        let end = bytes.iter().position(|&byte| byte == 0);
        let text = String::from_utf8_lossy(&bytes[..end.unwrap_or(bytes.len())]);
        Some(format!("{text:?}{}", if end.is_none() { "..." } else { "" }))
    }
}

/// As `strace` writes: `close(0x7) = -9 Bad file descriptor`.
impl fmt::Display for Line<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match table::name(self.number) {
            Some(name) => write!(f, "{name}(")?,
            None => write!(f, "system call {}(", self.number)?,
        }
        for (n, arg) in self.args.iter().take(table::arity(self.number)).enumerate() {
            f.write_str(if n == 0 { "" } else { ", " })?;
            match table::is_text(self.number, n).then(|| self.text(*arg)).flatten() {
                Some(text) => f.write_str(&text)?,
                None => write!(f, "{arg:#x}")?,
            }
        }
        match self.outcome {
            Ok(value @ 0..0x1_0000) => write!(f, ") = {value}"),
            Ok(value) => write!(f, ") = {value:#x}"),
            Err(Stop::Errno(errno)) => write!(f, ") = -{} {errno}", errno.raw_os_error()),
            Err(Stop::Refused(refusal)) => {
                let errno = refusal.errno();
                write!(f, ") = -{} {errno}: {refusal}", errno.raw_os_error())
            }
            Err(Stop::Denied(denial)) => {
                let errno = denial.errno();
                write!(f, ") = -{} {errno}: {denial}", errno.raw_os_error())
            }
            Err(Stop::Exit(_)) => write!(f, ") ends the program"),
            Err(Stop::Miscounted(stream)) => write!(f, ") fails by what its host counts for {stream}"),
            Err(Stop::NotStarted) => write!(f, ") is not prepared for"),
            Err(Stop::Interrupted) => write!(f, ") is interrupted"),
            Err(Stop::Endless(_)) => write!(f, ") cannot end"),
            Err(Stop::Absent(what)) => {
                write!(f, ") = -{} {}: {what} is not provided", Errno::NOSYS.raw_os_error(), Errno::NOSYS)
            }
            Err(Stop::Unsupported(errno, what)) => {
                write!(f, ") = -{} {errno}: {what} is not provided", errno.raw_os_error())
            }
            Err(Stop::WouldWait { .. } | Stop::Wait(_)) => write!(f, ") waits"),
            Err(Stop::NewCode) => write!(f, ") would have changed code run"),
            Err(Stop::Yield) => write!(f, ") = 0"),
            Err(Stop::Clone(new)) => write!(f, ") = {}", new.id),
            Err(Stop::ThreadEnd(_)) => write!(f, ") ends the thread"),
            Err(Stop::SignalReturn(_)) => write!(f, ") returns from a signal handler"),
        }
    }
}
