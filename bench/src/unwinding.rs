//! What it costs a program to leave functions otherwise than by returning: each program beside the same one
//! without.

use std::fmt::Write as _;

use anyhow::Result;
use serde::Serialize;

use crate::engines::{self, REFERENCE};
use crate::host::Host;
use crate::lab::Lab;
use crate::options::Options;
use crate::page;
use crate::program::Program;
use crate::publish::Published;
use crate::report::EngineReport;
use crate::rounds;
use crate::statistics::Estimate;
use crate::toolchain::Toolchain;

/// What the name of a program ends with that returns where the other one does not.
const WITHOUT: &str = "-without";

/// The programs that show that all works.
const QUICK: [&str; 2] = ["jumps", "jumps-without"];

/// A program on an engine.
#[derive(Debug, Serialize)]
struct Row {
    program: String,
    engine: &'static str,
    /// Of processor time, in each round.
    seconds: Vec<f64>,
}

#[derive(Debug, Serialize)]
pub(crate) struct UnwindingReport {
    host: Host,
    runs: usize,
    toolchains: Vec<Toolchain>,
    engines: Vec<EngineReport>,
    rows: Vec<Row>,
    missing: Vec<String>,
    #[serde(skip)]
    failures: Vec<String>,
}

pub(crate) fn run(lab: &mut Lab, options: &Options) -> Result<UnwindingReport> {
    let programs = Program::load(&lab.setup.bench.join("unwinding"), options.programs(&QUICK).as_deref())?;
    let built = lab.build(engines::unwinding(), options)?;
    let (host, rows) = rounds::measure(
        lab,
        options,
        &programs,
        &built,
        |_, _| true,
        |ready, loadable, work| Ok(ready.run(loadable, work)?.seconds),
    );
    let (missing, failures) = page::missing(rows.iter().filter_map(rounds::Row::gap));
    let row = |row: rounds::Row<f64>| Row {
        seconds: row.values(|&seconds| seconds),
        program: row.program,
        engine: row.engine,
    };
    Ok(UnwindingReport {
        host,
        runs: options.runs,
        toolchains: lab.toolchains(),
        rows: rows.into_iter().map(row).collect(),
        engines: built.into_iter().map(EngineReport::of).collect(),
        missing,
        failures,
    })
}

impl UnwindingReport {
    pub(crate) fn publish(&self) -> Result<Published> {
        let mut page = String::from("# Leaving functions otherwise than by returning\n");
        let _ = writeln!(
            page,
            "\n{} rounds. Programs that do little else show what it takes: `jumps`: longjmp out of seven functions, every third\n\
             time; `contexts`: swapcontext, to and fro; `exceptions`: C++ exceptions out of ten functions with destructors,\n\
             every third time; `coroutines`, `pcall`: Lua's, a value from each, an error every third time. Others show what it\n\
             does to programs that have work to do: `parser`: expressions in C++, of which one in 128 is malformed, more than\n\
             ten functions deep, and an exception says so; `calculator`: the same in Lua, one in eight, by pcall and error;\n\
             `permutations`: queens on a board, in Lua, from a coroutine; `save-restore`: Lua whose functions, on RISC-V, save\n\
             registers by calling functions of libgcc's. `speed` is that of the same program without any of it, which returns\n\
             instead, on the same engine: what it costs natively is in the rows of `{REFERENCE}`.\n",
            self.runs
        );
        let header = ["program", "engine", "milliseconds", "of native", "speed of that without"].map(String::from);
        let shown = |estimate: Option<Estimate>| estimate.map_or("-".into(), |estimate| page::estimate(&estimate));
        let ratio = |a: &[f64], b: &[f64]| {
            let ratios: Vec<f64> = a.iter().zip(b).map(|(a, b)| a / b).collect();
            shown(Estimate::of(&ratios))
        };
        let row = |row: &Row| {
            let own = row.seconds.as_slice();
            let milliseconds: Vec<f64> = own.iter().map(|seconds| seconds * 1e3).collect();
            let without = self.seconds(&format!("{}{WITHOUT}", row.program), row.engine);
            vec![
                row.program.clone(),
                row.engine.into(),
                shown(Estimate::of(&milliseconds)),
                ratio(own, self.seconds(&row.program, REFERENCE)),
                ratio(without, own),
            ]
        };
        page::table(&mut page, &header, &self.rows.iter().map(row).collect::<Vec<_>>());
        page::gaps(&mut page, &self.missing);
        page::environment(&mut page, true, &self.engines, &self.toolchains, &self.host);
        let json = serde_json::to_string_pretty(self)? + "\n";
        Ok(Published { page, json, charts: Vec::new(), failures: self.failures.clone() })
    }

    fn seconds(&self, program: &str, engine: &str) -> &[f64] {
        let row = self.rows.iter().find(|row| row.program == program && row.engine == engine);
        row.map_or(&[], |row| &row.seconds)
    }
}
