//! Structures by value: the pieces that the calling convention makes of them (RISC-V ELF psABI, "Hardware
//! Floating-point Calling Convention").

use std::mem::{align_of, size_of};

use bytemuck::Pod;
use riverrun_program::{Scalar, Type};

use crate::boundary::convention::{
    Arguments, Parameter, Placement, ResultRegisters, Returned, Types, put_pair, take_pair,
};
use crate::boundary::value::GuestValue;

/// A structure that calls can take and return by value: [`by_value!`](crate::by_value) implements this.
///
/// A structure of one or two numbers, at least one of them a float, is passed with one register for each, if there are
/// enough; any other structure is passed in integer registers, eight bytes in each. (Pointers do not count as numbers.) Its
/// pieces are its types in signatures.
pub trait Structure: Pod {
    /// Offset in bytes and type of each field; nested structures and arrays are flattened.
    const FIELDS: &'static [(usize, Scalar)];
}

/// Makes a structure of numbers one that calls can take and return by value, as C passes it: a `repr(C)` structure
/// of at most 16 bytes and alignment 8, without gaps (`bytemuck::Pod`). Others go by pointer ([`Ptr`](crate::Ptr)).
///
/// ```
/// use riverrun::bytemuck::{Pod, Zeroable};
///
/// #[repr(C)]
/// #[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
/// #[bytemuck(crate = "riverrun::bytemuck")]
/// struct Point {
///     x: f32,
///     y: f32,
/// }
/// riverrun::by_value!(Point { x: f32, y: f32 });
///
/// // As a guest says of `Point turn(Point, int)`.
/// let signature = riverrun::Func::<(Point, i32), Point>::signature();
/// assert_eq!(signature.to_string(), "{f32, f32} (f32, f32, i32)");
/// ```
///
/// ```compile_fail
/// # use riverrun::bytemuck::{Pod, Zeroable};
/// #[repr(C)]
/// #[derive(Clone, Copy, Pod, Zeroable)]
/// #[bytemuck(crate = "riverrun::bytemuck")]
/// struct Large {
///     a: [u64; 3],
/// }
/// riverrun::by_value!(Large = [(0, riverrun::Scalar::U64), (8, riverrun::Scalar::U64), (16, riverrun::Scalar::U64)]);
/// // A structure of more than 16 bytes goes by reference: pass a pointer.
/// riverrun::Func::<(Large,), ()>::signature();
/// ```
///
/// ```compile_fail
/// # use riverrun::bytemuck::{Pod, Zeroable};
/// #[repr(C, align(16))]
/// #[derive(Clone, Copy, Pod, Zeroable)]
/// #[bytemuck(crate = "riverrun::bytemuck")]
/// struct Aligned {
///     a: [u64; 2],
/// }
/// riverrun::by_value!(Aligned = [(0, riverrun::Scalar::U64), (8, riverrun::Scalar::U64)]);
/// // Nor does one go by value that is aligned to more than 8 bytes.
/// riverrun::Func::<(Aligned,), ()>::signature();
/// ```
#[macro_export]
macro_rules! by_value {
    ($type:ty { $($field:ident: $value:ty),* $(,)? }) => {
        // The fields have these types.
        const _: fn(&$type) = |value| {
            $(let _: &$value = &value.$field;)*
        };
        $crate::by_value!($type = [
            $((::core::mem::offset_of!($type, $field), <$value as $crate::GuestValue>::TYPE)),*
        ]);
    };
    ($type:ty = [$($field:expr),* $(,)?]) => {
        impl $crate::Structure for $type {
            const FIELDS: &'static [(usize, $crate::Scalar)] = &[$($field),*];
        }

        impl $crate::Parameter for $type {
            fn add_types(types: &mut $crate::support::Types) {
                $crate::support::ByValue::<$type>::add_types(types);
            }

            #[inline(always)]
            fn take(arguments: &mut $crate::support::Arguments<'_>) -> $type {
                <$crate::support::ByValue<$type> as $crate::Parameter>::take(arguments).0
            }

            #[inline(always)]
            fn put(self, placement: &mut $crate::support::Placement<'_>) {
                $crate::Parameter::put($crate::support::ByValue(self), placement);
            }
        }

        impl $crate::Returned for $type {
            const HAS_FLOATS: bool = $crate::support::ByValue::<$type>::HAS_FLOATS;
            const IN_A1: bool = $crate::support::ByValue::<$type>::IN_A1;

            fn result_type() -> Option<$crate::Type> {
                $crate::support::ByValue::<$type>::result_type()
            }

            #[inline(always)]
            fn put(self, registers: &mut $crate::support::ResultRegisters) {
                $crate::Returned::put($crate::support::ByValue(self), registers);
            }

            #[inline(always)]
            fn take(registers: &$crate::support::ResultRegisters) -> $type {
                <$crate::support::ByValue<$type> as $crate::Returned>::take(registers).0
            }
        }
    };
}

/// Items that the expansion of [`by_value!`](crate::by_value) uses.
pub mod support {
    pub use super::ByValue;
    pub use crate::boundary::convention::{Arguments, Placement, ResultRegisters, Types};
}

/// A structure, passed as its pieces.
#[derive(Clone, Copy, Debug)]
pub struct ByValue<S>(pub S);

impl<S: Structure> ByValue<S> {
    /// Registers for its 16 bytes at most.
    const WORDS: usize = {
        assert!(size_of::<S>() <= 16, "a structure of more than 16 bytes goes by reference: pass a pointer");
        // Such a one would begin with a register of an even number.
        assert!(align_of::<S>() <= 8, "a structure aligned to more than 8 bytes goes by reference: pass a pointer");
        assert!(size_of::<S>() > 0, "a structure without fields is not passed at all: leave it out");
        let mut at = 0;
        while at < S::FIELDS.len() {
            assert!(
                S::FIELDS[at].0 + S::FIELDS[at].1.size() as usize <= size_of::<S>(),
                "a field is not in the structure"
            );
            at += 1;
        }
        size_of::<S>().div_ceil(8)
    };

    const FLOATS: usize = Self::count(true);

    /// Whether each field has a register, if there is one.
    const IS_APART: bool = Self::FLOATS > 0 && S::FIELDS.len() <= 2 && Self::count(false) == 0;

    /// Integer registers that it takes then.
    const INTEGERS: usize = S::FIELDS.len() - Self::FLOATS;

    /// The types of what is returned apart, of which there are two at most.
    const PAIR: (Scalar, Scalar) = (S::FIELDS[0].1, S::FIELDS[S::FIELDS.len() - 1].1);

    /// How many floats there are, or pointers.
    const fn count(floats: bool) -> usize {
        let (mut count, mut at) = (0, 0);
        while at < S::FIELDS.len() {
            let scalar = S::FIELDS[at].1;
            count += if floats { scalar.is_float() } else { matches!(scalar, Scalar::Ptr) } as usize;
            at += 1;
        }
        count
    }

    /// The register values of its fields, if each has a register.
    #[inline(always)]
    fn fields(&self) -> Parts {
        let mut parts = [0; 2];
        for (part, &(offset, scalar)) in parts.iter_mut().zip(S::FIELDS) {
            *part = extended(scalar, self.bytes(offset, scalar.size() as usize));
        }
        parts
    }

    #[inline(always)]
    fn of_fields(parts: Parts) -> ByValue<S> {
        let mut value = ByValue(S::zeroed());
        for (part, &(offset, scalar)) in parts.into_iter().zip(S::FIELDS) {
            value.set_bytes(offset, scalar.size() as usize, part);
        }
        value
    }

    /// The register values of its bytes, if fields have no registers of their own.
    #[inline(always)]
    fn words(&self) -> Parts {
        let mut parts = [0; 2];
        for (number, part) in parts.iter_mut().enumerate().take(Self::WORDS) {
            *part = self.bytes(8 * number, (size_of::<S>() - 8 * number).min(8));
        }
        parts
    }

    #[inline(always)]
    fn of_words(parts: Parts) -> ByValue<S> {
        let mut value = ByValue(S::zeroed());
        for (number, part) in parts.into_iter().enumerate().take(Self::WORDS) {
            value.set_bytes(8 * number, (size_of::<S>() - 8 * number).min(8), part);
        }
        value
    }

    /// Up to eight of its bytes as a number.
    #[inline(always)]
    fn bytes(&self, offset: usize, size: usize) -> u64 {
        let mut word = [0; 8];
        word[..size].copy_from_slice(&bytemuck::bytes_of(&self.0)[offset..offset + size]);
        u64::from_le_bytes(word)
    }

    #[inline(always)]
    fn set_bytes(&mut self, offset: usize, size: usize, bits: u64) {
        bytemuck::bytes_of_mut(&mut self.0)[offset..offset + size].copy_from_slice(&bits.to_le_bytes()[..size]);
    }
}

/// Registers of one structure: two at most.
type Parts = [u64; 2];

/// The register value of a field with these bytes.
#[inline(always)]
fn extended(scalar: Scalar, bits: u64) -> u64 {
    match scalar {
        Scalar::I8 => i8::from_bits(bits).to_bits(),
        Scalar::I16 => i16::from_bits(bits).to_bits(),
        Scalar::I32 | Scalar::U32 => i32::from_bits(bits).to_bits(),
        Scalar::F32 => GuestValue::to_bits(f32::from_bits(bits as u32)),
        _ => bits,
    }
}

impl<S: Structure> Parameter for ByValue<S> {
    fn add_types(types: &mut Types) {
        if Self::IS_APART && types.taken.has_room(Self::INTEGERS, Self::FLOATS) {
            S::FIELDS.iter().for_each(|&(_, scalar)| types.add(scalar));
        } else {
            (0..Self::WORDS).for_each(|_| types.add(Scalar::U64));
        }
    }

    #[inline(always)]
    fn take(arguments: &mut Arguments<'_>) -> ByValue<S> {
        let mut parts = [0; 2];
        if Self::IS_APART && arguments.taken.has_room(Self::INTEGERS, Self::FLOATS) {
            for (part, &(_, scalar)) in parts.iter_mut().zip(S::FIELDS) {
                *part = arguments.scalar(scalar);
            }
            Self::of_fields(parts)
        } else {
            for part in parts.iter_mut().take(Self::WORDS) {
                *part = arguments.scalar(Scalar::U64);
            }
            Self::of_words(parts)
        }
    }

    #[inline(always)]
    fn put(self, placement: &mut Placement<'_>) {
        if Self::IS_APART && placement.taken.has_room(Self::INTEGERS, Self::FLOATS) {
            for (part, &(_, scalar)) in self.fields().into_iter().zip(S::FIELDS) {
                placement.put(scalar, part);
            }
        } else {
            for &word in &self.words()[..Self::WORDS] {
                placement.put(Scalar::U64, word);
            }
        }
    }
}

impl<S: Structure> Returned for ByValue<S> {
    const HAS_FLOATS: bool = Self::IS_APART;
    const IN_A1: bool = !Self::IS_APART && Self::WORDS == 2;

    fn result_type() -> Option<Type> {
        let pieces = match Self::IS_APART {
            true => S::FIELDS.iter().map(|&(_, scalar)| scalar).collect(),
            false => vec![Scalar::U64; Self::WORDS],
        };
        Some(if let [one] = *pieces { Type::Scalar(one) } else { Type::Struct(pieces) })
    }

    #[inline(always)]
    fn put(self, registers: &mut ResultRegisters) {
        if !Self::IS_APART {
            // The others keep what they have.
            registers.a[..Self::WORDS].copy_from_slice(&self.words()[..Self::WORDS]);
        } else if S::FIELDS.len() == 1 {
            registers.fa[0] = self.fields()[0];
        } else {
            put_pair(Self::PAIR, self.fields(), registers);
        }
    }

    #[inline(always)]
    fn take(registers: &ResultRegisters) -> ByValue<S> {
        if !Self::IS_APART {
            Self::of_words(registers.a)
        } else if S::FIELDS.len() == 1 {
            Self::of_fields(registers.fa)
        } else {
            Self::of_fields(take_pair(Self::PAIR, registers))
        }
    }
}
