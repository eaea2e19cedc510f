//! The types of C that calls can have, and their layout in guest memory (RISC-V psABI, LP64D).

use std::fmt::Write;
use std::sync::Arc;

/// A type of C.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Type {
    /// No value; behind a pointer, memory of any kind.
    Void,
    /// A number.
    Scalar(Scalar),
    /// A struct.
    Record(Arc<Record>),
    /// A union, a struct that is only declared, or one with bit fields: can only be used behind pointers.
    Opaque(String),
    /// A pointer, and whether the pointee is const.
    Pointer(Box<Type>, bool),
    /// An array, and how many elements it has if that is declared.
    Array(Box<Type>, Option<u64>),
    /// A function, behind a pointer.
    Function(Box<Type>, Vec<Type>),
    /// A type under a name that `typedef` or a header of C gives it.
    Named(String, Box<Type>),
}

/// A type of number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scalar {
    Bool,
    I8,
    U8,
    I16,
    U16,
    I32,
    U32,
    I64,
    U64,
    F32,
    F64,
}

/// A struct whose fields are all known.
#[derive(Debug, PartialEq)]
pub(crate) struct Record {
    /// As C writes it: `struct vec` or, by its typedef, `Vec`.
    pub(crate) name: String,
    pub(crate) fields: Vec<Field>,
}

#[derive(Debug, PartialEq)]
pub(crate) struct Field {
    pub(crate) name: String,
    pub(crate) ty: Type,
}

impl Scalar {
    pub(crate) fn size(self) -> u64 {
        match self {
            Scalar::Bool | Scalar::I8 | Scalar::U8 => 1,
            Scalar::I16 | Scalar::U16 => 2,
            Scalar::I32 | Scalar::U32 | Scalar::F32 => 4,
            Scalar::I64 | Scalar::U64 | Scalar::F64 => 8,
        }
    }

    pub(crate) fn is_float(self) -> bool {
        matches!(self, Scalar::F32 | Scalar::F64)
    }

    /// The type in C.
    pub(crate) fn c(self) -> &'static str {
        match self {
            Scalar::Bool => "bool",
            Scalar::I8 => "signed char",
            Scalar::U8 => "unsigned char",
            Scalar::I16 => "short",
            Scalar::U16 => "unsigned short",
            Scalar::I32 => "int",
            Scalar::U32 => "unsigned",
            Scalar::I64 => "long",
            Scalar::U64 => "unsigned long",
            Scalar::F32 => "float",
            Scalar::F64 => "double",
        }
    }

    /// The type in Rust.
    pub(crate) fn rust(self) -> &'static str {
        match self {
            Scalar::Bool => "bool",
            Scalar::I8 => "i8",
            Scalar::U8 => "u8",
            Scalar::I16 => "i16",
            Scalar::U16 => "u16",
            Scalar::I32 => "i32",
            Scalar::U32 => "u32",
            Scalar::I64 => "i64",
            Scalar::U64 => "u64",
            Scalar::F32 => "f32",
            Scalar::F64 => "f64",
        }
    }
}

/// The type that C has text of.
pub(crate) const CHAR: &str = "char";

/// The names of types that a description can use without declaring them: `<stdbool.h>`, `<stddef.h>`,
/// `<stdint.h>`, as RISC-V has them.
pub(crate) const STANDARD: &[(&str, Scalar)] = &[
    ("bool", Scalar::Bool),
    ("size_t", Scalar::U64),
    ("ssize_t", Scalar::I64),
    ("ptrdiff_t", Scalar::I64),
    ("intptr_t", Scalar::I64),
    ("uintptr_t", Scalar::U64),
    ("int8_t", Scalar::I8),
    ("uint8_t", Scalar::U8),
    ("int16_t", Scalar::I16),
    ("uint16_t", Scalar::U16),
    ("int32_t", Scalar::I32),
    ("uint32_t", Scalar::U32),
    ("int64_t", Scalar::I64),
    ("uint64_t", Scalar::U64),
];

impl Type {
    /// The type itself, whatever names it has.
    pub(crate) fn bare(&self) -> &Type {
        match self {
            Type::Named(_, ty) => ty.bare(),
            ty => ty,
        }
    }

    /// Size and alignment in bytes; `None` where that is not known.
    pub(crate) fn layout(&self) -> Option<(u64, u64)> {
        match self {
            Type::Scalar(scalar) => Some((scalar.size(), scalar.size())),
            Type::Pointer(..) => Some((8, 8)),
            Type::Array(of, length) => {
                let (size, align) = of.layout()?;
                Some((size.checked_mul((*length)?)?, align))
            }
            Type::Record(record) => record.layout(),
            Type::Named(_, ty) => ty.layout(),
            Type::Void | Type::Opaque(_) | Type::Function(..) => None,
        }
    }

    /// Whether values of the type contain pointers, through which further memory can be reached.
    pub(crate) fn has_pointers(&self) -> bool {
        match self {
            Type::Scalar(_) => false,
            Type::Array(of, _) | Type::Named(_, of) => of.has_pointers(),
            Type::Record(record) => record.fields.iter().any(|field| field.ty.has_pointers()),
            Type::Void | Type::Opaque(_) | Type::Pointer(..) | Type::Function(..) => true,
        }
    }

    /// Whether it is `const char *`, by convention a pointer to a zero-terminated string.
    pub(crate) fn is_text(&self) -> bool {
        matches!(self, Type::Pointer(to, true) if matches!(&**to, Type::Named(name, _) if name == CHAR))
    }

    /// Declares `name` to be of this type, in C; with an empty name, the type itself.
    pub(crate) fn declare(&self, name: &str) -> String {
        self.declare_const(name, false)
    }

    fn declare_const(&self, name: &str, constant: bool) -> String {
        let simple = |ty: &str| {
            let prefix = if constant { "const " } else { "" };
            let space = if name.is_empty() || name.starts_with('[') { "" } else { " " };
            format!("{prefix}{ty}{space}{name}")
        };
        match self {
            Type::Void => simple("void"),
            Type::Scalar(scalar) => simple(scalar.c()),
            Type::Record(record) => simple(&record.name),
            Type::Opaque(ty) | Type::Named(ty, _) => simple(ty),
            Type::Pointer(to, to_constant) => {
                let inner = if constant { format!("*const {name}") } else { format!("*{name}") };
                let inner = match **to {
                    Type::Array(..) | Type::Function(..) => format!("({inner})"),
                    _ => inner,
                };
                to.declare_const(&inner, *to_constant)
            }
            Type::Array(of, length) => {
                let length = length.map_or_else(String::new, |length| length.to_string());
                of.declare_const(&format!("{name}[{length}]"), constant)
            }
            Type::Function(result, parameters) => {
                let parameters: Vec<String> = parameters.iter().map(|parameter| parameter.declare("")).collect();
                let parameters = if parameters.is_empty() { "void".to_owned() } else { parameters.join(", ") };
                result.declare(&format!("{name}({parameters})"))
            }
        }
    }
}

impl Record {
    /// Size and alignment in bytes.
    pub(crate) fn layout(&self) -> Option<(u64, u64)> {
        let (mut end, mut most) = (0_u64, 1);
        for field in &self.fields {
            let (size, align) = field.ty.layout()?;
            end = end.checked_next_multiple_of(align)?.checked_add(size)?;
            most = most.max(align);
        }
        Some((end.checked_next_multiple_of(most)?, most))
    }

    /// The fields with their offsets in bytes.
    pub(crate) fn offsets(&self) -> impl Iterator<Item = (u64, &Field)> {
        let mut end = 0;
        self.fields.iter().map(move |field| {
            let (size, align) = field.ty.layout().unwrap_or((0, 1));
            let offset = u64::next_multiple_of(end, align);
            end = offset + size;
            (offset, field)
        })
    }
}

/// Declares a function in C.
pub(crate) fn prototype(result: &Type, name: &str, parameters: &[(String, Type)]) -> String {
    let mut list = String::new();
    for (name, ty) in parameters {
        let separator = if list.is_empty() { "" } else { ", " };
        // Writing to a string does not fail.
        let _ = write!(list, "{separator}{}", ty.declare(name));
    }
    if list.is_empty() {
        list.push_str("void");
    }
    result.declare(&format!("{name}({list})"))
}
