//! Values, kept in the form in which they were made until another one is asked for.

use inkwell::IntPredicate;
use inkwell::values::{FloatValue, IntValue};
use riverrun_isa::ops::{CANONICAL_NAN_D, CANONICAL_NAN_S, Float};

use crate::lift::ir::{Ir, built};

/// A value of the instruction table's operations.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Value<'c> {
    /// 64 bits.
    Word(IntValue<'c>),
    /// A condition, as one bit.
    Flag(IntValue<'c>),
    /// A word plus a constant.
    Sum(IntValue<'c>, i64),
    /// The result of float arithmetic. Its NaNs become canonical when its bits are asked for.
    Float(Float, FloatValue<'c>),
    /// A binary32 result of float arithmetic, NaN-boxed.
    Boxed(FloatValue<'c>),
}

/// The high half of NaN-boxed values.
const BOX: u64 = 0xffff_ffff_0000_0000;

impl<'c> Ir<'c> {
    /// The value as 64 bits.
    pub(crate) fn word(&self, value: Value<'c>) -> IntValue<'c> {
        match value {
            Value::Word(word) => word,
            Value::Flag(flag) => self.zero_extend(flag),
            Value::Sum(word, 0) => word,
            Value::Sum(word, constant) => built(self.builder.build_int_add(word, self.int(constant as u64), "")),
            Value::Float(Float::D, float) => self.canonical_bits(float, 64, CANONICAL_NAN_D),
            Value::Float(Float::S, float) => self.zero_extend(self.canonical_bits(float, 32, CANONICAL_NAN_S)),
            Value::Boxed(float) => {
                let low = self.word(Value::Float(Float::S, float));
                built(self.builder.build_or(low, self.int(BOX), ""))
            }
        }
    }

    fn canonical_bits(&self, float: FloatValue<'c>, bits: u32, nan: u64) -> IntValue<'c> {
        let raw = self.float_bits(float, bits);
        let nan = self.bits(bits).const_int(nan, false);
        self.select(self.is_nan(float), nan.into(), raw.into()).into_int_value()
    }

    /// Raises no exception: results of arithmetic are never signalling.
    fn is_nan(&self, float: FloatValue<'c>) -> IntValue<'c> {
        if self.options.precise {
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
            (Float::D, Value::Float(Float::D, float)) | (Float::S, Value::Float(Float::S, float)) => float,
            (Float::D, other) => {
                self.bit_cast(self.word(other).into(), self.context.f64_type().into()).into_float_value()
            }
            (Float::S, other) => {
                let low = self.truncate(self.word(other), 32);
                self.bit_cast(low.into(), self.context.f32_type().into()).into_float_value()
            }
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
