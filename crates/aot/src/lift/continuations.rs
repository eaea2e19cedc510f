//! The continuations of a function: where its calls return to.

use std::cell::RefCell;
use std::collections::BTreeMap;

use inkwell::values::FunctionValue;

use crate::analysis::Function;
use crate::lift::ir::Ir;
use crate::lift::registers::Label;

/// The continuations of a function.
pub(crate) struct Continuations<'c> {
    /// The continuations by block; their code reloads registers that calls may change.
    labels: RefCell<BTreeMap<u64, Label<'c>>>,
    /// Where calls continue after a mismatched return.
    pub(crate) mismatched: Label<'c>,
    /// Where the function continues after an exit at its start: at the state's pc.
    pub(crate) reentry: Label<'c>,
    /// Where control goes to exit at a pc where the function can be entered, with the pc and all registers in the state.
    pub(crate) limit: Label<'c>,
    /// Where faulting accesses of precise code go, with all registers and the pc in the state.
    pub(crate) fault: Label<'c>,
}

impl<'c> Continuations<'c> {
    /// Those of the host function, which is made of this function of the guest, if it is made of one.
    pub(crate) fn new(ir: &Ir<'c>, function: FunctionValue<'c>, of: Option<&Function>) -> Continuations<'c> {
        let entered = of.into_iter().flat_map(Function::entered_blocks);
        let labels = entered.map(|block| (block, ir.block(function))).collect();
        let block = || ir.block(function);
        let labels = RefCell::new(labels);
        Continuations { labels, mismatched: block(), reentry: block(), limit: block(), fault: block() }
    }

    /// The continuation at an address.
    pub(crate) fn at(&self, ir: &Ir<'c>, function: FunctionValue<'c>, next: u64) -> Label<'c> {
        *self.labels.borrow_mut().entry(next).or_insert_with(|| ir.block(function))
    }

    /// All continuations.
    pub(crate) fn all(&self) -> BTreeMap<u64, Label<'c>> {
        self.labels.borrow().clone()
    }

    /// Fills these blocks in a host-ABI entry point, to which nothing returns.
    pub(crate) fn finish_unused(&self, ir: &Ir<'c>) {
        for label in self.labels.borrow().values().chain([&self.mismatched, &self.reentry, &self.limit, &self.fault]) {
            ir.builder.position_at_end(*label);
            ir.unreachable();
        }
    }
}
