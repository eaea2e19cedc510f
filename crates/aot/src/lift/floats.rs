//! Float operations. Compiled code runs in the default rounding mode; exceptions accrue in the
//! host's environment.

use inkwell::FloatPredicate;
use inkwell::types::FloatType;
use inkwell::values::FloatValue;
use riverrun_isa::ops::{Float, FloatCompare, Int, Rounding, fflags};
use riverrun_native::convention;

use crate::lift::ir::{Space, built};
use crate::lift::ops::Site;
use crate::lift::value::Value;

impl<'c> Site<'_, 'c> {
    pub(super) fn floats(&self, f: Float, a: Value<'c>, b: Value<'c>) -> (FloatValue<'c>, FloatValue<'c>) {
        (self.ir.float(f, a), self.ir.float(f, b))
    }

    fn float_type(&self, f: Float) -> FloatType<'c> {
        match f {
            Float::S => self.ir.context.f32_type(),
            Float::D => self.ir.context.f64_type(),
        }
    }

    pub(super) fn unary_float(&self, name: &str, f: Float, a: Value<'c>) -> Value<'c> {
        let a = self.ir.float(f, a);
        Value::Float(f, self.ir.intrinsic(name, &[self.float_type(f).into()], &[a.into()]).into_float_value())
    }

    pub(super) fn fused(&self, f: Float, a: Value<'c>, b: Value<'c>, c: Value<'c>) -> Value<'c> {
        let (a, b) = self.floats(f, a, b);
        let c = self.ir.float(f, c);
        let arguments = [a.into(), b.into(), c.into()];
        Value::Float(f, self.ir.intrinsic("llvm.fma", &[self.float_type(f).into()], &arguments).into_float_value())
    }

    pub(super) fn compare_floats(&self, f: Float, compare: FloatCompare, a: Value<'c>, b: Value<'c>) -> Value<'c> {
        let predicate = match compare {
            FloatCompare::Eq => FloatPredicate::OEQ,
            FloatCompare::Lt | FloatCompare::LtQuiet => FloatPredicate::OLT,
            FloatCompare::Le | FloatCompare::LeQuiet => FloatPredicate::OLE,
        };
        let (a, b) = self.floats(f, a, b);
        Value::Flag(built(self.ir.builder.build_float_compare(predicate, a, b, "")))
    }

    /// Rounds to an integral value.
    fn integral(&self, f: Float, a: Value<'c>, rm: Rounding) -> Value<'c> {
        let name = match rm {
            Rounding::Rne | Rounding::Dyn => "llvm.roundeven",
            Rounding::Rtz => "llvm.trunc",
            Rounding::Rdn => "llvm.floor",
            Rounding::Rup => "llvm.ceil",
            Rounding::Rmm => "llvm.round",
        };
        self.unary_float(name, f, a)
    }

    pub(super) fn round_float(&self, f: Float, a: Value<'c>, rm: Rounding, inexact: bool) -> Value<'c> {
        let rounded = self.integral(f, a, rm);
        if inexact {
            let (before, after) = self.floats(f, a, rounded);
            let changed = built(self.ir.builder.build_float_compare(FloatPredicate::ONE, before, after, ""));
            self.raise_flags(fflags::NX, Value::Flag(changed));
        }
        rounded
    }

    pub(super) fn float_to_integer(&self, f: Float, int: Int, a: Value<'c>, rm: Rounding) -> Value<'c> {
        let ir = self.ir;
        let whole = if rm == Rounding::Rtz { a } else { self.integral(f, a, rm) };
        let whole = ir.float(f, whole);
        let wide = match f {
            Float::S => built(ir.builder.build_float_ext(whole, ir.context.f64_type(), "")),
            Float::D => whole,
        };
        // One past either end of the range of truncated values; all are exact in binary64.
        let (below, above, least, greatest) = match int {
            Int::I32 => (-2147483649.0, 2147483648.0, i32::MIN as u64, i32::MAX as u64),
            Int::U32 => (-1.0, 4294967296.0, 0, u64::MAX),
            // -2^63 is in range and has no neighbour below it above -2^63 - 2048.
            Int::I64 => (-9223372036854777856.0, 9223372036854775808.0, i64::MIN as u64, i64::MAX as u64),
            Int::U64 => (-1.0, 18446744073709551616.0, 0, u64::MAX),
        };
        let constant = |value| ir.context.f64_type().const_float(value);
        let compare = |predicate, bound| built(ir.builder.build_float_compare(predicate, wide, constant(bound), ""));
        let too_low = compare(FloatPredicate::OLE, below);
        // NaNs count as too high.
        let too_high = compare(FloatPredicate::UGE, above);
        let outside = built(ir.builder.build_or(too_low, too_high, ""));
        // LLVM's conversions are undefined outside the range.
        let inside = ir.select(outside, constant(0.0).into(), wide.into()).into_float_value();
        let converted = match int {
            Int::I32 | Int::U32 | Int::I64 => built(ir.builder.build_float_to_signed_int(inside, ir.i64, "")),
            Int::U64 => built(ir.builder.build_float_to_unsigned_int(inside, ir.i64, "")),
        };
        let converted = match int {
            Int::U32 => ir.sign_extend(ir.truncate(converted, 32)),
            _ => converted,
        };
        self.raise_flags(fflags::NV, Value::Flag(outside));
        let bound = ir.select(too_low, ir.int(least).into(), ir.int(greatest).into());
        Value::Word(ir.select(outside, bound, converted.into()).into_int_value())
    }

    pub(super) fn integer_to_float(&self, f: Float, int: Int, a: Value<'c>) -> Value<'c> {
        let ir = self.ir;
        let word = ir.word(a);
        let kind = self.float_type(f);
        Value::Float(
            f,
            match int {
                Int::I32 => built(ir.builder.build_signed_int_to_float(ir.truncate(word, 32), kind, "")),
                Int::I64 => built(ir.builder.build_signed_int_to_float(word, kind, "")),
                Int::U32 => built(ir.builder.build_unsigned_int_to_float(ir.truncate(word, 32), kind, "")),
                Int::U64 => built(ir.builder.build_unsigned_int_to_float(word, kind, "")),
            },
        )
    }

    /// Raises exceptions that the host's arithmetic does not raise by itself; precise code only.
    pub(super) fn raise_flags(&self, flags: u8, condition: Value<'c>) {
        let ir = self.ir;
        if !ir.options.precise {
            return;
        }
        let raised = ir.select(ir.flag(condition), ir.int(flags.into()).into(), ir.int(0).into()).into_int_value();
        let place = ir.field(self.registers.base(ir), convention::FFLAGS);
        let before = ir.load(ir.i64.into(), place, Space::State).into_int_value();
        let after = built(ir.builder.build_or(before, raised, ""));
        ir.store(place, after.into(), Space::State);
    }
}
