//! How many instructions engines execute between two looks at interruptions.
//!
//! Most programs execute a [`SLICE`] in a tenth of a millisecond. A guest whose instructions take longer, because each
//! faults a page in, gets fewer of them, so that the dispatcher looks every few milliseconds. No guest gets more than a
//! slice before its pace is known: that bounds how late a deadline is noticed where a guest turns slow.

use std::time::{Duration, Instant};

use riverrun_vm::SLICE;

/// Instructions between two looks, at least: more than any run of decoded code has, so that each slice makes progress.
const SMALLEST: u64 = 16 << 10;
/// More than compiled code ever asks for at once.
const ENOUGH: u64 = 4 << 20;
/// How long a slice should take, at most.
const AIM: Duration = Duration::from_millis(2);

/// The pace of a run.
#[derive(Debug)]
pub(crate) struct Pace {
    slice: u64,
    /// The last time that a slice was used up, and what fuel remained.
    last: Option<(Instant, u64)>,
}

impl Pace {
    pub(crate) fn new() -> Pace {
        Pace { slice: SLICE, last: None }
    }

    /// Instructions that may be executed before the next look.
    pub(crate) fn slice(&self) -> u64 {
        self.slice
    }

    /// Notes that `executed` instructions of a slice have been executed, so that so much fuel `remains`.
    pub(crate) fn executed(&mut self, executed: u64, remaining: u64) {
        // What ended early tells nothing, and the clock is not read for it.
        if executed < self.slice / 2 {
            return;
        }
        let now = Instant::now();
        self.slice = match self.last {
            Some((then, remained)) => next_slice(remained.saturating_sub(remaining), now.duration_since(then)),
            None => SLICE,
        };
        self.last = Some((now, remaining));
    }

    /// Lets the next slice be as large as any code asks for.
    pub(crate) fn widen(&mut self) {
        self.slice = ENOUGH;
    }
}

/// The next slice, where so many instructions have taken so long.
fn next_slice(executed: u64, took: Duration) -> u64 {
    let affordable = u128::from(executed) * AIM.as_nanos() / took.as_nanos().max(1);
    u64::try_from(affordable).unwrap_or(SLICE).clamp(SMALLEST, SLICE)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How long the next slice takes where each instruction takes so many picoseconds.
    fn next_takes(slice: u64, picoseconds: u64) -> (u64, Duration) {
        let time = |slice: u64| Duration::from_nanos(slice * picoseconds / 1000);
        let next = next_slice(slice, time(slice));
        (next, time(next))
    }

    #[test]
    fn a_slice_takes_no_longer_than_it_should_once_the_pace_is_known() {
        for picoseconds in [1, 100, 300, 1_000, 10_000, 15_000, 30_000, 100_000] {
            for slice in [SMALLEST, 50_000, SLICE, ENOUGH] {
                let (next, takes) = next_takes(slice, picoseconds);
                assert!(takes <= AIM, "{picoseconds}: {next} {takes:?}");
                assert!(next == SLICE || takes > AIM * 9 / 10, "{picoseconds}: {next} {takes:?}");
            }
        }
    }

    #[test]
    fn slices_are_as_large_as_a_run_of_code_and_not_larger_than_what_may_turn_slow() {
        // Each instruction faults a page in.
        assert_eq!(next_takes(SLICE, 1_000_000).0, SMALLEST);
        assert_eq!(next_slice(0, Duration::from_secs(1)), SMALLEST);
        assert_eq!(next_slice(u64::MAX, Duration::ZERO), SLICE);
        assert_eq!(next_slice(1, Duration::MAX), SMALLEST);
        // Every third instruction faults, within a tenth of a limit of 0.5 s.
        assert!(Duration::from_micros(SLICE / 3) < Duration::from_millis(50));
    }

    #[test]
    fn slices_that_end_early_tell_nothing() {
        let mut pace = Pace::new();
        pace.executed(10, 1_000_000);
        assert!(pace.last.is_none());
        pace.executed(SLICE, 900_000);
        assert_eq!((pace.slice(), pace.last.map(|last| last.1)), (SLICE, Some(900_000)));
        pace.widen();
        assert_eq!(pace.slice(), ENOUGH);
    }
}
