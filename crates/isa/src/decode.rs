//! From words to instructions and back.
//!
//! Decoding searches one bucket of rows, chosen by the bits that distinguish most rows; the buckets are filled at compile
//! time. Encoding is its inverse.

use crate::compressed::{COp, expand};
use crate::format::Format;
use crate::inst::Inst;
use crate::ops::Rounding;
use crate::table::{INFO, Op};

/// Decodes the instruction that a word begins with: 32 bits where the low two are ones, else the
/// 16 bits of the low half.
///
/// `None` for whatever is no instruction of the table, reserved rounding modes among them.
pub fn decode(word: u32) -> Option<Inst> {
    if word & 3 != 3 {
        return decode_compressed(word as u16).map(|(_, inst)| inst);
    }
    let op = WORDS.candidates(word_key(word)).map(|row| Op::ALL[row]).find(|op| {
        let info = op.info();
        word & info.mask == info.bits
    })?;
    read_fields(op, word)
}

/// Decodes a 16-bit parcel: the compressed instruction and the base instruction that it stands
/// for. `None` for parcels that are reserved, all zeros among them, or start a longer instruction.
pub fn decode_compressed(parcel: u16) -> Option<(COp, Inst)> {
    PARCELS.candidates(parcel_key(parcel)).find_map(|row| {
        let cop = COp::ALL[row];
        let info = cop.info();
        if parcel & info.mask != info.bits {
            return None;
        }
        Some((cop, expand(cop, &info.layout.fields(parcel as u32))?))
    })
}

/// Bits `low` and up, `width` of them.
const fn bits(word: u32, low: u32, width: u32) -> u32 {
    word >> low & ((1 << width) - 1)
}

/// The signed number in the bits from `low` to the top.
const fn signed(word: u32, low: u32) -> i32 {
    word as i32 >> low
}

fn read_fields(op: Op, word: u32) -> Option<Inst> {
    let format = op.info().format;
    let [rs1, rs2, rs3] = format.sources();
    let register = |there: bool, low| if there { bits(word, low, 5) as u8 } else { 0 };
    Some(Inst {
        op,
        rd: register(format.has_rd(), 7),
        rs1: register(rs1.is_some() || format.has_rs1_number(), 15),
        rs2: register(rs2.is_some(), 20),
        rs3: register(rs3.is_some(), 27),
        rm: if format.rounds() { Rounding::from_bits(bits(word, 12, 3))? } else { Rounding::Rne },
        len: 4,
        imm: read_immediate(format, word),
    })
}

const fn read_immediate(format: Format, word: u32) -> i32 {
    match format {
        Format::I | Format::Load | Format::FLoad | Format::Jr => signed(word, 20),
        Format::Store | Format::FStore => signed(word, 25) << 5 | bits(word, 7, 5) as i32,
        Format::B => {
            signed(word, 31) << 12 | (bits(word, 7, 1) << 11 | bits(word, 25, 6) << 5 | bits(word, 8, 4) << 1) as i32
        }
        Format::U => (word & 0xffff_f000) as i32,
        Format::J => {
            signed(word, 31) << 20
                | (bits(word, 12, 8) << 12 | bits(word, 20, 1) << 11 | bits(word, 21, 10) << 1) as i32
        }
        Format::Sh => bits(word, 20, 6) as i32,
        Format::ShW => bits(word, 20, 5) as i32,
        Format::Csr | Format::CsrI | Format::Fence => bits(word, 20, 12) as i32,
        Format::Amo | Format::Lr => bits(word, 25, 2) as i32,
        Format::Import => bits(word, 12, 20) as i32,
        Format::R
        | Format::R1
        | Format::Sys
        | Format::FR
        | Format::FR4
        | Format::FR1
        | Format::FRx
        | Format::FCmp
        | Format::FToX
        | Format::XToF
        | Format::FBits
        | Format::XBits
        | Format::FLi => 0,
    }
}

const fn write_immediate(format: Format, imm: i32) -> u32 {
    let imm = imm as u32;
    match format {
        Format::I | Format::Load | Format::FLoad | Format::Jr => bits(imm, 0, 12) << 20,
        Format::Store | Format::FStore => bits(imm, 5, 7) << 25 | bits(imm, 0, 5) << 7,
        Format::B => bits(imm, 12, 1) << 31 | bits(imm, 5, 6) << 25 | bits(imm, 1, 4) << 8 | bits(imm, 11, 1) << 7,
        Format::U => imm & 0xffff_f000,
        Format::J => bits(imm, 20, 1) << 31 | bits(imm, 1, 10) << 21 | bits(imm, 11, 1) << 20 | bits(imm, 12, 8) << 12,
        Format::Sh => bits(imm, 0, 6) << 20,
        Format::ShW => bits(imm, 0, 5) << 20,
        Format::Csr | Format::CsrI | Format::Fence => bits(imm, 0, 12) << 20,
        Format::Amo | Format::Lr => bits(imm, 0, 2) << 25,
        Format::Import => bits(imm, 0, 20) << 12,
        _ => 0,
    }
}

impl Inst {
    /// The 32-bit encoding, of compressed instructions that of what they expand to. It decodes
    /// to this instruction, but for `len`. Bits that exceed their field are cut off.
    pub const fn encode(&self) -> u32 {
        let info = self.op.info();
        let format = info.format;
        let [rs1, rs2, rs3] = format.sources();
        let mut word = info.bits | write_immediate(format, self.imm);
        if format.has_rd() {
            word |= bits(self.rd as u32, 0, 5) << 7;
        }
        if rs1.is_some() || format.has_rs1_number() {
            word |= bits(self.rs1 as u32, 0, 5) << 15;
        }
        if rs2.is_some() {
            word |= bits(self.rs2 as u32, 0, 5) << 20;
        }
        if rs3.is_some() {
            word |= bits(self.rs3 as u32, 0, 5) << 27;
        }
        if format.rounds() {
            word |= (self.rm as u32) << 12;
        }
        word
    }
}

/// Rows by key: those of key `k` stand from `first[k]` to `first[k + 1]`, the last key's to the
/// end.
struct Buckets<const KEYS: usize, const SLOTS: usize> {
    first: [u16; KEYS],
    rows: [u16; SLOTS],
}

impl<const KEYS: usize, const SLOTS: usize> Buckets<KEYS, SLOTS> {
    #[inline]
    fn candidates(&self, key: usize) -> impl Iterator<Item = usize> + '_ {
        let start = self.first[key] as usize;
        let end = self.first.get(key + 1).map_or(SLOTS, |&end| end as usize);
        self.rows[start..end].iter().map(|&row| row as usize)
    }
}

/// Fixed bits of rows or keys: `(mask, bits)`.
type Pattern = (u32, u32);

/// Whether some word has the bits of both patterns.
const fn overlap(a: Pattern, b: Pattern) -> bool {
    (a.1 ^ b.1) & a.0 & b.0 == 0
}

const fn count_slots(keys: &[Pattern], rows: &[Pattern]) -> usize {
    let mut slots = 0;
    let mut key = 0;
    while key < keys.len() {
        let mut row = 0;
        while row < rows.len() {
            slots += overlap(keys[key], rows[row]) as usize;
            row += 1;
        }
        key += 1;
    }
    slots
}

const fn fill<const KEYS: usize, const SLOTS: usize>(keys: &[Pattern; KEYS], rows: &[Pattern]) -> Buckets<KEYS, SLOTS> {
    let mut buckets = Buckets { first: [0; KEYS], rows: [0; SLOTS] };
    let mut slot = 0;
    let mut key = 0;
    while key < KEYS {
        buckets.first[key] = slot as u16;
        let mut row = 0;
        while row < rows.len() {
            if overlap(keys[key], rows[row]) {
                buckets.rows[slot] = row as u16;
                slot += 1;
            }
            row += 1;
        }
        key += 1;
    }
    buckets
}

/// The major opcode of float arithmetic, whose rows differ in bits 31 to 25: the rounding mode
/// stands where others have funct3.
const OP_FP: u32 = 0x53;
const OP_FP_KEYS: usize = 256;

/// Opcode and funct3, or the upper seven bits of float arithmetic.
fn word_key(word: u32) -> usize {
    if bits(word, 0, 7) == OP_FP {
        OP_FP_KEYS + bits(word, 25, 7) as usize
    } else {
        (bits(word, 2, 5) << 3 | bits(word, 12, 3)) as usize
    }
}

/// The words that [`word_key`] gives each key.
const WORD_KEYS: [Pattern; OP_FP_KEYS + 128] = {
    let mut keys = [(0, 0); OP_FP_KEYS + 128];
    let mut key = 0;
    while key < OP_FP_KEYS {
        keys[key] = (0x707f, ((key as u32) & 7) << 12 | ((key as u32) >> 3) << 2 | 3);
        key += 1;
    }
    while key < OP_FP_KEYS + 128 {
        keys[key] = (0xfe00_007f, ((key - OP_FP_KEYS) as u32) << 25 | OP_FP);
        key += 1;
    }
    keys
};

const WORD_ROWS: [Pattern; INFO.len()] = {
    let mut rows = [(0, 0); INFO.len()];
    let mut row = 0;
    while row < rows.len() {
        rows[row] = (INFO[row].mask, INFO[row].bits);
        row += 1;
    }
    rows
};

static WORDS: Buckets<{ WORD_KEYS.len() }, { count_slots(&WORD_KEYS, &WORD_ROWS) }> = fill(&WORD_KEYS, &WORD_ROWS);

/// Quadrant and the upper three bits.
fn parcel_key(parcel: u16) -> usize {
    (bits(parcel as u32, 0, 2) << 3 | bits(parcel as u32, 13, 3)) as usize
}

/// The parcels that [`parcel_key`] gives each key.
const PARCEL_KEYS: [Pattern; 32] = {
    let mut keys = [(0, 0); 32];
    let mut key = 0;
    while key < 32 {
        keys[key] = (0xe003, ((key as u32) & 7) << 13 | (key as u32) >> 3);
        key += 1;
    }
    keys
};

const PARCEL_ROWS: [Pattern; COp::ALL.len()] = {
    let mut rows = [(0, 0); COp::ALL.len()];
    let mut row = 0;
    while row < rows.len() {
        let info = COp::ALL[row].info();
        rows[row] = (info.mask as u32, info.bits as u32);
        row += 1;
    }
    rows
};

static PARCELS: Buckets<32, { count_slots(&PARCEL_KEYS, &PARCEL_ROWS) }> = fill(&PARCEL_KEYS, &PARCEL_ROWS);
