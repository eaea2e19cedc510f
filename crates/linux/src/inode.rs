//! Files, directories and links that are in the host's memory: those that guests make ([`crate::tree`]), those that a host
//! gives as bytes, and those of `/proc`.
//!
//! What an inode takes is counted in its [`Space`], and given back with it. Directories hold what is in them, so that
//! one which has no name goes with the last file that has it open.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry as Slot;
use std::ffi::{OsStr, OsString};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::fs::Mode;
use rustix::io::Errno;

use crate::abi::{Timespec, mode};
use crate::call::Stop;
use crate::fifo::Fifo;
use crate::pages::Pages;
use crate::pipes;
use crate::private_locks::PrivateLocks;
use crate::space::Space;

/// What an inode takes beside its contents, and an entry beside its name.
const INODE: u64 = 512;
const ENTRY: u64 = 192;

/// What may no longer be done to a file: see fcntl(2).
pub(crate) mod seal {
    /// Adding seals.
    pub(crate) const SEAL: u32 = 1;
    pub(crate) const SHRINK: u32 = 2;
    pub(crate) const GROW: u32 = 4;
    pub(crate) const WRITE: u32 = 8;
    /// Writing but by mappings that are there.
    pub(crate) const FUTURE_WRITE: u32 = 0x10;
    pub(crate) const ALL: u32 = SEAL | SHRINK | GROW | WRITE | FUTURE_WRITE;
}

#[derive(Debug)]
pub(crate) struct Inode {
    /// No other file of the tree has it; 1 outside of the tree.
    pub(crate) number: u64,
    space: Arc<Space>,
    state: Mutex<State>,
}

#[derive(Debug)]
pub(crate) struct State {
    /// Mode without the type.
    pub(crate) permissions: u32,
    /// Names that it has.
    pub(crate) links: u32,
    pub(crate) seals: u32,
    pub(crate) accessed: Timespec,
    pub(crate) modified: Timespec,
    pub(crate) changed: Timespec,
    pub(crate) content: Content,
    pub(crate) flocks: PrivateLocks,
    /// Those of `F_OFD_SETLK`.
    pub(crate) range_locks: PrivateLocks,
    /// Bytes that are counted for it, without its pages.
    counted: u64,
}

#[derive(Debug)]
pub(crate) enum Content {
    /// A file that cannot be changed.
    Given(Arc<[u8]>),
    File(Pages),
    Directory(Entries),
    /// A symbolic link.
    Link(Vec<u8>),
    Fifo(Fifo),
    /// The name of a local socket, which has this inode while it is open.
    Socket,
}

impl Content {
    /// The type bits of its mode.
    pub(crate) fn kind(&self) -> u32 {
        match self {
            Content::Given(_) | Content::File(_) => mode::REGULAR,
            Content::Directory(_) => mode::DIRECTORY,
            Content::Link(_) => mode::SYMLINK,
            Content::Fifo(_) => mode::FIFO,
            Content::Socket => mode::SOCKET,
        }
    }
}

/// What is in a directory. Entries are read in the order in which they were made.
#[derive(Debug, Default)]
pub(crate) struct Entries {
    names: BTreeMap<OsString, Entry>,
    /// The same names, by the order of their entries.
    orders: BTreeMap<u64, OsString>,
    last: u64,
}

#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) inode: Arc<Inode>,
    /// Entries that were made before it, and itself.
    pub(crate) order: u64,
}

/// What an entry takes: its name is there twice.
fn entry_size(name: &OsStr) -> u64 {
    ENTRY + 2 * name.len() as u64
}

impl Drop for Inode {
    fn drop(&mut self) {
        self.space.release(self.lock().counted);
    }
}

impl Inode {
    /// The number of all outside of the tree.
    pub(crate) const GIVEN: u64 = 1;

    /// A file, directory or link that has no name yet; `ENOSPC` without room.
    pub(crate) fn new(
        space: &Arc<Space>,
        content: Content,
        permissions: u32,
        now: Timespec,
    ) -> Result<Arc<Inode>, Stop> {
        Inode::numbered(space, content, permissions, now, None)
    }

    /// One with this number, or the next.
    pub(crate) fn numbered(
        space: &Arc<Space>,
        content: Content,
        permissions: u32,
        now: Timespec,
        number: Option<u64>,
    ) -> Result<Arc<Inode>, Stop> {
        let counted = match &content {
            Content::Link(target) => INODE + target.len() as u64,
            // As much as it may come to hold.
            Content::Fifo(_) => INODE + pipes::CAPACITY as u64,
            _ => INODE,
        };
        space.reserve(counted)?;
        let number = number.unwrap_or_else(|| space.next_number());
        let state = State { permissions, accessed: now, modified: now, changed: now, counted, ..State::of(content) };
        let inode = Arc::new(Inode { number, space: space.clone(), state: Mutex::new(state) });
        if let Content::Fifo(fifo) = &inode.lock().content {
            let owner: Arc<pipes::Owner> = inode.clone();
            fifo.pipe().set_fifo(Arc::downgrade(&owner));
        }
        Ok(inode)
    }

    /// The FIFO that a pipe belongs to.
    pub(crate) fn of_pipe(pipe: &pipes::Pipe) -> Option<Arc<Inode>> {
        pipe.fifo()?.downcast().ok()
    }

    /// A directory that is always there, and counts for nothing.
    pub(crate) fn root(space: &Arc<Space>, content: Content, permissions: u32) -> Arc<Inode> {
        let state = State { permissions, links: 2, ..State::of(content) };
        Arc::new(Inode { number: space.next_number(), space: space.clone(), state: Mutex::new(state) })
    }

    /// A file with these bytes, which cannot be changed and counts for nothing.
    pub(crate) fn given(bytes: Arc<[u8]>) -> Arc<Inode> {
        let state = State { permissions: 0o444, links: 1, ..State::of(Content::Given(bytes)) };
        Arc::new(Inode { number: Inode::GIVEN, space: Arc::default(), state: Mutex::new(state) })
    }

    /// One with these bytes, which are counted as a private file's; `ENOMEM` without room.
    pub(crate) fn generated(space: &Arc<Space>, bytes: Vec<u8>) -> Result<Arc<Inode>, Stop> {
        let counted = INODE + bytes.len() as u64;
        space.reserve(counted).map_err(|_| Errno::NOMEM)?;
        let state = State { permissions: 0o444, links: 1, counted, ..State::of(Content::Given(bytes.into())) };
        Ok(Arc::new(Inode { number: Inode::GIVEN, space: space.clone(), state: Mutex::new(state) }))
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn space(&self) -> &Arc<Space> {
        &self.space
    }

    /// The type bits of its mode.
    pub(crate) fn kind(&self) -> u32 {
        self.lock().content.kind()
    }

    /// `EACCES` unless its owner may do all that these bits of a mode say (4 to read, 2 to write, 1 to execute).
    pub(crate) fn check(&self, wanted: u32) -> Result<(), Stop> {
        match self.lock().permissions >> 6 & wanted == wanted {
            true => Ok(()),
            false => Err(Errno::ACCESS.into()),
        }
    }

    /// It has been changed.
    pub(crate) fn touch(&self, now: Timespec) {
        let mut state = self.lock();
        (state.modified, state.changed) = (now, now);
    }

    pub(crate) fn set_permissions(&self, mode: Mode, now: Timespec) {
        let mut state = self.lock();
        (state.permissions, state.changed) = (mode.as_raw_mode(), now);
    }

    /// What a link leads to.
    pub(crate) fn target(&self) -> Option<Vec<u8>> {
        match &self.lock().content {
            Content::Link(target) => Some(target.clone()),
            _ => None,
        }
    }

    /// A thread no longer waits for an end of it, if it is a FIFO.
    pub(crate) fn forget(&self, thread: u32) {
        if let Content::Fifo(fifo) = &mut self.lock().content {
            fifo.forget(thread);
        }
    }

    /// What has this name in the directory; `ENOTDIR` if it is none.
    pub(crate) fn get(&self, name: &OsStr) -> Result<Option<Arc<Inode>>, Stop> {
        match &self.lock().content {
            Content::Directory(entries) => Ok(entries.names.get(name).map(|entry| entry.inode.clone())),
            _ => Err(Errno::NOTDIR.into()),
        }
    }

    /// The next entries of a directory, at most so many, that were made after the one of this order.
    pub(crate) fn entries_after(&self, order: u64, count: usize) -> Vec<(OsString, Entry)> {
        let state = self.lock();
        let Content::Directory(entries) = &state.content else { return Vec::new() };
        let later = entries.orders.range(order.saturating_add(1)..).take(count);
        later.filter_map(|(_, name)| Some((name.clone(), entries.names.get(name)?.clone()))).collect()
    }

    /// Whether it is a directory with something in it.
    pub(crate) fn holds_entries(&self) -> bool {
        matches!(&self.lock().content, Content::Directory(entries) if !entries.names.is_empty())
    }

    /// All entries of a directory, and how many have been made in it.
    pub(crate) fn entries(&self) -> (Vec<(OsString, Entry)>, u64) {
        (self.entries_after(0, usize::MAX), self.entries_last())
    }

    /// The order of the last entry of a directory.
    pub(crate) fn entries_last(&self) -> u64 {
        match &self.lock().content {
            Content::Directory(entries) => entries.last,
            _ => 0,
        }
    }

    /// Later entries of a directory come behind the one of this order.
    pub(crate) fn set_last(&self, last: u64) {
        if let Content::Directory(entries) = &mut self.lock().content {
            entries.last = last;
        }
    }

    /// Gives something a name in this directory, which may replace another; what it replaces.
    pub(crate) fn put(&self, name: &OsStr, inode: &Arc<Inode>, now: Timespec) -> Result<Option<Arc<Inode>>, Stop> {
        self.put_at(name, inode, now, None)
    }

    /// The same, as the entry of this order, or as the last one.
    pub(crate) fn put_at(
        &self,
        name: &OsStr,
        inode: &Arc<Inode>,
        now: Timespec,
        order: Option<u64>,
    ) -> Result<Option<Arc<Inode>>, Stop> {
        let mut state = self.lock();
        let State { content: Content::Directory(entries), counted, .. } = &mut *state else {
            return Err(Errno::NOTDIR.into());
        };
        let is_directory = inode.kind() == mode::DIRECTORY;
        let Entries { names, orders, last } = entries;
        let order = order.unwrap_or(*last + 1);
        let new = Entry { inode: inode.clone(), order };
        let old = match names.entry(name.to_owned()) {
            Slot::Occupied(mut slot) => {
                orders.remove(&slot.get().order);
                Some(slot.insert(new))
            }
            Slot::Vacant(slot) => {
                let bytes = entry_size(name);
                self.space.reserve(bytes)?;
                slot.insert(new);
                *counted += bytes;
                None
            }
        };
        orders.insert(order, name.to_owned());
        *last = order.max(*last);
        state.links += u32::from(is_directory);
        (state.modified, state.changed) = (now, now);
        if let Some(Entry { inode: old, .. }) = &old {
            state.links -= u32::from(old.kind() == mode::DIRECTORY);
        }
        drop(state);
        inode.linked(now);
        if let Some(Entry { inode: old, .. }) = &old {
            old.unlinked(now);
        }
        Ok(old.map(|entry| entry.inode))
    }

    /// Takes a name away; what had it.
    pub(crate) fn remove(&self, name: &OsStr, now: Timespec) -> Option<Arc<Inode>> {
        let mut state = self.lock();
        let State { content: Content::Directory(entries), .. } = &mut *state else { return None };
        let Entry { inode: old, order } = entries.names.remove(name)?;
        entries.orders.remove(&order);
        let bytes = entry_size(name);
        self.space.release(bytes);
        state.counted -= bytes;
        state.links -= u32::from(old.kind() == mode::DIRECTORY);
        (state.modified, state.changed) = (now, now);
        drop(state);
        old.unlinked(now);
        Some(old)
    }

    /// It has got a name. A directory has one more, which is `.` in it.
    fn linked(&self, now: Timespec) {
        let mut state = self.lock();
        state.links += 1 + u32::from(state.content.kind() == mode::DIRECTORY && state.links == 0);
        state.changed = now;
    }

    fn unlinked(&self, now: Timespec) {
        let mut state = self.lock();
        let is_last = state.content.kind() == mode::DIRECTORY && state.links == 2;
        state.links -= 1 + u32::from(is_last);
        state.changed = now;
    }
}

impl State {
    fn of(content: Content) -> State {
        let none = Timespec::default();
        State {
            permissions: 0,
            links: 0,
            seals: seal::SEAL,
            accessed: none,
            modified: none,
            changed: none,
            content,
            flocks: PrivateLocks::default(),
            range_locks: PrivateLocks::default(),
            counted: 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_made_is_counted_until_it_is_gone() {
        let space = Arc::new(Space::default());
        let now = Timespec { seconds: 5, nanoseconds: 0 };
        let make = |content| Inode::new(&space, content, 0o700, now).unwrap();
        let directory = || Content::Directory(Entries::default());
        let root = make(directory());
        root.linked(now);
        let alone = space.used();
        let below = make(directory());
        let file = make(Content::Link(b"target".to_vec()));
        root.put("below".as_ref(), &below, now).unwrap();
        below.put("a".as_ref(), &file, now).unwrap();
        below.put("b".as_ref(), &file, now).unwrap();
        assert_eq!([&root, &below, &file].map(|inode| inode.lock().links), [3, 2, 2]);
        assert_eq!(below.entries_after(1, 9).len(), 1);
        assert!(below.remove("c".as_ref(), now).is_none() && below.remove("a".as_ref(), now).is_some());
        assert_eq!(file.lock().links, 1);
        root.remove("below".as_ref(), now);
        assert_eq!((root.lock().links, below.lock().links), (2, 0));
        drop((below, file));
        assert_eq!(space.used(), alone);
        drop(root);
        assert_eq!(space.used(), 0);
    }
}
