//! The place in a function at which an instruction is lifted. What can be made there is in files of their own.

use inkwell::values::FunctionValue;

use crate::analysis::Imports;
use crate::lift::continuations::Continuations;
use crate::lift::fault_exits::Group;
use crate::lift::ir::{Ir, Space};
use crate::lift::registers::{Registers, Set};

/// The place, and what is known there. It implements `Ops` on LLVM values ([`super::ops`]).
pub(crate) struct Site<'a, 'c> {
    pub(crate) ir: &'a Ir<'c>,
    pub(crate) registers: &'a Registers<'c>,
    pub(crate) function: FunctionValue<'c>,
    pub(crate) continuations: &'a Continuations<'c>,
    /// The program's host functions.
    pub(crate) imports: &'a Imports,
    /// The group of accesses before this one, in precise mode.
    pub(crate) group: &'a Group<'c>,
    /// The instruction's address.
    pub(crate) pc: u64,
    /// Instructions of the block from this one on, whose fuel has already been subtracted.
    pub(crate) ahead: u64,
    /// The memory that the instruction accesses, if it is a load or a store.
    pub(crate) space: Space,
    /// The live registers after it.
    pub(crate) live: Set,
    /// Logarithm of the size of the dispatch table.
    pub(crate) dispatch_bits: u32,
}
