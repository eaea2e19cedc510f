//! The SDK, the files that guests are built with, embedded so that `riverrun cc` and build scripts need no installation.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

macro_rules! files {
    ($($path:literal)*) => {
        &[$(($path, include_str!(concat!("../../../guest/", $path)))),*]
    };
}

/// Paths and contents. The folder `guest/` of the repository has the same.
const FILES: &[(&str, &str)] = files![
    "include/riverrun.h"
    "include/riverrun/heap.h"
    "include/riverrun/import.h"
    "include/riverrun/malloc.h"
    "include/riverrun/new.h"
    "riverrun.ld"
    "src/reactor.c"
    "src/start.S"
    "src/memory.c"
    "src/cxx.c"
    "cmake/Riverrun.cmake"
];

/// The sources that a guest without a libc is linked with.
pub(crate) const RUNTIME: &[&str] = &["src/start.S", "src/memory.c", "src/cxx.c"];

/// The source that a guest with a libc is linked with.
pub(crate) const REACTOR: &str = "src/reactor.c";

/// A hash of the files, by which a cached copy is found.
pub(crate) fn version() -> String {
    let all: String = FILES.iter().flat_map(|(path, text)| [*path, *text]).collect();
    format!("{}-{:08x}", env!("CARGO_PKG_VERSION"), crc32fast::hash(all.as_bytes()))
}

/// Writes the headers, start files and linker scripts for guests to a folder, and gives the folder of the
/// headers. Files that are there already and the same are left as they are.
///
/// # Errors
/// If a file cannot be written.
pub fn write_sdk(folder: impl AsRef<Path>) -> io::Result<PathBuf> {
    let folder = folder.as_ref();
    for (path, text) in FILES {
        replace(&folder.join(path), text.as_bytes())?;
    }
    Ok(folder.join("include"))
}

/// Replaces a file atomically, unless it already has these contents.
pub(crate) fn replace(path: &Path, contents: &[u8]) -> io::Result<()> {
    if fs::read(path).is_ok_and(|known| known == contents) {
        return Ok(());
    }
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let unfinished = Unfinished::beside(path);
    fs::write(&unfinished.0, contents)?;
    fs::rename(&unfinished.0, path)
}

/// The name under which a file is written before it is renamed. A file that still has it on drop is removed.
pub(crate) struct Unfinished(pub(crate) PathBuf);

impl Unfinished {
    /// A name beside `path` that no other process uses.
    pub(crate) fn beside(path: &Path) -> Unfinished {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let mut name = path.as_os_str().to_owned();
        name.push(format!(".{}-{count}", std::process::id()));
        Unfinished(name.into())
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}
