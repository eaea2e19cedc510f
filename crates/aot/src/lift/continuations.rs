//! Where a function is come back to.
//!
//! A call returns to the address behind it. But the guest may return elsewhere: by `longjmp`, by an
//! exception, by a switch of stacks. The host frames hold nothing of the guest, as all its registers
//! are in the convention's or in the state at every call; so a frame may be gone on in at any of its
//! function's continuations, whichever call has come back. A function that is returned to astray goes
//! on at that address if it is one of its own, or else returns astray itself. Only host frames without
//! a guest's one are dropped so.
//!
//! The dispatcher, where no frame is left, enters a function in the middle by the same means: it
//! enters it at its start without stack to go on, and tells it another pc when it comes back.

use std::cell::RefCell;
use std::collections::BTreeMap;

use inkwell::values::FunctionValue;
use riverrun_native::convention;

use crate::lift::ir::{Ir, Space, built};
use crate::lift::ops::Site;
use crate::lift::registers::{Label, Registers};

const RA: usize = 1;

/// The continuations of a function.
pub(crate) struct Continuations<'c> {
    /// By guest address; their blocks reload what calls may change.
    labels: RefCell<BTreeMap<u64, Label<'c>>>,
    /// Where calls come back to that have not returned as expected.
    pub(crate) astray: Label<'c>,
    /// Where the function goes on after it was left at its start: at the state's pc.
    pub(crate) entrance: Label<'c>,
}

impl<'c> Continuations<'c> {
    pub(crate) fn new(ir: &Ir<'c>, function: FunctionValue<'c>, orphans: &[u64]) -> Continuations<'c> {
        let labels = orphans.iter().map(|&orphan| (orphan, ir.block(function))).collect();
        Continuations { labels: RefCell::new(labels), astray: ir.block(function), entrance: ir.block(function) }
    }

    /// The continuation at an address.
    pub(crate) fn at(&self, ir: &Ir<'c>, function: FunctionValue<'c>, next: u64) -> Label<'c> {
        *self.labels.borrow_mut().entry(next).or_insert_with(|| ir.block(function))
    }

    /// All continuations.
    pub(crate) fn all(&self) -> BTreeMap<u64, Label<'c>> {
        self.labels.borrow().clone()
    }

    /// Makes the blocks that tell where to go on. `start` is the function's first block.
    pub(crate) fn finish(&self, ir: &Ir<'c>, registers: &Registers<'c>, site: &Site<'_, 'c>, start: Label<'c>) {
        let labels = self.labels.borrow();
        let cases: Vec<_> = labels.iter().map(|(&at, &label)| (ir.int(at), label)).collect();
        let other = ir.block(site.function);

        ir.builder.position_at_end(self.astray);
        registers.begin_block(0);
        let ra = ir.word(registers.get(ir, RA));
        let target = built(ir.builder.build_and(ra, ir.int(!1), ""));
        built(ir.builder.build_switch(target, other, &cases));

        ir.builder.position_at_end(other);
        registers.begin_block(0);
        site.return_to_caller();

        let (again, unknown) = (ir.block(site.function), ir.block(site.function));
        ir.builder.position_at_end(self.entrance);
        registers.begin_block(0);
        let pc = ir.field(registers.base(ir), convention::PC);
        let pc = ir.load(ir.i64.into(), pc, Space::State).into_int_value();
        let with_start: Vec<_> = cases.into_iter().chain([(ir.int(site.pc), again)]).collect();
        built(ir.builder.build_switch(pc, unknown, &with_start));

        ir.builder.position_at_end(again);
        registers.begin_block(0);
        registers.reload(ir);
        ir.jump(start);

        ir.builder.position_at_end(unknown);
        registers.begin_block(0);
        site.jump_out(pc);
    }
}
