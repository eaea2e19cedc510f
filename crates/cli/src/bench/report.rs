//! The output of `riverrun bench`: every run, the least, the most, the mean, and the verdict.

use std::fmt::Write as _;

use serde::Serialize;

use super::TURNS;
use super::options::Options;
use super::sample::Sample;
use super::statistics::{ERROR_CHANCE, Estimate, Verdict};
use super::turns::Table;
use crate::Result;

/// Some turns.
#[derive(Debug, Serialize)]
pub(crate) struct Run {
    pub(crate) turns: Vec<[Sample; 2]>,
}

impl Run {
    pub(crate) fn measure(table: &mut Table<'_>, repetitions: u64) -> Result<Run> {
        let turns: Result<Vec<_>> = (0..TURNS).map(|_| table.turn(repetitions)).collect();
        Ok(Run { turns: turns? })
    }

    /// Of the ratios of its turns.
    pub(crate) fn logarithms(&self) -> impl Iterator<Item = f64> {
        self.turns.iter().map(|[a, b]| (b.seconds / a.seconds).ln())
    }

    /// Of one turn, on average.
    fn seconds(&self, contestant: usize) -> f64 {
        mean(self.turns.iter().map(|turn| turn[contestant].seconds))
    }
}

/// The result.
#[derive(Debug, Serialize)]
pub(crate) struct Comparison {
    contestants: [Contestant; 2],
    /// In each turn.
    repetitions: u64,
    runs: Vec<Run>,
    /// A part of one.
    threshold: f64,
    /// How likely the interval holds the true ratio.
    confidence: f64,
    /// Of B's time and A's.
    estimate: Estimate,
    verdict: Verdict,
    is_same_output: bool,
}

#[derive(Debug, Serialize)]
struct Contestant {
    name: String,
    engine: String,
    /// Of one repetition, where they are counted.
    instructions: Option<u64>,
    /// Seconds of processor time of one repetition: least, most and mean of the runs.
    low: f64,
    high: f64,
    mean: f64,
}

fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = values.fold((0.0, 0.0), |(sum, count), value| (sum + value, count + 1.0));
    sum / count
}

impl Comparison {
    /// Of one run or more.
    pub(crate) fn new(options: &Options, repetitions: u64, runs: Vec<Run>, estimate: Estimate) -> Comparison {
        let contestant = |index: usize| {
            let seconds = || runs.iter().map(move |run| run.seconds(index) / repetitions as f64);
            let sample = &runs[0].turns[0][index];
            Contestant {
                name: options.contestants[index].to_string(),
                engine: sample.engine.clone(),
                instructions: sample.instructions.map(|instructions| instructions / repetitions),
                low: seconds().fold(f64::INFINITY, f64::min),
                high: seconds().fold(0.0, f64::max),
                mean: mean(seconds()),
            }
        };
        Comparison {
            contestants: [contestant(0), contestant(1)],
            repetitions,
            threshold: options.threshold,
            confidence: 1.0 - ERROR_CHANCE,
            estimate,
            verdict: estimate.verdict(options.threshold),
            is_same_output: runs.iter().flat_map(|run| &run.turns).all(|[a, b]| a.output == b.output),
            runs,
        }
    }

    pub(crate) fn json(&self) -> Result<String> {
        Ok(serde_json::to_string_pretty(self)? + "\n")
    }

    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        for (letter, contestant) in ["A", "B"].iter().zip(&self.contestants) {
            let Contestant { name, engine, instructions, .. } = contestant;
            let instructions = instructions.map_or(String::new(), |count| format!(", {count} instructions"));
            let _ = writeln!(text, "{letter}: {name} ({engine}{instructions})");
        }
        let each = if self.repetitions == 1 { "once".into() } else { format!("{} times", self.repetitions) };
        let _ = writeln!(
            text,
            "Processor time of doing it once; a run is {TURNS} turns, in each of which both do it {each}.\n\n\
             {:>5} {:>12} {:>12} {:>8}",
            "run", "A", "B", "B/A"
        );
        let unit = Unit::of(self.contestants[0].mean.min(self.contestants[1].mean));
        let mut row = |name: &str, a: f64, b: f64, ratio: Option<f64>| {
            let ratio = ratio.map_or(String::new(), |ratio| format!(" {ratio:>8.3}"));
            let _ = writeln!(text, "{name:>5} {:>12} {:>12}{ratio}", unit.show(a), unit.show(b));
        };
        for (number, run) in self.runs.iter().enumerate() {
            let [a, b] = [0, 1].map(|index| run.seconds(index) / self.repetitions as f64);
            row(&(number + 1).to_string(), a, b, Some(mean(run.logarithms()).exp()));
        }
        let [a, b] = &self.contestants;
        row("low", a.low, b.low, None);
        row("high", a.high, b.high, None);
        row("mean", a.mean, b.mean, None);
        let _ = writeln!(text, "\n{}", self.verdict());
        if !self.is_same_output {
            text += "B printed or returned something else than A did.\n";
        }
        text
    }

    fn verdict(&self) -> String {
        let Estimate { ratio, low, high } = self.estimate;
        let threshold = format!("{} %", (self.threshold * 1e5).round() / 1e3);
        let confidence = format!("{} %", (self.confidence * 1e5).round() / 1e3);
        if low == 0.0 {
            return "noise: so few runs tell nothing".into();
        }
        let interval = format!("the {confidence} interval is {} to {}", signed(low), signed(high));
        match self.verdict {
            Verdict::Slower | Verdict::Faster => {
                let (word, than) = if ratio > 1.0 { ("slower", "more") } else { ("faster", "less") };
                let percent = (ratio - 1.0).abs() * 100.0;
                format!("{word}: B takes {percent:.1} % {than} time than A; {interval}")
            }
            Verdict::Noise if self.estimate.is_same(self.threshold) => {
                format!("noise: there is no difference of more than {threshold}; {interval}")
            }
            Verdict::Noise => format!(
                "noise: B takes {} time, but a difference of more than {threshold} is not certain; {interval}",
                signed(ratio)
            ),
        }
    }
}

/// A ratio as a difference.
fn signed(ratio: f64) -> String {
    format!("{:+.1} %", (ratio - 1.0) * 100.0)
}

/// A unit of time.
struct Unit {
    name: &'static str,
    seconds: f64,
}

impl Unit {
    /// One in which this is not much less than one.
    fn of(seconds: f64) -> Unit {
        let units = [("s", 1.0), ("ms", 1e-3), ("us", 1e-6)];
        let unit = units.into_iter().find(|(_, unit)| seconds >= *unit).unwrap_or(("ns", 1e-9));
        Unit { name: unit.0, seconds: unit.1 }
    }

    fn show(&self, seconds: f64) -> String {
        format!("{:.2} {}", seconds / self.seconds, self.name)
    }
}
