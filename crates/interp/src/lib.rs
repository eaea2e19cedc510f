//! The interpreter: pre-decoded, fused, tail-threaded; and the single-step reference.
//!
//! [`Code`] holds a program's pre-decoded code, [`Code::run`] executes a machine on it. The fast
//! engine (`handlers.rs`) executes what programs do all the time; whatever is rare or goes wrong
//! is left to the single-step engine (`step.rs`), which works straight from the instruction table.

mod arena;
mod arguments;
mod call;
mod cell;
mod code;
mod enter;
mod fast;
mod fusion;
mod handlers;
mod host_call;
mod operation;
mod patterns;
#[cfg(feature = "profile")]
pub mod profile;
mod ret;
mod run;
mod select;
mod soft_float;
mod step;

pub use call::{Outcome, Place};
pub use code::Code;
pub use run::end_count;
pub use step::Step;
