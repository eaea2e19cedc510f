//! What allocations take: through the guest's own libc, and on the heap that riverrun keeps for guests.

use std::fmt::Write as _;

use anyhow::Result;
use serde::Serialize;

use crate::chart::Chart;
use crate::engines::{self, REFERENCE};
use crate::host::Host;
use crate::lab::{Built, Lab};
use crate::options::Options;
use crate::page;
use crate::program::Program;
use crate::publish::Published;
use crate::report::EngineReport;
use crate::rounds;
use crate::statistics::Estimate;
use crate::toolchain::{Target, Toolchain};

/// The programs that show that all works.
const QUICK: [&str; 2] = ["pair-inline", "pair-libc"];

/// A program on an engine.
#[derive(Debug, Serialize)]
struct Row {
    program: String,
    engine: &'static str,
    /// Of processor time for each allocation and what frees it, in each round.
    nanoseconds: Vec<f64>,
    /// The part of the heap's memory that was not asked for when most was; of heaps that riverrun keeps.
    fragmentation: Option<f64>,
}

#[derive(Debug, Serialize)]
pub(crate) struct HeapReport {
    host: Host,
    runs: usize,
    toolchains: Vec<Toolchain>,
    engines: Vec<EngineReport>,
    rows: Vec<Row>,
    missing: Vec<String>,
    #[serde(skip)]
    failures: Vec<String>,
}

pub(crate) fn run(lab: &mut Lab, options: &Options) -> Result<HeapReport> {
    let programs = Program::load(&lab.setup.bench.join("heap"), options.programs(&QUICK).as_deref())?;
    let built = lab.build(engines::allocating(), options)?;
    // Only riverrun's guests have the host's heap.
    let wanted =
        |program: &Program, built: &Built| program.name.ends_with("-libc") || built.engine.target() == Target::Riscv64;
    let (host, rows) = rounds::measure(lab, options, &programs, &built, wanted, |ready, loadable, work| {
        let sample = ready.run(loadable, work)?;
        Ok((sample.seconds * 1e9 / work.size.parse::<f64>()?, sample.fragmentation))
    });
    let (missing, failures) = page::missing(rows.iter().filter_map(rounds::Row::gap));
    let row = |row: rounds::Row<(f64, Option<f64>)>| Row {
        nanoseconds: row.values(|&(nanoseconds, _)| nanoseconds),
        fragmentation: row.samples.iter().flatten().find_map(|&(_, fragmentation)| fragmentation),
        program: row.program,
        engine: row.engine,
    };
    Ok(HeapReport {
        host,
        runs: options.runs,
        toolchains: lab.toolchains(),
        rows: rows.into_iter().map(row).collect(),
        engines: built.into_iter().map(EngineReport::of).collect(),
        missing,
        failures,
    })
}

impl HeapReport {
    pub(crate) fn publish(&self) -> Result<Published> {
        let mut page = String::from("# Allocations\n");
        let _ = writeln!(
            page,
            "\n{} rounds. `pair` is malloc(1024) and free, `trace` an allocation of many sizes and lifetimes, with\n\
             what is freed for it. `libc` is the malloc of each target's own libc; `wrapped` and `inline` are on the\n\
             heap that riverrun keeps for guests, by functions of malloc's name and where they stand. What is lost is\n\
             the part of that heap's memory that was not asked for when most was.\n",
            self.runs
        );
        let chart = self.chart().svg().map(|svg| ("heap.svg".to_owned(), svg));
        if chart.is_some() {
            page += "![Nanoseconds](heap.svg)\n\n";
        }
        let header = ["program", "engine", "nanoseconds", "of native", "lost"].map(String::from);
        let row = |row: &Row| {
            let shown = |estimate: Option<Estimate>| estimate.map_or("-".into(), |estimate| page::estimate(&estimate));
            let own = row.nanoseconds.as_slice();
            let ratios: Vec<f64> =
                own.iter().zip(self.native(&row.program)).map(|(own, native)| own / native).collect();
            let lost = row.fragmentation.map_or("-".into(), |lost| format!("{lost:.2}"));
            vec![row.program.clone(), row.engine.into(), shown(Estimate::of(own)), shown(Estimate::of(&ratios)), lost]
        };
        page::table(&mut page, &header, &self.rows.iter().map(row).collect::<Vec<_>>());
        page::gaps(&mut page, &self.missing);
        page::environment(&mut page, true, &self.engines, &self.toolchains, &self.host);
        let json = serde_json::to_string_pretty(self)? + "\n";
        Ok(Published { page, json, charts: chart.into_iter().collect(), failures: self.failures.clone() })
    }

    fn chart(&self) -> Chart {
        let engines: Vec<String> = self.engines.iter().map(|engine| engine.name.to_owned()).collect();
        let group = |rows: &[Row]| {
            let of = |engine: &String| {
                let row = rows.iter().find(|row| row.engine == engine)?;
                Estimate::of(&row.nanoseconds)
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
        row.map_or(&[], |row| &row.nanoseconds)
    }
}
