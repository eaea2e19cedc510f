//! Values that are worth trying: random ones, and those near the edges of formats.

use crate::random::Random;

/// Upper half of a register that holds a binary32 value.
const BOX: u64 = 0xffff_ffff_0000_0000;

const SINGLES: &[u32] = &[
    0x0000_0000, // 0
    0x8000_0000, // -0
    0x0000_0001, // least subnormal
    0x807f_ffff, // greatest subnormal, negative
    0x007f_ffff,
    0x0080_0000, // least normal
    0x8080_0000,
    0x0080_0001,
    0x00ff_ffff,
    0x0100_0000,
    0x3f80_0000, // 1
    0xbf80_0000,
    0x3f80_0001,
    0x3f7f_ffff,
    0x3f00_0000, // 0.5
    0xbf00_0000,
    0x3f00_0001,
    0x3eff_ffff,
    0x3fc0_0000, // 1.5
    0xc020_0000, // -2.5
    0x3fb5_04f3, // square root of 2
    0x4b00_0000, // 2^23
    0x4b80_0001,
    0xcaff_ffff,
    0x4eff_ffff, // below 2^31
    0x4f00_0000, // 2^31
    0xcf00_0000,
    0xcf00_0001,
    0x4f80_0000, // 2^32
    0x4f7f_ffff,
    0x5f00_0000, // 2^63
    0xdf00_0000,
    0xdf00_0001,
    0x5eff_ffff,
    0x5f80_0000, // 2^64
    0x5f7f_ffff,
    0x2000_0000, // products of these are subnormal
    0x1f80_0001,
    0x9fff_ffff,
    0x6000_0000, // products of these overflow
    0x5f80_0001,
    0x7f7f_ffff, // greatest
    0xff7f_ffff,
    0x7f00_0000,
    0x7f80_0000, // infinity
    0xff80_0000,
    0x7fc0_0000, // canonical NaN
    0xffc1_2345,
    0x7f80_0001, // signalling NaN
    0xffbf_ffff,
];

const DOUBLES: &[u64] = &[
    0x0000_0000_0000_0000, // 0
    0x8000_0000_0000_0000, // -0
    0x0000_0000_0000_0001, // least subnormal
    0x800f_ffff_ffff_ffff, // greatest subnormal, negative
    0x000f_ffff_ffff_ffff,
    0x0010_0000_0000_0000, // least normal
    0x8010_0000_0000_0000,
    0x0010_0000_0000_0001,
    0x001f_ffff_ffff_ffff,
    0x0020_0000_0000_0000,
    0x3ff0_0000_0000_0000, // 1
    0xbff0_0000_0000_0000,
    0x3ff0_0000_0000_0001,
    0x3fef_ffff_ffff_ffff,
    0x3fe0_0000_0000_0000, // 0.5
    0xbfe0_0000_0000_0000,
    0x3fe0_0000_0000_0001,
    0x3fdf_ffff_ffff_ffff,
    0x3ff8_0000_0000_0000, // 1.5
    0xc004_0000_0000_0000, // -2.5
    0x3ff6_a09e_667f_3bcd, // square root of 2
    0x4330_0000_0000_0000, // 2^52
    0x4340_0000_0000_0001,
    0xc32f_ffff_ffff_ffff,
    0x41df_ffff_ffc0_0000, // 2^31 - 1
    0x41df_ffff_ffe0_0000, // 2^31 - 0.5
    0x41e0_0000_0000_0000, // 2^31
    0xc1e0_0000_0000_0000,
    0xc1e0_0000_0010_0000, // -2^31 - 0.5
    0xc1e0_0000_0020_0000, // -2^31 - 1
    0x41ef_ffff_ffe0_0000, // 2^32 - 1
    0x41ef_ffff_fff0_0000, // 2^32 - 0.5
    0x41f0_0000_0000_0000, // 2^32
    0x43e0_0000_0000_0000, // 2^63
    0xc3e0_0000_0000_0000,
    0xc3e0_0000_0000_0001,
    0x43df_ffff_ffff_ffff,
    0x43f0_0000_0000_0000, // 2^64
    0x43ef_ffff_ffff_ffff,
    0x36a0_0000_0000_0000, // least subnormal of binary32
    0x3690_0000_0000_0000, // half of it
    0x3690_0000_0000_0001,
    0x380f_ffff_ffff_ffff, // rounds to binary32's least normal
    0x380f_ffff_e000_0000,
    0x380f_ffff_f000_0000,
    0x380f_ffff_c000_0000, // greatest subnormal of binary32
    0x3810_0000_0000_0000,
    0x47ef_ffff_e000_0000, // greatest binary32
    0x47ef_ffff_f000_0000, // between it and 2^128
    0x47ef_ffff_efff_ffff,
    0x47f0_0000_0000_0000,
    0x2000_0000_0000_0000, // products of these are subnormal
    0x1ff0_0000_0000_0001,
    0x9fff_ffff_ffff_ffff,
    0x6000_0000_0000_0000, // products of these overflow
    0x5ff0_0000_0000_0001,
    0x7fef_ffff_ffff_ffff, // greatest
    0xffef_ffff_ffff_ffff,
    0x7fe0_0000_0000_0000,
    0x7ff0_0000_0000_0000, // infinity
    0xfff0_0000_0000_0000,
    0x7ff8_0000_0000_0000, // canonical NaN
    0xfff8_1234_5678_9abc,
    0x7ff0_0000_0000_0001, // signalling NaN
    0xfff7_ffff_ffff_ffff,
];

/// A float format as a layout of bits.
struct Layout {
    bits: u32,
    fraction: u32,
}

const SINGLE: Layout = Layout { bits: 32, fraction: 23 };
const DOUBLE: Layout = Layout { bits: 64, fraction: 52 };

impl Layout {
    /// A number whose exponent is near `exponent` and whose fraction has few or many bits.
    fn near(&self, random: &mut Random, exponent: i64) -> u64 {
        let top = (1 << (self.bits - 1 - self.fraction)) - 1;
        let exponent = (exponent + random.between(-3..=3)).clamp(0, top) as u64;
        let all = (1 << self.fraction) - 1;
        let fraction = match random.below(4) {
            0 => all & !0 << random.below(self.fraction as usize + 1),
            1 => all >> random.below(self.fraction as usize + 1),
            2 => 1 << random.below(self.fraction as usize),
            _ => random.u64() & all,
        };
        (random.below(2) as u64) << (self.bits - 1) | exponent << self.fraction | fraction
    }

    /// A number of any exponent, mostly near where arithmetic on others gives results that
    /// are neither zero nor infinite.
    fn any(&self, random: &mut Random) -> u64 {
        let top = (1 << (self.bits - 1 - self.fraction)) - 1;
        let middle = top / 2;
        let exponent = match random.below(8) {
            0 => 0,
            1 => top,
            2 => middle / 2,
            3 => middle * 3 / 2,
            4 => middle + random.between(-70..=70),
            5 => random.between(0..=top),
            _ => middle + random.between(-4..=4),
        };
        self.near(random, exponent)
    }

    fn exponent(&self, value: u64) -> i64 {
        (value >> self.fraction) as i64 & ((1 << (self.bits - 1 - self.fraction)) - 1)
    }

    /// Three operands, often related as cancellation and ties need them.
    fn operands(&self, random: &mut Random, edge: impl Fn(&mut Random) -> u64) -> [u64; 3] {
        let sign = 1 << (self.bits - 1);
        let bias = (1 << (self.bits - 2 - self.fraction)) - 1;
        let one = |random: &mut Random| if random.one_in(3) { edge(random) } else { self.any(random) };
        let [a, b, c] = [one(random), one(random), one(random)];
        match random.below(6) {
            // Nearly equal, with equal or opposite signs.
            0 => [
                a,
                (a ^ random.u64() & sign).wrapping_add_signed(random.between(-2..=2)) & (sign << 1).wrapping_sub(1),
                c,
            ],
            // Sums whose smaller operand is around the last place of the greater.
            1 => {
                let b = self.near(random, self.exponent(a) - i64::from(self.fraction));
                [a, b, c]
            }
            // A product near the addend, or far below it.
            2 | 3 => {
                let product = self.exponent(a) + self.exponent(b) - bias;
                let gap = random.pick(&[0, 0, 1, i64::from(self.fraction), -i64::from(self.fraction)]);
                [a, b, self.near(random, product + gap)]
            }
            // A product around the least normal number.
            4 => {
                let b = self.near(random, bias - self.exponent(a));
                [a, b, c]
            }
            _ => [a, b, c],
        }
    }
}

/// Three binary32 operands in registers, one in thirty badly NaN-boxed.
pub fn singles(random: &mut Random) -> [u64; 3] {
    SINGLE.operands(random, |random| random.pick(SINGLES).into()).map(|value| match random.below(30) {
        0 => match random.below(4) {
            0 => value,
            1 => value | 0x7fff_ffff_0000_0000,
            2 => value | 0xffff_fffe_0000_0000,
            _ => value | random.u64() & BOX,
        },
        _ => value | BOX,
    })
}

/// Three binary64 operands.
pub fn doubles(random: &mut Random) -> [u64; 3] {
    DOUBLE.operands(random, |random| random.pick(DOUBLES))
}

/// An integer.
pub fn integer(random: &mut Random) -> u64 {
    let value = match random.below(10) {
        0 => random.below(65) as u64,
        1 => 1 << random.below(64),
        2 => (1_u64 << random.below(64)).wrapping_sub(random.below(3) as u64),
        3 => random.u64() >> random.below(64),
        4 => (random.u64() as i64 >> random.below(64)) as u64,
        5 => u64::from(random.u32()),
        6 => random.u32() as i32 as u64,
        7 => random.pick(&[0x8000_0000, 0x7fff_ffff, 0xffff_ffff, !0x7fff_ffff, 1 << 63, !0, i64::MAX as u64]),
        _ => random.u64(),
    };
    if random.one_in(4) { value.wrapping_neg() } else { value }
}

/// Three integers, the first two often near each other.
pub fn integers(random: &mut Random) -> [u64; 3] {
    let a = integer(random);
    let b = if random.one_in(4) { a.wrapping_add_signed(random.between(-1..=1)) } else { integer(random) };
    [a, b, integer(random)]
}

/// Anything that may stand in a float register.
pub fn float(random: &mut Random) -> u64 {
    if random.one_in(2) { singles(random)[0] } else { doubles(random)[0] }
}

/// A value of `fcsr`: any rounding mode but the reserved ones, few exceptions accrued.
pub fn fcsr(random: &mut Random) -> u32 {
    let flags = if random.one_in(8) { random.below(32) as u32 } else { 0 };
    (random.below(5) as u32) << 5 | flags
}
