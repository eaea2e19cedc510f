//! Millicode: short routines that are called with their return address in t0, by code that keeps ra
//! for itself. `-msave-restore` has them save registers; outliners make them of what occurs often.
//!
//! They become part of every function that calls them, as blocks of its own: nothing is left of the
//! call, and the jump back is to a place that is known.

use std::collections::BTreeSet;

use riverrun_isa::{Destination, Op};

use crate::analysis::blocks::T0;
use crate::analysis::text::{Text, Treatment};

/// Instructions of a routine at most.
const LIMIT: usize = 64;

/// The addresses of a routine's instructions; `None` if what is at `start` is none: if it calls, leads
/// elsewhere than back, or is long.
pub(super) fn reached_from(text: &Text<'_>, start: u64) -> Option<BTreeSet<u64>> {
    let mut addresses = BTreeSet::new();
    let mut pending = vec![start];
    let mut returns = false;
    while let Some(pc) = pending.pop() {
        if !addresses.insert(pc) {
            continue;
        }
        let inst = text.fetch(pc).filter(|inst| text.treatment(inst) == Treatment::Compiled)?;
        let target = pc.wrapping_add(inst.imm as u64);
        let next = pc + u64::from(inst.len);
        match (inst.op.info().format.destination(), inst.op) {
            (Destination::Branch, _) => pending.extend([target, next]),
            (Destination::Jump, Op::jal) if inst.rd == 0 => pending.push(target),
            (Destination::Jump, Op::jalr) if (inst.rd, inst.rs1, inst.imm) == (0, T0, 0) => returns = true,
            (Destination::Jump, _) => return None,
            _ => pending.push(next),
        }
        if addresses.len() > LIMIT {
            return None;
        }
    }
    returns.then_some(addresses)
}
