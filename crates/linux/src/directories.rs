//! System calls on directories: reading them, and the current one.

use std::ffi::OsString;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::sync::PoisonError;

use rustix::fs::{FileType, RawDir};
use rustix::io::Errno;

use crate::abi::{Layout, at, mode};
use crate::call::{Call, Outcome, Stop, writable};
use crate::open_file::{Directory, Kind, Listing};
use crate::paths::{Found, Node};

/// Bytes of entries that one call reads.
const MAX_ENTRIES: u64 = 32 << 10;

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

pub(crate) fn getdents64(call: &mut Call<'_>) -> Outcome {
    let file = call.file(0)?;
    let Kind::Directory(directory) = &file.kind else { return Err(Errno::NOTDIR.into()) };
    let (address, len) = (call.args[1], u64::from(call.uint(2)).min(MAX_ENTRIES));
    let room = writable(call.memory, address, len)? as usize;
    let entries = match &directory.listing {
        Listing::Host(fd) => host_entries(fd, room)?,
        Listing::Synthetic(position) => {
            let mut position = position.lock().unwrap_or_else(PoisonError::into_inner);
            synthetic_entries(call, directory, &mut position, room)?
        }
    };
    call.memory.write(address, &entries)?;
    Ok(entries.len() as u64)
}

fn host_entries(fd: &OwnedFd, room: usize) -> Result<Vec<u8>, Stop> {
    // Words, so that the host finds its structures aligned.
    let mut words = vec![MaybeUninit::<u8>::uninit(); room + align_of::<u64>()];
    let slack = words.as_ptr().align_offset(align_of::<u64>());
    let mut entries = Vec::new();
    let mut reader = RawDir::new(fd, &mut words[slack..slack + room]);
    while let Some(next) = reader.next() {
        let next = next?;
        let kind = kind_of(next.file_type());
        entries.extend(entry(next.ino(), next.next_entry_cookie(), kind, next.file_name().to_bytes()));
        if reader.is_buffer_empty() {
            break;
        }
    }
    Ok(entries)
}

fn synthetic_entries(call: &Call<'_>, directory: &Directory, position: &mut u64, room: usize) -> Result<Vec<u8>, Stop> {
    const DIRECTORY: u8 = (mode::DIRECTORY >> 12) as u8;
    let names = &call.linux.names;
    let links = [".", ".."].map(OsString::from);
    let mut entries = Vec::new();
    for (n, name) in links.iter().chain(&names.children(&directory.path)).enumerate().skip(*position as usize) {
        let kind = match names.resolve(&directory.path, name.as_bytes(), false, call.patience)?.node {
            Node::Device(_) => (mode::CHARACTER_DEVICE >> 12) as u8,
            Node::Host(_) | Node::Synthetic => DIRECTORY,
        };
        let entry = entry(1, n as u64 + 1, kind, name.as_bytes());
        if entries.len() + entry.len() > room {
            return if entries.is_empty() { Err(Errno::INVAL.into()) } else { Ok(entries) };
        }
        entries.extend(entry);
        *position += 1;
    }
    Ok(entries)
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
        Node::Host(name) => name.status()?.st_mode & mode::TYPE == mode::DIRECTORY,
        Node::Device(_) => false,
        Node::Synthetic => true,
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
