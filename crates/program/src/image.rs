//! A program as described by its ELF file.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use object::LittleEndian;
use object::elf::{self, ProgramHeader64};
use riverrun_isa::length;

use crate::error::LoadError;
use crate::flags::FileFlags;
use crate::header::Headers;
use crate::lazy::Lazy;
use crate::sections::ElfFile;
use crate::segment::{PageRange, Segment, file_range, lay_out_pages};

const LE: LittleEndian = LittleEndian;

/// Where position-independent programs are loaded: their address 0 becomes this one.
///
/// A constant, so that a program runs alike every time. Programs with a segment of larger
/// alignment are loaded at that alignment instead.
pub const STATIC_PIE_BIAS: u64 = 0x40_0000;

/// A guest program, read from an ELF file: immutable, to be shared by any number of machines.
///
/// Reading looks at headers only. Symbols, source lines and unwind tables are read when they
/// are first asked for; if the file's tables are damaged there, they count as absent.
///
/// A position-independent program (static-pie) gets its addresses here, see [`Image::bias`]:
/// every address that an `Image` speaks of is the one in the guest's memory. The program's own
/// start code applies its relocations.
///
/// An executable stack (`PT_GNU_STACK` with the flag X) is ignored, as nothing outside the
/// executable segments is ever executed.
///
/// # Examples
///
/// ```
/// use riverrun_program::{Image, LoadError};
///
/// // The smallest program: an ELF header, one program header, one instruction.
/// let mut file = vec![0x7f, b'E', b'L', b'F', 2, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0];
/// file.extend([2, 0, 243, 0, 1, 0, 0, 0]); // ET_EXEC, EM_RISCV, version 1
/// file.extend(0x10078_u64.to_le_bytes()); // entry
/// file.extend(64_u64.to_le_bytes()); // program headers at
/// file.extend(0_u64.to_le_bytes()); // no section headers
/// file.extend([1, 0, 0, 0, 64, 0, 56, 0, 1, 0, 64, 0, 0, 0, 0, 0]); // flags: RVC; sizes; 1 segment
/// file.extend([1, 0, 0, 0, 5, 0, 0, 0]); // PT_LOAD, r-x
/// for word in [0, 0x10000, 0x10000, 0x7c, 0x7c, 4096_u64] {
///     file.extend(word.to_le_bytes()); // offset, addresses, sizes, alignment
/// }
/// file.extend(0x0000_0073_u32.to_le_bytes()); // ecall
///
/// let image = Image::parse(file.as_slice())?;
/// assert_eq!(image.entry(), 0x10078);
/// assert_eq!(image.segments()[0].permissions.to_string(), "r-x");
/// assert_eq!(image.data(&image.segments()[0]), file);
/// assert_eq!(image.symbol_at(0x10078), None);
///
/// file[18] = 62; // EM_X86_64
/// let error = Image::parse(file).unwrap_err();
/// assert!(error.to_string().contains("a program for x86-64"));
/// # Ok::<(), LoadError>(())
/// ```
pub struct Image {
    pub(crate) file: ElfFile,
    position_independent: bool,
    entry: u64,
    flags: FileFlags,
    segments: Vec<Segment>,
    pages: Vec<PageRange>,
    text: Vec<Range<u64>>,
    program_headers: ProgramHeaders,
    tls: Option<Tls>,
    pub(crate) lazy: Lazy,
}

/// Where the guest finds its own program headers, for the auxiliary vector
/// (`AT_PHDR`, `AT_PHENT`, `AT_PHNUM`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProgramHeaders {
    /// Guest address of the table, or `None` where no segment holds it.
    pub address: Option<u64>,
    /// Size of an entry in bytes: 56.
    pub entry_size: u16,
    /// Number of entries.
    pub count: u16,
}

/// The template of thread-local storage (`PT_TLS`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tls {
    /// Guest address of the template.
    pub address: u64,
    /// Size of a thread's block in bytes. What the template does not fill is zero.
    pub memory_size: u64,
    /// Bytes of the template that are initialised.
    pub file_size: u64,
    /// Alignment of a thread's block in bytes, at least 1.
    pub alignment: u64,
}

impl Image {
    /// What a program's file begins with.
    pub const MAGIC: &[u8] = b"\x7fELF";
    /// Bytes of a program's file at most: what guests can address.
    pub const FILE_MAX: u64 = 1 << 32;

    /// Reads and checks the headers of an ELF file.
    ///
    /// `bytes` may be a `Vec<u8>`, a slice or an `Arc<[u8]>`; only the last is not copied.
    /// Accepts statically linked ELF64 little-endian RISC-V executables (ET_EXEC, and ET_DYN
    /// as `-static-pie` makes it) whose segments lie in
    /// [`ADDRESS_START`](crate::ADDRESS_START)`..`[`ADDRESS_END`](crate::ADDRESS_END).
    ///
    /// # Errors
    ///
    /// A [`LoadError`] that names what is wrong with the file.
    pub fn parse(bytes: impl Into<Arc<[u8]>>) -> Result<Self, LoadError> {
        let bytes = bytes.into();
        let headers = Headers::parse(&bytes)?;
        let bias = load_bias(&headers);

        let mut segments = Vec::with_capacity(headers.program.len().min(16));
        for (index, header) in headers.of_type(elf::PT_LOAD) {
            segments.extend(Segment::check(index, header, bias, bytes.len())?);
        }
        if segments.is_empty() {
            return Err(LoadError::NoLoadableSegments);
        }
        segments.sort_by_key(|segment| segment.address);
        let pages = lay_out_pages(&segments)?;
        let text = text_ranges(&segments);

        let entry = headers.file.e_entry.get(LE).wrapping_add(bias);
        if !text.iter().any(|range| range.contains(&entry)) {
            return Err(LoadError::EntryOutsideText(entry));
        }
        if !entry.is_multiple_of(2) {
            return Err(LoadError::MisalignedEntry(entry));
        }
        let tls = match headers.of_type(elf::PT_TLS).next() {
            Some((_, header)) => Some(Tls::check(header, bias, bytes.len())?),
            None => None,
        };
        Ok(Self {
            position_independent: headers.is_position_independent(),
            entry,
            flags: FileFlags(headers.file.e_flags.get(LE).0),
            program_headers: ProgramHeaders::find(&headers, &segments),
            tls,
            segments,
            pages,
            text,
            lazy: Lazy::default(),
            file: ElfFile { bytes, bias },
        })
    }

    /// The whole file.
    pub fn bytes(&self) -> &[u8] {
        &self.file.bytes
    }

    /// The same, to be kept without a copy.
    pub fn shared_bytes(&self) -> &Arc<[u8]> {
        &self.file.bytes
    }

    /// The guest address at which execution begins: even, and inside [`Image::text`].
    pub fn entry(&self) -> u64 {
        self.entry
    }

    /// What was added to every address of the file: 0, or for position-independent programs
    /// [`STATIC_PIE_BIAS`] (the largest alignment of a segment, if that is larger).
    pub fn bias(&self) -> u64 {
        self.file.bias
    }

    /// Whether the program is a static-pie.
    pub fn is_position_independent(&self) -> bool {
        self.position_independent
    }

    /// The ELF header's flags: the ABI, and whether compressed instructions are used.
    pub fn flags(&self) -> FileFlags {
        self.flags
    }

    /// The loadable segments, at least one, sorted by address; they do not overlap.
    pub fn segments(&self) -> &[Segment] {
        &self.segments
    }

    /// The bytes that fill the beginning of a segment of this image.
    ///
    /// Empty for a segment of another image that does not fit into this file.
    pub fn data(&self, segment: &Segment) -> &[u8] {
        self.file.bytes.get(segment.file.clone()).unwrap_or_default()
    }

    /// The segments as whole pages: sorted, without overlap, never writable and executable.
    pub fn pages(&self) -> &[PageRange] {
        &self.pages
    }

    /// The addresses that can hold instructions: the parts of executable segments that the file
    /// fills, sorted by address.
    pub fn text(&self) -> &[Range<u64>] {
        &self.text
    }

    /// Whether an instruction may be fetched from `address`.
    pub fn is_text(&self, address: u64) -> bool {
        let after = self.text.partition_point(|range| range.start <= address);
        after > 0 && address < self.text[after - 1].end
    }

    /// The instruction bytes of one of [`Image::text`]'s ranges, or of a part of one; `None` for
    /// other addresses.
    pub fn text_bytes(&self, addresses: Range<u64>) -> Option<&[u8]> {
        let length = addresses.end.checked_sub(addresses.start)?;
        self.text_from(addresses.start)?.get(..usize::try_from(length).ok()?)
    }

    /// The bits of the instruction at `pc`, 16 or 32, as [`decode`](riverrun_isa::decode) takes them.
    ///
    /// # Errors
    /// The address of its first half that is no text; `pc` if that is odd.
    pub fn instruction_bits(&self, pc: u64) -> Result<u32, u64> {
        let parcel = |text: &[u8]| text.first_chunk().map(|bytes| u32::from(u16::from_le_bytes(*bytes)));
        let text = self.text_from(pc).filter(|_| pc.is_multiple_of(2)).ok_or(pc)?;
        let low = parcel(text).ok_or(pc)?;
        if length(low) == 2 {
            return Ok(low);
        }
        // Segments may adjoin.
        let high = parcel(&text[2..]).or_else(|| parcel(self.text_from(pc + 2)?));
        Ok(high.ok_or(pc + 2)? << 16 | low)
    }

    /// The bytes of text from an address on, to the end of its segment.
    fn text_from(&self, address: u64) -> Option<&[u8]> {
        let after = self.segments.partition_point(|segment| segment.address <= address);
        let segment = self.segments[..after].last().filter(|segment| segment.permissions.execute)?;
        self.data(segment).get((address - segment.address) as usize..)
    }

    /// The first page-aligned address above all segments: where a heap may begin (`brk`).
    pub fn end(&self) -> u64 {
        self.pages.last().map_or(0, |last| last.addresses.end)
    }

    /// Where the guest finds its program headers.
    pub fn program_headers(&self) -> ProgramHeaders {
        self.program_headers
    }

    /// The template of thread-local storage, if the program has any.
    pub fn tls(&self) -> Option<&Tls> {
        self.tls.as_ref()
    }
}

impl fmt::Debug for Image {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Image")
            .field("entry", &format_args!("{:#x}", self.entry))
            .field("bias", &format_args!("{:#x}", self.file.bias))
            .field("segments", &self.segments)
            .finish_non_exhaustive()
    }
}

impl ProgramHeaders {
    fn find(headers: &Headers<'_>, segments: &[Segment]) -> Self {
        let offset = headers.file.e_phoff.get(LE);
        let size = size_of_val(headers.program) as u64;
        let address = segments.iter().find_map(|segment| {
            let within = offset.checked_sub(segment.file.start as u64)?;
            (within.checked_add(size)? <= segment.file.len() as u64).then(|| segment.address + within)
        });
        Self { address, entry_size: headers.file.e_phentsize.get(LE), count: headers.file.e_phnum.get(LE) }
    }
}

impl Tls {
    fn check(header: &ProgramHeader64<LittleEndian>, bias: u64, file_length: usize) -> Result<Self, LoadError> {
        let file_size = header.p_filesz.get(LE);
        file_range(header.p_offset.get(LE), file_size, file_length, || "the template of thread-local storage".into())?;
        Ok(Self {
            address: header.p_vaddr.get(LE).wrapping_add(bias),
            memory_size: header.p_memsz.get(LE),
            file_size,
            alignment: header.p_align.get(LE).max(1),
        })
    }
}

fn load_bias(headers: &Headers<'_>) -> u64 {
    if !headers.is_position_independent() {
        return 0;
    }
    let alignments = headers.of_type(elf::PT_LOAD).map(|(_, header)| header.p_align.get(LE));
    // Alignments that are not powers of two are refused with their segments.
    alignments.max().unwrap_or(0).max(STATIC_PIE_BIAS)
}

fn text_ranges(segments: &[Segment]) -> Vec<Range<u64>> {
    let executable = segments.iter().filter(|segment| segment.permissions.execute);
    executable.map(Segment::filled).filter(|filled| !filled.is_empty()).collect()
}
