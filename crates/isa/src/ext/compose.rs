//! Compositions that several rows share. Float values are as [`Float`] says: those of
//! [`Float::S`] stand in the low half, the high one zero.

use crate::ops::{CANONICAL_NAN_D, CANONICAL_NAN_S, Float, FloatCompare, Int, Ops, Rounding};

/// The low five bits: the shift amount of 32-bit shifts.
#[inline(always)]
pub(crate) fn low5<O: Ops>(o: &O, a: O::V) -> O::V {
    o.and(a, o.imm(31))
}

/// `1 << (index mod 64)`.
#[inline(always)]
pub(crate) fn bit<O: Ops>(o: &O, index: O::V) -> O::V {
    o.shl(o.imm(1), index)
}

/// The smaller, signed.
#[inline(always)]
pub(crate) fn min_s<O: Ops>(o: &O, a: O::V, b: O::V) -> O::V {
    o.select(o.lt_s(a, b), a, b)
}

/// The larger, signed.
#[inline(always)]
pub(crate) fn max_s<O: Ops>(o: &O, a: O::V, b: O::V) -> O::V {
    o.select(o.lt_s(a, b), b, a)
}

/// The smaller, unsigned.
#[inline(always)]
pub(crate) fn min_u<O: Ops>(o: &O, a: O::V, b: O::V) -> O::V {
    o.select(o.lt_u(a, b), a, b)
}

/// The larger, unsigned.
#[inline(always)]
pub(crate) fn max_u<O: Ops>(o: &O, a: O::V, b: O::V) -> O::V {
    o.select(o.lt_u(a, b), b, a)
}

/// The high half of signed `a` times unsigned `b`: a negative `a` counts 2^64 too much when read
/// as unsigned, so `b` comes off the high half.
#[inline(always)]
pub(crate) fn mul_high_su<O: Ops>(o: &O, a: O::V, b: O::V) -> O::V {
    o.sub(o.mul_high_u(a, b), o.and(o.sar(a, o.imm(63)), b))
}

/// Every byte that is not 0 becomes 0xff: adding 0x7f to the low seven bits carries into the
/// eighth where any is set, and 255 times one bit per byte fills the bytes.
#[inline(always)]
pub(crate) fn or_combine_bytes<O: Ops>(o: &O, a: O::V) -> O::V {
    let low = o.imm(0x7f7f_7f7f_7f7f_7f7f);
    let carried = o.or(o.add(o.and(a, low), low), a);
    let ones = o.and(o.shr_imm(carried, 7), o.imm(0x0101_0101_0101_0101));
    o.mul(ones, o.imm(0xff))
}

/// Where a float format keeps what.
struct Layout {
    infinity: u64,
    quiet: u64,
    least_normal: u64,
    canonical_nan: u64,
}

const fn layout(f: Float) -> Layout {
    match f {
        Float::S => {
            Layout { infinity: 0xff << 23, quiet: 1 << 22, least_normal: 1 << 23, canonical_nan: CANONICAL_NAN_S }
        }
        Float::D => {
            Layout { infinity: 0x7ff << 52, quiet: 1 << 51, least_normal: 1 << 52, canonical_nan: CANONICAL_NAN_D }
        }
    }
}

#[inline(always)]
fn sign<O: Ops>(o: &O, f: Float, a: O::V) -> O::V {
    o.and(a, o.imm(f.sign()))
}

#[inline(always)]
fn magnitude<O: Ops>(o: &O, f: Float, a: O::V) -> O::V {
    o.and(a, o.imm(f.sign() - 1))
}

#[inline(always)]
fn is_nan<O: Ops>(o: &O, f: Float, a: O::V) -> O::V {
    o.lt_u(o.imm(layout(f).infinity), magnitude(o, f, a))
}

/// Whether `a` is below `b` where -0.0 is below +0.0: compared as floats, equals by their sign.
/// Raises NV for signalling NaNs.
#[inline(always)]
fn below<O: Ops>(o: &O, f: Float, a: O::V, b: O::V) -> O::V {
    let less = o.fcompare(f, FloatCompare::LtQuiet, a, b);
    let equal = o.fcompare(f, FloatCompare::Eq, a, b);
    o.or(less, o.and(equal, o.ne(sign(o, f, a), o.imm(0))))
}

/// `a` where the condition holds, else `b`; but the other one where one is a NaN, and the
/// canonical NaN where both are.
#[inline(always)]
fn choose_number<O: Ops>(o: &O, f: Float, condition: O::V, a: O::V, b: O::V) -> O::V {
    let number = o.select(is_nan(o, f, a), b, o.select(o.or(condition, is_nan(o, f, b)), a, b));
    o.select(is_nan(o, f, number), o.imm(layout(f).canonical_nan), number)
}

/// `a` where the condition holds, else `b`; the canonical NaN where one is a NaN.
#[inline(always)]
fn choose_or_nan<O: Ops>(o: &O, f: Float, condition: O::V, a: O::V, b: O::V) -> O::V {
    let either = o.or(is_nan(o, f, a), is_nan(o, f, b));
    o.select(either, o.imm(layout(f).canonical_nan), o.select(condition, a, b))
}

/// IEEE 754-2019 `minimumNumber`: a NaN loses against a number.
#[inline(always)]
pub(crate) fn minimum_number<O: Ops>(o: &O, f: Float, a: O::V, b: O::V) -> O::V {
    choose_number(o, f, below(o, f, a, b), a, b)
}

/// IEEE 754-2019 `maximumNumber`: a NaN loses against a number.
#[inline(always)]
pub(crate) fn maximum_number<O: Ops>(o: &O, f: Float, a: O::V, b: O::V) -> O::V {
    choose_number(o, f, below(o, f, b, a), a, b)
}

/// IEEE 754-2019 `minimum`: a NaN wins.
#[inline(always)]
pub(crate) fn minimum<O: Ops>(o: &O, f: Float, a: O::V, b: O::V) -> O::V {
    choose_or_nan(o, f, below(o, f, a, b), a, b)
}

/// IEEE 754-2019 `maximum`: a NaN wins.
#[inline(always)]
pub(crate) fn maximum<O: Ops>(o: &O, f: Float, a: O::V, b: O::V) -> O::V {
    choose_or_nan(o, f, below(o, f, b, a), a, b)
}

/// One bit for the class: from bit 0 negative infinity, normal, subnormal, zero; positive zero,
/// subnormal, normal, infinity; signalling NaN, quiet NaN.
#[inline(always)]
pub(crate) fn classify<O: Ops>(o: &O, f: Float, a: O::V) -> O::V {
    let at = layout(f);
    let size = magnitude(o, f, a);
    let at_least = |least| o.ge_u(size, o.imm(least));
    // 0 zero, 1 subnormal, 2 normal, 3 infinity.
    let rank = o.add(o.add(at_least(1), at_least(at.least_normal)), at_least(at.infinity));
    let negative = o.ne(sign(o, f, a), o.imm(0));
    let number = o.select(negative, o.sub(o.imm(3), rank), o.add(o.imm(4), rank));
    let nan = o.add(o.imm(8), o.ne(o.and(a, o.imm(at.quiet)), o.imm(0)));
    bit(o, o.select(is_nan(o, f, a), nan, number))
}

/// `fcvtmod.w.d`: truncates a binary64 to an integer modulo 2^32; 0 for infinities and NaNs.
/// Raises what `fcvt.w.d` would.
#[inline(always)]
pub(crate) fn convert_modular<O: Ops>(o: &O, a: O::V) -> O::V {
    o.float_to_int(Float::D, Int::I32, a, Rounding::Rtz);
    let significand = o.or(o.and(a, o.imm((1 << 52) - 1)), o.imm(1 << 52));
    // The value is significand * 2^exponent. Exponents of 64 and more, those of infinities and
    // NaNs among them, leave nothing in the low half, those of -64 and less (subnormals among
    // them) nothing at all.
    let exponent = o.sub(o.and(o.shr_imm(a, 52), o.imm(0x7ff)), o.imm(1023 + 52));
    let opposite = o.sub(o.imm(0), exponent);
    let below_64 = |amount| o.lt_u(amount, o.imm(64));
    let fraction_cut = o.select(below_64(opposite), o.shr(significand, opposite), o.imm(0));
    let integer = o.select(below_64(exponent), o.shl(significand, exponent), fraction_cut);
    let negative = o.lt_s(a, o.imm(0));
    o.sext32(o.select(negative, o.sub(o.imm(0), integer), integer))
}

/// The constants of `fli`, all exact in both formats but for number 1, the format's least
/// positive normal number, and number 31, its canonical NaN.
pub(crate) const FLI: [f32; 32] = [
    -1.0,
    f32::MIN_POSITIVE,
    1.0 / 65536.0,
    1.0 / 32768.0,
    1.0 / 256.0,
    1.0 / 128.0,
    0.0625,
    0.125,
    0.25,
    0.3125,
    0.375,
    0.4375,
    0.5,
    0.625,
    0.75,
    0.875,
    1.0,
    1.25,
    1.5,
    1.75,
    2.0,
    2.5,
    3.0,
    4.0,
    8.0,
    16.0,
    128.0,
    256.0,
    32768.0,
    65536.0,
    f32::INFINITY,
    f32::NAN,
];

/// Constant number `index` (0 to 31) of `fli`.
pub(crate) const fn load_immediate(f: Float, index: u8) -> u64 {
    let at = layout(f);
    match (index % 32, f) {
        (1, _) => at.least_normal,
        (31, _) => at.canonical_nan,
        (index, Float::S) => FLI[index as usize].to_bits() as u64,
        (index, Float::D) => (FLI[index as usize] as f64).to_bits(),
    }
}
