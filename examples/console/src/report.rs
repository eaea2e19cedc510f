//! What the races say: each run, the least, the most, the mean; the step alone and the whole console, and that the
//! two differ.

use std::fmt::Write as _;
use std::time::Duration;

use riverrun::{Error, Program};

use crate::console::{Console, Step, programs};
use crate::race::{Work, race};
use crate::statistics::{ERROR_CHANCE, Estimate, Verdict};

/// How much is measured.
#[derive(Clone, Debug)]
pub struct Options {
    /// Runs that count.
    pub runs: usize,
    /// Runs before them.
    pub discard: usize,
    /// Processor time of one race, for each of the three, about.
    pub time: Duration,
}

/// Races of a run: the start is another's each time, and intervals need more than a few.
const RACES: usize = 4;
/// Differences that do not matter.
const THRESHOLD: f64 = 0.01;

/// Figures of one engine.
pub struct Report {
    engine: &'static str,
    letters: u64,
    /// Of a run, in the interpreter: steps alone, and rendering. Nothing where they are not counted.
    instructions: Option<[[f64; 3]; 2]>,
    steps: Table,
    pages: Table,
}

/// The races of some work.
struct Table {
    /// For each run its races, with seconds for one step, or one page.
    runs: Vec<Vec<[f64; 3]>>,
}

impl Report {
    /// Measures all engines.
    ///
    /// # Errors
    /// If the guest traps.
    pub fn measure(text: &[u8], options: &Options) -> Result<Vec<Report>, Error> {
        programs()?.iter().map(|(engine, program)| Report::of(engine, program, text, options)).collect()
    }

    fn of(engine: &'static str, program: &Program, text: &[u8], options: &Options) -> Result<Report, Error> {
        let letters = text.iter().filter(|&&letter| letter > b' ').count() as u64;
        let counted = |step| -> Result<[f64; 2], Error> {
            let mut console = Console::new(program, step, text)?;
            console.render()?;
            let before = console.instructions();
            console.render()?;
            let page = console.instructions() - before;
            let before = console.instructions();
            console.repeat(0, 1000)?;
            Ok([(console.instructions() - before) as f64 / 1000.0, page as f64])
        };
        let instructions = if program.is_compiled() {
            None
        } else {
            let [c, assembly, host] = Step::ALL.map(counted);
            let [c, assembly, host] = [c?, assembly?, host?];
            Some([0, 1].map(|work| [c[work], assembly[work], host[work]]))
        };
        let steps = Table::measure(program, text, options, Work::Steps)?;
        let pages = Table::measure(program, text, options, Work::Pages)?;
        Ok(Report { engine, letters, instructions, steps, pages })
    }

    /// The report, in words and figures.
    pub fn text(&self) -> String {
        let mut text = format!("## In {}\n", self.engine);
        let _ = writeln!(text, "\nThe step alone, in a loop that does nothing else. Nanoseconds for each step:\n");
        self.steps.show(&mut text, 1e9);
        self.counts(&mut text, 0, "step");
        let _ = writeln!(
            text,
            "\nThe console: a text of {} letters rendered, glyph by glyph, with a step for each letter. Milliseconds \
             for the text:\n",
            self.letters
        );
        self.pages.show(&mut text, 1e3);
        self.counts(&mut text, 1, "text");

        let share = |step: usize| self.letters as f64 * self.steps.mean(step) / self.pages.mean(step) * 100.0;
        let gain = |table: &Table| (table.mean(0) / table.mean(1) - 1.0) * 100.0;
        let _ = writeln!(
            text,
            "\nThe two measure different things. The loop has each step wait for the one before, and has nothing \
             else to do: by it, C takes {:+.1} % beside assembly. In the console the steps make up some {:.1} % of \
             the time, if they take as long there as in the loop, and what is around them can go on meanwhile: by \
             it, C takes {:+.1} %. A step in the host is {:.1} times as long as one in C by the loop, and makes the \
             console {:.2} times as slow.",
            gain(&self.steps),
            share(0),
            gain(&self.pages),
            self.steps.mean(2) / self.steps.mean(0),
            self.pages.mean(2) / self.pages.mean(0),
        );
        text
    }

    fn counts(&self, text: &mut String, work: usize, of: &str) {
        if let Some(counts) = self.instructions {
            let [c, assembly, host] = counts[work];
            let _ = writeln!(
                text,
                "Guest instructions for each {of}: {c:.0} with the step in C, {assembly:.0} in assembly, {host:.0} in \
                 the host."
            );
        }
    }
}

impl Table {
    fn measure(program: &Program, text: &[u8], options: &Options, work: impl Fn(u64) -> Work) -> Result<Table, Error> {
        // So much that the fastest of them takes the wanted time.
        let mut amount = 1;
        loop {
            let fastest = race(program, text, work(amount))?.into_iter().min().unwrap_or_default();
            if fastest * 4 >= options.time {
                let wanted = amount as f64 * options.time.as_secs_f64() / fastest.as_secs_f64();
                amount = (wanted as u64).max(1);
                break;
            }
            amount *= 4;
        }
        let run = || -> Result<Vec<[f64; 3]>, Error> {
            let one = || Ok(race(program, text, work(amount))?.map(|time| time.as_secs_f64() / amount as f64));
            (0..RACES).map(|_| one()).collect()
        };
        for _ in 0..options.discard {
            run()?;
        }
        Ok(Table { runs: (0..options.runs).map(|_| run()).collect::<Result<_, _>>()? })
    }

    fn races(&self) -> impl Iterator<Item = &[f64; 3]> {
        self.runs.iter().flatten()
    }

    fn mean(&self, step: usize) -> f64 {
        self.races().map(|race| race[step]).sum::<f64>() / self.races().count() as f64
    }

    fn show(&self, text: &mut String, scale: f64) {
        let row = |text: &mut String, name: &str, values: [f64; 3]| {
            let [c, assembly, host] = values.map(|value| value * scale);
            let _ = writeln!(text, "| {name:>4} | {c:>9.3} | {assembly:>9.3} | {host:>9.3} |");
        };
        let _ = writeln!(
            text,
            "| run  |         C |  assembly |      host |\n| ---: | --------: | --------: | --------: |"
        );
        let means: Vec<[f64; 3]> = self
            .runs
            .iter()
            .map(|run| [0, 1, 2].map(|step| run.iter().map(|race| race[step]).sum::<f64>() / run.len() as f64))
            .collect();
        for (number, run) in means.iter().enumerate() {
            row(text, &(number + 1).to_string(), *run);
        }
        let over =
            |of: fn(f64, f64) -> f64, start| [0, 1, 2].map(|step| means.iter().map(|run| run[step]).fold(start, of));
        row(text, "low", over(f64::min, f64::INFINITY));
        row(text, "high", over(f64::max, 0.0));
        row(text, "mean", [0, 1, 2].map(|step| self.mean(step)));
        text.push('\n');
        for (step, name) in [(1, "assembly"), (2, "the host")] {
            let logarithms: Vec<f64> = self.races().map(|race| (race[step] / race[0]).ln()).collect();
            let Some(estimate) = Estimate::of(&logarithms, ERROR_CHANCE) else { continue };
            let word = match estimate.verdict(THRESHOLD) {
                Verdict::Faster => "faster",
                Verdict::Slower => "slower",
                Verdict::Noise => "noise",
            };
            let signed = |ratio: f64| format!("{:+.1} %", (ratio - 1.0) * 100.0);
            let interval = match estimate.low {
                0.0 => "too few runs for an interval".to_owned(),
                low => format!("99.9 % interval {} to {}", signed(low), signed(estimate.high)),
            };
            let _ = writeln!(text, "{name} beside C: {} of time: {word} ({interval})", signed(estimate.ratio));
        }
    }
}
