//! Keeps scores.
#![no_std]
#![no_main]

extern crate alloc;

use alloc::vec::Vec;
use core::cell::RefCell;

use riverrun_guest::export;

struct Scores(RefCell<Vec<i32>>);

// SAFETY: a guest has one thread.
unsafe impl Sync for Scores {}

static SCORES: Scores = Scores(RefCell::new(Vec::new()));

export! {
    /// Notes a score, and gives the mean of all.
    fn score(points: i32) -> f64 {
        let mut scores = SCORES.0.borrow_mut();
        scores.push(points);
        scores.iter().copied().map(f64::from).sum::<f64>() / scores.len() as f64
    }

    "Tally::best" = fn best() -> i32 {
        let best = SCORES.0.borrow().iter().copied().max();
        best.expect("no score yet")
    }
}
