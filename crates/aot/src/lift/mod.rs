//! Lifting: guest functions to LLVM IR.
//!
//! - [`ir`]: LLVM's builder with the types and attributes that all code here shares.
//! - [`value`]: values, kept in the form in which they were made.
//! - [`ops`], [`floats`]: the instruction table's operations on these values.
//! - [`float_flags`]: the exceptions that accrue, and the rounding mode.
//! - [`lines`]: which host instruction belongs to which guest instruction.
//! - [`function`]: one guest function; [`registers`]: where its registers are.
//! - [`fuel`]: where it looks at its fuel.
//! - [`continuations`]: where a function is come back to.
//! - [`memory`]: accesses to the guest's memory; [`guarded`]: those of precise code.
//! - [`host_calls`]: calls of host functions, [`slot_calls`]: of such that have an array; [`host_entries`]: what the host calls as its own.
//! - [`library`]: functions that compilers take for granted.
//! - [`transfer`]: calls, returns, and the ways out of compiled code; [`look_up`]: what is called by register.

mod continuations;
mod dataflow;
mod float_flags;
mod floats;
mod fuel;
mod function;
mod guarded;
mod host_calls;
pub(crate) mod host_entries;
mod ir;
mod library;
mod lines;
mod look_up;
mod memory;
mod ops;
mod order;
mod registers;
mod slot_calls;
mod transfer;
mod value;

pub(crate) use dataflow::is_mostly_floats;
pub(crate) use float_flags::{define_helpers, observed};
pub(crate) use function::{Surroundings, declare, lift};
pub(crate) use ir::{Callers, Ir, integer_operand};
pub(crate) use library::KnownFunction;
