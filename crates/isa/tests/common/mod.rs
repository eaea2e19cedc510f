//! Random words for the table's tests.
#![allow(dead_code, reason = "not every test that has this module uses all of it")]

use riverrun_isa::Op;
use riverrun_isa::ops::Rounding;

/// Xorshift64*: a seeded stream of numbers.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    /// The upper half of the next number of the stream.
    pub(crate) fn next(&mut self) -> u32 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 32) as u32
    }

    /// A number below `bound`.
    pub(crate) fn below(&mut self, bound: u32) -> u32 {
        self.next() % bound
    }
}

/// A word of the row with random operand fields, reserved rounding modes avoided.
pub(crate) fn word_of(op: Op, random: &mut Random) -> u32 {
    let info = op.info();
    let word = info.bits | random.next() & !info.mask;
    let reserved = info.format.rounds() && Rounding::from_bits(word >> 12 & 7).is_none();
    if reserved { word & !0x4000 } else { word }
}
