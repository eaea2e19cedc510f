//! The tests of this crate that share a process. What looks at the memory, mappings or signals of its process, or starts it
//! again, is a program of its own.

mod alarms;
mod arguments;
mod calls;
#[cfg(feature = "compile")]
mod compiled_artifacts;
#[cfg(feature = "compile")]
mod compiled_backtraces;
#[cfg(feature = "compile")]
mod compiled_cache;
#[cfg(feature = "compile")]
mod compiled_calls;
#[cfg(feature = "compile")]
mod compiled_isolation;
#[cfg(feature = "compile")]
mod compiled_tier_up;
#[cfg(feature = "compile")]
mod compiled_visits;
mod configurations;
mod errors;
mod forged_records;
mod heap;
mod hostile;
mod isolation;
mod panics;
mod slices;
mod slow_functions;
mod snapshot_files;
mod snapshots;
mod stray;
mod tier_up;
mod traps;
