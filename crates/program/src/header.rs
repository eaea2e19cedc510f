//! The ELF header and program headers: is this a static RISC-V program at all?

use object::elf::{self, Dyn64, FileHeader64, ProgramHeader64, ProgramType};
use object::{LittleEndian, pod};

use crate::error::LoadError;
use crate::segment::file_range;

const LE: LittleEndian = LittleEndian;

/// The headers of a file that is a 64-bit little-endian RISC-V executable.
pub(crate) struct Headers<'data> {
    bytes: &'data [u8],
    pub(crate) file: &'data FileHeader64<LittleEndian>,
    pub(crate) program: &'data [ProgramHeader64<LittleEndian>],
}

impl<'data> Headers<'data> {
    pub(crate) fn parse(bytes: &'data [u8]) -> Result<Self, LoadError> {
        let headers = Self::of_any(bytes)?;
        headers.check_static()?;
        Ok(headers)
    }

    /// Those of a program or shared object, however it is linked.
    pub(crate) fn of_any(bytes: &'data [u8]) -> Result<Self, LoadError> {
        let file = file_header(bytes)?;
        let program = program_headers(bytes, file)?;
        Ok(Self { bytes, file, program })
    }

    /// The dynamic linker that it names.
    pub(crate) fn interpreter(&self) -> Result<Option<String>, LoadError> {
        let Some((_, header)) = self.of_type(elf::PT_INTERP).next() else { return Ok(None) };
        let path = file_range(header.p_offset.get(LE), header.p_filesz.get(LE), self.bytes.len(), || {
            "the name of the interpreter".into()
        })?;
        Ok(Some(c_string(&self.bytes[path])))
    }

    /// The shared libraries that it needs, and the folders in which to look for them first, separated by colons.
    pub(crate) fn libraries(&self) -> Result<(Vec<String>, Option<String>), LoadError> {
        let dynamic = self.dynamic()?;
        let text = |offset: &u64| self.dynamic_string(&dynamic, *offset);
        Ok((dynamic.needed.iter().map(text).collect(), dynamic.run_path.as_ref().map(text)))
    }

    /// Whether the program may be loaded at any address (ET_DYN: static-pie).
    pub(crate) fn is_position_independent(&self) -> bool {
        self.file.e_type.get(LE) == elf::ET_DYN
    }

    /// The program headers of type `kind`, with their indices.
    pub(crate) fn of_type(
        &self,
        kind: ProgramType,
    ) -> impl Iterator<Item = (usize, &'data ProgramHeader64<LittleEndian>)> + use<'data> {
        let program = self.program;
        program.iter().enumerate().filter(move |(_, header)| header.p_type.get(LE) == kind)
    }

    /// Refuses programs that need a dynamic linker.
    fn check_static(&self) -> Result<(), LoadError> {
        let dynamic = self.dynamic()?;
        if self.is_position_independent() && self.is_library(&dynamic) {
            return Err(LoadError::SharedObject);
        }
        if let Some(path) = self.interpreter()? {
            return Err(LoadError::DynamicallyLinked { needs: format!("the dynamic linker `{path}`") });
        }
        if let Some(&name) = dynamic.needed.first() {
            let needs = format!("the shared library `{}`", self.dynamic_string(&dynamic, name));
            return Err(LoadError::DynamicallyLinked { needs });
        }
        Ok(())
    }

    /// Tells a shared object from a position-independent executable: both are ET_DYN, but
    /// linkers mark the latter.
    fn is_library(&self, dynamic: &Dynamic) -> bool {
        let has_dynamic_section = self.of_type(elf::PT_DYNAMIC).next().is_some();
        let has_interpreter = self.of_type(elf::PT_INTERP).next().is_some();
        let marked_executable = dynamic.flags_1 & elf::DF_1_PIE.0 != 0;
        has_dynamic_section && !has_interpreter && !marked_executable
    }

    fn dynamic(&self) -> Result<Dynamic, LoadError> {
        let mut found = Dynamic::default();
        let Some((_, header)) = self.of_type(elf::PT_DYNAMIC).next() else {
            return Ok(found);
        };
        let range = file_range(header.p_offset.get(LE), header.p_filesz.get(LE), self.bytes.len(), || {
            "the dynamic section".into()
        })?;
        const ENTRY_SIZE: usize = size_of::<Dyn64<LittleEndian>>();
        let whole = &self.bytes[range];
        let count = whole.len() / ENTRY_SIZE;
        let entries = pod::slice_from_bytes::<Dyn64<LittleEndian>>(whole, count);
        for entry in entries.map_or(&[][..], |(entries, _)| entries) {
            let value = entry.d_val.get(LE);
            match entry.d_tag.get(LE) {
                elf::DT_NULL => break,
                elf::DT_NEEDED if found.needed.len() < LIBRARIES => found.needed.push(value),
                elf::DT_RPATH | elf::DT_RUNPATH => found.run_path = Some(value),
                elf::DT_STRTAB => found.string_table = value,
                elf::DT_FLAGS_1 => found.flags_1 = value,
                _ => {}
            }
        }
        Ok(found)
    }

    /// The string at `offset` of the dynamic string table, for a message.
    fn dynamic_string(&self, dynamic: &Dynamic, offset: u64) -> String {
        let address = dynamic.string_table.saturating_add(offset);
        self.of_type(elf::PT_LOAD)
            .find_map(|(_, header)| {
                let within = address.checked_sub(header.p_vaddr.get(LE))?;
                if within >= header.p_filesz.get(LE) {
                    return None;
                }
                let position = header.p_offset.get(LE).checked_add(within)?;
                self.bytes.get(usize::try_from(position).ok()?..).map(c_string)
            })
            .unwrap_or_else(|| "?".into())
    }
}

/// Libraries of one file that are looked at.
const LIBRARIES: usize = 256;

/// The entries of the dynamic section that matter.
#[derive(Default)]
struct Dynamic {
    needed: Vec<u64>,
    run_path: Option<u64>,
    string_table: u64,
    flags_1: u64,
}

fn file_header(bytes: &[u8]) -> Result<&FileHeader64<LittleEndian>, LoadError> {
    const SIZE: usize = size_of::<FileHeader64<LittleEndian>>();
    if !bytes.starts_with(&elf::ELFMAG) {
        return Err(LoadError::NotElf);
    }
    // The class and encoding are judged first: a 32-bit header is shorter than a 64-bit one.
    match bytes.get(4) {
        Some(&class) if class != elf::ELFCLASS64.0 => return Err(LoadError::NotElf64(class)),
        _ => {}
    }
    match bytes.get(5) {
        Some(&data) if data != elf::ELFDATA2LSB.0 => return Err(LoadError::NotLittleEndian(data)),
        _ => {}
    }
    let Ok((header, _)) = pod::from_bytes::<FileHeader64<LittleEndian>>(bytes) else {
        let (end, length) = (SIZE as u64, bytes.len() as u64);
        return Err(LoadError::Truncated { what: "the ELF header".into(), end, length });
    };
    let version = header.e_version.get(LE);
    if version != 1 {
        return Err(LoadError::UnknownVersion(version));
    }
    let machine = header.e_machine.get(LE);
    if machine != elf::EM_RISCV {
        return Err(LoadError::OtherMachine { machine: machine.0, name: machine_name(machine) });
    }
    match header.e_type.get(LE) {
        elf::ET_EXEC | elf::ET_DYN => Ok(header),
        elf::ET_REL => Err(LoadError::RelocatableObject),
        other => Err(LoadError::NotExecutable(other.0)),
    }
}

fn program_headers<'data>(
    bytes: &'data [u8],
    file: &FileHeader64<LittleEndian>,
) -> Result<&'data [ProgramHeader64<LittleEndian>], LoadError> {
    const ENTRY_SIZE: usize = size_of::<ProgramHeader64<LittleEndian>>();
    let count = file.e_phnum.get(LE);
    if count == 0 {
        return Err(LoadError::NoLoadableSegments);
    }
    if count == elf::PN_XNUM {
        return Err(LoadError::TooManyProgramHeaders);
    }
    let entry_size = file.e_phentsize.get(LE);
    if usize::from(entry_size) != ENTRY_SIZE {
        return Err(LoadError::ProgramHeaderSize(entry_size));
    }
    let size = u64::from(count) * u64::from(entry_size);
    let range = file_range(file.e_phoff.get(LE), size, bytes.len(), || "the program header table".into())?;
    // The range holds exactly `count` entries, and they have no alignment.
    Ok(pod::slice_from_all_bytes(&bytes[range]).unwrap_or(&[]))
}

/// The text up to the first null byte; what is not UTF-8 is replaced.
fn c_string(bytes: &[u8]) -> String {
    const LIMIT: usize = 256;
    let text = bytes.split(|&byte| byte == 0).next().unwrap_or_default();
    String::from_utf8_lossy(&text[..text.len().min(LIMIT)]).into_owned()
}

/// Names of other machines whose programs users may pass by mistake.
fn machine_name(machine: elf::Machine) -> &'static str {
    match machine {
        elf::EM_386 => "x86 (32-bit)",
        elf::EM_X86_64 => "x86-64",
        elf::EM_ARM => "Arm (32-bit)",
        elf::EM_AARCH64 => "AArch64",
        elf::EM_MIPS => "MIPS",
        elf::EM_PPC64 => "PowerPC (64-bit)",
        elf::EM_S390 => "IBM Z",
        elf::EM_LOONGARCH => "LoongArch",
        elf::EM_BPF => "BPF",
        _ => "an unknown machine",
    }
}
