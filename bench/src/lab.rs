//! What all tables are made with: the programs, their compilers, the engines.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow};

use crate::engine::{Engine, Loadable, Ready, Setup};
use crate::engines;
use crate::options::Options;
use crate::process::Usage;
use crate::program::{Crates, Program};
use crate::progress::Progress;
use crate::toolchain::{Target, Toolchain};

pub(crate) struct Lab {
    pub(crate) setup: Setup,
    toolchains: BTreeMap<Target, Result<Toolchain>>,
    pub(crate) progress: Progress,
    /// How long building engines and programs has taken, so far.
    pub(crate) building: Duration,
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
        let folder = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| bench.join("../target"), PathBuf::from);
        fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
        let cargo_folder = folder.canonicalize()?;
        let target_folder = cargo_folder.join("bench");
        let crates = Crates::find(&bench.join("Cargo.toml"))?;
        let setup = Setup { bench, cargo_folder, target_folder, crates };
        Ok(Lab { setup, toolchains: BTreeMap::new(), progress: Progress::new(), building: Duration::ZERO })
    }

    pub(crate) fn programs_folder(&self) -> PathBuf {
        self.setup.bench.join("programs")
    }

    /// Builds those of `engines` that the options want, as [`engines::choose`] has it.
    ///
    /// # Errors
    /// If there is none of that name. One that cannot be built is no error yet.
    pub(crate) fn build(&mut self, mut engines: Vec<Box<dyn Engine>>, options: &Options) -> Result<Vec<Built>> {
        let begin = Instant::now();
        let mut built = Vec::new();
        let wanted = options.engines.as_deref();
        if options.quick && wanted.is_none() {
            engines.retain(|engine| !engine.is_left_out_of_quick());
        }
        for engine in engines::choose(engines, wanted)? {
            self.progress.show(&format!("building {}", engine.name()));
            let named = wanted.is_some_and(|wanted| wanted.iter().any(|name| name == engine.name()));
            let ready = match engine.only_if_named() {
                Some(reason) if !named => Err(anyhow!("{reason}")),
                _ => engine.prepare(&self.setup),
            };
            built.push(Built { engine, ready });
        }
        self.building += begin.elapsed();
        Ok(built)
    }

    /// Compiles a program for a target.
    ///
    /// # Errors
    /// If the compiler, or a library, is missing; if the program cannot be had there; and as the compiler says.
    fn compile(&mut self, program: &Program, target: Target) -> Result<PathBuf> {
        self.progress.show(&format!("compiling {} for {}", program.name, target.name()));
        let programs = self.programs_folder();
        let toolchain = self.toolchains.entry(target).or_insert_with(|| Toolchain::find(target, &programs));
        let toolchain = toolchain.as_ref().map_err(|error| anyhow!("{error:#}"))?;
        let folder = self.setup.target_folder.join("programs").join(target.name());
        fs::create_dir_all(&folder)?;
        toolchain.compile(program, &programs, &self.setup.crates, &folder)
    }

    /// Makes what an engine needs of a program.
    ///
    /// # Errors
    /// Says what could not be built.
    pub(crate) fn load(&mut self, program: &Program, built: &Built) -> Result<Loadable> {
        let begin = Instant::now();
        let loaded = self.translate(program, built);
        self.building += begin.elapsed();
        Ok(loaded?.0)
    }

    /// The same, with what it took, where that is what is measured.
    ///
    /// # Errors
    /// Says what could not be built.
    pub(crate) fn translate(&mut self, program: &Program, built: &Built) -> Result<(Loadable, Option<Usage>)> {
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
