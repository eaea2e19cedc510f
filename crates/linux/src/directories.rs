//! System calls on directories: reading entries, and the current directory.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::sync::PoisonError;
use std::sync::atomic::Ordering;

use rustix::fs::{FileType, RawDir, SeekFrom};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use crate::Linux;
use crate::abi::{Layout, at, mode};
use crate::call::{Call, Outcome, Stop, writable};
use crate::inode::Entry;
use crate::open_file::{Directory, DirectoryPlace, Kind, MemoryDirectory};
use crate::own::{self, Own};
use crate::paths::{Found, Node};
use crate::status::Status;
use crate::virtual_file::VirtualDirectory;
use crate::virtual_fs::FileKind;

/// Bytes of entries that one call reads.
const MAX_ENTRIES: u64 = 32 << 10;

/// Bytes of the smallest entry.
const MIN_ENTRY: usize = 24;

/// Bytes that have room for an entry.
const MAX_ENTRY: usize = 512;

/// Where an open directory is read.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct DirectoryPosition {
    /// The position behind the guest's own entries: that of the host's directory, if it is one.
    host: u64,
    /// How many of the guest's own entries have been read.
    own: u64,
    /// As [`MemoryDirectory::end`].
    end: u64,
}

/// One `struct linux_dirent64`.
fn entry(inode: u64, cookie: u64, kind: u8, name: &[u8]) -> Vec<u8> {
    const HEADER: usize = 19;
    let size = (HEADER + name.len() + 1).next_multiple_of(8);
    let layout = Layout::new().u64(inode).u64(cookie).u16(size as u16).u8(kind).bytes(name);
    layout.zeros_to(size).into_bytes()
}

/// `DT_*`.
fn kind_of(file_type: FileType) -> u8 {
    match file_type {
        FileType::Unknown => 0,
        known => (known.as_raw_mode() >> 12) as u8,
    }
}

/// Positions in a directory before the host's entries: this, and how many of the guest's own entries have been read.
/// It is beyond what file systems use.
const OWN: u64 = i64::MAX as u64 - 0xffff;

pub(crate) fn getdents64(call: &mut Call<'_>) -> Outcome {
    let file = call.file(0)?;
    let Kind::Directory(directory) = &file.kind else { return Err(Errno::NOTDIR.into()) };
    let (address, len) = (call.args[1], u64::from(call.uint(2)).min(MAX_ENTRIES));
    let room = writable(call.memory, address, len)? as usize;
    let own = own_names(call.linux, directory);
    let mut entries = {
        let mut position = directory.own_entries.lock().unwrap_or_else(PoisonError::into_inner);
        own_entries(call, directory, &own, &mut position, room)?
    };
    if entries.is_empty() {
        entries = match &directory.place {
            DirectoryPlace::Own => entries,
            DirectoryPlace::Host(fd, _) => host_entries(fd, &own, room)?,
            DirectoryPlace::Memory(memory) => memory_entries(memory, &own, room)?,
            DirectoryPlace::Virtual(directory) => virtual_entries(directory, &own, room)?,
        };
    }
    call.memory.write(address, &entries)?;
    Ok(entries.len() as u64)
}

/// Names that are there whatever the host's directory has.
fn own_names(linux: &Linux, directory: &Directory) -> BTreeSet<OsString> {
    let mut own = linux.names.children(&directory.path);
    if own::is_descriptors(&directory.path) {
        own.extend(linux.descriptors.numbers().map(|number| number.to_string().into()));
    }
    if !matches!(directory.place, DirectoryPlace::Host(..)) {
        own.extend([".", ".."].map(OsString::from));
    }
    own
}

fn own_entries(
    call: &Call<'_>,
    directory: &Directory,
    own: &BTreeSet<OsString>,
    position: &mut u64,
    room: usize,
) -> Result<Vec<u8>, Stop> {
    const DIRECTORY: u8 = (mode::DIRECTORY >> 12) as u8;
    let mut entries = Vec::new();
    for name in own.iter().skip(*position as usize) {
        let found = call.linux.names.resolve(&directory.path, name.as_bytes(), false, call.patience)?;
        let kind = match found.node {
            Node::Own(own) => (Status::of_own(&own).kind() >> 12) as u8,
            Node::Host(_) | Node::Memory(_) | Node::Virtual(_) => DIRECTORY,
        };
        let entry = entry(found.path.number(), OWN + *position + 1, kind, name.as_bytes());
        if entries.len() + entry.len() > room {
            return if entries.is_empty() { Err(Errno::INVAL.into()) } else { Ok(entries) };
        }
        entries.extend(entry);
        *position += 1;
    }
    Ok(entries)
}

fn memory_entries(
    MemoryDirectory { inode, position, end }: &MemoryDirectory,
    own: &BTreeSet<OsString>,
    room: usize,
) -> Result<Vec<u8>, Stop> {
    let mut position = position.lock().unwrap_or_else(PoisonError::into_inner);
    if *position == 0 {
        end.store(inode.entries_last(), Ordering::Relaxed);
    }
    let end = end.load(Ordering::Relaxed);
    let mut entries = Vec::new();
    for (name, Entry { inode, order }) in inode.entries_after(*position, room / MIN_ENTRY + 1) {
        if order > end {
            break;
        }
        let kind = (inode.kind() >> 12) as u8;
        let entry = entry(inode.number, order, kind, name.as_bytes());
        if entries.len() + entry.len() > room {
            return if entries.is_empty() { Err(Errno::INVAL.into()) } else { Ok(entries) };
        }
        if !own.contains(&name) {
            entries.extend(entry);
        }
        *position = order;
    }
    Ok(entries)
}

fn virtual_entries(directory: &VirtualDirectory, own: &BTreeSet<OsString>, room: usize) -> Result<Vec<u8>, Stop> {
    let mut entries = Vec::new();
    let mut lacks_room = false;
    directory.read(|(name, kind), cookie| {
        let mut path = directory.name.path.clone();
        path.0.push(name.clone());
        let entry = entry(path.number(), cookie, (kind.mode() >> 12) as u8, name.as_bytes());
        lacks_room = entries.len() + entry.len() > room;
        if !lacks_room && !own.contains(name) {
            entries.extend(entry);
        }
        !lacks_room
    })?;
    if entries.is_empty() && lacks_room { Err(Errno::INVAL.into()) } else { Ok(entries) }
}

fn host_entries(fd: &OwnedFd, own: &BTreeSet<OsString>, room: usize) -> Result<Vec<u8>, Stop> {
    // Words, because the host's structures are aligned.
    let mut words = vec![MaybeUninit::<u8>::uninit(); room + align_of::<u64>()];
    let slack = words.as_ptr().align_offset(align_of::<u64>());
    let mut entries = Vec::new();
    let mut reader = RawDir::new(fd, &mut words[slack..slack + room]);
    while let Some(next) = reader.next() {
        let next = next?;
        let name = next.file_name().to_bytes();
        if !own.contains(OsStr::from_bytes(name)) {
            entries.extend(entry(next.ino(), next.next_entry_cookie(), kind_of(next.file_type()), name));
        }
        // An empty result would mean the directory's end.
        if reader.is_buffer_empty() && !entries.is_empty() {
            break;
        }
    }
    Ok(entries)
}

impl Directory {
    /// Where the next entry is read, as [`Directory::place`] takes it.
    pub(crate) fn position(&self) -> Result<DirectoryPosition, Stop> {
        let host = self.seek_behind_own(SeekFrom::Current(0))?;
        let own = *self.own_entries.lock().unwrap_or_else(PoisonError::into_inner);
        let end = if let DirectoryPlace::Memory(memory) = &self.place { memory.end.load(Ordering::Relaxed) } else { 0 };
        Ok(DirectoryPosition { host, own, end })
    }

    /// Goes on reading there, in the same directory or one that has been opened anew.
    pub(crate) fn place(&self, position: DirectoryPosition) -> Result<(), Stop> {
        if let (DirectoryPlace::Host(fd, _), 1..) = (&self.place, position.host) {
            // A directory of ext4 that is first read at its end stays empty, also from its beginning on.
            rustix::fs::seek(fd, SeekFrom::Start(0))?;
            host_entries(fd, &BTreeSet::new(), MAX_ENTRY)?;
        }
        self.seek_behind_own(SeekFrom::Start(position.host))?;
        if let DirectoryPlace::Memory(memory) = &self.place {
            memory.end.store(position.end, Ordering::Relaxed);
        }
        *self.own_entries.lock().unwrap_or_else(PoisonError::into_inner) = position.own;
        Ok(())
    }

    /// Changes the position behind the guest's own entries.
    fn seek_behind_own(&self, to: SeekFrom) -> Outcome {
        match (&self.place, to) {
            (DirectoryPlace::Host(fd, _), to) => Ok(rustix::fs::seek(fd, to)?),
            (DirectoryPlace::Memory(memory), to) => {
                let mut position = memory.position.lock().unwrap_or_else(PoisonError::into_inner);
                if let SeekFrom::Start(to) = to {
                    *position = to;
                }
                Ok(*position)
            }
            (DirectoryPlace::Virtual(directory), to) => {
                if let SeekFrom::Start(to) = to {
                    directory.seek(to);
                }
                Ok(directory.position())
            }
            (DirectoryPlace::Own, _) => Ok(0),
        }
    }

    /// Changes the position of reading, for `lseek`.
    pub(crate) fn seek(&self, to: SeekFrom) -> Outcome {
        let mut position = self.own_entries.lock().unwrap_or_else(PoisonError::into_inner);
        let host = |to| self.seek_behind_own(to);
        let at_host = host(SeekFrom::Current(0))?;
        match to {
            SeekFrom::Start(to @ (0 | OWN..)) => {
                host(SeekFrom::Start(0))?;
                *position = to.saturating_sub(OWN);
                Ok(to)
            }
            // The host's entries come after the guest's own.
            SeekFrom::Start(to) if !matches!(self.place, DirectoryPlace::Own) => {
                let at = host(SeekFrom::Start(to))?;
                *position = u64::MAX;
                Ok(at)
            }
            SeekFrom::Current(0) if at_host == 0 && (1..=i64::MAX as u64 - OWN).contains(&*position) => {
                Ok(OWN + *position)
            }
            SeekFrom::Current(0) => Ok(at_host),
            _ => Err(Errno::INVAL.into()),
        }
    }
}

pub(crate) fn getcwd(call: &mut Call<'_>) -> Outcome {
    let mut path = call.linux.names.current.to_bytes();
    path.push(0);
    if path.len() as u64 > call.args[1] {
        return Err(Errno::RANGE.into());
    }
    call.memory.write(call.args[0], &path)?;
    Ok(path.len() as u64)
}

pub(crate) fn chdir(call: &mut Call<'_>) -> Outcome {
    let path = call.path(0)?;
    let Found { path, node, .. } = call.find(at::CURRENT_DIRECTORY, &path, true)?;
    let is_directory = match node {
        Node::Host(name) => name.look()?.kind == mode::DIRECTORY,
        Node::Memory(name) => name.look()?.kind() == mode::DIRECTORY,
        Node::Virtual(name) => name.look()?.kind == FileKind::Directory,
        Node::Own(own) => matches!(own, Own::Directory),
    };
    if !is_directory {
        return Err(Errno::NOTDIR.into());
    }
    call.linux.names.current = path;
    Ok(0)
}

pub(crate) fn fchdir(call: &mut Call<'_>) -> Outcome {
    call.linux.names.current = call.directory(call.int(0))?;
    Ok(0)
}
