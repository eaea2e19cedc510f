//! Dynamically linked programs, joined with their dynamic linker and the text of their libraries into one file, which is
//! loaded as static ones are. The personality of an operating system uses it.
//!
//! The program's own dynamic linker does the linking, at run time, and maps the libraries' files. Only their text is known
//! before, at the addresses where they will be mapped: so text is read from files and never changes, as that of static
//! programs, and can be compiled.

use std::sync::Arc;

use object::LittleEndian;
use object::elf::{self, ProgramHeader64};

use crate::address_space::PAGE_SIZE;
use crate::error::LoadError;
use crate::header::Headers;
use crate::image::STATIC_PIE_BIAS;
use crate::joined_sections::add_sections;
use crate::sections::ElfFile;
use crate::segment::file_range;

const LE: LittleEndian = LittleEndian;
/// Bytes of an ELF header and of a program header.
const HEADER: usize = 64;
const PROGRAM_HEADER: usize = 56;
/// How many times as long as its file the segments of an object may be. Linkers give a few bytes to two of them.
const CONTENTS_SHARE: u64 = 2;

/// A dynamically linked program or a shared object, the dynamic linker included.
#[derive(Clone, Debug)]
pub struct DynamicObject {
    bytes: Arc<[u8]>,
    interpreter: Option<String>,
    needed: Vec<String>,
    run_path: Option<String>,
    loads: Vec<Load>,
    alignment: u64,
    is_position_independent: bool,
    entry: u64,
    /// Address and number of its program headers.
    headers: Option<(u64, u64)>,
    flags: u32,
    /// Address and size of its unwind table, `.eh_frame`.
    unwind_table: Option<(u64, u64)>,
}

/// A loadable segment, at the address in the file.
#[derive(Clone, Copy, Debug)]
struct Load {
    flags: u32,
    offset: usize,
    address: u64,
    file_size: u64,
    memory_size: u64,
}

impl Load {
    fn is_executable(&self) -> bool {
        self.flags & elf::PF_X.0 != 0
    }
}

impl DynamicObject {
    /// Reads the headers of an ELF file.
    ///
    /// # Errors
    /// A [`LoadError`] that names what is wrong with the file.
    pub fn parse(bytes: impl Into<Arc<[u8]>>) -> Result<DynamicObject, LoadError> {
        let bytes = bytes.into();
        let headers = Headers::of_any(&bytes)?;
        let (needed, run_path) = headers.libraries()?;
        let mut loads = Vec::new();
        let mut alignment = PAGE_SIZE;
        for (index, header) in headers.of_type(elf::PT_LOAD) {
            let load = Load::read(index, header, bytes.len())?;
            let wanted = header.p_align.get(LE);
            if wanted > 1 && (!wanted.is_power_of_two() || load.address % wanted != load.offset as u64 % wanted) {
                let (offset, address) = (load.offset as u64, load.address);
                return Err(LoadError::Misaligned { index, offset, address, alignment: wanted });
            }
            alignment = alignment.max(wanted);
            loads.push(load);
        }
        // Joining copies all of them.
        let (size, length) = (loads.iter().map(|load| load.file_size).sum(), bytes.len() as u64);
        if size > length.saturating_mul(CONTENTS_SHARE) {
            return Err(LoadError::RepeatedContents { size, length });
        }
        if loads.is_empty() {
            return Err(LoadError::NoLoadableSegments);
        }
        let table = headers.file.e_phoff.get(LE);
        let address = loads.iter().find_map(|load| {
            let within = table.checked_sub(load.offset as u64)?;
            (within < load.file_size).then(|| load.address.wrapping_add(within))
        });
        let file = ElfFile { bytes: bytes.clone(), bias: 0 };
        let unwind_table = file.section(".eh_frame").map(|section| (section.address, section.size));
        Ok(DynamicObject {
            unwind_table,
            interpreter: headers.interpreter()?,
            needed,
            run_path,
            alignment,
            is_position_independent: headers.is_position_independent(),
            entry: headers.file.e_entry.get(LE),
            headers: address.map(|address| (address, headers.file.e_phnum.get(LE).into())),
            flags: headers.file.e_flags.get(LE).0,
            loads,
            bytes,
        })
    }

    /// The path of the dynamic linker that it names: programs name one.
    pub fn interpreter(&self) -> Option<&str> {
        self.interpreter.as_deref()
    }

    /// The names of the libraries that it needs.
    pub fn needed(&self) -> &[String] {
        &self.needed
    }

    /// The folders in which its libraries are looked for first, separated by colons (`DT_RUNPATH`).
    pub fn run_path(&self) -> Option<&str> {
        self.run_path.as_deref()
    }

    /// Its text: for each executable segment, its beginning in the file and its address.
    pub fn text(&self) -> impl Iterator<Item = (u64, u64)> {
        self.loads.iter().filter(|load| load.is_executable()).map(|load| (load.offset as u64, load.address))
    }

    /// The first address behind it, if its address 0 becomes `base`.
    fn end(&self, base: u64) -> u64 {
        let ends = self.loads.iter().map(|load| base.saturating_add(load.address).saturating_add(load.memory_size));
        ends.max().unwrap_or(base)
    }
}

impl Load {
    fn read(index: usize, header: &ProgramHeader64<LittleEndian>, file_length: usize) -> Result<Load, LoadError> {
        let (file_size, memory_size) = (header.p_filesz.get(LE), header.p_memsz.get(LE));
        if file_size > memory_size {
            return Err(LoadError::FileSizeExceedsMemorySize { index, file_size, memory_size });
        }
        let range = file_range(header.p_offset.get(LE), file_size, file_length, || format!("segment {index}"))?;
        let address = header.p_vaddr.get(LE);
        Ok(Load { flags: header.p_flags.get(LE).0, offset: range.start, address, file_size, memory_size })
    }
}

/// An object at its place in memory.
struct Placed<'a> {
    object: &'a DynamicObject,
    /// The address that its address 0 becomes.
    base: u64,
    /// What of it is part of the program.
    loads: Vec<Load>,
}

/// What [`JoinedProgram::new`] makes.
#[derive(Clone, Debug)]
pub struct JoinedProgram {
    /// A file that [`Image::parse`](crate::Image::parse) reads. It begins with the dynamic linker.
    pub bytes: Arc<[u8]>,
    /// The program's entry (`AT_ENTRY`).
    pub entry: u64,
    /// Address and number of the program's own headers (`AT_PHDR`, `AT_PHNUM`), if they are in memory.
    pub headers: Option<(u64, u64)>,
    /// Where the dynamic linker lies (`AT_BASE`).
    pub interpreter_base: u64,
    /// Where each of the libraries is to be mapped.
    pub bases: Vec<u64>,
    /// The first address behind all of them.
    pub end: u64,
}

impl JoinedProgram {
    /// Joins a program, its dynamic linker, and the text of libraries.
    ///
    /// # Errors
    /// [`LoadError::OutOfWindow`] if they do not fit into the guest's addresses.
    pub fn new(
        program: &DynamicObject,
        interpreter: &DynamicObject,
        libraries: &[DynamicObject],
    ) -> Result<JoinedProgram, LoadError> {
        let bias = if program.is_position_independent { program.alignment.max(STATIC_PIE_BIAS) } else { 0 };
        let mut parts = vec![Placed { object: program, base: bias, loads: program.loads.clone() }];
        let mut end = program.end(bias);
        // A page stays free between any two.
        let mut place = |object: &DynamicObject| {
            let base = end.saturating_add(PAGE_SIZE).checked_next_multiple_of(object.alignment).unwrap_or(u64::MAX);
            end = object.end(base);
            base
        };
        let interpreter_base = place(interpreter);
        parts.push(Placed { object: interpreter, base: interpreter_base, loads: interpreter.loads.clone() });
        let mut bases = Vec::new();
        for library in libraries {
            let base = place(library);
            bases.push(base);
            let text = library.loads.iter().copied().filter(Load::is_executable);
            parts.push(Placed { object: library, base, loads: text.collect() });
        }
        Ok(JoinedProgram {
            bytes: write(&parts, program.flags, interpreter_base.wrapping_add(interpreter.entry))?.into(),
            entry: program.entry.wrapping_add(bias),
            headers: program.headers.map(|(address, count)| (address.wrapping_add(bias), count)),
            interpreter_base,
            bases,
            end,
        })
    }
}

/// The file that has the segments of these parts.
fn write(parts: &[Placed<'_>], flags: u32, entry: u64) -> Result<Vec<u8>, LoadError> {
    let segments = || parts.iter().flat_map(|part| part.loads.iter().map(move |load| (part, load)));
    let count = u16::try_from(segments().count()).ok().filter(|&count| count < elf::PN_XNUM);
    let count = count.ok_or(LoadError::TooManyProgramHeaders)?;
    let mut file = [elf::ELFMAG.as_slice(), &[elf::ELFCLASS64.0, elf::ELFDATA2LSB.0, 1]].concat();
    file.resize(16, 0);
    for half in [elf::ET_EXEC.0, elf::EM_RISCV.0] {
        file.extend(half.to_le_bytes());
    }
    file.extend(1_u32.to_le_bytes());
    for word in [entry, HEADER as u64, 0] {
        file.extend(word.to_le_bytes());
    }
    file.extend(flags.to_le_bytes());
    for half in [HEADER as u16, PROGRAM_HEADER as u16, count, 0, 0, 0] {
        file.extend(half.to_le_bytes());
    }
    let (table, mut unwind_tables) = (file.len(), Vec::new());
    file.resize(table + usize::from(count) * PROGRAM_HEADER, 0);
    for (index, (&Placed { object, base, .. }, load)) in segments().enumerate() {
        let address = base.wrapping_add(load.address);
        if base.checked_add(load.address).is_none_or(|address| address > u64::from(u32::MAX)) {
            return Err(LoadError::OutOfWindow { index, address, memory_size: load.memory_size });
        }
        // Congruent to the address, as segments are.
        let offset = file.len().next_multiple_of(PAGE_SIZE as usize) + (address % PAGE_SIZE) as usize;
        file.resize(offset, 0);
        file.extend(&object.bytes[load.offset..load.offset + load.file_size as usize]);
        let mut header = Vec::new();
        for word in [elf::PT_LOAD.0, load.flags] {
            header.extend(word.to_le_bytes());
        }
        for word in [offset as u64, address, address, load.file_size, load.memory_size, PAGE_SIZE] {
            header.extend(word.to_le_bytes());
        }
        file[table + index * PROGRAM_HEADER..][..PROGRAM_HEADER].copy_from_slice(&header);
        if let Some((at, size)) = object.unwind_table
            && let Some(within) = at.checked_sub(load.address)
            && within.checked_add(size).is_some_and(|end| end <= load.file_size)
        {
            unwind_tables.push((address + within, offset + within as usize, size));
        }
    }
    let files = parts.iter().map(|part| ElfFile { bytes: part.object.bytes.clone(), bias: part.base });
    add_sections(&mut file, &unwind_tables, &files.collect::<Vec<_>>());
    Ok(file)
}
