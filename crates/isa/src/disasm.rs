//! Instructions as text, the way GNU objdump 2.40 writes them.

use core::fmt::{self, Display, Formatter};

use crate::alias;
use crate::csr::CsrName;
use crate::decode::{decode, decode_compressed};
use crate::ext::compose;
use crate::format::{Destination, Format, RegisterFile};
use crate::inst::Inst;
use crate::ops::Rounding;

/// How instructions are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Style {
    /// With pseudo-instructions, compressed instructions like others: objdump's default.
    #[default]
    Aliases,
    /// As encoded: `objdump -M no-aliases`.
    Raw,
}

/// The instruction that `word` begins with as `mnemonic<TAB>operands`, standing at address `pc`.
///
/// A word that is no instruction is written as data: `.4byte 0x...`, or `.2byte 0x...` if its low two bits are those of a
/// compressed instruction; 16 bits of zeros are `unimp`.
pub fn disassemble(word: u32, pc: u64, style: Style) -> impl Display {
    disassemble_with(word, pc, style, |_| None::<&str>)
}

/// [`disassemble`] with names for the targets of branches and jumps: if `symbol` returns `main+0x10`, the target is
/// written `10078 <main+0x10>`.
pub fn disassemble_with<S: Display>(
    word: u32,
    pc: u64,
    style: Style,
    symbol: impl Fn(u64) -> Option<S>,
) -> impl Display {
    fmt::from_fn(move |f| write_word(f, word, pc, style, &symbol))
}

/// The length in bytes, 2 or 4, of the instruction that `word` begins with.
pub const fn length(word: u32) -> u8 {
    if word & 3 == 3 { 4 } else { 2 }
}

fn write_word<S: Display>(
    f: &mut Formatter<'_>,
    word: u32,
    pc: u64,
    style: Style,
    symbol: &impl Fn(u64) -> Option<S>,
) -> fmt::Result {
    let text = Text { pc, symbol };
    let aliases = style == Style::Aliases;
    let compressed = if length(word) == 2 { decode_compressed(word as u16) } else { None };
    if let Some((cop, inst)) = compressed {
        let info = cop.info();
        match alias::find(if aliases { alias::HINTS } else { alias::COMPRESSED }, cop, &inst) {
            Some((name, operands)) => return text.write(f, name, "", operands, &inst),
            None if aliases => {}
            None => return text.write(f, info.name, "", info.layout.operands(), &inst),
        }
    }
    if let Some(inst) = compressed.map(|(_, inst)| inst).or_else(|| decode(word)) {
        let info = inst.op.info();
        let always = alias::find(alias::ALWAYS, inst.op, &inst);
        let pseudo = if aliases { alias::find(alias::ALIASES, inst.op, &inst) } else { None };
        return match always.or(pseudo) {
            Some((name, operands)) => text.write(f, name, "", operands, &inst),
            None => text.write(f, info.name, ordering(&inst), info.format.operands(), &inst),
        };
    }
    match (length(word), word as u16, style) {
        (4, ..) => write!(f, ".4byte\t{word:#x}"),
        (_, 0, Style::Aliases) => f.write_str("unimp"),
        (_, 0, Style::Raw) => f.write_str("c.unimp"),
        (_, parcel, _) => write!(f, ".2byte\t{parcel:#x}"),
    }
}

/// The suffix of atomic instructions.
fn ordering(inst: &Inst) -> &'static str {
    match inst.op.info().format {
        Format::Amo | Format::Lr => ["", ".rl", ".aq", ".aqrl"][(inst.imm & 3) as usize],
        _ => "",
    }
}

/// The assembler's names of the integer registers.
const X_NAMES: [&str; 32] = [
    "zero", "ra", "sp", "gp", "tp", "t0", "t1", "t2", "s0", "s1", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "s2",
    "s3", "s4", "s5", "s6", "s7", "s8", "s9", "s10", "s11", "t3", "t4", "t5", "t6",
];

/// The assembler's names of the float registers.
const F_NAMES: [&str; 32] = [
    "ft0", "ft1", "ft2", "ft3", "ft4", "ft5", "ft6", "ft7", "fs0", "fs1", "fa0", "fa1", "fa2", "fa3", "fa4", "fa5",
    "fa6", "fa7", "fs2", "fs3", "fs4", "fs5", "fs6", "fs7", "fs8", "fs9", "fs10", "fs11", "ft8", "ft9", "ft10", "ft11",
];

impl RegisterFile {
    /// The assembler's name of register `number` (0 to 31): `a0`, `fs1`.
    pub const fn register_name(self, number: u8) -> &'static str {
        match self {
            RegisterFile::X => X_NAMES[number as usize % 32],
            RegisterFile::F => F_NAMES[number as usize % 32],
        }
    }
}

struct Text<'a, F> {
    pc: u64,
    symbol: &'a F,
}

impl<S: Display, F: Fn(u64) -> Option<S>> Text<'_, F> {
    /// Writes a mnemonic, a row's underscores as dots, and operands by their template.
    fn write(&self, f: &mut Formatter<'_>, name: &str, suffix: &str, operands: &str, inst: &Inst) -> fmt::Result {
        for (i, part) in name.split('_').enumerate() {
            f.write_str(if i > 0 { "." } else { "" })?;
            f.write_str(part)?;
        }
        f.write_str(suffix)?;
        f.write_str(if operands.is_empty() { "" } else { "\t" })?;
        operands.chars().try_for_each(|letter| self.write_operand(f, letter, inst))
    }

    fn write_operand(&self, f: &mut Formatter<'_>, letter: char, inst: &Inst) -> fmt::Result {
        let format = inst.op.info().format;
        let [file1, file2, file3] = format.sources().map(|file| file.unwrap_or(RegisterFile::X));
        let file = if format.destination() == Destination::F { RegisterFile::F } else { RegisterFile::X };
        match letter {
            'D' => f.write_str(file.register_name(inst.rd)),
            'S' => f.write_str(file1.register_name(inst.rs1)),
            'T' => f.write_str(file2.register_name(inst.rs2)),
            'R' => f.write_str(file3.register_name(inst.rs3)),
            'I' => write!(f, "{}", inst.imm),
            'X' => write!(f, "{:#x}", inst.imm),
            'U' => write!(f, "{:#x}", inst.imm as u32 >> 12),
            'A' => self.write_target(f, self.pc.wrapping_add_signed(inst.imm as i64)),
            'C' => write!(f, "{}", CsrName(inst.imm as u16)),
            'Z' => write!(f, "{}", inst.rs1),
            'K' => write_constant(f, inst),
            'P' => write_fence_set(f, inst.imm >> 4),
            'Q' => write_fence_set(f, inst.imm),
            'M' if inst.rm == Rounding::Dyn => Ok(()),
            'E' if inst.rm == Rounding::Rne => Ok(()),
            'M' | 'E' => write!(f, ",{}", inst.rm.name()),
            text => write!(f, "{text}"),
        }
    }

    fn write_target(&self, f: &mut Formatter<'_>, target: u64) -> fmt::Result {
        match (self.symbol)(target) {
            Some(symbol) => write!(f, "{target:x} <{symbol}>"),
            None => write!(f, "{target:#x}"),
        }
    }
}

/// What a fence orders: device input and output, memory reads and writes.
fn write_fence_set(f: &mut Formatter<'_>, set: i32) -> fmt::Result {
    if set & 15 == 0 {
        return f.write_str("unknown");
    }
    for (bit, letter) in [(8, "i"), (4, "o"), (2, "r"), (1, "w")] {
        f.write_str(if set & bit != 0 { letter } else { "" })?;
    }
    Ok(())
}

/// The constant of `fli`; the least positive normal number is `min`.
fn write_constant(f: &mut Formatter<'_>, inst: &Inst) -> fmt::Result {
    match (inst.rs1, compose::FLI[inst.rs1 as usize % 32]) {
        (1, _) => f.write_str("min"),
        (_, value) if value.is_nan() => f.write_str("nan"),
        (_, value) => write!(f, "{:?}", value as f64),
    }
}
