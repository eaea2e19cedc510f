//! Symbolic links that lead out of a granted directory.
//!
//! A guest follows links in its own tree and never leaves it by them. Other users of the directory follow them in the host's
//! tree: a guest could leave `output -> /home/user/.bashrc` and wait until a user writes to `output`. So guests cannot make
//! such links, nor move existing ones.
//!
//! The rule that keeps links inside: `..` is only at a target's beginning, and no more often than there are
//! directories between the granted one and the link. Each link that a walk meets then leads to a place inside,
//! whatever links are on its way.

use std::os::fd::OwnedFd;

use rustix::fs::{Dir, FileType, Mode, OFlags, openat, readlinkat};
use rustix::io::Errno;

use crate::abi::mode;
use crate::call::{Patience, Stop};
use crate::paths::HostName;
use crate::refusal::Reason;

/// Directories within each other that are looked through for links.
const MAX_DEPTH: usize = 256;

fn components(target: &[u8]) -> impl Iterator<Item = &[u8]> {
    target.split(|&byte| byte == b'/').filter(|name| !matches!(*name, b"" | b"."))
}

/// Whether a link with this target leads out, `depth` directories below the granted one.
fn leads_out(target: &[u8], depth: usize) -> bool {
    let up = components(target).take_while(|name| name == b"..").count();
    target.first() == Some(&b'/') || up > depth || components(target).skip(up).any(|name| name == b"..")
}

/// `EPERM` for a new link of this name, if its target leads out.
pub(crate) fn check_new(name: &HostName, target: &[u8]) -> Result<(), Stop> {
    match !name.allows_outward_links() && leads_out(target, name.depth()) {
        true => Err(name.refuse(Reason::OutwardLink)),
        false => Ok(()),
    }
}

/// `EPERM` for moving `from` to `to`, or for another name for it, if it is a link that leads out from there, or a
/// directory with one in it that did not lead out before.
pub(crate) fn check_move(from: &HostName, to: &HostName, patience: Patience<'_>) -> Result<(), Stop> {
    if to.allows_outward_links() {
        return Ok(());
    }
    let seen = from.look()?;
    match seen.kind {
        mode::SYMLINK => check_new(to, readlinkat(&seen.fd, c"", Vec::new())?.as_bytes()),
        mode::DIRECTORY if to.depth() < from.depth() => {
            let directory = openat(&from.dir, &from.name, DIRECTORY, Mode::empty())?;
            from.admit(&directory)?;
            match has_outward_link(directory, to.depth() + 1, patience)? {
                true => Err(to.refuse(Reason::OutwardLink)),
                false => Ok(()),
            }
        }
        _ => Ok(()),
    }
}

const DIRECTORY: OFlags = OFlags::DIRECTORY.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// Whether a relative link in a directory would lead out, with the directory's entries at `depth`. Absolute ones lead
/// to the same place from everywhere.
fn has_outward_link(directory: OwnedFd, depth: usize, patience: Patience<'_>) -> Result<bool, Stop> {
    let mut ahead = vec![Dir::new(directory)?];
    loop {
        patience.check()?;
        let depth = (depth + ahead.len()).saturating_sub(1);
        let Some(directory) = ahead.last_mut() else { return Ok(false) };
        let Some(entry) = directory.read().transpose()? else {
            ahead.pop();
            continue;
        };
        let (name, kind) = (entry.file_name(), entry.file_type());
        if matches!(name.to_bytes(), b"." | b"..") {
            continue;
        }
        if matches!(kind, FileType::Symlink | FileType::Unknown) {
            match readlinkat(directory.fd()?, name, Vec::new()) {
                Ok(target) if target.as_bytes().starts_with(b"/") => {}
                Ok(target) if leads_out(target.as_bytes(), depth) => return Ok(true),
                // The latter: it is no link.
                Ok(_) | Err(Errno::INVAL) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
        if matches!(kind, FileType::Directory | FileType::Unknown) {
            match openat(directory.fd()?, name, DIRECTORY, Mode::empty()) {
                Ok(_) if ahead.len() >= MAX_DEPTH => return Err(Errno::NAMETOOLONG.into()),
                Ok(below) => ahead.push(Dir::new(below)?),
                Err(Errno::NOTDIR | Errno::LOOP) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_stay_inside_or_lead_out() {
        for (target, depth) in [("a", 0), ("./a/b", 0), ("../a", 1), (".././..//a", 2), ("..", 1), ("a..", 0)] {
            assert!(!leads_out(target.as_bytes(), depth), "{target} at {depth}");
        }
        for (target, depth) in [("/", 9), ("/a", 9), ("..", 0), ("../../a", 1), ("a/..", 9), ("./..", 0)] {
            assert!(leads_out(target.as_bytes(), depth), "{target} at {depth}");
        }
    }
}
