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

use inkwell::values::{FunctionValue, IntValue};
use riverrun_native::convention::{self, NOWHERE, Reason};

use crate::analysis::{Liveness, is_copied};
use crate::lift::function::lively;
use crate::lift::ir::{Ir, Space, built};
use crate::lift::ops::Site;
use crate::lift::registers::{Label, RA, Registers};

/// The continuations of a function.
pub(crate) struct Continuations<'c> {
    /// By blocks; their blocks reload what calls may change.
    labels: RefCell<BTreeMap<u64, Label<'c>>>,
    /// Where calls come back to that have not returned as expected.
    pub(crate) astray: Label<'c>,
    /// Where the function goes on after it was left at its start: at the state's pc.
    pub(crate) entrance: Label<'c>,
    /// Where fuel may be short behind calls, once the state has the pc and all registers but the convention's.
    pub(crate) limit: Label<'c>,
    /// Where accesses of precise code go on that have faulted, once the state has all registers and the pc.
    pub(crate) fault: Label<'c>,
}

impl<'c> Continuations<'c> {
    pub(crate) fn new(ir: &Ir<'c>, function: FunctionValue<'c>, orphans: &[u64]) -> Continuations<'c> {
        let labels = orphans.iter().map(|&orphan| (orphan, ir.block(function))).collect();
        let block = || ir.block(function);
        let labels = RefCell::new(labels);
        Continuations { labels, astray: block(), entrance: block(), limit: block(), fault: block() }
    }

    /// The continuation at an address.
    pub(crate) fn at(&self, ir: &Ir<'c>, function: FunctionValue<'c>, next: u64) -> Label<'c> {
        *self.labels.borrow_mut().entry(next).or_insert_with(|| ir.block(function))
    }

    /// All continuations.
    pub(crate) fn all(&self) -> BTreeMap<u64, Label<'c>> {
        self.labels.borrow().clone()
    }

    /// Makes the blocks of a host entry, which nothing comes back to.
    pub(crate) fn finish_unused(&self, ir: &Ir<'c>) {
        for label in self.labels.borrow().values().chain([&self.astray, &self.entrance, &self.limit, &self.fault]) {
            ir.builder.position_at_end(*label);
            ir.unreachable();
        }
    }

    /// Makes the blocks that tell where to go on, as far as anything leads to them.
    pub(crate) fn finish(&self, ir: &Ir<'c>, registers: &Registers<'c>, site: &Site<'_, 'c>) {
        let begin = |label: Label<'c>| {
            ir.builder.position_at_end(label);
            registers.begin_block(0);
            let is_used = label.get_first_use().is_some();
            if !is_used {
                ir.unreachable();
            }
            is_used
        };
        let mut targets: Vec<(IntValue<'c>, Label<'c>)> = Vec::new();
        let choice = ir.block(site.function);
        if begin(self.astray) {
            let ra = ir.word(registers.get(ir, RA));
            targets.push((built(ir.builder.build_and(ra, ir.int(!1), "")), self.astray));
            ir.jump(choice);
        }
        if begin(self.entrance) {
            let pc = ir.field(registers.base(ir), convention::PC);
            targets.push((ir.load(ir.i64.into(), pc, Space::State).into_int_value(), self.entrance));
            ir.jump(choice);
        }
        if begin(choice) {
            self.choose(ir, registers, site, &targets);
        }

        if begin(self.limit) {
            site.leave(Reason::Limit, NOWHERE);
            ir.unreachable();
        }
        if begin(self.fault) {
            registers.refill(ir);
            // The single-step engine makes the trap.
            site.leave(Reason::Step, NOWHERE);
            ir.unreachable();
        }
    }

    /// Goes on at one of `targets`, by where it comes from.
    fn choose(
        &self,
        ir: &Ir<'c>,
        registers: &Registers<'c>,
        site: &Site<'_, 'c>,
        targets: &[(IntValue<'c>, Label<'c>)],
    ) {
        let target = built(ir.builder.build_phi(ir.i64, ""));
        for (value, from) in targets {
            target.add_incoming(&[(value, *from)]);
        }
        let target = target.as_basic_value().into_int_value();
        let mut cases = self.all();
        // A copy's come back to it by themselves, or else to what it is a copy of.
        cases.retain(|&at, _| !is_copied(at));
        let again = ir.options.fuel.then(|| ir.block(site.function));
        cases.extend(again.map(|again| (site.pc, again)));
        let elsewhere = ir.block(site.function);
        let cases: Vec<_> = cases.into_iter().collect();
        search(ir, target, &cases, elsewhere);

        // Where fuel was short at the beginning, and is not any more.
        if let Some(again) = again {
            ir.builder.position_at_end(again);
            registers.begin_block(0);
            // Not a jump to the first block, which would be a loop's then.
            site.tail_call(ir.function(site.pc).as_global_value().as_pointer_value());
        }

        // Only astray: the function is entered nowhere else. Who returns so keeps to the calling convention.
        ir.builder.position_at_end(elsewhere);
        registers.begin_block(0);
        Site { live: lively(ir, Liveness::ASTRAY), ..*site }.return_to_caller();
    }
}

/// Goes on at the label of `target` among `cases`, which are sorted, or else at `missing`.
///
/// A table tells which of many cases an address is, so that they are switched between by small numbers. By
/// addresses, the switch would become a tree, whose blocks take a fortieth of the time to compile, or a table of
/// labels that is mostly holes.
fn search<'c>(ir: &Ir<'c>, target: IntValue<'c>, cases: &[(u64, Label<'c>)], missing: Label<'c>) {
    /// LLVM makes no tables of fewer than four.
    const FEW: usize = 3;
    if cases.len() <= FEW {
        let cases: Vec<_> = cases.iter().map(|&(at, label)| (ir.int(at), label)).collect();
        built(ir.builder.build_switch(target, missing, &cases));
        return;
    }
    let (first, last) = (cases[0].0, cases[cases.len() - 1].0);
    let kind = ir.bits(if cases.len() <= usize::from(u8::MAX) { 8 } else { 32 });
    // Every two bytes from the first case to the last have a number, and what is beyond them; there is one
    // more than there are cases, for what is none.
    let len = (last - first) / 2 + 1;
    let mut numbers = vec![kind.const_int(cases.len() as u64, false); len as usize + 1];
    for (number, &(at, _)) in (0..).zip(cases) {
        numbers[((at - first) / 2) as usize] = kind.const_int(number, false);
    }
    let number = ir.look_up(kind, &numbers, ir.at_most(ir.parcels(first, target), len));
    let labelled = |(number, &(_, label))| (kind.const_int(number, false), label);
    let cases: Vec<_> = (0..).zip(cases).map(labelled).collect();
    built(ir.builder.build_switch(number, missing, &cases));
}
