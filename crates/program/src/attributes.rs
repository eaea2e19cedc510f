//! The instruction set and ABI for which the file was compiled, from its header and attributes.

use object::LittleEndian;
use object::elf::{self, FileHeader64};
use object::read::elf::{AttributesSection, FileHeader, ProgramHeader};

use riverrun_isa::Extension;

use crate::image::Image;

const LE: LittleEndian = LittleEndian;

/// The flags of the ELF header (RISC-V ELF psABI, "File Header").
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FileFlags(pub u32);

/// How floating-point arguments are passed (RISC-V ELF psABI, "File Header").
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FloatAbi {
    /// In integer registers (lp64).
    Soft,
    /// `float` in float registers (lp64f).
    Single,
    /// `float` and `double` in float registers (lp64d).
    Double,
    /// `long double` as well (lp64q).
    Quad,
}

impl FileFlags {
    /// Compressed instructions may occur.
    pub fn has_compressed_instructions(self) -> bool {
        self.0 & 1 != 0
    }

    /// How floating-point arguments are passed.
    pub fn float_abi(self) -> FloatAbi {
        match (self.0 >> 1) & 3 {
            0 => FloatAbi::Soft,
            1 => FloatAbi::Single,
            2 => FloatAbi::Double,
            _ => FloatAbi::Quad,
        }
    }

    /// Only the registers x0 to x15 are used (lp64e).
    pub fn is_rve(self) -> bool {
        self.0 & 8 != 0
    }

    /// The program relies on the memory model of the extension Ztso.
    pub fn needs_total_store_order(self) -> bool {
        self.0 & 16 != 0
    }
}

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
    /// let arch = Some("rv64i2p1_m2p0_a2p1_v1p0_zba1p0_zbc1p0_zve64d1p0_zvl128b1p0".into());
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

impl Image {
    /// Whether Go's compiler made the program, by the sections that Go's tools write. Its functions do not keep to the psABI:
    /// they preserve no register.
    pub fn is_go(&self) -> bool {
        [".gopclntab", ".note.go.buildid", ".go.buildinfo"].into_iter().any(|name| self.section(name).is_some())
    }

    /// What the compiler recorded about the instruction set; all unknown if it recorded nothing.
    pub fn attributes(&self) -> &Attributes {
        self.lazy.attributes.get_or_init(|| {
            let section = self.section(".riscv.attributes").map(|section| section.file);
            let data = section.and_then(|range| self.bytes().get(range));
            data.and_then(read_attributes).unwrap_or_default()
        })
    }

    /// The identity that the linker gave to this very file (`--build-id`), usually 20 bytes.
    pub fn build_id(&self) -> Option<&[u8]> {
        let header = FileHeader64::<LittleEndian>::parse(self.bytes()).ok()?;
        let segments = header.program_headers(LE, self.bytes()).ok()?;
        segments.iter().find_map(|segment| {
            let mut notes = segment.notes(LE, self.bytes()).ok()??;
            while let Ok(Some(note)) = notes.next() {
                if note.n_type(LE) == elf::NT_GNU_BUILD_ID && note.name() == elf::ELF_NOTE_GNU {
                    return Some(note.desc());
                }
            }
            None
        })
    }
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
