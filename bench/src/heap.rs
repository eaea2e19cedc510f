//! What allocations take: through the guest's own libc, and on the heap that riverrun keeps for guests.

use std::fmt::Write as _;

use anyhow::{Result, anyhow};
use serde::Serialize;

use crate::chart::Chart;
use crate::engines::{self, REFERENCE};
use crate::host::Host;
use crate::lab::Lab;
use crate::options::Options;
use crate::page;
use crate::program::Program;
use crate::publish::Published;
use crate::report::EngineReport;
use crate::statistics::Estimate;
use crate::toolchain::{Target, Toolchain};

/// A program on an engine.
#[derive(Debug, Serialize)]
struct Row {
    program: String,
    engine: &'static str,
    /// Of processor time for each allocation and what frees it, in each round; or why there is none.
    nanoseconds: Result<Vec<f64>, String>,
}

#[derive(Debug, Serialize)]
pub(crate) struct HeapReport {
    host: Host,
    runs: usize,
    toolchains: Vec<Toolchain>,
    engines: Vec<EngineReport>,
    rows: Vec<Row>,
}

pub(crate) fn run(lab: &mut Lab, options: &Options) -> Result<HeapReport> {
    let programs = Program::load(&lab.setup.bench.join("heap"), options.programs.as_deref())?;
    let built = lab.build(engines::allocating(), options.engines.as_deref())?;
    let host = Host::describe();
    let mut cases = Vec::new();
    for program in &programs {
        for built in &built {
            // Only riverrun's guests have the host's heap.
            if program.name.ends_with("-libc") || built.engine.target() == Target::Riscv64 {
                let loaded = lab.load(program, built).map(|(loadable, _)| loadable);
                let row =
                    Row { program: program.name.clone(), engine: built.engine.name(), nanoseconds: Ok(Vec::new()) };
                cases.push((program, built, loaded, row));
            }
        }
    }
    for round in 0..options.runs {
        lab.progress.show(&format!("round {} of {}", round + 1, options.runs));
        for (program, built, loaded, row) in &mut cases {
            let Ok(values) = &mut row.nanoseconds else { continue };
            let work = program.work(options.quick);
            let loaded = loaded.as_ref().map_err(|error| anyhow!("{error:#}"));
            let ready = built.ready.as_ref().map_err(|error| anyhow!("{error:#}"));
            let sample = loaded.and_then(|loadable| ready?.run(loadable, work));
            match sample.and_then(|sample| Ok(sample.seconds * 1e9 / work.size.parse::<f64>()?)) {
                Ok(nanoseconds) => values.push(nanoseconds),
                Err(error) => row.nanoseconds = Err(format!("{error:#}")),
            }
        }
    }
    lab.progress.clear();
    let rows = cases.into_iter().map(|(.., row)| row).collect();
    let engines = built.into_iter().map(EngineReport::of).collect();
    Ok(HeapReport { host, runs: options.runs, toolchains: lab.toolchains(), engines, rows })
}

impl HeapReport {
    pub(crate) fn publish(&self) -> Result<Published> {
        let mut page = String::from("# Allocations\n");
        let _ = writeln!(
            page,
            "\n{} rounds. `pair` is malloc(1024) and free, `trace` an allocation of many sizes and lifetimes, with\n\
             what is freed for it. `libc` is the malloc of each target's own libc; `wrapped` and `inline` are on the\n\
             heap that riverrun keeps for guests, by functions of malloc's name and where they stand.\n",
            self.runs
        );
        let chart = self.chart().svg().map(|svg| ("heap.svg".to_owned(), svg));
        if chart.is_some() {
            page += "![Nanoseconds](heap.svg)\n\n";
        }
        let header = ["program", "engine", "nanoseconds", "of native"].map(String::from);
        let row = |row: &Row| {
            let shown = |estimate: Option<Estimate>| estimate.map_or("-".into(), |estimate| page::estimate(&estimate));
            let own = row.nanoseconds.as_deref().unwrap_or_default();
            let ratios: Vec<f64> =
                own.iter().zip(self.native(&row.program)).map(|(own, native)| own / native).collect();
            vec![row.program.clone(), row.engine.into(), shown(Estimate::of(own)), shown(Estimate::of(&ratios))]
        };
        page::table(&mut page, &header, &self.rows.iter().map(row).collect::<Vec<_>>());
        let failed =
            |row: &Row| Some(format!("{} on {}: {}", row.program, row.engine, row.nanoseconds.as_ref().err()?));
        let failures: Vec<String> = self.rows.iter().filter_map(failed).collect();
        if !failures.is_empty() {
            let _ = writeln!(page, "\n## What is missing\n\n- {}", failures.join("\n- "));
        }
        page::environment(&mut page, true, &self.engines, &self.toolchains, &self.host);
        let json = serde_json::to_string_pretty(self)? + "\n";
        Ok(Published { page, json, charts: chart.into_iter().collect(), failures })
    }

    fn chart(&self) -> Chart {
        let engines: Vec<String> = self.engines.iter().map(|engine| engine.name.to_owned()).collect();
        let group = |rows: &[Row]| {
            let of = |engine: &String| {
                let row = rows.iter().find(|row| row.engine == engine)?;
                Estimate::of(row.nanoseconds.as_deref().ok()?)
            };
            (rows[0].program.clone(), engines.iter().map(of).collect())
        };
        Chart {
            title: "What an allocation takes, and what frees it".into(),
            unit: "nanoseconds of processor time".into(),
            groups: self.rows.chunk_by(|a, b| a.program == b.program).map(group).collect(),
            series: engines,
        }
    }

    /// What the same takes natively, by the libc's malloc.
    fn native(&self, program: &str) -> &[f64] {
        let kind = program.split('-').next();
        let row = self.rows.iter().find(|row| row.engine == REFERENCE && row.program.split('-').next() == kind);
        row.and_then(|row| row.nanoseconds.as_deref().ok()).unwrap_or_default()
    }
}
