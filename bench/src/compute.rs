//! Measures all programs on all engines: round after round, so that a slow minute hits all alike.

use std::collections::BTreeMap;

use anyhow::Result;
use serde::Serialize;

use crate::engine::{Loadable, Sample};
use crate::engines;
use crate::host::Host;
use crate::lab::{Built, Lab};
use crate::options::Options;
use crate::program::Program;
use crate::report::{EngineReport, ProgramReport, Report};

/// For engines that [have few](crate::engine::Engine::has_few_rounds).
pub(crate) const FEW_ROUNDS: usize = 3;

/// The programs that show that all works, if the command line names none: small ones, with floats and without.
const QUICK: [&str; 2] = ["fib", "nbody"];

/// What an engine made of a program.
#[derive(Debug, Serialize)]
#[serde(rename_all = "snake_case", tag = "outcome")]
pub(crate) enum Cell {
    /// All runs printed the expected checksum. In the order of the rounds.
    Measured { samples: Vec<Sample> },
    /// A run failed or printed something else.
    Failed { reason: String },
    /// The engine, or the program for it, could not be built.
    NotBuilt { reason: String },
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

/// Builds everything, measures, and reports.
pub(crate) fn run(lab: &mut Lab, options: &Options) -> Result<Report> {
    let mut programs = Program::load(&lab.programs_folder(), options.programs(&QUICK).as_deref())?;
    programs.retain(|program| !program.start_up);
    let built = lab.build(engines::all(), options)?;

    let mut cells = BTreeMap::new();
    let mut plan = Vec::new();
    for program in &programs {
        for built in &built {
            let cell = match lab.load(program, built) {
                Err(error) => Cell::NotBuilt { reason: format!("{error:#}") },
                Ok(loadable) => {
                    plan.push(Planned { program, built, loadable });
                    Cell::Measured { samples: Vec::new() }
                }
            };
            cells.insert((program.name.clone(), built.engine.name()), cell);
        }
    }

    let host = Host::describe();
    measure(lab, options, &mut plan, &mut cells);
    lab.progress.clear();

    let program_reports = programs
        .iter()
        .map(|program| ProgramReport {
            name: program.name.clone(),
            about: program.about.clone(),
            size: program.work(options.quick).size.clone(),
            cells: built
                .iter()
                .map(|built| built.engine.name())
                .filter_map(|engine| Some((engine, cells.remove(&(program.name.clone(), engine))?)))
                .collect(),
        })
        .collect();
    let engine_reports = built.into_iter().map(EngineReport::of).collect();
    Ok(Report::new(host, options, lab.toolchains(), engine_reports, program_reports))
}

/// A program on an engine, ready to run.
struct Planned<'a> {
    program: &'a Program,
    built: &'a Built,
    loadable: Loadable,
}

/// Every round runs each program on each engine, in an order that is reversed from round to round. An
/// engine that fails a program is not asked again.
fn measure(
    lab: &mut Lab,
    options: &Options,
    plan: &mut [Planned<'_>],
    cells: &mut BTreeMap<(String, &'static str), Cell>,
) {
    for round in 0..options.runs {
        if round > 0 {
            plan.reverse();
        }
        for Planned { program, built, loadable } in &*plan {
            let name = built.engine.name();
            if built.engine.has_few_rounds() && round >= FEW_ROUNDS {
                continue;
            }
            let Some(cell) = cells.get_mut(&(program.name.clone(), name)) else { continue };
            let (Cell::Measured { samples }, Ok(ready)) = (&mut *cell, &built.ready) else { continue };
            lab.progress.show(&format!("round {} of {}: {} on {name}", round + 1, options.runs, program.name));
            match ready.run(loadable, program.work(options.quick)) {
                Ok(sample) => samples.push(sample),
                Err(error) => *cell = Cell::Failed { reason: format!("{error:#}") },
            }
        }
    }
}
