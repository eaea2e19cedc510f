//! What a guest gets anew each time that it goes on from a saved state: positions, flags, and files of its own.

use std::collections::BTreeMap;
use std::sync::Arc;

use rustix::fs::{SeekFrom, seek};

use super::state::{File, MemorySource, Saved, SavedKind, SavedMapping};
use crate::call::Stop;
use crate::descriptors::Slot;
use crate::event::Event;
use crate::inode::Inode;
use crate::interests::Interests;
use crate::local::Local;
use crate::memory_file::MemoryFile;
use crate::open_file::{CHANGEABLE, Directory, DirectoryPlace, Kind, OpenFile};
use crate::paths::Names;
use crate::pipes::Pipe;
use crate::shared_mappings::{Mapping, Mappings};
use crate::signal_file::SignalFile;
use crate::socket::{End, Socket};
use crate::timer_file::TimerFile;

/// Sets the position and the flags of an open file, and what is in the pipe that it reads.
pub(super) fn place(saved: &File, file: &OpenFile, pipes: &[Vec<u8>]) -> Result<(), Stop> {
    match (&saved.kind, &file.kind) {
        (SavedKind::Regular { position, .. }, Kind::Regular(host)) => {
            seek(&host.fd, SeekFrom::Start(*position))?;
        }
        (SavedKind::Regular { position, .. }, Kind::Virtual(file)) => drop(file.seek(SeekFrom::Start(*position))?),
        (SavedKind::Memory { position, .. }, Kind::Memory(file)) => drop(file.seek(SeekFrom::Start(*position))?),
        (SavedKind::Directory { position, .. }, Kind::Directory(directory)) => directory.place(*position)?,
        (SavedKind::PipeReader(id), Kind::PipeReader(end)) => end.pipe().fill(bytes_of(pipes, *id)),
        (SavedKind::PipeWriter(id), Kind::PipeWriter(end)) => end.pipe().fill(bytes_of(pipes, *id)),
        _ => {}
    }
    let status = saved.status & CHANGEABLE;
    if file.status() & CHANGEABLE != status {
        file.set_status(status)?;
    }
    Ok(())
}

/// The number and the activity of a descriptor's file.
pub(super) fn activity(slots: &[Option<Slot>], fd: i32) -> Option<(u64, u64)> {
    let file = &slots.get(usize::try_from(fd).ok()?)?.as_ref()?.file;
    Some((file.number(), file.activity(!0)))
}

/// Gives a guest files of its own in place of those that are kept for a reset and that it could change: ends of pipes, which
/// count as open only now, sockets, private files, event counters, timers, sets of signals, and epoll descriptors.
pub(super) fn renew(
    slots: &mut [Option<Slot>],
    saved: &Saved,
    names: &Names,
    pipes: &[Pipe],
    inodes: &[Arc<Inode>],
) -> BTreeMap<u32, Arc<OpenFile>> {
    let mut renewed: BTreeMap<u32, Arc<OpenFile>> = BTreeMap::new();
    // Those that watch others come last.
    for watches in [false, true] {
        for descriptor in &saved.descriptors {
            let Some(file) = saved.files.get(descriptor.file as usize) else { continue };
            let Some(Some(slot)) = slots.get(descriptor.number as usize) else { continue };
            if matches!(file.kind, SavedKind::Epoll(_)) != watches {
                continue;
            }
            let kind = || match (&file.kind, &slot.file.kind) {
                (SavedKind::PipeReader(_), Kind::PipeReader(end)) => Some(Kind::PipeReader(end.pipe().reader())),
                (SavedKind::PipeWriter(_), Kind::PipeWriter(end)) => Some(Kind::PipeWriter(end.pipe().writer())),
                (SavedKind::Socket { local, timeouts }, _) => {
                    let local = Local::from_saved(local, pipes, inodes)?;
                    Some(Kind::Socket(Socket::new(End::Local(local), *timeouts)))
                }
                (SavedKind::Memory { source: MemorySource::Private(_), .. }, old) => renewed_private(file, old, inodes),
                (
                    SavedKind::Directory { position, .. },
                    Kind::Directory(Directory { path, place: DirectoryPlace::Memory(_), .. }),
                ) => {
                    let directory = Directory::in_memory(path.clone(), names.private(path)?);
                    directory.place(*position).ok()?;
                    Some(Kind::Directory(directory))
                }
                (SavedKind::Event(event), _) => Some(Kind::Event(Event::from_saved(*event))),
                (SavedKind::Timer(timer), _) => Some(Kind::Timer(TimerFile::from_saved(*timer))),
                (SavedKind::Signals(set), _) => Some(Kind::Signals(SignalFile::new(*set))),
                (SavedKind::Epoll(interests), _) => {
                    Some(Kind::Epoll(Interests::from_saved(interests, |fd| activity(slots, fd))))
                }
                _ => None,
            };
            let new = || Some(Arc::new(OpenFile::new(kind()?, slot.file.status())));
            let Some(new) = renewed.get(&descriptor.file).cloned().or_else(new) else { continue };
            renewed.insert(descriptor.file, new.clone());
            if let Some(Some(slot)) = slots.get_mut(descriptor.number as usize) {
                slot.file = new;
            }
        }
    }
    renewed
}

/// A private file in place of one that is kept for a reset.
pub(super) fn renewed_private(saved: &File, old: &Kind, inodes: &[Arc<Inode>]) -> Option<Kind> {
    let SavedKind::Memory { source: MemorySource::Private(id), position, .. } = &saved.kind else { return None };
    let Kind::Memory(old) = old else { return None };
    let file = MemoryFile::new(old.path.clone(), inodes.get(*id as usize)?.clone(), old.origin, old.limit.clone());
    file.seek(SeekFrom::Start(*position)).ok()?;
    Some(Kind::Memory(file))
}

/// The shared mappings, of files that have been renewed or are kept; `None` if no guest could have them.
pub(super) fn mappings(
    saved: &Saved,
    renewed: &mut BTreeMap<u32, Arc<OpenFile>>,
    files: &[Arc<OpenFile>],
    inodes: &[Arc<Inode>],
) -> Option<Mappings> {
    let mut all = Vec::new();
    for SavedMapping { range, offset, writes, filled, file } in &saved.mappings {
        let (kept, saved_file) = (files.get(*file as usize)?, saved.files.get(*file as usize)?);
        let new = || match renewed_private(saved_file, &kept.kind, inodes) {
            Some(kind) => Arc::new(OpenFile::new(kind, saved_file.status)),
            None => kept.clone(),
        };
        let open_file = renewed.entry(*file).or_insert_with(new).clone();
        let mapping = Mapping::new(range.clone(), *offset, open_file, *writes)?;
        all.push(Mapping { filled: filled.clone(), ..mapping });
    }
    Mappings::of(all)
}

pub(super) fn bytes_of(pipes: &[Vec<u8>], id: u32) -> &[u8] {
    pipes.get(id as usize).map_or(&[], Vec::as_slice)
}
