//! What was measured, as JSON and as Markdown.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde::Serialize;

use crate::compute::Options;
use crate::engine::{Clock, Ready, Sample};
use crate::engines::SUBJECT;
use crate::host::Host;
use crate::statistics::{Estimate, geometric_mean};
use crate::toolchain::{Target, Toolchain};

/// Everything.
#[derive(Debug, Serialize)]
pub(crate) struct Report {
    host: Host,
    runs: usize,
    quick: bool,
    toolchains: Vec<Toolchain>,
    engines: Vec<EngineReport>,
    programs: Vec<ProgramReport>,
    /// By peer.
    comparisons: BTreeMap<&'static str, Comparison>,
}

/// An engine, or why it is missing.
#[derive(Debug, Serialize)]
pub(crate) struct EngineReport {
    pub(crate) name: &'static str,
    pub(crate) target: Target,
    pub(crate) ready: Result<Ready, String>,
}

/// A program and what each engine made of it.
#[derive(Debug, Serialize)]
pub(crate) struct ProgramReport {
    pub(crate) name: String,
    pub(crate) about: String,
    pub(crate) size: String,
    /// Compiler flags that it has beside those of its target.
    pub(crate) flags: Vec<(Target, Vec<String>)>,
    /// By engine.
    pub(crate) cells: BTreeMap<&'static str, Cell>,
}

/// What an engine made of a program.
#[derive(Debug, Serialize)]
#[serde(rename_all = "snake_case", tag = "outcome")]
pub(crate) enum Cell {
    /// All runs printed the expected checksum.
    Measured { samples: Vec<Sample> },
    /// A run failed or printed something else.
    Failed { reason: String },
    /// The engine, or the program for it, could not be built.
    NotBuilt { reason: String },
}

/// How many times a peer's time riverrun's fits: above 1, riverrun is faster.
#[derive(Debug, Serialize)]
struct Comparison {
    /// By program: of the two runs of each round, the ratio.
    ratios: BTreeMap<String, Estimate>,
    /// Over these programs: of each round, the geometric mean.
    geometric_mean: Option<Estimate>,
}

impl Report {
    pub(crate) fn new(
        host: Host,
        options: &Options,
        toolchains: Vec<Toolchain>,
        engines: Vec<EngineReport>,
        programs: Vec<ProgramReport>,
    ) -> Report {
        let peers = engines.iter().map(|engine| engine.name).filter(|name| *name != SUBJECT);
        let comparisons =
            peers.map(|peer| (peer, Comparison::of(peer, &programs))).filter(|(_, c)| !c.ratios.is_empty()).collect();
        Report { host, runs: options.runs, quick: options.quick, toolchains, engines, programs, comparisons }
    }

    /// Each failed run, in words. A peer that could not be built has not failed; riverrun has.
    pub(crate) fn failures(&self) -> Vec<String> {
        self.each_cell(|program, engine, cell| match cell {
            Cell::Failed { reason } => Some(format!("{program} on {engine}: {reason}")),
            Cell::NotBuilt { reason } if engine == SUBJECT => {
                Some(format!("{program} on {engine}: not built: {reason}"))
            }
            Cell::Measured { .. } | Cell::NotBuilt { .. } => None,
        })
    }

    fn each_cell(&self, say: impl Fn(&str, &str, &Cell) -> Option<String>) -> Vec<String> {
        let mut lines = Vec::new();
        for program in &self.programs {
            for engine in &self.engines {
                lines.extend(program.cells.get(engine.name).and_then(|cell| say(&program.name, engine.name, cell)));
            }
        }
        lines
    }

    /// A page for people.
    pub(crate) fn markdown(&self) -> String {
        let mut page = String::from("# Interpreter speed\n\n");
        let names: Vec<&str> = self.engines.iter().map(|engine| engine.name).collect();
        let unsure = if self.quick { " of a small amount of work: to see that all works, not to compare" } else { "" };
        let _ = writeln!(page, "{} runs{unsure}, every checksum verified.\n", self.runs);

        page += "## Processor time in seconds: median (least to most)\n\n";
        table(
            &mut page,
            "program",
            &names,
            self.programs.iter().map(|program| {
                let cells = names.iter().map(|name| program.cells.get(name).map_or_else(String::new, time));
                (program.name.clone(), cells.collect())
            }),
        );
        self.explain(&mut page);

        if !self.comparisons.is_empty() {
            page += "\n## How many times faster riverrun is\n\nMedian of the rounds' ratios (its 95 % interval); ~ where that holds 1: noise.\n\n";
            let peers: Vec<&str> = names.iter().copied().filter(|name| self.comparisons.contains_key(name)).collect();
            let by_program = self
                .programs
                .iter()
                .map(|program| (program.name.clone(), self.row(&peers, |c| c.ratios.get(&program.name))));
            let mean = ("**geometric mean**".to_owned(), self.row(&peers, |c| c.geometric_mean.as_ref()));
            table(&mut page, "program", &peers, by_program.chain([mean]));
        }

        self.counts(&mut page);
        self.describe(&mut page);
        page
    }

    fn row<'a>(&'a self, peers: &[&'a str], pick: impl Fn(&'a Comparison) -> Option<&'a Estimate>) -> Vec<String> {
        peers.iter().map(|peer| self.comparisons.get(peer).and_then(&pick).map_or("-".into(), ratio)).collect()
    }

    /// Says what is behind each cell without figures.
    fn explain(&self, page: &mut String) {
        let reasons = self.each_cell(|program, engine, cell| match cell {
            Cell::Measured { .. } => None,
            Cell::Failed { reason } => Some(format!("- {program} on {engine} failed: {reason}")),
            Cell::NotBuilt { reason } => Some(format!("- {program} on {engine} is not built: {reason}")),
        });
        if !reasons.is_empty() {
            let _ = writeln!(page, "\n{}", reasons.join("\n"));
        }
    }

    /// Millions of instructions a second, where they are counted.
    fn counts(&self, page: &mut String) {
        let counting: Vec<&str> = self
            .engines
            .iter()
            .map(|engine| engine.name)
            .filter(|name| self.programs.iter().any(|p| p.mips(name).is_some()))
            .collect();
        if counting.is_empty() {
            return;
        }
        *page += "\n## Millions of guest instructions a second\n\n";
        table(
            page,
            "program",
            &counting,
            self.programs.iter().map(|program| {
                let cells =
                    counting.iter().map(|name| program.mips(name).map_or("-".into(), |mips| format!("{mips:.0}")));
                (program.name.clone(), cells.collect())
            }),
        );
    }

    /// Programs, engines, compilers, machine.
    fn describe(&self, page: &mut String) {
        *page += "\n## What was measured\n\n";
        for program in &self.programs {
            let flags = program.flags.iter().map(|(target, flags)| format!(" ({target:?}: `{}`)", flags.join(" ")));
            let flags: String = flags.collect();
            let _ = writeln!(page, "- {} {}: {}{flags}", program.name, program.size, program.about);
        }
        *page += "\nEngines:\n\n";
        for engine in &self.engines {
            let _ = match &engine.ready {
                Ok(ready) => {
                    let clock = match ready.clock {
                        Clock::Guest => "timed: the guest's run",
                        Clock::Process => "timed: the whole process",
                    };
                    writeln!(page, "- {} {}: {}; {clock}", engine.name, ready.version, ready.configuration)
                }
                Err(reason) => writeln!(page, "- {}: not built: {reason}", engine.name),
            };
        }
        *page += "\nCompilers of the programs:\n\n";
        for toolchain in &self.toolchains {
            let flags = [&toolchain.flags[..], &toolchain.link_flags[..]].concat().join(" ");
            let _ = writeln!(page, "- {:?}: {}: `{} {flags}`", toolchain.target, toolchain.version, toolchain.compiler);
        }
        let host = &self.host;
        let _ = writeln!(
            page,
            "\nMachine: {}, {} CPUs, {} GiB, {}, {}, {}, load {} before.",
            host.cpu, host.cpus, host.memory_gib, host.system, host.kernel, host.rustc, host.load_before
        );
    }
}

impl ProgramReport {
    fn seconds(&self, engine: &str) -> Option<Vec<f64>> {
        let samples = self.cells.get(engine)?.samples()?;
        Some(samples.iter().map(|sample| sample.seconds).collect())
    }

    /// Of the median run, in millions of instructions a second.
    fn mips(&self, engine: &str) -> Option<f64> {
        let samples = self.cells.get(engine)?.samples()?;
        let instructions = samples.first()?.instructions?;
        Some(instructions as f64 / Estimate::of(&self.seconds(engine)?)?.median / 1e6)
    }

    /// The peer's time over riverrun's, round by round.
    fn ratios(&self, peer: &str) -> Option<Vec<f64>> {
        let (ours, theirs) = (self.seconds(SUBJECT)?, self.seconds(peer)?);
        Some(theirs.iter().zip(&ours).map(|(theirs, ours)| theirs / ours).collect())
    }
}

impl Comparison {
    fn of(peer: &str, programs: &[ProgramReport]) -> Comparison {
        let rounds: Vec<(String, Vec<f64>)> =
            programs.iter().filter_map(|program| Some((program.name.clone(), program.ratios(peer)?))).collect();
        let count = rounds.iter().map(|(_, ratios)| ratios.len()).min().unwrap_or(0);
        let means: Vec<f64> = (0..count)
            .filter_map(|round| geometric_mean(&rounds.iter().map(|(_, ratios)| ratios[round]).collect::<Vec<_>>()))
            .collect();
        let ratios = rounds.into_iter().filter_map(|(name, ratios)| Some((name, Estimate::of(&ratios)?))).collect();
        Comparison { ratios, geometric_mean: Estimate::of(&means) }
    }
}

fn time(cell: &Cell) -> String {
    let samples = match cell {
        Cell::Measured { samples } => samples,
        Cell::Failed { .. } => return "failed".into(),
        Cell::NotBuilt { .. } => return "not built".into(),
    };
    let seconds: Vec<f64> = samples.iter().map(|sample| sample.seconds).collect();
    let least = seconds.iter().copied().fold(f64::INFINITY, f64::min);
    let most = seconds.iter().copied().fold(0.0, f64::max);
    Estimate::of(&seconds)
        .map_or_else(String::new, |estimate| format!("{:.3} ({least:.3} to {most:.3})", estimate.median))
}

fn ratio(estimate: &Estimate) -> String {
    let noise = if estimate.is_noise() { " ~" } else { "" };
    format!("{:.2} ({:.2} to {:.2}){noise}", estimate.median, estimate.low, estimate.high)
}

fn table(page: &mut String, corner: &str, columns: &[&str], rows: impl Iterator<Item = (String, Vec<String>)>) {
    let _ = writeln!(page, "| {corner} | {} |\n|{}", columns.join(" | "), " --- |".repeat(columns.len() + 1));
    for (name, cells) in rows {
        let _ = writeln!(page, "| {name} | {} |", cells.join(" | "));
    }
}
