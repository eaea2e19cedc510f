//! Names of local sockets (`AF_UNIX`), and where they are: in the guest's private tree, or nowhere in the file system
//! (abstract ones).

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::abi::Layout;
use crate::inode::Inode;

/// The family of these addresses (`AF_UNIX`).
pub(crate) const UNIX: u32 = 1;
/// Bytes of the longest name (`sun_path`).
pub(crate) const MAX_NAME: usize = 108;

/// What a structure says of a socket's name: one in the file system has no zero in it, an abstract one begins with one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Vec<u8>", into = "Vec<u8>")]
pub(crate) struct LocalName(Vec<u8>);

impl TryFrom<Vec<u8>> for LocalName {
    type Error = &'static str;

    fn try_from(bytes: Vec<u8>) -> Result<LocalName, &'static str> {
        LocalName::parse(&bytes).ok_or("a socket's name is too long, or empty")
    }
}

impl From<LocalName> for Vec<u8> {
    fn from(name: LocalName) -> Vec<u8> {
        name.0
    }
}

impl LocalName {
    /// That of these bytes of a structure; `None` for no bytes, or more than there can be.
    pub(crate) fn parse(bytes: &[u8]) -> Option<LocalName> {
        let len = match bytes.first()? {
            0 => bytes.len(),
            _ => bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len()),
        };
        (bytes.len() <= MAX_NAME).then(|| LocalName(bytes[..len].into()))
    }

    pub(crate) fn is_abstract(&self) -> bool {
        self.0.first() == Some(&0)
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0
    }
}

/// A structure with a name, or with none: `struct sockaddr_un`.
pub(crate) fn local_address(name: Option<&LocalName>) -> Vec<u8> {
    let layout = Layout::new().u16(UNIX as u16);
    match name {
        Some(name) if name.is_abstract() => layout.bytes(name.bytes()),
        Some(name) => layout.bytes(name.bytes()).u8(0),
        None => layout,
    }
    .into_bytes()
}

/// By what a socket is found.
#[derive(Clone, Debug)]
pub(crate) enum Place {
    /// By its name alone.
    Abstract(LocalName),
    /// By what has its name, or has had it.
    File(Arc<Inode>),
}

impl PartialEq for Place {
    fn eq(&self, other: &Place) -> bool {
        match (self, other) {
            (Place::Abstract(one), Place::Abstract(other)) => one == other,
            (Place::File(one), Place::File(other)) => Arc::ptr_eq(one, other),
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_end_as_their_kind_does() {
        let bytes = |name: &[u8]| LocalName::parse(name).map(|name| local_address(Some(&name)));
        assert_eq!(bytes(b"/tmp/a\0rest"), Some(b"\x01\0/tmp/a\0".to_vec()));
        assert_eq!(bytes(b"\0a\0b\0"), Some(b"\x01\0\0a\0b\0".to_vec()));
        assert_eq!(bytes(&[b'x'; MAX_NAME]).map(|bytes| bytes.len()), Some(MAX_NAME + 3));
        assert_eq!((bytes(b""), bytes(&[b'x'; MAX_NAME + 1])), (None, None));
        assert_eq!(local_address(None), [1, 0]);
    }
}
