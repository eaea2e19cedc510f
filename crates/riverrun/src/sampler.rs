//! When the pc of interpreted code is sampled, for [tiering up](crate::tier_up).

/// Instructions from one sample to the next, on average.
const PERIOD: u64 = 512 << 10;
/// Instructions of a decoded block at most: the interpreter cannot begin one with less.
const BLOCK: u64 = 8 << 10;
/// How many instructions it takes as long to interpret as to come from compiled code to the interpreter and back.
const VISIT: u64 = 512;

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
    /// Whether the code that is compiled by the samples counts fuel.
    pub(crate) counts_fuel: bool,
}

impl Sampler {
    pub(crate) fn new(counts_fuel: bool) -> Sampler {
        Sampler { left: PERIOD, steps: false, random: 0, counts_fuel }
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
        (!self.steps).then_some(self.left)
    }

    /// Notes that the interpreter has executed so many instructions. Where it cannot begin a block, which it counts to its
    /// end, steps lead to the next sample: were that where it stops, the longest blocks would have nearly all samples.
    pub(crate) fn executed(&mut self, executed: u64) {
        self.left = self.left.saturating_sub(executed);
        self.steps = executed == 0 && self.left < BLOCK;
    }

    /// Notes that an instruction was executed by itself; returns whether the pc is to be sampled now.
    pub(crate) fn stepped(&mut self) -> bool {
        self.left = self.left.saturating_sub(1);
        if self.left != 0 {
            return false;
        }
        (self.left, self.steps) = (self.distance(), false);
        true
    }
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
                    samples += u64::from(sampler.stepped());
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
    fn visits_count_however_short_they_are() {
        let samples = samples(100 * PERIOD / VISIT, 4, true);
        assert!((98..=106).contains(&samples), "{samples}");
    }
}
