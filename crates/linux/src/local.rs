//! A local socket (`AF_UNIX`), wholly within the guest: never one of the host.
//!
//! Who knows its name finds it among the guest's open files, so that a name is good as long as its socket is open: see
//! [`crate::local_calls`]. Connections that wait to be accepted are the listener's, and go with it.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use crate::abi::mode;
use crate::events::{HUP, READ, READ_HUP, WRITE};
use crate::halves::{Attached, Half, Received};
use crate::inode::Inode;
use crate::local_name::{LocalName, Place};
use crate::pair::{Pair, SavedPair, Style};
use crate::pipes::{MAX_ENDS, Pipe};

/// Connections that may wait for a listener, as Linux has it (`SOMAXCONN`).
const MAX_BACKLOG: u32 = 4096;

#[derive(Debug)]
pub(crate) struct Local {
    pub(crate) style: Style,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    name: Option<LocalName>,
    /// By what others find it; `None` for a socket that has no name, or that of the listener that has accepted it.
    place: Option<Place>,
    role: Role,
}

#[derive(Debug)]
enum Role {
    /// Neither connected nor listening.
    Idle,
    Listens(Queue),
    /// It is connected, or for datagrams.
    Transfers(Pair),
}

/// Connections that wait to be accepted.
#[derive(Debug, Default)]
struct Queue {
    /// How many may wait before the last one.
    backlog: u32,
    waiting: VecDeque<Pair>,
    /// Connections that have come.
    arrived: u64,
    is_shut: bool,
}

/// A socket as a snapshot has it.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct SavedLocal {
    style: Style,
    name: Option<LocalName>,
    place: SavedPlace,
    role: SavedRole,
}

#[derive(Debug, Serialize, Deserialize)]
enum SavedPlace {
    Nowhere,
    Abstract,
    /// Which of the private files has its name.
    File(u32),
}

#[derive(Debug, Serialize, Deserialize)]
enum SavedRole {
    Idle,
    Listens { backlog: u32, waiting: Vec<SavedPair>, is_shut: bool },
    Transfers(SavedPair),
}

impl Drop for Local {
    fn drop(&mut self) {
        if let Role::Listens(queue) = &mut self.lock().role {
            queue.waiting.iter_mut().for_each(Pair::refuse);
        }
    }
}

impl Local {
    fn with(style: Style, name: Option<LocalName>, role: Role) -> Local {
        Local { style, state: Mutex::new(State { name, place: None, role }) }
    }

    pub(crate) fn new(style: Style) -> Local {
        let role = match style {
            Style::Datagrams => Role::Transfers(Pair::alone()),
            Style::Stream | Style::Packets => Role::Idle,
        };
        Local::with(style, None, role)
    }

    /// Two that are connected to each other.
    pub(crate) fn both(style: Style) -> [Local; 2] {
        Pair::both(style).map(|pair| Local::with(style, None, Role::Transfers(pair)))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn name(&self) -> Option<LocalName> {
        self.lock().name.clone()
    }

    /// The name of the other side, which may have none; `ENOTCONN` if it is not connected.
    pub(crate) fn peer(&self) -> Result<Option<LocalName>, Errno> {
        match &self.lock().role {
            Role::Transfers(pair) if pair.is_connected() => Ok(pair.peer().cloned()),
            _ => Err(Errno::NOTCONN),
        }
    }

    /// Whether it is found so.
    pub(crate) fn is_at(&self, place: &Place) -> bool {
        self.lock().place.as_ref() == Some(place)
    }

    pub(crate) fn has_name(&self) -> bool {
        self.lock().name.is_some()
    }

    pub(crate) fn listens(&self) -> bool {
        matches!(self.lock().role, Role::Listens(_))
    }

    pub(crate) fn is_connected(&self) -> bool {
        matches!(&self.lock().role, Role::Transfers(pair) if pair.is_connected())
    }

    /// Ends of pipes that it has.
    pub(crate) fn ends(&self) -> usize {
        self.of_pairs(|pairs| pairs.map(Pair::ends).sum())
    }

    /// The pipes by which something comes to it.
    pub(crate) fn incoming(&self) -> Vec<Pipe> {
        self.of_pairs(|pairs| pairs.map(|pair| pair.incoming().clone()).collect())
    }

    fn of_pairs<T>(&self, of: impl FnOnce(&mut dyn Iterator<Item = &Pair>) -> T) -> T {
        match &self.lock().role {
            Role::Idle => of(&mut std::iter::empty()),
            Role::Listens(queue) => of(&mut queue.waiting.iter()),
            Role::Transfers(pair) => of(&mut std::iter::once(pair)),
        }
    }

    /// Takes a name that no other has; it must have none.
    pub(crate) fn bind(&self, name: LocalName, place: Place) {
        let mut state = self.lock();
        (state.name, state.place) = (Some(name), Some(place));
    }

    pub(crate) fn listen(&self, backlog: i32) -> Result<(), Errno> {
        // A negative number is a large one.
        let backlog = (backlog as u32).min(MAX_BACKLOG);
        let State { name, role, .. } = &mut *self.lock();
        match role {
            _ if self.style == Style::Datagrams => return Err(Errno::OPNOTSUPP),
            _ if name.is_none() => return Err(Errno::INVAL),
            Role::Idle => *role = Role::Listens(Queue { backlog, ..Queue::default() }),
            Role::Listens(queue) => queue.backlog = backlog,
            Role::Transfers(_) => return Err(Errno::INVAL),
        }
        Ok(())
    }

    /// The next connection, and the name of who has made it; `EAGAIN` if there is none.
    pub(crate) fn accept(&self) -> Result<(Local, Option<LocalName>), Errno> {
        let State { name, role, .. } = &mut *self.lock();
        match role {
            _ if self.style == Style::Datagrams => Err(Errno::OPNOTSUPP),
            Role::Idle | Role::Transfers(_) => Err(Errno::INVAL),
            Role::Listens(queue) => {
                let pair = queue.waiting.pop_front().ok_or(Errno::AGAIN)?;
                let peer = pair.peer().cloned();
                Ok((Local::with(self.style, name.clone(), Role::Transfers(pair)), peer))
            }
        }
    }

    /// Whether no connection can come any more than those that wait.
    pub(crate) fn is_shut(&self) -> bool {
        matches!(&self.lock().role, Role::Listens(queue) if queue.is_shut)
    }

    /// Connects to another one, or for datagrams to itself; `EAGAIN` if its queue is full.
    pub(crate) fn connect(&self, other: &Local) -> Result<(), Errno> {
        match self.style {
            Style::Datagrams => self.connect_datagrams(other),
            Style::Stream | Style::Packets => self.connect_to_listener(other),
        }
    }

    fn connect_to_listener(&self, listener: &Local) -> Result<(), Errno> {
        let is_full = match &listener.lock().role {
            Role::Listens(queue) if !queue.is_shut => queue.waiting.len() > queue.backlog as usize,
            _ => return Err(Errno::CONNREFUSED),
        };
        // This one is no listener from here on, so it is another one.
        let own = match &*self.lock() {
            State { role: Role::Idle, name, .. } => name.clone(),
            State { role: Role::Transfers(_), .. } => return Err(Errno::ISCONN),
            State { role: Role::Listens(_), .. } => return Err(Errno::INVAL),
        };
        if is_full {
            return Err(Errno::AGAIN);
        }
        let [here, there] = Pair::both(self.style);
        self.lock().role = Role::Transfers(here.with_peer(listener.name()));
        if let Role::Listens(queue) = &mut listener.lock().role {
            queue.arrived = queue.arrived.wrapping_add(1);
            queue.waiting.push_back(there.with_peer(own));
        }
        Ok(())
    }

    fn connect_datagrams(&self, other: &Local) -> Result<(), Errno> {
        let (to, name) = (other.takes_datagrams()?, other.name());
        if let Role::Transfers(pair) = &mut self.lock().role {
            if !to.takes_from(pair.incoming()) {
                return Err(Errno::PERM);
            }
            pair.redirect(Some((&to, name)));
        }
        Ok(())
    }

    /// Takes back what datagrams are connected to.
    pub(crate) fn disconnect(&self) {
        if let Role::Transfers(pair) = &mut self.lock().role {
            pair.redirect(None);
        }
    }

    /// What it reads, if it is for datagrams.
    pub(crate) fn takes_datagrams(&self) -> Result<Pipe, Errno> {
        match &self.lock().role {
            Role::Transfers(pair) => Ok(pair.incoming().clone()),
            Role::Idle | Role::Listens(_) => Err(Errno::CONNREFUSED),
        }
    }

    pub(crate) fn activity(&self) -> u64 {
        match &self.lock().role {
            Role::Idle => 0,
            Role::Listens(queue) => queue.arrived,
            Role::Transfers(pair) => pair.activity(),
        }
    }

    /// Bytes that can be read: of the next message, if it has messages. `EINVAL` if it listens.
    pub(crate) fn available(&self) -> Result<usize, Errno> {
        match &self.lock().role {
            Role::Idle => Ok(0),
            Role::Listens(_) => Err(Errno::INVAL),
            Role::Transfers(pair) => Ok(pair.available()),
        }
    }

    /// An error that is to be told, once.
    pub(crate) fn take_error(&self) -> Result<(), Errno> {
        if let Role::Transfers(pair) = &self.lock().role { pair.take_error() } else { Ok(()) }
    }

    /// What of `wanted` would not block, and what goes unasked.
    pub(crate) fn ready(&self, wanted: u16) -> u16 {
        match &self.lock().role {
            Role::Idle => WRITE & wanted | HUP,
            Role::Listens(queue) if queue.is_shut => (READ | READ_HUP) & wanted,
            Role::Listens(queue) if queue.waiting.is_empty() => 0,
            Role::Listens(_) => READ & wanted,
            Role::Transfers(pair) => pair.ready(wanted),
        }
    }

    /// Reads, and leaves it there if it `stays`; `EAGAIN` if there is nothing yet.
    pub(crate) fn receive(&self, buffer: &mut [u8], stays: bool) -> Result<Received, Errno> {
        match &self.lock().role {
            Role::Transfers(pair) => pair.receive(buffer, stays),
            _ if self.style == Style::Stream => Err(Errno::INVAL),
            _ => Err(Errno::NOTCONN),
        }
    }

    /// Writes what there is room for, or a whole message; `EAGAIN` without room.
    pub(crate) fn send(&self, bytes: &[u8], with: &Attached) -> Result<usize, Errno> {
        let State { role: Role::Transfers(pair), name, .. } = &mut *self.lock() else { return Err(Errno::NOTCONN) };
        let sent = pair.send(bytes, name.as_ref(), with);
        // Whom datagrams went to is gone.
        if sent == Err(Errno::CONNREFUSED) {
            pair.redirect(None);
        }
        sent
    }

    pub(crate) fn shut_down(&self, halves: &[Half]) {
        match &mut self.lock().role {
            Role::Idle => {}
            Role::Listens(queue) => queue.is_shut |= halves.contains(&Half::Incoming),
            Role::Transfers(pair) => halves.iter().for_each(|&half| pair.shut_down(half)),
        }
    }

    /// What has its name in the private tree, or has had it.
    pub(crate) fn file(&self) -> Option<Arc<Inode>> {
        match &self.lock().place {
            Some(Place::File(inode)) => Some(inode.clone()),
            _ => None,
        }
    }

    /// Its state; `number` numbers its pipes, and `file` is the number of what has its name.
    pub(crate) fn save(&self, mut number: impl FnMut(&Pipe) -> u32, file: Option<u32>) -> SavedLocal {
        let State { name, place, role } = &*self.lock();
        SavedLocal {
            style: self.style,
            name: name.clone(),
            place: match (place, file) {
                (None, _) => SavedPlace::Nowhere,
                (Some(_), Some(file)) => SavedPlace::File(file),
                (Some(_), None) => SavedPlace::Abstract,
            },
            role: match role {
                Role::Idle => SavedRole::Idle,
                Role::Listens(Queue { backlog, waiting, is_shut, .. }) => SavedRole::Listens {
                    backlog: *backlog,
                    waiting: waiting.iter().map(|pair| pair.save(&mut number)).collect(),
                    is_shut: *is_shut,
                },
                Role::Transfers(pair) => SavedRole::Transfers(pair.save(number)),
            },
        }
    }

    /// One with some of these pipes, and the name of one of these files; `None` if no guest could have it.
    pub(crate) fn from_saved(saved: &SavedLocal, pipes: &[Pipe], inodes: &[Arc<Inode>]) -> Option<Local> {
        let SavedLocal { style, name, place, role } = saved;
        let place = match place {
            SavedPlace::Nowhere => None,
            SavedPlace::Abstract => Some(Place::Abstract(name.clone()?)),
            SavedPlace::File(id) => {
                let inode = inodes.get(*id as usize).filter(|inode| inode.kind() == mode::SOCKET)?;
                Some(Place::File(inode.clone()))
            }
        };
        let role = match role {
            SavedRole::Idle if *style != Style::Datagrams => Role::Idle,
            SavedRole::Listens { backlog, waiting, is_shut }
                if *style != Style::Datagrams && *backlog <= MAX_BACKLOG && waiting.len() <= MAX_ENDS / 2 =>
            {
                let pairs = waiting.iter().map(|pair| Pair::from_saved(*style, pair, pipes));
                let (backlog, waiting, is_shut) = (*backlog, pairs.collect::<Option<_>>()?, *is_shut);
                Role::Listens(Queue { backlog, waiting, arrived: 0, is_shut })
            }
            SavedRole::Transfers(pair) => Role::Transfers(Pair::from_saved(*style, pair, pipes)?),
            SavedRole::Idle | SavedRole::Listens { .. } => return None,
        };
        Some(Local { style: *style, state: Mutex::new(State { name: name.clone(), place, role }) })
    }
}
