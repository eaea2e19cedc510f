//! Names of files: from a guest's path to a granted directory and a name in it.
//!
//! The guest's tree consists of the granted directories, the directories above them, and `/dev`.
//! A path is walked here, component by component: `..` and symbolic links mean what they mean in
//! the guest's tree, wherever in the host's tree a granted directory lies. What remains is a
//! path without links and `..` below a granted directory, which is opened as a capability
//! (`cap-std`), and one last name, which is never followed by the host.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::sync::Arc;

use cap_std::fs::Dir;
use rustix::fs::{AtFlags, Stat, readlinkat, statat};
use rustix::io::Errno;

use crate::abi::mode;
use crate::builder::DirAccess;
use crate::call::{Patience, Stop};
use crate::devices::Device;

/// Components of a path, all links expanded.
const MAX_DEPTH: usize = 256;
/// Components that one walk looks at.
const MAX_STEPS: usize = 4096;
/// Symbolic links that one walk follows, as in Linux.
const MAX_LINKS: usize = 40;
/// Bytes of a component (`NAME_MAX`).
const NAME_MAX: usize = 255;

/// A path from the root of the guest's tree, without `.`, `..` and empty components.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct GuestPath(Vec<OsString>);

impl GuestPath {
    /// A path as a host writes it; `None` if it is not absolute or has `..`.
    pub(crate) fn parse_absolute(path: &str) -> Option<GuestPath> {
        let components = path.strip_prefix('/')?.split('/').filter(|name| !matches!(*name, "" | "."));
        let path: Vec<OsString> = components.map(OsString::from).collect();
        match path.iter().any(|name| name == ".." || name.len() > NAME_MAX) || path.len() > MAX_DEPTH {
            true => None,
            false => Some(GuestPath(path)),
        }
    }

    /// As the guest writes it.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        match self.0.is_empty() {
            true => b"/".to_vec(),
            false => self.0.iter().flat_map(|name| [b"/", name.as_bytes()]).flatten().copied().collect(),
        }
    }
}

/// A directory of the host, granted to the guest.
struct Grant {
    at: GuestPath,
    dir: Arc<Dir>,
    access: DirAccess,
}

/// A name in a directory of the host; `.` for a granted directory itself. Calls that take it
/// must not follow it.
#[derive(Clone, Debug)]
pub(crate) struct HostName {
    pub(crate) dir: Arc<Dir>,
    pub(crate) name: OsString,
    pub(crate) access: DirAccess,
    grant: usize,
}

impl HostName {
    pub(crate) fn status(&self) -> Result<Stat, Errno> {
        statat(&self.dir, &self.name, AtFlags::SYMLINK_NOFOLLOW)
    }

    pub(crate) fn is_writable(&self) -> bool {
        self.access == DirAccess::ReadWrite
    }

    /// `EROFS` unless the guest may change it.
    pub(crate) fn writable(self) -> Result<HostName, Stop> {
        match self.is_writable() {
            true => Ok(self),
            false => Err(Errno::ROFS.into()),
        }
    }

    /// Whether both lie in the same granted directory.
    pub(crate) fn same_grant(&self, other: &HostName) -> bool {
        self.grant == other.grant
    }
}

/// What a path leads to.
#[derive(Clone, Debug)]
pub(crate) enum Node {
    /// Something in a granted directory, which need not exist.
    Host(HostName),
    Device(Device),
    /// A directory above granted ones, or `/dev`.
    Synthetic,
}

/// A path's end.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    pub(crate) path: GuestPath,
    pub(crate) node: Node,
    /// The path ended in a slash or dots: only a directory will do.
    pub(crate) must_be_directory: bool,
    /// The path ended in `.` or `..`: there is no name to take away.
    pub(crate) ends_in_dots: bool,
}

impl Found {
    /// The name in a granted directory, to be changed; `EACCES` elsewhere.
    pub(crate) fn host(self) -> Result<HostName, Stop> {
        match self.node {
            Node::Host(name) => Ok(name),
            Node::Device(_) | Node::Synthetic => Err(Errno::ACCESS.into()),
        }
    }
}

/// What stands in the way of a walk.
enum Step {
    Directory,
    Link(Vec<u8>),
    Other,
}

/// The guest's tree of names.
#[derive(Default)]
pub(crate) struct Names {
    grants: Vec<Grant>,
    /// The current directory.
    pub(crate) current: GuestPath,
}

impl fmt::Debug for Names {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.grants.iter().map(|grant| (&grant.at.0, grant.access))).finish()
    }
}

impl Names {
    /// Adds a granted directory; `false` if the name is taken.
    pub(crate) fn grant(&mut self, at: GuestPath, dir: Dir, access: DirAccess) -> bool {
        let free = self.grants.iter().all(|grant| grant.at != at);
        if free {
            self.grants.push(Grant { at, dir: Arc::new(dir), access });
        }
        free
    }

    /// Follows `path`, from `base` unless it is absolute; the last name only where `follow`.
    pub(crate) fn resolve(
        &self,
        base: &GuestPath,
        path: &[u8],
        follow: bool,
        patience: Patience<'_>,
    ) -> Result<Found, Stop> {
        if path.is_empty() {
            return Err(Errno::NOENT.into());
        }
        let mut from_end = path.rsplit(|&byte| byte == b'/');
        let must_be_directory = matches!(from_end.clone().next(), Some(b"" | b"." | b".."));
        let ends_in_dots = matches!(from_end.find(|name| !name.is_empty()), Some(b"." | b".."));
        let mut at = base.clone();
        let mut ahead = Vec::new();
        push_components(&mut at, &mut ahead, path);
        let (mut steps, mut links) = (0, 0);
        while let Some(name) = ahead.pop() {
            steps += 1;
            patience.check()?;
            match name.as_bytes() {
                b"." => continue,
                b".." => {
                    at.0.pop();
                    continue;
                }
                _ if steps > MAX_STEPS || at.0.len() >= MAX_DEPTH || name.len() > NAME_MAX => {
                    return Err(Errno::NAMETOOLONG.into());
                }
                _ => at.0.push(name),
            }
            let last = ahead.is_empty();
            if last && !follow && !must_be_directory {
                break;
            }
            match self.step(&at) {
                Ok(Step::Directory) => {}
                Ok(Step::Link(_)) if links == MAX_LINKS => return Err(Errno::LOOP.into()),
                Ok(Step::Link(target)) => {
                    links += 1;
                    at.0.pop();
                    push_components(&mut at, &mut ahead, &target);
                }
                Ok(Step::Other) if last && !must_be_directory => {}
                Ok(Step::Other) => return Err(Errno::NOTDIR.into()),
                // What is to be created does not exist yet.
                Err(Stop::Errno(Errno::NOENT)) if last => {}
                Err(stop) => return Err(stop),
            }
        }
        Ok(Found { node: self.node(&at)?, path: at, must_be_directory, ends_in_dots })
    }

    fn step(&self, at: &GuestPath) -> Result<Step, Stop> {
        let host = match self.node(at)? {
            Node::Synthetic => return Ok(Step::Directory),
            Node::Device(_) => return Ok(Step::Other),
            Node::Host(host) => host,
        };
        Ok(match host.status()?.st_mode & mode::TYPE {
            mode::DIRECTORY => Step::Directory,
            mode::SYMLINK => Step::Link(readlinkat(&host.dir, &host.name, Vec::new())?.into_bytes()),
            _ => Step::Other,
        })
    }

    /// What a path without links stands for.
    fn node(&self, path: &GuestPath) -> Result<Node, Stop> {
        let above = |grant: &&Grant| path.0.starts_with(&grant.at.0);
        let nearest = self.grants.iter().enumerate().filter(|(_, grant)| above(grant));
        let nearest = nearest.max_by_key(|(_, grant)| grant.at.0.len());
        if nearest.is_none_or(|(_, grant)| grant.at.0.is_empty()) && path.0.first().is_some_and(|name| name == "dev") {
            match path.0.as_slice() {
                [_] => return Ok(Node::Synthetic),
                [_, name] => {
                    if let Some(device) = Device::named(name) {
                        return Ok(Node::Device(device));
                    }
                }
                _ => {}
            }
        }
        let Some((number, grant)) = nearest else {
            return match path.0.is_empty() || self.grants.iter().any(|grant| grant.at.0.starts_with(&path.0)) {
                true => Ok(Node::Synthetic),
                false => Err(Errno::NOENT.into()),
            };
        };
        let (dir, name) = match path.0[grant.at.0.len()..].split_last() {
            None => (grant.dir.clone(), OsString::from(".")),
            Some((name, [])) => (grant.dir.clone(), name.clone()),
            Some((name, parents)) => (Arc::new(grant.dir.open_dir(parents.iter().collect::<PathBuf>())?), name.clone()),
        };
        Ok(Node::Host(HostName { dir, name, access: grant.access, grant: number }))
    }

    /// The names in a directory that is not the host's.
    pub(crate) fn children(&self, path: &GuestPath) -> BTreeSet<OsString> {
        let below = self.grants.iter().filter(|grant| grant.at.0.starts_with(&path.0));
        let mut names: BTreeSet<OsString> = below.filter_map(|grant| grant.at.0.get(path.0.len())).cloned().collect();
        match path.0.as_slice() {
            [] => drop(names.insert("dev".into())),
            [dev] if dev == "dev" => names.extend(Device::ALL.iter().map(|device| device.name().into())),
            _ => {}
        }
        names
    }
}

/// Puts a path's components onto the stack of those still to be walked.
fn push_components(at: &mut GuestPath, ahead: &mut Vec<OsString>, path: &[u8]) {
    if path.first() == Some(&b'/') {
        at.0.clear();
    }
    let names = path.rsplit(|&byte| byte == b'/').filter(|name| !name.is_empty());
    ahead.extend(names.map(|name| OsStr::from_bytes(name).to_owned()));
}
