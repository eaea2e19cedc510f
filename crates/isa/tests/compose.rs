//! What rows compose of several operations, evaluated on numbers and compared with the host's
//! arithmetic or with the specification's examples.

mod common;

use core::cell::Cell;

use common::Random;
use riverrun_isa::ops::{CANONICAL_NAN_D, Float, FloatCompare, Int, Mem, System, fflags};
use riverrun_isa::{Op, Operands, Ops, Rounding, eval};

/// Evaluates without memory or environment; of floats only what compositions use.
#[derive(Default)]
struct Host {
    flags: Cell<u8>,
}

impl Host {
    fn value(f: Float, bits: u64) -> f64 {
        match f {
            Float::S => f32::from_bits(bits as u32) as f64,
            Float::D => f64::from_bits(bits),
        }
    }

    fn is_signalling(f: Float, bits: u64) -> bool {
        let quiet = match f {
            Float::S => 1 << 22,
            Float::D => 1 << 51,
        };
        Host::value(f, bits).is_nan() && bits & quiet == 0
    }
}

macro_rules! binary {
    ($($name:ident = |$a:ident, $b:ident| $value:expr;)*) => {
        $(fn $name(&self, $a: u64, $b: u64) -> u64 { ($value) as u64 })*
    };
}

macro_rules! unary {
    ($($name:ident = |$a:ident| $value:expr;)*) => { $(fn $name(&self, $a: u64) -> u64 { ($value) as u64 })* };
}

impl Ops for Host {
    type V = u64;

    fn imm(&self, value: u64) -> u64 {
        value
    }

    binary! {
        add = |a, b| a.wrapping_add(b);
        sub = |a, b| a.wrapping_sub(b);
        mul = |a, b| a.wrapping_mul(b);
        mul_high_s = |a, b| (a as i64 as i128 * b as i64 as i128) >> 64;
        mul_high_u = |a, b| (a as u128 * b as u128) >> 64;
        div_s = |a, b| if b == 0 { -1 } else { (a as i64).wrapping_div(b as i64) };
        div_u = |a, b| a.checked_div(b).unwrap_or(u64::MAX);
        rem_s = |a, b| if b == 0 { a as i64 } else { (a as i64).wrapping_rem(b as i64) };
        rem_u = |a, b| a.checked_rem(b).unwrap_or(a);
        and = |a, b| a & b;
        or = |a, b| a | b;
        xor = |a, b| a ^ b;
        shl = |a, b| a << (b % 64);
        shr = |a, b| a >> (b % 64);
        sar = |a, b| a as i64 >> (b % 64);
        rotl = |a, b| a.rotate_left(b as u32 % 64);
        rotr = |a, b| a.rotate_right(b as u32 % 64);
        rotl32 = |a, b| (a as u32).rotate_left(b as u32 % 32);
        rotr32 = |a, b| (a as u32).rotate_right(b as u32 % 32);
        eq = |a, b| a == b;
        ne = |a, b| a != b;
        lt_s = |a, b| (a as i64) < b as i64;
        lt_u = |a, b| a < b;
        ge_s = |a, b| a as i64 >= b as i64;
        ge_u = |a, b| a >= b;
    }

    unary! {
        clz = |a| a.leading_zeros();
        ctz = |a| a.trailing_zeros();
        popcount = |a| a.count_ones();
        bswap = |a| a.swap_bytes();
        sext8 = |a| a as i8;
        sext16 = |a| a as i16;
        sext32 = |a| a as i32;
        zext8 = |a| a as u8;
        zext16 = |a| a as u16;
        zext32 = |a| a as u32;
    }

    fn select(&self, condition: u64, a: u64, b: u64) -> u64 {
        assert!(condition < 2, "a condition is 0 or 1");
        if condition == 1 { a } else { b }
    }

    fn fcompare(&self, f: Float, compare: FloatCompare, a: u64, b: u64) -> u64 {
        let (x, y) = (Host::value(f, a), Host::value(f, b));
        let loud = matches!(compare, FloatCompare::Lt | FloatCompare::Le) && (x.is_nan() || y.is_nan());
        self.raise(fflags::NV, (loud || Host::is_signalling(f, a) || Host::is_signalling(f, b)) as u64);
        (match compare {
            FloatCompare::Eq => x == y,
            FloatCompare::Lt | FloatCompare::LtQuiet => x < y,
            FloatCompare::Le | FloatCompare::LeQuiet => x <= y,
        }) as u64
    }

    fn float_to_int(&self, f: Float, int: Int, a: u64, rm: Rounding) -> u64 {
        assert_eq!((int, rm), (Int::I32, Rounding::Rtz));
        let whole = Host::value(f, a).trunc();
        let invalid = !(i32::MIN as f64..=i32::MAX as f64).contains(&whole);
        self.raise(fflags::NV, invalid as u64);
        self.raise(fflags::NX, (!invalid && whole != Host::value(f, a)) as u64);
        whole as i32 as u64
    }

    fn raise(&self, flags: u8, condition: u64) {
        if condition == 1 {
            self.flags.set(self.flags.get() | flags);
        }
    }

    fn load(&self, _: Mem, _: u64) -> u64 {
        unreachable!()
    }
    fn store(&self, _: Mem, _: u64, _: u64) {
        unreachable!()
    }
    fn load_reserved(&self, _: Mem, _: u64) -> u64 {
        unreachable!()
    }
    fn store_conditional(&self, _: Mem, _: u64, _: u64) -> u64 {
        unreachable!()
    }
    fn amo(&self, mem: Mem, address: u64, change: impl Fn(u64) -> u64) -> u64 {
        // Stands in for memory: the address is what is there, the result what comes to be.
        let old = if mem == Mem::I32 { address as i32 as u64 } else { address };
        let new = change(old);
        if mem == Mem::I32 { new as i32 as u64 } else { new }
    }
    fn fadd(&self, _: Float, _: u64, _: u64, _: Rounding) -> u64 {
        unreachable!()
    }
    fn fsub(&self, _: Float, _: u64, _: u64, _: Rounding) -> u64 {
        unreachable!()
    }
    fn fmul(&self, _: Float, _: u64, _: u64, _: Rounding) -> u64 {
        unreachable!()
    }
    fn fdiv(&self, _: Float, _: u64, _: u64, _: Rounding) -> u64 {
        unreachable!()
    }
    fn fsqrt(&self, _: Float, _: u64, _: Rounding) -> u64 {
        unreachable!()
    }
    fn fma(&self, f: Float, a: u64, b: u64, c: u64, _: Rounding) -> u64 {
        assert_eq!(f, Float::D);
        f64::from_bits(a).mul_add(f64::from_bits(b), f64::from_bits(c)).to_bits()
    }
    fn int_to_float(&self, _: Float, _: Int, _: u64, _: Rounding) -> u64 {
        unreachable!()
    }
    fn widen(&self, _: u64) -> u64 {
        unreachable!()
    }
    fn narrow(&self, _: u64, _: Rounding) -> u64 {
        unreachable!()
    }
    fn fround(&self, _: Float, _: u64, _: Rounding, _: bool) -> u64 {
        unreachable!()
    }
    fn csr(&self, _: u16, _: impl Fn(u64) -> u64) -> u64 {
        unreachable!()
    }
    fn system(&self, _: System) {
        unreachable!()
    }
    fn call_import(&self, _: u64) {
        unreachable!()
    }
}

fn run(op: Op, rs1: u64, rs2: u64) -> (u64, u8) {
    run3(op, rs1, rs2, 0)
}

fn run3(op: Op, rs1: u64, rs2: u64, rs3: u64) -> (u64, u8) {
    let host = Host::default();
    let x = Operands { rs1, rs2, rs3, imm: rs2, pc: 0, csr: 0, rm: Rounding::Rne, index: rs1 as u8 };
    (eval(op, &host, &x), host.flags.get())
}

/// Numbers of all sizes, and those at the borders.
fn numbers(random: &mut Random) -> Vec<u64> {
    let mut all = vec![0, 1, 2, u64::MAX, 1 << 63, i64::MAX as u64, 1 << 31, u32::MAX as u64, i32::MIN as u64];
    for _ in 0..100 {
        let wide = (random.next() as u64) << 32 | random.next() as u64;
        all.push(wide >> random.below(64));
        all.push((wide as i64 >> random.below(64)) as u64);
    }
    all
}

#[test]
fn integers() {
    let mut random = Random(4);
    let numbers = numbers(&mut random);
    for (&a, &b) in numbers.iter().flat_map(|a| numbers.iter().map(move |b| (a, b))) {
        let (a32, b32) = (a as i32, b as i32);
        let word = |value: i32| value as i64 as u64;
        let divide = |zero: i32, value: fn(i32, i32) -> i32| word(if b32 == 0 { zero } else { value(a32, b32) });
        let divide_u = |zero: u32, value: fn(u32, u32) -> u32| {
            word(if b32 == 0 { zero as i32 } else { value(a32 as u32, b32 as u32) as i32 })
        };
        for (op, value) in [
            (Op::mulhsu, ((a as i64 as i128 * b as i128) >> 64) as u64),
            (Op::mulw, word(a32.wrapping_mul(b32))),
            (Op::divw, divide(-1, i32::wrapping_div)),
            (Op::divuw, divide_u(u32::MAX, u32::wrapping_div)),
            (Op::remw, divide(a32, i32::wrapping_rem)),
            (Op::remuw, divide_u(a32 as u32, u32::wrapping_rem)),
            (Op::addw, word(a32.wrapping_add(b32))),
            (Op::subw, word(a32.wrapping_sub(b32))),
            (Op::sllw, word(a32.wrapping_shl(b as u32))),
            (Op::srlw, word((a32 as u32).wrapping_shr(b as u32) as i32)),
            (Op::sraw, word(a32.wrapping_shr(b as u32))),
            (Op::rolw, word(a32.rotate_left(b as u32 % 32))),
            (Op::rorw, word(a32.rotate_right(b as u32 % 32))),
            (Op::clzw, a32.leading_zeros() as u64),
            (Op::ctzw, a32.trailing_zeros() as u64),
            (Op::cpopw, a32.count_ones() as u64),
            (Op::orc_b, u64::from_le_bytes(a.to_le_bytes().map(|byte| if byte == 0 { 0 } else { 0xff }))),
            (Op::rev8, a.swap_bytes()),
            (Op::min, (a as i64).min(b as i64) as u64),
            (Op::max, (a as i64).max(b as i64) as u64),
            (Op::minu, a.min(b)),
            (Op::maxu, a.max(b)),
            (Op::andn, a & !b),
            (Op::orn, a | !b),
            (Op::xnor, !(a ^ b)),
            (Op::sh3add_uw, ((a as u32 as u64) << 3).wrapping_add(b)),
            (Op::sh2add, (a << 2).wrapping_add(b)),
            (Op::bset, a | 1 << (b % 64)),
            (Op::bclr, a & !(1 << (b % 64))),
            (Op::binv, a ^ 1 << (b % 64)),
            (Op::bext, a >> (b % 64) & 1),
            (Op::czero_eqz, if b == 0 { 0 } else { a }),
            (Op::czero_nez, if b != 0 { 0 } else { a }),
            // The test's memory holds the address, see above.
            (Op::amomin_w, word(a32.min(b32))),
            (Op::amomax_w, word(a32.max(b32))),
            (Op::amominu_w, word((a32 as u32).min(b32 as u32) as i32)),
            (Op::amomaxu_w, word((a32 as u32).max(b32 as u32) as i32)),
            (Op::amomaxu_d, a.max(b)),
            (Op::amoxor_w, word(a32 ^ b32)),
        ] {
            assert_eq!(run(op, a, b).0, value, "{op:?} of {a:#x} and {b:#x}");
        }
    }
}

const QUIET: u64 = 0x7ff8_0000_0000_1234;
const SIGNALLING: u64 = 0xfff0_0000_0000_0001;
const BOX: u64 = 0xffff_ffff_0000_0000;

fn boxed(value: f32) -> u64 {
    BOX | value.to_bits() as u64
}

#[test]
fn minima_and_maxima() {
    let d = f64::to_bits;
    let nan = CANONICAL_NAN_D;
    for (a, b, min, max, minm, maxm, flags) in [
        (d(1.0), d(2.0), d(1.0), d(2.0), d(1.0), d(2.0), 0),
        (d(2.0), d(-3.0), d(-3.0), d(2.0), d(-3.0), d(2.0), 0),
        (d(-0.0), d(0.0), d(-0.0), d(0.0), d(-0.0), d(0.0), 0),
        (d(0.0), d(-0.0), d(-0.0), d(0.0), d(-0.0), d(0.0), 0),
        (d(-0.0), d(-0.0), d(-0.0), d(-0.0), d(-0.0), d(-0.0), 0),
        (d(f64::NEG_INFINITY), d(1.0), d(f64::NEG_INFINITY), d(1.0), d(f64::NEG_INFINITY), d(1.0), 0),
        (QUIET, d(1.0), d(1.0), d(1.0), nan, nan, 0),
        (d(1.0), QUIET, d(1.0), d(1.0), nan, nan, 0),
        (SIGNALLING, d(1.0), d(1.0), d(1.0), nan, nan, fflags::NV),
        (d(1.0), SIGNALLING, d(1.0), d(1.0), nan, nan, fflags::NV),
        (QUIET, QUIET, nan, nan, nan, nan, 0),
        (SIGNALLING, QUIET, nan, nan, nan, nan, fflags::NV),
    ] {
        for (op, value) in [(Op::fmin_d, min), (Op::fmax_d, max), (Op::fminm_d, minm), (Op::fmaxm_d, maxm)] {
            assert_eq!(run(op, a, b), (value, flags), "{op:?} of {a:#x} and {b:#x}");
        }
    }
    assert_eq!(run(Op::fmin_s, boxed(-0.0), boxed(0.0)), (boxed(-0.0), 0));
    assert_eq!(run(Op::fmax_s, boxed(-0.0), boxed(0.0)), (boxed(0.0), 0));
    // What is not boxed is a quiet NaN.
    assert_eq!(run(Op::fmin_s, 1.0_f32.to_bits() as u64, boxed(2.0)), (boxed(2.0), 0));
    assert_eq!(run(Op::fminm_s, d(1.0), boxed(2.0)), (BOX | 0x7fc0_0000, 0));
}

#[test]
fn signs() {
    let d = f64::to_bits;
    assert_eq!(run(Op::fsgnj_d, d(1.5), d(-2.0)).0, d(-1.5));
    assert_eq!(run(Op::fsgnjn_d, d(1.5), d(-2.0)).0, d(1.5));
    assert_eq!(run(Op::fsgnjx_d, d(-1.5), d(-2.0)).0, d(1.5));
    assert_eq!(run(Op::fsgnj_d, SIGNALLING, d(2.0)), (SIGNALLING & !(1 << 63), 0), "NaNs keep their bits");
    assert_eq!(run(Op::fsgnj_s, boxed(1.5), boxed(-2.0)).0, boxed(-1.5));
    assert_eq!(run(Op::fsgnjn_s, boxed(1.5), boxed(2.0)).0, boxed(-1.5));
    // The magnitude of what is not boxed is that of the canonical NaN; its sign is positive.
    assert_eq!(run(Op::fsgnj_s, d(1.5), boxed(-2.0)).0, BOX | 0xffc0_0000);
    assert_eq!(run(Op::fsgnj_s, boxed(1.5), d(-2.0)).0, boxed(1.5));
    // Fused: a * b with the signs of product and sum.
    for (op, value) in [(Op::fmadd_d, 7.0), (Op::fmsub_d, 5.0), (Op::fnmsub_d, -5.0), (Op::fnmadd_d, -7.0)] {
        assert_eq!(run3(op, d(2.0), d(3.0), d(1.0)).0, d(value), "{op:?}");
    }
}

#[test]
fn classes() {
    let numbers = [
        f64::NEG_INFINITY,
        -1.0,
        -f64::MIN_POSITIVE / 2.0,
        -0.0,
        0.0,
        f64::MIN_POSITIVE / 2.0,
        f64::MIN_POSITIVE,
        f64::INFINITY,
    ];
    for (class, value) in numbers.into_iter().enumerate() {
        assert_eq!(run(Op::fclass_d, value.to_bits(), 0), (1 << class, 0), "{value}");
    }
    let singles = [f32::NEG_INFINITY, f32::MIN, -1e-40, -0.0, 0.0, 1e-40, f32::MIN_POSITIVE, f32::INFINITY];
    for (class, value) in singles.into_iter().enumerate() {
        assert_eq!(run(Op::fclass_s, boxed(value), 0), (1 << class, 0), "{value}");
    }
    assert_eq!(run(Op::fclass_d, SIGNALLING, 0), (1 << 8, 0));
    assert_eq!(run(Op::fclass_d, QUIET, 0), (1 << 9, 0));
    assert_eq!(run(Op::fclass_s, BOX | 0xff80_0001, 0), (1 << 8, 0));
    assert_eq!(run(Op::fclass_s, 0, 0), (1 << 9, 0), "not boxed");
}

#[test]
fn modular_conversion() {
    let wide = |value: f64| (value.trunc() as i128 as i32) as u64;
    let mut random = Random(5);
    for _ in 0..10_000 {
        // Up to 2^100, whose low half is zero but for what the significand leaves.
        let value = (random.next() as i32 as f64) * 2.0_f64.powi(random.below(100) as i32 - 30);
        let in_range = (i32::MIN as f64..=i32::MAX as f64).contains(&value.trunc());
        let flags = match (in_range, value.fract() != 0.0) {
            (false, _) => fflags::NV,
            (true, true) => fflags::NX,
            (true, false) => 0,
        };
        assert_eq!(run(Op::fcvtmod_w_d, value.to_bits(), 0), (wide(value), flags), "{value}");
    }
    for (value, result, flags) in [
        (f64::INFINITY, 0, fflags::NV),
        (f64::NAN, 0, fflags::NV),
        (-0.0, 0, 0),
        (5e-324, 0, fflags::NX),
        (4294967296.0 + 7.0, 7, fflags::NV),
        (-1.9, u64::MAX, fflags::NX),
        (2.0_f64.powi(84), 0, fflags::NV),
    ] {
        assert_eq!(run(Op::fcvtmod_w_d, value.to_bits(), 0), (result, flags), "{value}");
    }
}

#[test]
fn constants() {
    assert_eq!(run(Op::fli_d, 0, 0).0, (-1.0_f64).to_bits());
    assert_eq!(run(Op::fli_d, 1, 0).0, f64::MIN_POSITIVE.to_bits());
    assert_eq!(run(Op::fli_s, 1, 0).0, boxed(f32::MIN_POSITIVE));
    assert_eq!(run(Op::fli_d, 2, 0).0, 2.0_f64.powi(-16).to_bits());
    assert_eq!(run(Op::fli_s, 11, 0).0, boxed(0.4375));
    assert_eq!(run(Op::fli_d, 29, 0).0, 65536.0_f64.to_bits());
    assert_eq!(run(Op::fli_s, 30, 0).0, boxed(f32::INFINITY));
    assert_eq!(run(Op::fli_s, 31, 0).0, BOX | 0x7fc0_0000);
    assert_eq!(run(Op::fli_d, 31, 0).0, CANONICAL_NAN_D);
}

#[test]
fn moves_between_files() {
    assert_eq!(run(Op::fmv_x_w, BOX | 0x8000_0000, 0).0, 0xffff_ffff_8000_0000);
    assert_eq!(run(Op::fmv_x_w, 0x1234_5678_7000_0000, 0).0, 0x7000_0000, "bits, boxed or not");
    assert_eq!(run(Op::fmv_w_x, 0x1234_5678_3f80_0000, 0).0, boxed(1.0));
    assert_eq!(run(Op::fmv_d_x, QUIET, 0).0, QUIET);
    assert_eq!(run(Op::jalr, 0x1_0001, 2).0, 0x1_0002);
}
