//! Names of addresses.

use std::cmp::Reverse;
use std::ops::Range;

use object::LittleEndian;
use object::elf::{self, Sym64};
use object::read::elf::Sym;

use crate::sections::ElfFile;
use crate::segment::Segment;

const LE: LittleEndian = LittleEndian;

/// A named address of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Symbol<'image> {
    /// The name as the linker knows it (mangled, for C++ and Rust).
    pub name: &'image str,
    /// Guest address, load bias included.
    pub address: u64,
    /// Size in bytes; 0 where it is not known.
    pub size: u64,
    /// What is at the address.
    pub kind: SymbolKind,
    /// How widely the name was visible to the linker.
    pub binding: Binding,
}

/// What a symbol names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SymbolKind {
    /// A function.
    Function,
    /// A function that the program's start-up code calls once to learn where the function of that name is
    /// (`STT_GNU_IFUNC`).
    Resolver,
    /// A variable.
    Object,
    /// An untyped address: a label of assembly, or one that the linker defined.
    Label,
}

/// How widely a symbol was visible to the linker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Binding {
    /// In its own object file.
    Local,
    /// Everywhere, unless another object file defined it, too.
    Weak,
    /// Everywhere.
    Global,
}

/// Symbols that are read at most; browsers have fewer.
const SYMBOLS_MAX: usize = 1 << 20;

/// All symbols, compact, with what is needed to find them fast.
#[derive(Default)]
pub(crate) struct SymbolTable {
    /// Sorted by address; of those at one address, the best to show comes last.
    by_address: Vec<Record>,
    /// Indices into `by_address`, sorted by name; the best of a name comes first.
    by_name: Vec<u32>,
}

struct Record {
    address: u64,
    size: u64,
    /// Where in the file the name is: valid UTF-8.
    name: Range<usize>,
    kind: SymbolKind,
    binding: Binding,
}

impl SymbolTable {
    /// The symbol that `address` belongs to, and the distance from its start. Labels of unknown size count only in `text`.
    pub(crate) fn at<'file>(
        &self,
        file: &'file ElfFile,
        text: &[Range<u64>],
        address: u64,
    ) -> Option<(Symbol<'file>, u64)> {
        /// How many symbols that begin inside the one we look for are skipped, at most.
        const NESTING_LIMIT: usize = 64;

        let records = &self.by_address;
        let after = records.partition_point(|record| record.address <= address);
        let mut label = None;
        let mut beyond_sized = false;
        for record in records[..after].iter().rev().take(NESTING_LIMIT) {
            let offset = address - record.address;
            if offset < record.size {
                return Some((record.symbol(file), offset));
            }
            if record.size == 0 && label.is_none() && !beyond_sized {
                label = Some((record, offset));
            }
            beyond_sized |= record.size > 0;
        }
        let (record, offset) = label?;
        let text = text.iter().find(|range| range.contains(&address))?;
        text.contains(&record.address).then(|| (record.symbol(file), offset))
    }

    /// The symbol of that name, global rather than weak rather than local.
    pub(crate) fn named<'file>(&self, file: &'file ElfFile, name: &str) -> Option<Symbol<'file>> {
        let name_of = |index: u32| self.by_address[index as usize].name(file);
        let first = self.by_name.partition_point(|&index| name_of(index) < name);
        let index = *self.by_name.get(first).filter(|&&index| name_of(index) == name)?;
        Some(self.by_address[index as usize].symbol(file))
    }

    /// All symbols, sorted by address.
    pub(crate) fn iter<'a>(&'a self, file: &'a ElfFile) -> impl ExactSizeIterator<Item = Symbol<'a>> {
        self.by_address.iter().map(|record| record.symbol(file))
    }

    /// Reads the file's symbols. `None`: there are none.
    ///
    /// Names may overlap, so that a small file has any number of long ones: only so many bytes of names are read as
    /// some files' worth, and [`SYMBOLS_MAX`] symbols.
    pub(crate) fn of(file: &ElfFile, segments: &[Segment]) -> Option<Self> {
        let table = file.raw_symbols()?;
        let mut name_bytes = 4 * file.bytes.len();
        let mut by_address = Vec::with_capacity(table.len().min(SYMBOLS_MAX));
        // Index 0 is the null symbol.
        for symbol in table.iter().skip(1).take(SYMBOLS_MAX) {
            let Ok(name) = table.symbol_name(LE, symbol) else { continue };
            let Some(left) = name_bytes.checked_sub(name.len()) else { break };
            name_bytes = left;
            by_address.extend(Record::of(file, segments, symbol, name));
        }
        by_address.sort_by(|a, b| {
            let order = |r: &Record| (r.address, r.size > 0, r.kind != SymbolKind::Label, r.binding);
            let name = |r: &Record| &file.bytes[r.name.clone()];
            let beauty = |name: &[u8]| (name.iter().take_while(|&&byte| byte == b'_').count(), name.len());
            order(a)
                .cmp(&order(b))
                .then_with(|| Reverse(beauty(name(a))).cmp(&Reverse(beauty(name(b)))))
                .then_with(|| name(b).cmp(name(a)))
        });
        let mut by_name: Vec<u32> = (0..u32::try_from(by_address.len()).ok()?).collect();
        by_name.sort_by_key(|&index| {
            let record: &Record = &by_address[index as usize];
            (&file.bytes[record.name.clone()], Reverse(record.binding), index)
        });
        Some(Self { by_address, by_name })
    }
}

/// Whether a symbol can have this address: inside of a segment, or at its end, where linkers define symbols such as `_end`.
fn may_be_named(segments: &[Segment], address: u64) -> bool {
    let after = segments.partition_point(|segment| segment.address <= address);
    after > 0 && address <= segments[after - 1].addresses().end
}

impl Record {
    fn symbol<'file>(&self, file: &'file ElfFile) -> Symbol<'file> {
        Symbol { name: self.name(file), address: self.address, size: self.size, kind: self.kind, binding: self.binding }
    }

    fn name<'file>(&self, file: &'file ElfFile) -> &'file str {
        str::from_utf8(&file.bytes[self.name.clone()]).unwrap_or_default()
    }

    fn of(file: &ElfFile, segments: &[Segment], symbol: &Sym64<LittleEndian>, name: &[u8]) -> Option<Self> {
        let section = symbol.st_shndx(LE);
        if section.is_special() && section != elf::SHN_XINDEX || section == elf::SHN_UNDEF {
            return None;
        }
        let kind = match symbol.st_type() {
            elf::STT_FUNC => SymbolKind::Function,
            elf::STT_GNU_IFUNC => SymbolKind::Resolver,
            elf::STT_OBJECT => SymbolKind::Object,
            elf::STT_NOTYPE => SymbolKind::Label,
            _ => return None,
        };
        // psABI, "Mapping Symbol": $x and $d tell code from data; .L are assembler-local.
        if name.is_empty() || name.starts_with(b"$") || name.starts_with(b".L") {
            return None;
        }
        str::from_utf8(name).ok()?;
        let start = (name.as_ptr() as usize).checked_sub(file.bytes.as_ptr() as usize)?;
        let address = symbol.st_value(LE).wrapping_add(file.bias);
        if !may_be_named(segments, address) {
            return None;
        }
        Some(Self {
            address,
            size: symbol.st_size(LE),
            name: start..start + name.len(),
            kind,
            binding: match symbol.st_bind() {
                // A hidden symbol was visible to all object files of the program, and some linkers make it local (gABI,
                // "Symbol Visibility").
                elf::STB_LOCAL if symbol.st_visibility() == elf::STV_HIDDEN => Binding::Weak,
                elf::STB_LOCAL => Binding::Local,
                elf::STB_WEAK => Binding::Weak,
                _ => Binding::Global,
            },
        })
    }
}
