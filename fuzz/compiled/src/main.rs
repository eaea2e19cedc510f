//! Compiled code makes of any program what the other engines make of it: counting and limited by fuel, or not; and where
//! functions are compiled while it runs.
#![no_main]

use libfuzzer_sys::fuzz_target;
use riverrun_fuzz_targets::seed;
use riverrun_testkit::{Engine, Random, check_program, check_tiering, generate};

/// Choices for the generator, of all lengths. They are few: each takes a second or two.
fn seeds() -> Vec<Vec<u8>> {
    let mut random = Random::seeded(1);
    (1..=12).map(|n| (0..n * 150).map(|_| random.u32() as u8).collect()).collect()
}

fuzz_target!(init: seed(seeds()), |data: &[u8]| {
    let Some((&first, bytes)) = data.split_first().filter(|(_, bytes)| !bytes.is_empty()) else { return };
    let mut random = Random::from_bytes(bytes.to_vec());
    match first % 6 {
        0 => check_program(Engine::ALL, &[generate::case(&mut random)], true),
        4 => check_tiering(&[generate::case(&mut random)], &mut random),
        5 => check_tiering(&generate::functions(&mut random, true), &mut random),
        _ => {
            let counts = first % 6 == 1;
            check_program(Engine::ALL, &generate::functions(&mut random, counts), counts);
        }
    }
});
