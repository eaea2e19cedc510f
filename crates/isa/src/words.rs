//! [`Ops`] on numbers, for everything that executes instructions. Integer operations are the same for all; operations that
//! have effects or round are the implementation's own [`Effects`].

use crate::ops::{Float, FloatCompare, Int, Mem, Ops, Rounding, System};

/// The operations of [`Ops`] in which implementations on numbers differ.
#[allow(missing_docs)]
pub trait Effects {
    fn load(&self, mem: Mem, address: u64) -> u64;
    fn store(&self, mem: Mem, address: u64, value: u64);
    fn load_reserved(&self, mem: Mem, address: u64) -> u64;
    fn store_conditional(&self, mem: Mem, address: u64, value: u64) -> u64;
    fn amo(&self, mem: Mem, address: u64, change: impl Fn(u64) -> u64) -> u64;
    fn fadd(&self, f: Float, a: u64, b: u64, rm: Rounding) -> u64;
    fn fsub(&self, f: Float, a: u64, b: u64, rm: Rounding) -> u64;
    fn fmul(&self, f: Float, a: u64, b: u64, rm: Rounding) -> u64;
    fn fdiv(&self, f: Float, a: u64, b: u64, rm: Rounding) -> u64;
    fn fsqrt(&self, f: Float, a: u64, rm: Rounding) -> u64;
    fn fma(&self, f: Float, a: u64, b: u64, c: u64, rm: Rounding) -> u64;
    fn fcompare(&self, f: Float, compare: FloatCompare, a: u64, b: u64) -> u64;
    fn float_to_int(&self, f: Float, int: Int, a: u64, rm: Rounding) -> u64;
    fn int_to_float(&self, f: Float, int: Int, a: u64, rm: Rounding) -> u64;
    fn widen(&self, a: u64) -> u64;
    fn narrow(&self, a: u64, rm: Rounding) -> u64;
    fn fround(&self, f: Float, a: u64, rm: Rounding, inexact: bool) -> u64;
    fn raise(&self, flags: u8);
    fn csr(&self, csr: u16, change: impl Fn(u64) -> u64) -> u64;
    fn system(&self, event: System);
    fn call_import(&self, index: u64);
}

/// [`Ops`] on `u64`, with the effects of `E`.
#[derive(Debug)]
pub struct Words<E>(pub E);

/// One-line methods that forward to the effects.
macro_rules! forward {
    ($($name:ident($($arg:ident: $type:ty),*);)*) => {
        $(
            #[inline(always)]
            fn $name(&self, $($arg: $type),*) -> u64 {
                self.0.$name($($arg),*)
            }
        )*
    };
}

/// One-line methods on integers.
macro_rules! integer {
    ($($name:ident($($arg:ident),*) = $value:expr;)*) => {
        $(
            #[inline(always)]
            fn $name(&self, $($arg: u64),*) -> u64 {
                $value
            }
        )*
    };
}

impl<E: Effects> Ops for Words<E> {
    type V = u64;

    integer! {
        imm(value) = value;
        add(a, b) = a.wrapping_add(b);
        sub(a, b) = a.wrapping_sub(b);
        mul(a, b) = a.wrapping_mul(b);
        mul_high_s(a, b) = ((a as i64 as i128 * b as i64 as i128) >> 64) as u64;
        mul_high_u(a, b) = ((a as u128 * b as u128) >> 64) as u64;
        div_s(a, b) = if b == 0 { !0 } else { (a as i64).wrapping_div(b as i64) as u64 };
        div_u(a, b) = a.checked_div(b).unwrap_or(!0);
        rem_s(a, b) = if b == 0 { a } else { (a as i64).wrapping_rem(b as i64) as u64 };
        rem_u(a, b) = a.checked_rem(b).unwrap_or(a);
        and(a, b) = a & b;
        or(a, b) = a | b;
        xor(a, b) = a ^ b;
        shl(a, b) = a.wrapping_shl(b as u32);
        shr(a, b) = a.wrapping_shr(b as u32);
        sar(a, b) = (a as i64).wrapping_shr(b as u32) as u64;
        rotl(a, b) = a.rotate_left(b as u32 & 63);
        rotr(a, b) = a.rotate_right(b as u32 & 63);
        rotl32(a, b) = u64::from((a as u32).rotate_left(b as u32 & 31));
        rotr32(a, b) = u64::from((a as u32).rotate_right(b as u32 & 31));
        clz(a) = u64::from(a.leading_zeros());
        ctz(a) = u64::from(a.trailing_zeros());
        popcount(a) = u64::from(a.count_ones());
        bswap(a) = a.swap_bytes();
        sext8(a) = a as i8 as u64;
        sext16(a) = a as i16 as u64;
        sext32(a) = a as i32 as u64;
        zext8(a) = u64::from(a as u8);
        zext16(a) = u64::from(a as u16);
        zext32(a) = u64::from(a as u32);
        eq(a, b) = u64::from(a == b);
        ne(a, b) = u64::from(a != b);
        lt_s(a, b) = u64::from((a as i64) < b as i64);
        lt_u(a, b) = u64::from(a < b);
        ge_s(a, b) = u64::from(a as i64 >= b as i64);
        ge_u(a, b) = u64::from(a >= b);
        select(condition, a, b) = if condition != 0 { a } else { b };
    }

    forward! {
        load(mem: Mem, address: u64);
        load_reserved(mem: Mem, address: u64);
        store_conditional(mem: Mem, address: u64, value: u64);
        amo(mem: Mem, address: u64, change: impl Fn(u64) -> u64);
        fadd(f: Float, a: u64, b: u64, rm: Rounding);
        fsub(f: Float, a: u64, b: u64, rm: Rounding);
        fmul(f: Float, a: u64, b: u64, rm: Rounding);
        fdiv(f: Float, a: u64, b: u64, rm: Rounding);
        fsqrt(f: Float, a: u64, rm: Rounding);
        fma(f: Float, a: u64, b: u64, c: u64, rm: Rounding);
        fcompare(f: Float, compare: FloatCompare, a: u64, b: u64);
        float_to_int(f: Float, int: Int, a: u64, rm: Rounding);
        int_to_float(f: Float, int: Int, a: u64, rm: Rounding);
        widen(a: u64);
        narrow(a: u64, rm: Rounding);
        fround(f: Float, a: u64, rm: Rounding, inexact: bool);
        csr(csr: u16, change: impl Fn(u64) -> u64);
    }

    #[inline(always)]
    fn store(&self, mem: Mem, address: u64, value: u64) {
        self.0.store(mem, address, value);
    }

    #[inline(always)]
    fn raise(&self, flags: u8, condition: u64) {
        if condition != 0 {
            self.0.raise(flags);
        }
    }

    #[inline(always)]
    fn system(&self, event: System) {
        self.0.system(event);
    }

    #[inline(always)]
    fn call_import(&self, index: u64) {
        self.0.call_import(index);
    }
}
