//! Lifting: guest functions to LLVM IR.
//!
//! - [`ir`]: LLVM's builder with the types and attributes that all code here shares.
//! - [`value`]: values, kept in the form in which they were made.
//! - [`site`]: the place at which an instruction is lifted; [`ops`], [`floats`]: the instruction table's operations on
//!   these values.
//! - [`float_flags`]: the exceptions that accrue, and the rounding mode.
//! - [`lines`]: which host instruction belongs to which guest instruction.
//! - [`function`]: one guest function; [`registers`]: where its guest registers are.
//! - [`fuel`]: where it tests its fuel.
//! - [`continuations`]: its continuations; [`mismatched_returns`]: what returns to others of them.
//! - [`memory`]: accesses to the guest's memory; [`guarded`]: those of precise mode; [`fault_exits`]: where they fault.
//! - [`host_calls`]: host calls; [`slot_calls`]: those with raw values; [`host_abi_entries`]: host-ABI entry points.
//! - [`libcalls`]: the bodies of libcalls.
//! - [`transfer`]: calls, returns and exits; [`look_up`]: calls by register.

mod continuations;
mod dataflow;
mod fault_exits;
mod float_flags;
mod floats;
mod fuel;
mod function;
mod guarded;
pub(crate) mod host_abi_entries;
mod host_calls;
mod ir;
mod libcalls;
mod lines;
mod look_up;
mod memory;
mod mismatched_returns;
mod ops;
mod registers;
mod site;
mod slot_calls;
mod transfer;
mod value;

pub(crate) use dataflow::is_mostly_floats;
pub(crate) use float_flags::{define_helpers, matter as exceptions_matter, observed};
pub(crate) use floats::truncated_range;
pub(crate) use function::{Surroundings, declare, lift};
pub(crate) use ir::{Callers, Ir, integer_operand};
pub(crate) use libcalls::KnownLibcall;
pub(crate) use look_up::searcher;
pub(crate) use memory::FOLDED;
