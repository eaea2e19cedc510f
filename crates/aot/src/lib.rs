//! The ahead-of-time compiler: from a guest program to an artifact. The only crate that uses LLVM.
//!
//! [`compile`] finds a program's functions (`analysis`), lifts each to one host function in LLVM IR (`lift`), optimises
//! (`emit`) and links them (`link`). Of a program of which a few functions are hot, it compiles only these (`selection`).
//! The results of the analysis are hints: compiled code tests them where they could be wrong, or `analysis::liveness`
//! states what is assumed of compilers.

mod analysis;
mod budget;
mod carries;
mod emit;
mod error;
mod facts;
mod frames;
mod kept_objects;
mod lift;
mod link;
mod listing;
mod names;
mod optimised;
mod options;
mod program;
mod quick;
mod schedule;
mod selection;
mod tables;
mod unit;

pub use error::CompileError;
pub use kept_objects::KeptObjects;
pub use link::write;
pub use listing::{Line, Listing, listing};
pub use options::{CompileOptions, Cpu};
pub use riverrun_vm::artifact::{Fidelity, Quick};
pub use riverrun_vm::{AddressSpace, is_same_file, read_whole};
pub use selection::Selection;
pub use unit::{Interpreted, Report, compile, compile_object, compile_selected};
