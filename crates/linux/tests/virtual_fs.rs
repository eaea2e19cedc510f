//! File systems that a host implements: the guests of other tests in one that passes everything on to a directory, and in some
//! that give wrong answers.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, Metadata, OpenOptions, Permissions};
use std::io::{ErrorKind, Result};
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use riverrun::Config;
use riverrun_linux::{Builder, DirAccess, FileHandle, FileKind, FileStatus, FileSystem, Linux};

use crate::common::{gcc, machine, qemu, run};
use crate::lying::Lying;

const STATIC: &[&str] = &["-O1", "-static", "-pthread"];

/// All that is in a directory of the host.
pub(crate) struct PassThrough(PathBuf);

impl PassThrough {
    pub(crate) fn new(root: impl Into<PathBuf>) -> Arc<PassThrough> {
        Arc::new(PassThrough(root.into()))
    }
}

fn kind(file_type: fs::FileType) -> FileKind {
    match (file_type.is_dir(), file_type.is_symlink()) {
        (true, _) => FileKind::Directory,
        (_, true) => FileKind::Link,
        _ => FileKind::File,
    }
}

fn status(metadata: &Metadata) -> FileStatus {
    let mut status = FileStatus::file(metadata.len());
    status.kind = kind(metadata.file_type());
    status.links = metadata.nlink() as u32;
    status.permissions = metadata.mode();
    status.modified = metadata.modified().ok();
    status.number = Some(metadata.ino());
    status
}

impl FileSystem for PassThrough {
    fn status(&self, path: &Path) -> Result<FileStatus> {
        Ok(status(&fs::symlink_metadata(self.0.join(path))?))
    }

    fn entries(&self, path: &Path) -> Result<Vec<(OsString, FileKind)>> {
        let entries = fs::read_dir(self.0.join(path))?;
        entries.map(|entry| entry.and_then(|entry| Ok((entry.file_name(), kind(entry.file_type()?))))).collect()
    }

    fn open(&self, path: &Path, writes: bool) -> Result<Box<dyn FileHandle>> {
        Ok(Box::new(OpenedFile(OpenOptions::new().read(true).write(writes).open(self.0.join(path))?)))
    }

    fn read_link(&self, path: &Path) -> Result<PathBuf> {
        fs::read_link(self.0.join(path))
    }

    fn create_file(&self, path: &Path, permissions: u32) -> Result<Box<dyn FileHandle>> {
        let file = OpenOptions::new().read(true).write(true).create_new(true).open(self.0.join(path))?;
        file.set_permissions(Permissions::from_mode(permissions))?;
        Ok(Box::new(OpenedFile(file)))
    }

    fn create_dir(&self, path: &Path, permissions: u32) -> Result<()> {
        fs::create_dir(self.0.join(path))?;
        self.set_permissions(path, permissions)
    }

    fn create_link(&self, path: &Path, target: &Path) -> Result<()> {
        std::os::unix::fs::symlink(target, self.0.join(path))
    }

    fn create_hard_link(&self, original: &Path, path: &Path) -> Result<()> {
        fs::hard_link(self.0.join(original), self.0.join(path))
    }

    fn remove_file(&self, path: &Path) -> Result<()> {
        fs::remove_file(self.0.join(path))
    }

    fn remove_dir(&self, path: &Path) -> Result<()> {
        fs::remove_dir(self.0.join(path))
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<()> {
        fs::rename(self.0.join(from), self.0.join(to))
    }

    fn set_permissions(&self, path: &Path, permissions: u32) -> Result<()> {
        fs::set_permissions(self.0.join(path), Permissions::from_mode(permissions))
    }

    fn set_modified(&self, path: &Path, modified: SystemTime) -> Result<()> {
        fs::File::open(self.0.join(path))?.set_modified(modified)
    }
}

struct OpenedFile(fs::File);

impl FileHandle for OpenedFile {
    fn status(&self) -> Result<FileStatus> {
        Ok(status(&self.0.metadata()?))
    }

    fn read_at(&self, buffer: &mut [u8], at: u64) -> Result<usize> {
        self.0.read_at(buffer, at)
    }

    fn write_at(&self, bytes: &[u8], at: u64) -> Result<usize> {
        self.0.write_at(bytes, at)
    }

    fn set_len(&self, len: u64) -> Result<()> {
        self.0.set_len(len)
    }

    fn sync(&self) -> Result<()> {
        self.0.sync_all()
    }
}

fn in_file_system(file_system: Arc<dyn FileSystem>) -> Builder {
    Linux::builder().args(["guest", "/data"]).file_system("/data", file_system).unwrap()
}

/// The lines that differ from those of qemu, both sides of each.
fn differences(source: &str) -> Vec<(String, String)> {
    let program = gcc(source, STATIC);
    let (ours, theirs) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let outcome = run(&program, "", in_file_system(PassThrough::new(ours.path())));
    let expected = qemu(&program, &["guest", theirs.path().to_str().unwrap()], &[], "");
    assert_eq!(outcome.status, expected.status, "{source}: {}", outcome.stdout);
    let lines = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
    let (ours, theirs) = (lines(&outcome.stdout), lines(&expected.stdout));
    assert_eq!(ours.len(), theirs.len(), "{source}: {}", outcome.stdout);
    ours.into_iter().zip(theirs).filter(|(ours, theirs)| ours != theirs).collect()
}

/// What a directory of Linux does, but for what [`Builder::file_system`] says.
#[test]
fn a_file_system_is_as_a_directory() {
    for source in ["controls.c", "faults.c", "mapped.c", "memory.c"] {
        assert_eq!(differences(source), [], "{source}");
    }
    let is_known = |(_, theirs): &(String, String)| {
        let is_access_time = theirs.starts_with("1000000000 1000000001");
        // Those who run these tests may do what a file's mode forbids, if they are root.
        is_access_time || theirs.starts_with("access(\"sub/up\"")
    };
    assert_eq!(differences("files.c").into_iter().filter(|lines| !is_known(lines)).collect::<Vec<_>>(), []);
    let punches = |(ours, theirs): &(String, String)| {
        let is_sum = ["sum", "memory: "].iter().any(|word| theirs.starts_with(word));
        is_sum || ours.starts_with("fallocate(fd, FALLOC_FL_PUNCH_HOLE") && ours.ends_with("Operation not supported")
    };
    for source in ["holes.c", "shared.c"] {
        let differences = differences(source);
        assert!(differences.iter().all(punches) && !differences.is_empty(), "{source}: {differences:?}");
    }
}

/// An archive, of which a file can be read, as the crate's documentation has it.
struct Archive(BTreeMap<OsString, Arc<[u8]>>);

impl Archive {
    fn get(&self, path: &Path) -> Result<&Arc<[u8]>> {
        self.0.get(path.as_os_str()).ok_or(ErrorKind::NotFound.into())
    }
}

impl FileSystem for Archive {
    fn status(&self, path: &Path) -> Result<FileStatus> {
        match path.as_os_str().is_empty() {
            true => Ok(FileStatus::directory()),
            false => Ok(FileStatus::file(self.get(path)?.len() as u64)),
        }
    }

    fn entries(&self, _: &Path) -> Result<Vec<(OsString, FileKind)>> {
        Ok(self.0.keys().map(|name| (name.clone(), FileKind::File)).collect())
    }

    fn open(&self, path: &Path, _: bool) -> Result<Box<dyn FileHandle>> {
        Ok(Box::new(self.get(path)?.clone()))
    }
}

fn archive(names: &[&str]) -> Arc<Archive> {
    Arc::new(Archive(names.iter().map(|name| (name.into(), Arc::from(*b"hello,  world"))).collect()))
}

/// Three methods make one that can be read; what would change it fails as in a file system that is mounted so.
#[test]
fn what_is_not_implemented_is_read_only() {
    let builder = Linux::builder().args(["given", "greeting"]).current_dir("/data").unwrap();
    let outcome = run(&gcc("given.c", STATIC), "", builder.file_system("/data", archive(&["greeting"])).unwrap());
    let expected = "in /data\n100444, 13 bytes\n6: hello,, then 8, 5: world\nmapped: <ello,  w\nwrite: 13\ntruncate: 13\n\
                    unlink: 30\nrename: 0\nchmod: 30\nexecute: 13\n";
    assert_eq!((outcome.stdout.as_str(), outcome.status), (expected, 2));
}

/// Each thing of the guest's tree has a number of its own, by which programs tell files from others.
#[test]
fn files_are_told_apart() {
    let host = tempfile::tempdir().unwrap();
    let builder = Linux::builder().args(["numbers"]).file("/etc/one", *b"1").unwrap().file("/etc/two", *b"2").unwrap();
    let builder = builder.file_system("/data", archive(&["a", "b"])).unwrap();
    let builder = builder.file_system("/data/more", archive(&["a"])).unwrap();
    let builder = builder.dir(host.path(), "/data/host", DirAccess::ReadOnly).unwrap();
    let outcome = run(&gcc("numbers.c", STATIC), "", builder);
    let expected = "/data: a b host more\n/data/more: a\n/dev: not checked\n/etc: one two\n";
    assert_eq!((outcome.stdout.as_str(), outcome.stderr.as_str(), outcome.status), (expected, "", 0));
}

/// A method gets no path with a link in it, also for what was opened before there was one: one that follows links, as those of
/// `PassThrough` do, would lead out of the file system.
#[test]
fn links_in_place_of_what_is_open_lead_nowhere() {
    let (data, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    fs::create_dir(outside.path().join("sub")).unwrap();
    fs::write(outside.path().join("sub/secret"), "untouched").unwrap();
    fs::write(outside.path().join("file"), "untouched").unwrap();
    let state = || {
        let paths = ["", "file", "sub", "sub/secret"].map(|path| outside.path().join(path));
        paths.map(|path| fs::metadata(path).map(|file| (file.mode(), file.mtime(), file.len())).unwrap())
    };
    let before = state();
    let builder = Linux::builder().args(["swapped", "/data", outside.path().to_str().unwrap()]);
    let outcome =
        run(&gcc("swapped.c", STATIC), "", builder.file_system("/data", PassThrough::new(data.path())).unwrap());
    assert_eq!((before, outcome.status), (state(), 0), "{}", outcome.stdout);
    let count = |text: &str| outcome.stdout.matches(text).count();
    assert_eq!((count("secrets: 0"), count("its own\", 7) = 7"), count(" = -1 ")), (2, 2, 14), "{}", outcome.stdout);
}

/// A wrong answer is an error of the guest's call, or a wrong result of it, and nothing of the host's.
#[test]
fn wrong_answers_hurt_the_guest_alone() {
    for source in ["files.c", "mapped.c", "shared.c", "holes.c", "given.c"] {
        let program = gcc(source, STATIC);
        for seed in 1..60 {
            let file_system = Lying::new(seed);
            let builder = Linux::builder().args(["guest", "/data"]).current_dir("/data").unwrap();
            let linux = builder.file_system("/data", file_system).unwrap().build();
            let mut machine = machine(&Config::new(), &program, linux);
            // It may go on for ever, or meet a trap of its own.
            machine.set_fuel(Some(5_000_000));
            if let Err(error) = machine.run() {
                assert!(error.trap().is_some(), "{source}, {seed}: {error}");
            }
        }
    }
}
