//! System calls that open, create, rename and change files.

use std::sync::Arc;

use cap_std::fs::{Permissions, PermissionsExt};
use rustix::fs::{AtFlags, Mode, OFlags, RenameFlags, Timestamps};
use rustix::io::Errno;

use crate::abi::{Timespec, at, load_words, mode, open};
use crate::call::{Call, Outcome, PATH_MAX, Patience, Stop};
use crate::grant::DirAccess;
use crate::guest_path::GuestPath;
use crate::host_file::{HostFile, SizeLimit, is_large};
use crate::links;
use crate::memory_file::MemoryFile;
use crate::open_file::{Directory, Kind};
use crate::own::Own;
use crate::paths::{Found, HostName, Node, special_file};
use crate::process::USER;
use crate::refusal::Reason;

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
}

pub(crate) fn openat(call: &mut Call<'_>) -> Outcome {
    let flags = call.uint(2);
    let follow =
        flags & open::NO_FOLLOW == 0 && flags & (open::CREATE | open::EXCLUSIVE) != open::CREATE | open::EXCLUSIVE;
    let Found { path, node, must_be_directory, .. } = call.found(0, follow)?;
    call.linux.descriptors.check_free()?;
    if flags & open::TEMPORARY != 0 {
        let name = Found { path, node, must_be_directory, ends_in_dots: false }.host()?;
        let kind = open_temporary(&name, flags, call.new_mode(3), call.linux.size_limit)?;
        return Ok(call.linux.descriptors.open(kind, flags)? as u64);
    }
    let flags = if must_be_directory { flags | open::DIRECTORY } else { flags };
    let kind = match node {
        Node::Host(name) => open_host(&name, flags, call.new_mode(3), call.linux.size_limit, call.patience)?,
        Node::Own(Own::Descriptor(number)) => return open_anew(call, number, flags),
        Node::Own(own) => open_own(call, own, path, flags)?,
    };
    Ok(call.linux.descriptors.open(kind, flags)? as u64)
}

/// Opens something of the guest's own.
fn open_own(call: &Call<'_>, own: Own, path: GuestPath, flags: u32) -> Result<Kind, Stop> {
    if flags & (open::CREATE | open::EXCLUSIVE) == open::CREATE | open::EXCLUSIVE {
        return Err(Errno::EXIST.into());
    }
    let bytes: (Arc<[u8]>, bool) = match own {
        Own::Directory if flags & (open::ACCESS_MODE | open::CREATE) != 0 => return Err(Errno::ISDIR.into()),
        Own::Directory => return Ok(Kind::Directory(Directory::new(path, None))),
        Own::Link(_) => return Err(Errno::LOOP.into()),
        _ if flags & open::DIRECTORY != 0 => return Err(Errno::NOTDIR.into()),
        Own::Device(device) => return Ok(Kind::Device(device)),
        Own::Descriptor(_) => return Err(Errno::LOOP.into()),
        _ if flags & open::NO_FOLLOW != 0 && matches!(own, Own::Program) => return Err(Errno::LOOP.into()),
        Own::File(bytes) => (bytes, false),
        Own::Program => (call.linux.program()?.clone(), false),
        Own::Proc(file) => (file.contents(call).into(), true),
    };
    if flags & open::PATH == 0 && flags & (open::ACCESS_MODE | open::TRUNCATE) != 0 {
        return Err(Errno::ACCESS.into());
    }
    Ok(Kind::Memory(MemoryFile::new(path, bytes.0, bytes.1)))
}

/// Opens `/proc/self/fd/NUMBER`: a file of the host by its name, so that it has a position of its own, and anything else
/// as it is.
fn open_anew(call: &mut Call<'_>, number: i32, flags: u32) -> Outcome {
    let file = call.linux.descriptors.get(number).map_err(|_| Errno::NOENT)?;
    if flags & open::NO_FOLLOW != 0 {
        return Err(Errno::LOOP.into());
    }
    let kind = match &file.kind {
        Kind::Regular(HostFile { path, .. }) | Kind::Directory(Directory { path, host: Some(_), .. }) => {
            let found = call.linux.names.resolve(&GuestPath::default(), &path.to_bytes(), false, call.patience)?;
            open_host(&found.host()?, flags & !open::CREATE, Mode::empty(), call.linux.size_limit, call.patience)?
        }
        Kind::Directory(Directory { path, host: None, .. }) => open_own(call, Own::Directory, path.clone(), flags)?,
        Kind::Memory(MemoryFile { path, bytes, is_made, .. }) => {
            Kind::Memory(MemoryFile::new(path.clone(), bytes.clone(), *is_made))
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
    let file = |fd| HostFile { fd, access: name.access, limit, path: name.path().clone(), sync };
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
    match name.admit(&fd)?.kind {
        mode::DIRECTORY => Ok(Kind::Directory(Directory::new(name.path().clone(), Some(fd)))),
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
    let name = name.clone().writable()?;
    // Never with a name, which would be one that no check has seen.
    let host = access | OFlags::TMPFILE | OFlags::EXCL | OFlags::CLOEXEC;
    let fd = rustix::fs::openat(&seen.fd, c".", host, mode)?;
    name.admit(&fd)?;
    let mut path = name.path().clone();
    path.0.push("(no name)".into());
    Ok(Kind::Regular(HostFile { fd, access: name.access, limit, path, sync: flags & open::SYNC }))
}

/// Makes a regular file. Other kinds are not provided.
pub(crate) fn mknodat(call: &mut Call<'_>) -> Outcome {
    let found = call.found(0, false)?;
    let Found { node: Node::Host(name), .. } = found else { return Err(Errno::EXIST.into()) };
    if name.exists()? {
        return Err(Errno::EXIST.into());
    }
    match call.uint(2) & mode::TYPE {
        0 | mode::REGULAR => {}
        mode::CHARACTER_DEVICE | mode::BLOCK_DEVICE | mode::DIRECTORY => return Err(Errno::PERM.into()),
        mode::FIFO => return Err(Stop::Absent("a FIFO with a name")),
        mode::SOCKET => return Err(Stop::Absent("a socket with a name")),
        _ => return Err(Errno::INVAL.into()),
    }
    let name = name.writable()?;
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::openat(&name.dir, &name.name, flags, call.new_mode(2))?;
    Ok(0)
}

pub(crate) fn mkdirat(call: &mut Call<'_>) -> Outcome {
    let found = call.found(0, false)?;
    let Found { node: Node::Host(name), .. } = found else { return Err(Errno::EXIST.into()) };
    if name.exists()? {
        return Err(Errno::EXIST.into());
    }
    let name = name.writable()?;
    rustix::fs::mkdirat(&name.dir, &name.name, call.new_mode(2))?;
    Ok(0)
}

pub(crate) fn unlinkat(call: &mut Call<'_>) -> Outcome {
    let flags = call.only(2, at::REMOVE_DIRECTORY)?;
    let found = call.found(0, false)?;
    let directory = flags & at::REMOVE_DIRECTORY != 0;
    if found.must_be_directory && !directory {
        return Err(Errno::NOTDIR.into());
    }
    if let Node::Host(name) = &found.node {
        name.look()?;
    }
    if found.ends_in_dots {
        return Err(Errno::INVAL.into());
    }
    if call.linux.names.holds_grant(&found.path) {
        let is_file = matches!(found.node, Node::Own(Own::File(_)));
        return Err(if directory || is_file { Errno::BUSY } else { Errno::ISDIR }.into());
    }
    let name = found.host()?.changeable()?;
    rustix::fs::unlinkat(&name.dir, &name.name, if directory { AtFlags::REMOVEDIR } else { AtFlags::empty() })?;
    Ok(0)
}

/// Two names in the same granted directory, the first of something that is there, the second to be made.
fn pair(old: Found, new: Found) -> Result<(HostName, HostName), Stop> {
    let (old, new) = (old.host()?, new.host()?);
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
    let (old, new) = (call.found(0, false)?, call.found(2, false)?);
    let names = &call.linux.names;
    let stays = |found: &Found| found.ends_in_dots || names.holds_grant(&found.path);
    if stays(&old) || stays(&new) {
        return Err(Errno::BUSY.into());
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
    let (old, new) = (call.found(0, flags & at::SYMLINK_FOLLOW != 0)?, call.found(2, false)?);
    if matches!(new.node, Node::Own(_)) {
        return Err(Errno::EXIST.into());
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
    let Found { node: Node::Host(name), .. } = call.found(1, false)? else { return Err(Errno::EXIST.into()) };
    if name.exists()? {
        return Err(Errno::EXIST.into());
    }
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
        Node::Own(Own::Link(target)) => target,
        Node::Own(Own::Program) => call.linux.program_path().ok_or(Errno::NOENT)?.to_bytes(),
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
    let (limit, patience) = (call.linux.size_limit, call.patience);
    let done = match open_host(&found.host()?, open::WRITE_ONLY, Mode::empty(), limit, patience)? {
        Kind::Regular(file) => file.set_size(len, patience),
        _ => Err(Errno::ISDIR.into()),
    };
    call.signal_failure(done)?;
    Ok(0)
}

pub(crate) fn fchmod(call: &mut Call<'_>) -> Outcome {
    let file = call.file(0)?;
    let mode = Mode::from_raw_mode(call.uint(1) & mode::PERMISSIONS);
    match &file.kind {
        Kind::Directory(directory) => {
            let Found { node, .. } = call.linux.names.resolve(&directory.path, b".", true, call.patience)?;
            let Node::Host(name) = node else { return Err(Errno::PERM.into()) };
            set_mode(&name.changeable()?, mode)?;
        }
        Kind::Regular(file) => {
            changeable(file)?;
            rustix::fs::fchmod(&file.fd, mode)?;
        }
        _ => return Err(Errno::PERM.into()),
    }
    Ok(0)
}

pub(crate) fn fchmodat(call: &mut Call<'_>) -> Outcome {
    let name = call.found(0, true)?.host()?;
    set_mode(&name.changeable()?, Mode::from_raw_mode(call.uint(2) & mode::PERMISSIONS))?;
    Ok(0)
}

pub(crate) fn fchmodat2(call: &mut Call<'_>) -> Outcome {
    match call.only(3, at::SYMLINK_NOFOLLOW)? {
        // A link has no mode.
        at::SYMLINK_NOFOLLOW if call.found(0, false)?.host()?.look()?.kind == mode::SYMLINK => {
            Err(Errno::OPNOTSUPP.into())
        }
        _ => fchmodat(call),
    }
}

/// `EROFS` for a file in a directory that is granted for reading.
fn changeable(file: &HostFile) -> Result<(), Stop> {
    match file.access {
        DirAccess::ReadWrite => Ok(()),
        DirAccess::ReadOnly => Err(Errno::ROFS.into()),
    }
}

/// By way of `cap-std`, as the host's own call would follow symbolic links.
fn set_mode(name: &HostName, mode: Mode) -> Result<(), Stop> {
    Ok(name.dir.set_permissions(&name.name, Permissions::from_mode(mode.as_raw_mode()))?)
}

/// Files have one owner, who cannot give them away.
fn check_owner(user: u32, group: u32) -> Outcome {
    const UNCHANGED: u32 = u32::MAX;
    match [user, group].into_iter().all(|id| id == UNCHANGED || id == USER) {
        true => Ok(0),
        false => Err(Errno::PERM.into()),
    }
}

pub(crate) fn fchown(call: &mut Call<'_>) -> Outcome {
    call.file(0)?;
    check_owner(call.uint(1), call.uint(2))
}

pub(crate) fn fchownat(call: &mut Call<'_>) -> Outcome {
    let flags = call.only(4, at::SYMLINK_NOFOLLOW | at::EMPTY_PATH)?;
    if flags & at::EMPTY_PATH == 0 {
        call.found(0, flags & at::SYMLINK_NOFOLLOW == 0)?.host()?.changeable()?;
    }
    check_owner(call.uint(2), call.uint(3))
}

pub(crate) fn utimensat(call: &mut Call<'_>) -> Outcome {
    const NOW: i64 = (1 << 30) - 1;
    const OMIT: i64 = (1 << 30) - 2;
    let flags = call.only(3, at::SYMLINK_NOFOLLOW | at::EMPTY_PATH)?;
    let time = |time: Timespec| match time.nanoseconds {
        NOW | OMIT | 0..1_000_000_000 => {
            Ok(rustix::fs::Timespec { tv_sec: time.seconds, tv_nsec: time.nanoseconds as _ })
        }
        _ => Err(Stop::Errno(Errno::INVAL)),
    };
    let [accessed, modified] = match call.args[2] {
        0 => [Timespec { seconds: 0, nanoseconds: NOW }; 2],
        address => {
            load_words::<4>(call.memory, address)?;
            [Timespec::load(call.memory, address)?, Timespec::load(call.memory, address + 16)?]
        }
    };
    let times = Timestamps { last_access: time(accessed)?, last_modification: time(modified)? };
    let empty = call.args[1] == 0 || flags & at::EMPTY_PATH != 0 && call.path(1)?.is_empty();
    if empty {
        let file = call.file(0)?;
        match &file.kind {
            Kind::Regular(file) => {
                changeable(file)?;
                rustix::fs::futimens(&file.fd, &times)?;
            }
            Kind::Directory(directory) => {
                let found = call.linux.names.resolve(&directory.path, b".", true, call.patience)?;
                set_times(&found.host()?.changeable()?, &times)?;
            }
            _ => return Err(Errno::PERM.into()),
        }
        return Ok(0);
    }
    let name = call.found(0, flags & at::SYMLINK_NOFOLLOW == 0)?.host()?;
    set_times(&name.changeable()?, &times)?;
    Ok(0)
}

fn set_times(name: &HostName, times: &Timestamps) -> Result<(), Stop> {
    Ok(rustix::fs::utimensat(&name.dir, &name.name, times, AtFlags::SYMLINK_NOFOLLOW)?)
}
