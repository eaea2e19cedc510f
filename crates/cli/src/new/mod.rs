//! `riverrun new`: makes a project that builds and runs.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use lexopt::Arg::{Long, Short, Value};
use lexopt::Parser;

use crate::Result;

const HELP: &str = "\
riverrun new [--rust-guest] [--riverrun CHECKOUT] NAME

Makes a project in the folder NAME: a host in Rust, a guest in C++, and the description of what they call of
each other. `cargo run` in it builds and runs both.

  --rust-guest         a guest in Rust, which takes `rustup target add riscv64gc-unknown-none-elf`
  --riverrun CHECKOUT  depend on riverrun's sources in this folder; if this is not said, on those that this
                       command was built from if they are still there, else on the published version
";

/// Files by their names.
type Files = &'static [(&'static str, &'static str)];

/// The files of all projects.
const FILES: Files = &[
    ("Cargo.toml", include_str!("template/Cargo.toml.in")),
    ("api.json", include_str!("template/api.json")),
    ("src/main.rs", include_str!("template/main.rs")),
    (".gitignore", "/target\n"),
];

/// Those of a project with a guest in C++.
const CXX: Files =
    &[("build.rs", include_str!("template/build.rs")), ("guest/main.cpp", include_str!("template/main.cpp"))];

/// Those of a project with a guest in Rust.
const RUST: Files = &[
    ("build.rs", include_str!("template/rust/build.rs")),
    ("guest/Cargo.toml", include_str!("template/rust/Cargo.toml.in")),
    ("guest/src/main.rs", include_str!("template/rust/main.rs")),
];

/// Names that Cargo refuses, or that cannot be a crate beside those of every project: words of Rust, what Cargo or the
/// compiler bring, and what the project depends on.
const RESERVED: &[&str] = &[
    "abstract",
    "alloc",
    "as",
    "async",
    "await",
    "become",
    "box",
    "break",
    "build",
    "const",
    "continue",
    "core",
    "crate",
    "deps",
    "do",
    "dyn",
    "else",
    "enum",
    "examples",
    "extern",
    "false",
    "final",
    "fn",
    "for",
    "gen",
    "if",
    "impl",
    "in",
    "incremental",
    "let",
    "loop",
    "macro",
    "match",
    "mod",
    "move",
    "mut",
    "override",
    "priv",
    "proc_macro",
    "proc-macro",
    "pub",
    "ref",
    "return",
    "riverrun",
    "self",
    "Self",
    "static",
    "std",
    "struct",
    "super",
    "test",
    "trait",
    "true",
    "try",
    "type",
    "typeof",
    "unsafe",
    "unsized",
    "use",
    "virtual",
    "where",
    "while",
    "yield",
];

/// `riverrun new ARGUMENTS`.
pub(crate) fn new(arguments: &[OsString]) -> Result<ExitCode> {
    let mut parser = Parser::from_args(arguments);
    let (mut folder, mut checkout, mut guest) = (None, None, CXX);
    while let Some(argument) = parser.next()? {
        match argument {
            Long("rust-guest") => guest = RUST,
            Long("riverrun") => checkout = Some(PathBuf::from(parser.value()?)),
            Long("help") | Short('h') => return crate::print(HELP),
            Value(value) if folder.is_none() => folder = Some(PathBuf::from(value)),
            Value(value) => return Err(format!("{}: new makes one project", value.display()).into()),
            other => return Err(format!("{}; riverrun new --help lists the options", other.unexpected()).into()),
        }
    }
    let folder = folder.ok_or("no name given; say riverrun new NAME")?;
    let name = folder.file_name().and_then(|name| name.to_str()).filter(|name| is_package_name(name));
    let Some(name) = name else {
        return Err(format!(
            "{}: no name for a package; use letters, digits, - and _, and begin with a letter",
            folder.display()
        )
        .into());
    };
    if RESERVED.contains(&name) {
        return Err(format!("{name}: Rust or Cargo uses this name itself; give another one").into());
    }
    if folder.exists() {
        return Err(format!("{} is there already; give another name", folder.display()).into());
    }
    let checkout = match checkout {
        Some(path) if is_checkout(&path) => Some(fs::canonicalize(path)?),
        Some(path) => return Err(format!("{}: no sources of riverrun are there", path.display()).into()),
        None => built_from(),
    };
    for (file, text) in FILES.iter().chain(guest) {
        let text = text
            .replace("@NAME@", name)
            .replace("@RIVERRUN@", &dependency(checkout.as_deref(), "crates/riverrun"))
            .replace("@BINDGEN@", &dependency(checkout.as_deref(), "crates/bindgen"))
            .replace("@GUEST@", &dependency(checkout.as_deref(), "guest/rust"));
        let path = folder.join(file);
        let write = || {
            fs::create_dir_all(path.parent().unwrap_or(&folder))?;
            fs::write(&path, text)
        };
        write().map_err(|error| format!("{}: {error}", path.display()))?;
    }
    crate::print(&format!("made {}; now: cd {} && cargo run\n", folder.display(), folder.display()))
}

/// How Cargo is told of a crate.
fn dependency(checkout: Option<&Path>, folder: &str) -> String {
    match checkout {
        // A string of TOML is quoted as one of Rust is.
        Some(checkout) => format!("{{ path = {:?} }}", checkout.join(folder)),
        None => format!("{:?}", env!("CARGO_PKG_VERSION")),
    }
}

/// The sources that this command was built from, where they still are.
fn built_from() -> Option<PathBuf> {
    let checkout = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2)?;
    is_checkout(checkout).then(|| checkout.to_owned())
}

fn is_checkout(path: &Path) -> bool {
    ["riverrun", "bindgen"].iter().all(|name| path.join("crates").join(name).join("Cargo.toml").is_file())
}

fn is_package_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'))
}
