//! Memory accesses and SSE arithmetic, one host instruction each, as inline assembly: the
//! compiler must neither move nor fold them, as they depend on the environment (rounding mode,
//! accrued exceptions) and may fault.

use std::arch::asm;

use riverrun_isa::ops::{Float, FloatCompare, Int, Mem, Rounding, fflags};
use riverrun_vm::{ADDRESS_MASK_OFFSET, WINDOW_OFFSET};

use super::Fast;
use riverrun_isa::words::Effects;

/// Whether this processor has what the fast handler of fused multiply-add and of rounding to
/// integers needs; without it the reference interpreter executes these.
pub(crate) fn has_hardware() -> bool {
    std::arch::is_x86_feature_detected!("fma") && std::arch::is_x86_feature_detected!("sse4.1")
}

/// A load whose fault finds op, state and fuel in rdi, rsi and r8.
macro_rules! load {
    ($instruction:literal, $hart:ident, $offset:ident) => {{
        let value: u64;
        // SAFETY: the offset is one into the window (`Fast::offset`), whose size `Code::bind` has checked to be the
        // code's, so the address lies in the window or its guard; what is not mapped there faults, and the fault
        // handler exits the engine by the registers named here.
        unsafe {
            asm!(
                concat!($instruction, " [rsi + {offset} + {window}]"),
                value = lateout(reg) value,
                offset = in(reg) $offset,
                window = const WINDOW_OFFSET,
                in("rdi") $hart.op,
                in("rsi") $hart.state,
                in("r8") $hart.fuel,
                options(nostack, readonly, preserves_flags)
            );
        }
        value
    }};
}

/// A store whose fault finds op, state and fuel in rdi, rsi and r8.
macro_rules! store {
    ($class:ident, $instruction:literal, $value:expr, $hart:ident, $offset:ident) => {
        // SAFETY: as for loads.
        unsafe {
            asm!(
                concat!("mov [rsi + {offset} + {window}], ", $instruction),
                value = in($class) $value,
                offset = in(reg) $offset,
                window = const WINDOW_OFFSET,
                in("rdi") $hart.op,
                in("rsi") $hart.state,
                in("r8") $hart.fuel,
                options(nostack, preserves_flags)
            )
        }
    };
}

/// An address and the window's mask. The compiler would keep the mask of several accesses in a register, of which there are
/// too few.
#[inline(always)]
pub(super) fn masked<const MASKED: bool>(hart: &Fast<MASKED>, address: u64) -> u64 {
    let offset: u64;
    // SAFETY: the state is alive while its engine runs, and the window's mask is at this distance. The higher half of the
    // result is zero, as after every operation on 32 bits.
    unsafe {
        asm!(
            "and {offset:e}, dword ptr [rsi + {mask}]",
            offset = inout(reg) address => offset,
            mask = const ADDRESS_MASK_OFFSET,
            in("rsi") hart.state,
            options(pure, readonly, nostack)
        );
    }
    offset
}

/// `offset` is that of an address ([`Fast::offset`]).
#[inline(always)]
pub(super) fn load<const MASKED: bool>(hart: &Fast<MASKED>, mem: Mem, offset: u64) -> u64 {
    match mem {
        Mem::I8 => load!("movsx {value}, byte ptr", hart, offset),
        Mem::U8 => load!("movzx {value:e}, byte ptr", hart, offset),
        Mem::I16 => load!("movsx {value}, word ptr", hart, offset),
        Mem::U16 => load!("movzx {value:e}, word ptr", hart, offset),
        Mem::I32 => load!("movsxd {value}, dword ptr", hart, offset),
        Mem::U32 => load!("mov {value:e}, dword ptr", hart, offset),
        Mem::U64 => load!("mov {value}, qword ptr", hart, offset),
    }
}

/// `offset` is that of an address ([`Fast::offset`]).
#[inline(always)]
pub(super) fn store<const MASKED: bool>(hart: &Fast<MASKED>, mem: Mem, offset: u64, value: u64) {
    match mem {
        Mem::I8 | Mem::U8 => store!(reg_byte, "{value}", value as u8, hart, offset),
        Mem::I16 | Mem::U16 => store!(reg, "{value:x}", value as u16, hart, offset),
        Mem::I32 | Mem::U32 => store!(reg, "{value:e}", value as u32, hart, offset),
        Mem::U64 => store!(reg, "{value}", value, hart, offset),
    }
}

/// The same value, in a float register.
#[inline(always)]
pub(super) fn float_s(value: f32) -> f32 {
    let mut value = value;
    // SAFETY: no instruction at all.
    unsafe { asm!("/* {} */", inout(xmm_reg) value, options(pure, nomem, nostack, preserves_flags)) };
    value
}

/// The same value, in a float register.
#[inline(always)]
pub(super) fn float_d(value: f64) -> f64 {
    let mut value = value;
    // SAFETY: no instruction at all.
    unsafe { asm!("/* {} */", inout(xmm_reg) value, options(pure, nomem, nostack, preserves_flags)) };
    value
}

fn s(bits: u64) -> f32 {
    f32::from_bits(bits as u32)
}

fn d(bits: u64) -> f64 {
    f64::from_bits(bits)
}

/// One instruction on two operands of a format.
macro_rules! binary {
    ($($name:ident, $single:literal, $double:literal;)*) => {
        $(
            #[inline(always)]
            pub(super) fn $name(f: Float, a: u64, b: u64) -> u64 {
                // SAFETY: register arithmetic; exceptions are masked.
                unsafe {
                    match f {
                        Float::S => {
                            let mut a = f32::from_bits(a as u32);
                            asm!(concat!($single, " {a}, {b}"), a = inout(xmm_reg) a, b = in(xmm_reg) f32::from_bits(b as u32),
                                options(nomem, nostack, preserves_flags));
                            u64::from(a.to_bits())
                        }
                        Float::D => {
                            let mut a = f64::from_bits(a);
                            asm!(concat!($double, " {a}, {b}"), a = inout(xmm_reg) a, b = in(xmm_reg) f64::from_bits(b),
                                options(nomem, nostack, preserves_flags));
                            a.to_bits()
                        }
                    }
                }
            }
        )*
    };
}

binary! {
    fadd, "addss", "addsd";
    fsub, "subss", "subsd";
    fmul, "mulss", "mulsd";
    fdiv, "divss", "divsd";
}

#[inline(always)]
pub(super) fn fsqrt(f: Float, a: u64) -> u64 {
    // SAFETY: register arithmetic; exceptions are masked.
    unsafe {
        match f {
            Float::S => {
                let mut a = s(a);
                asm!("sqrtss {a}, {a}", a = inout(xmm_reg) a, options(nomem, nostack, preserves_flags));
                u64::from(a.to_bits())
            }
            Float::D => {
                let mut a = d(a);
                asm!("sqrtsd {a}, {a}", a = inout(xmm_reg) a, options(nomem, nostack, preserves_flags));
                a.to_bits()
            }
        }
    }
}

#[inline(always)]
pub(super) fn fma(hart: &impl Effects, f: Float, a: u64, b: u64, c: u64) -> u64 {
    // SAFETY: register arithmetic; exceptions are masked; the decoder asks `has_hardware`.
    let result = unsafe {
        match f {
            Float::S => {
                let mut r = s(a);
                asm!("vfmadd213ss {r}, {b}, {c}", r = inout(xmm_reg) r, b = in(xmm_reg) s(b), c = in(xmm_reg) s(c),
                    options(nomem, nostack, preserves_flags));
                u64::from(r.to_bits())
            }
            Float::D => {
                let mut r = d(a);
                asm!("vfmadd213sd {r}, {b}, {c}", r = inout(xmm_reg) r, b = in(xmm_reg) d(b), c = in(xmm_reg) d(c),
                    options(nomem, nostack, preserves_flags));
                r.to_bits()
            }
        }
    };
    // Infinity times zero is invalid even where a quiet NaN is added (Unprivileged ISA, section
    // 20.6); the hardware stays silent then.
    if super::is_nan(f, c) && (is_infinite(f, a) && is_zero(f, b) || is_zero(f, a) && is_infinite(f, b)) {
        hart.raise(fflags::NV);
    }
    result
}

#[inline(always)]
fn is_infinite(f: Float, a: u64) -> bool {
    match f {
        Float::S => s(a).is_infinite(),
        Float::D => d(a).is_infinite(),
    }
}

#[inline(always)]
fn is_zero(f: Float, a: u64) -> bool {
    match f {
        Float::S => a << 33 == 0,
        Float::D => a << 1 == 0,
    }
}

macro_rules! compare {
    ($class:ident, $instruction:literal, $set:literal, $a:expr, $b:expr) => {{
        let holds: u8;
        // SAFETY: register arithmetic; exceptions are masked.
        unsafe {
            asm!(concat!($instruction, " {a}, {b}"), concat!($set, " {holds}"), holds = lateout(reg_byte) holds,
                a = in($class) $a, b = in($class) $b, options(nomem, nostack));
        }
        u64::from(holds)
    }};
}

#[inline(always)]
pub(super) fn fcompare(f: Float, compare: FloatCompare, a: u64, b: u64) -> u64 {
    use FloatCompare::*;
    // Operands are swapped: "above" is false for unordered ones, "below" is not.
    match (f, compare) {
        (Float::S, Lt) => compare!(xmm_reg, "comiss", "seta", s(b), s(a)),
        (Float::S, LtQuiet) => compare!(xmm_reg, "ucomiss", "seta", s(b), s(a)),
        (Float::S, Le) => compare!(xmm_reg, "comiss", "setae", s(b), s(a)),
        (Float::S, LeQuiet) => compare!(xmm_reg, "ucomiss", "setae", s(b), s(a)),
        (Float::S, Eq) => {
            compare!(xmm_reg, "ucomiss", "setae", s(b), s(a)) & compare!(xmm_reg, "ucomiss", "setae", s(a), s(b))
        }
        (Float::D, Lt) => compare!(xmm_reg, "comisd", "seta", d(b), d(a)),
        (Float::D, LtQuiet) => compare!(xmm_reg, "ucomisd", "seta", d(b), d(a)),
        (Float::D, Le) => compare!(xmm_reg, "comisd", "setae", d(b), d(a)),
        (Float::D, LeQuiet) => compare!(xmm_reg, "ucomisd", "setae", d(b), d(a)),
        (Float::D, Eq) => {
            compare!(xmm_reg, "ucomisd", "setae", d(b), d(a)) & compare!(xmm_reg, "ucomisd", "setae", d(a), d(b))
        }
    }
}

/// Rounds to an integral value, silently; quiet NaNs stay, signalling ones raise NV.
#[inline(always)]
pub(super) fn round(f: Float, a: u64, rm: Rounding) -> u64 {
    macro_rules! round {
        ($mode:literal) => {
            // SAFETY: register arithmetic; exceptions are masked; the decoder asks `has_hardware`.
            unsafe {
                match f {
                    Float::S => {
                        let mut a = s(a);
                        asm!(concat!("roundss {a}, {a}, ", $mode), a = inout(xmm_reg) a,
                            options(nomem, nostack, preserves_flags));
                        u64::from(a.to_bits())
                    }
                    Float::D => {
                        let mut a = d(a);
                        asm!(concat!("roundsd {a}, {a}, ", $mode), a = inout(xmm_reg) a,
                            options(nomem, nostack, preserves_flags));
                        a.to_bits()
                    }
                }
            }
        };
    }
    match rm {
        Rounding::Rne => round!(8),
        Rounding::Rdn => round!(9),
        Rounding::Rup => round!(10),
        Rounding::Rtz => round!(11),
        // The decoder leaves ties away from zero to the reference interpreter.
        Rounding::Dyn | Rounding::Rmm => round!(12),
    }
}

/// Truncates to 64 bits; the least value where that is out of range.
#[inline(always)]
fn truncate(f: Float, a: u64) -> i64 {
    let value: i64;
    // SAFETY: register arithmetic; exceptions are masked.
    unsafe {
        match f {
            Float::S => asm!("cvttss2si {v}, {a}", v = lateout(reg) value, a = in(xmm_reg) s(a),
                options(nomem, nostack, preserves_flags)),
            Float::D => asm!("cvttsd2si {v}, {a}", v = lateout(reg) value, a = in(xmm_reg) d(a),
                options(nomem, nostack, preserves_flags)),
        }
    }
    value
}

/// The value as binary64, for comparisons with bounds; exact, silent but for signalling NaNs.
#[inline(always)]
fn as_double(f: Float, a: u64) -> f64 {
    match f {
        Float::S => d(widen(a)),
        Float::D => d(a),
    }
}

#[inline(always)]
pub(super) fn float_to_int(hart: &impl Effects, f: Float, int: Int, a: u64, rm: Rounding) -> u64 {
    let (whole, inexact) = match rm {
        Rounding::Rtz => (a, false),
        rm => {
            let whole = round(f, a, rm);
            (whole, whole != a)
        }
    };
    // One past either end of the range of truncated values; all are exact in binary64.
    let (below, above, least, greatest) = match int {
        Int::I32 => (-2147483649.0, 2147483648.0, i32::MIN as u64, i32::MAX as u64),
        Int::U32 => (-1.0, 4294967296.0, 0, u64::MAX),
        // -2^63 is in range and has no neighbour below it above -2^63 - 2048.
        Int::I64 => (-9223372036854777856.0, 9223372036854775808.0, i64::MIN as u64, i64::MAX as u64),
        Int::U64 => (-1.0, 18446744073709551616.0, 0, u64::MAX),
    };
    let value = as_double(f, whole);
    if !(value > below && value < above) {
        hart.raise(fflags::NV);
        return if value <= below { least } else { greatest };
    }
    if inexact {
        hart.raise(fflags::NX);
    }
    match int {
        Int::I32 | Int::I64 => truncate(f, whole) as u64,
        Int::U32 => truncate(f, whole) as i32 as u64,
        Int::U64 if value < 9223372036854775808.0 => truncate(f, whole) as u64,
        // Such values are integers: the subtraction is exact.
        Int::U64 => truncate(Float::D, (value - 9223372036854775808.0).to_bits()) as u64 ^ 1 << 63,
    }
}

#[inline(always)]
fn from_signed(f: Float, value: i64) -> u64 {
    // The destination is cleared first, as the instruction merges into it.
    // SAFETY: register arithmetic; exceptions are masked.
    unsafe {
        match f {
            Float::S => {
                let result: f32;
                asm!("xorps {r}, {r}", "cvtsi2ss {r}, {v}", r = out(xmm_reg) result, v = in(reg) value,
                    options(nomem, nostack, preserves_flags));
                u64::from(result.to_bits())
            }
            Float::D => {
                let result: f64;
                asm!("xorps {r}, {r}", "cvtsi2sd {r}, {v}", r = out(xmm_reg) result, v = in(reg) value,
                    options(nomem, nostack, preserves_flags));
                result.to_bits()
            }
        }
    }
}

#[inline(always)]
pub(super) fn int_to_float(f: Float, int: Int, a: u64) -> u64 {
    match int {
        Int::I32 => from_signed(f, i64::from(a as i32)),
        Int::U32 => from_signed(f, i64::from(a as u32)),
        Int::I64 => from_signed(f, a as i64),
        Int::U64 if a as i64 >= 0 => from_signed(f, a as i64),
        Int::U64 => {
            // Half of it, the lost bit kept as a sticky one, rounds alike; doubling is exact.
            let half = from_signed(f, (a >> 1 | a & 1) as i64);
            fadd(f, half, half)
        }
    }
}

#[inline(always)]
pub(super) fn widen(a: u64) -> u64 {
    let result: f64;
    // SAFETY: register arithmetic; exceptions are masked.
    unsafe {
        asm!("xorps {r}, {r}", "cvtss2sd {r}, {a}", r = out(xmm_reg) result, a = in(xmm_reg) s(a),
            options(nomem, nostack, preserves_flags));
    }
    result.to_bits()
}

#[inline(always)]
pub(super) fn narrow(a: u64) -> u64 {
    let result: f32;
    // SAFETY: register arithmetic; exceptions are masked.
    unsafe {
        asm!("xorps {r}, {r}", "cvtsd2ss {r}, {a}", r = out(xmm_reg) result, a = in(xmm_reg) d(a),
            options(nomem, nostack, preserves_flags));
    }
    u64::from(result.to_bits())
}
