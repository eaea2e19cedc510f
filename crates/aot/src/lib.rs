//! The ahead-of-time compiler: guest functions to LLVM IR, and to shared objects.
//!
//! [`compile`] finds a program's functions (`analysis`), lifts each to one host function
//! (`lift`), optimises and links them. The only crate that knows LLVM.

mod analysis;
mod carries;
mod emit;
mod error;
mod frames;
mod lift;
mod link;
mod listing;
mod names;
mod options;
mod schedule;
mod tables;
mod unit;

pub use error::CompileError;
pub use link::write;
pub use listing::{Line, Listing, listing};
pub use options::{CompileOptions, Cpu};
pub use unit::{Report, compile, compile_object};
