//! What compiling takes: processor time, memory, and the size of what comes out.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use object::{Object, ObjectSection, SectionKind};
use serde::Serialize;

use crate::chart::Chart;
use crate::engines;
use crate::host::Host;
use crate::lab::{Built, Lab};
use crate::options::Options;
use crate::page;
use crate::process::Usage;
use crate::program::Program;
use crate::publish::Published;
use crate::report::EngineReport;
use crate::rounds::Gap;
use crate::statistics::Estimate;
use crate::toolchain::Toolchain;

/// Those with most code, and the least.
const PROGRAMS: [&str; 4] = ["hello", "lua", "secp256k1", "sqlite"];

#[derive(Debug, Serialize)]
pub(crate) struct CompileReport {
    host: Host,
    runs: usize,
    toolchains: Vec<Toolchain>,
    engines: Vec<EngineReport>,
    programs: Vec<Compiled>,
}

/// A program, and for each engine what compiling it took.
#[derive(Debug, Serialize)]
struct Compiled {
    name: String,
    cells: Vec<Result<Cost, String>>,
}

#[derive(Debug, Serialize)]
struct Cost {
    /// Of the code that is compiled.
    text_bytes: u64,
    artifact_bytes: u64,
    /// One for each round.
    rounds: Vec<Usage>,
}

/// What a table shows of a compilation.
type Column<'a> = &'a dyn Fn(&Cost) -> String;

pub(crate) fn run(lab: &mut Lab, options: &Options) -> Result<CompileReport> {
    let wanted = options.programs(&PROGRAMS[..1]).unwrap_or_else(|| PROGRAMS.map(String::from).to_vec());
    let programs = Program::load(&lab.programs_folder(), Some(&wanted))?;
    let built = lab.build(engines::ahead_of_time(), options)?;
    let host = Host::describe();
    let mut compiled: Vec<Compiled> = programs
        .iter()
        .map(|program| {
            let fresh = |_: &Built| Ok(Cost { text_bytes: 0, artifact_bytes: 0, rounds: Vec::new() });
            Compiled { name: program.name.clone(), cells: built.iter().map(fresh).collect() }
        })
        .collect();
    for _ in 0..options.runs {
        for (program, compiled) in programs.iter().zip(&mut compiled) {
            for (built, cell) in built.iter().zip(&mut compiled.cells) {
                let Ok(cost) = cell else { continue };
                if let Err(error) = compile(lab, program, built, cost) {
                    *cell = Err(format!("{error:#}"));
                }
            }
        }
    }
    lab.progress.clear();
    let engines = built.into_iter().map(EngineReport::of).collect();
    Ok(CompileReport { host, runs: options.runs, toolchains: lab.toolchains(), engines, programs: compiled })
}

/// One round.
fn compile(lab: &mut Lab, program: &Program, built: &Built, cost: &mut Cost) -> Result<()> {
    let (loadable, usage) = lab.translate(program, built)?;
    cost.rounds.push(usage.context("it is not compiled ahead of time")?);
    cost.text_bytes = text_bytes(&loadable.program)?;
    cost.artifact_bytes = fs::metadata(&loadable.artifact)?.len();
    Ok(())
}

/// The code of an ELF file or a WebAssembly module.
fn text_bytes(file: &Path) -> Result<u64> {
    let bytes = fs::read(file)?;
    let object = object::File::parse(&*bytes).with_context(|| file.display().to_string())?;
    Ok(object.sections().filter(|section| section.kind() == SectionKind::Text).map(|section| section.size()).sum())
}

impl Cost {
    fn estimate(&self, of: impl Fn(&Usage) -> f64) -> String {
        let values: Vec<f64> = self.rounds.iter().map(of).collect();
        Estimate::of(&values).map_or("-".into(), |estimate| match self.rounds.len() {
            1 => format!("{:.1}", estimate.median),
            _ => page::estimate(&estimate),
        })
    }
}

impl CompileReport {
    pub(crate) fn publish(&self) -> Result<Published> {
        let kib = |bytes: u64| bytes as f64 / 1024.0;
        let mut page = String::from("# What compiling takes\n");
        let _ = writeln!(page, "\n{} rounds; all processor time, of all threads.", self.runs);
        let tables: [(&str, Column<'_>); 5] = [
            ("Milliseconds of processor time per KiB of code", &|cost| {
                cost.estimate(|usage| usage.cpu_seconds * 1e3 / kib(cost.text_bytes))
            }),
            ("Seconds of processor time", &|cost| cost.estimate(|usage| usage.cpu_seconds)),
            ("Most memory, in MiB", &|cost| cost.estimate(|usage| kib(usage.peak_bytes) / 1024.0)),
            ("The program's code, in KiB (RISC-V with all of the C library; WebAssembly with what it uses)", &|cost| {
                format!("{:.0}", kib(cost.text_bytes))
            }),
            ("The compiled file, in KiB", &|cost| format!("{:.0}", kib(cost.artifact_bytes))),
        ];
        let chart = self.chart().svg().map(|svg| ("compile.svg".to_owned(), svg));
        if chart.is_some() {
            page += "\n![Milliseconds for each KiB of code](compile.svg)\n";
        }
        for (title, cell) in tables {
            let _ = writeln!(page, "\n## {title}\n");
            self.grid(&mut page, cell);
        }
        let (missing, failures) = page::missing(self.gaps());
        page::gaps(&mut page, &missing);
        page::environment(&mut page, false, &self.engines, &self.toolchains, &self.host);
        let json = serde_json::to_string_pretty(self)? + "\n";
        Ok(Published { page, json, charts: chart.into_iter().collect(), failures })
    }

    fn chart(&self) -> Chart {
        let of = |cost: &Result<Cost, String>| {
            let cost = cost.as_ref().ok()?;
            let each = |usage: &Usage| usage.cpu_seconds * 1e3 / (cost.text_bytes as f64 / 1024.0);
            Estimate::of(&cost.rounds.iter().map(each).collect::<Vec<_>>())
        };
        let group = |program: &Compiled| (program.name.clone(), program.cells.iter().map(of).collect());
        Chart {
            title: "What compiling takes".into(),
            unit: "milliseconds of processor time for each KiB of code".into(),
            series: self.engines.iter().map(|engine| engine.name.to_owned()).collect(),
            groups: self.programs.iter().map(group).collect(),
        }
    }

    fn grid(&self, page: &mut String, cell: Column<'_>) {
        let header: Vec<String> =
            std::iter::once("program").chain(self.engines.iter().map(|engine| engine.name)).map(Into::into).collect();
        let row = |program: &Compiled| {
            let cells = program.cells.iter().map(|cost| cost.as_ref().map_or("-".into(), cell));
            std::iter::once(program.name.clone()).chain(cells).collect()
        };
        page::table(page, &header, &self.programs.iter().map(row).collect::<Vec<_>>());
    }

    fn gaps(&self) -> impl Iterator<Item = Gap> {
        self.programs.iter().flat_map(|program| {
            program.cells.iter().zip(&self.engines).filter_map(|(cost, engine)| {
                let reason = cost.as_ref().err()?;
                Some(Gap { engine: engine.name, text: format!("{} by {}: {reason}", program.name, engine.name) })
            })
        })
    }
}
