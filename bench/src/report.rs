//! How fast programs ran: ratios, as JSON, Markdown and charts.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use anyhow::Result;
use serde::Serialize;

use crate::chart::Chart;
use crate::compute::Cell;
use crate::engine::{Kind, Ready};
use crate::engines::{self, REFERENCE, SUBJECTS};
use crate::host::Host;
use crate::lab::Built;
use crate::options::Options;
use crate::page;
use crate::publish::Published;
use crate::statistics::{Estimate, geometric_mean};
use crate::toolchain::{Target, Toolchain};

/// Everything.
#[derive(Debug, Serialize)]
pub(crate) struct Report {
    pub(crate) host: Host,
    pub(crate) runs: usize,
    toolchains: Vec<Toolchain>,
    engines: Vec<EngineReport>,
    pub(crate) programs: Vec<ProgramReport>,
    comparisons: Vec<Comparison>,
}

/// An engine, or why it is missing.
#[derive(Debug, Serialize)]
pub(crate) struct EngineReport {
    pub(crate) name: &'static str,
    pub(crate) target: Target,
    pub(crate) kind: Kind,
    pub(crate) ready: Result<Ready, String>,
}

impl EngineReport {
    pub(crate) fn of(built: Built) -> EngineReport {
        let Built { engine, ready } = built;
        let ready = ready.map_err(|error| format!("{error:#}"));
        EngineReport { name: engine.name(), target: engine.target(), kind: engine.kind(), ready }
    }
}

/// A program and what each engine made of it.
#[derive(Debug, Serialize)]
pub(crate) struct ProgramReport {
    pub(crate) name: String,
    pub(crate) about: String,
    pub(crate) size: String,
    /// By engine.
    pub(crate) cells: BTreeMap<&'static str, Cell>,
}

/// Ratios of the times of some engines and of one.
#[derive(Debug, Serialize)]
struct Comparison {
    title: String,
    /// What the ratio means.
    unit: String,
    /// The one engine; which of the two is divided by the other, the unit says.
    reference: &'static str,
    engines: Vec<&'static str>,
    /// For each program and engine, of the runs of each round.
    ratios: BTreeMap<String, Vec<Option<Estimate>>>,
    /// For each engine, of the geometric means over its programs of each round.
    geometric_means: Vec<Option<Estimate>>,
    /// For each engine, how many programs these are.
    counts: Vec<usize>,
    /// Whether a ratio around 1 says that a claim fails.
    marks_noise: bool,
    chart: Option<&'static str>,
}

/// The programs of an engine, and of the rounds' runs the ratios.
pub(crate) type Ratios = Vec<(String, Vec<f64>)>;

impl Report {
    pub(crate) fn new(
        host: Host,
        options: &Options,
        toolchains: Vec<Toolchain>,
        engines: Vec<EngineReport>,
        programs: Vec<ProgramReport>,
    ) -> Report {
        let mut report = Report { host, runs: options.runs, toolchains, engines, programs, comparisons: Vec::new() };
        report.comparisons = report.compare();
        report
    }

    fn compare(&self) -> Vec<Comparison> {
        let names = |keep: &dyn Fn(&EngineReport) -> bool| -> Vec<&'static str> {
            self.engines.iter().filter(|engine| keep(engine)).map(|engine| engine.name).collect()
        };
        let ours = |name: &str| name.starts_with("riverrun");
        let natives = |name: &str| name.starts_with(REFERENCE);
        let [(_, compiled), (_, interpreter)] = SUBJECTS;
        let is_option = |engine: &EngineReport| ours(engine.name) && engine.name != compiled;
        let compilers =
            names(&|engine| engine.kind == Kind::Compiler && engine.name != REFERENCE && !is_option(engine));
        let interpreters = names(&|engine| engine.kind == Kind::Interpreter);
        let not_native = names(&|engine| engine.kind == Kind::Compiler && !natives(engine.name) && !is_option(engine));
        let peers = |kind| names(&|engine| engine.kind == kind && !ours(engine.name) && !natives(engine.name));
        let options = names(&|engine| engine.kind == Kind::Compiler && is_option(engine));

        let slower = |title: &str, reference, engines: Vec<_>, chart| {
            let unit = format!("times as long as {reference} takes");
            self.comparison(title, unit, reference, engines, false, chart)
        };
        let faster = |title: &str, subject, engines: Vec<_>| {
            let unit = format!("times as fast as these is {subject}");
            self.comparison(title, unit, subject, engines, true, None)
        };
        let all = [
            slower("Compiled code beside native code for every x86-64", REFERENCE, compilers, Some("compilers.svg")),
            slower("Compiled code beside native code for this machine", "native-tuned", not_native, None),
            faster("Compiled code beside its peers", compiled, peers(Kind::Compiler)),
            slower("What options of compiled code cost", compiled, options, None),
            slower("Interpreters beside native code", REFERENCE, interpreters, Some("interpreters.svg")),
            faster("The interpreter beside its peers", interpreter, peers(Kind::Interpreter)),
        ];
        all.into_iter().filter(|comparison| !comparison.engines.is_empty()).collect()
    }

    /// Leaves out engines that ran no program which the reference ran.
    fn comparison(
        &self,
        title: &str,
        unit: String,
        reference: &'static str,
        engines: Vec<&'static str>,
        marks_noise: bool,
        chart: Option<&'static str>,
    ) -> Comparison {
        let columns: Vec<(&'static str, Ratios)> = engines
            .into_iter()
            .map(|engine| {
                // Either says how slow the other engines are: as a time, or as riverrun's speed.
                (engine, self.ratios(engine, reference))
            })
            .filter(|(_, ratios)| !ratios.is_empty())
            .collect();
        let of = |program: &str, ratios: &Ratios| {
            let (_, rounds) = ratios.iter().find(|(name, _)| name == program)?;
            Estimate::of(rounds)
        };
        Comparison {
            title: title.into(),
            unit,
            reference,
            engines: columns.iter().map(|(engine, _)| *engine).collect(),
            ratios: self
                .programs
                .iter()
                .map(|p| (p.name.clone(), columns.iter().map(|(_, ratios)| of(&p.name, ratios)).collect()))
                .collect(),
            geometric_means: columns.iter().map(|(_, ratios)| mean(ratios)).collect(),
            counts: columns.iter().map(|(_, ratios)| ratios.len()).collect(),
            marks_noise,
            chart,
        }
    }

    /// Of the programs that both engines ran, round by round.
    pub(crate) fn ratios(&self, over: &str, under: &str) -> Ratios {
        let of = |program: &ProgramReport| {
            let (over, under) = (program.seconds(over)?, program.seconds(under)?);
            Some((program.name.clone(), over.iter().zip(&under).map(|(over, under)| over / under).collect()))
        };
        self.programs.iter().filter_map(of).collect()
    }

    /// Whether the engine ran any program.
    pub(crate) fn is_measured(&self, engine: &str) -> bool {
        self.programs.iter().any(|program| program.seconds(engine).is_some())
    }

    /// Of a peer; none of riverrun, whose version is a commit.
    pub(crate) fn version(&self, engine: &str) -> Option<&str> {
        if engine.starts_with("riverrun") {
            return None;
        }
        let engine = self.engines.iter().find(|report| report.name == engine)?;
        let version = engine.ready.as_ref().ok()?.version.as_str();
        // What QEMU says of itself is a sentence.
        let number = version.split_whitespace().find(|word| word.starts_with(|c: char| c.is_ascii_digit()));
        number.filter(|_| !version.is_empty())
    }

    /// Each run that failed or could not begin, of the engines that have to work, in words.
    fn failures(&self) -> Vec<String> {
        let mut lines = Vec::new();
        for engine in self.engines.iter().filter(|engine| engines::must_work(engine.name)) {
            for program in &self.programs {
                let reason = match program.cells.get(engine.name) {
                    Some(Cell::Failed { reason }) => reason.clone(),
                    Some(Cell::NotBuilt { reason }) => format!("not built: {reason}"),
                    Some(Cell::Measured { .. }) | None => continue,
                };
                lines.push(format!("{} on {}: {reason}", program.name, engine.name));
            }
        }
        lines
    }

    pub(crate) fn publish(&self) -> Result<Published> {
        let chart = |comparison: &Comparison| Some((comparison.chart?.to_owned(), comparison.chart().svg()?));
        Ok(Published {
            page: self.markdown(),
            json: serde_json::to_string_pretty(self)? + "\n",
            charts: self.comparisons.iter().filter_map(chart).collect(),
            failures: self.failures(),
        })
    }

    fn markdown(&self) -> String {
        let mut page = String::from("# Speed\n\n");
        let _ = writeln!(
            page,
            "{} rounds; every checksum verified. A figure is the median of the rounds' ratios, with the \
             reach of its 95 % interval (below six rounds, of all values).",
            self.runs
        );
        for comparison in &self.comparisons {
            comparison.markdown(&mut page);
        }
        self.explain(&mut page);
        self.times(&mut page, Kind::Compiler);
        self.times(&mut page, Kind::Interpreter);
        self.counts(&mut page);
        page += "\n## What was measured\n\n";
        for program in &self.programs {
            let _ = writeln!(page, "- {} {}: {}", program.name, program.size, program.about);
        }
        page::environment(&mut page, true, &self.engines, &self.toolchains, &self.host);
        page
    }

    /// Says what is behind each cell without figures: once, where it is the same for all programs.
    fn explain(&self, page: &mut String) {
        let mut reasons: BTreeMap<(&str, String), Vec<&str>> = BTreeMap::new();
        for engine in &self.engines {
            for program in &self.programs {
                let reason = match program.cells.get(engine.name) {
                    Some(Cell::Failed { reason }) => format!("failed: {reason}"),
                    Some(Cell::NotBuilt { reason }) => format!("not built: {reason}"),
                    Some(Cell::Measured { .. }) | None => continue,
                };
                reasons.entry((engine.name, reason)).or_default().push(&program.name);
            }
        }
        if !reasons.is_empty() {
            *page += "\n## What is missing\n\n";
        }
        for ((engine, reason), programs) in reasons {
            let all = programs.len() == self.programs.len();
            let programs = if all { "everything".to_owned() } else { programs.join(", ") };
            let _ = writeln!(page, "- {programs} on {engine}: {reason}");
        }
    }

    fn engines_with(&self, keep: impl Fn(&EngineReport) -> bool) -> Vec<&'static str> {
        self.engines.iter().filter(|engine| keep(engine)).map(|engine| engine.name).collect()
    }

    fn times(&self, page: &mut String, kind: Kind) {
        let engines = self.engines_with(|engine| {
            engine.kind == kind && self.programs.iter().any(|program| program.seconds(engine.name).is_some())
        });
        if engines.is_empty() {
            return;
        }
        let what = if kind == Kind::Compiler { "compiled code" } else { "interpreters" };
        let _ = writeln!(page, "\n## Processor time in milliseconds: {what}\n");
        let cell = |program: &ProgramReport, engine: &str| {
            let seconds = program.seconds(engine)?;
            let milliseconds: Vec<f64> = seconds.iter().map(|seconds| seconds * 1e3).collect();
            Some(page::estimate(&Estimate::of(&milliseconds)?))
        };
        self.grid(page, &engines, cell);
    }

    /// Millions of instructions a second, where they are counted.
    fn counts(&self, page: &mut String) {
        let counting = self.engines_with(|engine| self.programs.iter().any(|p| p.mips(engine.name).is_some()));
        if counting.is_empty() {
            return;
        }
        *page += "\n## Millions of guest instructions a second\n\n";
        self.grid(page, &counting, |program, engine| program.mips(engine).map(|mips| format!("{mips:.0}")));
    }

    fn grid(&self, page: &mut String, engines: &[&str], cell: impl Fn(&ProgramReport, &str) -> Option<String>) {
        let header: Vec<String> = ["program"].iter().chain(engines).map(ToString::to_string).collect();
        let row = |program: &ProgramReport| {
            let cells = engines.iter().map(|engine| cell(program, engine).unwrap_or("-".into()));
            std::iter::once(program.name.clone()).chain(cells).collect()
        };
        page::table(page, &header, &self.programs.iter().map(row).collect::<Vec<_>>());
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
        let mips = instructions as f64 / Estimate::of(&self.seconds(engine)?)?.median / 1e6;
        // Code compiled without fuel counts only what it leaves to the interpreter.
        (mips >= 1.0).then_some(mips)
    }
}

impl Comparison {
    fn markdown(&self, page: &mut String) {
        let noise = if self.marks_noise { "; ~ where its interval holds 1: noise" } else { "" };
        let _ = writeln!(page, "\n## {}\n\nHow many {}{noise}.\n", self.title, self.unit);
        if let Some(file) = self.chart {
            let _ = writeln!(page, "![{}]({file})\n", self.title);
        }
        let header: Vec<String> = ["program"].iter().chain(&self.engines).map(ToString::to_string).collect();
        let cell = |value: &Option<Estimate>| match value {
            None => "-".to_owned(),
            Some(value) if self.marks_noise && value.is_noise() => format!("{} ~", page::estimate(value)),
            Some(value) => page::estimate(value),
        };
        let row = |name: &str, values: &[Option<Estimate>]| -> Vec<String> {
            std::iter::once(name.to_owned()).chain(values.iter().map(cell)).collect()
        };
        let mut rows: Vec<Vec<String>> = self.ratios.iter().map(|(name, values)| row(name, values)).collect();
        rows.push(row("**geometric mean**", &self.geometric_means));
        let most = self.counts.iter().copied().max().unwrap_or(0);
        if self.counts.iter().any(|&count| count < most) {
            rows.push(
                std::iter::once("of programs".to_owned()).chain(self.counts.iter().map(usize::to_string)).collect(),
            );
        }
        page::table(page, &header, &rows);
    }

    fn chart(&self) -> Chart {
        let mut groups: Vec<_> = self.ratios.iter().map(|(name, values)| (name.clone(), values.clone())).collect();
        groups.push(("geometric mean".into(), self.geometric_means.clone()));
        Chart {
            title: self.title.clone(),
            unit: self.unit.clone(),
            series: self.engines.iter().map(ToString::to_string).collect(),
            groups,
        }
    }
}

/// Over an engine's programs: of each round, the geometric mean.
pub(crate) fn mean(ratios: &Ratios) -> Option<Estimate> {
    let rounds = ratios.iter().map(|(_, rounds)| rounds.len()).min()?;
    let of = |round: usize| geometric_mean(&ratios.iter().map(|(_, rounds)| rounds[round]).collect::<Vec<_>>());
    Estimate::of(&(0..rounds).filter_map(of).collect::<Vec<_>>())
}
