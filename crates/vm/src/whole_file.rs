//! Files that other processes see as a whole or not at all.

use std::fs;
use std::io;
use std::path::Path;
use std::process;
use std::sync::atomic::{AtomicU64, Ordering};

/// Writes a file in one step, in the place of one that is there. If it fails, what was there is there as before, and nothing
/// else is left.
///
/// # Errors
/// Those of the file system: the folder is not there, cannot be written, or its disk is full.
///
/// ```
/// let folder = tempfile::tempdir()?;
/// let file = folder.path().join("profile");
/// riverrun_vm::write_whole(&file, b"first")?;
/// riverrun_vm::write_whole(&file, b"second")?;
/// assert_eq!(std::fs::read(&file)?, b"second");
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn write_whole(path: &Path, content: &[u8]) -> io::Result<()> {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    // Two threads may write the same file at once.
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.{number}.unfinished", process::id()));
    let unfinished = path.with_file_name(name);
    fs::write(&unfinished, content).and_then(|()| fs::rename(&unfinished, path)).inspect_err(|_| {
        // It may not even be there.
        let _ = fs::remove_file(&unfinished);
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(folder: &Path) -> usize {
        fs::read_dir(folder).unwrap().count()
    }

    #[test]
    fn a_file_that_threads_write_at_once_is_one_of_theirs() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        let contents: Vec<Vec<u8>> = (0..8).map(|byte| vec![byte; 1 << 16]).collect();
        for _ in 0..20 {
            std::thread::scope(|scope| {
                for content in &contents {
                    scope.spawn(|| write_whole(&file, content).unwrap());
                }
            });
            assert!(contents.contains(&fs::read(&file).unwrap()));
        }
        assert_eq!(files(folder.path()), 1);
    }

    #[test]
    fn what_fails_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let taken = folder.path().join("taken");
        fs::create_dir(&taken).unwrap();
        write_whole(&taken, b"a file cannot take a folder's place").unwrap_err();
        assert_eq!((files(folder.path()), files(&taken)), (1, 0));
        write_whole(&folder.path().join("absent/file"), b"").unwrap_err();
        write_whole(Path::new("/"), b"").unwrap_err();
        assert_eq!(files(folder.path()), 1);
    }
}
