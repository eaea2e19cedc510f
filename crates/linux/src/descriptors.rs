//! The table of file descriptors.

use std::collections::BTreeSet;
use std::sync::Arc;

use rustix::io::Errno;

use crate::abi::{Layout, at, open};
use crate::call::{Call, Outcome, Stop};
use crate::devices::Device;
use crate::guest_path::GuestPath;
use crate::held_locks::HeldLocks;
use crate::host_file::SizeLimit;
use crate::local::Local;
use crate::locks;
use crate::memfd;
use crate::open_file::{Kind, OpenFile};
use crate::paths::Found;
use crate::pipes;
use crate::stdio::{Input, Output};
use crate::stream::Stream;

/// Descriptors that a guest may have open by default.
pub(crate) const DEFAULT_LIMIT: usize = 256;
/// The largest limit on descriptors: their table takes memory of the host.
pub(crate) const MAX_LIMIT: usize = 1 << 16;

/// An open descriptor.
#[derive(Clone)]
pub(crate) struct Slot {
    pub(crate) file: Arc<OpenFile>,
    pub(crate) close_on_exec: bool,
}

pub(crate) struct Descriptors {
    pub(crate) slots: Vec<Option<Slot>>,
    /// Descriptors are smaller than this (`RLIMIT_NOFILE`), and there are no more of them on their way: each may cost the
    /// host one of its own.
    most: usize,
    /// The same, or what the guest has lowered it to.
    limit: usize,
    /// The record locks of the guest's process, which end where descriptors are closed.
    pub(crate) held_locks: HeldLocks,
}

/// The standard streams as open files.
pub(crate) fn standard_streams(stdin: Input, [stdout, stderr]: [Output; 2], sizes: &SizeLimit) -> [Arc<OpenFile>; 3] {
    let input = match stdin {
        Input::Null => Kind::Device(Device::Null),
        Input::Inherit => Kind::Stream(Stream::new(rustix::stdio::stdin(), false, sizes.clone())),
        Input::Reader(reader) => Kind::Reader(reader.into()),
    };
    let output = |output| match output {
        Output::Null => Kind::Device(Device::Null),
        Output::InheritStdout => Kind::Stream(Stream::new(rustix::stdio::stdout(), true, sizes.clone())),
        Output::InheritStderr => Kind::Stream(Stream::new(rustix::stdio::stderr(), true, sizes.clone())),
        Output::Writer(writer) => Kind::Writer(writer.into()),
    };
    let files =
        [OpenFile::standard(0, input), OpenFile::standard(1, output(stdout)), OpenFile::standard(2, output(stderr))];
    files.map(Arc::new)
}

impl Descriptors {
    /// The standard streams.
    pub(crate) fn new(files: [Arc<OpenFile>; 3], limit: usize) -> Descriptors {
        let slot = |file| Some(Slot { file, close_on_exec: false });
        let most = limit.min(MAX_LIMIT);
        Descriptors { slots: files.map(slot).into(), most, limit: most, held_locks: HeldLocks::default() }
    }

    /// What the host has set.
    pub(crate) fn most(&self) -> usize {
        self.most
    }

    /// Lowers the limit for descriptors that are opened from now on, and has it what it was at most.
    pub(crate) fn lower(&mut self, limit: usize) {
        self.limit = limit.min(self.most);
    }

    /// One more than the highest descriptor that may be open.
    pub(crate) fn limit(&self) -> usize {
        self.limit
    }

    /// Sets whether a descriptor is closed on `execve`.
    pub(crate) fn set_close_on_exec(&mut self, fd: i32, on: bool) -> Result<(), Stop> {
        self.slot(fd)?.close_on_exec = on;
        Ok(())
    }

    fn slot(&mut self, fd: i32) -> Result<&mut Slot, Stop> {
        let slot = usize::try_from(fd).ok().and_then(|fd| self.slots.get_mut(fd));
        slot.and_then(Option::as_mut).ok_or(Errno::BADF.into())
    }

    /// The open file; `EBADF` if there is none.
    pub(crate) fn get(&self, fd: i32) -> Result<Arc<OpenFile>, Stop> {
        let slot = usize::try_from(fd).ok().and_then(|fd| self.slots.get(fd)?.as_ref());
        Ok(slot.ok_or(Errno::BADF)?.file.clone())
    }

    /// The open file; `EBADF` if the descriptor is open for its path only.
    pub(crate) fn get_for_use(&self, fd: i32) -> Result<Arc<OpenFile>, Stop> {
        match self.get(fd)? {
            file if file.status() & open::PATH != 0 => Err(Errno::BADF.into()),
            file => Ok(file),
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &OpenFile> {
        self.slots.iter().flatten().map(|slot| &*slot.file)
    }

    /// Opens a file at the lowest free descriptor, with flags as `openat` takes them.
    pub(crate) fn open(&mut self, kind: Kind, flags: u32) -> Result<i32, Stop> {
        let file = Arc::new(OpenFile::new(kind, flags));
        self.add_from(0, Slot { file, close_on_exec: flags & open::CLOSE_ON_EXEC != 0 })
    }

    /// The numbers of open descriptors.
    pub(crate) fn numbers(&self) -> impl Iterator<Item = usize> {
        self.slots.iter().enumerate().filter_map(|(number, slot)| slot.as_ref().map(|_| number))
    }

    /// Lets the lowest free descriptor stand for a file that is open.
    pub(crate) fn share(&mut self, file: Arc<OpenFile>, close_on_exec: bool) -> Result<i32, Stop> {
        self.add_from(0, Slot { file, close_on_exec })
    }

    /// `ENFILE` if there may not be so many more ends of pipes. A local socket that is connected has two.
    pub(crate) fn check_pipes(&self, more: usize) -> Result<(), Stop> {
        let ends = |file: &OpenFile| match &file.kind {
            Kind::PipeReader(_) | Kind::PipeWriter(_) => 1,
            _ => file.local().map_or(0, Local::ends),
        };
        let on_their_way = self.on_their_way();
        let all = self.iter().chain(on_their_way.iter().map(|file| &**file)).map(ends);
        match all.sum::<usize>() + more <= pipes::MAX_ENDS {
            true => Ok(()),
            false => Err(Errno::NFILE.into()),
        }
    }

    /// The files that are in messages which the guest has not received.
    fn on_their_way(&self) -> Vec<Arc<OpenFile>> {
        let mut seen = BTreeSet::new();
        let files = self.iter().filter(|file| seen.insert(file.number()));
        let pipes = files.filter_map(OpenFile::local).flat_map(Local::incoming);
        let carried = pipes.flat_map(|pipe| pipe.rights().files().cloned().collect::<Vec<_>>());
        carried.filter_map(|file| file.downcast().ok()).collect()
    }

    /// `ETOOMANYREFS` if there may not be so many more files on their way in messages: as many as descriptors.
    pub(crate) fn check_on_their_way(&self, more: usize) -> Result<(), Stop> {
        match self.on_their_way().len() + more <= self.most {
            true => Ok(()),
            false => Err(Errno::TOOMANYREFS.into()),
        }
    }

    /// `EMFILE` if no descriptor is free.
    pub(crate) fn check_free(&self) -> Result<(), Stop> {
        match self.slots.iter().take(self.limit).flatten().count() < self.limit {
            true => Ok(()),
            false => Err(Errno::MFILE.into()),
        }
    }

    fn add_from(&mut self, lowest: usize, slot: Slot) -> Result<i32, Stop> {
        let free =
            (lowest..self.slots.len()).find(|&fd| self.slots[fd].is_none()).unwrap_or(self.slots.len().max(lowest));
        if free >= self.limit {
            return Err(Errno::MFILE.into());
        }
        self.put(free, slot);
        Ok(free as i32)
    }

    fn put(&mut self, fd: usize, slot: Slot) {
        if fd >= self.slots.len() {
            self.slots.resize(fd + 1, None);
        }
        self.empty(fd);
        self.slots[fd] = Some(slot);
    }

    /// Closes a descriptor, if it is open: the only way in which the guest does.
    fn empty(&mut self, fd: usize) {
        if let Some(slot) = self.slots.get_mut(fd).and_then(Option::take) {
            self.held_locks.closed(&slot.file);
            if slot.file.is_only_kept() {
                locks::release(&slot.file);
            }
        }
    }

    pub(crate) fn close(&mut self, fd: i32) -> Result<(), Stop> {
        self.slot(fd)?;
        self.empty(fd as usize);
        Ok(())
    }
}

impl Call<'_> {
    /// The open file that argument `n` names.
    pub(crate) fn file(&self, n: usize) -> Result<Arc<OpenFile>, Stop> {
        self.linux.descriptors.get_for_use(self.int(n))
    }

    /// The path at argument `n + 1`, relative to the directory of argument `n`.
    pub(crate) fn found(&self, n: usize, follow: bool) -> Result<Found, Stop> {
        let path = self.path(n + 1)?;
        self.find(self.int(n), &path, follow)
    }

    /// The same, where a file is made if there is none.
    pub(crate) fn found_new_file(&self, n: usize, follow: bool) -> Result<Found, Stop> {
        let path = self.path(n + 1)?;
        let names = &self.linux.names;
        names.resolve_new_file(&self.base(self.int(n), &path)?, &path, follow, self.patience)
    }

    /// What the call makes, moves or removes by the path at the arguments from `n` on: its last name is never followed,
    /// even if slashes come behind it.
    pub(crate) fn found_name(&self, n: usize) -> Result<Found, Stop> {
        let path = self.path(n + 1)?;
        let len = path.iter().rposition(|&byte| byte != b'/').map_or(path.len(), |last| last + 1);
        let mut found = self.find(self.int(n), &path[..len], false)?;
        found.must_be_directory |= len < path.len();
        Ok(found)
    }

    /// What `path`, relative to a directory, leads to.
    pub(crate) fn find(&self, directory: i32, path: &[u8], follow: bool) -> Result<Found, Stop> {
        self.linux.names.resolve(&self.base(directory, path)?, path, follow, self.patience)
    }

    /// Where `path`, relative to a directory, begins.
    fn base(&self, directory: i32, path: &[u8]) -> Result<GuestPath, Stop> {
        match path.first() == Some(&b'/') || directory == at::CURRENT_DIRECTORY {
            true => Ok(self.linux.names.current.clone()),
            false => self.directory(directory),
        }
    }

    /// The path of an open directory.
    pub(crate) fn directory(&self, fd: i32) -> Result<GuestPath, Stop> {
        match &self.linux.descriptors.get(fd)?.kind {
            Kind::Directory(directory) => Ok(directory.path.clone()),
            _ => Err(Errno::NOTDIR.into()),
        }
    }
}

pub(crate) fn close(call: &mut Call<'_>) -> Outcome {
    let fd = call.int(0);
    call.linux.descriptors.close(fd)?;
    Ok(0)
}

pub(crate) fn close_range(call: &mut Call<'_>) -> Outcome {
    const CLOSE_ON_EXEC: u32 = 4;
    let flags = call.only(2, CLOSE_ON_EXEC)?;
    let (first, last) = (call.uint(0), call.uint(1));
    if first > last {
        return Err(Errno::INVAL.into());
    }
    let descriptors = &mut call.linux.descriptors;
    for fd in first as usize..descriptors.slots.len().min((last as usize).saturating_add(1)) {
        match (flags, &mut descriptors.slots[fd]) {
            (CLOSE_ON_EXEC, Some(slot)) => slot.close_on_exec = true,
            _ => descriptors.empty(fd),
        }
    }
    Ok(0)
}

pub(crate) fn dup(call: &mut Call<'_>) -> Outcome {
    let fd = call.int(0);
    let file = call.linux.descriptors.get(fd)?;
    Ok(call.linux.descriptors.add_from(0, Slot { file, close_on_exec: false })? as u64)
}

pub(crate) fn pipe2(call: &mut Call<'_>) -> Outcome {
    let flags = call.only(1, open::NON_BLOCKING | open::CLOSE_ON_EXEC)?;
    call.linux.descriptors.check_pipes(2)?;
    let (reader, writer) = pipes::pipe();
    let files = [(Kind::PipeReader(reader), flags), (Kind::PipeWriter(writer), open::WRITE_ONLY | flags)];
    open_two(call, call.args[0], files)
}

/// Opens two files, and stores their descriptors at an address.
pub(crate) fn open_two(call: &mut Call<'_>, address: u64, [one, two]: [(Kind, u32); 2]) -> Outcome {
    call.memory.slice_mut(address, 8)?;
    let descriptors = &mut call.linux.descriptors;
    let one = descriptors.open(one.0, one.1)?;
    let two = match descriptors.open(two.0, two.1) {
        Ok(two) => two,
        Err(stop) => {
            descriptors.close(one)?;
            return Err(stop);
        }
    };
    Layout::new().u32(one as u32).u32(two as u32).store(call.memory, address)
}

pub(crate) fn dup3(call: &mut Call<'_>) -> Outcome {
    let (old, new) = (call.int(0), call.int(1));
    let close_on_exec = call.only(2, open::CLOSE_ON_EXEC)? != 0;
    if old == new {
        return Err(Errno::INVAL.into());
    }
    let file = call.linux.descriptors.get(old)?;
    let limit = call.linux.descriptors.limit();
    let new = usize::try_from(new).ok().filter(|&new| new < limit).ok_or(Errno::BADF)?;
    call.linux.descriptors.put(new, Slot { file, close_on_exec });
    Ok(new as u64)
}

pub(crate) fn fcntl(call: &mut Call<'_>) -> Outcome {
    const F_DUPFD: i32 = 0;
    const F_GETFD: i32 = 1;
    const F_SETFD: i32 = 2;
    const F_GETFL: i32 = 3;
    const F_SETFL: i32 = 4;
    const F_DUPFD_CLOEXEC: i32 = 1030;
    const F_SETPIPE_SZ: i32 = 1031;
    const F_GETPIPE_SZ: i32 = 1032;
    const F_ADD_SEALS: i32 = 1033;
    const F_GET_SEALS: i32 = 1034;
    const FD_CLOEXEC: u32 = 1;
    let (fd, argument) = (call.int(0), call.uint(2));
    let descriptors = &mut call.linux.descriptors;
    let limit = descriptors.limit();
    let command = call.args[1] as i32;
    if !matches!(command, F_DUPFD | F_DUPFD_CLOEXEC | F_GETFD | F_SETFD | F_GETFL) {
        // The others take no descriptor of a place.
        descriptors.get_for_use(fd)?;
    }
    let slot = descriptors.slot(fd)?;
    match command {
        command @ (F_DUPFD | F_DUPFD_CLOEXEC) => {
            let slot = Slot { file: slot.file.clone(), close_on_exec: command == F_DUPFD_CLOEXEC };
            match argument as usize {
                lowest if lowest < limit => Ok(descriptors.add_from(lowest, slot)? as u64),
                _ => Err(Errno::INVAL.into()),
            }
        }
        F_GETFD => Ok(slot.close_on_exec.into()),
        F_SETFD => {
            slot.close_on_exec = argument & FD_CLOEXEC != 0;
            Ok(0)
        }
        F_GETFL => Ok(slot.file.status().into()),
        F_SETFL => slot.file.set_status(argument).map(|()| 0),
        F_SETPIPE_SZ | F_GETPIPE_SZ => {
            let pipe = match &slot.file.kind {
                Kind::PipeReader(end) => end.pipe(),
                Kind::PipeWriter(end) => end.pipe(),
                _ => return Err(Errno::BADF.into()),
            };
            match command {
                F_SETPIPE_SZ => Ok(pipe.set_capacity(argument as usize)? as u64),
                _ => Ok(pipe.capacity() as u64),
            }
        }
        F_ADD_SEALS => memfd::add_seals(&slot.file.clone(), argument, &call.linux.mappings),
        F_GET_SEALS => memfd::seals(&slot.file),
        command => locks::control(call, command),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NULL: Kind = Kind::Device(Device::Null);

    #[test]
    fn the_lowest_free_descriptor_is_taken_up_to_the_limit() {
        let mut table = Descriptors::new([NULL; 3].map(|kind| Arc::new(OpenFile::new(kind, 0))), 1024);
        for expected in 3..1024 {
            assert_eq!(table.open(NULL, 0), Ok(expected));
        }
        assert_eq!(table.open(NULL, 0), Err(Stop::Errno(Errno::MFILE)));
        assert_eq!(table.check_free(), Err(Stop::Errno(Errno::MFILE)));
        table.close(700).unwrap();
        table.close(7).unwrap();
        assert_eq!(table.close(7), Err(Stop::Errno(Errno::BADF)));
        assert_eq!(table.open(NULL, 0), Ok(7));
        assert_eq!(table.open(NULL, 0), Ok(700));
        assert!(table.get(-1).is_err() && table.get(1024).is_err() && table.get(i32::MAX).is_err());
    }
}
