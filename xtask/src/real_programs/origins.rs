//! How the real programs come about: built by the compilers that there are, or fetched as packages. All lies in
//! `target/programs/`.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use super::list::{Case, Origin, SYSROOT};
use crate::guests::{self, Target};
use crate::{programs, setup, workspace, zig};

const SOURCES: &str = "examples/programs";
const RUST_TARGET: &str = "riscv64gc-unknown-linux-gnu";
/// The release of Debian whose packages are taken.
const DEBIAN: &str = "trixie";

/// Where everything is that this command makes.
pub(super) fn folder() -> PathBuf {
    workspace::root().join("target/programs")
}

/// The programs that could be had, and why others could not.
#[derive(Default)]
pub(super) struct Built {
    programs: BTreeMap<Origin, Result<PathBuf, String>>,
}

impl Built {
    /// Builds or fetches what the cases need.
    pub(super) fn of<'a>(cases: impl Iterator<Item = &'a Case>) -> Result<Built> {
        let mut built = Built::default();
        let mut go = Vec::new();
        let mut rust = Vec::new();
        let mut linked = Vec::new();
        let mut packages: BTreeMap<&str, Vec<(Origin, &str)>> = BTreeMap::new();
        for case in cases {
            let origin = case.origin;
            if built.programs.contains_key(&origin) {
                continue;
            }
            let result = match origin {
                Origin::C(name) => compile(&mut Command::new("riscv64-linux-gnu-gcc"), &format!("c/{name}.c"), "c"),
                Origin::Cxx(name) => {
                    let mut compiler = Command::new("riscv64-linux-gnu-g++");
                    compile(compiler.args(["-std=c++20", "-fopenmp"]), &format!("cpp/{name}.cpp"), "cpp")
                }
                Origin::Zig(name) => zig::compiler().and_then(|mut compiler| {
                    compile(compiler.args(["-target", "riscv64-linux-musl"]), &format!("c/{name}.c"), "musl")
                }),
                Origin::Crate(name) => {
                    let program = programs::find(name).with_context(|| format!("no program is named {name}"))?;
                    guests::build(&[program], &[Target::Guest]).map(|()| guests::path(name, Target::Guest))
                }
                Origin::Go(name) => {
                    go.push((origin, name));
                    continue;
                }
                Origin::Rust(name) => {
                    rust.push((origin, name));
                    continue;
                }
                Origin::Sysroot(path) => {
                    linked.push((origin, path));
                    continue;
                }
                Origin::Debian { package, path } => {
                    packages.entry(package).or_default().push((origin, path));
                    continue;
                }
            };
            built.programs.insert(origin, result.map_err(|error| format!("{error:#}")));
        }
        built.add(&go, go_folder);
        built.add(&rust, rust_folder);
        for (package, programs) in packages {
            built.add(&programs, || unpacked(package, &[package]));
        }
        built.add(&linked, debian);
        Ok(built)
    }

    /// Adds programs that come about together, in one folder.
    fn add(&mut self, programs: &[(Origin, &str)], make: impl FnOnce() -> Result<PathBuf>) {
        if programs.is_empty() {
            return;
        }
        let made = make().map_err(|error| format!("{error:#}"));
        for (origin, path) in programs {
            let program = made.clone().map(|folder| folder.join(path));
            self.programs.insert(*origin, program);
        }
    }

    /// The executable, or why there is none.
    pub(super) fn get(&self, origin: Origin) -> Result<&Path, &str> {
        match self.programs.get(&origin) {
            Some(Ok(path)) => Ok(path),
            Some(Err(reason)) => Err(reason),
            None => Err("it was not asked for"),
        }
    }
}

/// Compiles one source, unless that has been done since it was changed.
fn compile(compiler: &mut Command, source: &str, kind: &str) -> Result<PathBuf> {
    let source = workspace::root().join(SOURCES).join(source);
    let folder = folder().join(kind);
    fs::create_dir_all(&folder)?;
    let output = folder.join(source.file_stem().unwrap_or_default());
    let changed = |path: &Path| fs::metadata(path).and_then(|data| data.modified()).ok();
    if changed(&output) < changed(&source) {
        workspace::stdout_of(compiler.args(["-O2", "-static", "-o"]).arg(&output).arg(&source).arg("-lm"))?;
    }
    Ok(output)
}

fn go_folder() -> Result<PathBuf> {
    let folder = folder().join("go");
    fs::create_dir_all(&folder)?;
    let mut go = Command::new("go");
    go.current_dir(workspace::root().join(SOURCES).join("go"));
    go.envs([("GOOS", "linux"), ("GOARCH", "riscv64"), ("CGO_ENABLED", "0"), ("GOFLAGS", "-mod=readonly")]);
    workspace::stdout_of(go.args(["build", "-o"]).arg(&folder).args(["./...", "tool"]))?;
    Ok(folder)
}

fn rust_folder() -> Result<PathBuf> {
    let folder = folder().join("rust");
    let installed = workspace::stdout_of(Command::new("rustup").args(["target", "list", "--installed"]))?;
    if !String::from_utf8_lossy(&installed).lines().any(|line| line == RUST_TARGET) {
        workspace::stdout_of(Command::new("rustup").args(["target", "add", RUST_TARGET]))
            .with_context(|| format!("Rust's target {RUST_TARGET} cannot be had"))?;
    }
    let mut cargo = workspace::cargo();
    cargo.args(["build", "--release", "--quiet", "--target", RUST_TARGET, "--target-dir"]).arg(&folder);
    cargo.arg("--manifest-path").arg(workspace::root().join(SOURCES).join("rust/Cargo.toml"));
    cargo.env("RUSTFLAGS", "-C target-feature=+crt-static");
    cargo.env("CARGO_TARGET_RISCV64GC_UNKNOWN_LINUX_GNU_LINKER", "riscv64-linux-gnu-gcc");
    workspace::stdout_of(&mut cargo)?;
    Ok(folder.join(RUST_TARGET).join("release"))
}

/// Fetches dynamically linked programs and their libraries: the folder of [`sysroot`].
pub(crate) fn debian() -> Result<PathBuf> {
    let folder = unpacked("sysroot", SYSROOT)?;
    // As in an installed system, where no package has it.
    let link = folder.join("lib");
    if !link.exists() {
        std::os::unix::fs::symlink("usr/lib", link)?;
    }
    Ok(folder)
}

/// Where dynamically linked programs and their libraries are.
pub(super) fn sysroot() -> PathBuf {
    folder().join("debian/sysroot")
}

/// Fetches packages of Debian for riscv64, and unpacks them in a folder of this name; nothing is installed.
fn unpacked(name: &str, packages: &[&str]) -> Result<PathBuf> {
    let folder = folder().join("debian");
    let unpacked = folder.join(name);
    if unpacked.exists() {
        return Ok(unpacked);
    }
    let apt = folder.join("apt");
    let lists = apt.join("lists");
    for part in [lists.join("partial"), apt.join("cache/archives/partial"), folder.join("packages")] {
        fs::create_dir_all(part)?;
    }
    // apt with folders and sources of its own, beside those of the system.
    let sources = apt.join("sources.list");
    let mirror = mirror()?;
    fs::write(apt.join("status"), "")?;
    fs::write(
        &sources,
        format!("deb [arch=riscv64 signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] {mirror} {DEBIAN} main\n"),
    )?;
    let call = |args: &[&str]| {
        let mut command = Command::new("apt-get");
        command.current_dir(folder.join("packages")).args(["--quiet", "-o", "APT::Architecture=riscv64"]);
        command.args(["-o", "APT::Architectures=riscv64", "-o", "APT::Sandbox::User=root"]);
        for (name, path) in [
            ("Dir::State", &apt),
            ("Dir::State::status", &apt.join("status")),
            ("Dir::State::lists", &lists),
            ("Dir::Cache", &apt.join("cache")),
            ("Dir::Etc::SourceList", &sources),
        ] {
            command.arg("-o").arg(format!("{name}={}", path.display()));
        }
        workspace::stdout_of(command.args(["-o", "Dir::Etc::SourceParts=-"]).args(args))
    };
    if fs::read_dir(&lists)?.count() < 3 {
        call(&["update"])?;
    }
    call(&[&["download"], packages].concat())?;
    let unfinished = folder.join("unfinished");
    if unfinished.exists() {
        fs::remove_dir_all(&unfinished)?;
    }
    for package in packages {
        let found = fs::read_dir(folder.join("packages"))?.filter_map(|entry| Some(entry.ok()?.path()));
        let start = format!("{package}_");
        let file = found
            .filter(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(&start)))
            .max()
            .with_context(|| format!("apt-get has left no package {package}"))?;
        workspace::stdout_of(Command::new("dpkg-deb").arg("--extract").arg(&file).arg(&unfinished))?;
    }
    fs::rename(&unfinished, &unpacked)?;
    Ok(unpacked)
}

/// Where the system's apt gets Debian's packages.
fn mirror() -> Result<String> {
    let lists = workspace::stdout_of(Command::new("apt-get").args([
        "indextargets",
        "--format",
        "$(REPO_URI)",
        "Created-By: Packages",
        "Origin: Debian",
    ]))?;
    match String::from_utf8_lossy(&lists).lines().find(|line| !line.contains("security")) {
        Some(line) => Ok(line.to_owned()),
        None => bail!("apt knows no mirror of Debian"),
    }
}

/// Sets up what has packages.
pub(super) fn set_up(cases: &[&Case]) -> Result<()> {
    setup::ensure(&[setup::QEMU, setup::CROSS_COMPILER])?;
    match cases.iter().any(|case| matches!(case.origin, Origin::Zig(_))) {
        true => setup::ensure(&[setup::PIP]),
        false => Ok(()),
    }
}
