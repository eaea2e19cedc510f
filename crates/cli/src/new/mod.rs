//! `riverrun new`: makes a project that builds and runs, from the templates beside this file.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use crate::Result;

/// Make a project in the folder NAME: a host in Rust, a guest in C++, Rust or Go, and what they call of each other.
/// `cargo run` in it builds and runs both.
#[derive(Debug, clap::Args)]
#[command(args_override_self = true)]
pub(crate) struct NewOptions {
    /// The folder, and the project's name.
    #[arg(value_name = "NAME")]
    folder: PathBuf,
    /// A guest with a libc: C++ as a whole, and Linux's system calls as far as the host grants them.
    #[arg(long)]
    libc: bool,
    /// A guest in Rust, which takes `rustup target add riscv64gc-unknown-none-elf`.
    #[arg(long, conflicts_with = "libc")]
    rust_guest: bool,
    /// With --rust-guest: a guest that uses std, which takes `rustup target add riscv64gc-unknown-linux-gnu` and
    /// riscv64-linux-gnu-gcc as its linker.
    #[arg(long = "std", requires = "rust_guest")]
    with_std: bool,
    /// A guest in Go, which takes Go 1.22 or newer. It calls functions of the host; the host cannot call any of it.
    #[arg(long, conflicts_with_all = ["libc", "rust_guest"])]
    go: bool,
    /// Depend on riverrun's sources in this folder; if this is not said, on those that this command was built from if
    /// they are still there, else on the published version.
    #[arg(long, value_name = "CHECKOUT")]
    riverrun: Option<PathBuf>,
}

/// Files by their names.
type Files = &'static [(&'static str, &'static str)];

/// A file of all projects.
const IGNORED: Files = &[(".gitignore", "/target\n")];

/// The files of projects with a description of the API.
const DESCRIBED: Files = &[
    ("Cargo.toml", concat!(include_str!("template/Cargo.toml.in"), include_str!("template/profile.toml.in"))),
    ("api.json", include_str!("template/api.json")),
    ("src/main.rs", include_str!("template/main.rs")),
    ("README.md", include_str!("template/README.md")),
];

/// The files of a project with a guest in C++.
const CXX: Files =
    &[("build.rs", include_str!("template/build.rs")), ("guest/main.cpp", include_str!("template/main.cpp"))];

/// The files of a project with a guest in Rust.
const RUST: Files = &[
    ("build.rs", include_str!("template/rust/build.rs")),
    ("guest/Cargo.toml", include_str!("template/rust/Cargo.toml.in")),
    ("guest/src/main.rs", include_str!("template/rust/main.rs")),
];

/// The files of a project with a guest in Rust that uses `std`.
const RUST_STD: Files = &[
    ("build.rs", include_str!("template/rust_std/build.rs")),
    ("guest/Cargo.toml", include_str!("template/rust_std/Cargo.toml.in")),
    ("guest/src/main.rs", include_str!("template/rust_std/main.rs")),
];

/// The files of a project with a guest in Go.
const GO: Files = &[
    ("Cargo.toml", concat!(include_str!("template/go/Cargo.toml.in"), include_str!("template/profile.toml.in"))),
    ("README.md", include_str!("template/go/README.md")),
    ("build.rs", include_str!("template/go/build.rs")),
    ("src/main.rs", include_str!("template/go/main.rs")),
    ("guest/go.mod", include_str!("template/go/go.mod.in")),
    ("guest/host.go", include_str!("template/go/host.go")),
    ("guest/host_riscv64.s", include_str!("template/go/host_riscv64.s")),
    ("guest/main.go", include_str!("template/go/main.go")),
];

/// Names that a project cannot have, with `-` or `_`: keywords of Rust, crates that come with Cargo or the
/// compiler, and riverrun's packages, on which the project depends.
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
    "proc-macro",
    "pub",
    "ref",
    "return",
    "riverrun",
    "riverrun-aot",
    "riverrun-bindgen",
    "riverrun-capi",
    "riverrun-cli",
    "riverrun-compile",
    "riverrun-guest",
    "riverrun-interp",
    "riverrun-isa",
    "riverrun-linux",
    "riverrun-program",
    "riverrun-testkit",
    "riverrun-vm",
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

/// `riverrun new`.
pub(crate) fn new(options: &NewOptions) -> Result<ExitCode> {
    let folder = &options.folder;
    let files = match (options.go, options.rust_guest, options.with_std) {
        (true, ..) => [IGNORED, GO, &[]],
        (false, true, true) => [IGNORED, DESCRIBED, RUST_STD],
        (false, true, false) => [IGNORED, DESCRIBED, RUST],
        (false, false, _) => [IGNORED, DESCRIBED, CXX],
    };
    let name = folder.file_name().and_then(|name| name.to_str()).filter(|name| is_package_name(name));
    let Some(name) = name else {
        return Err(format!(
            "{}: no name for a package; use letters, digits, - and _, and begin with a letter",
            folder.display()
        )
        .into());
    };
    if RESERVED.contains(&&*name.replace('_', "-")) {
        return Err(format!("{name}: Rust or Cargo uses this name itself; give another one").into());
    }
    // A symbolic link is there also if it leads nowhere.
    if folder.symlink_metadata().is_ok() {
        return Err(format!("{} is there already; give another name", folder.display()).into());
    }
    let checkout = match &options.riverrun {
        Some(path) if is_checkout(path) => Some(fs::canonicalize(path)?),
        Some(path) => return Err(format!("{}: no sources of riverrun are there", path.display()).into()),
        None => built_from(),
    };
    let checkout = checkout.as_deref().map(utf8).transpose()?;
    let (guest_crate, has_libc) = ("guest/rust", options.libc || options.with_std);
    let text_of = |text| {
        lines_for(text, has_libc)
            .replace("@NAME@", name)
            .replace("@RIVERRUN@", &dependency(checkout, "crates/riverrun", &[]))
            .replace("@LINUX@", &dependency(checkout, "crates/linux", &[]))
            .replace("@BINDGEN@", &dependency(checkout, "crates/bindgen", &[]))
            .replace("@GUEST@", &dependency(checkout, guest_crate, &[]))
            .replace("@GUEST_STD@", &dependency(checkout, guest_crate, &["std"]))
    };
    // The project gets its name when it is whole.
    let unfinished = folder.with_file_name(format!(".{name}.{}", std::process::id()));
    let written = files.into_iter().flatten().try_for_each(|(file, text)| {
        let path = unfinished.join(file);
        fs::create_dir_all(path.parent().unwrap_or(&unfinished))?;
        fs::write(&path, text_of(text))
    });
    if let Err(error) = written.and_then(|()| fs::rename(&unfinished, folder)) {
        let _ = fs::remove_dir_all(&unfinished);
        return Err(format!("{}: {error}", folder.display()).into());
    }
    crate::print(&format!("made {}; now: cd {} && cargo run\n", folder.display(), folder.display()))
}

/// A template's lines, without those that end in `@libc` if the guest has none, and without those in `@bare` if it has
/// one.
fn lines_for(template: &str, libc: bool) -> String {
    let (kept, dropped) = if libc { ("@libc", "@bare") } else { ("@bare", "@libc") };
    let lines = template.lines().filter(|line| !line.ends_with(dropped));
    lines
        .map(|line| line.strip_suffix(kept).map_or(line, |line| line.trim_end_matches([' ', '/', '#'])))
        .flat_map(|line| [line, "\n"])
        .collect()
}

/// A dependency in Cargo.toml, with these features.
fn dependency(checkout: Option<&str>, folder: &str, features: &[&str]) -> String {
    let place = match checkout {
        Some(checkout) => format!("path = {}", toml(&format!("{checkout}/{folder}"))),
        None => format!("version = {}", toml(env!("CARGO_PKG_VERSION"))),
    };
    let features: Vec<String> = features.iter().map(|feature| toml(feature)).collect();
    match features.join(", ") {
        features if features.is_empty() => format!("{{ {place} }}"),
        features => format!("{{ {place}, features = [{features}] }}"),
    }
}

/// A string in TOML.
fn toml(text: &str) -> String {
    let escaped = text.chars().map(|c| match c {
        '"' | '\\' => format!("\\{c}"),
        c if c.is_ascii_control() => format!("\\u{:04x}", u32::from(c)),
        c => c.to_string(),
    });
    format!("\"{}\"", escaped.collect::<String>())
}

/// A path as text, which is what Cargo.toml can hold.
fn utf8(path: &Path) -> Result<&str> {
    let refused =
        || format!("{}: Cargo.toml cannot hold this path, as it is not UTF-8; give another one", path.display());
    Ok(path.to_str().ok_or_else(refused)?)
}

/// The sources from which this command was built, if they still exist.
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
