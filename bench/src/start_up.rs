//! What starting takes: a program that prints a line, from its start to its end.

use std::fmt::Write as _;

use anyhow::Result;
use serde::Serialize;

use crate::chart::Chart;
use crate::engines;
use crate::host::Host;
use crate::lab::Lab;
use crate::options::Options;
use crate::page;
use crate::process::Usage;
use crate::program::Program;
use crate::publish::Published;
use crate::report::EngineReport;
use crate::rounds;
use crate::statistics::Estimate;
use crate::toolchain::Toolchain;

#[derive(Debug, Serialize)]
pub(crate) struct StartUpReport {
    host: Host,
    runs: usize,
    toolchains: Vec<Toolchain>,
    engines: Vec<EngineReport>,
    /// For each engine, the rounds.
    rounds: Vec<Vec<Usage>>,
    missing: Vec<String>,
    #[serde(skip)]
    failures: Vec<String>,
}

pub(crate) fn run(lab: &mut Lab, options: &Options) -> Result<StartUpReport> {
    let mut programs = Program::load(&lab.programs_folder(), None)?;
    programs.retain(|program| program.start_up);
    let built = lab.build(engines::starters(), options)?;
    let (host, rows) = rounds::measure(
        lab,
        options,
        &programs,
        &built,
        |_, _| true,
        |ready, loadable, work| Ok(ready.run_process(loadable, work)?.0),
    );
    let (missing, failures) = page::missing(rows.iter().filter_map(rounds::Row::gap));
    Ok(StartUpReport {
        host,
        runs: options.runs,
        toolchains: lab.toolchains(),
        rounds: rows.into_iter().map(|row| row.samples.unwrap_or_default()).collect(),
        engines: built.into_iter().map(EngineReport::of).collect(),
        missing,
        failures,
    })
}

impl StartUpReport {
    pub(crate) fn publish(&self) -> Result<Published> {
        let mut page = String::from("# Starting up\n");
        let _ = writeln!(
            page,
            "\n{} rounds of a program that prints one line; the whole process, from its start to its end. \
             Linux counts the memory of what measures, so that the least of these figures means that or less.\n\n\
             ![Milliseconds](start-up.svg)\n",
            self.runs
        );
        let header = ["engine", "milliseconds", "of processor time", "most memory, MiB"].map(String::from);
        let of = |usages: &[Usage], value: fn(&Usage) -> f64| {
            Estimate::of(&usages.iter().map(value).collect::<Vec<_>>()).map_or("-".into(), |e| page::estimate(&e))
        };
        let row = |(engine, usages): (&EngineReport, &Vec<Usage>)| {
            vec![
                engine.name.to_owned(),
                of(usages, milliseconds),
                of(usages, |usage| usage.cpu_seconds * 1e3),
                of(usages, |usage| usage.peak_bytes as f64 / f64::from(1 << 20)),
            ]
        };
        page::table(&mut page, &header, &self.engines.iter().zip(&self.rounds).map(row).collect::<Vec<_>>());
        page::gaps(&mut page, &self.missing);
        page::environment(&mut page, false, &self.engines, &self.toolchains, &self.host);
        let chart = self.chart().svg().map(|svg| ("start-up.svg".to_owned(), svg));
        let json = serde_json::to_string_pretty(self)? + "\n";
        Ok(Published { page, json, charts: chart.into_iter().collect(), failures: self.failures.clone() })
    }

    fn chart(&self) -> Chart {
        let group = |(engine, usages): (&EngineReport, &Vec<Usage>)| {
            let values: Vec<f64> = usages.iter().map(milliseconds).collect();
            (engine.name.to_owned(), vec![Estimate::of(&values)])
        };
        Chart {
            title: "Starting up, printing a line, and ending".into(),
            unit: "milliseconds".into(),
            series: vec!["wall time".into()],
            groups: self.engines.iter().zip(&self.rounds).map(group).collect(),
        }
    }
}

fn milliseconds(usage: &Usage) -> f64 {
    usage.wall_seconds * 1e3
}
