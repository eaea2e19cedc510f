//! Names of local sockets in system calls: which socket is meant, and how one gets a name.
//!
//! A name in the file system is made in the guest's private tree alone. A socket of the host's that lies in a granted
//! directory is never used: it would lead out of the sandbox.

use std::sync::Arc;

use rustix::io::Errno;

use crate::abi::{at, mode};
use crate::call::{Call, Stop};
use crate::inode::Content;
use crate::local::Local;
use crate::local_name::{LocalName, Place, UNIX};
use crate::open_file::{Kind, OpenFile};
use crate::pair::Style;
use crate::paths::{Node, special_file};
use crate::refusal::Reason;
use crate::socket::{End, Socket};

/// Bytes of a structure before the name.
const FAMILY: u32 = 2;
/// Bytes of the longest one.
const LONGEST: u32 = 110;
/// Names that a socket may get which asks for any, as in Linux.
const ANY_NAMES: u32 = 1 << 20;

impl OpenFile {
    pub(crate) fn local(&self) -> Option<&Local> {
        match &self.kind {
            Kind::Socket(Socket { end: End::Local(local), .. }) => Some(local),
            _ => None,
        }
    }
}

impl Call<'_> {
    /// The name in a structure of this size; `None` if it has only a family.
    fn local_name(&self, at: u64, size: u32) -> Result<Option<LocalName>, Stop> {
        if !(FAMILY..=LONGEST).contains(&size) {
            return Err(Errno::INVAL.into());
        }
        let bytes = self.memory.slice(at, size.into())?;
        match bytes.split_first_chunk() {
            Some((family, name)) if u32::from(u16::from_le_bytes(*family)) == UNIX => Ok(LocalName::parse(name)),
            _ => Err(Errno::INVAL.into()),
        }
    }

    /// The open socket that is found so.
    fn local_at(&self, place: &Place) -> Option<Arc<OpenFile>> {
        let mut files = self.linux.descriptors.slots.iter().flatten().map(|slot| &slot.file);
        files.find(|file| file.local().is_some_and(|local| local.is_at(place))).cloned()
    }

    /// The open socket of this style that the name in a structure means.
    pub(crate) fn named_local(&self, at: u64, size: u32, style: Style) -> Result<Arc<OpenFile>, Stop> {
        let name = self.local_name(at, size)?.ok_or(Errno::INVAL)?;
        let place = match name.is_abstract() {
            true => Place::Abstract(name),
            false => self.place_of(&name)?,
        };
        let file = self.local_at(&place).ok_or(Errno::CONNREFUSED)?;
        match file.local() {
            Some(local) if local.style == style => Ok(file),
            _ => Err(Errno::PROTOTYPE.into()),
        }
    }

    /// What a name in the file system leads to.
    fn place_of(&self, name: &LocalName) -> Result<Place, Stop> {
        match self.find(at::CURRENT_DIRECTORY, name.bytes(), true)?.node {
            Node::Memory(name) => {
                let inode = name.look()?;
                inode.check(mode::WRITE)?;
                Ok(Place::File(inode.clone()))
            }
            Node::Host(name) => match name.look()?.kind {
                mode::SOCKET => Err(name.refuse(Reason::SpecialFile(special_file(mode::SOCKET)))),
                _ => Err(Errno::CONNREFUSED.into()),
            },
            Node::Virtual(name) => {
                name.look()?;
                Err(Errno::CONNREFUSED.into())
            }
            Node::Own(_) => Err(Errno::CONNREFUSED.into()),
        }
    }

    /// Gives a socket the name in a structure, or any if there is none.
    pub(crate) fn bind_local(&self, local: &Local, at: u64, size: u32) -> Result<(), Stop> {
        let Some(name) = self.local_name(at, size)? else {
            // One that has a name keeps it.
            if !local.has_name() {
                let (name, place) = self.any_name()?;
                local.bind(name, place);
            }
            return Ok(());
        };
        if name.is_abstract() {
            let place = Place::Abstract(name.clone());
            return match (local.has_name(), self.local_at(&place)) {
                (true, _) => Err(Errno::INVAL.into()),
                (false, Some(_)) => Err(Errno::ADDRINUSE.into()),
                (false, None) => {
                    local.bind(name, place);
                    Ok(())
                }
            };
        }
        let found = self.find(at::CURRENT_DIRECTORY, name.bytes(), false)?;
        let exists = match &found.node {
            Node::Host(name) => name.exists()?,
            Node::Memory(name) => name.look().is_ok(),
            Node::Virtual(name) => name.look_if_there()?.is_some(),
            Node::Own(_) => true,
        };
        match found.node {
            _ if exists => Err(Errno::ADDRINUSE.into()),
            _ if found.must_be_directory => Err(Errno::NOENT.into()),
            _ if local.has_name() => Err(Errno::INVAL.into()),
            Node::Memory(file) => {
                let permissions = 0o777 & !self.linux.process.umask;
                let inode = file.make(Content::Socket, permissions, self.real_time())?;
                local.bind(name, Place::File(inode));
                Ok(())
            }
            Node::Host(name) => {
                // For its error, if nothing can be made there at all.
                if !name.is_writable() {
                    return Err(Errno::ROFS.into());
                }
                Err(name.refuse(Reason::NewSocket))
            }
            Node::Virtual(_) => Err(Errno::OPNOTSUPP.into()),
            Node::Own(_) => Err(Errno::ADDRINUSE.into()),
        }
    }

    /// An abstract name that no socket has.
    fn any_name(&self) -> Result<(LocalName, Place), Stop> {
        for number in 0..ANY_NAMES {
            let name = LocalName::parse(format!("\0{number:05x}").as_bytes()).ok_or(Errno::NOSPC)?;
            let place = Place::Abstract(name.clone());
            if self.local_at(&place).is_none() {
                return Ok((name, place));
            }
        }
        Err(Errno::NOSPC.into())
    }
}
