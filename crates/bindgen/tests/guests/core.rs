//! As much of `core` as generated modules and `values.rs` use: there is no other way to compile them where
//! Rust's own for RISC-V is not installed.
#![feature(no_core, lang_items, rustc_attrs, intrinsics, decl_macro, auto_traits, arbitrary_self_types, freeze_impls, transparent_unions)]
#![no_core]
#![allow(internal_features, dead_code, non_camel_case_types)]
#![rustc_coherence_is_core]
#![crate_type = "rlib"]

#[lang = "pointee_sized"] pub trait PointeeSized {}
#[lang = "meta_sized"] pub trait MetaSized: PointeeSized {}
#[lang = "sized"] pub trait Sized: MetaSized {}
#[lang = "destruct"] pub trait Destruct: PointeeSized {}
#[rustc_builtin_macro] pub macro derive($item:item) {}
#[lang = "copy"] pub trait Copy: clone::Clone {}
#[lang = "freeze"] unsafe auto trait Freeze {}
#[lang = "sync"] pub unsafe auto trait Sync {}
#[lang = "legacy_receiver"] pub trait LegacyReceiver {}
impl<T: PointeeSized> LegacyReceiver for &T {}
impl<T: PointeeSized> LegacyReceiver for &mut T {}
macro_rules! copy { ($($t:ty)*) => { $(impl Copy for $t {} impl clone::Clone for $t { fn clone(&self) -> $t { *self } })* } }
copy!(bool u8 i8 u16 i16 u32 i32 u64 i64 usize isize f32 f64);
impl<T: PointeeSized> Copy for *const T {}
impl<T: PointeeSized> Copy for *mut T {}
impl<T, const N: usize> Copy for [T; N] where T: Copy {}
impl<T: PointeeSized> clone::Clone for *const T { fn clone(&self) -> Self { *self } }
impl<T: PointeeSized> clone::Clone for *mut T { fn clone(&self) -> Self { *self } }
impl<T: Copy, const N: usize> clone::Clone for [T; N] { fn clone(&self) -> Self { *self } }


pub mod clone {
    use super::*;
    #[lang = "clone"] pub trait Clone: Sized { fn clone(&self) -> Self; }
    #[rustc_builtin_macro] pub macro Clone($item:item) {}
    #[lang = "trivial_clone"] pub unsafe trait TrivialClone: Clone {}
    pub struct AssertParamIsClone<T: Clone>(*const T);
}
pub enum Option<T> { None, Some(T) }

#[lang = "eq"] pub trait PartialEq<Rhs: PointeeSized = Self> { fn eq(&self, other: &Rhs) -> bool; fn ne(&self, other: &Rhs) -> bool; }
macro_rules! compare {
    ($($t:ty)*) => { $(impl PartialEq for $t {
        fn eq(&self, other: &$t) -> bool { *self == *other }
        fn ne(&self, other: &$t) -> bool { *self != *other }
    })* };
}
compare!(u8 i8 i16 i32 u32 i64 u64 f32 f64);
#[lang = "not"]
pub trait Not { type Output; fn not(self) -> Self::Output; }
impl Not for bool { type Output = bool; fn not(self) -> bool { !self } }
#[lang = "neg"]
pub trait Neg { type Output; fn neg(self) -> Self::Output; }
macro_rules! negate { ($($t:ty)*) => { $(impl Neg for $t { type Output = $t; fn neg(self) -> $t { -self } })* } }
negate!(i8 i16 i32 i64 f32 f64);

#[lang = "drop_in_place"] fn drop_in_place<T: PointeeSized>(_: *mut T) {}
pub mod ffi { #[repr(u8)] pub enum c_void { A, B } }
pub mod arch {
    #[rustc_builtin_macro] pub macro asm("assembly template", $(operands,)* $(options($(option),*))?) {}
    #[rustc_builtin_macro] pub macro global_asm("assembly template", $(operands,)* $(options($(option),*))?) {}
}

pub mod marker { pub use super::Copy; #[rustc_builtin_macro] pub macro Copy($item:item) {} }
pub mod intrinsics {
    use super::*;
    #[rustc_intrinsic] pub unsafe fn transmute<A, B>(from: A) -> B;
    #[rustc_intrinsic] pub unsafe fn copy_nonoverlapping<T>(from: *const T, to: *mut T, count: usize);
    #[rustc_intrinsic] pub unsafe fn offset<P: Copy, D: Copy>(from: P, by: D) -> P;
}
pub mod mem {
    use super::*;
    pub use intrinsics::transmute;
    #[repr(transparent)] pub union MaybeUninit<T: Copy> { zero: (), value: T }
    impl<T: Copy> MaybeUninit<T> {
        // SAFETY: as the caller promises, as with the real one.
        pub unsafe fn assume_init(self) -> T { unsafe { self.value } }
        pub fn zeroed() -> Self { MaybeUninit { zero: () } }
        pub fn as_mut_ptr(&mut self) -> *mut T { &raw mut self.value }
    }
}
pub mod ptr { pub use super::intrinsics::copy_nonoverlapping; }
impl<T> *const T {
    pub fn cast<U>(self) -> *const U { self as *const U }
    // SAFETY: as the caller promises, as with the real one.
    pub unsafe fn add(self, by: usize) -> *const T { unsafe { intrinsics::offset(self, by) } }
}
impl<T> *mut T {
    pub fn cast<U>(self) -> *mut U { self as *mut U }
    // SAFETY: as the caller promises, as with the real one.
    pub unsafe fn add(self, by: usize) -> *mut T { unsafe { intrinsics::offset(self, by) } }
}
impl f32 {
    pub fn to_bits(self) -> u32 {
        // SAFETY: any bits are a value of either type, and both are of one size.
        unsafe { mem::transmute(self) }
    }
    pub fn from_bits(bits: u32) -> f32 {
        // SAFETY: any bits are a value of either type, and both are of one size.
        unsafe { mem::transmute(bits) }
    }
}
impl f64 {
    pub fn to_bits(self) -> u64 {
        // SAFETY: any bits are a value of either type, and both are of one size.
        unsafe { mem::transmute(self) }
    }
    pub fn from_bits(bits: u64) -> f64 {
        // SAFETY: any bits are a value of either type, and both are of one size.
        unsafe { mem::transmute(bits) }
    }
}
#[lang = "bitor"]
pub trait BitOr<Other = Self> {
    type Output;
    fn bitor(self, other: Other) -> Self::Output;
}
impl BitOr for u64 {
    type Output = u64;
    fn bitor(self, other: u64) -> u64 {
        self | other
    }
}
pub mod prelude { pub use super::{Option::{self, None, Some}, Sized, clone::Clone, marker::Copy, PartialEq, derive}; }
