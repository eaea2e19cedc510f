//! A program's imports and exports: the host functions that it calls, and the functions that it offers to its host. Each
//! kind has an ELF section, whose records are written by the headers in `guest/include/`:
//!
//! ```text
//! .riverrun.imports   u32 index, u32 hash, u64 name, u64 signature
//! .riverrun.exports   u64 address, u64 name, u64 signature
//! ```
//!
//! `name` and `signature` are addresses of C strings. `index` is the number in the instruction `rr.call`,
//! `hash` the CRC-32 of the name. If a signature's address is 0, types are not checked.
//!
//! The program is untrusted, and so is every field of a record.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fmt;

use object::LittleEndian;
use object::elf::{self, FileHeader64};
use object::read::elf::{FileHeader, SectionHeader};

use crate::error::LoadError;
use crate::image::Image;
use crate::sections::Section;
use crate::signature::Signature;

/// The section of [`Import`]s.
pub const IMPORTS_SECTION: &str = ".riverrun.imports";
/// The section of [`Export`]s.
pub const EXPORTS_SECTION: &str = ".riverrun.exports";
/// Numbers of imports are below this.
pub const IMPORTS_MAX: u32 = 1 << 16;
/// Numbers below this are reserved for functions that come with riverrun.
pub const OWN_IMPORTS: u32 = 32;
/// Bytes of a name or signature at most.
pub const TEXT_MAX: usize = 4096;

const RECORD_SIZE: usize = 24;

/// The CRC-32 by which host functions are called dynamically (that of zlib and IEEE 802.3).
///
/// ```
/// assert_eq!(riverrun_program::crc32("empty"), 0x68c7_3dc4);
/// ```
pub fn crc32(name: &str) -> u32 {
    crc32fast::hash(name.as_bytes())
}

/// A host function that the program calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Import {
    /// The number in the program's `rr.call` instructions.
    pub index: u32,
    /// The name by which the host knows it.
    pub name: String,
    /// How it is called, where the program says so.
    pub signature: Option<Signature>,
}

/// A function that the program offers to its host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Export {
    /// The address of its first instruction.
    pub address: u64,
    /// The name by which the host asks for it.
    pub name: String,
    /// How it is called, where the program says so.
    pub signature: Option<Signature>,
}

impl Image {
    /// The host functions that the program calls, by their numbers. Equal records, as several source
    /// files leave them, are one.
    ///
    /// # Errors
    /// [`LoadError::Section`], [`LoadError::Record`], [`LoadError::Conflict`], which name the record.
    pub fn imports(&self) -> Result<Vec<Import>, LoadError> {
        let reader = Reader::new(self);
        let mut by_index: HashMap<u32, Import> = HashMap::new();
        for (number, [head, name, signature]) in reader.records(IMPORTS_SECTION)?.into_iter().enumerate() {
            let wrong = |problem: String| LoadError::Record { section: IMPORTS_SECTION, number, problem };
            let (index, hash) = (head as u32, (head >> 32) as u32);
            let name = reader.text(name).map_err(|problem| wrong(format!("its name {problem}")))?;
            if index >= IMPORTS_MAX {
                return Err(wrong(format!(
                    "import {name} has the number {index}, and the last is {}",
                    IMPORTS_MAX - 1
                )));
            }
            if hash != crc32(name) {
                return Err(wrong(format!("import {name} has the hash {hash:#010x} instead of {:#010x}", crc32(name))));
            }
            let signature =
                reader.signature(signature).map_err(|problem| wrong(format!("import {name}: {problem}")))?;
            let import = Import { index, name: name.to_owned(), signature };
            match by_index.entry(index) {
                Entry::Vacant(vacant) => {
                    vacant.insert(import);
                }
                Entry::Occupied(known) if *known.get() == import => {}
                Entry::Occupied(known) => {
                    let [first, second] = [known.get(), &import].map(|import| import.to_string());
                    return Err(LoadError::Conflict { what: format!("number {index}"), first, second });
                }
            }
        }
        let mut imports: Vec<Import> = by_index.into_values().collect();
        imports.sort_by_key(|import| import.index);
        Ok(imports)
    }

    /// The functions that the program offers, by name. Equal records are one.
    ///
    /// # Errors
    /// [`LoadError::Section`], [`LoadError::Record`], [`LoadError::Conflict`], which name the record.
    pub fn exports(&self) -> Result<Vec<Export>, LoadError> {
        let reader = Reader::new(self);
        let mut exports: Vec<Export> = Vec::new();
        for (number, [address, name, signature]) in reader.records(EXPORTS_SECTION)?.into_iter().enumerate() {
            let wrong = |problem: String| LoadError::Record { section: EXPORTS_SECTION, number, problem };
            let name = reader.text(name).map_err(|problem| wrong(format!("its name {problem}")))?;
            if !self.is_text(address) || !address.is_multiple_of(2) {
                return Err(wrong(format!("export {name} is at {address:#x}, where no instruction can be")));
            }
            let signature =
                reader.signature(signature).map_err(|problem| wrong(format!("export {name}: {problem}")))?;
            exports.push(Export { address, name: name.to_owned(), signature });
        }
        exports.sort_by(|a, b| a.name.cmp(&b.name));
        exports.dedup();
        if let Some([first, second]) = exports.array_windows().find(|[first, second]| first.name == second.name) {
            let what = format!("name {}", first.name);
            return Err(LoadError::Conflict { what, first: first.to_string(), second: second.to_string() });
        }
        Ok(exports)
    }
}

fn write_signature(f: &mut fmt::Formatter<'_>, signature: &Option<Signature>) -> fmt::Result {
    signature.as_ref().map_or(Ok(()), |signature| write!(f, ": {signature}"))
}

impl fmt::Display for Import {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        write_signature(f, &self.signature)
    }
}

impl fmt::Display for Export {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at {:#x}", self.name, self.address)?;
        write_signature(f, &self.signature)
    }
}

/// Reads the program's memory as it is before the first instruction.
struct Reader<'a> {
    image: &'a Image,
    /// The words that the start code of a position-independent program will write, by address.
    relocated: HashMap<u64, u64>,
}

impl<'a> Reader<'a> {
    fn new(image: &'a Image) -> Reader<'a> {
        let relocated = if image.is_position_independent() { relative_relocations(image) } else { None };
        Reader { image, relocated: relocated.unwrap_or_default() }
    }

    /// The records of a section, three words each.
    fn records(&self, section: &'static str) -> Result<Vec<[u64; 3]>, LoadError> {
        let Some(Section { address, size, .. }) = self.image.section(section).filter(|found| found.size != 0) else {
            return Ok(Vec::new());
        };
        let wrong = |problem: String| LoadError::Section { section, problem };
        if !size.is_multiple_of(RECORD_SIZE as u64) {
            return Err(wrong(format!("its {size} bytes are not whole records of {RECORD_SIZE}")));
        }
        let bytes = self.bytes(address).and_then(|bytes| bytes.get(..usize::try_from(size).ok()?));
        let bytes = bytes.ok_or_else(|| wrong("it is not part of a segment; mark it SHF_ALLOC".to_owned()))?;
        let word = |at: usize| {
            let in_file = u64::from_le_bytes(*bytes[at..].first_chunk().expect("records are whole"));
            self.relocated.get(&(address + at as u64)).copied().unwrap_or(in_file)
        };
        Ok((0..bytes.len()).step_by(RECORD_SIZE).map(|at| [word(at), word(at + 8), word(at + 16)]).collect())
    }

    /// The bytes of the file from an address to the end of its segment.
    fn bytes(&self, address: u64) -> Option<&'a [u8]> {
        let after = self.image.segments().partition_point(|segment| segment.address <= address);
        let segment = self.image.segments()[..after].last().filter(|segment| segment.filled().contains(&address))?;
        self.image.data(segment).get((address - segment.address) as usize..)
    }

    fn text(&self, address: u64) -> Result<&'a str, String> {
        let bytes =
            self.bytes(address).ok_or_else(|| format!("would be at {address:#x}, where the file has nothing"))?;
        let bytes = &bytes[..bytes.len().min(TEXT_MAX + 1)];
        let end = bytes.iter().position(|&byte| byte == 0);
        let end = end.ok_or_else(|| format!("at {address:#x} does not end within {TEXT_MAX} bytes"))?;
        match str::from_utf8(&bytes[..end]) {
            Ok("") => Err(format!("at {address:#x} is empty")),
            Ok(text) => Ok(text),
            Err(_) => Err(format!("at {address:#x} is not UTF-8")),
        }
    }

    fn signature(&self, address: u64) -> Result<Option<Signature>, String> {
        if address == 0 {
            return Ok(None);
        }
        let text = self.text(address).map_err(|problem| format!("its signature {problem}"))?;
        text.parse().map(Some).map_err(|error: crate::signature::SignatureError| error.to_string())
    }
}

/// Where the program's own start code will add the load bias, and the resulting value.
fn relative_relocations(image: &Image) -> Option<HashMap<u64, u64>> {
    let header = FileHeader64::<LittleEndian>::parse(image.bytes()).ok()?;
    let sections = header.sections(LittleEndian, image.bytes()).ok()?;
    let mut relocated = HashMap::new();
    let mut left = image.bytes().len() / size_of::<elf::Rela64<LittleEndian>>();
    for section in sections.iter() {
        let Ok(Some((entries, _))) = section.rela(LittleEndian, image.bytes()) else { continue };
        // Sections may share their entries; those that a linker makes do not.
        let entries = &entries[..entries.len().min(left)];
        left -= entries.len();
        for entry in entries.iter().filter(|entry| entry.r_type(LittleEndian, false) == elf::R_RISCV_RELATIVE) {
            let at = entry.r_offset.get(LittleEndian).wrapping_add(image.bias());
            relocated.insert(at, image.bias().wrapping_add_signed(entry.r_addend.get(LittleEndian)));
        }
    }
    Some(relocated)
}
