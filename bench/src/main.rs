//! Measures riverrun beside its peers, on the same programs.

mod compute;
mod engine;
mod engines;
mod host;
mod program;
mod report;
mod statistics;
mod toolchain;

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail, ensure};
use lexopt::prelude::*;

const HELP: &str = "\
Measures riverrun beside its peers, on the same programs.

usage: riverrun-bench compute [OPTION]...

  --engines A,B    only these engines: riverrun, libriscv, libriscv-arena, wasmi, qemu, native
  --programs A,B   only these programs (folders of bench/programs)
  --runs N         rounds, each of which runs every program on every engine once (default 7)
  --quick          a small amount of work, to see that all works
  --json FILE      write the report as JSON to FILE too

The report goes to standard output, and to report.md and report.json in out/bench/compute.
The exit status is 1 if any run failed or printed a wrong checksum, or if riverrun was not built.
";

fn main() -> ExitCode {
    match command() {
        Ok(failures) if failures.is_empty() => ExitCode::SUCCESS,
        Ok(failures) => {
            eprintln!("failed:\n  {}", failures.join("\n  "));
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("riverrun-bench: {error:#}");
            ExitCode::from(2)
        }
    }
}

/// Does what the command line says and returns the runs that failed.
fn command() -> Result<Vec<String>> {
    let mut options = compute::Options { engines: None, programs: None, runs: 7, quick: false };
    let mut json = None;
    let mut command = None;
    let mut parser = lexopt::Parser::from_env();
    while let Some(argument) = parser.next()? {
        match argument {
            Long("engines") => options.engines = Some(list(&parser.value()?)?),
            Long("programs") => options.programs = Some(list(&parser.value()?)?),
            Long("runs") => options.runs = parser.value()?.parse().context("--runs")?,
            Long("quick") => options.quick = true,
            Long("json") => json = Some(PathBuf::from(parser.value()?)),
            Long("help") | Short('h') => {
                print!("{HELP}");
                return Ok(Vec::new());
            }
            Value(value) if command.is_none() => command = Some(value.string()?),
            other => return Err(other.unexpected().into()),
        }
    }
    match command.as_deref() {
        Some("compute") => {}
        Some(other) => bail!("no command is called {other:?}; there is compute (see --help)"),
        None => bail!("say what to measure: compute (see --help)"),
    }
    ensure!(options.runs > 0, "--runs: at least one");

    let report = compute::run(&options)?;
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../out/bench/compute");
    fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
    let as_json = serde_json::to_string_pretty(&report)? + "\n";
    let page = report.markdown();
    fs::write(folder.join("report.md"), &page)?;
    fs::write(folder.join("report.json"), &as_json)?;
    if let Some(file) = json {
        fs::write(&file, &as_json).with_context(|| file.display().to_string())?;
    }
    print!("{page}");
    Ok(report.failures())
}

/// The parts of `a,b,c`.
fn list(value: &OsString) -> Result<Vec<String>> {
    let text = value.to_str().context("a list of names, separated by commas")?;
    Ok(text.split(',').map(|name| name.trim().to_owned()).collect())
}
