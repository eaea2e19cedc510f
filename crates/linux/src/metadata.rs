//! System calls that change what is known of a file beside its contents: mode, owner, times.

use cap_std::fs::{Permissions, PermissionsExt};
use rustix::fs::{AtFlags, Mode, Timestamps};
use rustix::io::Errno;

use crate::abi::{Timespec, at, load_words, mode};
use crate::call::{Call, Outcome, Stop};
use crate::grant::DirAccess;
use crate::host_file::HostFile;
use crate::inode::Inode;
use crate::memory_file::Origin;
use crate::open_file::{Directory, DirectoryPlace, Kind};
use crate::paths::{Found, HostName, Node};
use crate::process::USER;
use crate::virtual_file::{VirtualDirectory, VirtualFile, VirtualName};
use crate::virtual_fs::FileKind;

pub(crate) fn fchmod(call: &mut Call<'_>) -> Outcome {
    let file = call.file(0)?;
    let mode = Mode::from_raw_mode(call.uint(1) & mode::PERMISSIONS);
    match &file.kind {
        Kind::Directory(Directory { place: DirectoryPlace::Memory(directory), .. }) => {
            call.linux.names.tree.changeable(&directory.inode)?.set_permissions(mode, call.real_time());
        }
        Kind::Memory(file) if file.origin == Origin::Guest => {
            file.inode.set_permissions(mode, call.real_time());
        }
        Kind::Virtual(VirtualFile { name, .. })
        | Kind::Directory(Directory { place: DirectoryPlace::Virtual(VirtualDirectory { name, .. }), .. }) => {
            name.look_again()?;
            name.set_permissions(mode.as_raw_mode())?;
        }
        Kind::Directory(directory) => {
            let Found { node, .. } = call.linux.names.resolve(&directory.path, b".", true, call.patience)?;
            let Node::Host(name) = node else { return Err(Errno::PERM.into()) };
            set_mode(&name.changeable()?, mode)?;
        }
        Kind::Regular(file) => {
            changeable(file)?;
            rustix::fs::fchmod(&file.fd, mode)?;
        }
        kind => kind.fifo().ok_or(Errno::PERM)?.set_permissions(mode, call.real_time()),
    }
    Ok(0)
}

pub(crate) fn fchmodat(call: &mut Call<'_>) -> Outcome {
    let mode = Mode::from_raw_mode(call.uint(2) & mode::PERMISSIONS);
    let found = call.found(0, true)?;
    match &found.node {
        Node::Memory(name) => name.changeable()?.set_permissions(mode, call.real_time()),
        Node::Virtual(name) => {
            name.look()?;
            name.set_permissions(mode.as_raw_mode())?;
        }
        _ => set_mode(&found.host()?.changeable()?, mode)?,
    }
    Ok(0)
}

pub(crate) fn fchmodat2(call: &mut Call<'_>) -> Outcome {
    match call.only(3, at::SYMLINK_NOFOLLOW)? {
        // A link has no mode.
        at::SYMLINK_NOFOLLOW if is_link(call.found(0, false)?)? => Err(Errno::OPNOTSUPP.into()),
        _ => fchmodat(call),
    }
}

/// Whether a path that was not followed leads to a link.
fn is_link(found: Found) -> Result<bool, Stop> {
    match &found.node {
        Node::Memory(name) => Ok(name.look()?.kind() == mode::SYMLINK),
        Node::Virtual(name) => Ok(name.look()?.kind == FileKind::Link),
        _ => Ok(found.host()?.look()?.kind == mode::SYMLINK),
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
        let found = call.found(0, flags & at::SYMLINK_NOFOLLOW == 0)?;
        match &found.node {
            Node::Memory(name) => drop(name.changeable()?.clone()),
            Node::Virtual(name) => {
                name.look()?;
            }
            _ => drop(found.host()?.changeable()?),
        }
    }
    check_owner(call.uint(2), call.uint(3))
}

/// In place of nanoseconds: the time that it is, or no change.
const NOW: i64 = (1 << 30) - 1;
const OMIT: i64 = (1 << 30) - 2;

/// What gives a file of the private tree these times.
fn set_in_memory(call: &Call<'_>, [accessed, modified]: [Timespec; 2]) -> impl Fn(&Inode) {
    let now = call.real_time();
    move |inode| {
        let new = |old, time: Timespec| match time.nanoseconds {
            NOW => now,
            OMIT => old,
            _ => time,
        };
        let mut state = inode.lock();
        (state.accessed, state.modified) = (new(state.accessed, accessed), new(state.modified, modified));
        state.changed = now;
    }
}

pub(crate) fn utimensat(call: &mut Call<'_>) -> Outcome {
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
            Kind::Directory(Directory { place: DirectoryPlace::Memory(directory), .. }) => {
                let times = set_in_memory(call, [accessed, modified]);
                times(call.linux.names.tree.changeable(&directory.inode)?);
            }
            Kind::Memory(file) if file.origin == Origin::Guest => {
                set_in_memory(call, [accessed, modified])(&file.inode);
            }
            Kind::Virtual(VirtualFile { name, .. })
            | Kind::Directory(Directory { place: DirectoryPlace::Virtual(VirtualDirectory { name, .. }), .. }) => {
                name.look_again()?;
                set_modified(call, name, modified)?;
            }
            Kind::Directory(directory) => {
                let found = call.linux.names.resolve(&directory.path, b".", true, call.patience)?;
                set_times(&found.host()?.changeable()?, &times)?;
            }
            kind => set_in_memory(call, [accessed, modified])(&*kind.fifo().ok_or(Errno::PERM)?),
        }
        return Ok(0);
    }
    let found = call.found(0, flags & at::SYMLINK_NOFOLLOW == 0)?;
    match &found.node {
        Node::Memory(name) => set_in_memory(call, [accessed, modified])(name.changeable()?),
        Node::Virtual(name) => set_modified(call, name, modified)?,
        _ => set_times(&found.host()?.changeable()?, &times)?,
    }
    Ok(0)
}

/// Sets the one time that files of a file system of the host have.
fn set_modified(call: &Call<'_>, name: &VirtualName, modified: Timespec) -> Result<(), Stop> {
    if name.look()?.kind == FileKind::Link {
        return Err(Errno::OPNOTSUPP.into());
    }
    match modified.nanoseconds {
        OMIT => Ok(()),
        NOW => name.set_modified(call.real_time()),
        _ => name.set_modified(modified),
    }
}

fn set_times(name: &HostName, times: &Timestamps) -> Result<(), Stop> {
    Ok(rustix::fs::utimensat(&name.dir, &name.name, times, AtFlags::SYMLINK_NOFOLLOW)?)
}
