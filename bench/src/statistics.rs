//! Medians, their confidence intervals, geometric means.

use serde::Serialize;

/// A median and the interval that holds the true one with a confidence of at least 95 %, or, with
/// fewer than six values, all values.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Estimate {
    pub(crate) median: f64,
    pub(crate) low: f64,
    pub(crate) high: f64,
}

impl Estimate {
    /// Of values that are not NaN; `None` of none.
    pub(crate) fn of(values: &[f64]) -> Option<Estimate> {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let (first, last) = (*sorted.first()?, *sorted.last()?);
        let outside = ranks_outside(sorted.len());
        let middle = sorted.len() / 2;
        let median =
            if sorted.len() % 2 == 1 { sorted[middle] } else { f64::midpoint(sorted[middle - 1], sorted[middle]) };
        let low = sorted.get(outside).copied().unwrap_or(first);
        let high = sorted.get(sorted.len() - 1 - outside).copied().unwrap_or(last);
        Some(Estimate { median, low, high })
    }

    /// Whether a ratio says nothing about which of the two is faster.
    pub(crate) fn is_noise(&self) -> bool {
        self.low <= 1.0 && self.high >= 1.0
    }
}

/// How many of the smallest, and of the largest, of `count` values lie outside the interval: a value
/// is below the true median with probability one half, so their number is binomially distributed.
fn ranks_outside(count: usize) -> usize {
    const EACH_SIDE: f64 = 0.025;
    let mut probability = 0.5_f64.powi(i32::try_from(count).unwrap_or(i32::MAX));
    let mut tail = probability;
    let mut ranks = 0;
    while tail <= EACH_SIDE {
        ranks += 1;
        probability *= (count + 1 - ranks) as f64 / ranks as f64;
        tail += probability;
    }
    ranks.saturating_sub(1)
}

/// Of positive values; `None` of none.
pub(crate) fn geometric_mean(values: &[f64]) -> Option<f64> {
    let logarithms: f64 = values.iter().map(|value| value.ln()).sum();
    (!values.is_empty()).then(|| (logarithms / values.len() as f64).exp())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interval_is_the_narrowest_with_95_percent() {
        // Coverage of [x(1), x(n)] is 1 - 2^(1-n): 93.75 % of 5 values, 96.9 % of 6.
        let range = |count: usize| {
            let values: Vec<f64> = (1..=count).map(|value| value as f64).collect();
            let estimate = Estimate::of(&values).unwrap();
            (estimate.low, estimate.median, estimate.high)
        };
        assert_eq!(range(1), (1.0, 1.0, 1.0));
        assert_eq!(range(4), (1.0, 2.5, 4.0));
        assert_eq!(range(5), (1.0, 3.0, 5.0));
        assert_eq!(range(7), (1.0, 4.0, 7.0));
        // From a table of the sign test: n = 9 leaves one value out on each side, n = 15 three.
        assert_eq!(range(9), (2.0, 5.0, 8.0));
        assert_eq!(range(15), (4.0, 8.0, 12.0));
        assert_eq!(Estimate::of(&[]), None);
    }

    #[test]
    fn ratio_around_one_is_noise() {
        assert!(Estimate::of(&[0.98, 1.01, 1.03]).unwrap().is_noise());
        assert!(!Estimate::of(&[1.01, 1.02, 1.03]).unwrap().is_noise());
    }

    #[test]
    fn geometric_mean_of_a_ratio_and_its_inverse_is_one() {
        assert!((geometric_mean(&[4.0, 0.25, 1.0]).unwrap() - 1.0).abs() < 1e-12);
        assert_eq!(geometric_mean(&[]), None);
    }
}
