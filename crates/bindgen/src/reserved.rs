//! Names that a description cannot have, as generated code or a language has them.

use crate::error::Problem;
use crate::names::{CPP_KEYWORDS, MACROS, STUB_KEYWORDS, direct, inline};

/// Fails if nothing can have this name: generated code has names that begin so.
pub(crate) fn check(name: &str) -> Result<(), Problem> {
    let is_ours = name.get(..8).is_some_and(|start| start.eq_ignore_ascii_case("riverrun"));
    let why = "begins with `riverrun`, as names of generated code do".to_owned();
    if is_ours { Err(Problem::NameReserved { name: name.to_owned(), why }) } else { Ok(()) }
}

/// Fails if no field of a header can have this name. It can be a keyword of C++: guests in C have it.
pub(crate) fn check_field(name: &str) -> Result<(), Problem> {
    check(name)?;
    let why = "is a macro of C".to_owned();
    if MACROS.contains(&name) { Err(Problem::NameReserved { name: name.to_owned(), why }) } else { Ok(()) }
}

/// Fails if no type, function or constant of a header can have this name.
pub(crate) fn check_global(name: &str) -> Result<(), Problem> {
    check_field(name)?;
    let why = match name {
        "typeof" | "typeof_unqual" => "is a keyword of C23",
        "std" => "is the standard library's in C++",
        "main" => "is that of each program's first function in C and C++",
        _ if CPP_KEYWORDS.binary_search(&name).is_ok() => "is a keyword of C++",
        _ => return Ok(()),
    };
    Err(Problem::NameReserved { name: name.to_owned(), why: why.to_owned() })
}

/// Fails if a call cannot have this name in C: it and those of its inline stubs are written as they are.
pub(crate) fn check_symbol(symbol: &str) -> Result<(), Problem> {
    check_global(symbol)?;
    for stub in [symbol.to_owned(), inline(symbol), direct(symbol)] {
        let is_keyword = STUB_KEYWORDS.contains(&&*stub) || CPP_KEYWORDS.binary_search(&&*stub).is_ok();
        // There is no writing them in Rust.
        if is_keyword || matches!(&*stub, "self" | "Self" | "super" | "crate" | "_") {
            let why = format!("makes `{stub}` the name of a function, which is a keyword");
            return Err(Problem::NameReserved { name: symbol.to_owned(), why });
        }
    }
    Ok(())
}
