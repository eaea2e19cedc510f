//! The guest's private `/tmp` and `/dev/shm`: a tree of files in the host's memory, which no other program sees.
//!
//! Path resolution ([`crate::paths`]) leads here; this file says what is there, and makes, moves and removes names. Its
//! [`Space`] bounds what all of it takes.

use std::ffi::{OsStr, OsString};
use std::sync::Arc;

use rustix::io::Errno;

use crate::abi::{Timespec, mode};
use crate::call::{Patience, Stop};
use crate::guest_path::{GuestPath, MAX_DEPTH};
use crate::inode::{Content, Entries, Inode};
use crate::space::Space;

/// Where the trees are.
const ROOTS: [&str; 2] = ["/tmp", "/dev/shm"];
/// The mode of both: every user may make files there, and remove no others than its own.
const PERMISSIONS: u32 = 0o1777;

#[derive(Debug)]
pub(crate) struct Tree {
    pub(crate) space: Arc<Space>,
    roots: [Root; 2],
}

#[derive(Debug)]
struct Root {
    at: GuestPath,
    inode: Arc<Inode>,
}

impl Default for Tree {
    fn default() -> Tree {
        let space = Arc::new(Space::default());
        let roots = ROOTS.map(|at| Root { at: GuestPath::parse_absolute(at).unwrap_or_default(), inode: root(&space) });
        Tree { space, roots }
    }
}

/// An empty directory that counts for nothing: it is there anyway.
fn root(space: &Arc<Space>) -> Arc<Inode> {
    Inode::root(space, Content::Directory(Entries::default()), PERMISSIONS)
}

/// A name in the tree, with what has it.
#[derive(Clone, Debug)]
pub(crate) struct MemoryName {
    pub(crate) path: GuestPath,
    /// The directory that it is in; `None` for a root.
    parent: Option<Arc<Inode>>,
    name: OsString,
    inode: Option<Arc<Inode>>,
    root: usize,
}

impl Tree {
    /// Bytes that its files may take together.
    pub(crate) fn set_limit(&self, bytes: u64) {
        self.space.set_limit(bytes);
    }

    /// The roots' directories.
    pub(crate) fn roots(&self) -> [&Arc<Inode>; 2] {
        self.roots.each_ref().map(|root| &root.inode)
    }

    /// Another tree with the same limit, and nothing in it.
    pub(crate) fn emptied(&self) -> Tree {
        let tree = Tree::default();
        tree.set_limit(self.space.host_limit());
        tree
    }

    /// Which of the roots a path lies within.
    pub(crate) fn root_of(&self, path: &GuestPath) -> Option<usize> {
        self.roots.iter().position(|root| path.is_within(&root.at))
    }

    /// A directory, to be changed by its owner; the roots are not the guest's.
    pub(crate) fn changeable<'a>(&self, directory: &'a Arc<Inode>) -> Result<&'a Arc<Inode>, Stop> {
        match self.roots().iter().any(|root| Arc::ptr_eq(root, directory)) {
            true => Err(Errno::PERM.into()),
            false => Ok(directory),
        }
    }

    pub(crate) fn path(&self, root: usize) -> &GuestPath {
        &self.roots[root].at
    }

    /// The names of roots in a directory.
    pub(crate) fn root_names(&self, path: &GuestPath) -> impl Iterator<Item = (usize, OsString)> {
        let roots = self.roots.iter().enumerate();
        roots.filter_map(|(n, root)| {
            let (last, parents) = root.at.0.split_last()?;
            (parents == path.names()).then(|| (n, last.clone()))
        })
    }

    /// A path within a root, without links on its way; `ENOENT` or `ENOTDIR` if its directory is not there.
    pub(crate) fn name(&self, root: usize, path: &GuestPath) -> Result<MemoryName, Stop> {
        let Root { at, inode } = &self.roots[root];
        let found = |parent, name: &OsStr, inode| {
            Ok(MemoryName { path: path.clone(), parent, name: name.to_owned(), inode, root })
        };
        let Some((last, parents)) = path.names()[at.names().len()..].split_last() else {
            return found(None, OsStr::new("."), Some(inode.clone()));
        };
        let mut directory = inode.clone();
        for name in parents {
            let next = directory.get(name)?.ok_or(Errno::NOENT)?;
            directory = next;
        }
        let inode = directory.get(last)?;
        found(Some(directory), last, inode)
    }
}

impl MemoryName {
    /// What has the name; `ENOENT` if nothing has.
    pub(crate) fn look(&self) -> Result<&Arc<Inode>, Stop> {
        self.inode.as_ref().ok_or(Errno::NOENT.into())
    }

    /// What has the name, to be changed by its owner, who all are; a root is not the guest's.
    pub(crate) fn changeable(&self) -> Result<&Arc<Inode>, Stop> {
        match self.parent {
            Some(_) => self.look(),
            None => Err(Errno::PERM.into()),
        }
    }

    /// The directory, in which names may be changed; `EBUSY` for a root itself.
    fn parent(&self) -> Result<&Arc<Inode>, Stop> {
        let parent = self.parent.as_ref().ok_or(Errno::BUSY)?;
        parent.check(mode::WRITE | mode::EXECUTE)?;
        Ok(parent)
    }

    /// Gives the name to something new; `EEXIST` if something has it.
    pub(crate) fn make(&self, content: Content, permissions: u32, now: Timespec) -> Result<Arc<Inode>, Stop> {
        if self.inode.is_some() {
            return Err(Errno::EXIST.into());
        }
        let parent = self.parent()?;
        // A directory that has been removed takes no names.
        if parent.lock().links == 0 {
            return Err(Errno::NOENT.into());
        }
        let inode = Inode::new(parent.space(), content, permissions, now)?;
        parent.put(&self.name, &inode, now)?;
        Ok(inode)
    }

    pub(crate) fn make_directory(&self, permissions: u32, now: Timespec) -> Result<(), Stop> {
        self.make(Content::Directory(Entries::default()), permissions, now).map(drop)
    }

    /// Takes the name away from a directory, or from something else.
    pub(crate) fn remove(&self, is_directory: bool, now: Timespec) -> Result<(), Stop> {
        let inode = self.look()?;
        match (inode.kind() == mode::DIRECTORY, is_directory) {
            (true, false) => return Err(Errno::ISDIR.into()),
            (false, true) => return Err(Errno::NOTDIR.into()),
            (true, true) if self.parent.is_some() && inode.holds_entries() => return Err(Errno::NOTEMPTY.into()),
            _ => {}
        }
        self.parent()?.remove(&self.name, now);
        Ok(())
    }

    /// Whether both are names in one file system.
    fn check_same_root(&self, other: &MemoryName) -> Result<(), Stop> {
        match self.root == other.root {
            true => Ok(()),
            false => Err(Errno::XDEV.into()),
        }
    }

    /// Another name for a file; directories have one.
    pub(crate) fn link(&self, new: &MemoryName, now: Timespec) -> Result<(), Stop> {
        let inode = self.look()?;
        self.check_same_root(new)?;
        new.link_to(inode, now)
    }

    /// Gives the name to a file that is there.
    pub(crate) fn link_to(&self, inode: &Arc<Inode>, now: Timespec) -> Result<(), Stop> {
        if self.inode.is_some() {
            return Err(Errno::EXIST.into());
        }
        if inode.kind() == mode::DIRECTORY {
            return Err(Errno::PERM.into());
        }
        self.parent()?.put(&self.name, inode, now)?;
        Ok(())
    }

    /// Moves what has this name to another, which may be that of a file or an empty directory.
    pub(crate) fn rename(&self, new: &MemoryName, now: Timespec, patience: Patience<'_>) -> Result<(), Stop> {
        let inode = self.look()?.clone();
        self.check_same_root(new)?;
        let (from, to) = (self.parent()?, new.parent()?);
        if new.inode.as_ref().is_some_and(|there| Arc::ptr_eq(there, &inode)) {
            return Ok(());
        }
        let is_directory = inode.kind() == mode::DIRECTORY;
        if is_directory {
            self.check_move(new, patience)?;
        }
        if let Some(there) = &new.inode {
            match (is_directory, there.kind() == mode::DIRECTORY) {
                (true, false) => return Err(Errno::NOTDIR.into()),
                (false, true) => return Err(Errno::ISDIR.into()),
                (true, true) if there.holds_entries() => return Err(Errno::NOTEMPTY.into()),
                _ => {}
            }
        }
        if to.lock().links == 0 {
            return Err(Errno::NOENT.into());
        }
        to.put(&new.name, &inode, now)?;
        from.remove(&self.name, now);
        Ok(())
    }

    /// Exchanges what two names stand for.
    pub(crate) fn exchange(&self, other: &MemoryName, now: Timespec, patience: Patience<'_>) -> Result<(), Stop> {
        let (one, two) = (self.look()?.clone(), other.look()?.clone());
        self.check_same_root(other)?;
        let (of_one, of_two) = (self.parent()?, other.parent()?);
        for (from, to, inode) in [(self, other, &one), (other, self, &two)] {
            if inode.kind() == mode::DIRECTORY {
                from.check_move(to, patience)?;
            }
        }
        if !Arc::ptr_eq(&one, &two) {
            of_one.put(&self.name, &two, now)?;
            of_two.put(&other.name, &one, now)?;
        }
        Ok(())
    }

    /// Fails if the directory of this name would lie in itself, or what is in it too deep.
    fn check_move(&self, new: &MemoryName, patience: Patience<'_>) -> Result<(), Stop> {
        if new.path.is_within(&self.path) {
            return Err(Errno::INVAL.into());
        }
        let room = MAX_DEPTH - new.path.names().len().min(MAX_DEPTH);
        match height(self.look()?, patience)? <= room {
            true => Ok(()),
            false => Err(Errno::NAMETOOLONG.into()),
        }
    }
}

/// How many directories lie within each other below this one. Those that hold no directories take no time.
fn height(directory: &Arc<Inode>, patience: Patience<'_>) -> Result<usize, Stop> {
    const STEP: usize = 1000;
    let mut ahead = vec![(directory.clone(), 0)];
    let mut height = 0;
    while let Some((directory, depth)) = ahead.pop() {
        height = height.max(depth);
        // One link each of its name, of `.`, and of `..` in each directory that it holds.
        let mut left = directory.lock().links.saturating_sub(2);
        let mut order = 0;
        while left > 0 {
            patience.check()?;
            let entries = directory.entries_after(order, STEP);
            let Some((_, last)) = entries.last() else { break };
            order = last.order;
            let directories = entries.into_iter().filter(|(_, entry)| entry.inode.kind() == mode::DIRECTORY);
            let found = directories.map(|(_, entry)| (entry.inode, depth + 1)).collect::<Vec<_>>();
            left = left.saturating_sub(found.len() as u32);
            ahead.extend(found);
        }
    }
    Ok(height)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timespec = Timespec { seconds: 1, nanoseconds: 0 };

    fn name(tree: &Tree, text: &str) -> MemoryName {
        let path = GuestPath::parse_absolute(text).unwrap();
        tree.name(tree.root_of(&path).unwrap(), &path).unwrap()
    }

    fn make(tree: &Tree, text: &str) {
        name(tree, text).make_directory(0o700, NOW).unwrap();
    }

    #[test]
    fn directories_move_but_not_into_themselves() {
        let tree = Tree::default();
        ["/tmp/a", "/tmp/a/b", "/tmp/c"].iter().for_each(|path| make(&tree, path));
        let rename = |from, to| name(&tree, from).rename(&name(&tree, to), NOW, Patience::endless());
        assert_eq!(rename("/tmp/a", "/tmp/a/b/x"), Err(Errno::INVAL.into()));
        assert_eq!(rename("/tmp/c", "/tmp/a"), Err(Errno::NOTEMPTY.into()));
        assert_eq!(rename("/tmp/a", "/dev/shm/a"), Err(Errno::XDEV.into()));
        assert_eq!(rename("/tmp/a", "/tmp"), Err(Errno::BUSY.into()));
        assert_eq!(rename("/tmp/a", "/tmp/c"), Ok(()));
        assert_eq!(tree.roots()[0].entries_after(0, 9).len(), 1);
        let exchange = |one, two| name(&tree, one).exchange(&name(&tree, two), NOW, Patience::endless());
        assert_eq!(exchange("/tmp/c", "/tmp/c/b"), Err(Errno::INVAL.into()));
        make(&tree, "/tmp/d");
        assert_eq!(exchange("/tmp/d", "/tmp/c/b"), Ok(()));
        assert_eq!(name(&tree, "/tmp/c").look().unwrap().lock().links, 3);
        assert_eq!(name(&tree, "/tmp/c").remove(true, NOW), Err(Errno::NOTEMPTY.into()));
        assert_eq!(name(&tree, "/tmp/d").remove(false, NOW), Err(Errno::ISDIR.into()));
    }

    /// Each move is one of few names, and a directory of any depth would end in a stack overflow when it is dropped.
    #[test]
    fn moves_make_nothing_deeper_than_paths_are() {
        let tree = Tree::default();
        let (mut path, mut deepest) = ("/tmp/a".to_owned(), String::new());
        make(&tree, &path);
        for _ in 0..150 {
            path.push_str("/d");
            make(&tree, &path);
        }
        make(&tree, "/tmp/b");
        let mut other = "/tmp/b".to_owned();
        for _ in 0..150 {
            other.push_str("/d");
            make(&tree, &other);
            deepest.clone_from(&other);
        }
        let rename = |to: &str| name(&tree, "/tmp/a").rename(&name(&tree, to), NOW, Patience::endless());
        assert_eq!(rename(&format!("{deepest}/a")), Err(Errno::NAMETOOLONG.into()));
        assert_eq!(rename(&format!("/tmp/b{}/a", "/d".repeat(100))), Ok(()));
    }

    /// Moving a directory looks at no more than it must, and may be interrupted where that is much.
    #[test]
    fn moves_of_large_directories_take_little_time() {
        static ALWAYS: std::sync::atomic::AtomicBool = std::sync::atomic::AtomicBool::new(true);
        let late = Patience { interrupted: &ALWAYS, ..Patience::endless() };
        let tree = Tree::default();
        make(&tree, "/tmp/a");
        name(&tree, "/tmp/a/file").make(Content::Link(b"x".to_vec()), 0o777, NOW).unwrap();
        for n in 0..5000 {
            name(&tree, "/tmp/a/file").link(&name(&tree, &format!("/tmp/a/{n}")), NOW).unwrap();
        }
        let rename = |from, to, patience| name(&tree, from).rename(&name(&tree, to), NOW, patience);
        assert_eq!(rename("/tmp/a", "/tmp/b", late), Ok(()));
        make(&tree, "/tmp/b/last");
        assert_eq!(rename("/tmp/b", "/tmp/c", late), Err(Stop::Interrupted));
        assert_eq!(rename("/tmp/b", "/tmp/c", Patience::endless()), Ok(()));
        let deep = format!("/tmp/{}", "d/".repeat(254));
        (1..=254).for_each(|depth| make(&tree, &deep[..4 + 2 * depth]));
        assert_eq!(rename("/tmp/c", &format!("{deep}c"), Patience::endless()), Err(Errno::NAMETOOLONG.into()));
    }

    #[test]
    fn all_that_was_taken_is_given_back() {
        let tree = Tree::default();
        let before = tree.space.used();
        ["/tmp/a", "/tmp/a/b", "/tmp/c"].iter().for_each(|path| make(&tree, path));
        name(&tree, "/tmp/a").link(&name(&tree, "/tmp/x"), NOW).unwrap_err();
        name(&tree, "/tmp/c").rename(&name(&tree, "/tmp/a/c"), NOW, Patience::endless()).unwrap();
        ["/tmp/a/b", "/tmp/a/c", "/tmp/a"].iter().for_each(|path| name(&tree, path).remove(true, NOW).unwrap());
        assert_eq!(tree.space.used(), before);
        tree.set_limit(1000);
        let made = (0..).take_while(|n| name(&tree, &format!("/tmp/{n}")).make_directory(0o700, NOW).is_ok()).count();
        assert_eq!(made, 1);
    }
}
