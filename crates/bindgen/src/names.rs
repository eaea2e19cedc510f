//! Names of calls: hashes, rules for valid names, names of stubs.

/// Hashes below this are refused: they could be numbers of system calls.
pub(crate) const FIRST_HASH: u32 = 100_000;

/// The number of the system call by which opaque stubs reach the host; the call's hash is in t0.
pub const DYNAMIC_CALL: u32 = 504;

/// Imports that a program can number.
pub(crate) const MAX_CALLS: usize = (1 << 16) - FIRST_IMPORT as usize;

/// The number of the first import: lower ones are reserved for functions that come with riverrun.
pub(crate) const FIRST_IMPORT: u32 = 32;

/// The number by which a name is called at run time: its CRC-32 (ISO-HDLC, as in zlib).
///
/// ```
/// assert_eq!(riverrun_bindgen::hash("empty"), 0x68c73dc4);
/// ```
pub fn hash(name: &str) -> u32 {
    crc32fast::hash(name.as_bytes())
}

/// Why `name` cannot be the name of a call, if so: it must fit strings of C, Rust and assembler.
pub(crate) fn objection(name: &str) -> Option<String> {
    if name.is_empty() {
        return Some("a call needs a name".to_owned());
    }
    let odd = name.chars().find(|&c| !(c.is_ascii_graphic() || c == ' ') || matches!(c, '"' | '\\'))?;
    Some(format!("the name has the character {odd:?}; names are of printable ASCII without quotes and backslashes"))
}

/// The stub that inlines to an `ecall`.
pub(crate) fn inline(symbol: &str) -> String {
    format!("i{symbol}")
}

/// The stub that inlines to the direct instruction.
pub(crate) fn direct(symbol: &str) -> String {
    format!("d{symbol}")
}

/// The most similar of `known`, if it is similar enough to be what was meant.
pub(crate) fn similar<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<String> {
    let nearest = known.map(|other| (distance(name, other), other)).min()?;
    (nearest.0 <= name.len().min(9) / 3).then(|| nearest.1.to_owned())
}

/// Levenshtein's distance, letters of either case being the same.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<u8> = b.to_ascii_lowercase().into_bytes();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.to_ascii_lowercase().bytes().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, &to) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(from != to);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

/// A name of a parameter or field that is free in C and C++.
pub(crate) fn for_c(name: &str) -> String {
    if CPP_KEYWORDS.binary_search(&name).is_ok() || MACROS.contains(&name) {
        format!("{name}_")
    } else {
        name.to_owned()
    }
}

/// A name of a function, parameter or field that is free in Rust.
pub(crate) fn for_rust(name: &str) -> String {
    match name {
        // These cannot be raw.
        "self" | "Self" | "super" | "crate" | "_" => format!("{name}_"),
        _ if RUST_KEYWORDS.binary_search(&name).is_ok() => format!("r#{name}"),
        _ => name.to_owned(),
    }
}

/// The name of a struct, of which C has `struct node` or `node`, where the code of C++ hosts has names of its own.
pub(crate) fn cpp_type(name: &str) -> String {
    let name = bare(name);
    let is_argument = name.strip_prefix('a').is_some_and(|number| number.parse::<u8>().is_ok());
    if is_argument || CPP_GENERATED.contains(&name) { format!("{name}_") } else { name.to_owned() }
}

/// The name of a struct where the code of guests and hosts in Rust has names of its own.
pub(crate) fn rust_type(name: &str) -> String {
    let name = bare(name);
    if RUST_GENERATED.contains(&name) { format!("{name}_") } else { for_rust(name) }
}

/// The name of a parameter in Rust, where the variants that every module has are patterns.
pub(crate) fn rust_parameter(name: &str) -> String {
    if matches!(name, "None" | "Some" | "Ok" | "Err") { format!("{name}_") } else { for_rust(name) }
}

/// The name of a parameter beside those that functions of hosts in Rust have anyway.
pub(crate) fn rust_argument(name: &str) -> String {
    if matches!(name, "caller" | "memory") { format!("{name}_") } else { rust_parameter(name) }
}

/// `struct node` is `node`.
pub(crate) fn bare(name: &str) -> &str {
    name.rsplit(' ').next().unwrap_or(name)
}

/// The name of a call without `sys_`, for hosts and for Rust.
pub(crate) fn plain(symbol: &str) -> &str {
    symbol.strip_prefix("sys_").filter(|rest| rest.starts_with(|c: char| !c.is_ascii_digit())).unwrap_or(symbol)
}

/// Keywords of C that a call's name becomes with `i` or `d` in front.
pub(crate) const STUB_KEYWORDS: [&str; 6] = ["default", "do", "double", "if", "inline", "int"];

/// What the code of C++ hosts names where it uses the types of a description; also `a0`, `a1`, ..
const CPP_GENERATED: [&str; 8] = ["Class", "Linker", "api", "caller", "link", "link_client", "link_server", "linker"];

/// Types that Rust code uses beside those of a description.
const RUST_GENERATED: [&str; 20] = [
    "Api",
    "ClientApi",
    "Option",
    "Result",
    "ServerApi",
    "Sized",
    "T",
    "bool",
    "core",
    "f32",
    "f64",
    "i16",
    "i32",
    "i64",
    "i8",
    "u16",
    "u32",
    "u64",
    "u8",
    "usize",
];

/// Keywords of C that can stand before a name or a star.
pub(crate) const C_KEYWORDS: &[&str] = &[
    "_Bool", "char", "const", "double", "enum", "extern", "float", "inline", "int", "long", "register", "restrict",
    "short", "signed", "static", "struct", "typedef", "union", "unsigned", "void", "volatile",
];

/// Macros that guests' compilers define by themselves, or that the headers that guests have to include do.
pub(crate) const MACROS: [&str; 3] = ["NULL", "linux", "unix"];

/// Keywords of C++20 and C23 that are not keywords of C11 (those a declaration cannot have as names), sorted.
pub(crate) const CPP_KEYWORDS: &[&str] = &[
    "alignas",
    "alignof",
    "and",
    "and_eq",
    "asm",
    "bitand",
    "bitor",
    "bool",
    "catch",
    "char16_t",
    "char32_t",
    "char8_t",
    "class",
    "co_await",
    "co_return",
    "co_yield",
    "compl",
    "concept",
    "const_cast",
    "consteval",
    "constexpr",
    "constinit",
    "decltype",
    "delete",
    "dynamic_cast",
    "explicit",
    "export",
    "false",
    "friend",
    "mutable",
    "namespace",
    "new",
    "noexcept",
    "not",
    "not_eq",
    "nullptr",
    "operator",
    "or",
    "or_eq",
    "private",
    "protected",
    "public",
    "reinterpret_cast",
    "requires",
    "static_assert",
    "static_cast",
    "template",
    "this",
    "thread_local",
    "throw",
    "true",
    "try",
    "typeid",
    "typename",
    "typeof",
    "typeof_unqual",
    "using",
    "virtual",
    "wchar_t",
    "xor",
    "xor_eq",
];

/// Keywords of Rust, sorted.
const RUST_KEYWORDS: &[&str] = &[
    "abstract", "as", "async", "await", "become", "box", "break", "const", "continue", "do", "dyn", "else", "enum",
    "extern", "false", "final", "fn", "for", "gen", "if", "impl", "in", "let", "loop", "macro", "match", "mod", "move",
    "mut", "override", "priv", "pub", "ref", "return", "static", "struct", "trait", "true", "try", "type", "typeof",
    "unsafe", "unsized", "use", "virtual", "where", "while", "yield",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keywords_are_sorted() {
        assert!(CPP_KEYWORDS.is_sorted() && RUST_KEYWORDS.is_sorted());
        assert_eq!((for_c("class"), for_rust("type")), ("class_".to_owned(), "r#type".to_owned()));
    }

    #[test]
    fn near_names_are_suggested() {
        let known = ["uint32_t", "size_t", "timer_callback"];
        assert_eq!(similar("uint32", known.into_iter()).as_deref(), Some("uint32_t"));
        assert_eq!(similar("Timer_Calback", known.into_iter()).as_deref(), Some("timer_callback"));
        assert_eq!(similar("Vec3", known.into_iter()), None);
    }
}
