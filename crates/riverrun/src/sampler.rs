//! When the pc of interpreted code is sampled, for [tiering up](crate::tier_up), and how long the interpreter takes from
//! one sample to the next.

use std::ops::RangeInclusive;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// Instructions from one sample to the next, on average.
const PERIOD: u64 = 512 << 10;
/// Instructions of a decoded block at most: the interpreter cannot begin one with less.
const BLOCK: u64 = 8 << 10;
/// How many instructions it takes as long to interpret as to come from compiled code to the interpreter and back.
const VISIT: u64 = 512;
/// Instructions of a run of the interpreter at least whose time is measured.
const MEASURED: u64 = 4 << 10;
/// What a sample may take: a quarter of a nanosecond for each instruction, to 16.
const TIMES: RangeInclusive<Duration> = Duration::from_micros(128)..=Duration::from_millis(8);
/// What it takes as long as nothing was measured.
const TIME: Duration = Duration::from_micros(500);

/// Decides when the pc is sampled: once in [`PERIOD`] interpreted instructions on average, however many runs of the
/// interpreter they are spread over. The distances vary, lest a loop of the guest be sampled at the same places each time,
/// but are the same in each run.
#[derive(Debug)]
pub(crate) struct Sampler {
    /// Instructions before the next sample.
    left: u64,
    /// Whether these are executed one by one.
    steps: bool,
    /// The state of a linear congruential generator.
    random: u64,
    /// How long the interpreter takes for [`PERIOD`] instructions: by one of its runs between the last two samples, if that
    /// was long enough. Programs differ by a factor of six.
    time: Duration,
    /// Whether that is to be measured.
    measures: bool,
    /// The processor time of the thread when the run began that is measured.
    began: Option<Duration>,
    /// Whether the code that is compiled by the samples counts fuel.
    pub(crate) counts_fuel: bool,
}

impl Sampler {
    pub(crate) fn new(counts_fuel: bool) -> Sampler {
        let (left, time) = (PERIOD, TIME);
        Sampler { left, steps: false, random: 0, time, measures: true, began: None, counts_fuel }
    }

    /// A distance between samples: [`PERIOD`] on average, and half as long at least.
    fn distance(&mut self) -> u64 {
        // Knuth's multiplier; the upper bits are the more random ones.
        self.random = self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        PERIOD / 2 + self.random / (u64::MAX / PERIOD)
    }

    /// Instructions that the interpreter may execute next; `None` if they are to be executed one by one.
    pub(crate) fn begin(&mut self, is_visit: bool) -> Option<u64> {
        if is_visit {
            self.left = self.left.saturating_sub(VISIT);
        }
        if self.steps {
            return None;
        }
        self.began = self.measures.then(thread_time);
        self.measures = false;
        Some(self.left)
    }

    /// Notes that the interpreter has executed so many instructions. Where it cannot begin a block, which it counts to its
    /// end, steps lead to the next sample: were that where it stops, the longest blocks would have nearly all samples.
    pub(crate) fn executed(&mut self, executed: u64) {
        if let Some(began) = self.began.take().filter(|_| executed >= MEASURED) {
            let time = thread_time().saturating_sub(began).mul_f64(PERIOD as f64 / executed as f64);
            self.time = time.clamp(*TIMES.start(), *TIMES.end());
        }
        self.left = self.left.saturating_sub(executed);
        self.steps = executed == 0 && self.left < BLOCK;
    }

    /// Notes that an instruction was executed by itself; returns how long the interpreter takes for a sample if the pc is to
    /// be sampled now.
    pub(crate) fn stepped(&mut self) -> Option<Duration> {
        self.left = self.left.saturating_sub(1);
        if self.left != 0 {
            return None;
        }
        (self.left, self.steps, self.measures) = (self.distance(), false, true);
        Some(self.time)
    }
}

/// What this thread has taken of the processor so far.
fn thread_time() -> Duration {
    clock_gettime(ClockId::ThreadCPUTime).try_into().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Samples in so many runs of the interpreter, each of which would execute so many instructions.
    fn samples(runs: u64, instructions: u64, is_visit: bool) -> u64 {
        let mut sampler = Sampler::new(false);
        let mut samples = 0;
        for _ in 0..runs {
            let mut rest = instructions;
            while rest != 0 {
                // Blocks of four.
                let executed = sampler.begin(is_visit).map_or(0, |left| left.min(rest) & !3);
                sampler.executed(executed);
                if executed == 0 {
                    samples += u64::from(sampler.stepped().is_some());
                }
                rest -= executed.max(1);
            }
        }
        samples
    }

    #[test]
    fn runs_of_all_lengths_are_sampled_by_their_instructions() {
        for (runs, instructions) in [(1, 100 * PERIOD), (100, PERIOD), (10_000, PERIOD / 100), (PERIOD, 100)] {
            let samples = samples(runs, instructions, false);
            assert!((98..=102).contains(&samples), "{runs} {instructions}: {samples}");
        }
    }

    #[test]
    fn a_sample_takes_as_long_as_the_interpreter_for_its_instructions() {
        let time = |executed: u64, work: Duration| {
            let mut sampler = Sampler::new(false);
            assert!(sampler.begin(false).is_some());
            let end = thread_time() + work;
            while thread_time() < end {}
            sampler.executed(executed);
            // Once for each sample.
            assert!(sampler.begin(false).is_some_and(|_| sampler.began.is_none()));
            sampler.time
        };
        let slow = time(PERIOD / 10, Duration::from_micros(200));
        assert!(slow >= Duration::from_millis(2) && slow <= *TIMES.end(), "{slow:?}");
        assert_eq!(time(PERIOD, Duration::from_millis(20)), *TIMES.end());
        assert_eq!(time(PERIOD, Duration::ZERO), *TIMES.start());
        assert_eq!(time(MEASURED - 1, Duration::from_millis(1)), TIME, "too short to tell");
    }

    #[test]
    fn visits_count_however_short_they_are() {
        let samples = samples(100 * PERIOD / VISIT, 4, true);
        assert!((98..=106).contains(&samples), "{samples}");
    }
}
