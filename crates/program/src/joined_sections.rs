//! The sections of a joined program: the unwind tables, symbols and debug information of its parts.
//!
//! Addresses in debug information are those of the part's own file. So each section of it has, in the place of an
//! address, that at which its part lies; it is 0 in other programs, as these sections are not in memory.

use object::elf::{self, SectionHeader64, Sym64};
use object::pod::bytes_of_slice;
use object::read::elf::{SectionHeader as _, Sym as _};
use object::{LittleEndian, U32, U64};

use crate::lines;
use crate::sections::ElfFile;

const LE: LittleEndian = LittleEndian;

type Header = SectionHeader64<LittleEndian>;

/// The header of a section that has these bytes of the file, without an address.
fn header(kind: elf::SectionType, offset: usize, size: usize) -> Header {
    let none = U64::new(LE, 0);
    Header {
        sh_name: U32::new(LE, 0),
        sh_type: U32::new(LE, kind),
        sh_flags: U64::new(LE, elf::SectionFlags(0)),
        sh_addr: none,
        sh_offset: U64::new(LE, offset as u64),
        sh_size: U64::new(LE, size as u64),
        sh_link: U32::new(LE, 0),
        sh_info: U32::new(LE, 0),
        sh_addralign: U64::new(LE, 1),
        sh_entsize: none,
    }
}

/// Adds bytes to the file, at an address that is right for the structures of ELF.
fn append(file: &mut Vec<u8>, kind: elf::SectionType, bytes: &[u8]) -> Header {
    file.resize(file.len().next_multiple_of(8), 0);
    file.extend(bytes);
    header(kind, file.len() - bytes.len(), bytes.len())
}

/// The headers of sections, and their names.
struct Table {
    names: Vec<u8>,
    headers: Vec<Header>,
}

impl Table {
    fn add(&mut self, name: &str, mut header: Header) {
        header.sh_name.set(LE, self.names.len() as u32);
        self.headers.push(header);
        self.names.extend(name.bytes().chain([0]));
    }
}

/// Adds a table of sections to the file: unwind tables, given by their addresses, places and sizes, and what the files
/// of the parts have.
pub(crate) fn add_sections(file: &mut Vec<u8>, unwind_tables: &[(u64, usize, u64)], parts: &[ElfFile]) {
    // The first section is none.
    let mut table = Table { names: vec![0], headers: vec![header(elf::SHT_NULL, 0, 0)] };
    for &(address, offset, size) in unwind_tables {
        let mut header = header(elf::SHT_PROGBITS, offset, size as usize);
        header.sh_flags.set(LE, elf::SHF_ALLOC);
        header.sh_addr.set(LE, address);
        table.add(".eh_frame", header);
    }
    add_symbols(file, &mut table, parts);
    parts.iter().for_each(|part| add_debug_information(file, &mut table, part));
    let name = ".shstrtab";
    let names = [&table.names, name.as_bytes(), &[0]].concat();
    table.add(name, append(file, elf::SHT_STRTAB, &names));
    let headers = append(file, elf::SHT_NULL, bytes_of_slice(&table.headers));
    let count = table.headers.len();
    // `e_shoff`, `e_shentsize`, `e_shnum`, `e_shstrndx`.
    file[40..48].copy_from_slice(&headers.sh_offset.get(LE).to_le_bytes());
    for (at, half) in [(58, size_of::<Header>()), (60, count), (62, count - 1)] {
        file[at..at + 2].copy_from_slice(&(half as u16).to_le_bytes());
    }
}

/// Adds the symbols of all parts, with their addresses in memory. The numbers of their sections stay those of their own
/// files.
fn add_symbols(file: &mut Vec<u8>, table: &mut Table, parts: &[ElfFile]) {
    let (mut local, mut others, mut strings) = (vec![Sym64::default()], Vec::new(), vec![0]);
    for part in parts {
        let Some((symbols, names)) = part.raw_symbols().and_then(|symbols| {
            let names = part.raw_sections()?.section(symbols.string_section()).ok()?.data(LE, &*part.bytes).ok()?;
            Some((symbols, names))
        }) else {
            continue;
        };
        let Ok(begin) = u32::try_from(strings.len()) else { return };
        for symbol in symbols.iter().skip(1).filter(|symbol| symbol.st_shndx(LE) != elf::SHN_UNDEF) {
            let mut symbol = *symbol;
            symbol.st_name.set(LE, begin.saturating_add(symbol.st_name.get(LE)));
            symbol.st_value.set(LE, part.bias.wrapping_add(symbol.st_value.get(LE)));
            let list = if symbol.st_bind() == elf::STB_LOCAL { &mut local } else { &mut others };
            list.push(symbol);
        }
        strings.extend(names);
    }
    let locals = local.len();
    local.append(&mut others);
    let mut symbols = append(file, elf::SHT_SYMTAB, bytes_of_slice(&local));
    symbols.sh_link.set(LE, table.headers.len() as u32 + 1);
    symbols.sh_info.set(LE, locals as u32);
    symbols.sh_entsize.set(LE, size_of::<Sym64<LittleEndian>>() as u64);
    table.add(".symtab", symbols);
    table.add(".strtab", append(file, elf::SHT_STRTAB, &strings));
}

/// Adds the debug information of a part, as long as its file at most.
fn add_debug_information(file: &mut Vec<u8>, table: &mut Table, part: &ElfFile) {
    let mut left = part.bytes.len();
    for name in lines::sections() {
        let Some(section) = part.uncompressed(name).into_iter().next() else { continue };
        let Some(rest) = left.checked_sub(section.file.len()) else { return };
        left = rest;
        let mut header = append(file, elf::SHT_PROGBITS, &part.bytes[section.file]);
        header.sh_addr.set(LE, part.bias);
        table.add(name, header);
    }
}
