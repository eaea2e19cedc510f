//! Scalar values in guest registers.

use riverrun_program::Scalar;

/// A value that fits a guest register: the type of parameters and results of host and guest functions.
///
/// Implemented for the integers and floats of C, `bool`, and guest pointers. A host implements it for
/// types of its own that are such a value in the guest:
///
/// ```
/// use riverrun::{GuestValue, Scalar};
///
/// #[derive(Clone, Copy, Debug, PartialEq)]
/// struct Entity(u32);
///
/// impl GuestValue for Entity {
///     const TYPE: Scalar = Scalar::U32;
///
///     fn from_bits(bits: u64) -> Entity {
///         Entity(u32::from_bits(bits))
///     }
///
///     fn to_bits(self) -> u64 {
///         self.0.to_bits()
///     }
/// }
///
/// // RISC-V holds all 32-bit integers sign-extended.
/// assert_eq!(Entity(0x8000_0000).to_bits(), 0xffff_ffff_8000_0000);
/// ```
pub trait GuestValue: Copy + 'static {
    /// The type in signatures.
    const TYPE: Scalar;

    /// The value of a register; bits beyond the type's width may be anything.
    fn from_bits(bits: u64) -> Self;

    /// The register that holds the value, extended as the calling convention asks for (RISC-V ELF psABI,
    /// "Integer Calling Convention").
    fn to_bits(self) -> u64;

    /// The same value, which knows that it is a host function's argument of this number.
    #[doc(hidden)]
    #[inline(always)]
    fn in_argument(self, _number: u8) -> Self {
        self
    }
}

macro_rules! values {
    ($($type:ty = $scalar:ident, |$bits:ident| $from:expr, |$value:ident| $to:expr;)*) => {
        $(impl GuestValue for $type {
            const TYPE: Scalar = Scalar::$scalar;

            #[inline(always)]
            fn from_bits($bits: u64) -> $type {
                $from
            }

            #[inline(always)]
            fn to_bits(self) -> u64 {
                let $value = self;
                $to
            }
        })*
    };
}

/// The upper half of a float register that holds a binary32 value (Unprivileged ISA, "NaN Boxing").
const BOX: u64 = 0xffff_ffff_0000_0000;

values! {
    bool = Bool, |bits| bits as u8 != 0, |value| u64::from(value);
    i8 = I8, |bits| bits as i8, |value| value as u64;
    u8 = U8, |bits| bits as u8, |value| u64::from(value);
    i16 = I16, |bits| bits as i16, |value| value as u64;
    u16 = U16, |bits| bits as u16, |value| u64::from(value);
    i32 = I32, |bits| bits as i32, |value| value as u64;
    u32 = U32, |bits| bits as u32, |value| value as i32 as u64;
    i64 = I64, |bits| bits as i64, |value| value as u64;
    u64 = U64, |bits| bits, |value| value;
    f32 = F32, |bits| f32::from_bits(bits as u32), |value| BOX | u64::from(f32::to_bits(value));
    f64 = F64, |bits| f64::from_bits(bits), |value| f64::to_bits(value);
}
