//! What the peers have in common.

pub mod figures;
pub mod instances;
pub mod wasi;

use anyhow::{Context, Result};
use nix::time::{ClockId, clock_gettime};

/// The command line: a program, and its arguments with its own name before them.
///
/// # Errors
/// If there is no program.
pub fn arguments() -> Result<(String, Vec<String>)> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let program = arguments.first().context("usage: peer PROGRAM [ARGUMENT]...")?.clone();
    Ok((program, arguments))
}

/// CPU time that this process has used, in seconds.
///
/// # Errors
/// If the system does not say.
pub fn cpu_seconds() -> Result<f64> {
    seconds(ClockId::CLOCK_PROCESS_CPUTIME_ID)
}

/// What a clock says, in seconds.
///
/// # Errors
/// If the system does not say.
pub fn seconds(clock: ClockId) -> Result<f64> {
    let time = clock_gettime(clock)?;
    Ok(time.tv_sec() as f64 + time.tv_nsec() as f64 * 1e-9)
}

/// Prints the last line of standard error, which the harness reads: the guest's CPU time, and its number
/// of instructions if it is known.
pub fn report(cpu_seconds: f64, instructions: Option<u64>) {
    eprintln!("{}", serde_json::json!({ "cpu_seconds": cpu_seconds, "instructions": instructions }));
}
