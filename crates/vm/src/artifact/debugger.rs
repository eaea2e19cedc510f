//! Registering loaded artifacts with debuggers, by gdb's JIT interface (gdb's manual, "JIT Compilation Interface").
//!
//! The dynamic loader does not know artifacts, so gdb does not find them. It does look for two names: a function where
//! it sets a breakpoint, and a list of object files in memory. Both names are local symbols here: LLVM, or another
//! version of riverrun, may have the same names in one process.
//!
//! The object file is a copy of the artifact whose addresses are those of the mapping. Making it takes a while, so it is
//! made under a debugger only.

use std::arch::naked_asm;
use std::ops::RangeInclusive;
use std::ptr;
use std::sync::{Mutex, PoisonError};

use addr2line::gimli::{
    DebugAbbrev, DebugFrame, DebugInfo, Error as DwarfError, LittleEndian, UnwindSection, constants,
};
use object::Endianness;
use object::elf::{self, FileHeader64, ProgramHeader64, SectionHeader64, Sym64};
use object::read::elf::{FileHeader, SectionHeader, Sym};

const REGISTER: u32 = 1;
const UNREGISTER: u32 = 2;

/// An object file in the list.
#[repr(C)]
struct Entry {
    next: *mut Entry,
    previous: *mut Entry,
    object: *const u8,
    size: u64,
}

/// The descriptor that gdb reads at the breakpoint in [`announce`].
#[repr(C)]
struct Descriptor {
    version: u32,
    action: u32,
    relevant: *mut Entry,
    first: *mut Entry,
}

/// Returns the descriptor's address; passes gdb's breakpoint first if `tell`.
#[unsafe(naked)]
extern "sysv64" fn announce(tell: bool) -> *mut Descriptor {
    naked_asm!(
        "lea rax, [rip + __jit_debug_descriptor]",
        "test dil, dil",
        "jnz __jit_debug_register_code",
        "ret",
        ".type __jit_debug_register_code, @function",
        "__jit_debug_register_code:",
        "ret",
        ".size __jit_debug_register_code, . - __jit_debug_register_code",
        ".pushsection .data.riverrun_jit, \"aw\", @progbits",
        ".balign 8",
        ".type __jit_debug_descriptor, @object",
        ".size __jit_debug_descriptor, 24",
        "__jit_debug_descriptor:",
        ".long 1, 0",
        ".quad 0, 0",
        ".popsection",
    )
}

/// Held while the descriptor or the list is accessed.
static LIST: Mutex<()> = Mutex::new(());

/// The registration of an artifact, until this is dropped.
pub(crate) struct Announced {
    entry: *mut Entry,
    /// The object file of the entry.
    _object: Box<[u8]>,
}

// SAFETY: the entry is accessed only while `LIST` is held.
unsafe impl Send for Announced {}
// SAFETY: as above.
unsafe impl Sync for Announced {}

impl Announced {
    /// Tells debuggers of the artifact of these bytes that is mapped with this bias; `None` if they are not as the
    /// compiler makes them.
    pub(crate) fn new(artifact: &[u8], bias: usize) -> Option<Announced> {
        let object = moved(artifact, bias as u64)?;
        let entry = Entry {
            next: ptr::null_mut(),
            previous: ptr::null_mut(),
            object: object.as_ptr(),
            size: object.len() as u64,
        };
        let entry = Box::into_raw(Box::new(entry));
        let _list = LIST.lock().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: the descriptor is static, and the lock keeps other threads from it and the list; entries live until
        // they are taken off the list.
        unsafe {
            let descriptor = announce(false);
            (*entry).next = (*descriptor).first;
            if let Some(next) = (*entry).next.as_mut() {
                next.previous = entry;
            }
            (*descriptor).first = entry;
            tell(descriptor, REGISTER, entry);
        }
        Some(Announced { entry, _object: object })
    }
}

impl Drop for Announced {
    fn drop(&mut self) {
        let _list = LIST.lock().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: as in `new`; the entry is this one's, and gdb has no use for it once it has been told.
        unsafe {
            let descriptor = announce(false);
            let Entry { next, previous, .. } = *self.entry;
            match previous.as_mut() {
                Some(previous) => previous.next = next,
                None => (*descriptor).first = next,
            }
            if let Some(next) = next.as_mut() {
                next.previous = previous;
            }
            tell(descriptor, UNREGISTER, self.entry);
            drop(Box::from_raw(self.entry));
        }
    }
}

/// # Safety
/// The descriptor is `announce`'s, the lock held, the entry alive.
unsafe fn tell(descriptor: *mut Descriptor, action: u32, entry: *mut Entry) {
    // SAFETY: as the caller promises.
    unsafe {
        ((*descriptor).action, (*descriptor).relevant) = (action, entry);
        announce(true);
        ((*descriptor).action, (*descriptor).relevant) = (0, ptr::null_mut());
    }
}

/// Whether a debugger traces this process.
pub(crate) fn is_present() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let tracer = status.lines().find_map(|line| line.strip_prefix("TracerPid:"));
    tracer.is_some_and(|tracer| tracer.trim() != "0")
}

/// The object file with all addresses larger by `bias`.
fn moved(artifact: &[u8], bias: u64) -> Option<Box<[u8]>> {
    type Header = FileHeader64<Endianness>;
    const LE: Endianness = Endianness::Little;

    let header = Header::parse(artifact).ok()?;
    let sections = header.sections(LE, artifact).ok()?;
    let mut words = Words { bytes: artifact.into(), bias };
    let table = header.e_shoff.get(LE) as usize;
    let places =
        |table: usize, count: usize, size: usize, field: usize| (0..count).map(move |n| table + n * size + field);
    let segments = header.e_phnum.get(LE).into();
    let field = std::mem::offset_of!(ProgramHeader64<Endianness>, p_vaddr);
    for at in places(header.e_phoff.get(LE) as usize, segments, size_of::<ProgramHeader64<Endianness>>(), field) {
        words.add(at)?;
    }
    for (index, section) in sections.iter().enumerate() {
        if section.sh_flags(LE).0 & elf::SHF_ALLOC.0 != 0 {
            let field = std::mem::offset_of!(SectionHeader64<Endianness>, sh_addr);
            words.add(table + index * size_of::<SectionHeader64<Endianness>>() + field)?;
        }
        if let Some(symbols) = section.symbols(LE, artifact, &sections, object::SectionIndex(index)).ok()? {
            let field = std::mem::offset_of!(Sym64<Endianness>, st_value);
            let start = section.sh_offset(LE) as usize;
            for (symbol, at) in symbols.iter().zip(places(start, symbols.len(), size_of::<Sym64<Endianness>>(), field))
            {
                let section = symbol.st_shndx(LE);
                if section != elf::SHN_UNDEF && !section.is_special() {
                    words.add(at)?;
                }
            }
        }
    }
    let data = |name: &str| {
        let found = sections.section_by_name(LE, name.as_bytes());
        found.and_then(|(_, section)| Some((section.sh_offset(LE) as usize, section.data(LE, artifact).ok()?)))
    };
    let (info, abbreviations, lines, frames) =
        (data(".debug_info")?, data(".debug_abbrev")?, data(".debug_line")?, data(".debug_frame")?);
    for at in addresses_of_units(info.1, abbreviations.1).ok()? {
        words.add(info.0 + at)?;
    }
    let (_, text) = sections.section_by_name(LE, b".text")?;
    let text = text.sh_addr(LE)..=text.sh_addr(LE) + text.sh_size(LE);
    for at in addresses_of_lines(lines.1, &text) {
        words.add(lines.0 + at)?;
    }
    for at in addresses_of_frames(frames.1).ok()? {
        words.add(frames.0 + at)?;
    }
    Some(words.bytes)
}

struct Words {
    bytes: Box<[u8]>,
    bias: u64,
}

impl Words {
    fn add(&mut self, at: usize) -> Option<()> {
        let word = self.bytes.get_mut(at..)?.first_chunk_mut::<8>()?;
        *word = u64::from_le_bytes(*word).wrapping_add(self.bias).to_le_bytes();
        Some(())
    }
}

/// Where attributes of `.debug_info` hold addresses.
fn addresses_of_units(info: &[u8], abbreviations: &[u8]) -> Result<Vec<usize>, DwarfError> {
    let abbreviations = DebugAbbrev::new(abbreviations, LittleEndian);
    let mut found = Vec::new();
    let mut units = DebugInfo::new(info, LittleEndian).units();
    while let Some(unit) = units.next()? {
        let start = unit.debug_info_offset().map_or(0, |offset| offset.0);
        let known = unit.abbreviations(&abbreviations)?;
        let mut entries = unit.entries_raw(&known, None)?;
        while !entries.is_empty() {
            let Some(abbreviation) = entries.read_abbreviation()? else { continue };
            for &attribute in abbreviation.attributes() {
                let at = entries.next_offset().0;
                entries.read_attribute(attribute)?;
                if attribute.form() == constants::DW_FORM_addr {
                    found.push(start + at);
                }
            }
        }
    }
    Ok(found)
}

/// Where line programs set the address: an extended opcode of nine bytes, whose operand is an address of the text.
fn addresses_of_lines(lines: &[u8], text: &RangeInclusive<u64>) -> Vec<usize> {
    const SET_ADDRESS: [u8; 3] = [0, 9, 2];

    let is_set = |window: &[u8; 11]| {
        let (opcode, operand) = window.split_at(SET_ADDRESS.len());
        let operand = operand.first_chunk().map(|&bytes| u64::from_le_bytes(bytes));
        opcode == SET_ADDRESS && operand.is_some_and(|address| text.contains(&address))
    };
    let windows = lines.array_windows::<11>().enumerate();
    windows.filter(|(_, window)| is_set(window)).map(|(at, _)| at + SET_ADDRESS.len()).collect()
}

/// Where entries of `.debug_frame` hold the start of what they describe.
fn addresses_of_frames(frames: &[u8]) -> Result<Vec<usize>, DwarfError> {
    /// Length and pointer to what entries have in common.
    const HEAD: usize = 8;

    let section = DebugFrame::new(frames, LittleEndian);
    let bases = Default::default();
    let mut entries = section.entries(&bases);
    let mut found = Vec::new();
    while let Some(entry) = entries.next()? {
        if let addr2line::gimli::CieOrFde::Fde(partial) = entry {
            found.push(partial.parse(DebugFrame::cie_from_offset)?.offset() + HEAD);
        }
    }
    Ok(found)
}
