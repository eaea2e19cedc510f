//! Decides whether one of two programs is slower, from pairs of times that were measured side by side.
//!
//! Only the logarithm of each pair's ratio is used. Its distribution is assumed to be symmetric, which it is if both take
//! the same time, and nothing else: shared machines cause outliers and fat tails. The estimate is the median of all
//! pairwise means (Hodges and Lehmann) with the confidence interval of Wilcoxon's signed-rank test.

use serde::Serialize;

/// The chance that an interval misses the true ratio, in all looks at the data together.
pub(crate) const ERROR_CHANCE: f64 = 0.001;

/// How much longer the second one takes: ratios of times.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Estimate {
    pub(crate) ratio: f64,
    /// The interval's ends: 0 and infinity (`null` in JSON) where there are too few pairs.
    pub(crate) low: f64,
    pub(crate) high: f64,
}

/// The verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Verdict {
    /// The second one takes less time, by more than the threshold.
    Faster,
    /// The second one takes more time, by more than the threshold.
    Slower,
    /// Neither is certain.
    Noise,
}

impl Estimate {
    /// From the logarithms of the pairs' ratios, with an interval that misses the true one with a probability
    /// of `chance` at most. `None` of no pairs.
    pub(crate) fn of(logarithms: &[f64], chance: f64) -> Option<Estimate> {
        let means = means_of_two(logarithms);
        let middle = (*means.get((means.len().checked_sub(1)?) / 2)? + means[means.len() / 2]) / 2.0;
        let (low, high) = match outside(logarithms.len(), chance) {
            Some(outside) => (means[outside].exp(), means[means.len() - 1 - outside].exp()),
            None => (0.0, f64::INFINITY),
        };
        Some(Estimate { ratio: middle.exp(), low, high })
    }

    /// The verdict on differences of more than `threshold`, a fraction: the same code at another address in memory differs
    /// by as much.
    pub(crate) fn verdict(&self, threshold: f64) -> Verdict {
        if self.low > 1.0 + threshold {
            Verdict::Slower
        } else if self.high < 1.0 / (1.0 + threshold) {
            Verdict::Faster
        } else {
            Verdict::Noise
        }
    }

    /// Whether it is certain that there is no difference of more than `threshold`.
    pub(crate) fn is_same(&self, threshold: f64) -> bool {
        self.low >= 1.0 / (1.0 + threshold) && self.high <= 1.0 + threshold
    }
}

/// The error's chance that the look number `look` (from 0) may use up, where more looks may follow: halves, so that
/// all of them together use up [`ERROR_CHANCE`].
pub(crate) fn chance_of_look(look: u32) -> f64 {
    ERROR_CHANCE * 0.5_f64.powi(i32::try_from(look).unwrap_or(i32::MAX - 1) + 1)
}

/// All means of two values, those of a value and itself too, in order.
fn means_of_two(values: &[f64]) -> Vec<f64> {
    let pairs = values.iter().enumerate().flat_map(|(at, a)| values[at..].iter().map(move |b| f64::midpoint(*a, *b)));
    let mut means: Vec<f64> = pairs.collect();
    means.sort_by(f64::total_cmp);
    means
}

/// How many of the means lie outside of the interval on each side; `None` where even the outermost one is not far
/// enough out.
fn outside(pairs: usize, chance: f64) -> Option<usize> {
    let tails = if pairs <= EXACT_PAIRS { exact_tails(pairs) } else { normal_tails(pairs) };
    // The interval that leaves out `n` means misses with twice the chance that the rank sum is `n` or less.
    let outside = tails.take_while(|tail| 2.0 * tail <= chance).count();
    outside.checked_sub(1)
}

/// Beyond that, the rank sum is as good as normally distributed (and its tails are lighter).
const EXACT_PAIRS: usize = 100;

/// The probabilities that the rank sum is 0 or less, 1 or less, and so on, if each rank counts with probability
/// one half.
fn exact_tails(pairs: usize) -> Box<dyn Iterator<Item = f64>> {
    let most = pairs * (pairs + 1) / 2;
    let mut probability = vec![0.0; most + 1];
    probability[0] = 1.0;
    for rank in 1..=pairs {
        for sum in (0..=rank * (rank + 1) / 2).rev() {
            let with = if sum >= rank { probability[sum - rank] } else { 0.0 };
            probability[sum] = f64::midpoint(probability[sum], with);
        }
    }
    Box::new(probability.into_iter().scan(0.0, |tail, one| {
        *tail += one;
        Some(*tail)
    }))
}

fn normal_tails(pairs: usize) -> Box<dyn Iterator<Item = f64>> {
    let n = pairs as f64;
    let mean = n * (n + 1.0) / 4.0;
    let deviation = (mean * (2.0 * n + 1.0) / 6.0).sqrt();
    Box::new((0..).map(move |sum: usize| normal_tail((mean - sum as f64 - 0.5) / deviation)))
}

/// The chance that a normally distributed value is more than `z` deviations above the mean; by at most a few parts
/// in a hundred too much for the large ones that matter here (from Mills' ratio).
fn normal_tail(z: f64) -> f64 {
    if z < 1.0 {
        return 0.5;
    }
    let density = (-z * z / 2.0).exp() / std::f64::consts::TAU.sqrt();
    density * 2.0 / (z + (z * z + 8.0 / std::f64::consts::PI).sqrt()).max(f64::MIN_POSITIVE)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ratios of two runs each of the same guest, measured by this command beside two compilations on two shared
    /// processors.
    const RECORDED: &str = include_str!("recorded.txt");

    /// Numbers that look random, by xorshift.
    struct Random(u64);

    impl Random {
        fn unit(&mut self) -> f64 {
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 7;
            self.0 ^= self.0 << 17;
            (self.0 >> 11) as f64 / (1_u64 << 53) as f64
        }

        /// Normally distributed, but one in ten has three times the deviation.
        fn noise(&mut self, deviation: f64) -> f64 {
            let wide = if self.unit() < 0.1 { 3.0 } else { 1.0 };
            let (radius, angle) = ((-2.0 * (1.0 - self.unit()).ln()).sqrt(), self.unit() * std::f64::consts::TAU);
            deviation * wide * radius * angle.cos()
        }
    }

    /// Looks as the command does, at ever more pairs, until there is a verdict.
    fn verdict(mut next: impl FnMut() -> f64) -> Verdict {
        let mut pairs = Vec::new();
        for (look, count) in [20, 32, 48, 72, 108, 164].into_iter().enumerate() {
            pairs.resize_with(count, &mut next);
            let estimate = Estimate::of(&pairs, chance_of_look(look as u32)).unwrap();
            if estimate.verdict(0.01) != Verdict::Noise || estimate.is_same(0.01) {
                return estimate.verdict(0.01);
            }
        }
        Verdict::Noise
    }

    #[test]
    fn the_interval_is_that_of_wilcoxons_tables() {
        // How many rank sums lie outside, from the usual tables of critical values (two-sided 5 % and 1 %): the
        // table's value is the largest sum that is significant.
        for (pairs, five, one) in
            [(6, 0, None), (8, 3, Some(0)), (10, 8, Some(3)), (20, 52, Some(37)), (25, 89, Some(68))]
        {
            assert_eq!(outside(pairs, 0.05), Some(five), "{pairs}");
            assert_eq!(outside(pairs, 0.01), one, "{pairs}");
        }
        assert_eq!(outside(10, 0.001), None);
        assert_eq!(outside(11, 0.001), Some(0));
        assert_eq!(outside(0, 0.05), None);
    }

    #[test]
    fn many_pairs_go_on_from_few() {
        // The approximation may leave out a little less than the exact count, and never more.
        for chance in [ERROR_CHANCE, chance_of_look(5)] {
            let count = |tails: Box<dyn Iterator<Item = f64>>| tails.take_while(|tail| 2.0 * tail <= chance).count();
            let (exact, normal) = (count(exact_tails(EXACT_PAIRS)), count(normal_tails(EXACT_PAIRS)));
            assert!(normal <= exact && normal as f64 > 0.95 * exact as f64, "{exact} {normal}");
        }
    }

    #[test]
    fn estimate_of_few_pairs() {
        let of = |ratios: &[f64]| {
            Estimate::of(&ratios.iter().map(|ratio: &f64| ratio.ln()).collect::<Vec<_>>(), ERROR_CHANCE)
        };
        assert_eq!(of(&[]), None);
        let one = of(&[2.0]).unwrap();
        assert!((one.ratio - 2.0).abs() < 1e-12);
        assert_eq!((one.low, one.high, one.verdict(0.01)), (0.0, f64::INFINITY, Verdict::Noise));
        let many = of(&[1.05; 12]).unwrap();
        assert_eq!((many.verdict(0.01), many.verdict(0.06)), (Verdict::Slower, Verdict::Noise));
        assert!(many.is_same(0.06) && !many.is_same(0.04));
        assert_eq!(of(&[0.5; 12]).unwrap().verdict(0.01), Verdict::Faster);
    }

    #[test]
    fn what_is_the_same_is_noise() {
        let mut random = Random(0x5eed_5eed_5eed_5eed);
        for deviation in [0.003, 0.01, 0.03, 0.1, 0.3] {
            let wrong = (0..400).filter(|_| verdict(|| random.noise(deviation)) != Verdict::Noise).count();
            // One in a thousand may be wrong.
            assert!(wrong <= 2, "{wrong} of 400 wrong where the deviation is {deviation}");
        }
    }

    #[test]
    fn five_percent_are_seen_through_noise() {
        let mut random = Random(0x1234_5678_9abc_def0);
        for (shift, expected) in [(1.05_f64, Verdict::Slower), (1.0 / 1.05, Verdict::Faster)] {
            for deviation in [0.003, 0.01, 0.03, 0.06] {
                let found = (0..200).filter(|_| verdict(|| shift.ln() + random.noise(deviation)) == expected).count();
                assert!(found >= 195, "{found} of 200 where the deviation is {deviation}");
            }
        }
    }

    #[test]
    fn recorded_pairs_of_the_same_guest_are_noise_and_slowed_ones_are_not() {
        let recorded: Vec<f64> = RECORDED.lines().map(|line| line.parse::<f64>().unwrap().ln()).collect();
        assert!(recorded.len() >= 100);
        // Whole stretches, as they followed each other.
        for start in 0..recorded.len() {
            let stretch = |shift: f64| {
                let mut at = start;
                verdict(|| {
                    at = (at + 1) % recorded.len();
                    recorded[at] + shift
                })
            };
            assert_eq!(stretch(0.0), Verdict::Noise, "from {start}");
            assert_eq!(stretch(1.05_f64.ln()), Verdict::Slower, "from {start}");
            assert_eq!(stretch(-1.05_f64.ln()), Verdict::Faster, "from {start}");
        }
    }
}
