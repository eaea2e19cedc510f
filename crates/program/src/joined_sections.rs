//! The sections of a joined program: the unwind tables, symbols and debug information of its parts.
//!
//! Addresses in debug information are those of the part's own file. So each section of it has, in the place of an address, that
//! at which its part lies; it is 0 in other programs, as these sections are not in memory.

use object::LittleEndian;
use object::elf::{self, Sym64};
use object::pod::bytes_of_slice;
use object::read::elf::{SectionHeader, Sym};

use crate::joined::Placed;
use crate::lines;
use crate::sections::ElfFile;

const LE: LittleEndian = LittleEndian;
/// Bytes of a section header.
const SECTION_HEADER: usize = 64;

/// The headers of sections, and their names.
struct Table {
    names: Vec<u8>,
    headers: Vec<u8>,
}

#[derive(Clone, Copy)]
struct Section {
    kind: elf::SectionType,
    flags: u64,
    address: u64,
    offset: usize,
    size: usize,
    link: u32,
    info: u32,
    entry_size: usize,
}

impl Section {
    /// Bytes without a structure that the file says anything of.
    fn new(kind: elf::SectionType, offset: usize, size: usize) -> Section {
        Section { kind, flags: 0, address: 0, offset, size, link: 0, info: 0, entry_size: 0 }
    }

    /// Adds the bytes to the file.
    fn of(file: &mut Vec<u8>, kind: elf::SectionType, bytes: &[u8]) -> Section {
        // The alignment of symbols.
        file.resize(file.len().next_multiple_of(8), 0);
        file.extend(bytes);
        Section::new(kind, file.len() - bytes.len(), bytes.len())
    }
}

impl Table {
    /// The table with the null section.
    fn new() -> Table {
        Table { names: vec![0], headers: vec![0; SECTION_HEADER] }
    }

    /// The number of the section that is added next.
    fn len(&self) -> u32 {
        (self.headers.len() / SECTION_HEADER) as u32
    }

    fn add(&mut self, name: &str, section: Section) {
        let Section { kind, flags, address, offset, size, link, info, entry_size } = section;
        for word in [self.names.len() as u32, kind.0] {
            self.headers.extend(word.to_le_bytes());
        }
        for word in
            [flags, address, offset as u64, size as u64, u64::from(info) << 32 | u64::from(link), 1, entry_size as u64]
        {
            self.headers.extend(word.to_le_bytes());
        }
        self.names.extend(name.bytes().chain([0]));
    }
}

/// Adds a table of sections to the file: unwind tables, given by their addresses, places and sizes, and what the files of the
/// parts have.
pub(crate) fn add_sections(file: &mut Vec<u8>, unwind_tables: &[(u64, usize, u64)], parts: &[Placed<'_>]) {
    let mut table = Table::new();
    for &(address, offset, size) in unwind_tables {
        let section = Section::new(elf::SHT_PROGBITS, offset, size as usize);
        table.add(".eh_frame", Section { address, flags: elf::SHF_ALLOC.0, ..section });
    }
    add_symbols(file, &mut table, parts);
    parts.iter().for_each(|part| add_debug_information(file, &mut table, part));
    let count = table.len() + 1;
    let name = ".shstrtab";
    let names = [&table.names, name.as_bytes(), &[0]].concat();
    let names = Section::of(file, elf::SHT_STRTAB, &names);
    table.add(name, names);
    let headers = Section::of(file, elf::SHT_NULL, &table.headers);
    file[40..48].copy_from_slice(&(headers.offset as u64).to_le_bytes());
    for (at, half) in [(58, SECTION_HEADER as u32), (60, count), (62, count - 1)] {
        file[at..at + 2].copy_from_slice(&(half as u16).to_le_bytes());
    }
}

/// Adds the symbols of all parts, with their addresses in memory. The numbers of their sections stay those of their own files.
fn add_symbols(file: &mut Vec<u8>, table: &mut Table, parts: &[Placed<'_>]) {
    let (mut local, mut others, mut strings) = (vec![Sym64::default()], Vec::new(), vec![0]);
    for part in parts {
        let elf = ElfFile { bytes: part.object.bytes.clone(), bias: 0 };
        let Some((symbols, names)) = elf.raw_symbols().and_then(|symbols| {
            let names = elf.raw_sections()?.section(symbols.string_section()).ok()?.data(LE, &*elf.bytes).ok()?;
            Some((symbols, names))
        }) else {
            continue;
        };
        let Ok(begin) = u32::try_from(strings.len()) else { return };
        for symbol in symbols.iter().skip(1).filter(|symbol| symbol.st_shndx(LE) != elf::SHN_UNDEF) {
            let mut symbol = *symbol;
            symbol.st_name.set(LE, begin.saturating_add(symbol.st_name.get(LE)));
            symbol.st_value.set(LE, part.base.wrapping_add(symbol.st_value.get(LE)));
            let is_local = symbol.st_bind() == elf::STB_LOCAL;
            if is_local { &mut local } else { &mut others }.push(symbol);
        }
        strings.extend(names);
    }
    let info = local.len() as u32;
    local.append(&mut others);
    let symbols = Section::of(file, elf::SHT_SYMTAB, bytes_of_slice(&local));
    let link = table.len() + 1;
    table.add(".symtab", Section { link, info, entry_size: size_of::<Sym64<LittleEndian>>(), ..symbols });
    let strings = Section::of(file, elf::SHT_STRTAB, &strings);
    table.add(".strtab", strings);
}

/// Adds the debug information of a part, as long as its file at most.
fn add_debug_information(file: &mut Vec<u8>, table: &mut Table, part: &Placed<'_>) {
    let elf = ElfFile { bytes: part.object.bytes.clone(), bias: 0 };
    let mut left = elf.bytes.len();
    for name in lines::sections() {
        let Some(section) = elf.uncompressed(name).into_iter().next() else { continue };
        let Some(rest) = left.checked_sub(section.file.len()) else { return };
        left = rest;
        let section = Section::of(file, elf::SHT_PROGBITS, &elf.bytes[section.file]);
        table.add(name, Section { address: part.base, ..section });
    }
}
