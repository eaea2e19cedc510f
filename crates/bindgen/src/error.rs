//! Errors in a description: position, cause, remedy.

use std::fmt;
use std::path::PathBuf;

/// A description from which bindings cannot be generated, or a file that cannot be written.
///
/// It prints as one or two lines, the first of which has the form that editors understand:
/// `api.json:4:20: GUI::label: ..`.
#[derive(Debug)]
pub struct Error {
    /// The description.
    pub file: PathBuf,
    /// Line and column in it, from 1, in characters; `None` if the error is not at a place.
    pub place: Option<(usize, usize)>,
    /// The call or key at fault.
    pub subject: Option<String>,
    /// What is wrong.
    pub problem: Box<Problem>,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:", self.file.display())?;
        if let Some((line, column)) = self.place {
            write!(f, "{line}:{column}:")?;
        }
        if let Some(subject) = &self.subject {
            write!(f, " {subject}:")?;
        }
        write!(f, " {}", self.problem)?;
        match self.problem.help() {
            Some(help) => write!(f, "\n  help: {help}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &*self.problem {
            Problem::Io(error) => Some(error),
            _ => None,
        }
    }
}

/// What is wrong.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// A file cannot be read or written.
    #[error("{0}")]
    Io(std::io::Error),
    /// The text is no JSON, or none of the expected form.
    #[error("{0}")]
    Json(String),
    /// Two calls, or two keys, of one name.
    #[error("the name is there twice, first on line {first_line}")]
    DuplicateName {
        /// Line of the other one.
        first_line: usize,
    },
    /// Two calls that declare one C function, or whose stubs have the same name.
    #[error("the C name `{symbol}` is that of `{other}` already")]
    DuplicateSymbol {
        /// The name in C.
        symbol: String,
        /// The other call.
        other: String,
    },
    /// Two types, fields, parameters or enum constants of one name, in the description or in what is generated.
    #[error("{}", taken(.kind, .name, .other, .form))]
    NameTaken {
        /// What the names are of: "field".
        kind: &'static str,
        /// The name.
        name: String,
        /// The name that was there before: the same, or one that is written the same.
        other: String,
        /// The name that both have in what is generated.
        form: String,
    },
    /// A name that generated code has for something else, or that C++ has as a keyword.
    #[error("the name `{name}` {why}")]
    NameReserved {
        /// The name.
        name: String,
        /// What it is taken for.
        why: String,
    },
    /// A name that programs cannot contain.
    #[error("{0}")]
    BadName(String),
    /// Not a declaration in C.
    #[error("`{declaration}` is no declaration in C: {what}")]
    Syntax {
        /// The text.
        declaration: String,
        /// What the parser expected.
        what: String,
    },
    /// A type that is not declared.
    #[error("unknown type `{name}` in `{declaration}`")]
    UnknownType {
        /// The text.
        declaration: String,
        /// The type.
        name: String,
        /// A known type of a similar name.
        similar: Option<String>,
    },
    /// A function that takes any number of arguments.
    #[error("`{declaration}` is variadic, and calls have fixed parameters")]
    Variadic {
        /// The text.
        declaration: String,
    },
    /// A construct of C that calls cannot have.
    #[error("unsupported: {what}")]
    Unsupported {
        /// What it is.
        what: String,
        /// What to write instead.
        instead: &'static str,
    },
    /// A struct that the calling convention passes by reference.
    #[error("`{name}` has {size} bytes; a struct by value can have {limit} at most")]
    StructTooLarge {
        /// The type.
        name: String,
        /// Its size in bytes.
        size: u64,
        /// The largest size in bytes.
        limit: u64,
    },
    /// Two names with the same CRC-32.
    #[error("the name has the same hash, {hash:#010x}, as `{other}`")]
    HashCollision {
        /// The hash.
        hash: u32,
        /// The other call.
        other: String,
    },
    /// A name whose CRC-32 would be taken for the number of a system call.
    #[error("the name's hash is {hash}, which is among the numbers of system calls (below {limit})")]
    HashReserved {
        /// The hash.
        hash: u32,
        /// The least that is not among them.
        limit: u32,
    },
    /// A list names a call that the description does not have.
    #[error("there is no call `{name}`")]
    UnknownCall {
        /// The name in the list.
        name: String,
        /// A call of a similar name.
        similar: Option<String>,
    },
    /// A call that is for clients only and for servers only.
    #[error("the call is in \"clientside\" and in \"serverside\"")]
    BothSides,
    /// A leaf with an argument of unknown length.
    #[error("the call is in \"leaf\", but how much memory `{parameter}` leads to is not declared")]
    UnboundedLeaf {
        /// The parameter.
        parameter: String,
    },
    /// More calls than the direct form has room for.
    #[error("the description has {count} calls; {limit} are possible", limit = crate::names::MAX_CALLS)]
    TooMany {
        /// How many there are.
        count: usize,
    },
}

/// The result of reading a part of a description.
pub(crate) type Result<T> = std::result::Result<T, Problem>;

pub(crate) fn unsupported(what: String, instead: &'static str) -> Problem {
    Problem::Unsupported { what, instead }
}

fn taken(kind: &str, name: &str, other: &str, form: &str) -> String {
    match name == other {
        true => format!("the {kind} `{name}` is there twice"),
        false => format!("the {kind}s `{other}` and `{name}` are both `{form}` in generated code"),
    }
}

impl Problem {
    /// The remedy, unless it is obvious.
    pub fn help(&self) -> Option<String> {
        let help = match self {
            Problem::Io(_) | Problem::Json(_) | Problem::DuplicateName { .. } | Problem::BadName(_) => return None,
            Problem::DuplicateSymbol { .. } => {
                "every call needs a C name of its own, also with `i` or `d` in front".to_owned()
            }
            Problem::NameTaken { .. } => "rename one of the two".to_owned(),
            Problem::NameReserved { .. } => "choose another name".to_owned(),
            Problem::Syntax { .. } => "write a prototype, such as \"int sys_find (const char *name)\"".to_owned(),
            Problem::UnknownType { similar: Some(similar), .. } => format!("did you mean `{similar}`?"),
            Problem::UnknownType { name, .. } => {
                let example = match name.split_once(' ') {
                    Some(("enum", _)) => format!("{name} {{ ONE }}"),
                    Some(_) => format!("{name} {{ int x; }}"),
                    None => format!("typedef struct {{ int x; }} {name}"),
                };
                format!("declare it under \"typedef\", before it is used: \"{example}\"")
            }
            Problem::Variadic { .. } => "pass a pointer and a length, or make a call for each form".to_owned(),
            Problem::Unsupported { instead, .. } => (*instead).to_owned(),
            Problem::StructTooLarge { name, .. } => format!("pass a pointer: `const {name} *` to be read, `{name} *`"),
            Problem::HashCollision { .. } => "rename one of the two; what they are called in C can stay".to_owned(),
            Problem::HashReserved { .. } => "rename the call; what it is called in C can stay".to_owned(),
            Problem::UnknownCall { similar: Some(similar), .. } => format!("did you mean `{similar}`?"),
            Problem::UnknownCall { .. } => "lists hold the names of calls, such as \"Debug::is_debug\"".to_owned(),
            Problem::BothSides => "a call that both have is in neither list".to_owned(),
            Problem::UnboundedLeaf { parameter } => {
                format!(
                    "say how many elements there are, as in `const float {parameter}[16]`, or take it out of \"leaf\""
                )
            }
            Problem::TooMany { .. } => "split the description".to_owned(),
        };
        Some(help)
    }
}
