//! Many instances of a guest: what it takes to make, call and keep them.

use anyhow::{Context, Result};
use peer_common::figures::{Figure, Figures, Table};
use peer_common::instances::Costs;

use crate::engines;
use crate::figures::FiguresReport;
use crate::lab::Lab;
use crate::options::Options;
use crate::page;
use crate::program::Program;
use crate::report::EngineReport;
use crate::rounds::{self, Row};
use crate::statistics::Estimate;

/// A column of a table: its name, and where its figure is.
type Column = (&'static str, fn(&Costs) -> Option<f64>);

const TIMES: [Column; 8] = [
    ("make and drop", |costs| Some(costs.create_ns / 1e3)),
    ("make, call and drop", |costs| Some(costs.create_and_call_ns / 1e3)),
    ("call one of a pool, give it back", |costs| Some(costs.recycle_ns? / 1e3)),
    ("fork one with 1 MiB, call and drop it", |costs| Some(costs.fork_ns? / 1e3)),
    ("write 20 pages, snapshot", |costs| Some(costs.save_ns? / 1e3)),
    ("write 20 pages, go back", |costs| Some(costs.go_back_ns? / 1e3)),
    ("first call", |costs| Some(costs.first_call_ns / 1e3)),
    ("next call", |costs| Some(costs.call_ns / 1e3)),
];

const MEMORY: [Column; 2] =
    [("made", |costs| Some(costs.idle_bytes / 1024.0)), ("called", |costs| Some(costs.called_bytes / 1024.0))];

/// The program of which so many instances are made that they take small address spaces.
const MANY: &str = "touch-many";

pub(crate) fn run(lab: &mut Lab, options: &Options) -> Result<FiguresReport> {
    let programs = Program::load(&lab.setup.bench.join("instances"), None)?;
    let size = |name: &str| -> Result<&str> {
        let program = programs.iter().find(|program| program.name == name);
        Ok(&program.with_context(|| format!("no program {name} in bench/instances"))?.work(options.quick).size)
    };
    let (size, many) = (size("touch")?, size(MANY)?);
    let built = lab.build(engines::hosting(), options)?;
    let (host, rows) = rounds::measure(
        lab,
        options,
        &programs,
        &built,
        |program, built| (program.name == MANY) == engines::has_small_spaces(built.engine.name()),
        |ready, loadable, work| -> Result<Costs> {
            let (_, last_message) = ready.run_process(loadable, work)?;
            serde_json::from_str(&last_message).context("no figures on the last line of standard error")
        },
    );

    let table = |name: &str, title: &str, unit: &str, about: &str, columns: &[Column]| Table {
        name: name.into(),
        title: title.into(),
        about: about.into(),
        unit: unit.into(),
        beside: None,
        columns: columns.iter().map(|(name, _)| (*name).to_owned()).collect(),
        rows: rows
            .iter()
            .filter_map(|row| Some((row.engine, row.samples.as_deref().ok()?)))
            .map(|(name, rounds)| (name.to_owned(), columns.iter().map(|column| figure(rounds, column)).collect()))
            .collect(),
    };
    let about = format!(
        "{} instances of a program, {} where their addresses have 26 bits; the median of {} rounds and their spread. \
         The program's function writes to two pages; its results are verified.",
        size, many, options.runs
    );
    let alive = format!("{about} Calls are made with all instances alive, one after the other.");
    let memory = format!(
        "{about} Pages that instances share are counted once, page tables are counted, what the kernel keeps of \
         mappings is not."
    );
    let tables = vec![
        table("instances", "What an instance takes", "microseconds of processor time", &alive, &TIMES),
        table("instances-memory", "What an instance takes of memory", "KiB", &memory, &MEMORY),
    ];
    let reason = |row: &Row<Costs>| Some((row.engine.to_owned(), row.samples.as_ref().err()?.clone()));
    let missing = rows.iter().filter_map(reason).collect();
    let (_, failures) = page::missing(rows.iter().filter_map(Row::gap));
    Ok(FiguresReport {
        title: "Instances",
        host,
        failures,
        figures: Figures { tables, missing },
        versions: Vec::new(),
        engines: built.into_iter().map(EngineReport::of).collect(),
        toolchains: lab.toolchains(),
    })
}

fn figure(rounds: &[Costs], (_, of): &Column) -> Option<Figure> {
    let values = rounds.iter().map(of).collect::<Option<Vec<f64>>>()?;
    let Estimate { median, low, high } = Estimate::of(&values)?;
    Some(Figure { value: median, low, high })
}
