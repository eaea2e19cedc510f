//! Values of the instruction table's operations in LLVM IR. A value keeps the form in which it was made and is
//! converted when another form is needed.

use inkwell::IntPredicate;
use inkwell::values::{FloatValue, IntValue};
use riverrun_isa::ops::{CANONICAL_NAN_D, CANONICAL_NAN_S, Float};

use crate::lift::ir::{Ir, built};

/// A value of the instruction table's operations.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Value<'c> {
    /// 64 bits.
    Word(IntValue<'c>),
    /// A condition, as one bit.
    Flag(IntValue<'c>),
    /// A word whose lowest bit is to be cleared, as jumps do.
    Even(IntValue<'c>),
    /// A word plus a constant.
    Sum(IntValue<'c>, i64),
    /// The result of float arithmetic. Its NaNs become canonical when its bits are asked for.
    Float(Float, FloatValue<'c>),
    /// A binary32 result of float arithmetic, NaN-boxed.
    Boxed(FloatValue<'c>),
    /// A float whose bits are the value's: it is no NaN but a canonical one.
    Exact(Float, FloatValue<'c>),
    /// A binary32 value whose bits are the value's, NaN-boxed.
    ExactBoxed(FloatValue<'c>),
    /// A float's bits and, for arithmetic, the same as a float: equal, or another NaN that does not
    /// signal. LLVM removes the one that is not used, and so canonicalises NaNs only where they are observed.
    Both(Float, IntValue<'c>, FloatValue<'c>),
    /// A register's bits and, likewise, the binary32 value that is boxed there.
    BothBoxed(IntValue<'c>, FloatValue<'c>),
}

/// The high half of NaN-boxed values.
const BOX: u64 = 0xffff_ffff_0000_0000;

impl<'c> Ir<'c> {
    /// The value as 64 bits.
    pub(crate) fn word(&self, value: Value<'c>) -> IntValue<'c> {
        match value {
            Value::Word(word) | Value::Both(_, word, _) | Value::BothBoxed(word, _) => word,
            Value::Flag(flag) => self.zero_extend(flag),
            Value::Even(word) => built(self.builder.build_and(word, self.int(!1), "")),
            Value::Sum(word, 0) => word,
            Value::Sum(word, constant) => built(self.builder.build_int_add(word, self.int(constant as u64), "")),
            Value::Float(..) | Value::Boxed(_) => self.word(self.exact(value)),
            Value::Exact(Float::D, float) => self.float_bits(float, 64),
            Value::Exact(Float::S, float) => self.zero_extend(self.float_bits(float, 32)),
            Value::ExactBoxed(float) => {
                let low = self.word(Value::Exact(Float::S, float));
                built(self.builder.build_or(low, self.int(BOX), ""))
            }
        }
    }

    /// A result of arithmetic as observed, with canonical NaNs. Other values are unchanged.
    pub(crate) fn exact(&self, value: Value<'c>) -> Value<'c> {
        match value {
            Value::Float(f, float) => Value::Exact(f, self.canonical(f, float)),
            Value::Boxed(float) => Value::ExactBoxed(self.canonical(Float::S, float)),
            other => other,
        }
    }

    /// The float, or the canonical NaN for any NaN, by a branch that is hardly ever taken: a selection would delay every
    /// result.
    fn canonical(&self, f: Float, float: FloatValue<'c>) -> FloatValue<'c> {
        let nan = match f {
            Float::S => self.bits(32).const_int(CANONICAL_NAN_S, false),
            Float::D => self.int(CANONICAL_NAN_D),
        };
        let nan = self.bit_cast(nan.into(), float.get_type().into());
        let is_number = built(self.builder.build_not(self.is_nan(float), ""));
        let here = self.here();
        let function = here.get_parent().expect("blocks are functions'");
        let (replace, go_on) = (self.block(function), self.block(function));
        self.branch_likely(is_number, go_on, replace);
        self.builder.position_at_end(replace);
        self.jump(go_on);
        self.builder.position_at_end(go_on);
        let seen = built(self.builder.build_phi(float.get_type(), ""));
        seen.add_incoming(&[(&float, here), (&nan, replace)]);
        seen.as_basic_value().into_float_value()
    }

    /// Raises no exception: results of arithmetic are never signalling.
    fn is_nan(&self, float: FloatValue<'c>) -> IntValue<'c> {
        if self.strict_floats() {
            let nan = self.bits(32).const_int(3, false);
            let kind = float.get_type().into();
            return self.intrinsic("llvm.is.fpclass", &[kind], &[float.into(), nan.into()]).into_int_value();
        }
        built(self.builder.build_float_compare(inkwell::FloatPredicate::UNO, float, float, ""))
    }

    /// The value as a condition.
    pub(crate) fn flag(&self, value: Value<'c>) -> IntValue<'c> {
        match value {
            Value::Flag(flag) => flag,
            other => self.compare(IntPredicate::NE, self.word(other), self.int(0)),
        }
    }

    /// The value as a float, which stands in its low bits.
    pub(crate) fn float(&self, format: Float, value: Value<'c>) -> FloatValue<'c> {
        match (format, value) {
            (format, Value::Float(same, float) | Value::Exact(same, float) | Value::Both(same, _, float))
                if format == same =>
            {
                float
            }
            (Float::D, other) => {
                self.bit_cast(self.word(other).into(), self.context.f64_type().into()).into_float_value()
            }
            (Float::S, other) => {
                let low = self.truncate(self.word(other), 32);
                self.bit_cast(low.into(), self.context.f32_type().into()).into_float_value()
            }
        }
    }

    /// What a register holds, as a float of a format.
    pub(crate) fn register_float(&self, format: Float, register: Value<'c>) -> FloatValue<'c> {
        self.float(format, if format == Float::S { self.unbox(register) } else { register })
    }

    /// The binary32 value of a register.
    pub(crate) fn unbox(&self, register: Value<'c>) -> Value<'c> {
        let unboxed = |register| {
            let boxed = self.compare(IntPredicate::UGE, register, self.int(BOX));
            let low = built(self.builder.build_and(register, self.int(!BOX), ""));
            self.select(boxed, low.into(), self.int(CANONICAL_NAN_S).into()).into_int_value()
        };
        match register {
            Value::Boxed(float) => Value::Float(Float::S, float),
            Value::ExactBoxed(float) => Value::Exact(Float::S, float),
            Value::BothBoxed(word, float) => Value::Both(Float::S, unboxed(word), float),
            other => Value::Word(unboxed(self.word(other))),
        }
    }

    /// A register's form of a binary32 value.
    pub(crate) fn boxed(&self, value: Value<'c>) -> Value<'c> {
        let boxed = |word| built(self.builder.build_or(word, self.int(BOX), ""));
        match value {
            Value::Float(Float::S, float) => Value::Boxed(float),
            Value::Exact(Float::S, float) => Value::ExactBoxed(float),
            Value::Both(Float::S, word, float) => Value::BothBoxed(boxed(word), float),
            other => Value::Word(boxed(self.word(other))),
        }
    }

    /// The constant that the value is.
    pub(crate) fn constant(&self, value: Value<'c>) -> Option<u64> {
        match value {
            Value::Word(word) => word.get_zero_extended_constant(),
            _ => None,
        }
    }
}
