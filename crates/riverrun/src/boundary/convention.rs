//! The registers and stack slots of parameters and results (RISC-V ELF psABI, "Procedure Calling Convention", lp64d).
//!
//! The code that Rust generates for host functions and for calls of guest functions uses it. Everything is inlined there and
//! evaluated at compile time: register numbers are constants.

use riverrun_program::{Scalar, Type};
use riverrun_vm::convention::CALL_ARGUMENTS;
use riverrun_vm::{F_SLOT, REGISTER_ARGUMENTS, VmContext};

use crate::boundary::pointer::{Ptr, Slice};
use crate::boundary::value::GuestValue;
use crate::memory::Memory;

/// Registers of each file that hold arguments.
const ARGUMENT_REGISTERS: usize = 8;
/// The slots of the first argument registers.
const A0: usize = 10;
const FA0: usize = F_SLOT as usize + 10;
const SP: usize = 2;

/// How many argument registers of each file are taken.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Taken {
    integers: usize,
    floats: usize,
}

impl Taken {
    /// Whether there are registers for that many more arguments.
    #[inline(always)]
    pub(crate) fn has_room(&self, integers: usize, floats: usize) -> bool {
        self.integers + integers <= ARGUMENT_REGISTERS && self.floats + floats <= ARGUMENT_REGISTERS
    }
}

/// The arguments of a guest's call, taken one after another.
#[derive(Debug)]
pub struct Arguments<'a> {
    first: [u64; REGISTER_ARGUMENTS],
    state: &'a VmContext,
    memory: &'a Memory,
    pub(crate) taken: Taken,
    on_stack: u64,
    number: u8,
    is_lost: bool,
}

impl<'a> Arguments<'a> {
    #[inline(always)]
    pub(crate) fn new(first: [u64; REGISTER_ARGUMENTS], state: &'a VmContext, memory: &'a Memory) -> Arguments<'a> {
        Arguments { first, state, memory, taken: Taken::default(), on_stack: 0, number: 0, is_lost: false }
    }

    /// Whether an argument is on the stack, but the stack is not mapped.
    #[inline(always)]
    pub(crate) fn is_lost(&self) -> bool {
        self.is_lost
    }

    #[inline(always)]
    pub(crate) fn parameter<P: Parameter>(&mut self) -> P {
        self.number += 1;
        P::take(self)
    }

    #[inline(always)]
    fn integer(&mut self) -> u64 {
        let n = self.taken.integers;
        if n == ARGUMENT_REGISTERS {
            return self.stacked();
        }
        self.taken.integers += 1;
        if n < REGISTER_ARGUMENTS { self.first[n] } else { self.state.hart.slots[A0 + n] }
    }

    #[inline(always)]
    fn float(&mut self) -> u64 {
        let n = self.taken.floats;
        if n == ARGUMENT_REGISTERS {
            return self.integer();
        }
        self.taken.floats += 1;
        self.state.hart.slots[FA0 + n]
    }

    #[cold]
    fn stacked(&mut self) -> u64 {
        let address = self.state.hart.slots[SP].wrapping_add(8 * self.on_stack);
        self.on_stack += 1;
        self.memory.read_u64(address).unwrap_or_else(|_| {
            self.is_lost = true;
            0
        })
    }

    #[inline(always)]
    pub(crate) fn scalar(&mut self, scalar: Scalar) -> u64 {
        if scalar.is_float() { self.float() } else { self.integer() }
    }
}

/// The types of parameters in a signature, and how many registers they take.
#[derive(Debug, Default)]
pub struct Types {
    pub(crate) all: Vec<Type>,
    pub(crate) taken: Taken,
}

impl Types {
    pub(crate) fn add(&mut self, scalar: Scalar) {
        self.all.push(scalar.into());
        if scalar.is_float() && self.taken.floats < ARGUMENT_REGISTERS {
            self.taken.floats += 1;
        } else if self.taken.integers < ARGUMENT_REGISTERS {
            self.taken.integers += 1;
        }
    }
}

/// The arguments of a call of a guest function, in the registers and stack slots where it expects them.
#[derive(Debug)]
pub struct Placement<'a> {
    slots: &'a mut Registers,
    /// The first integer registers, which the compiler should keep out of memory.
    first: [u64; CALL_ARGUMENTS],
    pub(crate) taken: Taken,
    stack: Vec<u64>,
}

impl<'a> Placement<'a> {
    #[inline(always)]
    pub(crate) fn new(slots: &'a mut Registers) -> Placement<'a> {
        Placement { slots, first: [0; CALL_ARGUMENTS], taken: Taken::default(), stack: Vec::new() }
    }

    /// What is not in the state.
    #[inline(always)]
    pub(crate) fn into_placed(self) -> Placed {
        Placed { first: self.first, integers: self.taken.integers, stack: self.stack }
    }

    #[inline(always)]
    pub(crate) fn put(&mut self, scalar: Scalar, bits: u64) {
        if scalar.is_float() && self.taken.floats < ARGUMENT_REGISTERS {
            self.slots[FA0 + self.taken.floats] = bits;
            self.taken.floats += 1;
        } else {
            self.put_integer(bits);
        }
    }

    #[inline(always)]
    fn put_integer(&mut self, bits: u64) {
        match self.taken.integers {
            n if n < CALL_ARGUMENTS => self.first[n] = bits,
            n if n < ARGUMENT_REGISTERS => self.slots[A0 + n] = bits,
            _ => return self.stack.push(bits),
        }
        self.taken.integers += 1;
    }

    /// Assigns the only arguments, integers that are at most as many as are passed in the host's registers.
    #[inline(always)]
    pub(crate) fn put_few(&mut self, count: usize, integer: impl Fn(usize) -> u64) {
        self.taken.integers = count;
        // Not a loop, so that they stay in registers.
        let [first, second, third] = &mut self.first;
        if count > 0 {
            *first = integer(0);
            if count > 1 {
                *second = integer(1);
                if count > 2 {
                    *third = integer(2);
                }
            }
        }
    }
}

/// The arguments and results of a call of a guest function. It is `Copy`, so that the compiler keeps it in registers on the
/// hot path.
pub(crate) trait Exchange: Copy {
    type Result;

    /// Assigns the arguments to registers and stack slots.
    fn place(self, placement: &mut Placement<'_>);

    /// Reads the results from the registers.
    fn take(self, registers: &ResultRegisters) -> Self::Result;
}

/// Assigned arguments; those that are not here are in the state.
#[derive(Debug, Default)]
pub(crate) struct Placed {
    /// The values of the first integer registers, or zeros.
    pub(crate) first: [u64; CALL_ARGUMENTS],
    /// How many integer registers are taken.
    pub(crate) integers: usize,
    /// The words on the stack, from its lowest address up.
    pub(crate) stack: Vec<u64>,
}

/// Stores the first integer registers, those that are taken, in the state.
#[inline(always)]
pub(crate) fn write_first(first: [u64; CALL_ARGUMENTS], integers: usize, slots: &mut Registers) {
    for (n, &bits) in first.iter().enumerate().take(integers) {
        slots[A0 + n] = bits;
    }
}

/// A parameter: a [`GuestValue`], a [`Slice`], which is two of them, or a structure by value
/// ([`by_value!`](crate::by_value)).
pub trait Parameter: Copy {
    /// Adds its types to a signature.
    #[doc(hidden)]
    fn add_types(types: &mut Types);

    /// Reads it from the next registers.
    #[doc(hidden)]
    fn take(arguments: &mut Arguments<'_>) -> Self;

    /// Writes it to the next registers.
    #[doc(hidden)]
    fn put(self, placement: &mut Placement<'_>);
}

impl<V: GuestValue> Parameter for V {
    fn add_types(types: &mut Types) {
        types.add(V::TYPE);
    }

    #[inline(always)]
    fn take(arguments: &mut Arguments<'_>) -> V {
        V::from_bits(arguments.scalar(V::TYPE)).in_argument(arguments.number)
    }

    #[inline(always)]
    fn put(self, placement: &mut Placement<'_>) {
        placement.put(V::TYPE, self.to_bits());
    }
}

impl<T: 'static> Parameter for Slice<T> {
    fn add_types(types: &mut Types) {
        types.add(Scalar::Ptr);
        types.add(Scalar::U64);
    }

    #[inline(always)]
    fn take(arguments: &mut Arguments<'_>) -> Slice<T> {
        let start = <Ptr<T> as Parameter>::take(arguments);
        start.slice(arguments.integer())
    }

    #[inline(always)]
    fn put(self, placement: &mut Placement<'_>) {
        placement.put(Scalar::Ptr, self.start().address());
        placement.put(Scalar::U64, self.len());
    }
}

/// The parameters of a guest function: a tuple of up to 16 [`Parameter`]s.
pub trait Parameters: Copy {
    /// Their types in signatures.
    #[doc(hidden)]
    fn types() -> Vec<Type>;

    /// Assigns them to registers and stack slots.
    #[doc(hidden)]
    fn put(self, placement: &mut Placement<'_>);

    /// Reads them from registers and stack slots.
    #[doc(hidden)]
    fn take(arguments: &mut Arguments<'_>) -> Self;
}

/// Invokes a macro with each prefix of a list of names, the empty one included.
macro_rules! each_prefix {
    ($macro:ident [$($prefix:ident)*]) => {
        $macro!($($prefix)*);
    };
    ($macro:ident [$($prefix:ident)*] $next:ident $($rest:ident)*) => {
        $macro!($($prefix)*);
        each_prefix!($macro [$($prefix)* $next] $($rest)*);
    };
}
pub(crate) use each_prefix;

macro_rules! parameters {
    ($($parameter:ident)*) => {
        #[allow(non_snake_case, clippy::unused_unit)]
        impl<$($parameter: Parameter),*> Parameters for ($($parameter,)*) {
            fn types() -> Vec<Type> {
                let mut _types = Types::default();
                $($parameter::add_types(&mut _types);)*
                _types.all
            }

            #[inline(always)]
            fn put(self, _placement: &mut Placement<'_>) {
                let ($($parameter,)*) = self;
                $($parameter.put(_placement);)*
            }

            fn take(_arguments: &mut Arguments<'_>) -> Self {
                $(let $parameter = _arguments.parameter::<$parameter>();)*
                ($($parameter,)*)
            }
        }
    };
}

each_prefix!(parameters [] A B C D E F G H I J K L M N O P);

/// A guest's registers, as in the state.
pub(crate) type Registers = [u64; 65];

/// The registers of results.
#[derive(Clone, Copy, Debug)]
pub struct ResultRegisters {
    pub(crate) a: [u64; 2],
    pub(crate) fa: [u64; 2],
}

impl ResultRegisters {
    /// The registers of the state except a0 and a1.
    #[inline(always)]
    pub(crate) fn new(a: [u64; 2], slots: &Registers) -> ResultRegisters {
        ResultRegisters { a, fa: [slots[FA0], slots[FA0 + 1]] }
    }

    /// The registers of the state.
    #[inline(always)]
    pub(crate) fn of(slots: &Registers) -> ResultRegisters {
        ResultRegisters::new([slots[A0], slots[A0 + 1]], slots)
    }

    /// Writes the float registers; the others are the engine's to write.
    #[inline(always)]
    pub(crate) fn write_floats(&self, slots: &mut Registers) {
        [slots[FA0], slots[FA0 + 1]] = self.fa;
    }
}

/// The result of a function: nothing, a [`GuestValue`], a structure by value ([`by_value!`](crate::by_value)), or a
/// pair of values for a C structure of two fields.
pub trait Returned: Sized {
    /// Whether it is returned in float registers, at least in part.
    #[doc(hidden)]
    const HAS_FLOATS: bool;

    /// Whether it is returned in a1, in part.
    #[doc(hidden)]
    const IN_A1: bool;

    /// The type in signatures; `None` for nothing.
    fn result_type() -> Option<Type>;

    /// Writes it to the registers where the caller expects it.
    #[doc(hidden)]
    fn put(self, registers: &mut ResultRegisters);

    /// Reads it from the registers in which the function returns it.
    #[doc(hidden)]
    fn take(registers: &ResultRegisters) -> Self;
}

impl Returned for () {
    const HAS_FLOATS: bool = false;
    const IN_A1: bool = false;

    fn result_type() -> Option<Type> {
        None
    }

    #[inline(always)]
    fn put(self, _: &mut ResultRegisters) {}

    #[inline(always)]
    fn take(_: &ResultRegisters) {}
}

impl<V: GuestValue> Returned for V {
    const HAS_FLOATS: bool = V::TYPE.is_float();
    const IN_A1: bool = false;

    fn result_type() -> Option<Type> {
        Some(V::TYPE.into())
    }

    #[inline(always)]
    fn put(self, registers: &mut ResultRegisters) {
        put_scalar(V::TYPE, self.to_bits(), registers);
    }

    #[inline(always)]
    fn take(registers: &ResultRegisters) -> V {
        V::from_bits(take_scalar(V::TYPE, registers))
    }
}

impl<A: GuestValue, B: GuestValue> Returned for (A, B) {
    const HAS_FLOATS: bool = A::TYPE.is_float() || B::TYPE.is_float();
    const IN_A1: bool = pair_is_in_a1((A::TYPE, B::TYPE));

    fn result_type() -> Option<Type> {
        Some(Type::Struct(vec![A::TYPE, B::TYPE]))
    }

    #[inline(always)]
    fn put(self, registers: &mut ResultRegisters) {
        put_pair((A::TYPE, B::TYPE), [self.0.to_bits(), self.1.to_bits()], registers);
    }

    #[inline(always)]
    fn take(registers: &ResultRegisters) -> (A, B) {
        let [first, second] = take_pair((A::TYPE, B::TYPE), registers);
        (A::from_bits(first), B::from_bits(second))
    }
}

/// Puts a result where the caller looks for it.
#[inline(always)]
pub(crate) fn put_scalar(scalar: Scalar, bits: u64, registers: &mut ResultRegisters) {
    let file = if scalar.is_float() { &mut registers.fa } else { &mut registers.a };
    file[0] = bits;
}

/// Reads a result from its register.
#[inline(always)]
pub(crate) fn take_scalar(scalar: Scalar, registers: &ResultRegisters) -> u64 {
    if scalar.is_float() { registers.fa[0] } else { registers.a[0] }
}

/// Reads the fields of a structure of two from the registers of a result.
#[inline(always)]
pub(crate) fn take_pair(types: (Scalar, Scalar), registers: &ResultRegisters) -> [u64; 2] {
    let ResultRegisters { a, fa } = *registers;
    match (types.0.is_float(), types.1.is_float()) {
        (true, true) => fa,
        (true, false) => [fa[0], a[0]],
        (false, true) => [a[0], fa[0]],
        (false, false) => match second_offset(types) {
            8 => a,
            offset => [a[0], a[0] >> (8 * offset)],
        },
    }
}

/// Puts them where the caller looks for them.
#[inline(always)]
pub(crate) fn put_pair(types: (Scalar, Scalar), [first, second]: [u64; 2], registers: &mut ResultRegisters) {
    match (types.0.is_float(), types.1.is_float()) {
        (true, true) => registers.fa = [first, second],
        (true, false) => (registers.fa[0], registers.a[0]) = (first, second),
        (false, true) => (registers.a[0], registers.fa[0]) = (first, second),
        // As the structure lies in memory, eight bytes a register.
        (false, false) => match second_offset(types) {
            8 => registers.a = [first, second],
            offset => registers.a[0] = first & ((1 << (8 * types.0.size())) - 1) | second << (8 * offset),
        },
    }
}

/// Whether the second field of a structure of two is in a1.
pub(crate) const fn pair_is_in_a1(types: (Scalar, Scalar)) -> bool {
    !types.0.is_float() && !types.1.is_float() && second_offset(types) == 8
}

/// Where the second field of the structure begins.
const fn second_offset(types: (Scalar, Scalar)) -> u64 {
    types.0.size().next_multiple_of(types.1.size())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn there_and_back<R: Returned + PartialEq + std::fmt::Debug + Copy>(value: R, a: [u64; 2], fa: [u64; 2]) {
        let mut registers = ResultRegisters { a: [0; 2], fa: [0; 2] };
        value.put(&mut registers);
        assert_eq!((registers.a, registers.fa), (a, fa), "{value:?}");
        assert_eq!(R::take(&registers), value);
    }

    #[test]
    fn pairs_are_packed_as_structures_are() {
        let one = 1.0_f64.to_bits();
        there_and_back((1_i32, -1_i32), [0xffff_ffff_0000_0001, 0], [0; 2]);
        there_and_back((-1_i8, 2_u16), [0x0002_00ff, 0], [0; 2]);
        there_and_back((-1_i32, 2_i64), [u64::MAX, 2], [0; 2]);
        there_and_back((1.0_f64, 1.0_f64), [0; 2], [one, one]);
        there_and_back((7_i64, 1.0_f64), [7, 0], [one, 0]);
        there_and_back((1.0_f64, -7_i32), [-7_i64 as u64, 0], [one, 0]);
        there_and_back((true, 255_u8), [0xff01, 0], [0; 2]);
    }
}
