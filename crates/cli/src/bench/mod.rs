//! `riverrun bench`: measures whether one of two programs is faster.

mod contestant;
mod options;
mod report;
mod sample;
mod statistics;
mod turns;

use std::ffi::OsString;
use std::io::{IsTerminal, Write};
use std::process::ExitCode;
use std::time::Instant;

use crate::Result;
use crate::run;
use contestant::Contestant;
pub(crate) use options::BenchOptions;
use options::Options;
use report::{Comparison, Run};
use statistics::{ERROR_CHANCE, Estimate, Verdict};
use turns::Table;

/// Turns of a run: each contestant is first equally often, and linear drift cancels out.
const TURNS: usize = 4;

/// Runs before the first verdict, unless the user says how many there are to be.
const LEAST_RUNS: usize = 5;

/// `riverrun bench`; `arguments` are those that say so, for processes that measure.
pub(crate) fn bench(options: BenchOptions, arguments: &[OsString]) -> Result<ExitCode> {
    let (options, turn) = options.resolve()?;
    if let Some(turn) = turn {
        return sample::sample(&options, turn);
    }
    compile(&options)?;
    let comparison = compare(&options, &mut Table { arguments, count: 0 })?;
    crate::print(&if options.json { comparison.json()? } else { comparison.text() })
}

/// Compiles the guests before anything is timed, if the options ask for it.
fn compile(options: &Options) -> Result<()> {
    for contestant in options.contestants.iter().filter(|_| options.compiles()) {
        if !matches!(contestant, Contestant::Native(_)) {
            let guest = options.of(contestant);
            let engine = riverrun::Engine::new(&run::config(&guest))?;
            run::compiled(run::load(&engine, guest.program())?, &guest)?;
        }
    }
    Ok(())
}

/// Measures until there is a verdict, or as many runs as the user wants.
fn compare(options: &Options, table: &mut Table<'_>) -> Result<Comparison> {
    let progress = Progress { live: std::io::stderr().is_terminal() };
    progress.show("how long do they take?");
    let repetitions = repetitions(table)?;
    for run in 0..options.discard {
        progress.show(&format!("warming up, run {} of {}", run + 1, options.discard));
        Run::measure(table, repetitions)?;
    }
    let begin = Instant::now();
    let mut runs: Vec<Run> = Vec::new();
    let (mut look, mut next_look) = (0, LEAST_RUNS);
    let estimate = loop {
        let of = options.runs.map_or(String::new(), |runs| format!(" of {runs}"));
        progress.show(&format!("run {}{of}", runs.len() + 1));
        runs.push(Run::measure(table, repetitions)?);
        let (is_last, chance) = match options.runs {
            Some(wanted) => (runs.len() == wanted, ERROR_CHANCE),
            None => {
                let is_over = runs.len() >= LEAST_RUNS && begin.elapsed() >= options.time;
                (is_over, statistics::chance_of_look(look))
            }
        };
        if !is_last && (options.runs.is_some() || runs.len() < next_look) {
            continue;
        }
        let logarithms: Vec<f64> = runs.iter().flat_map(Run::logarithms).collect();
        let estimate = Estimate::of(&logarithms, chance).ok_or("nothing was measured")?;
        let is_certain = estimate.verdict(options.threshold) != Verdict::Noise || estimate.is_same(options.threshold);
        if is_last || is_certain {
            break estimate;
        }
        (look, next_look) = (look + 1, next_look + next_look.div_ceil(2));
    };
    progress.clear();
    Ok(Comparison::new(options, repetitions, runs, estimate))
}

/// So many that a turn takes the slower one long enough for a clock and a scheduler that count in milliseconds,
/// and the faster one, if there is much between them, not too short.
fn repetitions(table: &mut Table<'_>) -> Result<u64> {
    const SURE_SECONDS: f64 = 0.005;
    const SLOWER_SECONDS: f64 = 0.05;
    const FASTER_SECONDS: f64 = 0.002;
    let mut repetitions = 1_u64;
    loop {
        let [a, b] = table.turn(repetitions)?;
        let (slower, faster) = (a.seconds.max(b.seconds), a.seconds.min(b.seconds));
        if slower >= SURE_SECONDS {
            let times = (SLOWER_SECONDS / slower).max(FASTER_SECONDS / faster.max(1e-6));
            return Ok((repetitions as f64 * times).ceil().max(1.0) as u64);
        }
        repetitions = repetitions.saturating_mul(8);
    }
}

/// A line on the terminal that is written over; nothing in a pipe.
struct Progress {
    live: bool,
}

impl Progress {
    fn show(&self, text: &str) {
        if self.live {
            // Only decoration.
            let _ = write!(std::io::stderr(), "\r\x1b[K{text}");
        }
    }

    fn clear(&self) {
        self.show("");
    }
}
