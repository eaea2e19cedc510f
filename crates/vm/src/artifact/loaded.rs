//! Loading artifacts: checks the header, maps the object, and finds its tables.
//!
//! Loading trusts the artifact's code and tables. The header guards against mistakes, not against forgery.

use std::fmt;
use std::fs::File;
use std::io::Write;
use std::ops::Range;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use crate::FaultExit;
use memmap2::MmapOptions;
use object::{Object, ObjectSection, ObjectSegment, ObjectSymbol, SymbolKind};

use super::debugger::{self, Announced};
use super::dispatch::{DISPATCH_SYMBOL, Dispatch, FAULT_EXITS_SECTION, IDENTITY_SYMBOL, REENTRY_POINTS_SYMBOL};
use super::error::ArtifactError;
use super::header::{Header, Identity, Options, ProgramHash};
use super::host_abi_entries::{HOST_ABI_ENTRIES_SYMBOL, HostAbiEntries};
use super::linked::LinkedArtifact;
use super::mapping::Mapping;
use crate::arch::enter_function;
use crate::sys;
use crate::whole_file::open_regular;

/// The file in the line tables of compiled code whose lines are guest addresses. Lines of other files
/// are the guest's source; there the column is the address, as the distance in parcels of two bytes from
/// the start of the guest function, counted from 1.
pub const GUEST_FILE: &str = "guest-text";

/// A program's compiled code, loaded.
pub struct Artifact {
    header: Header,
    dispatch: Dispatch,
    host_abi_entries: HostAbiEntries,
    /// The re-entry points, sorted; in the object.
    reentry_points: &'static [u32],
    starts: OnceLock<Vec<u32>>,
    /// The fault exits of accesses; in the object.
    fault_exits: &'static [FaultExit],
    code: Range<usize>,
    /// `None` where the code is linked into the host.
    loaded: Option<Loaded>,
}

/// A compiled function in the host's memory, for profilers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Symbol {
    /// `guest::NAME`.
    pub name: String,
    /// The host addresses of its code.
    pub code: Range<usize>,
}

/// A shared object that has been loaded.
struct Loaded {
    /// The path from which it was loaded.
    path: PathBuf,
    /// Its registration with debuggers, if there is one. Before the mapping, because fields are dropped in order.
    announced: OnceLock<Option<Announced>>,
    /// Keeps the code in memory.
    mapping: Mapping,
    file: File,
}

impl Loaded {
    /// A path to the loaded file, even if another file has replaced it.
    fn own_path(&self) -> PathBuf {
        PathBuf::from(format!("/proc/self/fd/{}", self.file.as_raw_fd()))
    }

    /// The host address of an address in the object.
    fn place(&self, own: u64) -> usize {
        self.mapping.bias.wrapping_add(own as usize)
    }
}

impl fmt::Debug for Artifact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.loaded.as_ref().map(|loaded| &loaded.path);
        f.debug_struct("Artifact").field("path", &path).field("header", &self.header).finish_non_exhaustive()
    }
}

impl Artifact {
    /// Loads the artifact in a file, if it was compiled from this program and fits this host.
    ///
    /// # Errors
    /// [`ArtifactError`], which says what does not match.
    ///
    /// # Safety
    /// The artifact's code runs with all rights of the host: it must come from this compiler. The
    /// header guards against mistakes, not against forgery. The file is mapped: it must not be written
    /// to as long as the artifact is in use; it may be replaced by another one.
    pub unsafe fn load(path: &Path, program: &ProgramHash) -> Result<Artifact, ArtifactError> {
        let failed = |source| ArtifactError::File { path: path.to_owned(), source };
        let file = open_regular(path).map_err(failed)?;
        // The whole file is hashed once, in the page cache, without a copy.
        // SAFETY: the caller ensures that the file is not written to while it is mapped.
        let bytes = unsafe { MmapOptions::new().populate().map(&file) }.map_err(failed)?;
        // SAFETY: as the caller promises.
        unsafe { Artifact::open(&bytes, path.to_owned(), file, program) }
    }

    /// Loads an artifact that is in no file.
    ///
    /// # Errors
    /// As [`Artifact::load`].
    ///
    /// # Safety
    /// As [`Artifact::load`].
    pub unsafe fn from_bytes(artifact: &[u8], program: &ProgramHash) -> Result<Artifact, ArtifactError> {
        let unnamed = |source| ArtifactError::File { path: "a file in memory".into(), source };
        let mut file = sys::memory_file(c"riverrun-artifact").map_err(unnamed)?;
        file.write_all(artifact).map_err(unnamed)?;
        // SAFETY: as the caller promises.
        unsafe { Artifact::open(artifact, "a file in memory".into(), file, program) }
    }

    /// # Safety
    /// As [`Artifact::load`]; the file, which is at `path`, has these bytes.
    unsafe fn open(bytes: &[u8], path: PathBuf, file: File, program: &ProgramHash) -> Result<Artifact, ArtifactError> {
        let header = Header::open(bytes)?;
        if header.program != *program {
            return Err(ArtifactError::Program);
        }
        let object = object::File::parse(bytes).map_err(|_| ArtifactError::Damaged)?;
        let symbol = |name| object.dynamic_symbols().find(|symbol| symbol.name() == Ok(name));
        let own = |name, what| symbol(name).map(|symbol| symbol.address()).ok_or(ArtifactError::Lacks(what));
        let identity = contents(&object, own(IDENTITY_SYMBOL, "identity")?).ok_or(ArtifactError::Lacks("identity"))?;
        if let Some(what) = header.differs_from(identity) {
            return Err(ArtifactError::Header { what });
        }
        let executable = object.segments().find(|segment| is_executable(segment.flags()));
        let text = executable.ok_or(ArtifactError::Lacks("code"))?;
        let mapping = Mapping::new(&file, &object, enter_function as *const () as usize)?;
        let place = |own: u64| mapping.bias.wrapping_add(own as usize);
        let table = |name, what| own(name, what).map(place);
        let start = place(text.address());
        // SAFETY: the caller vouches for the tables; the header, whose hash is right, says how long this is, and it
        // stays mapped.
        let dispatch =
            unsafe { Dispatch::new(table(DISPATCH_SYMBOL, "table of functions")? as *const u64, header.dispatch_bits) };
        // SAFETY: as before; the list's first word is its length.
        let reentry_points = unsafe {
            let list = table(REENTRY_POINTS_SYMBOL, "list of reentry_points")? as *const u32;
            std::slice::from_raw_parts(list.add(1), *list as usize)
        };
        // SAFETY: as before.
        let host_abi_entries = unsafe {
            HostAbiEntries::new(table(HOST_ABI_ENTRIES_SYMBOL, "table of host-ABI entry points")? as *const u64)
        };
        // SAFETY: as before; the object's section has nothing else.
        let fault_exits = object.section_by_name(FAULT_EXITS_SECTION).map_or(&[][..], |section| unsafe {
            let first = place(section.address()) as *const FaultExit;
            std::slice::from_raw_parts(first, section.size() as usize / size_of::<FaultExit>())
        });
        let starts = OnceLock::new();
        let announced = OnceLock::new();
        if debugger::is_present() {
            announced.get_or_init(|| Announced::new(bytes, mapping.bias));
        }
        Ok(Artifact {
            reentry_points,
            starts,
            fault_exits,
            code: start..start + text.size() as usize,
            header,
            dispatch,
            host_abi_entries,
            loaded: Some(Loaded { path, announced, mapping, file }),
        })
    }

    /// Uses compiled code that is linked into the host, if it was compiled from this program and for this host.
    ///
    /// # Errors
    /// [`ArtifactError`], which says what does not match.
    ///
    /// # Safety
    /// It comes from this compiler.
    pub unsafe fn linked(linked: &'static LinkedArtifact, program: &ProgramHash) -> Result<Artifact, ArtifactError> {
        // SAFETY: as the caller promises.
        let header = Header::open(unsafe { linked.header() })?;
        if header.program != *program {
            return Err(ArtifactError::Program);
        }
        // SAFETY: the compiler has made the tables, and linked code is never unmapped.
        let (dispatch, host_abi_entries) = unsafe {
            (Dispatch::new(linked.dispatch, header.dispatch_bits), HostAbiEntries::new(linked.host_abi_entries))
        };
        // SAFETY: as before.
        let (reentry_points, fault_exits) = unsafe {
            let reentry_points =
                std::slice::from_raw_parts(linked.reentry_points.add(1), *linked.reentry_points as usize);
            (reentry_points, linked.fault_exits())
        };
        let code = linked.text_start as usize..linked.text_end as usize;
        let starts = OnceLock::new();
        Ok(Artifact { header, dispatch, host_abi_entries, reentry_points, starts, fault_exits, code, loaded: None })
    }

    /// Registers the code for debuggers that attach later; one that was attached at loading knows it already. Code that is
    /// linked into the host needs no registration.
    ///
    /// # Errors
    /// [`ArtifactError::File`], if the file cannot be read again.
    pub fn show_to_debuggers(&self) -> Result<(), ArtifactError> {
        let Some(loaded) = self.loaded.as_ref().filter(|loaded| loaded.announced.get().is_none()) else {
            return Ok(());
        };
        let failed = |source| ArtifactError::File { path: loaded.path.clone(), source };
        let bytes = std::fs::read(loaded.own_path()).map_err(failed)?;
        loaded.announced.get_or_init(|| Announced::new(&bytes, loaded.mapping.bias));
        Ok(())
    }

    /// How the code was compiled.
    pub fn options(&self) -> Options {
        self.header.options
    }

    pub(crate) fn code(&self) -> Range<usize> {
        self.code.clone()
    }

    /// The size of its machine code, in bytes.
    pub fn code_size(&self) -> usize {
        self.code.len()
    }

    /// The fault exits of accesses.
    pub(crate) fn fault_exits(&self) -> &'static [FaultExit] {
        self.fault_exits
    }

    /// The guest addresses at which code can be entered: starts and re-entry points.
    pub fn reentry_points(&self) -> impl Iterator<Item = u64> {
        self.starts().iter().chain(self.reentry_points).map(|&pc| u64::from(pc))
    }

    /// The number of its functions.
    pub fn functions(&self) -> usize {
        self.starts().len()
    }

    /// Where functions begin, sorted.
    fn starts(&self) -> &[u32] {
        self.starts.get_or_init(|| self.dispatch.starts())
    }

    /// The host address of the function that begins at `pc`.
    pub fn function(&self, pc: u64) -> Option<usize> {
        self.dispatch.find(pc)
    }

    /// The host-ABI entry point of the function that begins at `pc`.
    pub(crate) fn host_abi_entry(&self, pc: u64) -> Option<usize> {
        self.host_abi_entries.find(pc)
    }

    /// The guest address of the function whose host code, or host-ABI entry point, has the nearest start at or before
    /// `host`.
    pub(crate) fn start_before(&self, host: usize) -> Option<u64> {
        let bodies = self.dispatch.before(host).into_iter().chain(self.host_abi_entries.before(host));
        bodies.max_by_key(|(_, code)| *code).map(|(pc, _)| pc)
    }

    /// The start of the function that has the re-entry point `pc`.
    pub(crate) fn entered_at(&self, pc: u64) -> Option<u64> {
        let pc = u32::try_from(pc).ok()?;
        self.reentry_points.binary_search(&pc).ok()?;
        let starts = self.starts();
        let behind = starts.partition_point(|&start| start <= pc);
        Some(u64::from(*starts.get(behind.checked_sub(1)?)?))
    }

    /// The functions by the object's table of symbols, read anew, in the order of their addresses; none where the code
    /// is linked into the host, whose own table has them.
    ///
    /// # Errors
    /// [`ArtifactError::File`], or [`ArtifactError::Damaged`] if the file has changed.
    pub fn symbols(&self) -> Result<Vec<Symbol>, ArtifactError> {
        let Some(loaded) = &self.loaded else { return Ok(Vec::new()) };
        let failed = |source| ArtifactError::File { path: loaded.path.clone(), source };
        let bytes = std::fs::read(loaded.own_path()).map_err(failed)?;
        let object = object::File::parse(&*bytes).map_err(|_| ArtifactError::Damaged)?;
        let functions = object.symbols().filter(|symbol| symbol.is_definition() && symbol.kind() == SymbolKind::Text);
        let place = |symbol: object::Symbol<'_, '_>| {
            let start = loaded.place(symbol.address());
            Some(Symbol { name: symbol.name().ok()?.to_owned(), code: start..start + symbol.size() as usize })
        };
        let mut symbols: Vec<Symbol> = functions.filter_map(place).collect();
        symbols.sort_by_key(|symbol| symbol.code.start);
        Ok(symbols)
    }

    /// The guest instruction that a host instruction belongs to, by the object's line table; where the
    /// code is linked into the host, whose line table may be anywhere, its function's first.
    pub(crate) fn guest_pc(&self, host: usize) -> Option<u64> {
        let Some(loaded) = &self.loaded else { return self.start_before(host) };
        let loader = addr2line::Loader::new(loaded.own_path()).ok()?;
        let address = host.wrapping_sub(loaded.mapping.bias) as u64;
        // A merged instruction has no line of its own; use its neighbour's.
        (0..64).find_map(|back| {
            let location = loader.find_location(address.checked_sub(back)?).ok()??;
            if location.file.is_some_and(|file| file.ends_with(GUEST_FILE)) {
                return location.line.filter(|&line| line != 0).map(u64::from);
            }
            let column = location.column.filter(|&column| column != 0)?;
            let start = self.start_before(host - back as usize)?;
            Some(start + 2 * u64::from(column - 1))
        })
    }
}

/// The bytes that an object has at an address.
fn contents<'data>(object: &object::File<'data>, address: u64) -> Option<&'data Identity> {
    let size = size_of::<Identity>() as u64;
    object.segments().find_map(|segment| segment.data_range(address, size).ok()??.first_chunk())
}

fn is_executable(flags: object::SegmentFlags) -> bool {
    matches!(flags, object::SegmentFlags::Elf { p_flags, .. } if p_flags.0 & object::elf::PF_X.0 != 0)
}
