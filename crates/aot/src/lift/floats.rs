//! Float operations. Compiled code runs in the default rounding mode; exceptions accrue in the
//! host's environment.

use inkwell::FloatPredicate;
use inkwell::types::BasicTypeEnum;
use inkwell::values::{BasicMetadataValueEnum, BasicValueEnum, FloatValue, IntValue};
use riverrun_isa::ops::{Float, FloatCompare, Int, Ops, Rounding, fflags};
use riverrun_vm::convention;

use crate::lift::ir::{Space, built};
use crate::lift::site::Site;
use crate::lift::value::Value;

/// Classes of `llvm.is.fpclass`.
const NAN: u64 = 0x3;
const INFINITE: u64 = 0x204;
const ZERO: u64 = 0x60;

/// One past either end of the range of values that truncate to an integer's, all exact in binary64, and the results
/// below and above it.
pub(crate) fn truncated_range(int: Int) -> (f64, f64, u64, u64) {
    match int {
        Int::I32 => (-2147483649.0, 2147483648.0, i32::MIN as u64, i32::MAX as u64),
        Int::U32 => (-1.0, 4294967296.0, 0, u64::MAX),
        // -2^63 is in range and has no neighbour below it above -2^63 - 2048.
        Int::I64 => (-9223372036854777856.0, 9223372036854775808.0, i64::MIN as u64, i64::MAX as u64),
        Int::U64 => (-1.0, 18446744073709551616.0, 0, u64::MAX),
    }
}

impl<'c> Site<'_, 'c> {
    pub(super) fn floats(&self, f: Float, a: Value<'c>, b: Value<'c>) -> (FloatValue<'c>, FloatValue<'c>) {
        (self.ir.float(f, a), self.ir.float(f, b))
    }

    /// A sum, difference, product or quotient.
    pub(super) fn arithmetic(&self, name: &str, f: Float, a: Value<'c>, b: Value<'c>) -> Value<'c> {
        let builder = &self.ir.builder;
        let (a, b) = self.floats(f, a, b);
        let result = match name {
            _ if self.ir.strict_floats() => self.strict_float(name, f, &[a.into(), b.into()], true),
            "fadd" => built(builder.build_float_add(a, b, "")),
            "fsub" => built(builder.build_float_sub(a, b, "")),
            "fmul" => built(builder.build_float_mul(a, b, "")),
            _ => built(builder.build_float_div(a, b, "")),
        };
        Value::Float(f, result)
    }

    /// An operation that LLVM has as an intrinsic function.
    pub(super) fn unary_float(&self, name: &str, f: Float, a: Value<'c>, rounds: bool) -> Value<'c> {
        let a = self.ir.float(f, a);
        let result = match self.ir.strict_floats() {
            true => self.strict_float(name, f, &[a.into()], rounds),
            false => {
                let kind = self.ir.float_type(f).into();
                self.ir.intrinsic(&format!("llvm.{name}"), &[kind], &[a.into()]).into_float_value()
            }
        };
        Value::Float(f, result)
    }

    pub(super) fn fused(&self, f: Float, a: Value<'c>, b: Value<'c>, c: Value<'c>) -> Value<'c> {
        let (a, b) = self.floats(f, a, b);
        let c = self.ir.float(f, c);
        let arguments = [a.into(), b.into(), c.into()];
        if self.ir.strict_floats() {
            // Infinity times zero is invalid even where a quiet NaN is added (Unprivileged ISA,
            // section 20.6); the host stays silent then.
            let class = |float, class| self.is_class(float, class);
            let and = |a, b| built(self.ir.builder.build_and(a, b, ""));
            let or = built(self.ir.builder.build_or(
                and(class(a, INFINITE), class(b, ZERO)),
                and(class(a, ZERO), class(b, INFINITE)),
                "",
            ));
            self.raise_flags(fflags::NV, Value::Flag(and(or, class(c, NAN))));
            return Value::Float(f, self.strict_float("fma", f, &arguments, true));
        }
        Value::Float(f, self.ir.intrinsic("llvm.fma", &[self.ir.float_type(f).into()], &arguments).into_float_value())
    }

    pub(super) fn widen_float(&self, a: Value<'c>) -> Value<'c> {
        let (float, wide) = (self.ir.float(Float::S, a), self.ir.float_type(Float::D));
        let result = match self.ir.strict_floats() {
            true => {
                self.strict("fpext", &[wide.into(), float.get_type().into()], &[float.into()], false).into_float_value()
            }
            false => built(self.ir.builder.build_float_ext(float, wide, "")),
        };
        Value::Float(Float::D, result)
    }

    pub(super) fn narrow_float(&self, a: Value<'c>) -> Value<'c> {
        let (float, narrow) = (self.ir.float(Float::D, a), self.ir.float_type(Float::S));
        let result = match self.ir.strict_floats() {
            true => self
                .strict("fptrunc", &[narrow.into(), float.get_type().into()], &[float.into()], true)
                .into_float_value(),
            false => built(self.ir.builder.build_float_trunc(float, narrow, "")),
        };
        Value::Float(Float::S, result)
    }

    pub(super) fn compare_floats(&self, f: Float, compare: FloatCompare, a: Value<'c>, b: Value<'c>) -> Value<'c> {
        let predicate = match compare {
            FloatCompare::Eq => FloatPredicate::OEQ,
            FloatCompare::Lt | FloatCompare::LtQuiet => FloatPredicate::OLT,
            FloatCompare::Le | FloatCompare::LeQuiet => FloatPredicate::OLE,
        };
        let signalling = matches!(compare, FloatCompare::Lt | FloatCompare::Le);
        let (a, b) = self.floats(f, a, b);
        Value::Flag(self.compare_native(predicate, a, b, signalling))
    }

    fn compare_native(
        &self,
        predicate: FloatPredicate,
        a: FloatValue<'c>,
        b: FloatValue<'c>,
        signalling: bool,
    ) -> IntValue<'c> {
        let ir = self.ir;
        if !ir.strict_floats() {
            return built(ir.builder.build_float_compare(predicate, a, b, ""));
        }
        let predicate = ir.context.metadata_string(match predicate {
            FloatPredicate::OEQ => "oeq",
            FloatPredicate::OLT => "olt",
            FloatPredicate::OLE => "ole",
            FloatPredicate::OGE => "oge",
            FloatPredicate::UGE => "uge",
            FloatPredicate::ONE => "one",
            _ => unreachable!("no other comparison is made"),
        });
        let name = if signalling { "fcmps" } else { "fcmp" };
        let arguments = [a.into(), b.into(), predicate.into()];
        ir.settled(self.strict(name, &[a.get_type().into()], &arguments, false).into_int_value())
    }

    fn is_class(&self, float: FloatValue<'c>, class: u64) -> IntValue<'c> {
        let class = self.ir.bits(32).const_int(class, false);
        self.ir.intrinsic("llvm.is.fpclass", &[float.get_type().into()], &[float.into(), class.into()]).into_int_value()
    }

    fn strict_float(
        &self,
        name: &str,
        f: Float,
        arguments: &[BasicMetadataValueEnum<'c>],
        rounds: bool,
    ) -> FloatValue<'c> {
        self.strict(name, &[self.ir.float_type(f).into()], arguments, rounds).into_float_value()
    }

    /// An operation that raises just what it should: LLVM neither omits nor moves it.
    fn strict(
        &self,
        name: &str,
        types: &[BasicTypeEnum<'c>],
        arguments: &[BasicMetadataValueEnum<'c>],
        rounds: bool,
    ) -> BasicValueEnum<'c> {
        let word = |text| self.ir.context.metadata_string(text).into();
        let mut all = arguments.to_vec();
        if rounds {
            all.push(word("round.dynamic"));
        }
        all.push(word("fpexcept.strict"));
        self.ir.intrinsic(&format!("llvm.experimental.constrained.{name}"), types, &all)
    }

    /// Rounds to an integral value.
    fn integral(&self, f: Float, a: Value<'c>, rm: Rounding) -> Value<'c> {
        let name = match rm {
            Rounding::Rne | Rounding::Dyn => "roundeven",
            Rounding::Rtz => "trunc",
            Rounding::Rdn => "floor",
            Rounding::Rup => "ceil",
            Rounding::Rmm => return self.round_away(f, a),
        };
        self.unary_float(name, f, a, false)
    }

    /// Rounds to the nearest integral value, ties away from zero, which the host has no instruction
    /// for.
    fn round_away(&self, f: Float, a: Value<'c>) -> Value<'c> {
        let ir = self.ir;
        let float = ir.float(f, a);
        let kind = self.ir.float_type(f);
        let magnitude = ir.intrinsic("llvm.fabs", &[kind.into()], &[float.into()]).into_float_value();
        // From here on all numbers are integral; those with a fraction have exact differences.
        let integral = match f {
            Float::S => kind.const_float(8388608.0),
            Float::D => kind.const_float(4503599627370496.0),
        };
        let has_fraction = self.compare_native(FloatPredicate::OLT, magnitude, integral, false);
        let magnitude = ir.select(has_fraction, magnitude.into(), kind.const_zero().into()).into_float_value();
        let whole = self.unary_float("trunc", f, Value::Float(f, magnitude), false);
        let fraction = self.arithmetic("fsub", f, Value::Float(f, magnitude), whole);
        let half = kind.const_float(0.5);
        let up = self.compare_native(FloatPredicate::OGE, ir.float(f, fraction), half, false);
        let step = ir.select(up, kind.const_float(1.0).into(), kind.const_zero().into()).into_float_value();
        let rounded = self.arithmetic("fadd", f, whole, Value::Float(f, step));
        let rounded = ir.float(f, rounded);
        let signed = ir.intrinsic("llvm.copysign", &[kind.into()], &[rounded.into(), float.into()]);
        // Infinities stay, and NaNs become quiet, as by any arithmetic.
        let other = self.unary_float("trunc", f, a, false);
        let result = ir.select(has_fraction, signed, ir.float(f, other).into()).into_float_value();
        Value::Float(f, result)
    }

    pub(super) fn round_float(&self, f: Float, a: Value<'c>, rm: Rounding, inexact: bool) -> Value<'c> {
        let rounded = self.integral(f, a, rm);
        if inexact {
            let (before, after) = self.floats(f, a, rounded);
            let changed = self.compare_native(FloatPredicate::ONE, before, after, false);
            self.raise_flags(fflags::NX, Value::Flag(changed));
        }
        rounded
    }

    pub(super) fn float_to_integer(&self, f: Float, int: Int, a: Value<'c>, rm: Rounding) -> Value<'c> {
        let ir = self.ir;
        let whole = if rm == Rounding::Rtz { a } else { self.integral(f, a, rm) };
        let whole = ir.float(f, whole);
        let wide = match f {
            Float::S => ir.float(Float::D, self.widen_float(Value::Float(f, whole))),
            Float::D => whole,
        };
        let (below, above, least, greatest) = truncated_range(int);
        let constant = |value| ir.context.f64_type().const_float(value);
        let compare = |predicate, bound| self.compare_native(predicate, wide, constant(bound), false);
        let too_low = compare(FloatPredicate::OLE, below);
        // NaNs count as too high.
        let too_high = compare(FloatPredicate::UGE, above);
        let outside = built(ir.builder.build_or(too_low, too_high, ""));
        // LLVM's conversions are undefined outside the range.
        let inside = ir.select(outside, constant(0.0).into(), wide.into()).into_float_value();
        let converted = match int {
            _ if ir.strict_floats() => {
                let name = if int == Int::U64 { "fptoui" } else { "fptosi" };
                let types = [ir.i64.into(), inside.get_type().into()];
                self.strict(name, &types, &[inside.into()], false).into_int_value()
            }
            Int::I32 | Int::U32 | Int::I64 => built(ir.builder.build_float_to_signed_int(inside, ir.i64, "")),
            Int::U64 => built(ir.builder.build_float_to_unsigned_int(inside, ir.i64, "")),
        };
        let converted = match int {
            Int::U32 => ir.sign_extend(ir.truncate(converted, 32)),
            _ => converted,
        };
        self.raise_flags(fflags::NV, Value::Flag(outside));
        if rm != Rounding::Rtz && ir.strict_floats() {
            let changed = self.compare_native(FloatPredicate::ONE, ir.float(f, a), whole, false);
            let inexact = built(ir.builder.build_and(changed, built(ir.builder.build_not(outside, "")), ""));
            self.raise_flags(fflags::NX, Value::Flag(inexact));
        }
        let bound = ir.select(too_low, ir.int(least).into(), ir.int(greatest).into());
        Value::Word(ir.select(outside, bound, converted.into()).into_int_value())
    }

    pub(super) fn integer_to_float(&self, f: Float, int: Int, a: Value<'c>) -> Value<'c> {
        let ir = self.ir;
        let word = ir.word(a);
        let kind = self.ir.float_type(f);
        let signed = matches!(int, Int::I32 | Int::I64);
        let source = match int {
            Int::I32 | Int::U32 => ir.truncate(word, 32),
            Int::I64 | Int::U64 => word,
        };
        let result = match signed {
            _ if ir.strict_floats() => {
                let name = if signed { "sitofp" } else { "uitofp" };
                let types = [kind.into(), source.get_type().into()];
                self.strict(name, &types, &[source.into()], true).into_float_value()
            }
            true => built(ir.builder.build_signed_int_to_float(source, kind, "")),
            false => built(ir.builder.build_unsigned_int_to_float(source, kind, "")),
        };
        Value::Exact(f, result)
    }

    /// Raises exceptions that the host's arithmetic does not raise by itself; strict code only.
    pub(super) fn raise_flags(&self, flags: u8, condition: Value<'c>) {
        let ir = self.ir;
        if !ir.strict_floats() {
            return;
        }
        let raised = ir.select(ir.flag(condition), ir.int(flags.into()).into(), ir.int(0).into()).into_int_value();
        let place = ir.field(self.registers.base(ir), convention::FFLAGS);
        let before = ir.load(ir.i64.into(), place, Space::State).into_int_value();
        let after = built(ir.builder.build_or(before, raised, ""));
        ir.store(place, after.into(), Space::State);
    }

    /// Bits, and the same float.
    fn both(&self, f: Float, bits: Value<'c>, float: BasicValueEnum<'c>) -> Value<'c> {
        Value::Both(f, self.ir.word(bits), float.into_float_value())
    }

    pub(super) fn negate_float(&self, f: Float, a: Value<'c>) -> Value<'c> {
        let bits = self.xor(a, self.imm(f.sign()));
        match as_float(f, a) {
            Some(float) => self.both(f, bits, built(self.ir.builder.build_float_neg(float, "")).into()),
            None => bits,
        }
    }

    pub(super) fn copy_float_sign(&self, f: Float, a: Value<'c>, b: Value<'c>) -> Value<'c> {
        if a == b {
            return a;
        }
        let sign = self.imm(f.sign());
        let bits = self.or(self.and(a, self.imm(f.sign() - 1)), self.and(b, sign));
        match as_float(f, a) {
            Some(a) => {
                // The sign of a NaN is seen here, where it becomes that of a number.
                let b = self.ir.float(f, Value::Word(self.ir.word(b)));
                let copied = self.ir.intrinsic("llvm.copysign", &[a.get_type().into()], &[a.into(), b.into()]);
                self.both(f, bits, copied)
            }
            None => bits,
        }
    }

    pub(super) fn multiply_float_sign(&self, f: Float, a: Value<'c>, b: Value<'c>) -> Value<'c> {
        let bits = self.xor(a, self.and(b, self.imm(f.sign())));
        match as_float(f, a) {
            // The magnitude.
            Some(float) if a == b => {
                self.both(f, bits, self.ir.intrinsic("llvm.fabs", &[float.get_type().into()], &[float.into()]))
            }
            _ => bits,
        }
    }
}

/// The value, if it is a float of the format already.
fn as_float<'c>(f: Float, value: Value<'c>) -> Option<FloatValue<'c>> {
    match value {
        Value::Float(same, float) | Value::Exact(same, float) | Value::Both(same, _, float) if same == f => Some(float),
        _ => None,
    }
}
