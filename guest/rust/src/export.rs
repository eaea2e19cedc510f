//! Functions for the host, with their types.

/// A type that can be a parameter of an exported function: numbers, `bool`, thin pointers, and structures that
/// [`by_value!`](crate::by_value) knows.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot cross the boundary",
    note = "numbers, bool, pointers to sized types, and structures by `by_value!` can; pass a pointer and a length \
            for a slice"
)]
pub trait Value {
    #[doc(hidden)]
    const TYPE: Type;
}

/// What an exported function can return: nothing, or a [`Value`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be returned over the boundary",
    note = "nothing, numbers, bool, pointers to sized types, and structures by `by_value!` can"
)]
pub trait Returned {
    #[doc(hidden)]
    const TYPE: Option<Type>;
}

/// A type, as signatures have it.
#[doc(hidden)]
#[derive(Clone, Copy)]
pub enum Type {
    Scalar(Scalar),
    /// Its fields, and its size in bytes.
    Struct(&'static [Scalar], usize),
}

#[doc(hidden)]
#[derive(Clone, Copy)]
pub struct Scalar {
    name: &'static str,
    kind: Kind,
}

#[derive(Clone, Copy)]
enum Kind {
    Float,
    Integer,
    Pointer,
}

macro_rules! values {
    ($($type:ty = $name:literal)*) => {
        $(impl Value for $type {
            const TYPE: Type = Type::Scalar(Scalar {
                name: $name,
                kind: if $name.as_bytes()[0] == b'f' { Kind::Float } else { Kind::Integer },
            });
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
            const TYPE: Type = Type::Scalar(Scalar { name: "ptr", kind: Kind::Pointer });
        })*
    };
}

pointers! { *const T *mut T &T &mut T Option<&T> Option<&mut T> }

impl Returned for () {
    const TYPE: Option<Type> = None;
}

impl<V: Value> Returned for V {
    const TYPE: Option<Type> = Some(V::TYPE);
}

/// Makes a structure one that exported functions can take and return by value: a `repr(C)` structure of at most 16
/// bytes, of numbers, `bool`s and pointers. Pass a pointer to a larger one.
///
/// ```ignore
/// #[repr(C)]
/// #[derive(Clone, Copy)]
/// struct Point {
///     x: f32,
///     y: f32,
/// }
/// by_value!(Point { x: f32, y: f32 });
/// ```
#[macro_export]
macro_rules! by_value {
    ($type:ident { $($field:ident: $value:ty),* $(,)? }) => {
        impl $crate::Value for $type {
            const TYPE: $crate::Type = {
                // These are its fields, all of them.
                let _: fn($type) = |$type { $($field),* }| {
                    $(let _: $value = $field;)*
                };
                $crate::structure(&[$($crate::scalar::<$value>()),*], size_of::<$type>())
            };
        }
    };
}

/// What a structure is passed as.
#[doc(hidden)]
pub const fn structure(fields: &'static [Scalar], size: usize) -> Type {
    assert!(size <= 16, "a structure of more than 16 bytes goes by reference: pass a pointer");
    assert!(size > 0, "a structure without fields is not passed at all: leave it out");
    let has_pointer = count(fields, Kind::Pointer) > 0;
    assert!(
        !has_pointer || count(fields, Kind::Float) == 0 || fields.len() > 2,
        "a pointer beside a float: Rust passes them otherwise than C; make it a u64"
    );
    Type::Struct(fields, size)
}

const fn count(fields: &[Scalar], kind: Kind) -> usize {
    let (mut count, mut at) = (0, 0);
    while at < fields.len() {
        count += (fields[at].kind as u8 == kind as u8) as usize;
        at += 1;
    }
    count
}

/// What a field of a structure is.
#[doc(hidden)]
pub const fn scalar<V: Value>() -> Scalar {
    match V::TYPE {
        Type::Scalar(scalar) => scalar,
        Type::Struct(..) => panic!("a structure in a structure: write its fields instead"),
    }
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
            const RESULT: Option<$crate::Type> = <($($result)?) as $crate::Returned>::TYPE;
            const PARAMETERS: &[$crate::Type] = &[$(<$type as $crate::Value>::TYPE),*];
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
pub const fn length(result: Option<Type>, parameters: &[Type]) -> usize {
    // As the host reads at most.
    Text::<4096>::new().signature(result, parameters).length + 1
}

/// Writes `i32 (f32, ptr)`.
#[doc(hidden)]
pub const fn join<const SIZE: usize>(result: Option<Type>, parameters: &[Type]) -> [u8; SIZE] {
    Text::new().signature(result, parameters).bytes
}

/// Text that is made by the compiler.
struct Text<const SIZE: usize> {
    bytes: [u8; SIZE],
    length: usize,
}

/// Registers that are taken, and how many parameters have been written.
struct Taken {
    integers: usize,
    floats: usize,
    names: usize,
}

const REGISTERS: usize = 8;

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

    const fn signature(mut self, result: Option<Type>, parameters: &[Type]) -> Text<SIZE> {
        const NONE: Taken = Taken { integers: 0, floats: 0, names: 0 };
        self = match result {
            None => self.add("void"),
            Some(Type::Scalar(scalar)) => self.add(scalar.name),
            Some(ty) => {
                let (pieces, taken) = Text::<64>::new().pieces(ty, NONE);
                let pieces = core::str::from_utf8(pieces.bytes.split_at(pieces.length).0);
                let Ok(pieces) = pieces else { panic!("names are text") };
                if taken.names == 1 { self.add(pieces) } else { self.add("{").add(pieces).add("}") }
            }
        };
        self = self.add(" (");
        let (mut at, mut taken) = (0, NONE);
        while at < parameters.len() {
            (self, taken) = self.pieces(parameters[at], taken);
            at += 1;
        }
        self.add(")")
    }

    /// What the calling convention makes of a type: its registers (RISC-V ELF psABI, "Hardware Floating-point Calling
    /// Convention").
    const fn pieces(mut self, ty: Type, mut taken: Taken) -> (Text<SIZE>, Taken) {
        let (fields, words) = match ty {
            Type::Scalar(scalar) => return self.piece(scalar, taken),
            Type::Struct(fields, size) => (fields, size.div_ceil(8)),
        };
        let floats = count(fields, Kind::Float);
        let integers = fields.len() - floats;
        let has_room = taken.floats + floats <= REGISTERS && taken.integers + integers <= REGISTERS;
        let is_apart = floats > 0 && fields.len() <= 2 && has_room;
        let mut at = 0;
        while at < if is_apart { fields.len() } else { words } {
            let piece = if is_apart { fields[at] } else { Scalar { name: "u64", kind: Kind::Integer } };
            (self, taken) = self.piece(piece, taken);
            at += 1;
        }
        (self, taken)
    }

    const fn piece(self, scalar: Scalar, taken: Taken) -> (Text<SIZE>, Taken) {
        let Taken { integers, floats, names } = taken;
        let in_float = matches!(scalar.kind, Kind::Float) && floats < REGISTERS;
        // The others are on the stack.
        let in_integer = !in_float && integers < REGISTERS;
        let taken =
            Taken { integers: integers + in_integer as usize, floats: floats + in_float as usize, names: names + 1 };
        (self.add(if names > 0 { ", " } else { "" }).add(scalar.name), taken)
    }
}
