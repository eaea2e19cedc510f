//! Values with their types, for calls that check them.

use std::fmt;

use riverrun::{GuestValue, Scalar};

use crate::arguments::{Result, misuse};

/// The type of a value.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `bool`.
    Bool = 0,
    /// `int8_t`.
    I8 = 1,
    /// `uint8_t`.
    U8 = 2,
    /// `int16_t`.
    I16 = 3,
    /// `uint16_t`.
    U16 = 4,
    /// `int32_t`.
    I32 = 5,
    /// `uint32_t`.
    U32 = 6,
    /// `int64_t`.
    I64 = 7,
    /// `uint64_t`.
    U64 = 8,
    /// `float`.
    F32 = 9,
    /// `double`.
    F64 = 10,
    /// A guest address.
    Ptr = 11,
}

/// A [`Kind`] as C passes it: any number.
pub type KindCode = u32;

// Kinds are numbered as scalars are listed.
const _: () = {
    let mut n = 0;
    while n < Scalar::ALL.len() {
        assert!(Scalar::ALL[n] as usize == n);
        n += 1;
    }
    assert!(Kind::Bool as u32 == Scalar::Bool as u32 && Kind::Ptr as u32 == Scalar::Ptr as u32);
    assert!(Kind::I32 as u32 == Scalar::I32 as u32 && Kind::F64 as u32 == Scalar::F64 as u32);
};

/// The contents of a value: the field for its kind is set.
#[repr(C)]
#[derive(Clone, Copy)]
pub union ValueOf {
    /// For `RIVERRUN_KIND_BOOL`.
    pub boolean: bool,
    /// For `RIVERRUN_KIND_I8`.
    pub i8: i8,
    /// For `RIVERRUN_KIND_U8`.
    pub u8: u8,
    /// For `RIVERRUN_KIND_I16`.
    pub i16: i16,
    /// For `RIVERRUN_KIND_U16`.
    pub u16: u16,
    /// For `RIVERRUN_KIND_I32`.
    pub i32: i32,
    /// For `RIVERRUN_KIND_U32`.
    pub u32: u32,
    /// For `RIVERRUN_KIND_I64`.
    pub i64: i64,
    /// For `RIVERRUN_KIND_U64`.
    pub u64: u64,
    /// For `RIVERRUN_KIND_F32`.
    pub f32: f32,
    /// For `RIVERRUN_KIND_F64`.
    pub f64: f64,
    /// For `RIVERRUN_KIND_PTR`: a guest address.
    pub ptr: u64,
}

/// A value with its type.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Value {
    /// Its type.
    pub kind: KindCode,
    /// Its contents.
    pub of: ValueOf,
}

impl fmt::Debug for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Value({})", name(self.kind))
    }
}

/// The name of a kind in signatures.
fn name(kind: KindCode) -> &'static str {
    Scalar::ALL.get(kind as usize).map_or("of no known type", |scalar| scalar.name())
}

impl Value {
    /// The value as a raw value. If its kind is not `scalar`, the error calls it `what`, of this index.
    #[inline(always)]
    pub(crate) fn raw(self, scalar: Scalar, what: &str, index: usize) -> Result<u64> {
        if self.kind != scalar as u32 {
            return Err(wrong_kind(what, index, self.kind, scalar));
        }
        // SAFETY: C sets the field for the kind, as `riverrun_value_of` in the header demands. A `bool` is read as a
        // byte, since C may have put any number there.
        Ok(unsafe {
            match scalar {
                Scalar::Bool => u64::from(self.of.u8 != 0),
                Scalar::I8 => self.of.i8.to_bits(),
                Scalar::U8 => self.of.u8.to_bits(),
                Scalar::I16 => self.of.i16.to_bits(),
                Scalar::U16 => self.of.u16.to_bits(),
                Scalar::I32 => self.of.i32.to_bits(),
                Scalar::U32 => self.of.u32.to_bits(),
                Scalar::F32 => GuestValue::to_bits(self.of.f32),
                Scalar::I64 | Scalar::U64 | Scalar::F64 | Scalar::Ptr => self.of.u64,
            }
        })
    }

    /// The zero of this type, with all bytes of the union set.
    #[inline(always)]
    pub(crate) fn zero(scalar: Scalar) -> Value {
        Value { kind: scalar as u32, of: ValueOf { u64: 0 } }
    }

    /// The value of this type that a raw value stands for.
    #[inline(always)]
    pub(crate) fn from_slot(scalar: Scalar, slot: u64) -> Value {
        // Little-endian: a narrower field is the low bytes of the raw value. A `bool` is normalised to 0 or 1 before.
        let bits = if scalar == Scalar::Bool { u64::from(<bool as GuestValue>::from_bits(slot)) } else { slot };
        Value { kind: scalar as u32, of: ValueOf { u64: bits } }
    }
}

/// The error of a value that is of another type.
#[cold]
pub(crate) fn wrong_kind(what: &str, index: usize, found: KindCode, wanted: Scalar) -> Box<crate::Error> {
    misuse(format!("{what} {index} is {}, but has to be {}", name(found), wanted.name()))
}

/// Checks a count.
#[inline(always)]
pub(crate) fn counted(what: &str, found: usize, wanted: usize) -> Result<()> {
    if found == wanted { Ok(()) } else { Err(wrong_count(what, found, wanted)) }
}

#[cold]
fn wrong_count(what: &str, found: usize, wanted: usize) -> Box<crate::Error> {
    misuse(format!("{found} {what} were given, but there have to be {wanted}"))
}
