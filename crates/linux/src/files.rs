//! System calls that open, create, rename and shorten files.

use std::sync::{Arc, Mutex};

use rustix::fs::{AtFlags, Mode, OFlags, RenameFlags};
use rustix::io::Errno;

use crate::abi::{at, mode, open};
use crate::call::{Call, Outcome, PATH_MAX, Patience, Stop};
use crate::fifo::{Fifo, OpenAttempt};
use crate::guest_path::GuestPath;
use crate::host_file::{HostFile, SizeLimit, is_large};
use crate::inode::{Content, Inode};
use crate::links;
use crate::memory_file::{MemoryFile, Origin};
use crate::open_file::{Directory, DirectoryPlace, Kind};
use crate::own::Own;
use crate::pages::Pages;
use crate::paths::{Found, HostName, Node, special_file};
use crate::refusal::Reason;
use crate::requests::{Ended, Resumed};
use crate::tree::MemoryName;
use crate::virtual_file::{VirtualDirectory, VirtualFile, VirtualName};
use crate::virtual_fs::FileKind;

/// The host's flags that go with the guest's.
const PASSED_ON: [(u32, OFlags); 6] = [
    (open::CREATE, OFlags::CREATE),
    (open::EXCLUSIVE, OFlags::EXCL),
    (open::TRUNCATE, OFlags::TRUNC),
    (open::APPEND, OFlags::APPEND),
    (open::DIRECTORY, OFlags::DIRECTORY),
    (open::DATA_SYNC, OFlags::DSYNC),
];

impl Call<'_> {
    /// A mode with the guest's umask applied.
    fn new_mode(&self, n: usize) -> Mode {
        Mode::from_raw_mode(self.uint(n) & mode::PERMISSIONS & !self.linux.process.umask)
    }

    /// A file in memory that has no name.
    pub(crate) fn new_file(&self, path: GuestPath, permissions: u32) -> Result<MemoryFile, Stop> {
        let space = &self.linux.names.tree.space;
        let inode = Inode::new(space, Content::File(Pages::new(space.clone())), permissions, self.real_time())?;
        Ok(MemoryFile::new(path, inode, Origin::Guest, self.linux.size_limit.clone()))
    }
}

pub(crate) fn openat(call: &mut Call<'_>) -> Outcome {
    // The others mean nothing with O_PATH.
    const WITH_PATH: u32 = open::PATH | open::DIRECTORY | open::NO_FOLLOW | open::CLOSE_ON_EXEC;
    let flags = call.uint(2);
    let flags = if flags & open::PATH != 0 { flags & WITH_PATH } else { flags };
    let thread = call.linux.threads.current().id;
    if let Some(fifo) = call.linux.pending_opens.remove(&thread) {
        if call.resumed.is_some() {
            // Its name may lead elsewhere by now.
            let kind = open_fifo(call, &fifo, flags)?;
            return Ok(call.linux.descriptors.open(kind, flags)? as u64);
        }
        fifo.forget(thread);
    }
    let follow =
        flags & open::NO_FOLLOW == 0 && flags & (open::CREATE | open::EXCLUSIVE) != open::CREATE | open::EXCLUSIVE;
    let makes_file = flags & open::CREATE != 0;
    let found = if makes_file { call.found_new_file(0, follow)? } else { call.found(0, follow)? };
    let Found { path, node, must_be_directory, .. } = found;
    if makes_file && must_be_directory {
        // It ended in dots, and is there.
        return Err(if flags & open::EXCLUSIVE != 0 { Errno::EXIST } else { Errno::ISDIR }.into());
    }
    call.linux.descriptors.check_free()?;
    if flags & open::TEMPORARY != 0 {
        if let Node::Memory(name) = &node {
            let kind = open_nameless(call, name, flags)?;
            return Ok(call.linux.descriptors.open(kind, flags)? as u64);
        }
        if let Node::Virtual(_) = &node {
            return Err(Errno::OPNOTSUPP.into());
        }
        let name = Found { path, node, must_be_directory, ends_in_dots: false }.host()?;
        let kind = open_temporary(&name, flags, call.new_mode(3), call.linux.size_limit.clone())?;
        return Ok(call.linux.descriptors.open(kind, flags)? as u64);
    }
    let flags = if must_be_directory { flags | open::DIRECTORY } else { flags };
    let kind = match node {
        Node::Host(name) => open_host(&name, flags, call.new_mode(3), call.linux.size_limit.clone(), call.patience)?,
        Node::Memory(name) => open_memory(call, &name, flags)?,
        Node::Virtual(name) => open_virtual(name, flags, call.new_mode(3), call.linux.size_limit.clone())?,
        Node::Own(Own::Descriptor(number)) => return open_anew(call, number, flags),
        Node::Own(own) => open_own(call, own, path, flags)?,
    };
    if flags & open::TRUNCATE != 0 {
        call.clear_behind_end(&kind)?;
    }
    Ok(call.linux.descriptors.open(kind, flags)? as u64)
}

/// Opens something of the guest's own.
fn open_own(call: &Call<'_>, own: Own, path: GuestPath, flags: u32) -> Result<Kind, Stop> {
    if flags & (open::CREATE | open::EXCLUSIVE) == open::CREATE | open::EXCLUSIVE {
        return Err(Errno::EXIST.into());
    }
    let (inode, origin) = match own {
        Own::Directory if flags & (open::ACCESS_MODE | open::CREATE) != 0 => return Err(Errno::ISDIR.into()),
        Own::Directory => return Ok(Kind::Directory(Directory::new(path, DirectoryPlace::Own))),
        Own::Link(_) => return Err(Errno::LOOP.into()),
        _ if flags & open::DIRECTORY != 0 => return Err(Errno::NOTDIR.into()),
        Own::Device(device) => return Ok(Kind::Device(device)),
        Own::Descriptor(_) => return Err(Errno::LOOP.into()),
        _ if flags & open::NO_FOLLOW != 0 && matches!(own, Own::Program) => return Err(Errno::LOOP.into()),
        Own::File(inode) => (inode, Origin::Name),
        Own::Program => (Inode::given(call.linux.program()?.clone()), Origin::Name),
        Own::Proc(file) => (Inode::generated(&call.linux.names.tree.space, file.contents(call))?, Origin::Made),
    };
    if flags & open::PATH == 0 && flags & (open::ACCESS_MODE | open::TRUNCATE) != 0 {
        return Err(Errno::ACCESS.into());
    }
    Ok(Kind::Memory(MemoryFile::new(path, inode, origin, call.linux.size_limit.clone())))
}

/// Opens, or makes, what a name of the private tree stands for.
fn open_memory(call: &mut Call<'_>, name: &MemoryName, flags: u32) -> Result<Kind, Stop> {
    let is_made = name.look().is_err();
    let inode = match name.look() {
        Ok(_) if flags & (open::CREATE | open::EXCLUSIVE) == open::CREATE | open::EXCLUSIVE => {
            return Err(Errno::EXIST.into());
        }
        Ok(inode) => inode.clone(),
        Err(stop) if flags & open::CREATE == 0 => return Err(stop),
        Err(_) if flags & open::DIRECTORY != 0 => return Err(Errno::ISDIR.into()),
        Err(_) => {
            let content = Content::File(Pages::new(call.linux.names.tree.space.clone()));
            name.make(content, call.new_mode(3).as_raw_mode(), call.real_time())?
        }
    };
    match inode.kind() {
        mode::SYMLINK => return Err(Errno::LOOP.into()),
        mode::DIRECTORY if flags & open::PATH != 0 => {}
        mode::DIRECTORY if flags & (open::ACCESS_MODE | open::CREATE) != 0 => return Err(Errno::ISDIR.into()),
        mode::DIRECTORY => inode.check(mode::READ)?,
        _ if flags & open::DIRECTORY != 0 => return Err(Errno::NOTDIR.into()),
        _ => {}
    }
    if inode.kind() == mode::SOCKET && flags & open::PATH == 0 {
        return Err(Errno::NXIO.into());
    }
    if inode.kind() == mode::FIFO && flags & open::PATH == 0 {
        return begin_fifo(call, &inode, flags);
    }
    if inode.kind() == mode::DIRECTORY {
        return Ok(Kind::Directory(Directory::in_memory(name.path.clone(), inode)));
    }
    let file = MemoryFile::new(name.path.clone(), inode, Origin::Guest, call.linux.size_limit.clone());
    // The mode of a new file does not hold for who makes it.
    if !is_made {
        begin(call, &file, flags)?;
    }
    Ok(Kind::Memory(file))
}

/// Opens, or makes, what a name in a file system of the host stands for.
pub(crate) fn open_virtual(name: VirtualName, flags: u32, new_mode: Mode, limit: SizeLimit) -> Result<Kind, Stop> {
    const MAKES: u32 = open::CREATE | open::EXCLUSIVE;
    let there = name.look_if_there()?;
    match &there {
        Some(status) if status.kind == FileKind::Directory && flags & MAKES != MAKES => {
            if flags & open::PATH == 0 && flags & (open::ACCESS_MODE | open::CREATE) != 0 {
                return Err(Errno::ISDIR.into());
            }
            Ok(Kind::Directory(Directory::in_virtual(name)))
        }
        _ => name.open(there, flags, new_mode.as_raw_mode(), limit).map(Kind::Virtual),
    }
}

/// Opens an end of a FIFO, if its mode allows that.
fn begin_fifo(call: &mut Call<'_>, inode: &Arc<Inode>, flags: u32) -> Result<Kind, Stop> {
    inode.check(if flags & open::ACCESS_MODE == 0 { mode::READ } else { mode::WRITE })?;
    open_fifo(call, inode, flags)
}

/// Opens an end of a FIFO, or goes on with that where it has waited.
fn open_fifo(call: &mut Call<'_>, inode: &Arc<Inode>, flags: u32) -> Result<Kind, Stop> {
    let thread = call.linux.threads.current().id;
    let opened = open_end(call, inode, flags);
    match &opened {
        Err(Stop::WouldWait { .. }) => drop(call.linux.pending_opens.insert(thread, inode.clone())),
        Err(_) => inode.forget(thread),
        Ok(_) => {}
    }
    opened
}

fn open_end(call: &Call<'_>, inode: &Inode, flags: u32) -> Result<Kind, Stop> {
    call.linux.descriptors.check_pipes(1)?;
    let is_interrupted = matches!(call.resumed, Some(Resumed { why: Ended::Interrupted, .. }));
    let attempt = OpenAttempt {
        thread: call.linux.threads.current().id,
        blocks: flags & open::NON_BLOCKING == 0,
        is_interrupted: is_interrupted || !call.linux.has_no_signal(),
    };
    let mut state = inode.lock();
    let Content::Fifo(fifo) = &mut state.content else { return Err(Errno::INVAL.into()) };
    match flags & open::ACCESS_MODE {
        0 => fifo.reader(attempt).map(Kind::PipeReader),
        open::WRITE_ONLY => fifo.writer(attempt).map(Kind::PipeWriter),
        open::READ_WRITE => Err(Stop::Unsupported(Errno::INVAL, "a FIFO that is open for reading and writing")),
        _ => Err(Errno::INVAL.into()),
    }
}

/// Checks that a file of the private tree may be opened with these flags, and empties it for `O_TRUNC`.
fn begin(call: &Call<'_>, file: &MemoryFile, flags: u32) -> Result<(), Stop> {
    if flags & open::PATH != 0 {
        return Ok(());
    }
    file.inode.check(open::permissions(flags).ok_or(Errno::INVAL)?)?;
    if flags & open::TRUNCATE != 0 {
        file.set_size(0)?;
        file.inode.touch(call.real_time());
    }
    Ok(())
}

/// Makes a file without a name for a directory of the private tree.
fn open_nameless(call: &Call<'_>, name: &MemoryName, flags: u32) -> Result<Kind, Stop> {
    if !matches!(flags & open::ACCESS_MODE, open::WRITE_ONLY | open::READ_WRITE) || flags & open::DIRECTORY == 0 {
        return Err(Errno::INVAL.into());
    }
    if name.look()?.kind() != mode::DIRECTORY {
        return Err(Errno::NOTDIR.into());
    }
    let mut path = name.path.clone();
    path.0.push(NAMELESS.into());
    call.new_file(path, call.new_mode(3).as_raw_mode()).map(Kind::Memory)
}

/// What files are called that were made without a name.
const NAMELESS: &str = "(no name)";

/// Opens `/proc/self/fd/NUMBER`: a file of the host, in memory or of a file system anew, so that it has a position of its
/// own, a directory by its name, and anything else as it is.
fn open_anew(call: &mut Call<'_>, number: i32, flags: u32) -> Outcome {
    let file = call.linux.descriptors.get(number).map_err(|_| Errno::NOENT)?;
    if flags & open::NO_FOLLOW != 0 {
        return Err(Errno::LOOP.into());
    }
    if flags & open::DIRECTORY != 0 && !matches!(file.kind, Kind::Directory(_)) {
        return Err(Errno::NOTDIR.into());
    }
    let kind = match &file.kind {
        Kind::Regular(file) => Kind::Regular(file.reopen(flags, call.patience)?),
        Kind::Directory(Directory { path, place: DirectoryPlace::Host(..), .. }) => {
            let found = call.linux.names.resolve(&GuestPath::default(), &path.to_bytes(), false, call.patience)?;
            open_host(
                &found.host()?,
                flags & !open::CREATE,
                Mode::empty(),
                call.linux.size_limit.clone(),
                call.patience,
            )?
        }
        Kind::Virtual(VirtualFile { name, .. })
        | Kind::Directory(Directory { place: DirectoryPlace::Virtual(VirtualDirectory { name, .. }), .. }) => {
            name.look_again()?;
            open_virtual(name.clone(), flags & !open::CREATE, Mode::empty(), call.linux.size_limit.clone())?
        }
        Kind::Directory(Directory { path, place: DirectoryPlace::Memory(directory), .. }) => {
            Kind::Directory(Directory::in_memory(path.clone(), directory.inode.clone()))
        }
        Kind::Directory(Directory { path, .. }) => open_own(call, Own::Directory, path.clone(), flags)?,
        Kind::Memory(file) if file.inode.kind() == mode::SOCKET && flags & open::PATH == 0 => {
            return Err(Errno::NXIO.into());
        }
        Kind::Memory(file) if file.inode.kind() == mode::FIFO && flags & open::PATH == 0 => {
            begin_fifo(call, &file.inode, flags)?
        }
        Kind::Memory(file) => {
            begin(call, file, flags)?;
            Kind::Memory(file.anew())
        }
        Kind::Socket(_) => return Err(Errno::NXIO.into()),
        _ => {
            let wanted = flags & open::ACCESS_MODE;
            if wanted != open::WRITE_ONLY {
                file.check_readable().map_err(|_| Errno::ACCESS)?;
            }
            if wanted != 0 {
                file.check_writable().map_err(|_| Errno::ACCESS)?;
            }
            return Ok(call.linux.descriptors.share(file, flags & open::CLOSE_ON_EXEC != 0)? as u64);
        }
    };
    if flags & open::TRUNCATE != 0 {
        call.clear_behind_end(&kind)?;
    }
    Ok(call.linux.descriptors.open(kind, flags)? as u64)
}

/// Opens, or makes, what a name of the host stands for: a regular file or a directory.
pub(crate) fn open_host(
    name: &HostName,
    flags: u32,
    new_mode: Mode,
    limit: SizeLimit,
    patience: Patience<'_>,
) -> Result<Kind, Stop> {
    let sync = flags & open::SYNC;
    let access = if flags & open::PATH != 0 { 0 } else { flags & open::ACCESS_MODE };
    let flags = match flags & open::PATH {
        0 => flags,
        _ => flags & open::DIRECTORY,
    };
    let seen = match name.look() {
        Ok(seen) => Some(seen),
        Err(Stop::Errno(Errno::NOENT)) => None,
        Err(stop) => return Err(stop),
    };
    let kind = seen.as_ref().map(|seen| seen.kind);
    match kind {
        None if flags & open::CREATE == 0 => return Err(Errno::NOENT.into()),
        None if flags & open::DIRECTORY != 0 => return Err(Errno::ISDIR.into()),
        Some(mode::SYMLINK) if flags & open::EXCLUSIVE == 0 => return Err(Errno::LOOP.into()),
        // Opening such a file could block, or have side effects.
        Some(kind) if !matches!(kind, mode::REGULAR | mode::DIRECTORY | mode::SYMLINK) => {
            return Err(name.refuse(Reason::SpecialFile(special_file(kind))));
        }
        _ => {}
    }
    let changes = access != 0 || flags & open::TRUNCATE != 0 || kind.is_none();
    if changes && !name.is_writable() && kind != Some(mode::DIRECTORY) {
        return Err(Errno::ROFS.into());
    }
    let made = match kind {
        None => Some(name.clone().writable()?),
        Some(_) => None,
    };
    let name = made.as_ref().unwrap_or(name);
    let mut host = match access {
        0 => OFlags::RDONLY,
        open::WRITE_ONLY => OFlags::WRONLY,
        open::READ_WRITE => OFlags::RDWR,
        _ => return Err(Errno::INVAL.into()),
    };
    host |= OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NOCTTY | OFlags::NONBLOCK;
    if flags & open::SYNC == open::SYNC {
        host |= OFlags::SYNC;
    }
    for (guest, flag) in PASSED_ON {
        // A read-only directory gets here only for files that exist.
        let creates = matches!(guest, open::CREATE) && !name.is_writable();
        if flags & guest == guest && !creates {
            host |= flag;
        }
    }
    let open = |flags| rustix::fs::openat(&name.dir, &name.name, flags, new_mode);
    let file = |fd| {
        let (limit, path) = (limit.clone(), name.path().clone());
        HostFile { fd, access: name.access, limit, path, sync, locked: Mutex::default() }
    };
    // Opening with O_TRUNC would free all of its space in one piece.
    let truncates = host.contains(OFlags::TRUNC) && kind == Some(mode::REGULAR);
    if let (Some(seen), true) = (seen, truncates)
        && is_large(&rustix::fs::fstat(&seen.fd)?)
    {
        let writing = open((host - OFlags::TRUNC - OFlags::RWMODE) | OFlags::WRONLY)?;
        name.admit(&writing)?;
        file(writing).set_size(0, patience)?;
    }
    let fd = open(host)?;
    // Another process may have replaced the file meanwhile.
    let place = name.admit(&fd)?;
    match place.kind {
        mode::DIRECTORY => {
            let host = DirectoryPlace::Host(fd, name.access_to(&place));
            Ok(Kind::Directory(Directory::new(name.path().clone(), host)))
        }
        mode::REGULAR => Ok(Kind::Regular(file(fd))),
        kind => Err(name.refuse(Reason::SpecialFile(special_file(kind)))),
    }
}

/// Makes a file without a name in a directory.
fn open_temporary(name: &HostName, flags: u32, mode: Mode, limit: SizeLimit) -> Result<Kind, Stop> {
    let access = match flags & open::ACCESS_MODE {
        open::WRITE_ONLY => OFlags::WRONLY,
        open::READ_WRITE => OFlags::RDWR,
        _ => return Err(Errno::INVAL.into()),
    };
    if flags & open::DIRECTORY == 0 {
        return Err(Errno::INVAL.into());
    }
    let seen = name.look()?;
    if seen.kind != mode::DIRECTORY {
        return Err(Errno::NOTDIR.into());
    }
    seen.check_writable()?;
    // Never with a name, which would be one that no check has seen.
    let host = access | OFlags::TMPFILE | OFlags::EXCL | OFlags::CLOEXEC;
    let fd = rustix::fs::openat(&seen.fd, c".", host, mode)?;
    name.admit(&fd)?;
    let mut path = name.path().clone();
    path.0.push(NAMELESS.into());
    let (access, sync) = (name.access, flags & open::SYNC);
    Ok(Kind::Regular(HostFile { fd, access, limit, path, sync, locked: Mutex::default() }))
}

/// `EEXIST` for a name of something that is there; `ENOENT` for one with a slash behind it, which only a directory can have.
fn check_new(found: &Found) -> Result<(), Stop> {
    let exists = match &found.node {
        Node::Host(name) => name.exists()?,
        Node::Memory(name) => name.look().is_ok(),
        Node::Virtual(name) => name.look_if_there()?.is_some(),
        Node::Own(_) => true,
    };
    match exists {
        true => Err(Errno::EXIST.into()),
        false if found.must_be_directory => Err(Errno::NOENT.into()),
        false => Ok(()),
    }
}

/// Makes a regular file, or in the private tree a FIFO or a name of a socket. Other kinds are not provided.
pub(crate) fn mknodat(call: &mut Call<'_>) -> Outcome {
    let found = call.found_name(0)?;
    check_new(&found)?;
    match call.uint(2) & mode::TYPE {
        0 | mode::REGULAR => {}
        mode::CHARACTER_DEVICE | mode::BLOCK_DEVICE | mode::DIRECTORY => return Err(Errno::PERM.into()),
        mode::FIFO | mode::SOCKET if matches!(found.node, Node::Memory(_)) => {}
        mode::FIFO => return Err(Stop::Absent("a FIFO with a name in a directory of the host")),
        mode::SOCKET => return Err(Stop::Absent("a socket with a name in a directory of the host")),
        _ => return Err(Errno::INVAL.into()),
    }
    if let Node::Memory(name) = &found.node {
        let content = match call.uint(2) & mode::TYPE {
            mode::FIFO => Content::Fifo(Fifo::default()),
            mode::SOCKET => Content::Socket,
            _ => Content::File(Pages::new(call.linux.names.tree.space.clone())),
        };
        name.make(content, call.new_mode(2).as_raw_mode(), call.real_time())?;
        return Ok(0);
    }
    if let Node::Virtual(name) = &found.node {
        name.open(None, open::CREATE, call.new_mode(2).as_raw_mode(), call.linux.size_limit.clone())?;
        return Ok(0);
    }
    let name = found.host()?.writable()?;
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::openat(&name.dir, &name.name, flags, call.new_mode(2))?;
    Ok(0)
}

pub(crate) fn mkdirat(call: &mut Call<'_>) -> Outcome {
    let name = match call.found_name(0)?.node {
        Node::Host(name) => name,
        Node::Memory(name) => {
            name.make_directory(call.new_mode(2).as_raw_mode(), call.real_time())?;
            return Ok(0);
        }
        Node::Virtual(name) => {
            name.make_directory(call.new_mode(2).as_raw_mode())?;
            return Ok(0);
        }
        Node::Own(_) => return Err(Errno::EXIST.into()),
    };
    if name.exists()? {
        return Err(Errno::EXIST.into());
    }
    let name = name.writable()?;
    rustix::fs::mkdirat(&name.dir, &name.name, call.new_mode(2))?;
    Ok(0)
}

/// Whether what is there is a directory; `ENOENT` if nothing is.
fn is_directory(node: &Node) -> Result<bool, Stop> {
    Ok(match node {
        Node::Host(name) => name.look()?.kind == mode::DIRECTORY,
        Node::Memory(name) => name.look()?.kind() == mode::DIRECTORY,
        Node::Virtual(name) => name.look()?.kind == FileKind::Directory,
        Node::Own(own) => matches!(own, Own::Directory),
    })
}

pub(crate) fn unlinkat(call: &mut Call<'_>) -> Outcome {
    let flags = call.only(2, at::REMOVE_DIRECTORY)?;
    let found = call.found_name(0)?;
    let directory = flags & at::REMOVE_DIRECTORY != 0;
    let is_directory = is_directory(&found.node)?;
    if found.must_be_directory && !directory {
        return Err(if is_directory { Errno::ISDIR } else { Errno::NOTDIR }.into());
    }
    if found.ends_in_dots {
        return Err(Errno::INVAL.into());
    }
    if call.linux.names.holds_grant(&found.path) {
        let is_file = matches!(found.node, Node::Own(Own::File(_)));
        return Err(if directory || is_file { Errno::BUSY } else { Errno::ISDIR }.into());
    }
    if let Node::Memory(name) = &found.node {
        name.remove(directory, call.real_time())?;
        return Ok(0);
    }
    if let Node::Virtual(name) = &found.node {
        name.remove(directory)?;
        return Ok(0);
    }
    let name = found.host()?.changeable()?;
    rustix::fs::unlinkat(&name.dir, &name.name, if directory { AtFlags::REMOVEDIR } else { AtFlags::empty() })?;
    Ok(0)
}

/// Two names in the same granted directory, the first of something that is there, the second to be made.
fn pair(old: Found, new: Found) -> Result<(HostName, HostName), Stop> {
    let (old, new) = match (old.node, new.node) {
        (Node::Host(old), Node::Host(new)) => (old, new),
        (Node::Own(_), _) | (_, Node::Own(_)) => return Err(Errno::ACCESS.into()),
        _ => return Err(Errno::XDEV.into()),
    };
    old.look()?;
    match old.same_grant(&new) {
        true => Ok((old.changeable()?, new.writable()?)),
        false => Err(Errno::XDEV.into()),
    }
}

pub(crate) fn renameat2(call: &mut Call<'_>) -> Outcome {
    const NO_REPLACE: u32 = 1;
    const EXCHANGE: u32 = 2;
    let flags = call.only(4, NO_REPLACE | EXCHANGE)?;
    let (old, new) = (call.found_name(0)?, call.found_name(2)?);
    let names = &call.linux.names;
    let stays = |found: &Found| found.ends_in_dots || names.holds_grant(&found.path);
    if stays(&old) || stays(&new) {
        return Err(Errno::BUSY.into());
    }
    if (old.must_be_directory || new.must_be_directory) && !is_directory(&old.node)? {
        return Err(Errno::NOTDIR.into());
    }
    if let (Node::Memory(from), Node::Memory(to)) = (&old.node, &new.node) {
        let now = call.real_time();
        match flags {
            EXCHANGE => from.exchange(to, now, call.patience)?,
            NO_REPLACE if to.look().is_ok() => return Err(Errno::EXIST.into()),
            0 | NO_REPLACE => from.rename(to, now, call.patience)?,
            _ => return Err(Errno::INVAL.into()),
        }
        return Ok(0);
    }
    if let (Node::Virtual(from), Node::Virtual(to)) = (&old.node, &new.node) {
        match flags {
            0 | NO_REPLACE => from.rename(to, flags == 0)?,
            _ => return Err(Errno::INVAL.into()),
        }
        return Ok(0);
    }
    let (old, mut new) = pair(old, new)?;
    // The file that is replaced changes as well.
    if new.exists()? {
        new = new.changeable()?;
    }
    links::check_move(&old, &new, call.patience)?;
    match flags {
        0 => rustix::fs::renameat(&old.dir, &old.name, &new.dir, &new.name)?,
        _ => {
            if flags & EXCHANGE != 0 {
                links::check_move(&new, &old, call.patience)?;
            }
            let flags = RenameFlags::from_bits_retain(flags);
            rustix::fs::renameat_with(&old.dir, &old.name, &new.dir, &new.name, flags)?;
        }
    }
    Ok(0)
}

pub(crate) fn linkat(call: &mut Call<'_>) -> Outcome {
    let flags = call.only(4, at::SYMLINK_FOLLOW)?;
    let (old, new) = (call.found(0, flags & at::SYMLINK_FOLLOW != 0)?, call.found_name(2)?);
    if new.must_be_directory {
        check_new(&new)?;
    }
    match (&old.node, &new.node) {
        (_, Node::Own(_)) => return Err(Errno::EXIST.into()),
        (Node::Memory(old), Node::Memory(new)) => {
            old.link(new, call.real_time())?;
            return Ok(0);
        }
        (Node::Virtual(old), Node::Virtual(new)) => {
            old.make_hard_link(new)?;
            return Ok(0);
        }
        // How a file gets its name that was made without one.
        (Node::Own(Own::Descriptor(number)), Node::Memory(new)) => {
            let file = call.linux.descriptors.get(*number).map_err(|_| Errno::NOENT)?;
            let Kind::Memory(file) = &file.kind else { return Err(Errno::XDEV.into()) };
            if file.origin != Origin::Guest {
                return Err(Errno::XDEV.into());
            }
            new.link_to(&file.inode, call.real_time())?;
            return Ok(0);
        }
        _ => {}
    }
    let (old, new) = pair(old, new)?;
    links::check_move(&old, &new, call.patience)?;
    rustix::fs::linkat(&old.dir, &old.name, &new.dir, &new.name, AtFlags::empty())?;
    Ok(0)
}

pub(crate) fn symlinkat(call: &mut Call<'_>) -> Outcome {
    let target = call.path(0)?;
    if target.is_empty() {
        return Err(Errno::NOENT.into());
    }
    let found = call.found_name(1)?;
    check_new(&found)?;
    let name = match found.node {
        Node::Host(name) => name,
        Node::Memory(name) => {
            name.make(Content::Link(target), 0o777, call.real_time())?;
            return Ok(0);
        }
        Node::Virtual(name) => {
            name.make_link(&target)?;
            return Ok(0);
        }
        Node::Own(_) => return Err(Errno::EXIST.into()),
    };
    links::check_new(&name, &target)?;
    let name = name.writable()?;
    rustix::fs::symlinkat(target, &name.dir, &name.name)?;
    Ok(0)
}

pub(crate) fn readlinkat(call: &mut Call<'_>) -> Outcome {
    let path = call.path(1)?;
    let found = call.find(call.int(0), &path, false)?;
    let (address, size) = (call.args[2], call.args[3] as i32);
    let size = u64::try_from(size).ok().filter(|&size| size > 0).ok_or(Errno::INVAL)?;
    let target = match found.node {
        Node::Host(name) => {
            let seen = name.look()?;
            if seen.kind != mode::SYMLINK {
                return Err(Errno::INVAL.into());
            }
            rustix::fs::readlinkat(&seen.fd, c"", Vec::with_capacity(PATH_MAX as usize))?.into_bytes()
        }
        Node::Memory(name) => name.look()?.target().ok_or(Errno::INVAL)?,
        Node::Virtual(name) if name.look()?.kind == FileKind::Link => name.target()?,
        Node::Virtual(_) => return Err(Errno::INVAL.into()),
        Node::Own(Own::Link(target)) => target,
        Node::Own(Own::Program) => call.linux.program_path(call.patience).ok_or(Errno::NOENT)?.to_bytes(),
        Node::Own(Own::Descriptor(number)) => {
            call.linux.descriptors.get(number).map_err(|_| Errno::NOENT)?.name(number)
        }
        Node::Own(_) => return Err(Errno::INVAL.into()),
    };
    let len = target.len().min(size as usize);
    call.memory.write(address, &target[..len])?;
    Ok(len as u64)
}

pub(crate) fn truncate(call: &mut Call<'_>) -> Outcome {
    let path = call.path(0)?;
    let len = call.args[1];
    if i64::try_from(len).is_err() {
        return Err(Errno::INVAL.into());
    }
    let found = call.find(at::CURRENT_DIRECTORY, &path, true)?;
    let (limit, patience) = (call.linux.size_limit.clone(), call.patience);
    if let Node::Memory(name) = &found.node {
        if matches!(name.look()?.kind(), mode::FIFO | mode::SOCKET) {
            return Err(Errno::INVAL.into());
        }
        let kind = open_memory(call, name, open::WRITE_ONLY)?;
        return set_size(call, &kind, len);
    }
    let kind = match found.node {
        Node::Virtual(name) => open_virtual(name, open::WRITE_ONLY, Mode::empty(), limit)?,
        Node::Own(Own::Directory) => return Err(Errno::ISDIR.into()),
        _ => open_host(&found.host()?, open::WRITE_ONLY, Mode::empty(), limit, patience)?,
    };
    set_size(call, &kind, len)
}

/// Gives a file this size.
pub(crate) fn set_size(call: &mut Call<'_>, kind: &Kind, len: u64) -> Outcome {
    // What is stored behind its end stays out of it.
    call.clear_behind_end(kind)?;
    let done = match kind {
        Kind::Regular(file) => file.set_size(len, call.patience),
        Kind::Memory(file) => {
            let done = file.set_size(len);
            file.inode.touch(call.real_time());
            done
        }
        Kind::Virtual(file) => file.set_size(len),
        Kind::Directory(_) => Err(Errno::ISDIR.into()),
        _ => Err(Errno::INVAL.into()),
    };
    // It may have become shorter although this fails.
    let cleared = call.clear_behind_end(kind);
    call.signal_failure(done)?;
    cleared?;
    Ok(0)
}
