//! Builds guests from build scripts.

use std::collections::BTreeSet;
use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use crate::cargo::{self, Platform};
use crate::description::Api;
use crate::toolchain::{BuildError, Language, Library, Toolchain, run};

/// A guest that a build script compiles for the program that will run it.
///
/// ```no_run
/// // build.rs
/// use riverrun_bindgen::{Guest, Library};
///
/// // Makes `game_host.rs` and the guest `game` in OUT_DIR, and tells Cargo what they depend on.
/// Guest::new("game").library(Library::None).api("game.json").source("guest/game.cpp").build_or_exit();
/// ```
#[derive(Clone, Debug)]
pub struct Guest {
    name: String,
    library: Library,
    apis: Vec<PathBuf>,
    sources: Vec<PathBuf>,
    package: Option<(PathBuf, Platform)>,
    flags: Vec<OsString>,
}

impl Guest {
    /// A guest with this name for its file.
    pub fn new(name: impl Into<String>) -> Guest {
        Guest {
            name: name.into(),
            library: Library::Libc,
            apis: Vec::new(),
            sources: Vec::new(),
            package: None,
            flags: Vec::new(),
        }
    }

    /// The library that it may use; a libc by default.
    pub fn library(mut self, library: Library) -> Guest {
        self.library = library;
        self
    }

    /// A description of an API: guests include its header, hosts its module.
    pub fn api(mut self, file: impl Into<PathBuf>) -> Guest {
        self.apis.push(file.into());
        self
    }

    /// A source file in C, C++ (`.cpp`, `.cc`, `.cxx`) or assembler (`.S`).
    pub fn source(mut self, file: impl Into<PathBuf>) -> Guest {
        self.sources.push(file.into());
        self
    }

    /// A Cargo package with a guest in Rust instead of sources; its executable has the guest's name. It uses the crate
    /// `riverrun-guest`, and includes the bindings of an API called `game.json` by
    ///
    /// ```ignore
    /// mod game {
    ///     include!(concat!(env!("RIVERRUN_BINDINGS"), "/game_guest.rs"));
    /// }
    /// ```
    ///
    /// ```no_run
    /// // build.rs
    /// riverrun_bindgen::Guest::new("script").api("game.json").package("script").build_or_exit();
    /// ```
    pub fn package(mut self, folder: impl Into<PathBuf>) -> Guest {
        self.package = Some((folder.into(), Platform::Bare));
        self
    }

    /// As [`Guest::package`], for a guest that uses `std`: a static program for Linux, linked by
    /// `riscv64-linux-gnu-gcc` or what `CARGO_TARGET_RISCV64GC_UNKNOWN_LINUX_GNU_LINKER` names. The crate
    /// `riverrun-guest` has the feature `std` then. The host has to provide Linux's system calls.
    ///
    /// ```no_run
    /// // build.rs
    /// riverrun_bindgen::Guest::new("script").api("game.json").std_package("script").build_or_exit();
    /// ```
    pub fn std_package(mut self, folder: impl Into<PathBuf>) -> Guest {
        self.package = Some((folder.into(), Platform::Linux));
        self
    }

    /// A flag for the compiler, such as `-DDEBUG`.
    pub fn flag(mut self, flag: impl Into<OsString>) -> Guest {
        self.flags.push(flag.into());
        self
    }

    /// Builds the guest into Cargo's `OUT_DIR` and tells Cargo its sources. Returns the guest's path.
    ///
    /// # Errors
    /// [`BuildError`]: what is wrong with a description, that there is no compiler, or that it failed.
    ///
    /// # Panics
    /// Outside of a build script, which is where `OUT_DIR` is set.
    pub fn build(&self) -> Result<PathBuf, BuildError> {
        let folder = env::var_os("OUT_DIR").expect("build scripts have OUT_DIR");
        println!("cargo::rerun-if-env-changed=RIVERRUN_CC");
        for api in &self.apis {
            println!("cargo::rerun-if-changed={}", api.display());
        }
        let (guest, dependencies) = self.build_in(folder)?;
        for file in dependencies {
            println!("cargo::rerun-if-changed={}", file.display());
        }
        Ok(guest)
    }

    /// Builds the guest as [`Guest::build`] does, or prints the error and ends the build script.
    pub fn build_or_exit(&self) -> PathBuf {
        self.build().unwrap_or_else(|error| {
            eprintln!("{error}");
            std::process::exit(1)
        })
    }

    /// Builds the guest into a folder. Returns the paths of the guest and of its sources.
    ///
    /// # Errors
    /// As [`Guest::build`].
    pub fn build_in(&self, folder: impl AsRef<Path>) -> Result<(PathBuf, Vec<PathBuf>), BuildError> {
        let folder = folder.as_ref();
        let io = |path: &Path| {
            let path = path.to_owned();
            move |source| BuildError::Io { path, source }
        };
        fs::create_dir_all(folder).map_err(io(folder))?;
        let mut sources = self.sources.clone();
        for api in &self.apis {
            let api = Api::read(api)?;
            api.write_host_rust(folder)?;
            if self.package.is_some() {
                api.write_guest_rust(folder)?;
            } else {
                let [_, assembly] = api.write_guest_c(folder)?;
                sources.push(assembly);
            }
        }
        if let Some((package, platform)) = &self.package {
            if let Some(source) = sources.first() {
                return Err(BuildError::Mixed { package: package.clone(), file: source.clone() });
            }
            let built = cargo::build(package, *platform, &self.name, &self.flags, folder)?;
            let rule = built.with_extension("d");
            let dependencies = prerequisites(&fs::read_to_string(&rule).map_err(io(&rule))?);
            let guest = folder.join(&self.name);
            fs::copy(&built, &guest).map_err(io(&built))?;
            let manifest = [package.join("Cargo.toml"), package.join("Cargo.lock")];
            return Ok((guest, outside(folder, dependencies.into_iter().chain(manifest))));
        }
        let toolchain = Toolchain::find(self.library)?;
        let mut objects = Vec::new();
        let mut dependencies = Vec::new();
        for (number, source) in sources.iter().enumerate() {
            let object = folder.join(format!("{}-{number}.o", self.name));
            let rule = object.with_extension("d");
            let mut arguments: Vec<OsString> = vec!["-I".into(), folder.into(), "-Wall".into(), "-Wextra".into()];
            arguments.extend(self.flags.iter().cloned());
            arguments.extend(["-c".into(), source.into(), "-o".into(), object.clone().into()]);
            arguments.extend(["-MMD".into(), "-MF".into(), rule.clone().into()]);
            run(&mut toolchain.command(language(source), self.library, &arguments, folder)?)?;
            objects.push(object);
            let rule = fs::read_to_string(&rule).map_err(io(&rule))?;
            dependencies.extend(prerequisites(&rule));
        }
        let guest = folder.join(&self.name);
        let mut arguments: Vec<OsString> = self.flags.clone();
        arguments.extend(objects.into_iter().map(OsString::from));
        arguments.extend(["-o".into(), guest.clone().into()]);
        let linker = if self.sources.iter().any(|source| language(source) == Language::Cxx) {
            Language::Cxx
        } else {
            Language::C
        };
        run(&mut toolchain.command(linker, self.library, &arguments, folder)?)?;
        Ok((guest, outside(folder, dependencies)))
    }
}

/// Sources other than generated files in the output folder.
fn outside(folder: &Path, files: impl IntoIterator<Item = PathBuf>) -> Vec<PathBuf> {
    let files: BTreeSet<PathBuf> = files.into_iter().filter(|file| !file.starts_with(folder)).collect();
    files.into_iter().collect()
}

fn language(source: &Path) -> Language {
    match source.extension().and_then(|extension| extension.to_str()) {
        Some("cpp" | "cc" | "cxx" | "C") => Language::Cxx,
        _ => Language::C,
    }
}

/// The files in a rule of make, `object: source header \`, in whose names spaces are escaped.
fn prerequisites(rule: &str) -> Vec<PathBuf> {
    let joined = rule.replace("\\\n", " ").replace("\\ ", "\0");
    let Some((_, files)) = joined.split_once(": ") else { return Vec::new() };
    files.split_whitespace().map(|file| PathBuf::from(file.replace('\0', " "))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_of_make_are_read() {
        let rule = "a.o: src/a.cpp \\\n  my\\ game/b.h /usr/c.h\n";
        assert_eq!(prerequisites(rule), ["src/a.cpp", "my game/b.h", "/usr/c.h"].map(PathBuf::from));
    }
}
