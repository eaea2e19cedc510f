//! The semantics of instructions agree with results computed in other ways: floats by Berkeley
//! SoftFloat, what qemu 7.2 does not know (Zicond, Zcb, Zfa) from the words of the specification.

use riverrun_isa::ops::fflags::{NV, NX, OF, UF};
use riverrun_isa::{COp, Destination, Extension, Inst, Op, Rounding, decode_compressed};
use riverrun_testkit::generate::blank;
use riverrun_testkit::probe::{Batch, Inputs, Probe, ROUNDS, Results, Subject};
use riverrun_testkit::{Case, Engine, amount, check, elf};
use softfloat_wrapper::{ExceptionFlags, F32, F64, Float, RoundingMode};

/// Probes of a batch.
const PROBES: usize = 2500;

const BOX: u64 = 0xffff_ffff_0000_0000;

/// Executes as many random instructions as asked for and compares every result with the oracle's.
fn compare(subjects: &[Subject], oracle: impl Fn(&Probe, &Inputs) -> Results) {
    assert!(!subjects.is_empty());
    let probes = amount(20_000, 1_000_000).div_ceil(ROUNDS as u64) as usize;
    let batches = (0..probes).step_by(PROBES).map(|first| (PROBES.min(probes - first), Engine::INTERPRETERS));
    // Compiling a batch takes a hundred times as long as running it.
    let batches = batches.chain([(PROBES / 20, Engine::ALL)]);
    for (seed, (len, engines)) in batches.enumerate() {
        let batch = Batch::new(subjects, len, !(seed as u64));
        for &engine in engines {
            let output = batch.run(engine);
            for (probe, inputs, ours) in batch.results(&output) {
                let expected = oracle(probe, &inputs);
                assert!(
                    ours == expected,
                    "batch {seed}: {probe}\n{:#x?}\n{inputs:#x?}\n{engine:?} {ours:#x?}\nexpected {expected:#x?}",
                    probe.inst
                );
            }
        }
    }
}

fn ops(chosen: impl Fn(Op) -> bool) -> Vec<Subject> {
    Op::ALL.iter().filter(|op| chosen(**op)).map(|&op| Subject::Op(op)).collect()
}

// Floats.

/// A format with what SoftFloat's interface lacks.
trait Format: Float + Copy {
    const QUIET_BIT: u64;
    const SIGN: u64;
    const FORMAT: &'static str;

    /// From a register, whose NaN box may be bad.
    fn unboxed(register: u64) -> Self;
    fn boxed(self) -> u64;
    fn raw(self) -> u64;
    fn with_raw(bits: u64) -> Self;

    fn negated(self) -> Self {
        Self::with_raw(self.raw() ^ Self::SIGN)
    }

    fn canonical() -> Self;

    /// Whether raising NV is due, for operations that are otherwise silent.
    fn is_signalling(self) -> bool {
        self.is_nan() && self.raw() & Self::QUIET_BIT == 0
    }
}

impl Format for F32 {
    const QUIET_BIT: u64 = 1 << 22;
    const SIGN: u64 = 1 << 31;
    const FORMAT: &'static str = "s";

    fn unboxed(register: u64) -> F32 {
        if register & BOX == BOX { F32::from_bits(register as u32) } else { F32::canonical() }
    }

    fn boxed(self) -> u64 {
        self.raw() | BOX
    }

    fn raw(self) -> u64 {
        self.to_bits().into()
    }

    fn with_raw(bits: u64) -> F32 {
        F32::from_bits(bits as u32)
    }

    fn canonical() -> F32 {
        F32::from_bits(0x7fc0_0000)
    }
}

impl Format for F64 {
    const QUIET_BIT: u64 = 1 << 51;
    const SIGN: u64 = 1 << 63;
    const FORMAT: &'static str = "d";

    fn unboxed(register: u64) -> F64 {
        F64::from_bits(register)
    }

    fn boxed(self) -> u64 {
        self.raw()
    }

    fn raw(self) -> u64 {
        self.to_bits()
    }

    fn with_raw(bits: u64) -> F64 {
        F64::from_bits(bits)
    }

    fn canonical() -> F64 {
        F64::from_bits(0x7ff8 << 48)
    }
}

fn mode(rm: Rounding, fcsr: u32) -> RoundingMode {
    let rm = if rm == Rounding::Dyn { Rounding::from_bits(fcsr >> 5).unwrap() } else { rm };
    match rm {
        Rounding::Rne => RoundingMode::TiesToEven,
        Rounding::Rtz => RoundingMode::TowardZero,
        Rounding::Rdn => RoundingMode::TowardNegative,
        Rounding::Rup => RoundingMode::TowardPositive,
        Rounding::Rmm => RoundingMode::TiesToAway,
        Rounding::Dyn => unreachable!(),
    }
}

/// The register that results, without exceptions where SoftFloat does not raise them itself.
/// `None` for instructions that this oracle does not know.
fn value<T: Format>(operation: &str, sources: [u64; 3], rm: RoundingMode, index: u8) -> Option<(u64, u8)> {
    let [a, b, c] = sources.map(T::unboxed);
    let x = sources[0];
    let float = |value: T| Some((value.boxed(), 0));
    let integer = |value: u64| Some((value, 0));
    let comparison = |holds: bool| Some((u64::from(holds), 0));
    match operation {
        "fadd" => float(a.add(b, rm)),
        "fsub" => float(a.sub(b, rm)),
        "fmul" => float(a.mul(b, rm)),
        "fdiv" => float(a.div(b, rm)),
        "fsqrt" => float(a.sqrt(rm)),
        "fmadd" => float(a.fused_mul_add(b, c, rm)),
        "fmsub" => float(a.fused_mul_add(b, c.negated(), rm)),
        "fnmsub" => float(a.negated().fused_mul_add(b, c, rm)),
        "fnmadd" => float(a.negated().fused_mul_add(b, c.negated(), rm)),
        "feq" => comparison(a.eq(b)),
        "flt" => comparison(a.lt(b)),
        "fle" => comparison(a.le(b)),
        "fltq" => comparison(a.lt_quiet(b)),
        "fleq" => comparison(a.le_quiet(b)),
        "fcvt_w" => integer(a.to_i32(rm, true) as u64),
        "fcvt_wu" => integer(a.to_u32(rm, true) as i32 as u64),
        "fcvt_l" => integer(a.to_i64(rm, true) as u64),
        "fcvt_lu" => integer(a.to_u64(rm, true)),
        "from_w" => float(T::from_i32(x as i32, rm)),
        "from_wu" => float(T::from_u32(x as u32, rm)),
        "from_l" => float(T::from_i64(x as i64, rm)),
        "from_lu" => float(T::from_u64(x, rm)),
        "fround" | "froundnx" => {
            let rounded = a.round_to_integral(rm);
            let changed = operation == "froundnx" && !a.is_nan() && rounded.raw() != a.raw();
            Some((rounded.boxed(), if changed { NX } else { 0 }))
        }
        "fmin" | "fmax" | "fminm" | "fmaxm" => {
            let least = operation.starts_with("fmin");
            let modern = operation.ends_with('m');
            let flags = if a.is_signalling() || b.is_signalling() { NV } else { 0 };
            let value = match (a.is_nan(), b.is_nan()) {
                (true, true) => T::canonical(),
                (true, false) | (false, true) if modern => T::canonical(),
                (true, false) => b,
                (false, true) => a,
                // -0 is below 0.
                _ if a.is_zero() && b.is_zero() => {
                    if (a.raw() & T::SIGN != 0) == least {
                        a
                    } else {
                        b
                    }
                }
                _ => {
                    if a.lt_quiet(b) == least {
                        a
                    } else {
                        b
                    }
                }
            };
            Some((value.boxed(), flags))
        }
        "fli" => float(constant(index)),
        "fcvtmod_w" => {
            // Its exceptions are those of the saturating conversion.
            let _ = a.to_i32(RoundingMode::TowardZero, true);
            integer(modular(f64::from_bits(x)))
        }
        _ => None,
    }
}

/// The constants of `fli` (Unprivileged ISA, "Load-Immediate Instructions" of Zfa), in its order.
fn constant<T: Format>(index: u8) -> T {
    #[rustfmt::skip]
    const VALUES: [f64; 32] = [
        -1.0, 0.0, 1.52587890625e-5, 3.0517578125e-5, 0.00390625, 0.0078125, 0.0625, 0.125, 0.25, 0.3125, 0.375,
        0.4375, 0.5, 0.625, 0.75, 0.875, 1.0, 1.25, 1.5, 1.75, 2.0, 2.5, 3.0, 4.0, 8.0, 16.0, 128.0, 256.0,
        32768.0, 65536.0, f64::INFINITY, 0.0,
    ];
    let least_normal = T::QUIET_BIT << 1;
    match index {
        1 => T::with_raw(least_normal),
        31 => T::canonical(),
        _ if T::FORMAT == "s" => T::with_raw((VALUES[index as usize] as f32).to_bits().into()),
        _ => T::with_raw(VALUES[index as usize].to_bits()),
    }
}

/// Truncated, modulo 2^32, sign-extended; 0 for what is not finite.
fn modular(value: f64) -> u64 {
    let bits = value.to_bits();
    let exponent = (bits >> 52 & 0x7ff) as i32 - 1075;
    let significand = bits & ((1 << 52) - 1) | 1 << 52;
    let magnitude = match exponent {
        _ if !value.is_finite() => 0,
        ..=-64 | 32.. => 0,
        ..=0 => significand >> -exponent,
        _ => significand << exponent,
    };
    let value = if bits >> 63 != 0 { magnitude.wrapping_neg() } else { magnitude };
    value as i32 as u64
}

/// The oracle of instructions that compute with floats.
fn float_oracle(probe: &Probe, inputs: &Inputs) -> Results {
    softfloat(probe, inputs).unwrap_or_else(|| panic!("no oracle for {probe}"))
}

fn softfloat(probe: &Probe, inputs: &Inputs) -> Option<Results> {
    let inst = &probe.inst;
    let sources = inputs.sources;
    let parts: Vec<&str> = inst.op.info().name.split('_').collect();
    let rm = mode(inst.rm, inputs.fcsr);
    ExceptionFlags::from_bits(0).set();
    let (value, mut flags) = match parts[..] {
        ["fcvt", "s", "d"] => (F64::unboxed(sources[0]).to_f32(rm).boxed(), 0),
        ["fcvt", "d", "s"] => (F32::unboxed(sources[0]).to_f64(rm).boxed(), 0),
        ["fcvt", "s", from] => value::<F32>(&format!("from_{from}"), sources, rm, 0)?,
        ["fcvt", "d", from] => value::<F64>(&format!("from_{from}"), sources, rm, 0)?,
        [name, to, "s"] => value::<F32>(&format!("{name}_{to}"), sources, rm, 0)?,
        [name, to, "d"] => value::<F64>(&format!("{name}_{to}"), sources, rm, 0)?,
        [operation, "s"] => value::<F32>(operation, sources, rm, inst.rs1)?,
        [operation, "d"] => value::<F64>(operation, sources, rm, inst.rs1)?,
        _ => return None,
    };
    let mut raised = ExceptionFlags::default();
    raised.get();
    flags |= raised.to_bits();
    let is_x0 = inst.op.info().format.destination() == Destination::X && inst.rd == 0;
    let value = if is_x0 { 0 } else { value };
    Some(Results { value, fcsr: inputs.fcsr | u32::from(flags), memory: [0, 0] })
}

/// Whether an instruction computes with floats, instead of moving or classifying them.
fn computes(op: Op) -> bool {
    let info = op.info();
    let moves =
        ["fsgnj", "fclass", "fmv", "flw", "fsw", "fld", "fsd"].iter().any(|prefix| info.name.starts_with(prefix));
    matches!(info.extension, Extension::F | Extension::D | Extension::Zfa) && !moves
}

#[test]
fn single_precision() {
    compare(&ops(|op| computes(op) && op.info().extension == Extension::F), float_oracle);
}

#[test]
fn double_precision() {
    compare(&ops(|op| computes(op) && op.info().extension == Extension::D), float_oracle);
}

/// Where apfloat, by which the reference interpreter computes, reports other exceptions than the specification: overflow
/// in a directed rounding, of which it says that it is inexact, and underflow, which it sees before rounding.
#[test]
fn directed_overflow_and_tininess_after_rounding() {
    let evaluated = |op, rm, sources: [u64; 3]| {
        let operation = Inst { rd: 1, rs1: 2, rs2: 3, rs3: 4, rm, ..blank(op) };
        let exit = [Inst { rd: 17, imm: 93, ..blank(Op::addi) }, blank(Op::ecall)];
        let program = [operation, exit[0], exit[1]].map(|inst| inst.encode().to_le_bytes());
        let mut f = [0; 32];
        f[2..5].copy_from_slice(&sources);
        let elf = elf::executable(program.as_flattened(), &[], 0);
        let outcome = check(&Case { elf, x: [0; 32], f, fcsr: 0, fuel: 10 });
        (outcome.f[1], outcome.fcsr)
    };
    let greatest = f64::MAX.to_bits();
    let overflow = u32::from(OF | NX);
    assert_eq!(evaluated(Op::fadd_d, Rounding::Rtz, [greatest, greatest, 0]), (greatest, overflow));
    assert_eq!(evaluated(Op::fadd_d, Rounding::Rtz, [greatest, 1, 0]), (greatest, NX.into()));
    assert_eq!(evaluated(Op::fadd_d, Rounding::Rup, [greatest, 1, 0]), (f64::INFINITY.to_bits(), overflow));
    // Rounds up to the least normal number: tiny with 52 bits of precision, but not with 53.
    let least_normal = f64::MIN_POSITIVE.to_bits();
    let tiny = u32::from(UF | NX);
    let just_below = 1.0_f64.to_bits() - 1;
    assert_eq!(evaluated(Op::fmul_d, Rounding::Rne, [least_normal, just_below, 0]), (least_normal, tiny));
    let product = evaluated(Op::fmadd_d, Rounding::Rne, [least_normal, 1.0_f64.to_bits(), 1 << 63 | 1]);
    assert_eq!(product, (least_normal - 1, 0));
    let half = evaluated(Op::fmadd_d, Rounding::Rne, [1, (-0.25_f64).to_bits(), least_normal]);
    assert_eq!(half, (least_normal, NX.into()));
}

#[test]
fn zfa() {
    compare(&ops(|op| op.info().extension == Extension::Zfa), float_oracle);
}

// Integers.

#[test]
fn zicond() {
    compare(&ops(|op| op.info().extension == Extension::Zicond), |probe, inputs| {
        let inst = &probe.inst;
        let [value, condition, _] = inputs.sources;
        let cleared = match inst.op {
            Op::czero_eqz => condition == 0,
            Op::czero_nez => condition != 0,
            op => unreachable!("{op:?}"),
        };
        let value = if cleared || inst.rd == 0 { 0 } else { value };
        Results { value, fcsr: inputs.fcsr, memory: [0, 0] }
    });
}

#[test]
fn zcb() {
    let subjects: Vec<Subject> =
        COp::ALL.iter().filter(|cop| cop.info().extension == "Zcb").map(|&cop| Subject::Compressed(cop)).collect();
    compare(&subjects, |probe, inputs| {
        let (cop, _) = decode_compressed(probe.word as u16).expect("a compressed instruction");
        let [first, second, _] = inputs.sources;
        let mut memory = inputs.memory;
        let mut bytes = [memory[0].to_le_bytes(), memory[1].to_le_bytes()].concat();
        let at = probe.offset as usize;
        let half = u16::from_le_bytes([bytes[at], bytes[at + 1]]);
        let value = match cop {
            COp::c_lbu => bytes[at].into(),
            COp::c_lhu => half.into(),
            COp::c_lh => half as i16 as u64,
            COp::c_sb | COp::c_sh => {
                let len = if cop == COp::c_sb { 1 } else { 2 };
                bytes[at..at + len].copy_from_slice(&second.to_le_bytes()[..len]);
                0
            }
            COp::c_zext_b => first & 0xff,
            COp::c_sext_b => first as i8 as u64,
            COp::c_zext_h => first & 0xffff,
            COp::c_sext_h => first as i16 as u64,
            COp::c_zext_w => first & 0xffff_ffff,
            COp::c_not => !first,
            COp::c_mul => first.wrapping_mul(second),
            cop => unreachable!("{cop:?}"),
        };
        for (word, bytes) in memory.iter_mut().zip(bytes.chunks_exact(8)) {
            *word = u64::from_le_bytes(bytes.try_into().expect("eight bytes"));
        }
        Results { value, fcsr: inputs.fcsr, memory }
    });
}
