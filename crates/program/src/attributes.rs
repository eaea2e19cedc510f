//! The instruction set for which the file was compiled, and what else the compiler and linker recorded of it.

use object::LittleEndian;
use object::elf::{self, FileHeader64};
use object::read::elf::{AttributesSection, FileHeader, ProgramHeader};

use riverrun_isa::Extension;

use crate::sections::ElfFile;

const LE: LittleEndian = LittleEndian;

/// What the compiler recorded in `.riscv.attributes` (RISC-V ELF psABI, "Attributes").
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Attributes {
    /// The instruction set, such as `rv64i2p1_m2p0_a2p1_zicsr2p0`. It names what may occur in
    /// the program, not what is sure to be executed.
    pub arch: Option<String>,
    /// Alignment of the stack pointer in bytes.
    pub stack_align: Option<u64>,
    /// The program may access memory at misaligned addresses.
    pub unaligned_access: bool,
}

impl Attributes {
    /// The names of the extensions in [`Attributes::arch`], without versions, in its order.
    ///
    /// ```
    /// use riverrun_program::Attributes;
    ///
    /// let arch = Some("rv64i2p1_m2p0_c2p0_zicsr2p0_zvl128b1p0".into());
    /// let attributes = Attributes { arch, ..Attributes::default() };
    /// assert_eq!(attributes.extensions(), ["i", "m", "c", "zicsr", "zvl128b"]);
    /// ```
    pub fn extensions(&self) -> Vec<&str> {
        let arch = self.arch.as_deref().unwrap_or_default();
        let extensions = arch.trim_start_matches("rv").trim_start_matches(|c: char| c.is_ascii_digit());
        let parts = extensions.split('_').filter(|part| !part.is_empty());
        parts.flat_map(extension_names).collect()
    }
}

impl Attributes {
    /// The [`Attributes::extensions`] that riverrun lacks, without those that are parts of another one it lacks. A program
    /// with such instructions may still test at run time whether it can use them.
    ///
    /// ```
    /// use riverrun_program::Attributes;
    ///
    /// let arch = Some("rv64i2p1_m2p0_a2p1_v1p0_zba1p0_zbc1p0_zcb1p0_zve64d1p0_zvl128b1p0".into());
    /// let attributes = Attributes { arch, ..Attributes::default() };
    /// assert_eq!(attributes.unsupported_extensions(), ["v", "zbc"]);
    /// ```
    pub fn unsupported_extensions(&self) -> Vec<&str> {
        // The base, extensions that are parts or sums of those in the table, counters, hints, and properties of memory and
        // time: none of them has an instruction that is missing.
        const WITHOUT_ROWS: &[&str] = &[
            "i",
            "e",
            "g",
            "c",
            "b",
            "zca",
            "zcb",
            "zcd",
            "zaamo",
            "zalrsc",
            "zmmul",
            "zicntr",
            "zihpm",
            "zihintpause",
            "zihintntl",
            "ziccif",
            "ziccrse",
            "ziccamoa",
            "zicclsm",
            "ziccamoc",
            "zicbop",
            "za64rs",
            "za128rs",
            "zic64b",
            "zama16b",
            "zkt",
            "ztso",
            "xriverrun",
        ];
        let all = self.extensions();
        let has_row = |name: &str| Extension::ALL.iter().any(|known| known.name().eq_ignore_ascii_case(name));
        let is_part_of_vectors = |name: &str| name.starts_with("zve") || name.starts_with("zvl");
        let is_named = |name: &str| is_part_of_vectors(name) && all.contains(&"v");
        let mut missing: Vec<&str> = Vec::new();
        for name in all.iter().copied() {
            if !WITHOUT_ROWS.contains(&name) && !has_row(name) && !is_named(name) && !missing.contains(&name) {
                missing.push(name);
            }
        }
        missing
    }
}

/// The names in one part of an ISA string: `imac`, `i2p1` or `zicsr2p0`.
fn extension_names(part: &str) -> Vec<&str> {
    if part.starts_with(['z', 's', 'x']) {
        return vec![without_version(part)];
    }
    let mut names = Vec::new();
    let mut digit_before = false;
    for (at, letter) in part.char_indices() {
        let separates_version =
            letter == 'p' && digit_before && part[at + 1..].starts_with(|next: char| next.is_ascii_digit());
        if letter.is_alphabetic() && !separates_version {
            names.push(&part[at..at + letter.len_utf8()]);
        }
        digit_before = letter.is_ascii_digit();
    }
    names
}

/// `zicsr2p0` to `zicsr`; digits that belong to the name stay.
fn without_version(name: &str) -> &str {
    let digits = |text: &char| text.is_ascii_digit();
    let strip = |text: &'_ str| text.len() - text.chars().rev().take_while(digits).count();
    let major_end = strip(name);
    let Some(major) = name[..major_end].strip_suffix('p') else {
        return name;
    };
    let name_end = strip(major);
    if major_end == name.len() || name_end == major.len() { name } else { &name[..name_end] }
}

impl Attributes {
    pub(crate) fn of(file: &ElfFile) -> Attributes {
        let section = file.section(".riscv.attributes").map(|section| section.file);
        let data = section.and_then(|range| file.bytes.get(range));
        data.and_then(read_attributes).unwrap_or_default()
    }
}

/// Whether a file has one of the sections that Go's linker writes, or the head of the last one, which stripped files and
/// programs joined with their libraries have, too.
pub(crate) fn is_go(file: &ElfFile) -> bool {
    const BUILD_INFO: &[u8] = b"\xff Go buildinf:";
    let is_section = |name| file.section(name).is_some();
    [".gopclntab", ".note.go.buildid", ".go.buildinfo"].into_iter().any(is_section)
        || memchr::memmem::find(&file.bytes, BUILD_INFO).is_some()
}

/// The identity that the linker gave to the file.
pub(crate) fn build_id(bytes: &[u8]) -> Option<&[u8]> {
    let header = FileHeader64::<LittleEndian>::parse(bytes).ok()?;
    let segments = header.program_headers(LE, bytes).ok()?;
    segments.iter().find_map(|segment| {
        let mut notes = segment.notes(LE, bytes).ok()??;
        while let Ok(Some(note)) = notes.next() {
            if note.n_type(LE) == elf::NT_GNU_BUILD_ID && note.name() == elf::ELF_NOTE_GNU {
                return Some(note.desc());
            }
        }
        None
    })
}

/// Reads as far as the section makes sense.
fn read_attributes(data: &[u8]) -> Option<Attributes> {
    const TAG_STACK_ALIGN: u64 = 4;
    const TAG_ARCH: u64 = 5;
    const TAG_UNALIGNED_ACCESS: u64 = 6;

    let mut found = Attributes::default();
    let section = AttributesSection::<FileHeader64<LittleEndian>>::new(LE, data).ok()?;
    let mut subsections = section.subsections().ok()?;
    while let Ok(Some(subsection)) = subsections.next() {
        if subsection.vendor() != b"riscv" {
            continue;
        }
        let mut parts = subsection.subsubsections();
        while let Ok(Some(part)) = parts.next() {
            let mut reader = part.attributes();
            while let Ok(Some(tag)) = reader.read_tag() {
                // Values of odd tags are strings, of even ones integers.
                if tag % 2 == 1 {
                    let Ok(text) = reader.read_string() else { break };
                    if tag == TAG_ARCH {
                        found.arch = str::from_utf8(text).ok().map(String::from);
                    }
                } else {
                    let Ok(value) = reader.read_integer() else { break };
                    match tag {
                        TAG_STACK_ALIGN => found.stack_align = Some(value),
                        TAG_UNALIGNED_ACCESS => found.unaligned_access = value != 0,
                        _ => {}
                    }
                }
            }
        }
    }
    Some(found)
}
