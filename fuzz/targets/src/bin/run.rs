//! Every engine makes the same of any program, whatever the size of its address space, also when its fuel ends early.
#![no_main]

use libfuzzer_sys::fuzz_target;
use riverrun::AddressSpace;
use riverrun_fuzz_targets::seed;
use riverrun_testkit::{Case, Engine, Random, check_of_size, generate};

/// Choices for the generator, and text.
fn seeds() -> Vec<Vec<u8>> {
    let mut random = Random::seeded(0);
    let mut choices = |len: usize, first: u8| {
        let bytes = (0..len).map(|_| random.u32() as u8);
        std::iter::once(first).chain(bytes).collect()
    };
    (1..=40).map(|n| choices(n * 40, n as u8)).collect()
}

fuzz_target!(init: seed(seeds()), |data: &[u8]| {
    let Some((&first, bytes)) = data.split_first().filter(|(_, bytes)| !bytes.is_empty()) else { return };
    // The first byte says what the others are: text, or choices of the generator.
    let case = if first % 4 == 0 {
        generate::case_of(&bytes[..bytes.len().min(1024)], &mut Random::seeded(first.into()))
    } else {
        generate::case(&mut Random::from_bytes(bytes.to_vec()))
    };
    let bits = AddressSpace::MAX_BITS - u32::from(first / 4) % (AddressSpace::MAX_BITS - AddressSpace::MIN_BITS + 1);
    let check = |case: &Case| check_of_size(bits, Engine::ALL, case);
    let outcome = check(&case);
    check(&Case { fuel: outcome.instructions * u64::from(first) / 256, ..case });
});
