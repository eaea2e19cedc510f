//! What it costs a program to leave functions otherwise than by returning: each program beside the same one
//! without.

use std::fmt::Write as _;

use anyhow::{Result, anyhow};
use serde::Serialize;

use crate::engines::{self, REFERENCE};
use crate::host::Host;
use crate::lab::Lab;
use crate::options::Options;
use crate::page;
use crate::program::Program;
use crate::publish::Published;
use crate::report::EngineReport;
use crate::statistics::Estimate;
use crate::toolchain::Toolchain;

/// What the name of a program ends with that returns where the other one does not.
const WITHOUT: &str = "-without";

/// A program on an engine.
#[derive(Debug, Serialize)]
struct Row {
    program: String,
    engine: &'static str,
    /// Of processor time, in each round; or why there is none.
    seconds: Result<Vec<f64>, String>,
}

#[derive(Debug, Serialize)]
pub(crate) struct UnwindingReport {
    host: Host,
    runs: usize,
    toolchains: Vec<Toolchain>,
    engines: Vec<EngineReport>,
    rows: Vec<Row>,
}

pub(crate) fn run(lab: &mut Lab, options: &Options) -> Result<UnwindingReport> {
    let programs = Program::load(&lab.setup.bench.join("unwinding"), options.programs.as_deref())?;
    let built = lab.build(engines::unwinding(), options.engines.as_deref())?;
    let host = Host::describe();
    let mut cases = Vec::new();
    for program in &programs {
        for built in &built {
            let loaded = lab.load(program, built).map(|(loadable, _)| loadable);
            let row = Row { program: program.name.clone(), engine: built.engine.name(), seconds: Ok(Vec::new()) };
            cases.push((program, built, loaded, row));
        }
    }
    for round in 0..options.runs {
        lab.progress.show(&format!("round {} of {}", round + 1, options.runs));
        for (program, built, loaded, row) in &mut cases {
            let Ok(values) = &mut row.seconds else { continue };
            let loaded = loaded.as_ref().map_err(|error| anyhow!("{error:#}"));
            let ready = built.ready.as_ref().map_err(|error| anyhow!("{error:#}"));
            match loaded.and_then(|loadable| ready?.run(loadable, program.work(options.quick))) {
                Ok(sample) => values.push(sample.seconds),
                Err(error) => row.seconds = Err(format!("{error:#}")),
            }
        }
    }
    lab.progress.clear();
    let rows = cases.into_iter().map(|(.., row)| row).collect();
    let engines = built.into_iter().map(EngineReport::of).collect();
    Ok(UnwindingReport { host, runs: options.runs, toolchains: lab.toolchains(), engines, rows })
}

impl UnwindingReport {
    pub(crate) fn publish(&self) -> Result<Published> {
        let mut page = String::from("# Leaving functions otherwise than by returning\n");
        let _ = writeln!(
            page,
            "\n{} rounds. `jumps`: longjmp out of seven functions, every third time; `contexts`: swapcontext, to and\n\
             fro; `exceptions`: C++ exceptions out of ten functions with destructors, every third time; `coroutines`,\n\
             `pcall`: Lua's, a value from each, an error every third time. `speed` is that of the same program without\n\
             any of it, which returns instead, on the same engine: what it costs natively is in the rows of `{REFERENCE}`.\n",
            self.runs
        );
        let header = ["program", "engine", "seconds", "of native", "speed of that without"].map(String::from);
        let shown = |estimate: Option<Estimate>| estimate.map_or("-".into(), |estimate| page::estimate(&estimate));
        let ratio = |a: &[f64], b: &[f64]| {
            let ratios: Vec<f64> = a.iter().zip(b).map(|(a, b)| a / b).collect();
            shown(Estimate::of(&ratios))
        };
        let row = |row: &Row| {
            let own = row.seconds.as_deref().unwrap_or_default();
            let without = self.seconds(&format!("{}{WITHOUT}", row.program), row.engine);
            vec![
                row.program.clone(),
                row.engine.into(),
                shown(Estimate::of(own)),
                ratio(own, self.seconds(&row.program, REFERENCE)),
                ratio(without, own),
            ]
        };
        page::table(&mut page, &header, &self.rows.iter().map(row).collect::<Vec<_>>());
        let failed = |row: &Row| Some(format!("{} on {}: {}", row.program, row.engine, row.seconds.as_ref().err()?));
        let failures: Vec<String> = self.rows.iter().filter_map(failed).collect();
        if !failures.is_empty() {
            let _ = writeln!(page, "\n## What is missing\n\n- {}", failures.join("\n- "));
        }
        page::environment(&mut page, true, &self.engines, &self.toolchains, &self.host);
        let json = serde_json::to_string_pretty(self)? + "\n";
        Ok(Published { page, json, charts: Vec::new(), failures })
    }

    fn seconds(&self, program: &str, engine: &str) -> &[f64] {
        let row = self.rows.iter().find(|row| row.program == program && row.engine == engine);
        row.and_then(|row| row.seconds.as_deref().ok()).unwrap_or_default()
    }
}
