//! Snapshots as bytes and files.
//!
//! ```text
//! MAGIC, format, length, program's hash, checksum    the header
//! version of riverrun                                for messages
//! contents                                           in postcard's encoding
//! pages                                              those that differ from their origin
//! ```
//!
//! The bytes are the same whatever engine and host has run the guest. They need not be trusted: the checksum tells damage
//! from riverrun's own bytes, and all that machines rely on is checked here or where the part belongs
//! ([`SavedMemory::from_parts`], [`HeapRecords::restore`]).

use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use riverrun_vm::{Hart, MIN_ADDRESS, PAGE_SIZE, Page, Perm, Region, STACK_GUARD, SavedMemory};
use serde::{Deserialize, Serialize};

use super::{Guest, Snapshot, SnapshotError, check_space};
use crate::error::Error;
use crate::heap::{HeapRecords, SavedHeap};
use crate::program::Program;

/// The first bytes, which no text and no other format begins with.
const MAGIC: [u8; 8] = *b"\x89RRSNAP\n";
/// The version of the format. What changes the bytes or what they mean changes it: fields, classes of the heap.
const FORMAT: u32 = 2;
const HASH: usize = 32;
const HEADER: usize = MAGIC.len() + 4 + 8 + 2 * HASH;
/// Bytes that a file may have beyond the guest's memory: the host's sections, and the heap's records.
const BESIDES_MEMORY: u64 = 1 << 30;
/// More instructions than any guest executes, and no sum of two overflows.
const MAX_INSTRUCTIONS: u64 = 1 << 62;

#[derive(Serialize, Deserialize)]
struct Contents {
    /// Bits of the guest's addresses.
    address_bits: u32,
    hart: SavedHart,
    regions: Vec<SavedRegion>,
    /// The program's image in memory, as first page and number of pages.
    image: Vec<(u32, u32)>,
    /// The numbers of the pages that follow.
    pages: Vec<u32>,
    heap: SavedHeap,
    stack: Range<u64>,
    lost: Option<u64>,
    is_suspended: bool,
    is_initializing: bool,
    guards_floats: bool,
    sections: Vec<(String, Vec<u8>)>,
}

#[derive(Serialize, Deserialize)]
struct SavedRegion {
    page: u32,
    pages: u32,
    perm: u8,
}

#[derive(Serialize, Deserialize)]
struct SavedHart {
    x: Vec<u64>,
    f: Vec<u64>,
    pc: u64,
    fflags: u8,
    frm: u8,
    instret: u64,
    reservation: u64,
    reserved_value: u64,
}

/// Permissions, and the bit that each has in a file.
const PERMISSIONS: [(u8, Perm); 3] = [(1, Perm::READ), (2, Perm::WRITE), (4, Perm::EXECUTE)];

fn impossible(what: impl std::fmt::Display) -> SnapshotError {
    SnapshotError::Impossible { what: what.to_string() }
}

/// A page's number; addresses of a guest have 32 bits.
fn page(address: u64) -> u32 {
    (address / PAGE_SIZE) as u32
}

fn address(page: u32) -> u64 {
    u64::from(page) * PAGE_SIZE
}

fn addresses(page: u32, pages: u32) -> Range<u64> {
    address(page)..address(page) + address(pages)
}

impl SavedHart {
    fn of(hart: &Hart) -> SavedHart {
        SavedHart {
            x: (0..32).map(|n| hart.x(n)).collect(),
            f: (0..32).map(|n| hart.f(n)).collect(),
            pc: hart.pc,
            fflags: hart.fflags as u8,
            frm: hart.frm as u8,
            instret: hart.instret,
            reservation: hart.reservation,
            reserved_value: hart.reserved_value,
        }
    }

    fn restore(&self) -> Result<Hart, SnapshotError> {
        let is_sound = self.x.len() == 32
            && self.f.len() == 32
            && self.x[0] == 0
            && self.fflags < 32
            && self.frm < 8
            && self.instret <= MAX_INSTRUCTIONS;
        if !is_sound {
            return Err(impossible("its registers"));
        }
        let mut hart = Hart::new();
        for (n, (&x, &f)) in (0..).zip(self.x.iter().zip(&self.f)) {
            hart.set_x(n, x);
            hart.set_f(n, f);
        }
        hart.pc = self.pc;
        (hart.fflags, hart.frm) = (self.fflags.into(), self.frm.into());
        hart.instret = self.instret;
        (hart.reservation, hart.reserved_value) = (self.reservation, self.reserved_value);
        Ok(hart)
    }
}

impl SavedRegion {
    fn of(region: &Region) -> SavedRegion {
        let bits = PERMISSIONS.iter().filter(|(_, perm)| region.perm.contains(*perm)).map(|(bit, _)| bit).sum();
        SavedRegion { page: page(region.start), pages: page(region.end - region.start), perm: bits }
    }

    fn restore(&self) -> Result<Region, SnapshotError> {
        if self.perm >= 8 {
            return Err(impossible("permissions that do not exist"));
        }
        let range = addresses(self.page, self.pages);
        let allowed = PERMISSIONS.iter().filter(|(bit, _)| self.perm & bit != 0);
        let perm = allowed.fold(Perm::NONE, |perm, (_, allowed)| perm | *allowed);
        Ok(Region { start: range.start, end: range.end, perm })
    }
}

/// How many mappings the kernel needs at most for these regions and the holes between them.
fn mappings(regions: &[Region]) -> usize {
    let holes = regions.windows(2).filter(|pair| pair[0].end != pair[1].start).count();
    regions.len() + holes
}

impl Contents {
    /// All but the bytes of the pages.
    fn of(snapshot: &Snapshot) -> Contents {
        let guest = &snapshot.guest;
        let memory = &guest.memory;
        Contents {
            address_bits: snapshot.program.engine().config.address_bits,
            hart: SavedHart::of(&guest.hart),
            regions: memory.regions().iter().map(SavedRegion::of).collect(),
            image: memory
                .image_ranges()
                .iter()
                .map(|range| (page(range.start), page(range.end - range.start)))
                .collect(),
            pages: memory.pages().map(|(address, _)| page(address)).collect(),
            heap: guest.heap.save(),
            stack: guest.stack.clone(),
            lost: guest.lost,
            is_suspended: guest.is_suspended,
            is_initializing: guest.is_initializing,
            guards_floats: guest.guards_floats,
            sections: snapshot.sections().map(|(name, bytes)| (name.to_owned(), bytes.to_vec())).collect(),
        }
    }

    fn restore(self, pages: &[u8], program: &Program) -> Result<Snapshot, SnapshotError> {
        let (bytes, rest) = pages.as_chunks::<{ PAGE_SIZE as usize }>();
        if bytes.len() != self.pages.len() || !rest.is_empty() {
            return Err(impossible("another number of pages than it says"));
        }
        check_space(self.address_bits, program)?;
        let config = &program.engine().config;
        let space = config.space();
        let regions = self.regions.iter().map(SavedRegion::restore).collect::<Result<Vec<_>, _>>()?;
        if mappings(&regions).max(self.image.len()) > config.mapping_limit {
            return Err(SnapshotError::Pieces { limit: config.mapping_limit });
        }
        let image = self.image.iter().map(|&(page, pages)| addresses(page, pages)).collect();
        let contents = self.pages.iter().zip(bytes).map(|(&page, bytes)| (address(page), Arc::<Page>::new(*bytes)));
        let memory =
            SavedMemory::from_parts(regions, image, contents.collect(), program.memory(), space).map_err(impossible)?;
        if memory.used() > config.memory_limit {
            return Err(SnapshotError::Memory { needed: memory.used(), limit: config.memory_limit });
        }
        let stack_is_sound = MIN_ADDRESS + STACK_GUARD <= self.stack.start
            && self.stack.start <= self.stack.end
            && self.stack.end <= space.end();
        if !stack_is_sound {
            return Err(impossible("its stack"));
        }
        let guest = Guest {
            hart: self.hart.restore()?,
            heap: HeapRecords::restore(&self.heap, memory.used(), space)
                .ok_or_else(|| impossible("its heap's records"))?,
            memory,
            stack: self.stack,
            lost: self.lost,
            is_suspended: self.is_suspended,
            is_initializing: self.is_initializing,
            guards_floats: self.guards_floats,
        };
        let sections: BTreeMap<_, Arc<[u8]>> =
            self.sections.into_iter().map(|(name, bytes)| (name, bytes.into())).collect();
        Ok(Snapshot { sections: Arc::new(sections), ..Snapshot::new(program.clone(), guest) })
    }
}

/// What a header says.
struct Header {
    format: u32,
    /// Of everything, the header included.
    len: u64,
    program: [u8; HASH],
    checksum: [u8; HASH],
}

impl Header {
    /// # Errors
    /// If these bytes, which may be more, do not begin with a header.
    fn parse(bytes: &[u8]) -> Result<Header, SnapshotError> {
        let Some(header) = bytes.get(..HEADER) else {
            return Err(match MAGIC.starts_with(&bytes[..bytes.len().min(MAGIC.len())]) && !bytes.is_empty() {
                true => SnapshotError::Length { found: bytes.len() as u64, expected: HEADER as u64 },
                false => SnapshotError::NotASnapshot,
            });
        };
        let mut rest = header;
        let mut take = |len| {
            let (taken, others) = rest.split_at(len);
            rest = others;
            taken
        };
        if take(MAGIC.len()) != MAGIC {
            return Err(SnapshotError::NotASnapshot);
        }
        let number = |bytes: &[u8]| bytes.iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte));
        let format = number(take(4)) as u32;
        let len = number(take(8));
        let mut hash = || {
            let mut hash = [0; HASH];
            hash.copy_from_slice(take(HASH));
            hash
        };
        Ok(Header { format, len, program: hash(), checksum: hash() })
    }

    fn to_bytes(&self) -> [u8; HEADER] {
        let mut bytes = [0; HEADER];
        let parts: [&[u8]; 5] =
            [&MAGIC, &self.format.to_le_bytes(), &self.len.to_le_bytes(), &self.program, &self.checksum];
        for (to, from) in bytes.iter_mut().zip(parts.into_iter().flatten()) {
            *to = *from;
        }
        bytes
    }

    /// The checksum of the header, its own checksum left out, and what follows it.
    fn checksum(&self, rest: &[&[u8]]) -> [u8; HASH] {
        let mut hasher = blake3::Hasher::new();
        hasher.update(&Header { checksum: [0; HASH], ..*self }.to_bytes());
        for part in rest {
            hasher.update(part);
        }
        hasher.finalize().into()
    }
}

impl Snapshot {
    /// The snapshot as bytes, the sections included: the same on every host and of every engine. Pages that are zero, or as
    /// the program has them, take no room. [`Snapshot::from_bytes`] reads them.
    ///
    /// ```
    /// use riverrun::{Config, Engine, Linker, Program, Snapshot};
    ///
    /// let engine = Engine::new(&Config::new())?;
    /// let program = Program::new(&engine, riverrun::doc::TINY)?;
    /// let linker = Linker::new(&engine);
    /// let mut machine = linker.instantiate(&program, ())?;
    /// machine.set_x(5, 7);
    /// let bytes = machine.snapshot()?.to_bytes();
    ///
    /// // Later, on another host perhaps:
    /// let snapshot = Snapshot::from_bytes(&program, &bytes)?;
    /// let mut again = linker.instantiate_from(&snapshot, ())?;
    /// assert_eq!((again.x(5), again.run()?), (7, 42));
    /// # Ok::<(), riverrun::Error>(())
    /// ```
    pub fn to_bytes(&self) -> Vec<u8> {
        let version = env!("CARGO_PKG_VERSION");
        let mut bytes = vec![0; HEADER];
        bytes.push(version.len() as u8);
        bytes.extend(version.as_bytes());
        // Vectors grow as needed, and the types have no form that cannot be encoded.
        let mut bytes = postcard::to_extend(&Contents::of(self), bytes).unwrap_or_default();
        bytes.reserve(self.guest.memory.pages().count() * PAGE_SIZE as usize);
        for (_, page) in self.guest.memory.pages() {
            bytes.extend(page);
        }
        let header =
            Header { format: FORMAT, len: bytes.len() as u64, program: *self.program.hash(), checksum: [0; HASH] };
        let checksum = header.checksum(&[&bytes[HEADER..]]);
        bytes[..HEADER].copy_from_slice(&Header { checksum, ..header }.to_bytes());
        bytes
    }

    /// Reads what [`Snapshot::to_bytes`] has given, of the same program.
    ///
    /// The bytes need not be trusted: their author chooses what the guest does next, within the program's sandbox. A
    /// host that relies on what the guest has done before must know where they come from. The limits of the program's
    /// [`Engine`](crate::Engine) hold.
    ///
    /// # Errors
    /// [`SnapshotError`] says what is wrong with the bytes, and what to do.
    pub fn from_bytes(program: &Program, bytes: &[u8]) -> Result<Snapshot, Error> {
        let header = Header::parse(bytes)?;
        let (version, rest) = riverrun_version(bytes);
        if header.format != FORMAT {
            return Err(SnapshotError::Format { found: header.format, supported: FORMAT, by: version }.into());
        }
        if header.len != bytes.len() as u64 {
            return Err(SnapshotError::Length { found: bytes.len() as u64, expected: header.len }.into());
        }
        // A fuzzer cannot guess it, and the rest is to be fuzzed.
        if header.checksum(&[&bytes[HEADER..]]) != header.checksum && !cfg!(fuzzing) {
            return Err(SnapshotError::Checksum.into());
        }
        if header.program != *program.hash() {
            return Err(SnapshotError::OtherProgram.into());
        }
        let (contents, pages) =
            postcard::take_from_bytes::<Contents>(rest).map_err(|_| impossible("contents that cannot be read"))?;
        Ok(contents.restore(pages, program)?)
    }

    /// Writes [`Snapshot::to_bytes`] to a file. A file that is there is replaced in one step; a pipe or device is
    /// written to.
    ///
    /// # Errors
    /// [`Error::Output`] names the file.
    pub fn write_to(&self, path: impl AsRef<Path>) -> Result<(), Error> {
        let path = path.as_ref();
        riverrun_vm::write_whole(path, &self.to_bytes())
            .map_err(|source| Error::Output { path: path.to_owned(), source })
    }

    /// Reads a file that [`Snapshot::write_to`] has written: as [`Snapshot::from_bytes`].
    ///
    /// ```no_run
    /// # use riverrun::{Config, Engine, Linker, Program, Snapshot};
    /// # let engine = Engine::new(&Config::new())?;
    /// let program = Program::from_file(&engine, "game.elf")?;
    /// let snapshot = Snapshot::read(&program, "level3.snapshot")?;
    /// # Ok::<(), riverrun::Error>(())
    /// ```
    ///
    /// # Errors
    /// Likewise; [`Error::File`] if it cannot be read, and [`SnapshotError::TooLarge`] if it has more bytes than a guest's
    /// memory and 1 GiB of sections.
    pub fn read(program: &Program, path: impl AsRef<Path>) -> Result<Snapshot, Error> {
        let path = path.as_ref();
        let failed = |source| Error::File { path: path.to_owned(), source };
        let limit = program.engine().config.memory_limit.min(program.engine().config.space().size()) + BESIDES_MEMORY;
        let mut file = fs::File::open(path).map_err(failed)?;
        // What a device or a pipe gives has no length before.
        let mut bytes = Vec::new();
        Read::by_ref(&mut file).take(HEADER as u64).read_to_end(&mut bytes).map_err(failed)?;
        let Header { format, len, .. } = Header::parse(&bytes)?;
        if len > limit {
            return Err(SnapshotError::TooLarge { found: len, limit }.into());
        }
        // One more shows that there is more.
        let rest = len.saturating_sub(HEADER as u64).saturating_add(1);
        Read::by_ref(&mut file).take(rest).read_to_end(&mut bytes).map_err(failed)?;
        if bytes.len() as u64 > len && format == FORMAT {
            let found = file.metadata().map_err(failed)?.len().max(bytes.len() as u64);
            return Err(SnapshotError::Length { found, expected: len }.into());
        }
        Snapshot::from_bytes(program, &bytes)
    }
}

/// The version of riverrun that has written these bytes, for messages, and what follows it.
fn riverrun_version(bytes: &[u8]) -> (String, &[u8]) {
    let rest = bytes.get(HEADER..).unwrap_or_default();
    let Some((&len, rest)) = rest.split_first() else { return ("?".to_owned(), &[]) };
    let Some((version, rest)) = rest.split_at_checked(len.into()) else { return ("?".to_owned(), &[]) };
    let printable = version.iter().map(|&byte| char::from(byte)).filter(|c| c.is_ascii_graphic());
    (printable.collect(), rest)
}
