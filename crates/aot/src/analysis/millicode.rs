//! Millicode: short routines that are called with their return address in t0, so that ra stays unchanged. `-msave-restore`
//! uses them to save registers; outliners make them of frequent sequences.
//!
//! They are inlined into every function that calls them, as blocks of that function: the call disappears, and the return is
//! a jump to a known block.

use std::collections::BTreeSet;

use riverrun_isa::{Destination, Op};

use crate::analysis::block::T0;
use crate::analysis::text::{Text, Treatment};

/// Instructions of the longest routine.
pub(super) const LIMIT: usize = 64;

/// The addresses of the instructions of the routine at `start`; `None` if it makes calls, leads elsewhere than back, or is
/// too long.
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
