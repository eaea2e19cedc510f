//! Files that are read and written as a whole: programs, artifacts, profiles, snapshots. Other processes see what is
//! written as a whole or not at all; what is read has a limit, also where it is no file and has no length.

use std::fs::{self, File, Permissions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Writes a file in one step, in the place of one that is there. If it fails, what was there is there as before, and nothing
/// else is left. A symbolic link stays, and the file that it leads to is replaced. The new file has the mode of the one that
/// it replaces; if there is none, only its owner may write to it: artifacts run with all rights of their user.
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
    let found = fs::metadata(path);
    // Where nothing is at a link's end, opening it makes the file.
    if found.as_ref().map_or(is_link, |found| !found.is_file()) {
        return fs::write(path, content);
    }
    let path = if is_link { fs::canonicalize(path)? } else { path.to_owned() };
    static COUNT: AtomicU64 = AtomicU64::new(0);
    // Two threads may write the same file at once.
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    // Not longer for a longer name, which may be as long as the file system has them.
    let unfinished = path.with_file_name(format!(".riverrun-{}-{number}", process::id()));
    let mode = found.ok().map(|found| found.mode() & 0o777);
    let written = new_file(&unfinished, mode).and_then(|mut file| file.write_all(content));
    written.and_then(|()| fs::rename(&unfinished, &path)).inspect_err(|_| {
        // It may not even be there.
        let _ = fs::remove_file(&unfinished);
    })
}

/// An empty file of this mode, if there is one.
fn new_file(path: &Path, mode: Option<u32>) -> io::Result<File> {
    let file = File::options().write(true).create(true).truncate(true).mode(mode.unwrap_or(0o644)).open(path)?;
    if let Some(mode) = mode.filter(|_| file.metadata().is_ok_and(|file| file.is_file())) {
        // The umask has taken a part of it.
        file.set_permissions(Permissions::from_mode(mode))?;
    }
    Ok(file)
}

/// Makes a file's folder, if it is not there. Only its owner may write to it, whatever the umask says.
///
/// # Errors
/// Those of the file system.
///
/// ```
/// let folder = tempfile::tempdir()?;
/// riverrun_vm::make_folder_of(&folder.path().join("cache/riverrun/file"))?;
/// assert!(folder.path().join("cache/riverrun").is_dir());
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn make_folder_of(file: &Path) -> io::Result<()> {
    match file.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        Some(folder) => fs::DirBuilder::new().recursive(true).mode(0o755).create(folder),
        None => Ok(()),
    }
}

/// Opens a regular file for reading, and nothing else: a pipe would have to be waited for.
///
/// # Errors
/// Those of the file system, and that it is no regular file.
///
/// ```
/// assert_eq!(riverrun_vm::open_regular("/dev/null".as_ref()).unwrap_err().to_string(), "not a regular file");
/// ```
pub fn open_regular(path: &Path) -> io::Result<File> {
    let file = File::options().read(true).custom_flags(libc::O_NONBLOCK).open(path)?;
    match file.metadata()? {
        other if other.is_dir() => Err(io::ErrorKind::IsADirectory.into()),
        other if !other.is_file() => Err(io::Error::other("not a regular file")),
        _ => Ok(file),
    }
}

/// A file's content, read to where it stays: it may be large. It has `limit` bytes at most. What does not begin with
/// `magic` is read no further, as it is refused in any case: a device may have no end.
///
/// # Errors
/// Those of reading, and [`io::ErrorKind::FileTooLarge`].
///
/// ```
/// let zero = || std::fs::File::open("/dev/zero").unwrap();
/// assert_eq!(riverrun_vm::read_whole(zero(), b"ELF", 10)?[..], [0; 3]);
/// assert_eq!(riverrun_vm::read_whole(zero(), b"", 10).unwrap_err().to_string(), "it has more than 10 bytes");
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn read_whole(mut file: File, magic: &[u8], limit: u64) -> io::Result<Arc<[u8]>> {
    let too_large = || io::Error::new(io::ErrorKind::FileTooLarge, format!("it has more than {limit} bytes"));
    let mut head = Vec::new();
    Read::by_ref(&mut file).take(magic.len() as u64).read_to_end(&mut head)?;
    if head != magic {
        return Ok(head.into());
    }
    let len = file.metadata()?.len();
    if len > limit {
        return Err(too_large());
    }
    let len = head.len().max(len as usize);
    let mut content: Arc<[u8]> = std::iter::repeat_n(0, len).collect();
    let buffer = Arc::get_mut(&mut content).expect("nobody else has it yet");
    buffer[..head.len()].copy_from_slice(&head);
    file.read_exact(&mut buffer[head.len()..])?;
    // What is no regular file has no length. One more byte shows that there is more.
    let mut rest = Vec::new();
    file.take((limit + 1).saturating_sub(len as u64)).read_to_end(&mut rest)?;
    match rest.is_empty() {
        true => Ok(content),
        false if (len + rest.len()) as u64 > limit => Err(too_large()),
        false => Ok([&content, &rest[..]].concat().into()),
    }
}

/// Whether two paths lead to the same file, which may not be there yet, so that writing the one loses the other.
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
    match (identity(one), identity(other)) {
        (Ok(one), Ok(other)) => one == other,
        (Err(_), Err(_)) => matches!((place(one), place(other)), (Some(one), Some(other)) if one == other),
        _ => false,
    }
}

/// Where a file would be made.
fn place(path: &Path) -> Option<PathBuf> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let folder = fs::canonicalize(folder).or_else(|_| std::path::absolute(folder)).ok()?;
    Some(folder.join(path.file_name()?))
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
    fn a_file_keeps_its_mode_and_a_new_one_is_its_owners() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("made/file");
        let mode = |path: &Path| fs::metadata(path).unwrap().mode() & 0o777;
        make_folder_of(&file).unwrap();
        write_whole(&file, b"first").unwrap();
        assert_eq!([mode(&file), mode(&folder.path().join("made"))].map(|mode| mode & 0o022), [0, 0]);
        for other in [0o600, 0o666, 0o755] {
            fs::set_permissions(&file, Permissions::from_mode(other)).unwrap();
            write_whole(&file, b"next").unwrap();
            assert_eq!(mode(&file), other);
        }
    }

    #[test]
    fn what_has_no_length_is_read_to_the_limit() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        fs::write(&file, b"\x7fELF and more").unwrap();
        let read = |magic: &[u8], limit| read_whole(File::open(&file).unwrap(), magic, limit);
        assert_eq!(read(b"\x7fELF", 13).unwrap()[..], *b"\x7fELF and more");
        assert_eq!(read(b"", 13).unwrap()[..], *b"\x7fELF and more");
        assert_eq!(read(b"none", 0).unwrap()[..], *b"\x7fELF");
        assert_eq!(read(b"", 12).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
        let endless = || File::open("/dev/zero").unwrap();
        assert_eq!(read_whole(endless(), b"\0", 1 << 16).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
        assert!(fs::read("/proc/self/maps").unwrap().len() > 100);
        assert!(read_whole(File::open("/proc/self/maps").unwrap(), b"", 1 << 20).unwrap().len() > 100);
    }

    #[test]
    fn nothing_but_a_regular_file_is_opened() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        assert!(process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        assert_eq!(open_regular(&pipe).unwrap_err().to_string(), "not a regular file");
        assert_eq!(open_regular(folder.path()).unwrap_err().kind(), io::ErrorKind::IsADirectory);
    }

    #[test]
    fn files_that_are_not_there_yet_are_the_same_by_their_place() {
        let folder = tempfile::tempdir().unwrap();
        let [none, other] = ["none", "other"].map(|name| folder.path().join(name));
        assert!(is_same_file(&none, &folder.path().join("./none")));
        assert!(is_same_file(&none.join("x"), &none.join("x")));
        assert!(!is_same_file(&none, &other));
    }

    #[test]
    fn names_may_be_as_long_as_the_file_system_has_them() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("n".repeat(255));
        write_whole(&file, b"content").unwrap();
        assert_eq!(fs::read(&file).unwrap(), b"content");
    }
}
