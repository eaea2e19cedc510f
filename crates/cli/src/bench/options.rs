//! The command line of `riverrun bench`.

use std::ffi::{OsStr, OsString};
use std::time::Duration;

use lexopt::Arg::{Long, Short, Value};
use lexopt::Parser;

use super::contestant::Contestant;
use crate::Result;
use crate::args::RunOptions;
use crate::values;

pub(crate) const HELP: &str = "\
riverrun bench [OPTIONS] A B [-- ARGUMENTS..]   is B faster than A?

A and B are guests, functions of guests (FILE:FUNCTION; it gets ARGUMENTS as whole numbers, after main
has returned), or programs of the host, which run outside of any sandbox. Both run at once on one
processor, which shares its time between them, so that what disturbs the one disturbs the other; what is
compared is the processor time that each gets until it is done. A guest's is that of its run alone, a host
program's that of its whole process. Each is repeated until a turn takes some 50 ms; a run is four turns.

The verdict is one of
  faster   B takes less time than A, by more than the threshold
  slower   B takes more time than A, by more than the threshold
  noise    neither is certain; it says which differences are ruled out
It is wrong once in a thousand times at most, if turns are independent of each other.

Options:
  --runs N            exactly N runs; if not given, at least 5, and more until there is a verdict
  --discard N         runs before those, to warm up: 1 if not given
  --time TIME         be content with 5 runs after this time: 60s if not given (not with --runs)
  --threshold PERCENT differences that do not matter: 1 if not given. Where code happens to lie in
                      memory makes as much.
  --json              print the result, with all turns, as JSON
  --engine ENGINE, --compile, --timeout TIME, --memory SIZE, --stack SIZE, --dir HOST:GUEST[:ro],
  --env NAME=VALUE, --seed N
                      as of run; the seed is another in each turn, and the same for both, if not given.
                      A host program has none of these.

Neither reads standard input, and what they print is not shown; where it differs, the report says so.
The exit status is 0 whatever the verdict, and 125 if one of the two fails.
";

/// What is to be done.
#[derive(Debug)]
pub(crate) enum Request {
    Help,
    Compare(Options),
    /// In a process of its own: measure one of the two.
    Sample(Options, Turn),
}

/// A comparison.
#[derive(Debug)]
pub(crate) struct Options {
    pub(crate) contestants: [Contestant; 2],
    /// What guests are run with, and the arguments; its `program` is not used.
    pub(crate) guest: RunOptions,
    pub(crate) runs: Option<usize>,
    pub(crate) discard: usize,
    pub(crate) time: Duration,
    /// A part of one.
    pub(crate) threshold: f64,
    pub(crate) json: bool,
}

/// What a process that measures has to do.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Turn {
    /// Which of the two.
    pub(crate) contestant: usize,
    pub(crate) repetitions: u64,
    /// For guests that no seed was given for.
    pub(crate) seed: u64,
}

impl Turn {
    /// The option that says so to [`parse`], which the help does not tell.
    pub(crate) fn option(self) -> String {
        format!("--turn={},{},{}", self.contestant, self.repetitions, self.seed)
    }

    fn parse(text: &OsStr) -> Option<Turn> {
        let numbers: Option<Vec<u64>> = text.to_str()?.split(',').map(|number| number.parse().ok()).collect();
        let [contestant @ 0..=1, repetitions, seed] = numbers?[..] else { return None };
        Some(Turn { contestant: contestant as usize, repetitions, seed })
    }
}

/// Reads what follows `bench`. Behind `--` stand the contestants' arguments.
pub(crate) fn parse(arguments: &[OsString]) -> Result<Request> {
    let end = arguments.iter().position(|argument| argument == "--").unwrap_or(arguments.len());
    let mut parser = Parser::from_args(&arguments[..end]);
    let mut guest = RunOptions { args: arguments.iter().skip(end + 1).cloned().collect(), ..RunOptions::default() };
    let (mut runs, mut discard, mut time, mut threshold) = (None, 1, Duration::from_secs(60), 0.01);
    let (mut json, mut turn) = (false, None);
    let mut files = Vec::new();
    while let Some(arg) = parser.next()? {
        match arg {
            Long("runs") => runs = Some(count("--runs", &parser.value()?, 1)?),
            Long("discard") => discard = count("--discard", &parser.value()?, 0)?,
            Long("time") => time = values::duration("--time", &parser.value()?)?,
            Long("threshold") => threshold = percent(&parser.value()?)?,
            Long("json") => json = true,
            Long("engine") => guest.engine = Some(values::engine(&parser.value()?)?),
            Long("compile") => guest.compile = true,
            Long("timeout") => guest.timeout = Some(values::duration("--timeout", &parser.value()?)?),
            Long("memory") => guest.memory = Some(values::memory_bytes("--memory", &parser.value()?)?),
            Long("stack") => guest.stack = Some(values::stack_bytes("--stack", &parser.value()?)?),
            Long("dir") => guest.dirs.push(values::mount(&parser.value()?)?),
            Long("env") => guest.env.push(values::variable(&parser.value()?)?),
            Long("seed") => guest.seed = Some(values::number("--seed", &parser.value()?)?),
            Long("turn") => turn = Some(Turn::parse(&parser.value()?).ok_or("--turn: not for use by hand")?),
            Long("help") | Short('h') => return Ok(Request::Help),
            Value(file) => files.push(file),
            other => return Err(format!("{}; riverrun bench --help lists the options", other.unexpected()).into()),
        }
    }
    let Ok([a, b]) = <[OsString; 2]>::try_from(files) else {
        return Err("bench compares two programs; say riverrun bench [OPTIONS] A B [-- ARGUMENTS]".into());
    };
    let contestants = [Contestant::parse(&a)?, Contestant::parse(&b)?];
    for contestant in &contestants {
        contestant.check(&guest.args)?;
    }
    let options = Options { contestants, guest, runs, discard, time, threshold, json };
    Ok(match turn {
        Some(turn) => Request::Sample(options, turn),
        None => Request::Compare(options),
    })
}

/// A number of runs.
fn count(option: &str, value: &OsString, least: usize) -> Result<usize> {
    const MOST: usize = 1000;
    let count = value.to_str().and_then(|text| text.parse().ok()).filter(|count| (least..=MOST).contains(count));
    count.ok_or_else(|| format!("{option} {}: not a number from {least} to {MOST}", value.display()).into())
}

/// Percent, as a part of one.
fn percent(value: &OsString) -> Result<f64> {
    let text = value.to_str().map(|text| text.strip_suffix('%').unwrap_or(text));
    let percent = text.and_then(|text| text.parse::<f64>().ok()).filter(|percent| (0.0..=100.0).contains(percent));
    percent
        .map(|percent| percent / 100.0)
        .ok_or_else(|| format!("--threshold {}: not a percentage from 0 to 100", value.display()).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_turn_is_read_as_it_is_written() {
        let turn = Turn { contestant: 1, repetitions: 1000, seed: u64::MAX };
        let read = Turn::parse(OsStr::new(turn.option().strip_prefix("--turn=").unwrap())).unwrap();
        assert_eq!((read.contestant, read.repetitions, read.seed), (1, 1000, u64::MAX));
        for wrong in ["", "2,1,1", "0,1", "0,1,1,1", "0,-1,1"] {
            assert!(Turn::parse(OsStr::new(wrong)).is_none(), "{wrong}");
        }
    }

    #[test]
    fn percentages() {
        let read = |text: &str| percent(&text.into()).ok();
        assert_eq!((read("1"), read("2.5%"), read("0")), (Some(0.01), Some(0.025), Some(0.0)));
        for wrong in ["", "%", "-1", "101", "NaN", "inf", "one"] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }
}
