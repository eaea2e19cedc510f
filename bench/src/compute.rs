//! Measures all programs on all engines: round after round, so that a slow minute hits all alike.

use std::collections::BTreeMap;
use std::fs;
use std::io::{IsTerminal, Write};
use std::path::PathBuf;

use anyhow::Result;

use crate::engine::{Ready, Sample, Setup};
use crate::engines;
use crate::host::Host;
use crate::program::{Crates, Program};
use crate::report::{Cell, EngineReport, ProgramReport, Report};
use crate::toolchain::{Target, Toolchain};

/// What to measure.
pub(crate) struct Options {
    pub(crate) engines: Option<Vec<String>>,
    pub(crate) programs: Option<Vec<String>>,
    pub(crate) runs: usize,
    pub(crate) quick: bool,
}

/// Builds everything, measures, and reports.
pub(crate) fn run(options: &Options) -> Result<Report> {
    let bench = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let target_folder =
        std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| bench.join("target"), PathBuf::from).join("compute");
    let crates = Crates::find(&bench.join("Cargo.toml"))?;
    let setup = Setup { bench, target_folder, crates };
    let programs = Program::load(&setup.bench.join("programs"), options.programs.as_deref())?;
    let engines = engines::choose(options.engines.as_deref())?;
    let mut progress = Progress::new();

    let mut toolchains = Vec::new();
    for target in Target::ALL {
        if engines.iter().any(|engine| engine.target() == target) {
            progress.show(&format!("looking for the compiler for {target:?}"));
            toolchains.push((target, Toolchain::find(target)));
        }
    }
    let mut ready = Vec::new();
    for engine in &engines {
        progress.show(&format!("building {}", engine.name()));
        ready.push(engine.prepare(&setup));
    }

    let mut grid = Grid::default();
    for program in &programs {
        for (engine, ready) in engines.iter().zip(&ready) {
            let cell = match ready {
                Err(error) => Cell::NotBuilt { reason: format!("{error:#}") },
                Ok(ready) => {
                    progress.show(&format!("compiling {} for {}", program.name, engine.name()));
                    match executable(program, engine.target(), &toolchains, &setup) {
                        Err(error) => Cell::NotBuilt { reason: format!("{error:#}") },
                        Ok(executable) => {
                            grid.plan.push(Planned { program, engine: engine.name(), ready, executable });
                            Cell::Measured { samples: Vec::new() }
                        }
                    }
                }
            };
            grid.cells.insert((program.name.clone(), engine.name()), cell);
        }
    }

    let host = Host::describe();
    grid.measure(options, &mut progress);
    progress.clear();
    let mut cells = grid.cells;

    let engine_reports = engines.iter().zip(ready).map(|(engine, ready)| EngineReport {
        name: engine.name(),
        target: engine.target(),
        ready: ready.map_err(|error| format!("{error:#}")),
    });
    let program_reports = programs.iter().map(|program| ProgramReport {
        name: program.name.clone(),
        about: program.about.clone(),
        size: program.work(options.quick).size.clone(),
        flags: program.extra_flags(),
        cells: engines
            .iter()
            .filter_map(|engine| Some((engine.name(), cells.remove(&(program.name.clone(), engine.name()))?)))
            .collect(),
    });
    Ok(Report::new(
        host,
        options,
        toolchains.into_iter().filter_map(|(_, toolchain)| toolchain.ok()).collect(),
        engine_reports.collect(),
        program_reports.collect(),
    ))
}

fn executable(
    program: &Program,
    target: Target,
    toolchains: &[(Target, Result<Toolchain>)],
    setup: &Setup,
) -> Result<PathBuf> {
    let toolchain = toolchains.iter().find(|(of, _)| *of == target).map(|(_, toolchain)| toolchain);
    match toolchain {
        Some(Ok(toolchain)) => {
            let folder = setup.target_folder.join(format!("{target:?}").to_lowercase());
            fs::create_dir_all(&folder)?;
            toolchain.compile(program, &setup.bench.join("programs"), &setup.crates, &folder)
        }
        Some(Err(error)) => anyhow::bail!("{error:#}"),
        None => anyhow::bail!("no compiler for {target:?}"),
    }
}

/// A program on an engine, ready to run.
struct Planned<'a> {
    program: &'a Program,
    engine: &'static str,
    ready: &'a Ready,
    executable: PathBuf,
}

#[derive(Default)]
struct Grid<'a> {
    plan: Vec<Planned<'a>>,
    cells: BTreeMap<(String, &'static str), Cell>,
}

impl Grid<'_> {
    /// Every round runs each program on each engine once, in an order that is reversed from round to
    /// round. An engine that fails a program is not asked again.
    fn measure(&mut self, options: &Options, progress: &mut Progress) {
        for round in 0..options.runs {
            if round > 0 {
                self.plan.reverse();
            }
            for planned in &self.plan {
                let Planned { program, engine, ready, executable } = planned;
                let Some(cell) = self.cells.get_mut(&(program.name.clone(), *engine)) else { continue };
                let Cell::Measured { samples } = cell else { continue };
                progress.show(&format!("round {} of {}: {} on {engine}", round + 1, options.runs, program.name));
                let work = program.work(options.quick);
                match ready.run(executable, &work.size, &work.expected) {
                    Ok(sample) => samples.push(sample),
                    Err(error) => *cell = Cell::Failed { reason: format!("{error:#}") },
                }
            }
        }
    }
}

impl Cell {
    /// The samples, if it was measured.
    pub(crate) fn samples(&self) -> Option<&[Sample]> {
        match self {
            Cell::Measured { samples } => Some(samples),
            Cell::NotBuilt { .. } | Cell::Failed { .. } => None,
        }
    }
}

/// One line on a terminal, rewritten again and again; nothing in a pipe.
struct Progress {
    terminal: bool,
}

impl Progress {
    fn new() -> Progress {
        Progress { terminal: std::io::stderr().is_terminal() }
    }

    fn show(&mut self, text: &str) {
        if self.terminal {
            let _ = write!(std::io::stderr(), "\r\x1b[K{text}");
        }
    }

    fn clear(&mut self) {
        self.show("");
    }
}
