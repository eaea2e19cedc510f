//! The personality's state as bytes, a section of a snapshot.
//!
//! [`Linux::save`] writes it, [`Builder::restore`] reads it. What a guest is granted is not part of it: that comes from the
//! builder, by which files are opened again, by their guest paths. The bytes are not trusted. What they say is either
//! checked here, or could have been made so by the guest's own system calls.

mod opening;
mod renewing;
mod state;

use std::collections::BTreeMap;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

use riverrun::{Machine, Program, Snapshot};
use rustix::fs::{SeekFrom, seek};
use rustix::io::Errno;

use crate::Linux;
use crate::abi::mode;
use crate::builder::Builder;
use crate::call::{Patience, Stop};
use crate::descriptors::Slot;
use crate::error::Error;
use crate::file_systems::Place;
use crate::guest_path::GuestPath;
use crate::inode::{Content, Inode};
use crate::memory_file::Origin;
use crate::open_file::{DirectoryPlace, Kind, OpenFile};
use crate::own::Own;
use crate::paths::{Names, Node};
use crate::pipes::Pipe;
use crate::random::Random;
use crate::saved_tree::{LoadError, Loaded, Saver};
use crate::shared_mappings::Mapping;
use crate::signals::Signals;
use crate::socket::End;
use crate::tcp::Tcp;
use crate::threads::Threads;
use crate::time::Clock;
use crate::udp::Udp;
use crate::virtual_file::VirtualDirectory;
use crate::virtual_fs::FileKind;

use opening::Opener;
use renewing::{activity, mappings, place, renew};
use state::{DAMAGED, Descriptor, File, MemorySource, Saved, SavedKind, SavedMapping, VERSION, reason, text};

/// The name of the personality's section in a snapshot.
pub const SECTION: &str = "riverrun.linux";

/// A snapshot of a machine with the personality's state in it, for [`Builder::restore_from`]. `get` finds the personality
/// in the machine's data, as for [`crate::add_to_linker`].
///
/// ```
/// use riverrun::{Config, Engine, Linker, Program};
/// use riverrun_linux::Linux;
///
/// let engine = Engine::new(&Config::new())?;
/// let mut linker = Linker::new(&engine);
/// riverrun_linux::add_to_linker(&mut linker, |linux: &mut Linux| linux);
/// let program = Program::new(&engine, riverrun::doc::TINY)?;
/// let mut machine = linker.instantiate(&program, Linux::builder().build())?;
/// riverrun_linux::start(&mut machine, |linux| linux)?;
///
/// let snapshot = riverrun_linux::snapshot(&mut machine, |linux| linux)?;
/// for seed in 0..3 {
///     let linux = Linux::builder().seed(Some(seed)).restore_from(&snapshot)?;
///     assert_eq!(linker.instantiate_from(&snapshot, linux)?.run()?, 42);
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// As [`Linux::save`], and [`Error::Snapshot`] if the machine gives no snapshot.
pub fn snapshot<T>(machine: &mut Machine<T>, get: impl FnOnce(&mut T) -> &mut Linux) -> Result<Snapshot, Error> {
    let state = get(machine.data_mut()).save()?;
    let snapshot = machine.snapshot().map_err(|error| Error::Snapshot(error.into()))?;
    Ok(snapshot.with_section(SECTION, state))
}

/// Puts a machine and its personality back to a snapshot that [`snapshot`] has taken of the same program. Its grants stay
/// as they are.
///
/// # Errors
/// As [`Linux::restore`] and [`Machine::reset`]; the machine is only good for being dropped then.
pub fn reset<T>(
    machine: &mut Machine<T>,
    snapshot: &Snapshot,
    get: impl FnOnce(&mut T) -> &mut Linux,
) -> Result<(), Error> {
    get(machine.data_mut()).restore(snapshot.section(SECTION).ok_or(Error::NoState)?)?;
    machine.reset(snapshot).map_err(|error| Error::Snapshot(error.into()))
}

/// A state that was restored.
pub(crate) struct Baseline {
    bytes: Box<[u8]>,
    saved: Saved,
    reopened: Reopened,
    /// Whether a builder has restored it: [`Linux::reset`] goes back to it, whatever was restored since.
    is_own: bool,
}

/// The files of a saved state, open again.
struct Reopened {
    slots: Vec<Option<Slot>>,
    pipes: Vec<Pipe>,
    /// By the number of a saved file.
    files: Vec<Arc<OpenFile>>,
}

fn position(fd: impl AsFd) -> Result<u64, Stop> {
    Ok(seek(fd, SeekFrom::Current(0))?)
}

/// Fails unless `path` still leads to this file.
fn check_name(names: &Names, path: &GuestPath, fd: &OwnedFd) -> Result<(), Stop> {
    match names.resolve(&GuestPath::default(), &path.to_bytes(), false, Patience::endless())?.node {
        Node::Host(name) if Place::of(&name.look()?.fd)?.identity == Place::of(fd)?.identity => Ok(()),
        _ => Err(Errno::NOENT.into()),
    }
}

impl Linux {
    /// The state as bytes: open files by their names with flags and positions, what is in pipes, the current directory,
    /// arguments and environment, clocks, timers, threads, signals, random numbers if they are seeded. [`Builder::restore`]
    /// makes a new personality of it, on this host or another.
    ///
    /// Files in the private `/tmp` and `/dev/shm` are saved with their contents. Not part of it are what the builder grants
    /// (directories, limits, the log, and where standard streams lead) and the contents of files in granted directories.
    ///
    /// ```
    /// # use riverrun_linux::Linux;
    /// let linux = Linux::builder().args(["game", "--level", "3"]).virtual_time(true).build();
    /// let bytes = linux.save()?;
    /// let again = Linux::builder().restore(&bytes)?;
    /// assert_eq!(again.save()?, bytes);
    /// # Ok::<(), riverrun_linux::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::FileGone`] if a file is open that cannot be opened by its name again, because it has been deleted, renamed
    /// or replaced since; [`Error::HostSocket`] if a socket of the network is open.
    pub fn save(&self) -> Result<Vec<u8>, Error> {
        let mut numbers = BTreeMap::new();
        let mut files = Vec::new();
        let mut tree = Saver::new(&self.names.tree);
        // The number of a file, which gets one if it has none.
        let mut id_of = |number: usize, file: &Arc<OpenFile>, tree: &mut Saver| -> Result<u32, Error> {
            if let Some(&id) = numbers.get(&Arc::as_ptr(file)) {
                return Ok(id);
            }
            let id = files.len() as u32;
            files.push(self.save_file(number, file, tree)?);
            numbers.insert(Arc::as_ptr(file), id);
            Ok(id)
        };
        let mut descriptors = Vec::new();
        for (number, slot) in self.descriptors.slots.iter().enumerate() {
            let Some(Slot { file, close_on_exec }) = slot else { continue };
            let id = id_of(number, file, &mut tree)?;
            descriptors.push(Descriptor { number: number as u32, file: id, close_on_exec: *close_on_exec });
        }
        let mut mappings = Vec::new();
        for mapping in self.mappings.iter() {
            let id = id_of(0, &mapping.file, &mut tree).map_err(|error| match error {
                Error::FileGone { path, .. } => {
                    Error::MappedFile { path, reason: "it has been deleted, renamed or replaced".to_owned() }
                }
                error => error,
            })?;
            let Mapping { ref range, offset, writes, ref filled, .. } = *mapping;
            mappings.push(SavedMapping { range: range.clone(), offset, writes, filled: filled.clone(), file: id });
        }
        for fifo in self.pending_opens.values() {
            tree.id(fifo);
        }
        let (tree, pipes) = tree.finish();
        let saved = Saved {
            args: self.args.clone(),
            env: self.env.clone(),
            descriptors,
            files,
            pipes,
            current: self.names.current.to_bytes(),
            tree,
            mappings,
            layout: self.layout.clone(),
            clock: self.clock.save(),
            timers: self.timers.clone(),
            random: self.random.save(),
            signals: self.signals.save(),
            threads: self.threads.save(),
            process: self.process.clone(),
            offers_functions: self.reactor.offers_functions,
            is_ready: self.reactor.is_ready,
            last_words: self.last_words.bytes().to_vec(),
        };
        postcard::to_extend(&saved, vec![VERSION]).map_err(|_| DAMAGED)
    }

    fn save_file(&self, number: usize, file: &OpenFile, tree: &mut Saver) -> Result<File, Error> {
        let gone = |path: &GuestPath| Error::FileGone { descriptor: number as u32, path: text(path) };
        let named = |path: &GuestPath, fd: &OwnedFd| check_name(&self.names, path, fd).map_err(|_| gone(path));
        if let Some(fifo) = file.kind.fifo() {
            // It may have no name any more.
            tree.id(&fifo);
        }
        let kind = match &file.kind {
            _ if let Some(number) = file.standard => SavedKind::Standard(number),
            Kind::Regular(host) => {
                named(&host.path, &host.fd)?;
                let position = position(&host.fd).map_err(|_| gone(&host.path))?;
                SavedKind::Regular { path: host.path.to_bytes(), position, sync: host.sync }
            }
            Kind::Directory(directory) => {
                let path = &directory.path;
                match &directory.place {
                    DirectoryPlace::Own => {}
                    DirectoryPlace::Host(fd, _) => named(path, fd)?,
                    DirectoryPlace::Memory(memory) => {
                        let there = self.names.private(path);
                        there.filter(|there| Arc::ptr_eq(there, &memory.inode)).ok_or_else(|| gone(path))?;
                    }
                    DirectoryPlace::Virtual(VirtualDirectory { name, .. }) => {
                        let there = name.look_again().ok();
                        there.filter(|there| there.kind == FileKind::Directory).ok_or_else(|| gone(path))?;
                    }
                }
                let position = directory.position().map_err(|_| gone(path))?;
                SavedKind::Directory { path: path.to_bytes(), position }
            }
            Kind::Memory(file) => SavedKind::Memory {
                path: file.path.to_bytes(),
                position: file.position(),
                source: match file.origin {
                    Origin::Guest => MemorySource::Private(tree.id(&file.inode)),
                    Origin::Made => MemorySource::Contents(file.contents()),
                    Origin::Name => MemorySource::Name,
                },
            },
            Kind::Virtual(file) => {
                let path = &file.name.path;
                file.check_name().map_err(|_| gone(path))?;
                SavedKind::Regular { path: path.to_bytes(), position: file.position(), sync: 0 }
            }
            Kind::Device(device) => SavedKind::Device(*device),
            Kind::PipeReader(reader) => SavedKind::PipeReader(tree.pipes.number(reader.pipe())),
            Kind::PipeWriter(writer) => SavedKind::PipeWriter(tree.pipes.number(writer.pipe())),
            Kind::Socket(socket) => match &socket.end {
                End::Local(local) if local.incoming().iter().any(|pipe| pipe.rights().files().count() != 0) => {
                    return Err(Error::OnTheirWay { descriptor: number as u32 });
                }
                End::Local(local) => {
                    let inode = local.file();
                    let id = inode.map(|inode| tree.id(&inode));
                    let local = local.save(|pipe| tree.pipes.number(pipe), id);
                    SavedKind::Socket { local, timeouts: socket.timeouts() }
                }
                End::Tcp(Tcp { host, .. }) | End::Udp(Udp { host, .. }) => {
                    return Err(Error::HostSocket { descriptor: number as u32, addresses: host.shown() });
                }
            },
            Kind::Event(event) => SavedKind::Event(event.save()),
            Kind::Timer(timer) => SavedKind::Timer(timer.save()),
            Kind::Signals(file) => SavedKind::Signals(file.set()),
            Kind::Process => SavedKind::Process,
            Kind::Epoll(interests) => SavedKind::Epoll(interests.save(|fd| activity(&self.descriptors.slots, fd))),
            Kind::Stream(_) | Kind::Reader(_) | Kind::Writer(_) => unreachable!("only standard streams are the host's"),
        };
        Ok(File { kind, status: file.status() })
    }

    /// Puts the state back to what [`Builder::restore`] has made: files that were open then are open again, at the
    /// positions that they had; those opened since are closed. The private `/tmp` and `/dev/shm` are as they were. What has
    /// been written to files in granted directories stays, and so does what has been read from the host's readers.
    ///
    /// Where [`Linux::restore`] has restored another state since, it goes back behind that; where no builder has restored
    /// one, to what that restored last.
    ///
    /// This does nothing if the guest has made no system call since. Clocks that are not virtual then just go on.
    ///
    /// ```
    /// # use riverrun_linux::Linux;
    /// let saved = Linux::builder().args(["server"]).build().save()?;
    /// let mut linux = Linux::builder().restore(&saved)?;
    /// // ... serve a request ...
    /// linux.reset()?;
    /// # Ok::<(), riverrun_linux::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::NotRestored`] if a builder's [`build`](Builder::build) has made it; an error of the host for a file.
    pub fn reset(&mut self) -> Result<(), Error> {
        if let Some(own) = self.own_baseline.take() {
            self.baseline = Some(own);
            self.is_changed = true;
        }
        self.rewind()
    }

    /// Goes back to what was restored last.
    fn rewind(&mut self) -> Result<(), Error> {
        let Some(baseline) = self.baseline.take() else { return Err(Error::NotRestored) };
        let result = match self.is_changed {
            true => self.go_back(&baseline),
            false => Ok(()),
        };
        self.is_changed &= result.is_err();
        self.baseline = Some(baseline);
        result
    }

    fn go_back(
        &mut self,
        Baseline { saved, reopened: Reopened { slots, pipes, files }, .. }: &Baseline,
    ) -> Result<(), Error> {
        let Loaded { tree, inodes } = self.load_tree(saved, pipes)?;
        self.release_locks(files);
        self.names.tree = tree;
        self.args.clone_from(&saved.args);
        self.env.clone_from(&saved.env);
        self.descriptors.slots.clone_from(slots);
        // Some have waiting ends only, of which no descriptor knows.
        pipes.iter().zip(&saved.pipes).for_each(|(pipe, contents)| pipe.fill(contents));
        let result = self.place_all(saved, files);
        self.renew(saved, files, pipes, &inodes);
        result?;
        self.take_state(saved)
    }

    /// Makes the private files.
    fn load_tree(&self, saved: &Saved, pipes: &[Pipe]) -> Result<Loaded, Error> {
        saved.tree.load(&self.names.tree, pipes).map_err(|error| match error {
            LoadError::Damaged => DAMAGED,
            LoadError::Full => Error::TooManyFiles { limit: self.names.tree.space.limit() },
        })
    }

    fn renew(&mut self, saved: &Saved, files: &[Arc<OpenFile>], pipes: &[Pipe], inodes: &[Arc<Inode>]) {
        let mut renewed = renew(&mut self.descriptors.slots, saved, &self.names, pipes, inodes);
        self.mappings = mappings(saved, &mut renewed, files, inodes).unwrap_or_default();
        let waiting = |inode: &Arc<Inode>| -> Vec<_> {
            match &inode.lock().content {
                Content::Fifo(fifo) => fifo.waiting().map(|thread| (thread, inode.clone())).collect(),
                _ => Vec::new(),
            }
        };
        self.pending_opens = inodes.iter().flat_map(waiting).collect();
    }

    fn place_all(&self, saved: &Saved, files: &[Arc<OpenFile>]) -> Result<(), Error> {
        for (id, (saved_file, file)) in saved.files.iter().zip(files).enumerate() {
            place(saved_file, file, &saved.pipes).map_err(|stop| {
                let descriptor = saved.descriptors.iter().find(|descriptor| descriptor.file as usize == id);
                saved_file.error(descriptor.map_or(0, |descriptor| descriptor.number), stop)
            })?;
        }
        Ok(())
    }

    /// Takes over all but descriptors, arguments and environment.
    fn take_state(&mut self, saved: &Saved) -> Result<(), Error> {
        // What can fail comes first, so that nothing has changed then.
        let current = GuestPath::parse_absolute(&saved.current).ok_or(DAMAGED)?;
        let random = Random::from_saved(saved.random.as_ref()).ok_or(DAMAGED)?;
        let signals = Signals::from_saved(&saved.signals).ok_or(DAMAGED)?;
        let threads = Threads::from_saved(&saved.threads, self.threads.limit()).ok_or(DAMAGED)?;
        if !saved.timers.own.are_sound() {
            return Err(DAMAGED);
        }
        (self.names.current, self.random, self.signals, self.threads) = (current, random, signals, threads);
        self.layout.clone_from(&saved.layout);
        self.clock = Clock::from_saved(&saved.clock);
        self.timers = saved.timers.clone();
        for file in &saved.files {
            match file.kind {
                SavedKind::Signals(set) => self.signals.watch(set),
                // The next look finds when.
                SavedKind::Timer(_) => self.timers.next_file = Some(Duration::ZERO),
                _ => {}
            }
        }
        self.process = saved.process.clone();
        self.keep_to_limits();
        self.reactor.offers_functions = saved.offers_functions;
        self.reactor.is_ready = saved.is_ready;
        self.last_words.set(&saved.last_words);
        Ok(())
    }
}

impl Builder {
    /// Makes a personality that goes on where another was [saved](Linux::save).
    ///
    /// What is granted is this builder's: directories, limits, the log, where the standard streams lead. Files that were
    /// open are opened again by their guest paths and must be within the new grants. Arguments, environment and clocks are
    /// the saved ones. Random numbers go on as saved, unless this builder has a seed of its own.
    ///
    /// A guest that has its program's file open (`/proc/self/exe`) takes [`Builder::restore_from`], which knows that.
    ///
    /// The bytes need not be trusted: the guest gets nothing by them that it could not get by system calls.
    ///
    /// ```
    /// use riverrun_linux::{DirAccess, Error, Linux};
    ///
    /// let saved = Linux::builder().args(["game"]).build().save()?;
    /// let linux = Linux::builder().dir(std::env::temp_dir(), "/saves", DirAccess::ReadWrite)?.restore(&saved)?;
    /// assert!(matches!(Linux::builder().restore(&saved[..9]), Err(Error::Damaged(_))));
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Reopen`] names the first descriptor whose file the new guest may not open, or that does not exist;
    /// [`Error::CurrentDirectory`] likewise; [`Error::Damaged`] and [`Error::SavedVersion`] if the bytes are not what
    /// [`Linux::save`] gives; [`Error::TooManyDescriptors`].
    pub fn restore(self, bytes: &[u8]) -> Result<Linux, Error> {
        self.restore_with(bytes, None)
    }

    fn restore_with(self, bytes: &[u8], program: Option<&Program>) -> Result<Linux, Error> {
        let has_own_seed = self.has_seed();
        let mut linux = self.build();
        let joined = linux.joined.as_ref().map(|joined| joined.file.clone());
        linux.program = joined.or_else(|| program.map(|program| program.image().shared_bytes().clone()));
        let own_random = has_own_seed.then(|| std::mem::replace(&mut linux.random, Random::new(None)));
        linux.restore(bytes)?;
        if let Some(baseline) = &mut linux.baseline {
            baseline.is_own = true;
            if let Some(random) = own_random {
                baseline.saved.random = random.save();
                linux.random = random;
            }
        }
        Ok(linux)
    }
}

impl Linux {
    /// Goes on where another personality, or this one, was [saved](Linux::save): as [`Builder::restore`], with the grants
    /// that this one has. It takes about as long as [`Linux::reset`] if the same bytes were restored last.
    ///
    /// # Errors
    /// As [`Builder::restore`]; nothing has changed then.
    pub fn restore(&mut self, bytes: &[u8]) -> Result<(), Error> {
        if self.baseline.as_ref().is_some_and(|baseline| *baseline.bytes == *bytes) {
            return self.rewind();
        }
        let saved = Saved::parse(bytes)?;
        let pipes: Vec<Pipe> = saved.pipes.iter().map(|contents| Pipe::holding(contents)).collect();
        let Loaded { tree, inodes } = self.load_tree(&saved, &pipes)?;
        let old = std::mem::replace(&mut self.names.tree, tree);
        let reopened = self.reopen(&saved, pipes, &inodes).and_then(|reopened| {
            self.check_current(&saved.current)?;
            mappings(&saved, &mut BTreeMap::new(), &reopened.files, &inodes).ok_or(DAMAGED)?;
            self.take_state(&saved)?;
            Ok(reopened)
        });
        let reopened = match reopened {
            Ok(reopened) => reopened,
            Err(error) => {
                self.names.tree = old;
                return Err(error);
            }
        };
        self.args.clone_from(&saved.args);
        self.env.clone_from(&saved.env);
        // Those of open files go with them.
        self.release_locks([]);
        self.descriptors.slots.clone_from(&reopened.slots);
        self.renew(&saved, &reopened.files, &reopened.pipes, &inodes);
        self.is_changed = false;
        let before = self.baseline.replace(Box::new(Baseline { bytes: bytes.into(), saved, reopened, is_own: false }));
        self.own_baseline = self.own_baseline.take().or(before.filter(|baseline| baseline.is_own));
        Ok(())
    }

    /// Opens all files of a saved state.
    fn reopen(&self, saved: &Saved, pipes: Vec<Pipe>, inodes: &[Arc<Inode>]) -> Result<Reopened, Error> {
        let limit = self.descriptors.most();
        let mut opener = Opener {
            names: &self.names,
            standard: self.standard.clone().map(Some),
            pipes,
            limit: self.size_limit.clone(),
            inodes,
            program: self.program.clone(),
        };
        let mut opened: Vec<Option<Arc<OpenFile>>> = vec![None; saved.files.len()];
        let mut open = |id: u32, error: &dyn Fn(&File, Stop) -> Error| -> Result<Arc<OpenFile>, Error> {
            let id = id as usize;
            let (Some(file), Some(place_of)) = (saved.files.get(id), opened.get_mut(id)) else { return Err(DAMAGED) };
            if let Some(open_file) = place_of {
                return Ok(open_file.clone());
            }
            let open_file = opener.open(file).and_then(|open_file| {
                place(file, &open_file, &saved.pipes)?;
                Ok(open_file)
            });
            Ok(place_of.insert(open_file.map_err(|stop| error(file, stop))?).clone())
        };
        let mut slots = Vec::new();
        for descriptor in &saved.descriptors {
            let number = descriptor.number as usize;
            if number >= limit {
                return Err(Error::TooManyDescriptors { descriptor: descriptor.number, limit: limit as u32 });
            }
            let file = open(descriptor.file, &|file, stop| file.error(descriptor.number, stop))?;
            if number >= slots.len() {
                slots.resize(number + 1, None);
            }
            slots[number] = Some(Slot { file, close_on_exec: descriptor.close_on_exec });
        }
        for mapping in &saved.mappings {
            open(mapping.file, &|file, stop| Error::MappedFile { path: file.path(), reason: reason(stop) })?;
        }
        let pipes = opener.pipes;
        let files: Vec<Arc<OpenFile>> = opened.into_iter().collect::<Option<_>>().ok_or(DAMAGED)?;
        files.iter().chain(slots.iter().flatten().map(|slot| &slot.file)).for_each(|file| file.keep());
        Ok(Reopened { slots, pipes, files })
    }
}

impl Builder {
    /// As [`Builder::restore`], from a snapshot that [`snapshot`] has taken.
    ///
    /// # Errors
    /// Likewise; [`Error::NoState`] if the snapshot has no state of a personality.
    pub fn restore_from(self, snapshot: &Snapshot) -> Result<Linux, Error> {
        self.restore_with(snapshot.section(SECTION).ok_or(Error::NoState)?, Some(snapshot.program()))
    }
}

impl Linux {
    /// Whether the program's `main` has returned, and its run has ended behind it: its functions can be called. See
    /// [`Builder::exits`].
    pub fn is_behind_main(&self) -> bool {
        self.reactor.is_behind_main()
    }

    fn check_current(&self, current: &[u8]) -> Result<(), Error> {
        let path = GuestPath::parse_absolute(current).ok_or(DAMAGED)?;
        let check = || {
            let found = self.names.resolve(&GuestPath::default(), &path.to_bytes(), false, Patience::endless())?;
            match found.node {
                Node::Host(name) if name.look()?.kind == mode::DIRECTORY => Ok(()),
                Node::Memory(name) if name.look()?.kind() == mode::DIRECTORY => Ok(()),
                Node::Virtual(name) if name.look()?.kind == FileKind::Directory => Ok(()),
                Node::Own(Own::Directory) => Ok(()),
                _ => Err(Stop::Errno(Errno::NOTDIR)),
            }
        };
        check().map_err(|stop| Error::CurrentDirectory { path: text(&path), reason: reason(stop) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi::{Timespec, open};
    use crate::memory_file::MemoryFile;
    use crate::open_file::Directory;

    /// What is kept for a reset holds nothing of the guest that is reset.
    #[test]
    fn private_files_go_with_their_guest() {
        let mut linux = Linux::builder().build();
        let path = |text: &str| GuestPath::parse_absolute(text).unwrap();
        let name = |linux: &Linux, text: &str| linux.names.tree.name(0, &path(text)).unwrap();
        name(&linux, "/tmp/sub").make_directory(0o700, Timespec::default()).unwrap();
        let directory = name(&linux, "/tmp/sub").look().unwrap().clone();
        let fifo = name(&linux, "/tmp/sub/fifo");
        fifo.make(Content::Fifo(Default::default()), 0o600, Timespec::default()).unwrap();
        let content = Content::File(crate::pages::Pages::new(linux.names.tree.space.clone()));
        let file = Inode::new(&linux.names.tree.space, content, 0o600, Timespec::default()).unwrap();
        let file = MemoryFile::new(path("/tmp/file"), file, Origin::Guest, linux.size_limit.clone());
        linux.descriptors.open(Kind::Directory(Directory::in_memory(path("/tmp/sub"), directory)), 0).unwrap();
        linux.descriptors.open(Kind::Memory(file), open::READ_WRITE).unwrap();
        let saved = linux.save().unwrap();
        let mut again = Linux::builder().restore(&saved).unwrap();
        let inodes = |linux: &Linux| -> Vec<_> {
            let slots = linux.descriptors.slots.iter().flatten();
            let open = slots.filter_map(|slot| match &slot.file.kind {
                Kind::Memory(file) => Some(Arc::downgrade(&file.inode)),
                Kind::Directory(Directory { place: DirectoryPlace::Memory(memory), .. }) => {
                    Some(Arc::downgrade(&memory.inode))
                }
                _ => None,
            });
            let fifo = name(linux, "/tmp/sub/fifo").look().map(Arc::downgrade);
            open.chain(fifo).collect()
        };
        let before = inodes(&again);
        assert_eq!(before.len(), 3);
        again.is_changed = true;
        again.reset().unwrap();
        assert_eq!(before.iter().map(std::sync::Weak::strong_count).collect::<Vec<_>>(), [0, 0, 0]);
        assert!(inodes(&again).iter().all(|inode| inode.strong_count() > 0));
    }
}
