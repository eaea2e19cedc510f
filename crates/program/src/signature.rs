//! Signatures of functions that cross the boundary, as text: `i32 (f32, ptr)`.
//!
//! The text is canonical: two signatures are the same if and only if their texts are.

use std::fmt;
use std::str::FromStr;

/// Parameters that a signature has at most.
pub const PARAMETERS_MAX: usize = 64;
/// Fields that a structure passed by value has at most; more never fit into its 16 bytes.
pub const FIELDS_MAX: usize = 16;

/// The type of a scalar, as the RISC-V calling convention tells them apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scalar {
    /// C's `bool`: 0 or 1.
    Bool,
    /// 8 bits, signed.
    I8,
    /// 8 bits, unsigned.
    U8,
    /// 16 bits, signed.
    I16,
    /// 16 bits, unsigned.
    U16,
    /// 32 bits, signed.
    I32,
    /// 32 bits, unsigned.
    U32,
    /// 64 bits, signed.
    I64,
    /// 64 bits, unsigned.
    U64,
    /// IEEE 754 binary32.
    F32,
    /// IEEE 754 binary64.
    F64,
    /// A guest address, whatever it points to.
    Ptr,
}

impl Scalar {
    /// All of them.
    pub const ALL: [Scalar; 12] = [
        Scalar::Bool,
        Scalar::I8,
        Scalar::U8,
        Scalar::I16,
        Scalar::U16,
        Scalar::I32,
        Scalar::U32,
        Scalar::I64,
        Scalar::U64,
        Scalar::F32,
        Scalar::F64,
        Scalar::Ptr,
    ];

    /// The name in signatures.
    pub const fn name(self) -> &'static str {
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
            Scalar::Ptr => "ptr",
        }
    }

    /// Size and alignment in bytes.
    pub const fn size(self) -> u64 {
        match self {
            Scalar::Bool | Scalar::I8 | Scalar::U8 => 1,
            Scalar::I16 | Scalar::U16 => 2,
            Scalar::I32 | Scalar::U32 | Scalar::F32 => 4,
            Scalar::I64 | Scalar::U64 | Scalar::F64 | Scalar::Ptr => 8,
        }
    }

    /// Whether it is passed in float registers.
    pub const fn is_float(self) -> bool {
        matches!(self, Scalar::F32 | Scalar::F64)
    }
}

/// The type of a parameter or result.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Type {
    /// A scalar.
    Scalar(Scalar),
    /// A structure by value, its fields in order: `{i32, f32}`. Nested ones are written flat.
    Struct(Vec<Scalar>),
}

impl From<Scalar> for Type {
    fn from(scalar: Scalar) -> Type {
        Type::Scalar(scalar)
    }
}

/// The types of a function's result and parameters.
///
/// ```
/// use riverrun_program::{Scalar, Signature, Type};
///
/// let signature: Signature = "i32 (f32, ptr)".parse()?;
/// assert_eq!(signature.result, Some(Type::Scalar(Scalar::I32)));
/// assert_eq!(signature.parameters.len(), 2);
/// assert_eq!(signature.to_string(), "i32 (f32, ptr)");
/// assert_eq!(Signature::default().to_string(), "void ()");
/// assert!("int main()".parse::<Signature>().is_err());
/// # Ok::<(), riverrun_program::SignatureError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Signature {
    /// The result, if there is one.
    pub result: Option<Type>,
    /// The parameters.
    pub parameters: Vec<Type>,
}

/// What is wrong with the text of a signature.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is no signature: {problem}; one reads `i32 (f32, ptr)`")]
pub struct SignatureError {
    text: String,
    problem: String,
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Type::Scalar(scalar) => f.write_str(scalar.name()),
            Type::Struct(fields) => {
                let names: Vec<&str> = fields.iter().map(|field| field.name()).collect();
                write!(f, "{{{}}}", names.join(", "))
            }
        }
    }
}

impl fmt::Display for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.result {
            Some(result) => write!(f, "{result} (")?,
            None => f.write_str("void (")?,
        }
        for (index, parameter) in self.parameters.iter().enumerate() {
            write!(f, "{}{parameter}", if index > 0 { ", " } else { "" })?;
        }
        f.write_str(")")
    }
}

impl FromStr for Signature {
    type Err = SignatureError;

    fn from_str(text: &str) -> Result<Signature, SignatureError> {
        let mut parser = Parser { rest: text };
        parser.signature().map_err(|problem| SignatureError { text: text.chars().take(200).collect(), problem })
    }
}

struct Parser<'a> {
    rest: &'a str,
}

impl<'a> Parser<'a> {
    fn signature(&mut self) -> Result<Signature, String> {
        let result = self.type_or_void()?;
        self.expect('(')?;
        let mut parameters = Vec::new();
        if !self.take(')') {
            loop {
                if parameters.len() == PARAMETERS_MAX {
                    return Err(format!("more than {PARAMETERS_MAX} parameters"));
                }
                parameters.push(self.type_or_void()?.ok_or("a parameter cannot be void")?);
                if self.take(')') {
                    break;
                }
                self.expect(',')?;
            }
        }
        match self.rest.trim_start() {
            "" => Ok(Signature { result, parameters }),
            rest => Err(format!("`{}` behind its end", rest.chars().take(20).collect::<String>())),
        }
    }

    fn type_or_void(&mut self) -> Result<Option<Type>, String> {
        if !self.take('{') {
            return match self.word() {
                "void" => Ok(None),
                word => scalar(word).map(|scalar| Some(Type::Scalar(scalar))),
            };
        }
        let mut fields = Vec::new();
        loop {
            if fields.len() == FIELDS_MAX {
                return Err(format!("a structure of more than {FIELDS_MAX} fields"));
            }
            fields.push(scalar(self.word())?);
            if self.take('}') {
                return Ok(Some(Type::Struct(fields)));
            }
            self.expect(',')?;
        }
    }

    fn word(&mut self) -> &'a str {
        let text = self.rest.trim_start();
        let (word, rest) = text.split_at(text.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(text.len()));
        self.rest = rest;
        word
    }

    fn take(&mut self, expected: char) -> bool {
        let rest = self.rest.trim_start().strip_prefix(expected);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn expect(&mut self, expected: char) -> Result<(), String> {
        match self.take(expected) {
            true => Ok(()),
            false => {
                Err(format!("`{expected}` is missing before `{}`", self.rest.chars().take(20).collect::<String>()))
            }
        }
    }
}

fn scalar(word: &str) -> Result<Scalar, String> {
    let found = Scalar::ALL.into_iter().find(|scalar| scalar.name() == word);
    found.ok_or_else(|| match word {
        "" => "a type is missing".to_owned(),
        word => format!("`{}` is no type", word.chars().take(20).collect::<String>()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn canonical_texts_come_back() {
        for text in
            ["void ()", "i32 (f32, i32)", "i64 (ptr, u64)", "{f32, f32} ({i8, u16}, bool)", "f64 (u8, i16, u32)"]
        {
            assert_eq!(text.parse::<Signature>().unwrap().to_string(), text);
        }
        assert_eq!(" i32(  f32 ,i32) ".parse::<Signature>().unwrap().to_string(), "i32 (f32, i32)");
    }

    #[test]
    fn what_is_no_signature_is_said() {
        for (text, problem) in [
            ("", "a type is missing"),
            ("i32", "`(` is missing"),
            ("int ()", "`int` is no type"),
            ("i32 (", "a type is missing"),
            ("i32 (void)", "a parameter cannot be void"),
            ("i32 (i32", "`,` is missing"),
            ("i32 (i32,)", "a type is missing"),
            ("i32 () x", "`x` behind its end"),
            ("{} ()", "a type is missing"),
            ("{i32 ()", "`,` is missing"),
        ] {
            let error = text.parse::<Signature>().unwrap_err().to_string();
            assert!(error.contains(problem), "{text}: {error}");
        }
        let many = format!("void ({})", vec!["i32"; PARAMETERS_MAX + 1].join(", "));
        assert!(many.parse::<Signature>().is_err());
    }
}
