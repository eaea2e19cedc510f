//! The quick back end: machine code by Cranelift, in a tenth of the time that LLVM takes. What it costs is in
//! `docs/decisions/0031-quick-back-end.md`.
//!
//! A function's body keeps guest registers in host registers between calls; at every call, exit and return all that it has
//! changed is in the `VmContext`. So bodies have a convention of Cranelift's, the one that has tail calls, and code around
//! them ([`thunks`]) converts between that and the convention of compiled code. What needs more than plain code (control
//! registers, host calls) leaves to the dispatcher for one instruction.
//!
//! - [`function`]: one guest function; [`ops`], [`value`]: the instruction table's operations.
//! - [`registers`]: which guest registers a body loads, where, and which it commits.
//! - [`mod@object`]: the object file of a unit, [`lines`] its line table; [`thunks`]: the code around bodies.

mod function;
mod lines;
mod object;
mod ops;
mod registers;
mod thunks;
mod value;

pub(crate) use object::{body_of, object, others};
pub(crate) use thunks::assembly;
