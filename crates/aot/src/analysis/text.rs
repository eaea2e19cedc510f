//! A program's text: fetching instructions, and which of them are compiled.

use std::ops::Range;

use riverrun_isa::ops::Rounding;
use riverrun_isa::{Extension, Format, Inst, Op, csr, decode};
use riverrun_program::{Image, Permissions, Segment};

/// Optional capabilities of the host's processor.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Abilities {
    /// Rounding to integral values in a mode that the instruction names.
    pub(crate) rounds: bool,
    /// Fused multiply-add.
    pub(crate) fuses: bool,
}

/// How an instruction is treated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Treatment {
    /// It is compiled.
    Compiled,
    /// The reference interpreter executes it, and compiled code continues after it.
    Stepped,
}

/// A program's instructions.
#[derive(Clone, Debug)]
pub(crate) struct Text<'a> {
    pub(crate) image: &'a Image,
    pub(crate) abilities: Abilities,
    /// Numbers of the imports that compiled code calls, sorted.
    imports: Vec<u32>,
    /// Addresses of instructions that are taken, sorted: words of data, and what `auipc` and `addi` make.
    pointers: Vec<u64>,
}

impl<'a> Text<'a> {
    pub(crate) fn new(image: &'a Image, abilities: Abilities) -> Text<'a> {
        let imports = image.imports().unwrap_or_default().iter().map(|import| import.index).collect();
        let mut text = Text { image, abilities, imports, pointers: Vec::new() };
        let data = image.segments().iter().filter(|segment| !segment.permissions.execute);
        let words = data.flat_map(|segment| image.data(segment).chunks_exact(8));
        let words = words.map(|word| u64::from_le_bytes(word.try_into().expect("chunks have 8 bytes")));
        let taken = image.text().iter().flat_map(|range| taken_in(image, range));
        let mut pointers: Vec<u64> = words.chain(taken).filter(|&word| text.fetch(word).is_some()).collect();
        pointers.sort_unstable();
        pointers.dedup();
        text.pointers = pointers;
        text
    }

    /// Addresses of instructions that are taken.
    pub(crate) fn pointers(&self) -> &[u64] {
        &self.pointers
    }

    /// Those inside a function.
    pub(crate) fn pointers_into(&self, addresses: &Range<u64>) -> impl Iterator<Item = u64> {
        let first = self.pointers.partition_point(|&pointer| pointer <= addresses.start);
        self.pointers[first..].iter().copied().take_while(|pointer| addresses.contains(pointer))
    }

    /// Bytes of the program's memory as it is at first.
    pub(crate) fn data(&self, address: u64, len: u64) -> Option<&'a [u8]> {
        let segment = self.image.segments().iter().find(|segment| segment.filled().contains(&address))?;
        let from = (address - segment.address) as usize;
        self.image.data(segment).get(from..from + len as usize)
    }

    /// Whether memory can be read, and never written to.
    pub(crate) fn is_constant(&self, address: u64, len: u64) -> bool {
        let is_constant = |segment: &Segment| {
            let Permissions { read, write, .. } = segment.permissions;
            let addresses = segment.addresses();
            read && !write && addresses.contains(&address) && len <= addresses.end - address
        };
        self.image.segments().iter().any(is_constant)
    }

    /// The instruction at `pc`, if there is one.
    pub(crate) fn fetch(&self, pc: u64) -> Option<Inst> {
        let bits = self.image.instruction_bits(pc).ok()?;
        decode(bits).filter(Inst::is_legal_csr)
    }

    /// Whether there is an instruction that is not known: none that is defined to be illegal, zeros or `unimp`.
    pub(crate) fn is_unknown(&self, pc: u64) -> bool {
        const UNIMP: u32 = 0xc000_1073;
        let is_illegal = |bits: u32| bits as u16 == 0 || bits == UNIMP;
        self.fetch(pc).is_none() && self.image.instruction_bits(pc).is_ok_and(|bits| !is_illegal(bits))
    }

    /// Whether the instruction is compiled. Compiled code runs in the default rounding mode only.
    pub(crate) fn treatment(&self, inst: &Inst) -> Treatment {
        let format = inst.op.info().format;
        let compiled = match format {
            Format::Sys => false,
            Format::Import => self.imports.binary_search(&(inst.imm as u32)).is_ok(),
            // The reference interpreter has the counters.
            Format::Csr | Format::CsrI => matches!(inst.imm as u16, csr::FFLAGS | csr::FRM | csr::FCSR),
            Format::FR4 if !self.abilities.fuses => false,
            _ if !format.rounds() || is_exact(inst.op) => true,
            // To integers: the mode is an operand of the host's instruction.
            _ if format == Format::FToX || inst.op.info().extension == Extension::Zfa => match inst.rm {
                Rounding::Rtz => true,
                _ => self.abilities.rounds,
            },
            _ => matches!(inst.rm, Rounding::Dyn | Rounding::Rne),
        };
        if compiled { Treatment::Compiled } else { Treatment::Stepped }
    }
}

/// Conversions that never round, whatever their mode.
fn is_exact(op: Op) -> bool {
    matches!(op, Op::fcvt_d_w | Op::fcvt_d_wu | Op::fcvt_d_s)
}

/// What pairs of `auipc` and `addi` in a range of text give.
fn taken_in(image: &Image, range: &Range<u64>) -> impl Iterator<Item = u64> {
    const AUIPC: u32 = 0x17;
    const ADDI: u32 = 0x13;
    let bytes = image.text_bytes(range.clone()).unwrap_or_default();
    let start = range.start;
    bytes.windows(8).enumerate().step_by(2).filter_map(move |(offset, pair)| {
        let word = |at: usize| u32::from_le_bytes([pair[at], pair[at + 1], pair[at + 2], pair[at + 3]]);
        let (upper, lower) = (word(0), word(4));
        let rd = upper >> 7 & 31;
        let is_pair =
            upper & 0x7f == AUIPC && lower & 0x707f == ADDI && lower >> 7 & 31 == rd && lower >> 15 & 31 == rd;
        let (upper, lower) = ((upper & !0xfff) as i32 as u64, (lower as i32 >> 20) as u64);
        is_pair.then(|| (start + offset as u64).wrapping_add(upper).wrapping_add(lower))
    })
}
