//! Paths in the guest's tree.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

/// Components of a path, all links expanded.
pub(crate) const MAX_DEPTH: usize = 256;
/// Bytes of a component (`NAME_MAX`).
pub(crate) const NAME_MAX: usize = 255;

/// A path from the root of the guest's tree, without `.`, `..` and empty components.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct GuestPath(pub(crate) Vec<OsString>);

impl GuestPath {
    /// A path as a host writes it; `None` if it is not absolute or has `..`.
    pub(crate) fn parse_absolute(path: impl AsRef<[u8]>) -> Option<GuestPath> {
        let names = path.as_ref().strip_prefix(b"/")?.split(|&byte| byte == b'/');
        let components = names.filter(|name| !matches!(*name, b"" | b"."));
        let path: Vec<OsString> = components.map(|name| OsStr::from_bytes(name).to_owned()).collect();
        match path.iter().any(|name| name == ".." || name.len() > NAME_MAX) || path.len() > MAX_DEPTH {
            true => None,
            false => Some(GuestPath(path)),
        }
    }

    /// Any path, taken from the root, without looking at what is there.
    pub(crate) fn from_root(path: &[u8]) -> GuestPath {
        let mut at = GuestPath::default();
        for name in path.split(|&byte| byte == b'/') {
            match name {
                b"" | b"." => {}
                b".." => drop(at.0.pop()),
                name => at.0.push(OsStr::from_bytes(name).to_owned()),
            }
        }
        at
    }

    /// Its components.
    pub(crate) fn names(&self) -> &[OsString] {
        &self.0
    }

    /// Whether it is `folder` or below it.
    pub(crate) fn is_within(&self, folder: &GuestPath) -> bool {
        self.0.starts_with(&folder.0)
    }

    /// A number that no other path has, for what has none of its own (`st_ino`).
    pub(crate) fn number(&self) -> u64 {
        u64::from_le_bytes(*blake3::hash(&self.to_bytes()).as_bytes().first_chunk().unwrap_or(&[0; 8]))
    }

    /// As the guest writes it.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        match self.0.is_empty() {
            true => b"/".to_vec(),
            false => self.0.iter().flat_map(|name| [b"/", name.as_bytes()]).flatten().copied().collect(),
        }
    }
}
