//! The command line.

use std::ffi::OsString;
use std::path::PathBuf;

use anyhow::{Context, Result, bail, ensure};
use lexopt::prelude::*;

pub(crate) const HELP: &str = "\
Measures riverrun beside its peers.

usage: riverrun-bench TABLE [OPTION]...

  crossing         what calls between host and guest take, and dynamic calls
  heap             what allocations take, on the host's heap and by a libc
  compute          how fast programs run
  unwinding        what longjmp, exceptions and coroutines cost
  start-up         what a program takes that does nothing but print a line
  instances        what many instances of a guest take, of time and of memory
  waiting          what calls that wait for the host take, of time and of memory
  compile          what compiling programs takes: processor time, memory, size of what comes out
  all              all of them, in one report

  --engines A,B    only these engines: their names, or compilers, or interpreters
  --programs A,B   only these programs (folders of bench/programs)
  --runs N         rounds, each of which does everything once (default 7; interpreters, and options
                   of compiled code, take part in three at most; compile has one by default,
                   start-up 20)
  --quick          a subset, to see that all works, in minutes: little work, few programs and rounds,
                   and compiled code without options
  --json FILE      write the report as JSON to FILE too
  --publish        write each table's report to its folder in docs/measurements, and the summary into the README;
                   the sources must be committed

A report goes to standard output, and with plots to out/bench/TABLE, as report.md, report.json and *.svg; that
of all also to out/bench/report.md and report.json. The exit status is 1 if riverrun or native code was not built,
failed, or printed a wrong checksum; what peers cannot do is in the report.
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

impl Options {
    /// The programs that are asked for: these few, if only to see that all works.
    pub(crate) fn programs(&self, quick: &[&str]) -> Option<Vec<String>> {
        let few = || self.quick.then(|| quick.iter().map(ToString::to_string).collect());
        self.programs.clone().or_else(few)
    }
}

/// A table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Topic {
    Crossing,
    Heap,
    Compute,
    StartUp,
    Instances,
    Waiting,
    Compile,
    Unwinding,
}

impl Topic {
    /// In the order of the report.
    const ALL: [Topic; 8] = [
        Topic::Crossing,
        Topic::Heap,
        Topic::Compute,
        Topic::Unwinding,
        Topic::StartUp,
        Topic::Instances,
        Topic::Waiting,
        Topic::Compile,
    ];

    /// Its name on the command line and of its folder.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Topic::Crossing => "crossing",
            Topic::Heap => "heap",
            Topic::Compute => "compute",
            Topic::Unwinding => "unwinding",
            Topic::StartUp => "start-up",
            Topic::Instances => "instances",
            Topic::Waiting => "waiting",
            Topic::Compile => "compile",
        }
    }

    fn default_runs(self, quick: bool) -> usize {
        match self {
            Topic::Compile => 1,
            _ if quick => 3,
            Topic::StartUp => 20,
            Topic::Compute | Topic::Crossing | Topic::Heap | Topic::Instances | Topic::Unwinding | Topic::Waiting => 7,
        }
    }
}

/// What the command line asks for.
pub(crate) struct Command {
    pub(crate) topics: Vec<(Topic, Options)>,
    /// Keep the reports with the sources.
    pub(crate) publish: bool,
}

/// What the command line asks for; nothing if it is for help.
pub(crate) fn parse() -> Result<Option<Command>> {
    let mut options = Options { engines: None, programs: None, runs: 0, quick: false, json: None };
    let mut runs = None;
    let mut command = None;
    let mut publish = false;
    let mut parser = lexopt::Parser::from_env();
    while let Some(argument) = parser.next()? {
        match argument {
            Long("engines") => options.engines = Some(list(&parser.value()?)?),
            Long("programs") => options.programs = Some(list(&parser.value()?)?),
            Long("runs") => runs = Some(parser.value()?.parse::<usize>().context("--runs")?),
            Long("quick") => options.quick = true,
            Long("json") => options.json = Some(PathBuf::from(parser.value()?)),
            Long("publish") => publish = true,
            Long("help") | Short('h') => return Ok(None),
            Value(value) if command.is_none() => command = Some(value.string()?),
            other => return Err(other.unexpected().into()),
        }
    }
    ensure!(runs != Some(0), "--runs: at least one");
    let names = Topic::ALL.map(Topic::name).join(", ");
    let topics = match command.as_deref() {
        Some("all") => Topic::ALL.to_vec(),
        Some(name) => Topic::ALL.into_iter().filter(|topic| topic.name() == name).collect(),
        None => bail!("say what to measure: {names} or all (see --help)"),
    };
    ensure!(!topics.is_empty(), "no such table: there are {names} and all (see --help)");
    ensure!(topics.len() == 1 || options.json.is_none(), "--json: one report at a time");
    ensure!(!(publish && options.quick), "--publish: what --quick measures is not for comparison");
    let is_subset = options.engines.is_some() || options.programs.is_some();
    ensure!(topics.len() == 1 || !is_subset, "--engines and --programs: one table at a time");
    let with_runs =
        |topic: Topic| Options { runs: runs.unwrap_or(topic.default_runs(options.quick)), ..options.clone() };
    Ok(Some(Command { topics: topics.into_iter().map(|topic| (topic, with_runs(topic))).collect(), publish }))
}

/// The parts of `a,b,c`.
fn list(value: &OsString) -> Result<Vec<String>> {
    let text = value.to_str().context("a list of names, separated by commas")?;
    Ok(text.split(',').map(|name| name.trim().to_owned()).collect())
}
