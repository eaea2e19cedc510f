//! The command line of `riverrun bench`.

use std::ffi::OsString;
use std::time::Duration;

use super::contestant::Contestant;
use crate::Result;
use crate::options::{GuestOptions, RunOptions};
use crate::values;

const HELP: &str = "\
A and B are guests, functions of guests (FILE:FUNCTION; it gets ARGUMENTS as whole numbers, after main has returned), or \
programs of the host, which run outside of any sandbox. Both run at once on one processor, which shares its time between \
them, so that what disturbs the one disturbs the other; what is compared is the processor time that each gets until it is \
done. A guest's is that of its run alone, a host program's that of its whole process. Each is repeated until a turn takes \
some 50 ms; a run is four turns.

The verdict is one of
  faster   B takes less time than A, by more than the threshold
  slower   B takes more time than A, by more than the threshold
  noise    neither is certain; it says which differences are ruled out
It is wrong once in a thousand times at most, if turns are independent of each other.

Options of guests are as of run; the seed is another in each turn, and the same for both, if not given. Neither reads \
standard input, and what they print is not shown; where it differs, the report says so. The exit status is 0 whatever the \
verdict, and 125 if one of the two fails.";

/// Is B faster than A?
#[derive(Debug, clap::Args)]
#[command(args_override_self = true, after_help = HELP)]
pub(crate) struct BenchOptions {
    a: OsString,
    b: OsString,
    /// Exactly N runs; if not given, at least 5, and more until there is a verdict.
    #[arg(long, value_name = "N", value_parser = count::<1>, allow_negative_numbers = true)]
    runs: Option<usize>,
    /// Runs before those, to warm up.
    #[arg(long, value_name = "N", value_parser = count::<0>, default_value = "1", allow_negative_numbers = true)]
    discard: usize,
    /// Be content with 5 runs after this time, if --runs does not say how many.
    #[arg(long, value_name = "TIME", value_parser = values::duration, default_value = "60s")]
    #[arg(allow_hyphen_values = true)]
    time: Duration,
    /// Differences that do not matter. Where code happens to lie in memory makes as much.
    #[arg(long, value_name = "PERCENT", value_parser = percent, default_value = "1", allow_hyphen_values = true)]
    threshold: f64,
    /// Print the result, with all turns, as JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    guest: GuestOptions,
    #[arg(long, hide = true, value_parser = Turn::parse)]
    turn: Option<Turn>,
    /// What both are given.
    #[arg(last = true)]
    arguments: Vec<OsString>,
}

/// A comparison.
#[derive(Debug)]
pub(crate) struct Options {
    pub(crate) contestants: [Contestant; 2],
    guest: GuestOptions,
    /// The arguments.
    pub(crate) arguments: Vec<OsString>,
    pub(crate) runs: Option<usize>,
    pub(crate) discard: usize,
    pub(crate) time: Duration,
    /// A part of one.
    pub(crate) threshold: f64,
    pub(crate) json: bool,
}

impl Options {
    /// What one of the two is run with.
    pub(crate) fn of(&self, contestant: &Contestant) -> RunOptions {
        let program = std::iter::once(contestant.path().as_os_str().to_owned());
        let words = program.chain(self.arguments.iter().cloned()).collect();
        RunOptions { words, guest: self.guest.clone(), ..RunOptions::default() }
    }

    /// Whether guests are to be compiled first.
    pub(crate) fn compiles(&self) -> bool {
        self.guest.compile
    }
}

/// The work of a measuring process.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Turn {
    /// Which of the two.
    pub(crate) contestant: usize,
    pub(crate) repetitions: u64,
    /// For guests that no seed was given for.
    pub(crate) seed: u64,
}

impl Turn {
    /// The option that says so, which the help does not tell.
    pub(crate) fn option(self) -> String {
        format!("--turn={},{},{}", self.contestant, self.repetitions, self.seed)
    }

    fn parse(text: &str) -> std::result::Result<Turn, String> {
        let numbers: Option<Vec<u64>> = text.split(',').map(|number| number.parse().ok()).collect();
        match numbers.as_deref() {
            Some(&[contestant @ 0..=1, repetitions, seed]) => {
                Ok(Turn { contestant: contestant as usize, repetitions, seed })
            }
            _ => Err("not for use by hand".to_owned()),
        }
    }
}

impl BenchOptions {
    /// What guests are run with.
    pub(crate) fn run(&self) -> RunOptions {
        RunOptions { guest: self.guest.clone(), ..RunOptions::default() }
    }

    /// What is to be compared; and the turn that is to be taken, in a process of its own.
    pub(crate) fn resolve(self) -> Result<(Options, Option<Turn>)> {
        let contestants = [Contestant::parse(&self.a)?, Contestant::parse(&self.b)?];
        for contestant in &contestants {
            contestant.check(&self.arguments)?;
        }
        let BenchOptions { guest, arguments, runs, discard, time, threshold, json, turn, .. } = self;
        Ok((Options { contestants, guest, arguments, runs, discard, time, threshold, json }, turn))
    }
}

/// A number of runs.
fn count<const LEAST: usize>(value: &str) -> std::result::Result<usize, String> {
    const MOST: usize = 1000;
    let count = value.parse().ok().filter(|count| (LEAST..=MOST).contains(count));
    count.ok_or_else(|| format!("not a number from {LEAST} to {MOST}"))
}

/// Percent, as a part of one.
fn percent(value: &str) -> std::result::Result<f64, String> {
    let text = value.strip_suffix('%').unwrap_or(value);
    let percent = text.parse::<f64>().ok().filter(|percent| (0.0..=100.0).contains(percent));
    percent.map(|percent| percent / 100.0).ok_or_else(|| "not a percentage from 0 to 100".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_turn_is_read_as_it_is_written() {
        let turn = Turn { contestant: 1, repetitions: 1000, seed: u64::MAX };
        let read = Turn::parse(turn.option().strip_prefix("--turn=").unwrap()).unwrap();
        assert_eq!((read.contestant, read.repetitions, read.seed), (1, 1000, u64::MAX));
        for wrong in ["", "2,1,1", "0,1", "0,1,1,1", "0,-1,1"] {
            assert!(Turn::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn percentages() {
        let read = |text: &str| percent(text).ok();
        assert_eq!((read("1"), read("2.5%"), read("0")), (Some(0.01), Some(0.025), Some(0.0)));
        for wrong in ["", "%", "-1", "101", "NaN", "inf", "one"] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }
}
