//! Why a file cannot be loaded.

use crate::address_space::{ADDRESS_END, ADDRESS_START, Permissions};

/// Why [`Image::parse`](crate::Image::parse) refused a file.
///
/// Every message names the thing at fault and what to do about it. Segments are
/// named by their index in the program header table, as `readelf -l` lists them.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// The magic number is missing.
    #[error(
        "not an ELF file (it does not begin with 0x7f 'E' 'L' 'F'); \
         pass a RISC-V program, as `riscv64-linux-gnu-gcc -static` makes it"
    )]
    NotElf,
    /// A needed part is beyond the end of the file.
    #[error(
        "the file is truncated: {what} reaches to byte {end:#x}, but the file has only \
         {length:#x} bytes; copy or link it again"
    )]
    Truncated {
        /// What is missing or cut, such as "the ELF header".
        what: String,
        /// The file offset at which it should end.
        end: u64,
        /// The file's length in bytes.
        length: u64,
    },
    /// The class is ELFCLASS32, or not one at all.
    #[error(
        "not a 64-bit program (ELF class {0}, 64-bit is 2); compile it for RV64, \
         for instance with -march=rv64gc -mabi=lp64d"
    )]
    NotElf64(u8),
    /// The data encoding is ELFDATA2MSB, or not one at all.
    #[error(
        "not a little-endian program (ELF data encoding {0}, little-endian is 1); \
         compile it for little-endian RISC-V"
    )]
    NotLittleEndian(u8),
    /// The ELF version is not 1.
    #[error("unknown ELF version {0} (the only one is 1); the file is damaged, link it again")]
    UnknownVersion(u32),
    /// The program is for another processor.
    #[error(
        "a program for {name} (ELF machine {machine}), not for RISC-V (243); \
         compile it with a RISC-V compiler such as riscv64-linux-gnu-gcc"
    )]
    OtherMachine {
        /// The `e_machine` field.
        machine: u16,
        /// That machine's usual name, or "an unknown machine".
        name: &'static str,
    },
    /// An object file (`.o`), not yet linked.
    #[error("a relocatable object file, not a program; link it with -static")]
    RelocatableObject,
    /// A shared library (`.so`).
    #[error(
        "a shared object, not a program; link an executable with -static or -static-pie \
         instead of -shared"
    )]
    SharedObject,
    /// A core dump, or another type of file that is not a program.
    #[error("not a program (ELF type {0}: neither ET_EXEC nor ET_DYN); link it with -static")]
    NotExecutable(u16),
    /// The program wants a dynamic linker or a shared library.
    #[error(
        "dynamically linked (it needs {needs}); link it with -static, \
         or with -static-pie -Wl,--no-dynamic-linker"
    )]
    DynamicallyLinked {
        /// The interpreter or the first needed library, as the file names it.
        needs: String,
    },
    /// The program header table's entries have an impossible size.
    #[error("program header entries of {0} bytes (ELF64 has 56); the file is damaged, link it again")]
    ProgramHeaderSize(u16),
    /// More than 65,534 program headers.
    #[error("more than 65534 program headers; link it with a stock linker script")]
    TooManyProgramHeaders,
    /// No segment of type PT_LOAD has any memory.
    #[error(
        "no loadable segments, so there is nothing to run; link an executable \
         (a file of debug information alone is not one)"
    )]
    NoLoadableSegments,
    /// A segment has more bytes in the file than in memory.
    #[error(
        "segment {index} has {file_size:#x} bytes in the file but only {memory_size:#x} in \
         memory; the file is damaged, link it again"
    )]
    FileSizeExceedsMemorySize {
        /// The segment's index in the program header table.
        index: usize,
        /// `p_filesz`, in bytes.
        file_size: u64,
        /// `p_memsz`, in bytes.
        memory_size: u64,
    },
    /// The segments of a dynamically linked file repeat its contents, so that they would take more memory than it has bytes.
    #[error(
        "the segments have {size:#x} bytes, but the file only {length:#x}: they repeat its contents; link it again"
    )]
    RepeatedContents {
        /// The sum of `p_filesz`, in bytes.
        size: u64,
        /// The file's length, in bytes.
        length: u64,
    },
    /// A segment lies outside the guest's address space.
    #[error(
        "segment {index} (address {address:#x}, {memory_size:#x} bytes) is outside the guest's \
         address space {ADDRESS_START:#x}..{ADDRESS_END:#x}; link it at an address inside, for \
         instance with -Wl,-Ttext-segment=0x10000"
    )]
    OutOfWindow {
        /// The segment's index in the program header table.
        index: usize,
        /// The segment's address (load bias included, modulo 2^64).
        address: u64,
        /// `p_memsz`, in bytes.
        memory_size: u64,
    },
    /// A segment's alignment is not a power of two, or its offset and address disagree modulo it.
    #[error(
        "segment {index} is misaligned: file offset {offset:#x} and address {address:#x} must be \
         equal modulo the alignment {alignment:#x}, a power of two; link it again"
    )]
    Misaligned {
        /// The segment's index in the program header table.
        index: usize,
        /// `p_offset`.
        offset: u64,
        /// `p_vaddr`.
        address: u64,
        /// `p_align`.
        alignment: u64,
    },
    /// A segment is both writable and executable.
    #[error(
        "segment {index} at {address:#x} is writable and executable at once, which is never \
         allowed; link it without -N (--omagic) and without -z execstack or rwx sections"
    )]
    WritableAndExecutable {
        /// The segment's index in the program header table.
        index: usize,
        /// The segment's address.
        address: u64,
    },
    /// Two segments claim the same addresses.
    #[error(
        "segments {first} and {second} overlap at address {address:#x}; \
         give their sections separate addresses in the linker script"
    )]
    Overlapping {
        /// Index of the segment with the lower address.
        first: usize,
        /// Index of the segment that starts inside it.
        second: usize,
        /// The first address that belongs to both.
        address: u64,
    },
    /// A writable and an executable segment meet in one page.
    #[error(
        "the page at {page:#x} would be writable and executable at once: segment {index} ({permissions}) \
         shares it with its neighbour; link it with -z separate-code or -z max-page-size=4096"
    )]
    SharedPage {
        /// The segment whose permissions clash with those before it in that page.
        index: usize,
        /// That segment's permissions.
        permissions: Permissions,
        /// Address of the page.
        page: u64,
    },
    /// The entry point is not in an executable segment.
    #[error(
        "the entry point {0:#x} is not inside an executable segment; \
         define _start, or name the start symbol with -Wl,-e,SYMBOL"
    )]
    EntryOutsideText(u64),
    /// A section of imports or exports is malformed.
    #[error("the section {section} is damaged: {problem}; use the headers of this version of riverrun")]
    Section {
        /// Its name.
        section: &'static str,
        /// What is wrong.
        problem: String,
    },
    /// A record of such a section is wrong.
    #[error(
        "record {number} of the section {section} is wrong: {problem}; use the headers of this version of riverrun"
    )]
    Record {
        /// The section's name.
        section: &'static str,
        /// Which record, from 0.
        number: usize,
        /// What is wrong, with the function's name where there is one.
        problem: String,
    },
    /// Two records of imports or exports contradict each other.
    #[error("two functions claim the {what}: `{first}` and `{second}`; generate all stubs from one description")]
    Conflict {
        /// What both claim.
        what: String,
        /// One of them.
        first: String,
        /// The other.
        second: String,
    },
    /// The entry point is an odd address.
    #[error("the entry point {0:#x} is misaligned (instructions start at even addresses); link it again")]
    MisalignedEntry(u64),
}
