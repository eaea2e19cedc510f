//! The benchmark programs: folders with C sources and a `program.toml`.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use cargo_metadata::MetadataCommand;
use serde::Deserialize;

use crate::toolchain::Target;

/// One program, as its `program.toml` has it.
///
/// Paths are relative to the program's folder, or to the sources of a crate that this workspace pins:
/// `@crate/path`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Program {
    /// The folder's name.
    #[serde(skip)]
    pub(crate) name: String,
    #[serde(skip)]
    pub(crate) folder: PathBuf,
    /// What it exercises.
    pub(crate) about: String,
    /// C files.
    pub(crate) sources: Vec<String>,
    /// A folder of C files.
    pub(crate) library: Option<Library>,
    /// Folders of headers.
    #[serde(default)]
    pub(crate) includes: Vec<String>,
    /// Macros, as `NAME` or `NAME=VALUE`.
    #[serde(default)]
    pub(crate) defines: Vec<String>,
    /// Libraries of the target's, such as `stdc++`.
    #[serde(default)]
    pub(crate) libraries: Vec<String>,
    /// Files to be had as arrays of bytes: `script.lua` as `script_lua` in `script.lua.h`.
    #[serde(default)]
    pub(crate) embed: Vec<String>,
    /// The work to measure.
    full: Work,
    /// A smaller one, to see that all works.
    quick: Work,
    /// Why it cannot be built where there are no floats, no whole C library, and little memory.
    #[serde(default)]
    not_bare: Option<String>,
    /// It measures starting up, and computes nothing.
    #[serde(default)]
    pub(crate) start_up: bool,
    /// What it needs on WebAssembly.
    #[serde(default)]
    wasm32: Extra,
    /// What it needs as a Linux executable for RISC-V.
    #[serde(default)]
    riscv64: Extra,
}

/// All `.c` files of a folder, except some.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Library {
    folder: String,
    #[serde(default)]
    except: Vec<String>,
}

/// An amount of work and its result.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Work {
    /// The program's only argument.
    pub(crate) size: String,
    /// The line that the program prints.
    pub(crate) expected: String,
}

/// What one target needs beside the rest.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Extra {
    #[serde(default)]
    flags: Vec<String>,
}

impl Program {
    /// Reads all programs in `folder`, or those that are `wanted`, in alphabetical order.
    pub(crate) fn load(folder: &Path, wanted: Option<&[String]>) -> Result<Vec<Program>> {
        let mut programs = Vec::new();
        for entry in fs::read_dir(folder).with_context(|| folder.display().to_string())? {
            let folder = entry?.path();
            let description = folder.join("program.toml");
            if !description.is_file() {
                continue;
            }
            let text = fs::read_to_string(&description)?;
            let mut program: Program = toml::from_str(&text).with_context(|| description.display().to_string())?;
            program.name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
            program.folder = folder;
            programs.push(program);
        }
        programs.sort_by(|a, b| a.name.cmp(&b.name));
        if let Some(wanted) = wanted {
            let names: Vec<String> = programs.iter().map(|program| program.name.clone()).collect();
            if let Some(unknown) = wanted.iter().find(|name| !names.contains(name)) {
                bail!("no program is called {unknown:?}; there are {}", names.join(", "));
            }
            programs.retain(|program| wanted.contains(&program.name));
        }
        Ok(programs)
    }

    pub(crate) fn work(&self, quick: bool) -> &Work {
        if quick { &self.quick } else { &self.full }
    }

    /// The compiler's flags for this program on `target`, beside those of every program.
    pub(crate) fn flags(&self, target: Target, crates: &Crates) -> Result<Vec<String>> {
        if let Some(reason) = self.not_bare.as_ref().filter(|_| target.is_bare()) {
            bail!("{reason}");
        }
        let mut flags = Vec::new();
        for include in &self.includes {
            flags.push(format!("-I{}", crates.resolve(&self.folder, include)?.display()));
        }
        if let Some(library) = &self.library {
            flags.push(format!("-I{}", crates.resolve(&self.folder, &library.folder)?.display()));
        }
        flags.extend(self.defines.iter().map(|define| format!("-D{define}")));
        flags.extend(self.extra_flags(target).iter().cloned());
        Ok(flags)
    }

    /// The flags that only some targets have.
    pub(crate) fn extra_flags(&self, target: Target) -> &[String] {
        match target {
            Target::Wasm32 | Target::Wasm32Wide => &self.wasm32.flags,
            Target::Riscv64 => &self.riscv64.flags,
            Target::CkbVm | Target::PolkaVm | Target::Native | Target::NativeTuned => &[],
        }
    }

    /// The C files to compile.
    pub(crate) fn c_files(&self, crates: &Crates) -> Result<Vec<PathBuf>> {
        let mut files = Vec::new();
        for source in &self.sources {
            files.push(crates.resolve(&self.folder, source)?);
        }
        if let Some(library) = &self.library {
            let folder = crates.resolve(&self.folder, &library.folder)?;
            let mut found = Vec::new();
            for entry in fs::read_dir(&folder).with_context(|| folder.display().to_string())? {
                let file = entry?.path();
                let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
                if name.ends_with(".c") && !library.except.contains(&name) {
                    found.push(file);
                }
            }
            found.sort();
            files.extend(found);
        }
        Ok(files)
    }
}

/// The packages that this workspace pins: where their sources lie, and their versions.
#[derive(Debug)]
pub(crate) struct Crates {
    packages: BTreeMap<String, (PathBuf, String)>,
}

impl Crates {
    /// Asks cargo, which fetches what is missing.
    pub(crate) fn find(manifest: &Path) -> Result<Crates> {
        let metadata = MetadataCommand::new().manifest_path(manifest).exec().context("cargo metadata")?;
        let packages = metadata.packages.into_iter().map(|package| {
            let folder = package.manifest_path.parent().map(|folder| folder.as_std_path().to_owned());
            (package.name.to_string(), (folder.unwrap_or_default(), package.version.to_string()))
        });
        Ok(Crates { packages: packages.collect() })
    }

    pub(crate) fn version(&self, name: &str) -> &str {
        self.packages.get(name).map_or("unknown version", |(_, version)| version)
    }

    fn resolve(&self, folder: &Path, path: &str) -> Result<PathBuf> {
        let Some((name, path)) = path.strip_prefix('@').and_then(|rest| rest.split_once('/')) else {
            return Ok(folder.join(path));
        };
        let (root, _) = self.packages.get(name).with_context(|| format!("bench/Cargo.toml does not name {name}"))?;
        Ok(root.join(path))
    }
}
