//! Opening the files of a saved state again, by the grants of a new guest.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;

use rustix::fs::Mode;
use rustix::io::Errno;

use super::state::{File, MemorySource, SavedKind};
use crate::abi::{mode, open};
use crate::call::{Patience, Stop};
use crate::event::Event;
use crate::files::{open_host, open_virtual};
use crate::guest_path::GuestPath;
use crate::host_file::SizeLimit;
use crate::inode::{Content, Entries, Inode};
use crate::interests::Interests;
use crate::local::Local;
use crate::memory_file::{MemoryFile, Origin};
use crate::open_file::{Directory, DirectoryPlace, Kind, OpenFile};
use crate::own::Own;
use crate::paths::{Names, Node};
use crate::pipes::Pipe;
use crate::signal_file::SignalFile;
use crate::socket::{End, Socket};
use crate::timer_file::TimerFile;

/// What is kept for a reset in place of a private file or directory, which would go on with all that is in it when the guest
/// that has it is gone.
pub(super) fn stand_in(content: Content) -> Arc<Inode> {
    Inode::root(&Arc::default(), content, 0)
}

/// Opens saved files by the grants of a new guest: private ones not at all, as each guest gets those anew.
pub(super) struct Opener<'a> {
    pub(super) names: &'a Names,
    pub(super) standard: [Option<Arc<OpenFile>>; 3],
    pub(super) pipes: Vec<Pipe>,
    pub(super) limit: SizeLimit,
    /// The private files.
    pub(super) inodes: &'a [Arc<Inode>],
    /// The program's file, if it is known.
    pub(super) program: Option<Arc<[u8]>>,
}

impl Opener<'_> {
    pub(super) fn open(&mut self, file: &File) -> Result<Arc<OpenFile>, Stop> {
        let damaged = Stop::Errno(Errno::INVAL);
        let kind = match &file.kind {
            SavedKind::Standard(number) => {
                let stream = self.standard.get_mut(usize::from(*number)).and_then(Option::take);
                return stream.ok_or(damaged);
            }
            SavedKind::Regular { path, sync, .. } => {
                // Nothing is made and nothing is changed by opening it again.
                let flags = file.status & (open::ACCESS_MODE | open::PATH | open::APPEND) | sync & open::SYNC;
                self.open_host(path, flags, mode::REGULAR)?
            }
            SavedKind::Directory { path, .. } => {
                let flags = file.status & open::PATH | open::DIRECTORY;
                self.open_host(path, flags, mode::DIRECTORY)?
            }
            SavedKind::Memory { path, source: MemorySource::Private(id), .. } => {
                Kind::Memory(self.open_private(path, *id, file.status)?)
            }
            SavedKind::Memory { path, source, .. } => Kind::Memory(self.open_memory(path, source)?),
            SavedKind::Device(device) => Kind::Device(*device),
            SavedKind::Event(event) => Kind::Event(Event::from_saved(*event)),
            SavedKind::Timer(timer) => Kind::Timer(TimerFile::from_saved(*timer)),
            SavedKind::Signals(set) => Kind::Signals(SignalFile::new(*set)),
            SavedKind::Process => Kind::Process,
            SavedKind::Epoll(_) => Kind::Epoll(Interests::default()),
            SavedKind::Socket { local, timeouts } => {
                // Each guest gets one of its own, which has its ends of pipes.
                let style = Local::from_saved(local, &self.pipes, self.inodes).ok_or(damaged)?.style;
                Kind::Socket(Socket::new(End::Local(Local::new(style)), *timeouts))
            }
            SavedKind::PipeReader(id) => {
                let end = self.pipes.get(*id as usize).ok_or(damaged)?.kept_reader();
                return Ok(Arc::new(OpenFile::new(Kind::PipeReader(end), 0)));
            }
            SavedKind::PipeWriter(id) => {
                let end = self.pipes.get(*id as usize).ok_or(damaged)?.kept_writer();
                return Ok(Arc::new(OpenFile::new(Kind::PipeWriter(end), open::WRITE_ONLY)));
            }
        };
        Ok(Arc::new(OpenFile::new(kind, file.status)))
    }

    /// A file, or a FIFO or socket that is open as a name only. The name is one that leads to it no longer, or never has.
    fn open_private(&self, name: &[u8], id: u32, status: u32) -> Result<MemoryFile, Stop> {
        let name = name.strip_prefix(b"/").ok_or(Errno::INVAL)?;
        match self.inodes.get(id as usize).ok_or(Errno::INVAL)?.kind() {
            mode::REGULAR => {}
            mode::FIFO | mode::SOCKET if status & open::PATH != 0 => {}
            _ => return Err(Errno::INVAL.into()),
        }
        let path = GuestPath(vec![OsStr::from_bytes(name).to_owned()]);
        Ok(MemoryFile::new(path, stand_in(Content::Given(Arc::default())), Origin::Guest, self.limit.clone()))
    }

    fn open_memory(&self, path: &[u8], source: &MemorySource) -> Result<MemoryFile, Stop> {
        let path = GuestPath::parse_absolute(path).ok_or(Errno::INVAL)?;
        let open = |path, inode, origin| Ok(MemoryFile::new(path, inode, origin, self.limit.clone()));
        match source {
            MemorySource::Contents(contents) => {
                let inode = Inode::generated(&self.names.tree.space, contents.clone())?;
                return open(path, inode, Origin::Made);
            }
            MemorySource::Name | MemorySource::Private(_) => {}
        }
        match self.names.resolve(&GuestPath::default(), &path.to_bytes(), false, Patience::endless())?.node {
            Node::Own(Own::File(inode)) => open(path, inode, Origin::Name),
            Node::Own(Own::Program) => {
                open(path, Inode::given(self.program.clone().ok_or(Errno::NOENT)?), Origin::Name)
            }
            _ => Err(Errno::NOENT.into()),
        }
    }

    fn open_host(&self, path: &[u8], flags: u32, wanted: u32) -> Result<Kind, Stop> {
        let path = GuestPath::parse_absolute(path).ok_or(Errno::INVAL)?;
        let found = self.names.resolve(&GuestPath::default(), &path.to_bytes(), false, Patience::endless())?;
        let kind = match found.node {
            Node::Host(name) => open_host(&name, flags, Mode::empty(), self.limit.clone(), Patience::endless())?,
            Node::Virtual(name) => open_virtual(name, flags, Mode::empty(), self.limit.clone())?,
            Node::Own(Own::Directory) => Kind::Directory(Directory::new(path, DirectoryPlace::Own)),
            Node::Memory(name) if name.look()?.kind() == mode::DIRECTORY => {
                Kind::Directory(Directory::in_memory(path, stand_in(Content::Directory(Entries::default()))))
            }
            Node::Memory(_) | Node::Own(_) => return Err(Errno::NODEV.into()),
        };
        match (&kind, wanted) {
            (Kind::Regular(_) | Kind::Virtual(_), mode::REGULAR) | (Kind::Directory(_), mode::DIRECTORY) => Ok(kind),
            (Kind::Directory(_), _) => Err(Errno::ISDIR.into()),
            _ => Err(Errno::NOTDIR.into()),
        }
    }
}
