//! What is kept from one compilation of a program to the next: an object for each unit of LLVM's and the body of each quick
//! function, found by hashes of what the back ends were given, and the [facts](crate::facts) about the program. So a compilation
//! that adds a few functions to those of the one before looks at what runs only, and makes machine code of these functions
//! only.

use std::collections::{BTreeMap, HashMap};
use std::io::Read;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use riverrun_vm::artifact::Header;
use riverrun_vm::open_regular;

use crate::error::CompileError;
use crate::link::write;

/// Bytes of text in which functions of a unit begin, where machine code is kept: a function that comes on top has those near
/// it compiled again.
pub(crate) const KEPT_UNIT: u64 = 4 << 10;

/// The first bytes of a file, which no text and no other format begins with.
const MAGIC: &[u8; 8] = b"\x89RROBJ\n\0";

/// A hash of what an object, or what else is kept, was made of.
pub(crate) type Key = [u8; 32];

/// The objects of an earlier compilation, and those of this one. Threads share it.
///
/// ```
/// let folder = tempfile::tempdir()?;
/// let file = folder.path().join("objects");
/// let kept = riverrun_aot::KeptObjects::read(&file, "this compiler");
/// kept.write(&file)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Default)]
pub struct KeptObjects {
    /// Tells the compiler that has made them from others.
    compiler: Key,
    earlier: HashMap<Key, Vec<u8>>,
    used: Mutex<BTreeMap<Key, Vec<u8>>>,
}

impl KeptObjects {
    /// Reads those that a compilation by the same `compiler` has written to a file; none if there are no such.
    pub fn read(path: &Path, compiler: &str) -> KeptObjects {
        let compiler = Header::hash(compiler.as_bytes());
        let mut bytes = Vec::new();
        let read = open_regular(path).and_then(|mut file| file.read_to_end(&mut bytes));
        let earlier = read.ok().and_then(|_| parse(&bytes, &compiler)).unwrap_or_default();
        KeptObjects { compiler, earlier, used: Mutex::default() }
    }

    /// Whether a file would be lost if objects were kept there. One that was cut, or that a crash of the system has left
    /// zeros of, is none.
    ///
    /// ```
    /// let folder = tempfile::tempdir()?;
    /// let file = folder.path().join("notes");
    /// std::fs::write(&file, "notes")?;
    /// assert!(riverrun_aot::KeptObjects::would_lose(&file));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn would_lose(path: &Path) -> bool {
        let mut head = Vec::new();
        let read = open_regular(path).and_then(|file| file.take(MAGIC.len() as u64).read_to_end(&mut head));
        read.is_ok() && !MAGIC.starts_with(&head) && head.iter().any(|&byte| byte != 0)
    }

    /// Writes those that this compilation has used to a file.
    ///
    /// # Errors
    /// [`CompileError::File`].
    pub fn write(&self, path: &Path) -> Result<(), CompileError> {
        let mut bytes = [&MAGIC[..], &self.compiler].concat();
        for (key, object) in self.used.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            bytes.extend(key);
            bytes.extend((object.len() as u64).to_le_bytes());
            bytes.extend(object);
        }
        bytes.extend(Header::hash(&bytes));
        write(path, &bytes)
    }

    /// Has the next compilation in this process find those that this one has used.
    pub fn renew(&mut self) {
        let used = self.used.get_mut().unwrap_or_else(PoisonError::into_inner);
        self.earlier = std::mem::take(used).into_iter().collect();
    }

    /// What has this key, if there was something.
    pub(crate) fn find(&self, key: &Key) -> Option<Vec<u8>> {
        let object = self.earlier.get(key)?;
        self.keep(*key, object);
        Some(object.clone())
    }

    /// Keeps an object, or something else.
    pub(crate) fn keep(&self, key: Key, object: &[u8]) {
        self.used.lock().unwrap_or_else(PoisonError::into_inner).insert(key, object.to_vec());
    }
}

/// The objects in a file; `None` if it is not whole, or another compiler's.
fn parse(bytes: &[u8], compiler: &Key) -> Option<HashMap<Key, Vec<u8>>> {
    let (content, hash) = bytes.split_last_chunk::<32>()?;
    if Header::hash(content) != *hash {
        return None;
    }
    let mut rest = content.strip_prefix(MAGIC)?.strip_prefix(compiler)?;
    let mut objects = HashMap::new();
    while !rest.is_empty() {
        let (key, behind) = rest.split_first_chunk::<32>()?;
        let (len, behind) = behind.split_first_chunk::<8>()?;
        let (object, behind) = behind.split_at_checked(usize::try_from(u64::from_le_bytes(*len)).ok()?)?;
        objects.insert(*key, object.to_vec());
        rest = behind;
    }
    Some(objects)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_used_is_kept_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("objects");
        let keys: Vec<Key> = (0..3).map(|byte| [byte; 32]).collect();
        let first = KeptObjects::read(&file, "one");
        first.keep(keys[0], b"first");
        first.keep(keys[1], b"");
        first.write(&file).unwrap();

        let second = KeptObjects::read(&file, "one");
        assert_eq!(
            keys.iter().map(|key| second.find(key)).collect::<Vec<_>>(),
            [Some(b"first".to_vec()), Some(vec![]), None]
        );
        assert_eq!(KeptObjects::read(&file, "another").find(&keys[0]), None);
        let third = KeptObjects::read(&file, "one");
        third.find(&keys[1]).unwrap();
        third.write(&file).unwrap();
        assert_eq!(KeptObjects::read(&file, "one").find(&keys[0]), None);
    }

    #[test]
    fn a_file_that_is_not_whole_has_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("objects");
        let objects = KeptObjects::read(&file, "one");
        objects.keep([1; 32], b"an object");
        objects.write(&file).unwrap();
        let bytes = std::fs::read(&file).unwrap();
        for len in 0..bytes.len() {
            std::fs::write(&file, &bytes[..len]).unwrap();
            assert_eq!(KeptObjects::read(&file, "one").find(&[1; 32]), None, "{len}");
            assert!(!KeptObjects::would_lose(&file), "{len}");
        }
        std::fs::write(&file, vec![0; bytes.len()]).unwrap();
        assert!(!KeptObjects::would_lose(&file));
        let mut changed = bytes.clone();
        *changed.last_mut().unwrap() ^= 1;
        std::fs::write(&file, changed).unwrap();
        assert_eq!(KeptObjects::read(&file, "one").find(&[1; 32]), None);
    }
}
