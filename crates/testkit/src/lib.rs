//! Runs one case on every engine and compares the final states; makes the cases, too.
//!
//! ```
//! use riverrun_testkit::{Random, check, generate};
//!
//! let case = generate::case(&mut Random::seeded(1));
//! let outcome = check(&case); // panics, and says how, where engines differ
//! assert!(outcome.instructions <= case.fuel);
//! ```
#![forbid(unsafe_code)]

mod case;
mod clock;
pub mod elf;
pub mod generate;
mod outcome;
pub mod probe;
mod random;
pub mod suite;
#[cfg(feature = "compile")]
mod tiering;
pub mod tools;
pub mod values;

#[cfg(feature = "compile")]
pub use case::check_conforming;
pub use case::{Case, Engine, Loaded, Output, assert_same, check, check_of_size, check_on, check_program, run};
pub use clock::processor_time;
pub use outcome::{Outcome, Stop};
pub use random::Random;
#[cfg(feature = "compile")]
pub use tiering::{check_tiering, check_tiering_conforming, check_tiering_uncounted};

/// Whether tests are to be thorough: `RIVERRUN_VERIFY=full`.
pub fn thorough() -> bool {
    std::env::var_os("RIVERRUN_VERIFY").is_some_and(|value| value == "full")
}

/// Bits of the guests' addresses in tests that do not choose them: `RIVERRUN_TEST_ADDRESS_BITS`, or the most.
///
/// # Panics
/// If the variable says no number.
pub fn address_bits() -> u32 {
    match std::env::var("RIVERRUN_TEST_ADDRESS_BITS") {
        Ok(bits) => bits.parse().unwrap_or_else(|_| panic!("RIVERRUN_TEST_ADDRESS_BITS is {bits}; say 26 to 32")),
        Err(_) => riverrun::AddressSpace::MAX_BITS,
    }
}

/// How much a test does: the percentage of `normal` that `RIVERRUN_VERIFY` gives, or `full` if it says
/// so, or else `normal`.
pub fn amount(normal: u64, full: u64) -> u64 {
    let percentage = std::env::var("RIVERRUN_VERIFY").ok().and_then(|value| value.parse::<u64>().ok());
    match percentage {
        Some(percentage) => (normal * percentage / 100).max(1),
        None if thorough() => full,
        None => normal,
    }
}
