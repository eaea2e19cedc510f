//! Pieces of generated text.

use crate::description::Api;

/// `writeln!` to a string, which does not fail.
macro_rules! put {
    ($out:expr, $($arguments:tt)*) => {{
        use std::fmt::Write as _;
        let _ = writeln!($out, $($arguments)*);
    }};
}
pub(crate) use put;

/// The comment at the head of generated files.
pub(crate) fn head(api: &Api) -> String {
    let file = api.file.file_name().unwrap_or_default().to_string_lossy();
    format!("Made by `riverrun bindgen` from {}: change that instead.", comment(&file).replace('\n', " "))
}

/// The hash as registers hold it: 32 bits, sign-extended, which two instructions can make.
pub(crate) fn signed(hash: u32) -> i32 {
    hash as i32
}

/// A text that can stand in a comment of C.
pub(crate) fn comment(text: &str) -> String {
    text.replace("*/", "* /")
}

/// A text in a string of assembler: what could mean something to the compiler or assembler is in octal.
pub(crate) fn quoted(text: &str, backslash: &str) -> String {
    let plain =
        |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | ':' | ' ' | '(' | ')' | ',' | '.' | '-' | '+' | '/');
    text.chars().fold(String::new(), |quoted, c| match c {
        c if plain(c) => quoted + c.encode_utf8(&mut [0; 4]),
        c => format!("{quoted}{backslash}{:03o}", c as u32),
    })
}
