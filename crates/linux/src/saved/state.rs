//! What is saved, as data, and whether a guest could have come to be so.

use std::ops::Range;

use riverrun::{MAX_ADDRESS, PAGE_SIZE};
use serde::{Deserialize, Serialize};

use crate::call::Stop;
use crate::devices::Device;
use crate::directories::DirectoryPosition;
use crate::error::Error;
use crate::event::SavedEvent;
use crate::guest_path::GuestPath;
use crate::interests::Interest;
use crate::local::SavedLocal;
use crate::memory;
use crate::pipes;
use crate::process::Process;
use crate::random::SavedRandom;
use crate::saved_tree::SavedTree;
use crate::shared_mappings;
use crate::signals::SavedSignals;
use crate::socket::Timeouts;
use crate::threads::SavedThreads;
use crate::time::SavedClock;
use crate::timer::Timers;
use crate::timer_file::SavedTimerFile;

/// The first byte: the version of what follows.
pub(super) const VERSION: u8 = 10;
pub(super) const DAMAGED: Error = Error::Damaged("the saved state of the Linux personality");

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Saved {
    pub(super) args: Vec<Vec<u8>>,
    pub(super) env: Vec<Vec<u8>>,
    pub(super) descriptors: Vec<Descriptor>,
    pub(super) files: Vec<File>,
    /// The bytes in each pipe.
    pub(super) pipes: Vec<Vec<u8>>,
    pub(super) current: Vec<u8>,
    /// The private files.
    pub(super) tree: SavedTree,
    pub(super) mappings: Vec<SavedMapping>,
    pub(super) layout: Option<memory::Layout>,
    pub(super) clock: SavedClock,
    pub(super) timers: Timers,
    pub(super) random: Option<SavedRandom>,
    pub(super) signals: SavedSignals,
    pub(super) threads: SavedThreads,
    pub(super) process: Process,
    pub(super) offers_functions: bool,
    pub(super) is_ready: bool,
    pub(super) last_words: Vec<u8>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Descriptor {
    pub(super) number: u32,
    /// Which of the files.
    pub(super) file: u32,
    pub(super) close_on_exec: bool,
}

/// A shared mapping of a file.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct SavedMapping {
    pub(super) range: Range<u64>,
    pub(super) offset: u64,
    pub(super) writes: bool,
    pub(super) filled: Vec<u64>,
    /// Which of the files.
    pub(super) file: u32,
}

impl SavedMapping {
    fn is_sound(&self) -> bool {
        let SavedMapping { range, offset, writes, filled, .. } = self;
        let are_pages = [range.start, range.end, *offset].iter().all(|at| at.is_multiple_of(PAGE_SIZE));
        let len = range.end.saturating_sub(range.start);
        let end = offset.checked_add(len);
        are_pages
            && filled.len() as u64 == if *writes { len / PAGE_SIZE } else { 0 }
            && range.start < range.end
            && range.end <= MAX_ADDRESS
            && end.is_some_and(|end| i64::try_from(end).is_ok())
    }
}

/// An open file description.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct File {
    pub(super) kind: SavedKind,
    pub(super) status: u32,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) enum SavedKind {
    /// One of the three that the builder has.
    Standard(u8),
    Regular {
        path: Vec<u8>,
        position: u64,
        sync: u32,
    },
    Directory {
        path: Vec<u8>,
        position: DirectoryPosition,
    },
    Device(Device),
    /// Which of the pipes.
    PipeReader(u32),
    PipeWriter(u32),
    Event(SavedEvent),
    Timer(SavedTimerFile),
    /// The set of signals that it gives.
    Signals(u64),
    /// What it watches, by descriptors.
    Epoll(Vec<(i32, Interest)>),
    /// A local socket.
    Socket {
        local: SavedLocal,
        timeouts: Timeouts,
    },
    /// A file in memory.
    Memory {
        path: Vec<u8>,
        position: u64,
        source: MemorySource,
    },
    /// The guest's own process.
    Process,
}

/// How a file in memory is found again.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum MemorySource {
    /// By its name.
    Name,
    /// It says this.
    Contents(Vec<u8>),
    /// It is this one of the private files.
    Private(u32),
}

pub(super) fn text(path: &GuestPath) -> String {
    String::from_utf8_lossy(&path.to_bytes()).into_owned()
}

pub(super) fn reason(stop: Stop) -> String {
    match stop {
        Stop::Errno(errno) => std::io::Error::from(errno).to_string(),
        Stop::Refused(refusal) => refusal.to_string(),
        _ => "it takes too long".to_owned(),
    }
}

impl File {
    pub(super) fn error(&self, descriptor: u32, stop: Stop) -> Error {
        Error::Reopen { descriptor, path: self.path(), reason: reason(stop) }
    }

    /// What it is, for messages.
    pub(super) fn path(&self) -> String {
        match &self.kind {
            SavedKind::Regular { path, .. } | SavedKind::Directory { path, .. } | SavedKind::Memory { path, .. } => {
                String::from_utf8_lossy(path).into_owned()
            }
            SavedKind::Standard(number) => format!("standard stream {number}"),
            SavedKind::Device(device) => format!("/dev/{}", device.name()),
            SavedKind::PipeReader(_) | SavedKind::PipeWriter(_) => "a pipe".to_owned(),
            SavedKind::Socket { .. } => "a socket".to_owned(),
            SavedKind::Event(_) => "an event counter".to_owned(),
            SavedKind::Timer(_) => "a timer".to_owned(),
            SavedKind::Signals(_) => "a descriptor of signals".to_owned(),
            SavedKind::Epoll(_) => "an epoll descriptor".to_owned(),
            SavedKind::Process => "a descriptor of the process".to_owned(),
        }
    }
}

impl Saved {
    /// Reads the bytes, and checks what nothing else checks.
    pub(super) fn parse(bytes: &[u8]) -> Result<Saved, Error> {
        let bytes = match bytes.split_first() {
            Some((&VERSION, bytes)) => bytes,
            Some((&found, _)) => return Err(Error::SavedVersion { found, supported: VERSION }),
            None => return Err(DAMAGED),
        };
        let (saved, rest) = postcard::take_from_bytes::<Saved>(bytes).map_err(|_| DAMAGED)?;
        let layout_is_sound = saved.layout.as_ref().is_none_or(|layout| {
            layout.heap.start <= layout.heap.end
                && [layout.heap.end, layout.mappings_end, layout.stack_size].into_iter().all(|end| end <= MAX_ADDRESS)
        });
        let is_sound = rest.is_empty()
            && layout_is_sound
            && saved.files.len() <= saved.descriptors.len() + saved.mappings.len()
            && saved.mappings.len() <= shared_mappings::MAX
            && saved.mappings.iter().all(SavedMapping::is_sound)
            && saved.pipes.len() <= pipes::MAX_ENDS + saved.tree.fifos()
            && saved.pipes.iter().all(|contents| contents.len() <= pipes::CAPACITY)
            && saved.process.is_sound();
        if is_sound { Ok(saved) } else { Err(DAMAGED) }
    }
}
