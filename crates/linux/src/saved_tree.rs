//! The guest's private tree as a section of a snapshot has it. The bytes are not trusted: what is made of them could
//! have been made by system calls, and takes no more room than those could take.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::abi::{Timespec, mode};
use crate::call::{PATH_MAX, Stop};
use crate::fifo::{Fifo, SavedFifo};
use crate::guest_path::{MAX_DEPTH, NAME_MAX};
use crate::inode::{Content, Inode, seal};
use crate::pages::{Pages, SavedPages};
use crate::pipes::{Pipe, PipeNumbers};
use crate::tree::Tree;

/// Beyond any number that is counted up by guests.
const MAX_COUNT: u64 = i64::MAX as u64 >> 1;

#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct SavedTree {
    /// The roots, then all that is in them, then files without names that are open.
    inodes: Vec<SavedInode>,
    /// The number of the inode made last, which may be gone.
    last_number: u64,
}

#[derive(Debug, Serialize, Deserialize)]
struct SavedInode {
    number: u64,
    permissions: u32,
    seals: u32,
    accessed: Timespec,
    modified: Timespec,
    changed: Timespec,
    content: SavedContent,
}

#[derive(Debug, Serialize, Deserialize)]
enum SavedContent {
    File(SavedPages),
    Link(Vec<u8>),
    Fifo(SavedFifo),
    Socket,
    Directory {
        entries: Vec<SavedEntry>,
        /// Entries that have been made in it.
        last: u64,
    },
}

#[derive(Debug, Serialize, Deserialize)]
struct SavedEntry {
    name: Vec<u8>,
    order: u64,
    /// Which inode: one behind the directory, if it is a directory.
    inode: u32,
}

/// Collects what is to be saved.
pub(crate) struct Saver {
    tree: SavedTree,
    pub(crate) pipes: PipeNumbers,
    numbers: BTreeMap<*const Inode, u32>,
    /// Their entries are to be collected.
    directories: VecDeque<(u32, Arc<Inode>)>,
}

impl Saver {
    pub(crate) fn new(tree: &Tree) -> Saver {
        let mut saver = Saver {
            tree: SavedTree { inodes: Vec::new(), last_number: tree.space.last_number() },
            pipes: PipeNumbers::default(),
            numbers: BTreeMap::new(),
            directories: VecDeque::new(),
        };
        for root in tree.roots() {
            saver.id(root);
        }
        while let Some((id, directory)) = saver.directories.pop_front() {
            let (entries, last) = directory.entries();
            let entries = entries.into_iter().map(|(name, entry)| SavedEntry {
                name: name.as_bytes().to_vec(),
                order: entry.order,
                inode: saver.id(&entry.inode),
            });
            saver.tree.inodes[id as usize].content = SavedContent::Directory { entries: entries.collect(), last };
        }
        saver
    }

    /// The number of an inode among those that are saved.
    pub(crate) fn id(&mut self, inode: &Arc<Inode>) -> u32 {
        if let Some(&id) = self.numbers.get(&Arc::as_ptr(inode)) {
            return id;
        }
        let id = self.tree.inodes.len() as u32;
        self.numbers.insert(Arc::as_ptr(inode), id);
        let state = inode.lock();
        let content = match &state.content {
            Content::File(pages) => SavedContent::File(pages.save()),
            Content::Link(target) => SavedContent::Link(target.clone()),
            Content::Fifo(fifo) => SavedContent::Fifo(fifo.save(|pipe| self.pipes.number(pipe))),
            Content::Socket => SavedContent::Socket,
            Content::Directory(_) | Content::Given(_) => SavedContent::Directory { entries: Vec::new(), last: 0 },
        };
        if state.content.kind() == mode::DIRECTORY {
            self.directories.push_back((id, inode.clone()));
        }
        self.tree.inodes.push(SavedInode {
            number: inode.number,
            permissions: state.permissions,
            seals: state.seals,
            accessed: state.accessed,
            modified: state.modified,
            changed: state.changed,
            content,
        });
        id
    }

    /// The tree, and what is in the pipes that have been numbered.
    pub(crate) fn finish(self) -> (SavedTree, Vec<Vec<u8>>) {
        (self.tree, self.pipes.contents)
    }
}

/// Why a tree cannot be made.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum LoadError {
    /// No guest could have made it.
    Damaged,
    /// It takes more room than there is.
    Full,
}

impl From<Stop> for LoadError {
    fn from(_: Stop) -> LoadError {
        LoadError::Full
    }
}

/// A tree, with its inodes as they are numbered in the saved one.
#[derive(Debug)]
pub(crate) struct Loaded {
    pub(crate) tree: Tree,
    pub(crate) inodes: Vec<Arc<Inode>>,
}

impl SavedTree {
    /// Whether these could be the inodes of a tree: two roots, directories that have one name each and are in one that comes
    /// before them, not too deep.
    fn is_sound(&self) -> bool {
        let roots_are_directories = match &self.inodes[..] {
            [one, two, ..] => [one, two].iter().all(|root| matches!(root.content, SavedContent::Directory { .. })),
            _ => false,
        };
        let mut depths = vec![0; self.inodes.len()];
        let mut named = BTreeSet::from([0, 1]);
        roots_are_directories
            && self.last_number < MAX_COUNT
            && self.inodes.iter().enumerate().all(|(id, inode)| {
                let counts_are_sound = (Inode::GIVEN + 1..=self.last_number).contains(&inode.number);
                counts_are_sound
                    && match &inode.content {
                        SavedContent::File(_) | SavedContent::Fifo(_) | SavedContent::Socket => true,
                        SavedContent::Link(target) => (1..PATH_MAX).contains(&(target.len() as u64)),
                        SavedContent::Directory { entries, last } => {
                            let depth: usize = depths[id] + 1;
                            let mut orders = BTreeSet::new();
                            *last < MAX_COUNT
                                && depth <= MAX_DEPTH
                                && entries.iter().all(|entry| {
                                    let child = self.inodes.get(entry.inode as usize);
                                    let is_directory = matches!(
                                        child,
                                        Some(SavedInode { content: SavedContent::Directory { .. }, .. })
                                    );
                                    if let Some(below) = depths.get_mut(entry.inode as usize) {
                                        *below = depth;
                                    }
                                    child.is_some()
                                        && (1..=*last).contains(&entry.order)
                                        && orders.insert(entry.order)
                                        && is_name(&entry.name)
                                        && (!is_directory || entry.inode as usize > id && named.insert(entry.inode))
                                })
                        }
                    }
            })
    }

    pub(crate) fn fifos(&self) -> usize {
        self.inodes.iter().filter(|inode| matches!(inode.content, SavedContent::Fifo(_))).count()
    }

    /// Makes the tree, with as much room as `like` has. FIFOs whose ends are open have some of these pipes.
    pub(crate) fn load(&self, like: &Tree, pipes: &[Pipe]) -> Result<Loaded, LoadError> {
        if !self.is_sound() {
            return Err(LoadError::Damaged);
        }
        let tree = like.emptied();
        let mut inodes: Vec<Arc<Inode>> = Vec::new();
        for (id, saved) in self.inodes.iter().enumerate() {
            let inode = match tree.roots().get(id) {
                Some(root) => (*root).clone(),
                None => {
                    let content = match &saved.content {
                        SavedContent::File(pages) => {
                            let pages = Pages::from_saved(tree.space.clone(), pages)?;
                            Content::File(pages.ok_or(LoadError::Damaged)?)
                        }
                        SavedContent::Link(target) => Content::Link(target.clone()),
                        SavedContent::Fifo(fifo) => {
                            let pipe = fifo.pipe.map_or(Some(Pipe::default()), |id| pipes.get(id as usize).cloned());
                            Content::Fifo(Fifo::from_saved(fifo, pipe.ok_or(LoadError::Damaged)?))
                        }
                        SavedContent::Socket => Content::Socket,
                        SavedContent::Directory { .. } => Content::Directory(Default::default()),
                    };
                    let permissions = saved.permissions & mode::PERMISSIONS;
                    Inode::numbered(&tree.space, content, permissions, saved.changed, Some(saved.number))?
                }
            };
            inodes.push(inode);
        }
        for (saved, inode) in self.inodes.iter().zip(&inodes) {
            if let SavedContent::Directory { entries, last } = &saved.content {
                for entry in entries {
                    let name = OsStr::from_bytes(&entry.name);
                    if inode.put_at(name, &inodes[entry.inode as usize], saved.changed, Some(entry.order))?.is_some() {
                        return Err(LoadError::Damaged);
                    }
                }
                inode.set_last(*last);
            }
        }
        // Giving names has changed times.
        tree.space.set_last_number(self.last_number);
        for (saved, inode) in self.inodes.iter().zip(&inodes) {
            let mut state = inode.lock();
            state.seals = saved.seals & seal::ALL;
            (state.accessed, state.modified, state.changed) = (saved.accessed, saved.modified, saved.changed);
        }
        Ok(Loaded { tree, inodes })
    }
}

/// Whether a directory can have such a name in it.
fn is_name(name: &[u8]) -> bool {
    (1..=NAME_MAX).contains(&name.len())
        && !matches!(name, b"." | b"..")
        && !name.iter().any(|byte| matches!(byte, 0 | b'/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inode(content: SavedContent) -> SavedInode {
        let time = Timespec::default();
        let times = (time, time, time);
        SavedInode {
            number: 7,
            permissions: 0o700,
            seals: 0,
            accessed: times.0,
            modified: times.1,
            changed: times.2,
            content,
        }
    }

    fn directory(entries: &[(&str, u32)]) -> SavedInode {
        let entry =
            |(n, &(name, inode)): (usize, &(&str, u32))| SavedEntry { name: name.into(), order: n as u64 + 1, inode };
        let last = entries.len() as u64;
        inode(SavedContent::Directory { entries: entries.iter().enumerate().map(entry).collect(), last })
    }

    fn link() -> SavedInode {
        inode(SavedContent::Link(b"x".to_vec()))
    }

    fn load(inodes: Vec<SavedInode>) -> Result<Loaded, LoadError> {
        SavedTree { inodes, last_number: 7 }.load(&Tree::default(), &[])
    }

    #[test]
    fn trees_that_no_guest_can_make_are_refused() {
        let empty = || directory(&[]);
        assert!(load(vec![directory(&[("a", 2), ("b", 3)]), directory(&[("c", 3)]), empty(), link()]).is_ok());
        let named = |name: &str| SavedEntry { name: name.into(), order: 1, inode: 2 };
        let damaged = [
            vec![],
            vec![empty()],
            vec![empty(), link()],
            // In itself, in a later one, of two names, of none.
            vec![directory(&[("a", 0)]), empty()],
            vec![directory(&[("a", 2)]), empty(), directory(&[("a", 2)])],
            vec![directory(&[("a", 2)]), empty(), directory(&[("a", 1)])],
            vec![directory(&[("a", 2), ("b", 2)]), empty(), empty()],
            vec![directory(&[("a", 2)]), empty()],
            // Names.
            vec![directory(&[("a", 2), ("a", 3)]), empty(), link(), link()],
            vec![directory(&[("a/b", 2)]), empty(), link()],
            vec![directory(&[("..", 2)]), empty(), link()],
            vec![directory(&[("", 2)]), empty(), link()],
            vec![empty(), empty(), inode(SavedContent::Fifo(SavedFifo { pipe: Some(0), ..SavedFifo::default() }))],
            // Numbers.
            vec![empty(), empty(), SavedInode { number: 8, ..link() }],
            vec![empty(), empty(), SavedInode { number: u64::MAX, ..link() }],
            vec![empty(), empty(), inode(SavedContent::Directory { entries: vec![], last: u64::MAX })],
            vec![inode(SavedContent::Directory { entries: vec![named("a"), named("b")], last: 1 }), empty(), link()],
            vec![empty(), empty(), inode(SavedContent::Link(vec![b'x'; 5000]))],
        ];
        for (n, inodes) in damaged.into_iter().enumerate() {
            assert_eq!(load(inodes).map(drop), Err(LoadError::Damaged), "{n}");
        }
        let endless = SavedTree { inodes: vec![empty(), empty()], last_number: u64::MAX };
        assert_eq!(endless.load(&Tree::default(), &[]).map(drop), Err(LoadError::Damaged));
        let mut deep: Vec<_> = (3..1000).map(|n| directory(&[("d", n)])).collect();
        deep.insert(1, empty());
        deep.push(empty());
        assert_eq!(load(deep).map(drop), Err(LoadError::Damaged));
    }

    #[test]
    fn trees_have_the_room_of_their_new_guest() {
        let tree = Tree::default();
        tree.set_limit(2200);
        let links = |count: u32| {
            let names: Vec<String> = (0..count).map(|n| n.to_string()).collect();
            let entries: Vec<_> = names.iter().zip(2..).map(|(name, n)| (name.as_str(), n)).collect();
            let inodes = [directory(&entries), directory(&[])].into_iter().chain((0..count).map(|_| link()));
            SavedTree { inodes: inodes.collect(), last_number: 7 }.load(&tree, &[]).map(drop)
        };
        assert_eq!((links(3), links(4)), (Ok(()), Err(LoadError::Full)));
    }
}
