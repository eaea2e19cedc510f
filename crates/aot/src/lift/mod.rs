//! Lifting: guest functions to LLVM IR.
//!
//! - [`ir`]: LLVM's builder with the types and attributes that all code here shares.
//! - [`value`]: values, kept in the form in which they were made.
//! - [`ops`], [`floats`]: the instruction table's operations on these values.
//! - [`float_flags`]: the exceptions that accrue, and the rounding mode.
//! - [`lines`]: which host instruction belongs to which guest instruction.
//! - [`function`]: one guest function; [`registers`]: where its guest registers are.
//! - [`fuel`]: where it tests its fuel.
//! - [`continuations`]: its continuations, and mismatched returns.
//! - [`memory`]: accesses to the guest's memory; [`guarded`]: those of precise mode.
//! - [`host_calls`]: host calls; [`slot_calls`]: those with raw values; [`host_entries`]: host-ABI entry points.
//! - [`libcalls`]: the bodies of libcalls.
//! - [`transfer`]: calls, returns and exits; [`look_up`]: calls by register.

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
mod libcalls;
mod lines;
mod look_up;
mod memory;
mod ops;
mod registers;
mod slot_calls;
mod transfer;
mod value;

pub(crate) use dataflow::is_mostly_floats;
pub(crate) use float_flags::{define_helpers, observed};
pub(crate) use function::{Surroundings, declare, lift};
pub(crate) use ir::{Callers, Ir, integer_operand};
pub(crate) use libcalls::KnownLibcall;
