//! Many instances of a guest: what it takes to make, call and keep them.

use anyhow::{Context, Result, anyhow};
use peer_common::figures::{Figure, Figures, Table};
use peer_common::instances::Costs;

use crate::engine::Ready;
use crate::engines;
use crate::figures::FiguresReport;
use crate::host::Host;
use crate::lab::Lab;
use crate::options::Options;
use crate::program::Program;
use crate::report::EngineReport;
use crate::statistics::Estimate;

/// A column of a table: its name, and where its figure is.
type Column = (&'static str, fn(&Costs) -> f64);

const TIMES: [Column; 4] = [
    ("make and drop", |costs| costs.create_ns / 1e3),
    ("make, call and drop", |costs| costs.create_and_call_ns / 1e3),
    ("first call", |costs| costs.first_call_ns / 1e3),
    ("next call", |costs| costs.call_ns / 1e3),
];

const MEMORY: [Column; 2] =
    [("made", |costs| costs.idle_bytes / 1024.0), ("called", |costs| costs.called_bytes / 1024.0)];

pub(crate) fn run(lab: &mut Lab, options: &Options) -> Result<FiguresReport> {
    let programs = Program::load(&lab.setup.bench.join("instances"), None)?;
    let program = programs.first().context("no program in bench/instances")?;
    let built = lab.build(engines::hosting(), options.engines.as_deref())?;
    let loaded: Vec<_> = built.iter().map(|built| lab.load(program, built).map(|(loadable, _)| loadable)).collect();
    let host = Host::describe();
    let work = program.work(options.quick);
    let mut rounds: Vec<Result<Vec<Costs>, String>> = built.iter().map(|_| Ok(Vec::new())).collect();
    for round in 0..options.runs {
        lab.progress.show(&format!("instances, round {} of {}", round + 1, options.runs));
        for ((built, loaded), costs) in built.iter().zip(&loaded).zip(&mut rounds) {
            let Ok(all) = costs else { continue };
            let one = || -> Result<Costs> {
                let ready: &Ready = built.ready.as_ref().map_err(|error| anyhow!("not built: {error:#}"))?;
                let loadable = loaded.as_ref().map_err(|error| anyhow!("not built: {error:#}"))?;
                let (_, last_message) = ready.run_process(loadable, work)?;
                serde_json::from_str(&last_message).context("no figures on the last line of standard error")
            };
            match one() {
                Ok(one) => all.push(one),
                Err(error) => *costs = Err(format!("{error:#}")),
            }
        }
    }
    lab.progress.clear();

    let names: Vec<&str> = built.iter().map(|built| built.engine.name()).collect();
    let table = |name: &str, title: &str, unit: &str, about: &str, columns: &[Column]| Table {
        name: name.into(),
        title: title.into(),
        about: about.into(),
        unit: unit.into(),
        beside: None,
        columns: columns.iter().map(|(name, _)| (*name).to_owned()).collect(),
        rows: names
            .iter()
            .zip(&rounds)
            .filter_map(|(name, rounds)| Some((name, rounds.as_deref().ok()?)))
            .map(|(name, rounds)| ((*name).to_owned(), columns.iter().map(|column| figure(rounds, column)).collect()))
            .collect(),
    };
    let about = format!(
        "{} instances of a program, the median of {} rounds and their spread. The program's function writes to two \
         pages; its results are verified.",
        work.size, options.runs
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
    let missing: Vec<(String, String)> = names
        .iter()
        .zip(&rounds)
        .filter_map(|(name, rounds)| Some(((*name).to_owned(), rounds.as_ref().err()?.clone())))
        .collect();
    let is_ours = |name: &str| name.starts_with("riverrun");
    let failures = missing.iter().filter(|(name, _)| is_ours(name)).map(|(n, reason)| format!("{n}: {reason}"));
    Ok(FiguresReport {
        title: "Instances",
        host,
        failures: failures.collect(),
        figures: Figures { tables, missing },
        versions: Vec::new(),
        engines: built.into_iter().map(EngineReport::of).collect(),
        toolchains: lab.toolchains(),
    })
}

fn figure(rounds: &[Costs], (_, of): &Column) -> Option<Figure> {
    let values: Vec<f64> = rounds.iter().map(of).collect();
    let Estimate { median, low, high } = Estimate::of(&values)?;
    Some(Figure { value: median, low, high })
}
