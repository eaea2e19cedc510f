//! Status of files: `stat` and its relatives.

use std::os::fd::{AsFd, BorrowedFd};

use rustix::fs::{Access, AtFlags};
use rustix::io::Errno;

use crate::abi::{Layout, Timespec, at, mode};
use crate::call::{Call, Outcome, Stop};
use crate::guest_path::GuestPath;
use crate::inode::{Content, Inode};
use crate::memory_file::{MemoryFile, Origin};
use crate::open_file::{Directory, DirectoryPlace, Kind, OpenFile};
use crate::own::Own;
use crate::paths::{Found, Node};
use crate::process::USER;
use crate::space::Space;
use crate::virtual_file::{VirtualDirectory, VirtualName};
use crate::virtual_fs::{FileKind, FileStatus};

/// A file's status, whatever the file is.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Status {
    device: u64,
    inode: u64,
    mode: u32,
    links: u32,
    /// Of a device that the file stands for.
    number: u64,
    size: i64,
    block_size: u32,
    blocks: i64,
    accessed: Timespec,
    modified: Timespec,
    changed: Timespec,
}

const BLOCK_SIZE: u32 = 4096;

impl From<rustix::fs::Stat> for Status {
    fn from(status: rustix::fs::Stat) -> Status {
        let time = |seconds: i64, nanoseconds: u64| Timespec { seconds, nanoseconds: nanoseconds as i64 };
        Status {
            device: status.st_dev,
            inode: status.st_ino,
            mode: status.st_mode,
            links: status.st_nlink as u32,
            number: status.st_rdev,
            size: status.st_size,
            block_size: status.st_blksize as u32,
            blocks: status.st_blocks,
            accessed: time(status.st_atime, status.st_atime_nsec),
            modified: time(status.st_mtime, status.st_mtime_nsec),
            changed: time(status.st_ctime, status.st_ctime_nsec),
        }
    }
}

impl Status {
    fn of_mode(mode: u32) -> Status {
        Status { mode, links: 1, block_size: BLOCK_SIZE, inode: 1, ..Status::default() }
    }

    /// That of something of the guest's own. Links that lead to what is open have the status of links.
    pub(crate) fn of_own(own: &Own) -> Status {
        match own {
            Own::Directory => Status { links: 2, ..Status::of_mode(mode::DIRECTORY | 0o555) },
            Own::Device(device) => {
                let number = device.number();
                Status { number, inode: number, ..Status::of_mode(mode::CHARACTER_DEVICE | 0o666) }
            }
            Own::File(inode) => Status::of_inode(inode),
            Own::Proc(_) => Status::of_mode(mode::REGULAR | 0o444),
            Own::Link(_) | Own::Program | Own::Descriptor(_) => Status::of_mode(mode::SYMLINK | 0o777),
        }
    }

    /// That of something in a file system of the host.
    fn of_virtual(name: &VirtualName, status: &FileStatus) -> Status {
        let (inode, device) = name.numbers(status);
        let modified = status.modified.map(Timespec::from).unwrap_or_default();
        let size = i64::try_from(status.len).unwrap_or(i64::MAX);
        Status {
            device,
            inode,
            mode: status.kind.mode() | status.permissions & mode::ALL_PERMISSIONS,
            links: status.links,
            size: if status.kind == FileKind::Directory { 0 } else { size },
            blocks: status.len.div_ceil(512).min(i64::MAX as u64) as i64,
            accessed: modified,
            modified,
            changed: modified,
            ..Status::of_mode(0)
        }
    }

    /// The same of what has no number of its own, by its path.
    fn numbered(self, path: &GuestPath) -> Status {
        match (self.device, self.inode) {
            (0, Inode::GIVEN) => Status { inode: path.number(), ..self },
            _ => self,
        }
    }

    /// That of something in memory.
    fn of_inode(inode: &Inode) -> Status {
        let state = inode.lock();
        let (size, held) = match &state.content {
            Content::Given(bytes) => (bytes.len() as u64, bytes.len() as u64),
            Content::File(pages) => (pages.len(), pages.held()),
            Content::Directory(_) | Content::Fifo(_) | Content::Socket => (0, 0),
            Content::Link(target) => (target.len() as u64, 0),
        };
        Status {
            // That of the private tree, in which numbers are different.
            device: u64::from(inode.number != Inode::GIVEN),
            inode: inode.number,
            mode: state.content.kind() | state.permissions,
            links: state.links,
            size: size as i64,
            blocks: held.div_ceil(512) as i64,
            accessed: state.accessed,
            modified: state.modified,
            changed: state.changed,
            ..Status::of_mode(0)
        }
    }

    /// The bits of the mode that say what it is.
    pub(crate) fn kind(&self) -> u32 {
        self.mode & mode::TYPE
    }

    fn of_file(file: &OpenFile) -> Result<Status, Stop> {
        Ok(match &file.kind {
            Kind::Regular(file) => rustix::fs::fstat(&file.fd)?.into(),
            Kind::Directory(Directory { path, place, .. }) => match place {
                DirectoryPlace::Host(fd, _) => rustix::fs::fstat(fd)?.into(),
                DirectoryPlace::Memory(memory) => Status::of_inode(&memory.inode),
                DirectoryPlace::Virtual(VirtualDirectory { name, .. }) => Status::of_virtual(name, &name.look_again()?),
                DirectoryPlace::Own => Status::of_own(&Own::Directory).numbered(path),
            },
            Kind::Device(device) => Status::of_own(&Own::Device(*device)),
            Kind::Memory(MemoryFile { origin: Origin::Made, path, .. }) => {
                Status::of_mode(mode::REGULAR | 0o444).numbered(path)
            }
            Kind::Memory(file) => Status::of_inode(&file.inode).numbered(&file.path),
            Kind::Virtual(file) => Status::of_virtual(&file.name, &file.status()?),
            Kind::Stream(stream) => rustix::fs::fstat(stream.fd)?.into(),
            Kind::PipeReader(_) | Kind::PipeWriter(_) => match file.kind.fifo() {
                Some(fifo) => Status::of_inode(&fifo),
                None => Status::of_mode(mode::FIFO | 0o600),
            },
            Kind::Reader(_) | Kind::Writer(_) => Status::of_mode(mode::FIFO | 0o600),
            Kind::Socket(_) => Status::of_mode(mode::SOCKET | 0o777),
            Kind::Event(_) | Kind::Timer(_) | Kind::Signals(_) | Kind::Epoll(_) | Kind::Process => {
                Status::of_mode(0o600)
            }
        })
    }

    /// That of what a path leads to, the last link on its way only followed if `follow`.
    fn of_found(call: &Call<'_>, found: &Found, follow: bool) -> Result<Status, Stop> {
        let descriptors = &call.linux.descriptors;
        let status: Status = match &found.node {
            Node::Host(name) => name.status()?.into(),
            Node::Memory(name) => Status::of_inode(name.look()?),
            Node::Virtual(name) => Status::of_virtual(name, &name.look()?),
            Node::Own(Own::Program) if follow => {
                Status::of_inode(&Inode::given(call.linux.program()?.clone())).numbered(&found.path)
            }
            Node::Own(Own::Descriptor(number)) => match descriptors.get(*number) {
                Ok(file) if follow => Status::of_file(&file)?,
                Ok(_) => Status::of_own(&Own::Descriptor(*number)).numbered(&found.path),
                Err(_) => return Err(Errno::NOENT.into()),
            },
            Node::Own(own) => Status::of_own(own).numbered(&found.path),
        };
        match found.must_be_directory && status.mode & mode::TYPE != mode::DIRECTORY {
            true => Err(Errno::NOTDIR.into()),
            false => Ok(status),
        }
    }

    /// `struct stat`.
    fn to_stat(self) -> Layout {
        Layout::new()
            .u64(self.device)
            .u64(self.inode)
            .u32(self.mode)
            .u32(self.links)
            .u32(USER)
            .u32(USER)
            .u64(self.number)
            .u64(0)
            .i64(self.size)
            .u32(self.block_size)
            .u32(0)
            .i64(self.blocks)
            .timespec(self.accessed)
            .timespec(self.modified)
            .timespec(self.changed)
            .zeros_to(128)
    }

    /// `struct statx`.
    fn to_statx(self) -> Layout {
        const BASIC_STATS: u32 = 0x7ff;
        let time = |layout: Layout, time: Timespec| layout.i64(time.seconds).u32(time.nanoseconds as u32).u32(0);
        let layout = Layout::new()
            .u32(BASIC_STATS)
            .u32(self.block_size)
            .u64(0)
            .u32(self.links)
            .u32(USER)
            .u32(USER)
            .u16(self.mode as u16)
            .u16(0)
            .u64(self.inode)
            .i64(self.size)
            .i64(self.blocks)
            .u64(0);
        let layout = time(layout, self.accessed);
        let layout = time(layout, Timespec::default());
        let layout = time(layout, self.changed);
        let layout = time(layout, self.modified);
        let (number, device) = (split_device(self.number), split_device(self.device));
        layout.u32(number.0).u32(number.1).u32(device.0).u32(device.1).zeros_to(256)
    }
}

/// Major and minor number.
fn split_device(number: u64) -> (u32, u32) {
    let major = number >> 8 & 0xfff | number >> 32 & 0xffff_f000;
    let minor = number & 0xff | number >> 12 & 0xffff_ff00;
    (major as u32, minor as u32)
}

impl Call<'_> {
    /// The status of the file that arguments 0 and 1 name, with these flags.
    fn status(&self, flags: u32) -> Result<Status, Stop> {
        if flags & !(at::SYMLINK_NOFOLLOW | at::NO_AUTOMOUNT | at::EMPTY_PATH | at::STATX_SYNC) != 0 {
            return Err(Errno::INVAL.into());
        }
        let path = match self.args[1] {
            // Newer Linux takes a null pointer for an empty path.
            0 if flags & at::EMPTY_PATH != 0 => Vec::new(),
            _ => self.path(1)?,
        };
        if path.is_empty() && flags & at::EMPTY_PATH != 0 && self.int(0) != at::CURRENT_DIRECTORY {
            return Status::of_file(&*self.linux.descriptors.get(self.int(0))?);
        }
        let path = if path.is_empty() && flags & at::EMPTY_PATH != 0 { b".".to_vec() } else { path };
        let follow = flags & at::SYMLINK_NOFOLLOW == 0;
        Status::of_found(self, &self.find(self.int(0), &path, follow)?, follow)
    }
}

/// Fails unless the path at argument 0 leads to something.
pub(crate) fn check_there(call: &Call<'_>, follow: bool) -> Outcome {
    let path = call.path(0)?;
    Status::of_found(call, &call.find(at::CURRENT_DIRECTORY, &path, follow)?, follow)?;
    Ok(0)
}

pub(crate) fn fstat(call: &mut Call<'_>) -> Outcome {
    let file = call.linux.descriptors.get(call.int(0))?;
    Status::of_file(&file)?.to_stat().store(call.memory, call.args[1])
}

pub(crate) fn newfstatat(call: &mut Call<'_>) -> Outcome {
    call.status(call.uint(3))?.to_stat().store(call.memory, call.args[2])
}

pub(crate) fn statx(call: &mut Call<'_>) -> Outcome {
    const RESERVED_MASK: u32 = 1 << 31;
    if call.uint(3) & RESERVED_MASK != 0 {
        return Err(Errno::INVAL.into());
    }
    call.status(call.uint(2))?.to_statx().store(call.memory, call.args[4])
}

pub(crate) fn faccessat(call: &mut Call<'_>) -> Outcome {
    access(call, true)
}

pub(crate) fn faccessat2(call: &mut Call<'_>) -> Outcome {
    let flags = call.only(3, at::EACCESS | at::SYMLINK_NOFOLLOW)?;
    access(call, flags & at::SYMLINK_NOFOLLOW == 0)
}

fn access(call: &mut Call<'_>, follow: bool) -> Outcome {
    let wanted = call.only(2, mode::READ | mode::WRITE | mode::EXECUTE)?;
    let found = call.found(0, follow)?;
    let status = Status::of_found(call, &found, follow)?;
    match found.node {
        Node::Host(name) => {
            if wanted & mode::WRITE != 0 {
                name.look()?.check_writable()?;
            }
            let access = Access::from_bits_truncate(wanted);
            rustix::fs::accessat(&name.dir, &name.name, access, AtFlags::SYMLINK_NOFOLLOW | AtFlags::EACCESS)?;
        }
        Node::Memory(name) => name.look()?.check(wanted)?,
        Node::Virtual(name) => name.look()?.check(wanted)?,
        Node::Own(_) => {
            if status.mode & wanted != wanted {
                return Err(Errno::ACCESS.into());
            }
        }
    }
    Ok(0)
}

/// `struct statfs` of the private tree, as tmpfs has it.
fn statfs_of_tree(space: &Space) -> Layout {
    const TMPFS: u64 = 0x0102_1994;
    const NAME_MAX: u64 = 255;
    let block = u64::from(BLOCK_SIZE);
    let (blocks, free) = (space.limit() / block, space.limit().saturating_sub(space.used()) / block);
    let layout = [TMPFS, block, blocks, free, free, blocks, free, 0, NAME_MAX, block];
    layout.into_iter().fold(Layout::new(), Layout::u64).zeros_to(120)
}

/// `struct statfs`: the host's numbers for granted directories, else those of an empty
/// file system.
fn statfs_of(host: Option<BorrowedFd<'_>>) -> Result<Layout, Stop> {
    const MAGIC: u64 = 0x7672_7572;
    const NAME_MAX: u64 = 255;
    let [size, blocks, free, available, files, free_files] = match host {
        None => [u64::from(BLOCK_SIZE), 0, 0, 0, 0, 0],
        Some(fd) => {
            let host = rustix::fs::fstatvfs(fd)?;
            [host.f_bsize, host.f_blocks, host.f_bfree, host.f_bavail, host.f_files, host.f_ffree]
        }
    };
    let layout = [MAGIC, size, blocks, free, available, files, free_files, 0, NAME_MAX, size];
    Ok(layout.into_iter().fold(Layout::new(), Layout::u64).zeros_to(120))
}

pub(crate) fn statfs(call: &mut Call<'_>) -> Outcome {
    let path = call.path(0)?;
    let found = call.find(at::CURRENT_DIRECTORY, &path, true)?;
    Status::of_found(call, &found, true)?;
    let layout = match &found.node {
        Node::Host(name) => statfs_of(Some(name.look()?.fd.as_fd()))?,
        Node::Memory(_) => statfs_of_tree(&call.linux.names.tree.space),
        Node::Virtual(_) | Node::Own(_) => statfs_of(None)?,
    };
    layout.store(call.memory, call.args[1])
}

pub(crate) fn fstatfs(call: &mut Call<'_>) -> Outcome {
    let file = call.linux.descriptors.get(call.int(0))?;
    let layout = match &file.kind {
        Kind::Regular(file) => statfs_of(Some(file.fd.as_fd()))?,
        Kind::Directory(Directory { place: DirectoryPlace::Memory(_), .. }) => {
            statfs_of_tree(&call.linux.names.tree.space)
        }
        Kind::Memory(file) if file.origin == Origin::Guest => statfs_of_tree(&call.linux.names.tree.space),
        kind if kind.fifo().is_some() => statfs_of_tree(&call.linux.names.tree.space),
        Kind::Directory(Directory { place: DirectoryPlace::Host(fd, _), .. }) => statfs_of(Some(fd.as_fd()))?,
        _ => statfs_of(None)?,
    };
    layout.store(call.memory, call.args[1])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn structures_have_their_sizes_and_fields_their_places() {
        let status = Status {
            mode: mode::REGULAR | 0o644,
            size: 0x1234,
            modified: Timespec { seconds: 77, nanoseconds: 9 },
            ..Status::default()
        };
        let word = |bytes: &[u8], at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap());
        let stat = status.to_stat().into_bytes();
        assert_eq!(stat.len(), 128);
        assert_eq!([word(&stat, 48), word(&stat, 88), word(&stat, 96)], [0x1234, 77, 9]);
        assert_eq!(stat[16..20], (0o100644_u32).to_le_bytes());
        let statx = status.to_statx().into_bytes();
        assert_eq!(statx.len(), 256);
        assert_eq!([word(&statx, 40), word(&statx, 112), word(&statx, 120)], [0x1234, 77, 9]);
        assert_eq!(statx[28..30], (0o100644_u16).to_le_bytes());
    }

    #[test]
    fn device_numbers_split() {
        assert_eq!(split_device(0x0103), (1, 3));
        assert_eq!(split_device(0x0000_0fff_fff0_0001), (0, 0xffff_ff01));
    }
}
