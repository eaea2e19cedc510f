//! The command line.

use std::ffi::OsString;
use std::path::PathBuf;

use anyhow::{Context, Result, bail, ensure};
use lexopt::prelude::*;

pub(crate) const HELP: &str = "\
Measures riverrun beside its peers, on the same programs.

usage: riverrun-bench compute|compile|start-up|heap|all [OPTION]...

  compute          how fast programs run
  compile          what compiling them takes: processor time, memory, size of what comes out
  start-up         what a program takes that does nothing but print a line
  heap             what allocations take, on the host's heap and by a libc
  all              all of them

  --engines A,B    only these engines: their names, or compilers, or interpreters
  --programs A,B   only these programs (folders of bench/programs)
  --runs N         rounds, each of which does everything once (default 7; interpreters take part
                   in three at most; compile has one by default, start-up 20)
  --quick          a small amount of work, to see that all works
  --json FILE      write the report as JSON to FILE too

Each report goes to standard output, and with plots to out/bench/compute, compile, start-up and heap, as
report.md, report.json and *.svg. The exit status is 1 if any run failed or printed a wrong checksum, or
if riverrun was not built.
";

/// What to measure.
#[derive(Clone, Debug)]
pub(crate) struct Options {
    pub(crate) engines: Option<Vec<String>>,
    pub(crate) programs: Option<Vec<String>>,
    /// Rounds.
    pub(crate) runs: usize,
    pub(crate) quick: bool,
    pub(crate) json: Option<PathBuf>,
}

/// A table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Topic {
    Compute,
    Compile,
    StartUp,
    Heap,
}

impl Topic {
    /// Its name on the command line and of its folder.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Topic::Compute => "compute",
            Topic::Compile => "compile",
            Topic::StartUp => "start-up",
            Topic::Heap => "heap",
        }
    }

    fn default_runs(self) -> usize {
        match self {
            Topic::Compute | Topic::Heap => 7,
            Topic::Compile => 1,
            Topic::StartUp => 20,
        }
    }
}

/// What the command line asks for; nothing if it is for help.
pub(crate) fn parse() -> Result<Vec<(Topic, Options)>> {
    let mut options = Options { engines: None, programs: None, runs: 0, quick: false, json: None };
    let mut runs = None;
    let mut command = None;
    let mut parser = lexopt::Parser::from_env();
    while let Some(argument) = parser.next()? {
        match argument {
            Long("engines") => options.engines = Some(list(&parser.value()?)?),
            Long("programs") => options.programs = Some(list(&parser.value()?)?),
            Long("runs") => runs = Some(parser.value()?.parse::<usize>().context("--runs")?),
            Long("quick") => options.quick = true,
            Long("json") => options.json = Some(PathBuf::from(parser.value()?)),
            Long("help") | Short('h') => return Ok(Vec::new()),
            Value(value) if command.is_none() => command = Some(value.string()?),
            other => return Err(other.unexpected().into()),
        }
    }
    ensure!(runs != Some(0), "--runs: at least one");
    let all = [Topic::Compute, Topic::Compile, Topic::StartUp, Topic::Heap];
    let topics = match command.as_deref() {
        Some("all") => all.to_vec(),
        Some(name) => all.into_iter().filter(|topic| topic.name() == name).collect(),
        None => bail!("say what to measure: compute, compile, start-up, heap or all (see --help)"),
    };
    ensure!(!topics.is_empty(), "no such command: there are compute, compile, start-up, heap and all (see --help)");
    ensure!(topics.len() == 1 || options.json.is_none(), "--json: one report at a time");
    let with_runs = |topic: Topic| Options { runs: runs.unwrap_or(topic.default_runs()), ..options.clone() };
    Ok(topics.into_iter().map(|topic| (topic, with_runs(topic))).collect())
}

/// The parts of `a,b,c`.
fn list(value: &OsString) -> Result<Vec<String>> {
    let text = value.to_str().context("a list of names, separated by commas")?;
    Ok(text.split(',').map(|name| name.trim().to_owned()).collect())
}
