//! Files that other processes see as a whole or not at all: artifacts, profiles, snapshots.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process;
use std::sync::atomic::{AtomicU64, Ordering};

/// Writes a file in one step, in the place of one that is there. If it fails, what was there is there as before, and nothing
/// else is left. A symbolic link stays, and the file that it leads to is replaced.
///
/// What is there and no file, such as a pipe or `/dev/null`, is written to as it is.
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
    let is_link = path.is_symlink();
    // Where nothing is at a link's end, opening it makes the file.
    if fs::metadata(path).map_or(is_link, |found| !found.is_file()) {
        return fs::write(path, content);
    }
    let path = if is_link { fs::canonicalize(path)? } else { path.to_owned() };
    static COUNT: AtomicU64 = AtomicU64::new(0);
    // Two threads may write the same file at once.
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    // Not longer for a longer name, which may be as long as the file system has them.
    let unfinished = path.with_file_name(format!(".riverrun-{}-{number}", process::id()));
    fs::write(&unfinished, content).and_then(|()| fs::rename(&unfinished, &path)).inspect_err(|_| {
        // It may not even be there.
        let _ = fs::remove_file(&unfinished);
    })
}

/// Whether two paths lead to the same file, so that writing the one loses the other.
///
/// ```
/// let folder = tempfile::tempdir()?;
/// let (file, other) = (folder.path().join("file"), folder.path().join("other"));
/// std::fs::write(&file, "")?;
/// std::fs::hard_link(&file, &other)?;
/// assert!(riverrun_vm::is_same_file(&file, &other));
/// assert!(!riverrun_vm::is_same_file(&file, &folder.path().join("none")));
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn is_same_file(one: &Path, other: &Path) -> bool {
    let identity = |path| fs::metadata(path).map(|file| (file.dev(), file.ino()));
    matches!((identity(one), identity(other)), (Ok(one), Ok(other)) if one == other)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{FileTypeExt, symlink};

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

    #[test]
    fn links_lead_to_the_file_that_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let [file, link, next, none] = ["file", "link", "next", "none"].map(|name| folder.path().join(name));
        fs::write(&file, "before").unwrap();
        symlink("file", &link).unwrap();
        symlink("link", &next).unwrap();
        write_whole(&next, b"after").unwrap();
        assert_eq!(fs::read(&file).unwrap(), b"after");
        assert!(link.is_symlink() && next.is_symlink());
        symlink("made", &none).unwrap();
        write_whole(&none, b"made").unwrap();
        assert_eq!(fs::read(folder.path().join("made")).unwrap(), b"made");
        assert_eq!(files(folder.path()), 5);
    }

    #[test]
    fn what_is_no_file_is_written_to() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        assert!(process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let read = std::thread::scope(|scope| {
            let reader = scope.spawn(|| fs::read(&pipe).unwrap());
            write_whole(&pipe, b"content").unwrap();
            reader.join().unwrap()
        });
        assert_eq!(read, b"content");
        assert!(fs::metadata(&pipe).unwrap().file_type().is_fifo());
        let full = folder.path().join("full");
        symlink("/dev/full", &full).unwrap();
        assert_eq!(write_whole(&full, b"content").unwrap_err().kind(), io::ErrorKind::StorageFull);
        assert!(full.is_symlink());
        assert_eq!(files(folder.path()), 2);
    }

    #[test]
    fn names_may_be_as_long_as_the_file_system_has_them() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("n".repeat(255));
        write_whole(&file, b"content").unwrap();
        assert_eq!(fs::read(&file).unwrap(), b"content");
    }
}
