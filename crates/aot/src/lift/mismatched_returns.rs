//! Mismatched returns, and entries in the middle of a function.
//!
//! A call normally returns to its own continuation. The guest may return elsewhere: by `longjmp`, an exception, a stack
//! switch. Host frames hold nothing of the guest, since all its registers are in pinned registers or in the state at every
//! call, so a frame can continue at any continuation of its function, whichever call has returned. After a mismatched return
//! a function continues at that address if it is one of its own continuations, and otherwise returns mismatched itself.
//! This drops only host frames whose guest frame has gone.
//!
//! The dispatcher enters a function in the middle by the same means: it enters it at its start with a stack limit that
//! makes it exit at once, and resumes it with another pc.

use inkwell::values::IntValue;
use riverrun_vm::Reason;
use riverrun_vm::convention::{self, NOWHERE};

use crate::analysis::{Liveness, is_copied};
use crate::lift::continuations::Continuations;
use crate::lift::ir::{Ir, Space, built};
use crate::lift::registers::{Label, RA, Registers, to_commit};
use crate::lift::site::Site;

impl<'c> Continuations<'c> {
    /// Fills the blocks that dispatch to continuations, if they have predecessors.
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
        if begin(self.mismatched) {
            let ra = ir.word(registers.get(ir, RA));
            targets.push((built(ir.builder.build_and(ra, ir.int(!1), "")), self.mismatched));
            ir.jump(choice);
        }
        if begin(self.reentry) {
            let pc = ir.field(registers.base(ir), convention::PC);
            targets.push((ir.load(ir.i64.into(), pc, Space::State).into_int_value(), self.reentry));
            ir.jump(choice);
        }
        if begin(choice) {
            self.choose(ir, registers, site, &targets);
        }

        if begin(self.limit) {
            registers.refill(ir);
            site.exit(Reason::Limit, NOWHERE);
            ir.unreachable();
        }
        if begin(self.fault) {
            registers.refill(ir);
            // The reference interpreter makes the trap.
            site.exit(Reason::Step, NOWHERE);
            ir.unreachable();
        }
    }

    /// Continues at one of `targets`, depending on the predecessor.
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
        // Calls in a copy return to the copy directly; mismatched returns continue in the original.
        cases.retain(|&at, _| !is_copied(at));
        let again = ir.block(site.function);
        cases.insert(site.pc, again);
        let elsewhere = ir.block(site.function);
        let cases: Vec<_> = cases.into_iter().collect();
        search(ir, target, &cases, elsewhere);

        // Fuel was short at the beginning, or an exit requested, and is not any more.
        ir.builder.position_at_end(again);
        registers.begin_block(0);
        // Not a jump to the first block, which would become a loop header.
        site.tail_call(ir.function(site.pc).as_global_value().as_pointer_value());

        // Only after mismatched returns, as the function is entered nowhere else. These keep to the calling convention.
        ir.builder.position_at_end(elsewhere);
        registers.begin_block(0);
        Site { live: to_commit(ir, Liveness::MISMATCHED_RETURN), ..*site }.return_to_caller();
    }
}

/// Jumps to the label of `target` among `cases`, which are sorted, or else to `missing`.
///
/// For many cases, a table maps addresses to small numbers, on which the code switches. A switch on addresses would become a
/// tree, whose blocks take a fortieth of the compile time, or a jump table that is mostly holes.
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
