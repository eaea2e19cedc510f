//! The table of compressed instructions: 16-bit encodings of common instructions, a row each in
//! `ext/c.rs` and `ext/zcb.rs` (Unprivileged ISA, "C Extension for Compressed Instructions" and
//! "Zc* Extension for Code Size Reduction").
//!
//! ```text
//! /// `addi rd, x2, imm`
//! c_addi4spn = Wide { mask: 0xe003, match: 0x0 } |rd, imm| addi { rd, rs1: 2, imm } if imm != 0;
//! ^name        ^layout  ^encoding                 ^fields    ^what it expands to      ^constraint
//! ```
//!
//! The layout ([`Layout`]) says where the fields are and how the assembler writes them. The
//! expansion is a base instruction with its fields; omitted fields are 0. Engines execute the expansion: compressed
//! instructions have no semantics of their own. If the constraint fails, the parcel matches a later row or is illegal.

use crate::ext;
use crate::inst::Inst;
use crate::ops::Rounding;
use crate::table::Op;

/// Where the fields of a compressed instruction are, and how they are written in full.
///
/// The names in parentheses are the specification's formats. Registers written with a prime are
/// three bits wide and mean x8 to x15.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Layout {
    /// `rd', sp, uimm` (CIW)
    Wide,
    /// `rd', uimm(rs1')`, a byte (CLB)
    LoadByte,
    /// `rd', uimm(rs1')`, a halfword (CLH)
    LoadHalf,
    /// `rd', uimm(rs1')`, a word (CL)
    LoadWord,
    /// `rd', uimm(rs1')`, a doubleword (CL)
    LoadDouble,
    /// `rs2', uimm(rs1')`, a byte (CSB)
    StoreByte,
    /// `rs2', uimm(rs1')`, a halfword (CSH)
    StoreHalf,
    /// `rs2', uimm(rs1')`, a word (CS)
    StoreWord,
    /// `rs2', uimm(rs1')`, a doubleword (CS)
    StoreDouble,
    /// No operands (CI)
    Bare,
    /// `rd, imm` (CI)
    Imm,
    /// `rd, shamt` (CI)
    Shift,
    /// `rd, imm`, the upper bits of a word (CI)
    Upper,
    /// `sp, imm`, a multiple of 16 (CI)
    Stack,
    /// `rd, uimm(sp)`, a word (CI)
    StackLoadWord,
    /// `rd, uimm(sp)`, a doubleword (CI)
    StackLoadDouble,
    /// `rs2, uimm(sp)`, a word (CSS)
    StackStoreWord,
    /// `rs2, uimm(sp)`, a doubleword (CSS)
    StackStoreDouble,
    /// `rd, rs2` (CR)
    Reg,
    /// `rs1` (CR)
    Jump,
    /// `rd', rs2'` (CA)
    Arith,
    /// `rd'` (CU)
    Unary,
    /// `rd', imm` (CB)
    ArithImm,
    /// `rd', shamt` (CB)
    ArithShift,
    /// `rs1', target` (CB)
    Branch,
    /// `target` (CJ)
    Target,
}

/// The pieces of an immediate, `(lowest bit in the parcel, width, lowest bit in the immediate)`.
type Scramble = &'static [(u32, u32, u32)];

impl Layout {
    /// How the immediate is put together, and whether it is signed.
    const fn immediate(self) -> (Scramble, bool) {
        match self {
            Layout::Bare | Layout::Reg | Layout::Jump | Layout::Arith | Layout::Unary => (&[], false),
            Layout::Wide => (&[(11, 2, 4), (7, 4, 6), (6, 1, 2), (5, 1, 3)], false),
            Layout::LoadByte | Layout::StoreByte => (&[(6, 1, 0), (5, 1, 1)], false),
            Layout::LoadHalf | Layout::StoreHalf => (&[(5, 1, 1)], false),
            Layout::LoadWord | Layout::StoreWord => (&[(10, 3, 3), (6, 1, 2), (5, 1, 6)], false),
            Layout::LoadDouble | Layout::StoreDouble => (&[(10, 3, 3), (5, 2, 6)], false),
            Layout::Imm | Layout::ArithImm => (&[(2, 5, 0), (12, 1, 5)], true),
            Layout::Shift | Layout::ArithShift => (&[(2, 5, 0), (12, 1, 5)], false),
            Layout::Upper => (&[(2, 5, 12), (12, 1, 17)], true),
            Layout::Stack => (&[(6, 1, 4), (2, 1, 5), (5, 1, 6), (3, 2, 7), (12, 1, 9)], true),
            Layout::StackLoadWord => (&[(4, 3, 2), (12, 1, 5), (2, 2, 6)], false),
            Layout::StackLoadDouble => (&[(5, 2, 3), (12, 1, 5), (2, 3, 6)], false),
            Layout::StackStoreWord => (&[(9, 4, 2), (7, 2, 6)], false),
            Layout::StackStoreDouble => (&[(10, 3, 3), (7, 3, 6)], false),
            Layout::Branch => (&[(3, 2, 1), (10, 2, 3), (2, 1, 5), (5, 2, 6), (12, 1, 8)], true),
            Layout::Target => {
                (&[(3, 3, 1), (11, 1, 4), (2, 1, 5), (7, 1, 6), (6, 1, 7), (9, 2, 8), (8, 1, 10), (12, 1, 11)], true)
            }
        }
    }

    /// The registers of the format: the first of those at bit 7, the second of those at bit 2.
    pub(crate) const fn fields(self, parcel: u32) -> Fields {
        let high = (parcel >> 7 & 31) as u8;
        let low = (parcel >> 2 & 31) as u8;
        let high_prime = 8 + (high & 7);
        let low_prime = 8 + (low & 7);
        let (rd, rs1, rs2) = match self {
            Layout::Wide => (low_prime, 0, 0),
            Layout::LoadByte | Layout::LoadHalf | Layout::LoadWord | Layout::LoadDouble => (low_prime, high_prime, 0),
            Layout::StoreByte | Layout::StoreHalf | Layout::StoreWord | Layout::StoreDouble => {
                (0, high_prime, low_prime)
            }
            Layout::Bare | Layout::Stack | Layout::Target => (0, 0, 0),
            Layout::Imm | Layout::Shift | Layout::Upper | Layout::StackLoadWord | Layout::StackLoadDouble => {
                (high, 0, 0)
            }
            Layout::StackStoreWord | Layout::StackStoreDouble => (0, 0, low),
            Layout::Reg => (high, 0, low),
            Layout::Jump => (0, high, 0),
            Layout::Arith => (high_prime, 0, low_prime),
            Layout::Unary | Layout::ArithImm | Layout::ArithShift => (high_prime, 0, 0),
            Layout::Branch => (0, high_prime, 0),
        };
        Fields { rd, rs1, rs2, imm: self.unscramble(parcel) }
    }

    const fn unscramble(self, parcel: u32) -> i32 {
        let (pieces, signed) = self.immediate();
        let (mut value, mut top) = (0, 0);
        let mut i = 0;
        while i < pieces.len() {
            let (from, width, to) = pieces[i];
            value |= (parcel >> from & ((1 << width) - 1)) << to;
            if to + width > top {
                top = to + width;
            }
            i += 1;
        }
        if signed { ((value << (32 - top)) as i32) >> (32 - top) } else { value as i32 }
    }
}

/// The fields that a row's expansion and constraint may name.
pub(crate) struct Fields {
    rd: u8,
    rs1: u8,
    rs2: u8,
    imm: i32,
}

/// What the table says of a compressed instruction.
#[derive(Clone, Copy, Debug)]
pub struct CInfo {
    /// The row's name.
    pub name: &'static str,
    /// The extension that defines it, `C` or `Zcb`.
    pub extension: &'static str,
    /// Its operands.
    pub layout: Layout,
    /// Which bits of the encoding are fixed.
    pub mask: u16,
    /// Their values.
    pub bits: u16,
    /// The row's comment: the base instruction that it expands to, in assembler syntax.
    pub doc: &'static str,
}

/// Makes [`COp`], the table `INFO` and `expand` from all rows, whose syntax the module's documentation shows. `$p` are
/// the fields that a row's expansion and constraint name.
macro_rules! define {
    ($($ext:ident { $(
        $(#[doc = $doc:literal])*
        $name:ident = $layout:ident { mask: $mask:literal, match: $bits:literal }
            |$($p:ident),*| $op:ident { $($field:ident $(: $value:expr)?),* } $(if $constraint:expr)?;
    )* })*) => {
        /// A compressed instruction.
        #[allow(non_camel_case_types)]
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum COp { $($( $(#[doc = $doc])* $name, )*)* }

        impl COp {
            /// Every compressed instruction, in the table's order.
            pub const ALL: &[COp] = &[$($(COp::$name,)*)*];
        }

        const INFO: &[CInfo] = &[$($(CInfo {
            name: stringify!($name),
            extension: stringify!($ext),
            layout: Layout::$layout,
            mask: $mask,
            bits: $bits,
            doc: concat!($($doc,)*),
        },)*)*];

        /// Expands a parcel that has the encoding of `cop` and these fields; `None` if the row's constraint fails.
        pub(crate) fn expand(cop: COp, fields: &Fields) -> Option<Inst> {
            let zeros = Inst { op: Op::addi, rd: 0, rs1: 0, rs2: 0, rs3: 0, rm: Rounding::Rne, len: 2, imm: 0 };
            match cop { $($(COp::$name => {
                $(let $p = fields.$p;)*
                $(if !($constraint) { return None; })?
                Some(Inst { op: Op::$op, $($field $(: $value)?,)* ..zeros })
            })*)* }
        }
    };
}

ext::for_each_compressed_row!(define);

impl COp {
    /// The instruction's row of the table.
    pub const fn info(self) -> &'static CInfo {
        &INFO[self as usize]
    }
}
