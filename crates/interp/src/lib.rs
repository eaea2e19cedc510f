//! Two engines: the interpreter, with tail-calling handlers over decoded ops, and the reference interpreter.
//!
//! [`Code`] holds a program's pre-decoded code, [`Code::run`] executes a machine on it. The
//! interpreter (`handlers.rs`) executes what is frequent and has no error paths: before anything else it exits, and the
//! reference interpreter (`step.rs`) evaluates that instruction directly from the instruction table.

mod arena;
mod arguments;
mod call;
mod code;
mod decoded_op;
mod enter;
mod fast;
mod forward;
mod fusible;
mod fusion;
mod handlers;
mod host_call;
mod micro;
mod operation;
mod patterns;
#[cfg(feature = "profile")]
pub mod profile;
mod ret;
mod return_ring;
mod run;
mod select;
mod soft_float;
mod step;

pub use call::{Outcome, Place};
pub use code::Code;
pub use enter::enter_from_entry_guard;
pub use run::end_count;
pub use step::Step;
