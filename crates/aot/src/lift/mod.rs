//! Lifting: guest functions to LLVM IR.
//!
//! - [`ir`]: LLVM's builder with the types and attributes that all code here shares.
//! - [`value`]: values, kept in the form in which they were made.
//! - [`ops`], [`floats`]: the instruction table's operations on these values.
//! - [`lines`]: which host instruction belongs to which guest instruction.
//! - [`function`]: one guest function; [`registers`]: where its registers are.
//! - [`continuations`]: where a function is come back to.
//! - [`transfer`]: calls, returns, and the ways out of compiled code.

mod continuations;
mod dataflow;
mod floats;
mod function;
mod ir;
mod lines;
mod memory;
mod ops;
mod registers;
mod transfer;
mod value;

pub(crate) use function::{Surroundings, lift};
pub(crate) use ir::Ir;
