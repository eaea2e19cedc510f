//! Functions for the host, with their types.

/// A type that can be a parameter of an exported function: numbers, `bool` and thin pointers.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot cross the boundary",
    note = "numbers, bool and pointers to sized types can; pass a pointer and a length for a slice"
)]
pub trait Value {
    /// Its name in signatures.
    const NAME: &'static str;
}

/// What an exported function can return: nothing, or a [`Value`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be returned over the boundary",
    note = "nothing, numbers, bool and pointers to sized types can"
)]
pub trait Returned {
    /// Its name in signatures.
    const NAME: &'static str;
}

macro_rules! values {
    ($($type:ty = $name:literal)*) => {
        $(impl Value for $type {
            const NAME: &'static str = $name;
        })*
    };
}

values! {
    bool = "bool" i8 = "i8" u8 = "u8" i16 = "i16" u16 = "u16" i32 = "i32" u32 = "u32" i64 = "i64" u64 = "u64"
    isize = "i64" usize = "u64" f32 = "f32" f64 = "f64"
}

macro_rules! pointers {
    ($($pointer:ty)*) => {
        $(impl<T> Value for $pointer {
            const NAME: &'static str = "ptr";
        })*
    };
}

pointers! { *const T *mut T &T &mut T Option<&T> Option<&mut T> }

impl Returned for () {
    const NAME: &'static str = "void";
}

impl<V: Value> Returned for V {
    const NAME: &'static str = V::NAME;
}

/// Defines functions that the host can call by their names, and tells it their types: it is an error if it asks
/// for one by others. A module has one such block at most.
///
/// ```ignore
/// export! {
///     /// Called once a frame.
///     fn update(seconds: f32, frame: i32) -> i32 {
///         (seconds * 20.0) as i32 + frame
///     }
///
///     "Door::open" = fn open(door: u32) {}
/// }
/// ```
///
/// They are `extern "C"`; what is in front of one are its attributes and visibility, or the name by which the
/// host knows it.
#[macro_export]
macro_rules! export {
    ($($functions:tt)*) => {
        $crate::export_functions! { $($functions)* }
        mod riverrun_exports {
            $crate::export_records! { $($functions)* }
        }
    };
}

/// The functions themselves.
#[doc(hidden)]
#[macro_export]
macro_rules! export_functions {
    () => {};
    (
        $($name:literal =)? $(#[$attribute:meta])* $visible:vis fn $function:ident
        ($($parameter:ident: $type:ty),* $(,)?) $(-> $result:ty)? $body:block $($rest:tt)*
    ) => {
        $(#[$attribute])*
        $visible extern "C" fn $function($($parameter: $type),*) $(-> $result)? $body
        $crate::export_functions! { $($rest)* }
    };
}

/// Their records, which the host reads in the program's file; nothing in the program refers to them.
#[doc(hidden)]
#[macro_export]
macro_rules! export_records {
    () => {};
    ($(#[$attribute:meta])* $visible:vis fn $function:ident $($rest:tt)*) => {
        $crate::export_records! { @one stringify!($function), $function $($rest)* }
    };
    ($name:literal = $(#[$attribute:meta])* $visible:vis fn $($rest:tt)*) => {
        $crate::export_records! { @one $name, $($rest)* }
    };
    (
        @one $name:expr, $function:ident
        ($($parameter:ident: $type:ty),* $(,)?) $(-> $result:ty)? $body:block $($rest:tt)*
    ) => {
        mod $function {
            #[allow(unused_imports, reason = "types have no other names here")]
            use super::super::*;
            // No result is `()`.
            #[allow(unused_parens)]
            const RESULT: &str = <($($result)?) as $crate::Returned>::NAME;
            const PARAMETERS: &[&str] = &[$(<$type as $crate::Value>::NAME),*];
            static NAME: [u8; $name.len() + 1] = $crate::terminated($name);
            static SIGNATURE: [u8; $crate::length(RESULT, PARAMETERS)] = $crate::join(RESULT, PARAMETERS);
            core::arch::global_asm!(
                ".pushsection .riverrun.exports, \"aR\", @progbits",
                ".balign 8",
                ".dword {function}, {name}, {signature}",
                ".popsection",
                function = sym super::super::$function,
                name = sym NAME,
                signature = sym SIGNATURE,
            );
        }
        $crate::export_records! { $($rest)* }
    };
}

/// Text with the zero that ends it.
#[doc(hidden)]
pub const fn terminated<const SIZE: usize>(text: &str) -> [u8; SIZE] {
    Text::new().add(text).bytes
}

/// Bytes of `i32 (f32, ptr)`, and the zero that ends it.
#[doc(hidden)]
pub const fn length(result: &str, parameters: &[&str]) -> usize {
    // No name is longer than its result and 8 bytes for each parameter.
    Text::<4096>::new().signature(result, parameters).length + 1
}

/// Writes `i32 (f32, ptr)`.
#[doc(hidden)]
pub const fn join<const SIZE: usize>(result: &str, parameters: &[&str]) -> [u8; SIZE] {
    Text::new().signature(result, parameters).bytes
}

/// Text that is made by the compiler.
struct Text<const SIZE: usize> {
    bytes: [u8; SIZE],
    length: usize,
}

impl<const SIZE: usize> Text<SIZE> {
    const fn new() -> Text<SIZE> {
        Text { bytes: [0; SIZE], length: 0 }
    }

    const fn add(mut self, text: &str) -> Text<SIZE> {
        let mut at = 0;
        while at < text.len() {
            self.bytes[self.length] = text.as_bytes()[at];
            self.length += 1;
            at += 1;
        }
        self
    }

    const fn signature(mut self, result: &str, parameters: &[&str]) -> Text<SIZE> {
        self = self.add(result).add(" (");
        let mut at = 0;
        while at < parameters.len() {
            self = self.add(if at > 0 { ", " } else { "" }).add(parameters[at]);
            at += 1;
        }
        self.add(")")
    }
}
