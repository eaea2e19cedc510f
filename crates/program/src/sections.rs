//! Sections, as far as a program needs them: by name, and only if the file has them.

use std::ops::Range;
use std::sync::Arc;

use object::elf::{self, FileHeader64, SectionHeader64};
use object::read::elf::{FileHeader, SectionHeader, SectionTable, SymbolTable};
use object::{LittleEndian, SectionIndex};

/// A named part of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section<'image> {
    /// The name, such as `.rodata`; what is not UTF-8 shows as the empty string.
    pub name: &'image str,
    /// Guest address of a section that is in memory, else 0.
    pub address: u64,
    /// Size in bytes, in memory if it is there, else in the file.
    pub size: u64,
    /// The bytes of the file that it consists of; empty for `.bss` and the like.
    pub file: Range<usize>,
}

pub(crate) type RawSections<'data> = SectionTable<'data, FileHeader64<LittleEndian>>;
pub(crate) type RawSymbols<'data> = SymbolTable<'data, FileHeader64<LittleEndian>>;

/// An ELF file, as the readers of its tables need it.
pub(crate) struct ElfFile {
    pub(crate) bytes: Arc<[u8]>,
    /// What was added to every address of the file.
    pub(crate) bias: u64,
}

impl ElfFile {
    /// The section table as `object` sees it, or `None` where it is missing or damaged.
    pub(crate) fn raw_sections(&self) -> Option<RawSections<'_>> {
        let header = FileHeader64::<LittleEndian>::parse(&*self.bytes).ok()?;
        header.sections(LittleEndian, &*self.bytes).ok()
    }

    /// The symbols of `.symtab`, or of `.dynsym` in stripped programs; `None` if there are none.
    pub(crate) fn raw_symbols(&self) -> Option<RawSymbols<'_>> {
        let sections = self.raw_sections()?;
        let read = |kind| {
            let table = sections.symbols(LittleEndian, &*self.bytes, kind).ok()?;
            (!table.is_empty()).then_some(table)
        };
        read(elf::SHT_SYMTAB).or_else(|| read(elf::SHT_DYNSYM))
    }

    /// The sections of that name whose bytes are in the file as they are: joined programs have several. Together they are no
    /// longer than the file.
    pub(crate) fn uncompressed(&self, name: &str) -> Vec<Section<'_>> {
        self.uncompressed_parts(name).into_iter().map(|(_, section)| section).collect()
    }

    /// The same with the sections' addresses in the file, in memory or not.
    pub(crate) fn uncompressed_parts(&self, name: &str) -> Vec<(u64, Section<'_>)> {
        let table = self.raw_sections().unwrap_or_default();
        let is_compressed =
            |header: &SectionHeader64<LittleEndian>| header.sh_flags.get(LittleEndian).0 & elf::SHF_COMPRESSED.0 != 0;
        let found = self.find_sections(&table, name).filter(|header| !is_compressed(header));
        let mut left = self.bytes.len();
        let fits = |(_, section): &(u64, Section<'_>)| {
            left.checked_sub(section.file.len()).inspect(|rest| left = *rest).is_some()
        };
        let part = |header: &SectionHeader64<LittleEndian>| {
            (header.sh_addr.get(LittleEndian), self.section_of(&table, header))
        };
        found.map(part).take_while(fits).collect()
    }

    /// All sections in the order of the file; none if they were stripped.
    pub(crate) fn sections(&self) -> impl Iterator<Item = Section<'_>> {
        let table = self.raw_sections().unwrap_or_default();
        // The first entry is the null section.
        table.enumerate().skip(1).map(move |(_, header)| self.section_of(&table, header))
    }

    /// The first section of that name.
    pub(crate) fn section(&self, name: &str) -> Option<Section<'_>> {
        let table = self.raw_sections()?;
        let header = self.find_sections(&table, name).next()?;
        Some(self.section_of(&table, header))
    }

    /// The sections of that name. Compares no more of a section's name than what it looks for: names may be as long as the
    /// file, and all sections have the same.
    fn find_sections<'image>(
        &'image self,
        table: &RawSections<'image>,
        name: &str,
    ) -> impl Iterator<Item = &'image SectionHeader64<LittleEndian>> {
        let names = || {
            let header = FileHeader64::<LittleEndian>::parse(&*self.bytes).ok()?;
            let names = SectionIndex(header.shstrndx(LittleEndian, &*self.bytes).ok()? as usize);
            table.section(names).ok()?.data(LittleEndian, &*self.bytes).ok()
        };
        let names: &[u8] = names().unwrap_or_default();
        table.iter().skip(1).filter(move |header| {
            let rest = names.get(header.sh_name.get(LittleEndian) as usize..);
            rest.and_then(|rest| rest.strip_prefix(name.as_bytes())).is_some_and(|rest| rest.first() == Some(&0))
        })
    }

    fn section_of<'image>(
        &'image self,
        table: &RawSections<'image>,
        header: &SectionHeader64<LittleEndian>,
    ) -> Section<'image> {
        let name = table.section_name(LittleEndian, header).unwrap_or_default();
        let in_memory = header.sh_flags.get(LittleEndian).0 & elf::SHF_ALLOC.0 != 0;
        let link_address = header.sh_addr.get(LittleEndian);
        let file = header.file_range(LittleEndian).and_then(|(offset, size)| {
            let start = usize::try_from(offset).ok()?;
            let end = start.checked_add(usize::try_from(size).ok()?)?;
            (end <= self.bytes.len()).then_some(start..end)
        });
        Section {
            name: str::from_utf8(name).unwrap_or_default(),
            address: if in_memory { link_address.wrapping_add(self.bias) } else { 0 },
            size: header.sh_size.get(LittleEndian),
            file: file.unwrap_or(0..0),
        }
    }
}
