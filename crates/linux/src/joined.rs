//! Dynamically linked programs: the dynamic linker and the libraries that a program needs are found in the guest's own tree,
//! and their text becomes part of the program ([`JoinedProgram`]). The guest's dynamic linker then maps the same files,
//! which are placed where their text is.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use riverrun::image::{DynamicObject, Image, JoinedProgram, LoadError};
use riverrun::{Memory, PAGE_SIZE, Perm};
use rustix::fs::{Dir, FileType, Mode};
use rustix::io::Errno;

use crate::call::{Patience, Stop};
use crate::error::Error;
use crate::files::{open_host, open_virtual};
use crate::guest_path::GuestPath;
use crate::host_file::SizeLimit;
use crate::memory::NO_NEW_CODE;
use crate::memory_file::{MemoryFile, Origin};
use crate::open_file::{Directory, DirectoryPlace, Kind, OpenFile};
use crate::own::Own;
use crate::paths::{Names, Node};
use crate::refusal::{Reason, Refusal};
use crate::shared_mappings::{FileId, read_whole, size};

/// Where glibc's and musl's dynamic linkers look for libraries.
const FOLDERS: [&str; 7] = [
    "/lib/riscv64-linux-gnu",
    "/usr/lib/riscv64-linux-gnu",
    "/lib64/lp64d",
    "/usr/lib64/lp64d",
    "/lib",
    "/usr/lib",
    "/usr/local/lib",
];
/// The C library that loads another one by itself, for `pthread_exit` and `backtrace`; without it, a program aborts there.
const GLIBC: &str = "libc.so.6";
const LOADED_BY_GLIBC: &str = "libgcc_s.so.1";
/// The most files that are joined.
const MAX_LIBRARIES: usize = 512;
/// The most names of libraries that are looked for.
const MAX_NAMES: usize = 4096;
/// The most bytes of all files that are joined.
const MAX_BYTES: u64 = 1 << 30;

/// A dynamically linked program with its dynamic linker and libraries, as [`Builder::join`](crate::Builder::join) makes it.
#[derive(Clone, Debug)]
pub struct Joined {
    /// The file that was joined.
    pub(crate) file: Arc<[u8]>,
    pub(crate) program: JoinedProgram,
    libraries: Vec<Library>,
}

#[derive(Clone, Debug)]
struct Library {
    id: FileId,
    /// As [`Found::known_by`].
    _known_by: Option<Arc<OpenFile>>,
    base: u64,
    /// For each part of its text, where it begins in the file, and its address in the guest's memory.
    text: Vec<(u64, u64)>,
}

/// A file's contents, and which file it is.
#[derive(Clone)]
struct Found {
    bytes: Arc<[u8]>,
    id: FileId,
    /// Keeps what its identity is the address of: the host's bytes or file system.
    known_by: Option<Arc<OpenFile>>,
}

impl Joined {
    /// What machines are made of: an executable for `Program::new`.
    pub fn bytes(&self) -> Arc<[u8]> {
        self.program.bytes.clone()
    }

    fn library(&self, file: &OpenFile) -> Option<&Library> {
        let id = FileId::of(&file.kind)?;
        self.libraries.iter().find(|library| library.id == id)
    }

    /// Where a mapping of `len` bytes from the beginning of a library has to be, unless the library is mapped there.
    pub(crate) fn place(&self, file: &OpenFile, len: u64, memory: &Memory) -> Option<u64> {
        let library = self.library(file)?;
        let wanted = library.base..library.base.checked_add(len)?;
        let is_text = |range: &Range<u64>| {
            let within = memory.regions().iter().filter(|region| region.start < range.end && range.start < region.end);
            within.clone().all(|region| region.perm.contains(Perm::EXECUTE))
        };
        is_text(&wanted).then_some(library.base)
    }

    /// Fails unless what is to be executable is text that the program was joined with, at its place.
    pub(crate) fn check_text(&self, file: &OpenFile, start: u64, offset: u64) -> Result<(), Stop> {
        let is_page_of =
            |part: &(u64, u64)| part.0 / PAGE_SIZE * PAGE_SIZE == offset && part.1 / PAGE_SIZE * PAGE_SIZE == start;
        match self.library(file) {
            Some(library) if library.text.iter().any(is_page_of) => Ok(()),
            Some(_) => Err(Stop::Absent("code of a library that is mapped twice, or not as a whole")),
            None => Err(match (file.path(), &file.kind) {
                (Some(_), Kind::Memory(made)) if made.origin == Origin::Guest => NO_NEW_CODE,
                (Some(path), _) => Stop::Refused(Refusal { path: path.clone(), reason: Reason::UnnamedLibrary }),
                (None, _) => NO_NEW_CODE,
            }),
        }
    }
}

/// As [`Builder::join`](crate::Builder::join).
pub(crate) fn join(names: &Names, file: Arc<[u8]>, libraries: &[String]) -> Result<Option<Joined>, Error> {
    let main = parse("the program", file.clone())?;
    let Some(path) = main.interpreter() else { return Ok(None) };
    let cannot = |reason: String| Error::Join { path: path.to_owned(), reason };
    let mut tree = Tree { names, left: MAX_BYTES };
    let Some(interpreter) = tree.read(path).map_err(|errno| cannot(errno.to_string()))? else {
        return Err(cannot(
            "it is not in the guest's tree: grant the directories that it and the libraries are in".into(),
        ));
    };
    let mut found: Vec<(DynamicObject, Found)> = vec![];
    let mut seen = BTreeSet::new();
    let mut ids = vec![interpreter.id];
    let interpreter = parse(path, interpreter.bytes)?;
    let run_path = |object: &DynamicObject| object.run_path().map(str::to_owned);
    let mut ahead: Vec<(String, Option<String>)> = vec![];
    for name in libraries {
        let cannot = |reason| Error::Join { path: name.clone(), reason };
        let in_folder = tree.libraries_in(name).map_err(|errno| match errno {
            Errno::TOOBIG => {
                cannot(format!("there are more than {MAX_NAMES} files in it: name the libraries themselves"))
            }
            errno => cannot(errno.to_string()),
        })?;
        let count = in_folder.as_deref().map_or(0, |inside| tree.count(inside));
        if count > MAX_LIBRARIES {
            let reason = format!(
                "there are {count} libraries in it, of which at most {MAX_LIBRARIES} can be joined: \
                 name those that the program loads"
            );
            return Err(cannot(reason));
        }
        ahead.extend(in_folder.unwrap_or_else(|| vec![name.clone()]).into_iter().map(|name| (name, run_path(&main))));
    }
    // Before what is needed, so that it is looked at last.
    if main.needed().iter().any(|name| name == GLIBC) {
        ahead.push((LOADED_BY_GLIBC.to_owned(), None));
    }
    let needs = |object: &DynamicObject| {
        object.needed().iter().rev().map(|name| (name.clone(), run_path(object))).collect::<Vec<_>>()
    };
    ahead.extend(needs(&main));
    while let Some((name, run_path)) = ahead.pop() {
        if !seen.insert(name.clone()) {
            continue;
        }
        if seen.len() > MAX_NAMES || found.len() == MAX_LIBRARIES {
            let reason = format!("it needs more than {MAX_LIBRARIES} libraries, with those that were named");
            return Err(Error::Join { path: "the program".to_owned(), reason });
        }
        let in_tree = tree.find(&name, run_path.as_deref());
        let too_large = |_| cannot(format!("the libraries have more than {MAX_BYTES} bytes, {name} among them"));
        let Some(file) = in_tree.map_err(too_large)? else {
            // The dynamic linker says of one that the program needs, and would not of one that it may load later.
            if libraries.contains(&name) {
                let reason = "there is no such library in the guest's tree".into();
                return Err(Error::Join { path: name, reason });
            }
            continue;
        };
        if ids.contains(&file.id) {
            continue;
        }
        // The dynamic linker says of a file that is no library.
        let Ok(object) = DynamicObject::parse(file.bytes.clone()) else { continue };
        ids.push(file.id);
        ahead.extend(needs(&object));
        found.push((object, file));
    }
    let objects: Vec<DynamicObject> = found.iter().map(|(object, _)| object.clone()).collect();
    let program = JoinedProgram::new(&main, &interpreter, &objects).map_err(|error| cannot(error.to_string()))?;
    let placed = found.iter().zip(&program.bases);
    let libraries = placed.map(|((object, file), &base)| Library {
        id: file.id,
        _known_by: file.known_by.clone(),
        base,
        text: object.text().map(|(offset, address)| (offset, base + address)).collect(),
    });
    Ok(Some(Joined { libraries: libraries.collect(), file, program }))
}

fn parse(name: &str, bytes: Arc<[u8]>) -> Result<DynamicObject, Error> {
    let failed = |error: LoadError| Error::Join { path: name.to_owned(), reason: error.to_string() };
    DynamicObject::parse(bytes).map_err(failed)
}

/// The guest's tree, of whose files this many bytes may still be read.
struct Tree<'a> {
    names: &'a Names,
    left: u64,
}

impl Tree<'_> {
    /// The library of this name, or at this path; `EFBIG` if it is too large. One that cannot be read is none.
    fn find(&mut self, name: &str, run_path: Option<&str>) -> Result<Option<Found>, Errno> {
        let first = run_path.unwrap_or_default().split(':').filter(|folder| folder.starts_with('/'));
        let mut paths: Vec<String> = first.chain(FOLDERS).map(|folder| format!("{folder}/{name}")).collect();
        if name.contains('/') {
            paths = vec![name.to_owned()];
        }
        for path in paths {
            match self.read(&path) {
                Ok(None) => {}
                Err(errno) if errno != Errno::FBIG => {}
                ended => return ended,
            }
        }
        Ok(None)
    }

    /// The libraries in the directory of the host that has this path, and below it; `None` if none has.
    fn libraries_in(&self, path: &str) -> Result<Option<Vec<String>>, Errno> {
        if !path.starts_with('/') {
            return Ok(None);
        }
        let mut found = vec![];
        let mut ahead = vec![path.to_owned()];
        while let Some(folder) = ahead.pop() {
            let fd = match self.open(&folder) {
                Ok(Kind::Directory(Directory { place: DirectoryPlace::Host(fd, _), .. })) => fd,
                _ if folder == path => return Ok(None),
                Err(errno @ (Errno::MFILE | Errno::NFILE)) => return Err(errno),
                _ => continue,
            };
            for entry in Dir::read_from(fd)? {
                let entry = entry?;
                let Ok(name) = entry.file_name().to_str() else { continue };
                let inside = format!("{}/{name}", folder.trim_end_matches('/'));
                if name.ends_with(".so") || name.contains(".so.") {
                    found.push(inside);
                } else if matches!(entry.file_type(), FileType::Directory | FileType::Unknown) && !name.starts_with('.')
                {
                    ahead.push(inside);
                }
            }
            if found.len() + ahead.len() > MAX_NAMES {
                return Err(Errno::TOOBIG);
            }
        }
        found.sort();
        Ok(Some(found))
    }

    /// How many files of these names are libraries, which may have several names. Reads no more of them than it must.
    fn count(&self, names: &[String]) -> usize {
        if names.len() <= MAX_LIBRARIES {
            return names.len();
        }
        let mut ids = vec![];
        for name in names {
            let Ok(kind) = self.open(name) else { continue };
            let file = OpenFile::new(kind, 0);
            let mut head = [0; Image::MAGIC.len()];
            let is_library = read_whole(&file, &mut head, 0) == Ok(head.len()) && head == Image::MAGIC;
            ids.extend(FileId::of(&file.kind).filter(|id| is_library && !ids.contains(id)));
        }
        ids.len()
    }

    /// Opens what has this path.
    fn open(&self, path: &str) -> Result<Kind, Errno> {
        let open = || -> Result<Kind, Stop> {
            let (limit, patience) = (SizeLimit::default(), Patience::endless());
            let found = self.names.resolve(&GuestPath::default(), path.as_bytes(), true, patience)?;
            match found.node {
                Node::Host(name) => open_host(&name, 0, Mode::empty(), limit, patience),
                Node::Virtual(name) => open_virtual(name, 0, Mode::empty(), limit),
                Node::Own(Own::File(inode)) => {
                    Ok(Kind::Memory(MemoryFile::new(found.path, inode, Origin::Name, limit)))
                }
                Node::Own(_) | Node::Memory(_) => Err(Errno::NOENT.into()),
            }
        };
        open().map_err(errno)
    }

    /// A file's contents, and which file it is; `None` if there is none. `EFBIG` if too few bytes are left for it.
    fn read(&mut self, path: &str) -> Result<Option<Found>, Errno> {
        let file = match self.open(path) {
            Ok(Kind::Directory(_)) => return Err(Errno::ISDIR),
            Ok(kind) => OpenFile::new(kind, 0),
            Err(Errno::NOENT | Errno::NOTDIR) => return Ok(None),
            Err(errno) => return Err(errno),
        };
        let id = FileId::of(&file.kind).ok_or(Errno::IO)?;
        let len = size(&file.kind).map_err(errno)?.unwrap_or_default();
        self.left = self.left.checked_sub(len).ok_or(Errno::FBIG)?;
        let mut bytes = vec![0; len as usize];
        let read = read_whole(&file, &mut bytes, 0).map_err(errno)?;
        bytes.truncate(read);
        let known_by = (!matches!(file.kind, Kind::Regular(_))).then(|| Arc::new(file));
        Ok(Some(Found { bytes: bytes.into(), id, known_by }))
    }
}

fn errno(stop: Stop) -> Errno {
    match stop {
        Stop::Errno(errno) => errno,
        Stop::Refused(refusal) => refusal.errno(),
        _ => Errno::IO,
    }
}
