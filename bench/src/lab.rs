//! What all tables are made with: the programs, their compilers, the engines, and a line of progress.

use std::collections::BTreeMap;
use std::fs;
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};

use anyhow::{Result, anyhow};

use crate::engine::{Engine, Loadable, Ready, Setup};
use crate::engines;
use crate::process::Usage;
use crate::program::{Crates, Program};
use crate::toolchain::{Target, Toolchain};

pub(crate) struct Lab {
    pub(crate) setup: Setup,
    toolchains: BTreeMap<Target, Result<Toolchain>>,
    pub(crate) progress: Progress,
}

/// An engine, and what became of building it.
pub(crate) struct Built {
    pub(crate) engine: Box<dyn Engine>,
    pub(crate) ready: Result<Ready>,
}

impl Lab {
    /// Looks for the crates that carry sources.
    pub(crate) fn open() -> Result<Lab> {
        let bench = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
        let target_folder =
            std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| bench.join("target"), PathBuf::from).join("compute");
        let crates = Crates::find(&bench.join("Cargo.toml"))?;
        let setup = Setup { bench, target_folder, crates };
        Ok(Lab { setup, toolchains: BTreeMap::new(), progress: Progress::new() })
    }

    pub(crate) fn programs_folder(&self) -> PathBuf {
        self.setup.bench.join("programs")
    }

    /// Builds those of `engines` that are `wanted`, as [`engines::choose`] has it.
    ///
    /// # Errors
    /// If there is none of that name. One that cannot be built is no error yet.
    pub(crate) fn build(&mut self, engines: Vec<Box<dyn Engine>>, wanted: Option<&[String]>) -> Result<Vec<Built>> {
        let mut built = Vec::new();
        for engine in engines::choose(engines, wanted)? {
            self.progress.show(&format!("building {}", engine.name()));
            let named = wanted.is_some_and(|wanted| wanted.iter().any(|name| name == engine.name()));
            let ready = match engine.only_if_named() {
                Some(reason) if !named => Err(anyhow!("{reason}")),
                _ => engine.prepare(&self.setup),
            };
            built.push(Built { engine, ready });
        }
        Ok(built)
    }

    /// Compiles a program for a target.
    ///
    /// # Errors
    /// If the compiler, or a library, is missing; if the program cannot be had there; and as the compiler says.
    pub(crate) fn compile(&mut self, program: &Program, target: Target) -> Result<PathBuf> {
        self.progress.show(&format!("compiling {} for {}", program.name, target.name()));
        let programs = self.programs_folder();
        let toolchain = self.toolchains.entry(target).or_insert_with(|| Toolchain::find(target, &programs));
        let toolchain = toolchain.as_ref().map_err(|error| anyhow!("{error:#}"))?;
        let folder = self.setup.target_folder.join("programs").join(target.name());
        fs::create_dir_all(&folder)?;
        toolchain.compile(program, &programs, &self.setup.crates, &folder)
    }

    /// Makes what an engine needs of a program, with what that took.
    ///
    /// # Errors
    /// Says what could not be built.
    pub(crate) fn load(&mut self, program: &Program, built: &Built) -> Result<(Loadable, Option<Usage>)> {
        let ready = built.ready.as_ref().map_err(|error| anyhow!("{error:#}"))?;
        let executable = self.compile(program, built.engine.target())?;
        let name = built.engine.name();
        self.progress.show(&format!("translating {} for {name}", program.name));
        ready.translate(&executable, &self.artifacts(name))
    }

    fn artifacts(&self, engine: &str) -> PathBuf {
        self.setup.target_folder.join("artifacts").join(Path::new(&engine.replace(' ', "")))
    }

    /// The compilers that were found.
    pub(crate) fn toolchains(&self) -> Vec<Toolchain> {
        self.toolchains.values().filter_map(|toolchain| toolchain.as_ref().ok().cloned()).collect()
    }
}

/// One line on a terminal, rewritten again and again; nothing in a pipe.
pub(crate) struct Progress {
    terminal: bool,
}

impl Progress {
    fn new() -> Progress {
        Progress { terminal: std::io::stderr().is_terminal() }
    }

    pub(crate) fn show(&mut self, text: &str) {
        if self.terminal {
            let _ = write!(std::io::stderr(), "\r\x1b[K{text}");
        }
    }

    pub(crate) fn clear(&mut self) {
        self.show("");
    }
}
