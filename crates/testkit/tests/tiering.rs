//! Programs whose code gets better as they run end as they do in the reference interpreter, whichever functions are
//! compiled, and whenever.

#![cfg(feature = "compile")]

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use riverrun_testkit::{Random, amount, check_tiering, check_tiering_conforming, check_tiering_uncounted, generate};

/// Runs `test` for every seed, and names the seed at which it fails.
fn for_seeds(count: u64, test: impl Fn(u64)) {
    for seed in 0..count {
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| test(seed))) {
            eprintln!("seed {seed}:");
            resume_unwind(panic);
        }
    }
}

#[test]
fn random_programs_end_the_same() {
    for_seeds(amount(60, 4_000), |seed| {
        let mut random = Random::seeded(seed ^ 0x71e);
        check_tiering(&[generate::case(&mut random)], &mut random);
    });
}

#[test]
fn programs_of_functions_end_the_same() {
    for_seeds(amount(60, 4_000), |seed| {
        let mut random = Random::seeded(seed ^ 0x71e5);
        check_tiering(&generate::functions(&mut random, true), &mut random);
    });
}

#[test]
fn conforming_programs_end_the_same() {
    for_seeds(amount(60, 4_000), |seed| {
        let mut random = Random::seeded(seed ^ 0x71e50);
        check_tiering_conforming(&generate::conforming(&mut random), &mut random);
    });
}

#[test]
fn conforming_programs_end_the_same_by_quick_code_and_llvms() {
    for_seeds(amount(60, 4_000), |seed| {
        let mut random = Random::seeded(seed ^ 0x71e51);
        check_tiering_uncounted(&generate::conforming(&mut random), &mut random);
    });
}
