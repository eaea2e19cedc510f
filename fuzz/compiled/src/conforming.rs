//! Compiled code that is not precise makes of programs that keep to the calling convention what the interpreter makes
//! of them, also where functions are compiled while they run.
#![no_main]

use libfuzzer_sys::fuzz_target;
use riverrun_fuzz_targets::seed;
use riverrun_testkit::{Random, check_conforming, check_tiering_conforming, check_tiering_uncounted, generate};

/// Choices for the generator, of all lengths. They are few: each takes a second or two.
fn seeds() -> Vec<Vec<u8>> {
    let mut random = Random::seeded(2);
    (1..=12).map(|n| (0..n * 250).map(|_| random.u32() as u8).collect()).collect()
}

fuzz_target!(init: seed(seeds()), |data: &[u8]| {
    let Some((&first, bytes)) = data.split_first() else { return };
    let mut random = Random::from_bytes(bytes.to_vec());
    let cases = generate::conforming(&mut random);
    match first % 3 {
        0 => check_tiering_conforming(&cases, &mut random),
        1 => check_tiering_uncounted(&cases, &mut random),
        _ => check_conforming(&cases),
    }
});
