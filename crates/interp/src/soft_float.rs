//! Floating point in software, exact in every rounding mode, for the reference interpreter. The interpreter computes in
//! hardware; tests compare both.
//!
//! Arithmetic is done in binary128, whose exponents never end here, rounded to odd where it is
//! not exact; rounding that once more to the format gives what rounding the exact result would, as
//! binary128 is more than twice as precise. So overflow and underflow are seen in one place, the
//! latter after rounding, as the specification has it (Unprivileged ISA, section 20.2).

use riverrun_isa::ops::{CANONICAL_NAN_D, CANONICAL_NAN_S, Float, FloatCompare, Int, Rounding, fflags};
use rustc_apfloat::ieee::{Double, Quad, Single};
use rustc_apfloat::{Float as _, FloatConvert, Round, Status, StatusAnd};

/// A result and the exceptions that it raises.
pub(crate) type Flagged = (u64, u8);

fn round(rm: Rounding) -> Round {
    match rm {
        Rounding::Rne | Rounding::Dyn => Round::NearestTiesToEven,
        Rounding::Rtz => Round::TowardZero,
        Rounding::Rdn => Round::TowardNegative,
        Rounding::Rup => Round::TowardPositive,
        Rounding::Rmm => Round::NearestTiesToAway,
    }
}

fn flags(status: Status) -> u8 {
    let flag = |status_bit, flag| if status.contains(status_bit) { flag } else { 0 };
    flag(Status::INEXACT, fflags::NX)
        | flag(Status::UNDERFLOW, fflags::UF)
        | flag(Status::OVERFLOW, fflags::OF)
        | flag(Status::DIV_BY_ZERO, fflags::DZ)
        | flag(Status::INVALID_OP, fflags::NV)
}

/// A float format with its canonical NaN.
trait Format: rustc_apfloat::Float {
    const CANONICAL: u64;

    fn of(bits: u64) -> Self {
        Self::from_bits(u128::from(bits))
    }

    fn bits(self) -> u64 {
        if self.is_nan() { Self::CANONICAL } else { self.to_bits() as u64 }
    }

    /// The same value.
    fn wide(self) -> Quad;

    /// The nearest value in the direction of the mode.
    fn narrow(value: Quad, round: Round) -> StatusAnd<Self>;
}

macro_rules! formats {
    ($($format:ident: $canonical:ident;)*) => {
        $(
            impl Format for $format {
                const CANONICAL: u64 = $canonical;

                fn wide(self) -> Quad {
                    self.convert(&mut false).value
                }

                fn narrow(value: Quad, round: Round) -> StatusAnd<$format> {
                    value.convert_r(round, &mut false)
                }
            }
        )*
    };
}

formats! {
    Single: CANONICAL_NAN_S;
    Double: CANONICAL_NAN_D;
}

/// The result of an operation on binary128 in the format `F`; `operation` is told how to round.
fn rounded<F: Format>(rm: Rounding, operation: impl Fn(Round) -> StatusAnd<Quad>) -> Flagged {
    let truncated = operation(Round::TowardZero);
    let value = if truncated.status.contains(Status::INEXACT) {
        Quad::from_bits(truncated.value.to_bits() | 1)
    } else {
        // Rounding only decides on the sign of zero.
        let exact = operation(round(rm));
        if exact.value.is_zero() || !exact.value.is_finite() {
            return (F::narrow(exact.value, Round::TowardZero).value.bits(), flags(exact.status));
        }
        exact.value
    };
    let result = F::narrow(value, round(rm));
    // Rounded as if the format's exponents had no end.
    let exponent = value.ilogb();
    let exponent = exponent + F::narrow(value.scalbn(-exponent), round(rm)).value.ilogb();
    let inexact = flags(result.status) & fflags::NX;
    let flags = match () {
        _ if exponent > F::MAX_EXP => fflags::OF | fflags::NX,
        _ if exponent < F::MIN_EXP && inexact != 0 => fflags::UF | fflags::NX,
        _ => inexact,
    };
    (result.value.bits(), flags)
}

/// The result where an operand is a NaN: the canonical NaN, and NV for signalling ones.
fn nan_of<F: Format>(operands: &[F]) -> Option<Flagged> {
    let nan = operands.iter().any(|operand| operand.is_nan());
    let signalling = operands.iter().any(|operand| operand.is_signaling());
    nan.then_some((F::CANONICAL, if signalling { fflags::NV } else { 0 }))
}

/// Calls the generic function for the format.
macro_rules! by_format {
    ($f:expr, $function:ident($($arg:expr),*)) => {
        match $f {
            Float::S => $function::<Single>($($arg),*),
            Float::D => $function::<Double>($($arg),*),
        }
    };
}

macro_rules! binary {
    ($($(#[doc = $doc:literal])* $name:ident, $generic:ident, $method:ident;)*) => {
        $(
            fn $generic<F: Format>(a: u64, b: u64, rm: Rounding) -> Flagged {
                let (a, b) = (F::of(a), F::of(b));
                nan_of(&[a, b]).unwrap_or_else(|| rounded::<F>(rm, |round| a.wide().$method(b.wide(), round)))
            }

            $(#[doc = $doc])*
            pub(crate) fn $name(f: Float, a: u64, b: u64, rm: Rounding) -> Flagged {
                by_format!(f, $generic(a, b, rm))
            }
        )*
    };
}

binary! {
    /// `a + b`
    add, add_in, add_r;
    /// `a - b`
    sub, sub_in, sub_r;
    /// `a * b`
    mul, mul_in, mul_r;
    /// `a / b`
    div, div_in, div_r;
}

fn fma_in<F: Format>(a: u64, b: u64, c: u64, rm: Rounding) -> Flagged {
    let (a, b, c) = (F::of(a), F::of(b), F::of(c));
    let invalid_product = a.is_infinite() && b.is_zero() || a.is_zero() && b.is_infinite();
    match nan_of(&[a, b, c]) {
        // Raised even where the addend is a quiet NaN (Unprivileged ISA, section 20.6).
        Some((nan, _)) if invalid_product => (nan, fflags::NV),
        Some(nan) => nan,
        None => rounded::<F>(rm, |round| a.wide().mul_add_r(b.wide(), c.wide(), round)),
    }
}

/// `a * b + c`
pub(crate) fn fma(f: Float, a: u64, b: u64, c: u64, rm: Rounding) -> Flagged {
    by_format!(f, fma_in(a, b, c, rm))
}

fn sqrt_in<F: Format>(a: u64, rm: Rounding) -> Flagged {
    let a = F::of(a);
    if let Some(nan) = nan_of(&[a]) {
        return nan;
    }
    if a.is_zero() || a.is_infinite() && !a.is_negative() {
        return (a.bits(), 0);
    }
    if a.is_negative() {
        return (F::CANONICAL, fflags::NV);
    }
    // a = significand * 2^exponent, the exponent even, the significand as long as a root needs
    // that is longer than the format by some bits; the remainder sticks in the lowest one.
    let exponent = a.ilogb() - (F::PRECISION as i32 - 1);
    let mut exact = true;
    let significand = a.scalbn(-exponent).to_u128_r(64, Round::TowardZero, &mut exact).value;
    let odd = exponent.rem_euclid(2) as u32;
    let scaled = significand << (68 + odd);
    let root = scaled.isqrt();
    let sticky = u128::from(root * root != scaled);
    let rounded = F::from_u128_r(root << 1 | sticky, round(rm));
    let scale = (exponent - odd as i32 - 68) / 2 - 1;
    (rounded.value.scalbn(scale).bits(), flags(rounded.status))
}

/// The square root.
pub(crate) fn sqrt(f: Float, a: u64, rm: Rounding) -> Flagged {
    by_format!(f, sqrt_in(a, rm))
}

fn compare_in<F: Format>(compare: FloatCompare, a: u64, b: u64) -> Flagged {
    use FloatCompare::*;
    let (a, b) = (F::of(a), F::of(b));
    let Some(order) = a.partial_cmp(&b) else {
        let quiet = matches!(compare, Eq | LtQuiet | LeQuiet);
        let invalid = !quiet || a.is_signaling() || b.is_signaling();
        return (0, if invalid { fflags::NV } else { 0 });
    };
    let holds = match compare {
        Eq => order.is_eq(),
        Lt | LtQuiet => order.is_lt(),
        Le | LeQuiet => order.is_le(),
    };
    (u64::from(holds), 0)
}

/// Compares.
pub(crate) fn compare(f: Float, compare: FloatCompare, a: u64, b: u64) -> Flagged {
    by_format!(f, compare_in(compare, a, b))
}

/// The least and greatest value of an integer type.
fn range(int: Int) -> (i128, i128) {
    match int {
        Int::I32 => (i32::MIN.into(), i32::MAX.into()),
        Int::U32 => (0, u32::MAX.into()),
        Int::I64 => (i64::MIN.into(), i64::MAX.into()),
        Int::U64 => (0, u64::MAX.into()),
    }
}

/// An integer in its register form.
fn register(int: Int, value: i128) -> u64 {
    match int {
        Int::I32 | Int::U32 => value as i32 as u64,
        Int::I64 | Int::U64 => value as u64,
    }
}

fn to_int_in<F: Format>(int: Int, a: u64, rm: Rounding) -> Flagged {
    let a = F::of(a);
    let (least, greatest) = range(int);
    if a.is_nan() {
        return (register(int, greatest), fflags::NV);
    }
    let mut exact = true;
    let result = a.to_i128_r(128, round(rm), &mut exact);
    let out_of_range = result.status.contains(Status::INVALID_OP);
    let value = result.value;
    if out_of_range || value < least || value > greatest {
        let end = if a.is_negative() { least } else { greatest };
        return (register(int, end), fflags::NV);
    }
    (register(int, value), if exact { 0 } else { fflags::NX })
}

/// To an integer.
pub(crate) fn to_int(f: Float, int: Int, a: u64, rm: Rounding) -> Flagged {
    by_format!(f, to_int_in(int, a, rm))
}

fn from_int_in<F: Format>(int: Int, a: u64, rm: Rounding) -> Flagged {
    let value = match int {
        Int::I32 => i128::from(a as i32),
        Int::U32 => i128::from(a as u32),
        Int::I64 => i128::from(a as i64),
        Int::U64 => i128::from(a),
    };
    rounded::<F>(rm, |round| Quad::from_i128_r(value, round))
}

/// From an integer.
pub(crate) fn from_int(f: Float, int: Int, a: u64, rm: Rounding) -> Flagged {
    by_format!(f, from_int_in(int, a, rm))
}

/// From binary32 to binary64.
pub(crate) fn widen(a: u64) -> Flagged {
    let a = Single::of(a);
    match nan_of(&[a]) {
        Some((_, flags)) => (Double::CANONICAL, flags),
        None => rounded::<Double>(Rounding::Rne, |_| Status::OK.and(a.wide())),
    }
}

/// From binary64 to binary32.
pub(crate) fn narrow(a: u64, rm: Rounding) -> Flagged {
    let a = Double::of(a);
    match nan_of(&[a]) {
        Some((_, flags)) => (Single::CANONICAL, flags),
        None => rounded::<Single>(rm, |_| Status::OK.and(a.wide())),
    }
}

fn integral_in<F: Format>(a: u64, rm: Rounding, inexact: bool) -> Flagged {
    let a = F::of(a);
    if let Some(nan) = nan_of(&[a]) {
        return nan;
    }
    let rounded = a.round_to_integral(round(rm)).value;
    let changed = rounded.bits() != a.bits();
    (rounded.bits(), if inexact && changed { fflags::NX } else { 0 })
}

/// To an integral value.
pub(crate) fn integral(f: Float, a: u64, rm: Rounding, inexact: bool) -> Flagged {
    by_format!(f, integral_in(a, rm, inexact))
}
