//! Path resolution: from a guest's path to a granted directory and a name in it. This file confines guests to their grants.
//!
//! The guest's tree consists of the granted directories, file systems of its host ([`crate::virtual_file`]), the directories
//! above these, its private files ([`crate::tree`]), and what is its own ([`crate::own`]).
//! A path is walked here, component by component: `..` and symbolic links mean what they mean in
//! the guest's tree, wherever in the host's tree a granted directory lies. What remains is an open
//! directory, and one last name in it, which is never followed by the host.
//!
//! Each component is opened with `O_PATH` and without following links, and the open descriptor is examined: one in another
//! mount, or in a file system of the kernel, is refused. All calls that take a path resolve it here, so none can omit
//! this.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::io::ErrorKind;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cap_std::fs::Dir;
use rustix::fs::{Mode, OFlags, ResolveFlags, Stat, fstat, openat2, readlinkat};
use rustix::io::Errno;

use crate::abi::mode;
use crate::call::{Patience, Stop};
use crate::file_systems::{Identity, Place, kernel_file_system};
use crate::grant::{DirAccess, DirOptions};
use crate::guest_path::{GuestPath, MAX_DEPTH, NAME_MAX};
use crate::inode::Inode;
use crate::own::{self, Given, Own};
use crate::refusal::{Reason, Refusal};
use crate::tree::{MemoryName, Tree};
use crate::virtual_file::{VirtualMount, VirtualName};
use crate::virtual_fs::{FileKind, FileSystem};

/// Components that one walk examines.
const MAX_STEPS: usize = 4096;
/// The name of the private tree's first root in a root that is granted.
const TMP: &str = "tmp";
/// The number of the first file system of the host as a device: smaller ones are those of the guest's own files.
const FIRST_DEVICE: u64 = 2;
/// Symbolic links that one walk follows, as in Linux.
const MAX_LINKS: usize = 40;

/// A directory of the host, granted to the guest.
pub(crate) struct Grant {
    at: GuestPath,
    dir: Arc<Dir>,
    place: Place,
    options: DirOptions,
}

impl Grant {
    fn root(&self) -> HostDir {
        HostDir { dir: self.dir.clone(), access: self.options.access }
    }
}

impl fmt::Debug for Grant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Grant").field("at", &self.at).field("options", &self.options).finish_non_exhaustive()
    }
}

/// What a host has put into the guest's tree.
enum Granted {
    Directory(Arc<Grant>),
    FileSystem(Arc<VirtualMount>),
}

impl Granted {
    fn at(&self) -> &GuestPath {
        match self {
            Granted::Directory(grant) => &grant.at,
            Granted::FileSystem(mount) => &mount.at,
        }
    }
}

impl fmt::Debug for Granted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Granted::Directory(grant) => grant.fmt(f),
            Granted::FileSystem(mount) => f.debug_tuple("FileSystem").field(&mount.at).finish(),
        }
    }
}

/// The mode of directories that are made as the guest has them already.
const NEW_DIRECTORY: Mode = Mode::RWXU.union(Mode::RGRP).union(Mode::XGRP).union(Mode::ROTH).union(Mode::XOTH);

/// How a name is opened to examine it: without side effects, whatever it is.
const LOOK: OFlags = OFlags::PATH.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// A directory of the host, and what the guest may do in it.
#[derive(Clone, Debug)]
struct HostDir {
    dir: Arc<Dir>,
    access: DirAccess,
}

/// A name in a directory of the host; `.` for a granted directory itself. Calls that take it
/// must not follow it.
#[derive(Clone, Debug)]
pub(crate) struct HostName {
    pub(crate) dir: Arc<Dir>,
    pub(crate) name: OsString,
    /// What the guest may do in the directory.
    pub(crate) access: DirAccess,
    path: GuestPath,
    grant: Arc<Grant>,
    read_only: Arc<Vec<Identity>>,
    /// Directories from `dir` to the one that the name is in, which the host lacks though the guest has them: they
    /// are on the way to another granted directory.
    missing: Vec<OsString>,
}

/// A file that a name refers to.
pub(crate) struct Seen {
    /// Open for its path only.
    pub(crate) fd: OwnedFd,
    /// The type bits of its mode.
    pub(crate) kind: u32,
    /// What the guest may do to it.
    access: DirAccess,
}

impl Seen {
    /// `EROFS` unless the guest may change it.
    pub(crate) fn check_writable(&self) -> Result<(), Stop> {
        match self.access {
            DirAccess::ReadWrite => Ok(()),
            DirAccess::ReadOnly => Err(Errno::ROFS.into()),
        }
    }
}

impl HostName {
    /// What is there, if the grant reaches so far.
    pub(crate) fn look(&self) -> Result<Seen, Stop> {
        if !self.missing.is_empty() {
            return Err(Errno::NOENT.into());
        }
        let fd = rustix::fs::openat(&self.dir, &self.name, LOOK, Mode::empty())?;
        let place = self.admit(&fd)?;
        Ok(Seen { fd, kind: place.kind, access: self.access_to(&place) })
    }

    /// What the guest may do to what is at the place that this name leads to.
    pub(crate) fn access_to(&self, place: &Place) -> DirAccess {
        // A directory that is granted for reading is that by other names, too.
        let is_read_only = self.name != "." && self.read_only.contains(&place.identity);
        if is_read_only { DirAccess::ReadOnly } else { self.access }
    }

    /// Where an open file is; refuses it if that is a mount that the grant does not reach.
    pub(crate) fn admit(&self, fd: impl AsFd) -> Result<Place, Stop> {
        let place = Place::of(&fd)?;
        if place.mount != self.grant.place.mount {
            if !self.grant.options.crosses_mounts {
                return Err(self.refuse(Reason::OtherMount));
            }
            if let Some(name) = kernel_file_system(&fd)? {
                return Err(self.refuse(Reason::Kernel(name)));
            }
        }
        Ok(place)
    }

    /// The guest's path.
    pub(crate) fn path(&self) -> &GuestPath {
        &self.path
    }

    pub(crate) fn refuse(&self, reason: Reason) -> Stop {
        Stop::Refused(Refusal { path: self.path.clone(), reason })
    }

    pub(crate) fn status(&self) -> Result<Stat, Stop> {
        Ok(fstat(&self.look()?.fd)?)
    }

    /// Whether there is something of this name.
    pub(crate) fn exists(&self) -> Result<bool, Stop> {
        match self.look() {
            Ok(_) => Ok(true),
            Err(Stop::Errno(Errno::NOENT)) => Ok(false),
            Err(stop) => Err(stop),
        }
    }

    pub(crate) fn is_writable(&self) -> bool {
        self.access == DirAccess::ReadWrite
    }

    /// `EROFS` unless the guest may make something of this name; the host gets the directories that it lacks.
    pub(crate) fn writable(mut self) -> Result<HostName, Stop> {
        if !self.is_writable() {
            return Err(Errno::ROFS.into());
        }
        for name in std::mem::take(&mut self.missing) {
            match rustix::fs::mkdirat(&self.dir, &name, NEW_DIRECTORY) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(errno) => return Err(errno.into()),
            }
            let fd = rustix::fs::openat(&self.dir, &name, LOOK | OFlags::DIRECTORY, Mode::empty())?;
            self.admit(&fd)?;
            self.dir = Arc::new(fd.into());
        }
        Ok(self)
    }

    /// Refuses to have what is there changed, moved or removed, unless the guest may.
    pub(crate) fn changeable(self) -> Result<HostName, Stop> {
        let seen = self.look()?;
        seen.check_writable()?;
        match seen.kind {
            mode::CHARACTER_DEVICE | mode::BLOCK_DEVICE => {
                Err(self.refuse(Reason::SpecialFile(special_file(seen.kind))))
            }
            _ => Ok(self),
        }
    }

    /// Whether both lie in the same granted directory.
    pub(crate) fn same_grant(&self, other: &HostName) -> bool {
        Arc::ptr_eq(&self.grant, &other.grant)
    }

    /// How many directories lie between the granted one and this name.
    pub(crate) fn depth(&self) -> usize {
        (self.path.0.len() - self.grant.at.0.len()).saturating_sub(1)
    }

    /// Whether links of this grant may lead anywhere.
    pub(crate) fn allows_outward_links(&self) -> bool {
        self.grant.options.outward_links
    }
}

/// The name of a file type that guests cannot open, for messages.
pub(crate) fn special_file(kind: u32) -> &'static str {
    match kind {
        mode::CHARACTER_DEVICE | mode::BLOCK_DEVICE => "device",
        mode::FIFO => "FIFO",
        mode::SOCKET => "socket",
        _ => "special file",
    }
}

/// The result of resolving a path.
#[derive(Clone, Debug)]
pub(crate) enum Node {
    /// Something in a granted directory, which need not exist.
    Host(HostName),
    /// Something in the guest's private tree, which need not exist.
    Memory(MemoryName),
    /// Something in a file system of the host, which need not exist.
    Virtual(VirtualName),
    /// Something of the guest's own; its directories are those above granted ones, too.
    Own(Own),
}

/// A path's end.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    pub(crate) path: GuestPath,
    pub(crate) node: Node,
    /// The path, or the target of a link that it ended in, ended in a slash or dots: only a directory will do.
    pub(crate) must_be_directory: bool,
    /// The path ended in `.` or `..`: there is no name to take away.
    pub(crate) ends_in_dots: bool,
}

impl Found {
    /// The name in a granted directory, to be changed; `EACCES` elsewhere.
    pub(crate) fn host(self) -> Result<HostName, Stop> {
        match self.node {
            Node::Host(name) => Ok(name),
            Node::Memory(_) | Node::Virtual(_) | Node::Own(_) => Err(Errno::ACCESS.into()),
        }
    }
}

/// Why a walk stopped.
enum Step {
    /// The host's, if it has it.
    Directory(Option<HostDir>),
    Link(Vec<u8>),
    Other,
}

/// An open directory of a walk: where the walk's first `depth` components lead.
struct Opened {
    depth: usize,
    dir: HostDir,
}

/// The guest's tree of names.
#[derive(Default)]
pub(crate) struct Names {
    grants: Vec<Granted>,
    /// The granted directories that may only be read, whatever name leads to them.
    read_only: Arc<Vec<Identity>>,
    /// The files that the host gives as bytes.
    given: Given,
    /// The files that the guest makes where no directory is granted.
    pub(crate) tree: Tree,
    /// Whether the root is granted for reading and its `/tmp` is empty, or the host has none in it.
    root_lacks_tmp: bool,
    /// The current directory.
    pub(crate) current: GuestPath,
}

impl fmt::Debug for Names {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(&self.grants).finish()
    }
}

impl Names {
    /// Adds a granted directory; `false` if the name is taken.
    pub(crate) fn grant(&mut self, at: GuestPath, dir: Dir, options: DirOptions) -> Result<bool, Errno> {
        let free = self.is_free(&at);
        if free {
            let place = Place::of(&dir)?;
            if options.access == DirAccess::ReadOnly {
                Arc::make_mut(&mut self.read_only).push(place.identity);
                self.root_lacks_tmp |= at.0.is_empty() && lacks_tmp(&dir);
            }
            let grant = Grant { at, dir: Arc::new(dir), place, options };
            self.grants.push(Granted::Directory(Arc::new(grant)));
        }
        Ok(free)
    }

    /// Adds a file system of the host; `false` if the name is taken.
    pub(crate) fn mount(&mut self, at: GuestPath, file_system: Arc<dyn FileSystem>) -> bool {
        let free = self.is_free(&at);
        if free {
            let lacks_tmp = |error: std::io::Error| error.kind() == ErrorKind::NotFound;
            self.root_lacks_tmp |= at.0.is_empty() && file_system.status(Path::new(TMP)).is_err_and(lacks_tmp);
            let device = FIRST_DEVICE + self.grants.len() as u64;
            self.grants.push(Granted::FileSystem(Arc::new(VirtualMount::new(at, file_system, device))));
        }
        free
    }

    /// Whether nothing else is granted or given by this name.
    fn is_free(&self, at: &GuestPath) -> bool {
        self.grants.iter().all(|grant| grant.at() != at) && self.given.get(at).is_none()
    }

    /// Adds a file with these contents; `false` if the name is taken.
    pub(crate) fn give(&mut self, path: GuestPath, bytes: Arc<[u8]>) -> bool {
        self.grants.iter().all(|grant| !grant.at().is_within(&path)) && self.given.add(path, bytes)
    }

    /// Follows `path`, from `base` unless it is absolute; the last name only where `follow`.
    pub(crate) fn resolve(
        &self,
        base: &GuestPath,
        path: &[u8],
        follow: bool,
        patience: Patience<'_>,
    ) -> Result<Found, Stop> {
        self.walk(base, path, follow, false, patience)
    }

    /// The same for a file that is made if it is not there: `EISDIR` if a slash is behind its name, also where that is the
    /// target of a link.
    pub(crate) fn resolve_new_file(
        &self,
        base: &GuestPath,
        path: &[u8],
        follow: bool,
        patience: Patience<'_>,
    ) -> Result<Found, Stop> {
        self.walk(base, path, follow, true, patience)
    }

    fn walk(
        &self,
        base: &GuestPath,
        path: &[u8],
        follow: bool,
        makes_file: bool,
        patience: Patience<'_>,
    ) -> Result<Found, Stop> {
        if path.is_empty() {
            return Err(Errno::NOENT.into());
        }
        let mut must_be_directory = is_directory_name(path);
        let ends_in_dots =
            matches!(path.rsplit(|&byte| byte == b'/').find(|name| !name.is_empty()), Some(b"." | b".."));
        let mut at = base.clone();
        let mut ahead = Vec::new();
        push_components(&mut at, &mut ahead, path);
        let (mut steps, mut links) = (0, 0);
        let mut opened: Option<Opened> = None;
        while let Some(name) = ahead.pop() {
            steps += 1;
            patience.check()?;
            match name.as_bytes() {
                b"." => continue,
                b".." => {
                    at.0.pop();
                    opened = None;
                    continue;
                }
                _ if steps > MAX_STEPS || at.0.len() >= MAX_DEPTH || name.len() > NAME_MAX => {
                    return Err(Errno::NAMETOOLONG.into());
                }
                _ => at.0.push(name),
            }
            let last = ahead.is_empty();
            // The name is none of dots, so that there is a slash behind it.
            if last && makes_file && must_be_directory {
                return Err(Errno::ISDIR.into());
            }
            if last && !follow && !must_be_directory {
                break;
            }
            let node = self.node(&at, opened.as_ref())?;
            match step(&node) {
                Ok(Step::Other) if !last || must_be_directory => return Err(Errno::NOTDIR.into()),
                Ok(Step::Directory(dir)) if !last => {
                    opened = dir.map(|dir| Opened { depth: at.0.len(), dir });
                }
                Ok(Step::Directory(_) | Step::Other) => {
                    return Ok(Found { node, path: at, must_be_directory, ends_in_dots });
                }
                Ok(Step::Link(_)) if links == MAX_LINKS => return Err(Errno::LOOP.into()),
                Ok(Step::Link(target)) => {
                    links += 1;
                    must_be_directory |= last && is_directory_name(&target);
                    at.0.pop();
                    if target.first() == Some(&b'/') {
                        opened = None;
                    }
                    push_components(&mut at, &mut ahead, &target);
                }
                // What is to be created does not exist yet.
                Err(Stop::Errno(Errno::NOENT)) if last => {}
                Err(stop) => return Err(stop),
            }
        }
        Ok(Found { node: self.node(&at, opened.as_ref())?, path: at, must_be_directory, ends_in_dots })
    }

    /// What a path without links stands for. `opened` may be the directory that the path's last name is in.
    fn node(&self, path: &GuestPath, opened: Option<&Opened>) -> Result<Node, Stop> {
        let above = |grant: &&Granted| path.is_within(grant.at());
        let nearest = self.grants.iter().filter(above).max_by_key(|grant| grant.at().0.len());
        let is_own = nearest.is_none_or(|grant| grant.at().0.is_empty());
        let built_in = || own::built_in(path, &self.current).filter(|_| is_own);
        if let Some(own) = self.given.get(path).or_else(built_in) {
            return Ok(Node::Own(own));
        }
        let leads_to_grant = self.holds_grant(path);
        if let Some(root) = self.root_of(path) {
            return match self.tree.name(root, path) {
                Ok(name) if name.look().is_ok() || !leads_to_grant => Ok(Node::Memory(name)),
                Err(stop) if !leads_to_grant => Err(stop),
                _ => Ok(Node::Own(Own::Directory)),
            };
        }
        let grant = match nearest {
            Some(Granted::Directory(grant)) => grant,
            Some(Granted::FileSystem(mount)) => {
                let name = mount.name(path);
                // As below: the way to what is granted within it consists of directories.
                let is_hidden =
                    leads_to_grant && !matches!(name.look(), Ok(status) if status.kind == FileKind::Directory);
                return Ok(if is_hidden { Node::Own(Own::Directory) } else { Node::Virtual(name) });
            }
            None if path.0.is_empty() || leads_to_grant => return Ok(Node::Own(Own::Directory)),
            None => return Err(Errno::NOENT.into()),
        };
        let Some((last, parents)) = path.0[grant.at.0.len()..].split_last() else {
            return Ok(Node::Host(self.name_in(grant, grant.root(), OsString::from("."), path.clone())));
        };
        let parent = match opened {
            Some(opened) if opened.depth + 1 == path.0.len() => Ok(opened.dir.clone()),
            _ => self.open(grant, parents),
        };
        let parent_leads_to_grant = || self.holds_grant(&GuestPath(path.0[..path.0.len() - 1].to_vec()));
        match parent {
            Ok(dir) => {
                let name = self.name_in(grant, dir, last.clone(), path.clone());
                // The way to a granted directory consists of directories, whatever the outer one has there.
                let is_hidden = leads_to_grant && !matches!(name.look(), Ok(seen) if seen.kind == mode::DIRECTORY);
                Ok(if is_hidden { Node::Own(Own::Directory) } else { Node::Host(name) })
            }
            Err(_) if leads_to_grant => Ok(Node::Own(Own::Directory)),
            // A directory that the outer one lacks has the way to the granted one in it, and what is yet to be made.
            Err(Stop::Errno(Errno::NOENT)) if parent_leads_to_grant() => {
                let (dir, missing) = self.open_some(grant, parents)?;
                let name = self.name_in(grant, dir, last.clone(), path.clone());
                Ok(Node::Host(HostName { missing: missing.to_vec(), ..name }))
            }
            // Where it has something else, there is the way, and nothing else.
            Err(Stop::Errno(_)) if parent_leads_to_grant() => Err(Errno::NOENT.into()),
            Err(stop) => Err(stop),
        }
    }

    /// Which root of the private tree a path lies within, where no granted directory is in its place.
    fn root_of(&self, path: &GuestPath) -> Option<usize> {
        let root = self.tree.root_of(path)?;
        let mut above = self.grants.iter().filter(|grant| path.is_within(grant.at()));
        // As all of `/dev`, the second is there in a granted root, too.
        let is_over_root = |grant: &Granted| grant.at().0.is_empty() && (root == 1 || self.root_lacks_tmp);
        above.all(is_over_root).then_some(root)
    }

    fn name_in(&self, grant: &Arc<Grant>, dir: HostDir, name: OsString, path: GuestPath) -> HostName {
        let HostDir { dir, access } = dir;
        let missing = Vec::new();
        HostName { dir, name, access, path, grant: grant.clone(), read_only: self.read_only.clone(), missing }
    }

    /// The last of the host's directories that is there, and the names behind it.
    fn open_some<'a>(&self, grant: &Arc<Grant>, names: &'a [OsString]) -> Result<(HostDir, &'a [OsString]), Stop> {
        for there in (0..names.len()).rev() {
            match self.open(grant, &names[..there]) {
                Err(Stop::Errno(Errno::NOENT)) => {}
                dir => return Ok((dir?, &names[there..])),
            }
        }
        Err(Errno::NOENT.into())
    }

    /// The host's directory that these names lead to, from a granted one.
    fn open(&self, grant: &Arc<Grant>, names: &[OsString]) -> Result<HostDir, Stop> {
        let mut dir = grant.root();
        if names.is_empty() {
            return Ok(dir);
        }
        // All at once, unless one of them may be a directory that is granted for reading.
        if dir.access == DirAccess::ReadOnly || self.read_only.is_empty() {
            let path: PathBuf = names.iter().collect();
            let resolve =
                ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS | ResolveFlags::NO_XDEV;
            if let Ok(fd) = openat2(&dir.dir, path, LOOK | OFlags::DIRECTORY, Mode::empty(), resolve) {
                return Ok(HostDir { dir: Arc::new(fd.into()), ..dir });
            }
        }
        // One by one: what fails is named, other mounts are looked at, and old kernels cannot do it at once.
        let mut at = grant.at.clone();
        for name in names {
            at.0.push(name.clone());
            let seen = self.name_in(grant, dir, name.clone(), at.clone()).look()?;
            if seen.kind != mode::DIRECTORY {
                return Err(Errno::NOTDIR.into());
            }
            dir = HostDir { dir: Arc::new(seen.fd.into()), access: seen.access };
        }
        Ok(dir)
    }

    /// Whether a granted directory, or a file that the host gives, has this path or lies below it: such a path stays what
    /// it is, as mount points do.
    pub(crate) fn holds_grant(&self, path: &GuestPath) -> bool {
        self.grants.iter().any(|grant| grant.at().is_within(path)) || self.given.holds(path)
    }

    /// What has this path in the private tree.
    pub(crate) fn private(&self, path: &GuestPath) -> Option<Arc<Inode>> {
        let name = self.tree.name(self.root_of(path)?, path).ok()?;
        name.look().ok().cloned()
    }

    /// The names in a directory that are there whatever the host has: those of granted directories and given files, of
    /// the directories on the way to them, and of what is built in.
    pub(crate) fn children(&self, path: &GuestPath) -> BTreeSet<OsString> {
        let below = self.grants.iter().filter(|grant| grant.at().is_within(path));
        let mut names: BTreeSet<OsString> = below.filter_map(|grant| grant.at().0.get(path.0.len())).cloned().collect();
        names.extend(self.given.children(path));
        names.extend(own::built_in_children(path));
        let roots = self.tree.root_names(path);
        names
            .extend(roots.filter(|(root, _)| self.root_of(self.tree.path(*root)) == Some(*root)).map(|(_, name)| name));
        names
    }
}

/// Whether a directory has no `/tmp`, or an empty one, as a system's packages have.
fn lacks_tmp(root: &Dir) -> bool {
    match root.symlink_metadata(TMP) {
        Err(error) => error.kind() == ErrorKind::NotFound,
        Ok(tmp) => tmp.is_dir() && root.read_dir(TMP).is_ok_and(|mut entries| entries.next().is_none()),
    }
}

/// The next component of a walk.
fn step(node: &Node) -> Result<Step, Stop> {
    let host = match node {
        Node::Own(Own::Directory) => return Ok(Step::Directory(None)),
        Node::Own(Own::Link(target)) => return Ok(Step::Link(target.clone())),
        Node::Own(_) => return Ok(Step::Other),
        Node::Memory(name) => {
            let inode = name.look()?;
            return Ok(match inode.target() {
                Some(target) => Step::Link(target),
                None if inode.kind() == mode::DIRECTORY => Step::Directory(None),
                None => Step::Other,
            });
        }
        Node::Virtual(name) => {
            return Ok(match name.look()?.kind {
                FileKind::Link => Step::Link(name.target()?),
                FileKind::Directory => Step::Directory(None),
                FileKind::File => Step::Other,
            });
        }
        Node::Host(host) => host,
    };
    let seen = host.look()?;
    Ok(match seen.kind {
        mode::DIRECTORY => Step::Directory(Some(HostDir { dir: Arc::new(seen.fd.into()), access: seen.access })),
        mode::SYMLINK => Step::Link(readlinkat(&seen.fd, c"", Vec::new())?.into_bytes()),
        _ => Step::Other,
    })
}

/// Whether a path, or a link's target, ends in a slash or dots, and so in a directory.
fn is_directory_name(path: &[u8]) -> bool {
    matches!(path.rsplit(|&byte| byte == b'/').next(), Some(b"" | b"." | b".."))
}

/// Puts a path's components onto the stack of those still to be walked.
fn push_components(at: &mut GuestPath, ahead: &mut Vec<OsString>, path: &[u8]) {
    if path.first() == Some(&b'/') {
        at.0.clear();
    }
    let names = path.rsplit(|&byte| byte == b'/').filter(|name| !name.is_empty());
    ahead.extend(names.map(|name| OsStr::from_bytes(name).to_owned()));
}
