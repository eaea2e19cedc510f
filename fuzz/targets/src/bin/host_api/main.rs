//! Hosts stay whole whatever guests hand over: host functions of all types, the heap, Linux's system calls and the C
//! interface get hostile registers and memory. A panic is a finding, and so is an abort, or a machine that cannot be
//! used afterwards.
#![no_main]

mod c;
mod functions;
mod generated;
mod hostile;
#[path = "../../../../../crates/linux/tests/lying.rs"]
mod lying;
#[path = "../../../../../crates/bindgen/tests/common/memory_api.rs"]
mod memory_api;
mod system_calls;

use libfuzzer_sys::fuzz_target;
use riverrun_fuzz_targets::seed;
use riverrun_testkit::Random;

/// What a guest attacks.
const ATTACKS: [fn(&mut Random); 4] = [functions::attack, system_calls::attack, c::attack, generated::attack];

/// Choices of any kind for each of them.
fn seeds() -> Vec<Vec<u8>> {
    let mut random = Random::seeded(0);
    let mut choices = |attack: usize| {
        let bytes = (0..700).map(|_| random.u32() as u8);
        std::iter::once(attack as u8).chain(bytes).collect()
    };
    (0..60).map(|n| choices(n % ATTACKS.len())).collect()
}

fuzz_target!(init: seed(seeds()), |data: &[u8]| {
    let Some((&attack, choices)) = data.split_first() else { return };
    ATTACKS[usize::from(attack) % ATTACKS.len()](&mut Random::from_bytes(choices.to_vec()));
});
