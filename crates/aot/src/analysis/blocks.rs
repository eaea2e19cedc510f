//! Basic blocks.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use riverrun_isa::{Format, Inst, Op, Result as Destination};

use crate::analysis::jump_tables;
use crate::analysis::text::{Text, Treatment};

const RA: u8 = 1;

/// Instructions that are executed one after another.
#[derive(Clone, Debug)]
pub(crate) struct Block {
    /// Addresses and instructions; the last one is the branch or jump that ends the block, if one
    /// does.
    pub(crate) insts: Vec<(u64, Inst)>,
    /// How it ends.
    pub(crate) end: Terminator,
}

/// How a block ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Terminator {
    /// With its last instruction: another block begins there.
    Next(u64),
    /// With a conditional branch.
    Branch {
        /// Where it goes if the condition holds.
        taken: u64,
        /// Where it goes if not.
        next: u64,
    },
    /// With a direct jump.
    Jump(u64),
    /// With a direct call.
    Call {
        /// The function.
        target: u64,
        /// Where it returns to.
        next: u64,
    },
    /// With a call by register.
    CallIndirect {
        /// Where it returns to.
        next: u64,
    },
    /// With a jump to ra.
    Return,
    /// With a jump by register; to one of these, as far as is known.
    JumpIndirect(Vec<u64>),
    /// In front of an instruction of the single-step engine.
    Step {
        /// Its address.
        at: u64,
        /// The address behind it.
        next: u64,
    },
    /// In front of what cannot be compiled and is not returned from.
    Leave(u64),
}

impl Terminator {
    /// Where control may go on in the same function.
    pub(crate) fn successors(&self) -> Vec<u64> {
        match self {
            Terminator::Next(to) | Terminator::Jump(to) => vec![*to],
            Terminator::Branch { taken, next } => vec![*taken, *next],
            Terminator::Call { next, .. } | Terminator::CallIndirect { next } | Terminator::Step { next, .. } => {
                vec![*next]
            }
            Terminator::JumpIndirect(targets) => targets.clone(),
            Terminator::Return | Terminator::Leave(_) => Vec::new(),
        }
    }

    /// Whether everything that compiled code does not keep itself is unknown behind it.
    pub(crate) fn is_call(&self) -> bool {
        matches!(self, Terminator::Call { .. } | Terminator::CallIndirect { .. } | Terminator::Step { .. })
    }
}

/// The blocks that control can reach from the first of `addresses` without leaving them. Up to
/// `orphans_until`, also those that nothing seems to lead to, whose addresses are given by themselves:
/// unwinding does.
pub(crate) fn blocks(text: &Text<'_>, addresses: Range<u64>, orphans_until: u64) -> (BTreeMap<u64, Block>, Vec<u64>) {
    let mut leaders = BTreeSet::from([addresses.start]);
    let mut roots = vec![addresses.start];
    let mut tables: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
    // A leader inside a block that has been walked splits it in the next round.
    loop {
        let mut blocks = BTreeMap::new();
        let mut pending = roots.clone();
        let known = leaders.clone();
        while let Some(start) = pending.pop() {
            if blocks.contains_key(&start) {
                continue;
            }
            let block = walk(text, start, &addresses, &known, &tables);
            for to in block.end.successors().into_iter().filter(|to| addresses.contains(to)) {
                leaders.insert(to);
                pending.push(to);
            }
            blocks.insert(start, block);
        }
        // Tables can be read once the blocks that compute their addresses are known; they lead to
        // further blocks, behind which less may be known: what has been found is kept.
        let mut found = jump_tables::find(text, &addresses, &blocks);
        for (jump, targets) in &tables {
            let all = found.entry(*jump).or_default();
            all.extend(targets);
            all.sort_unstable();
            all.dedup();
        }
        if leaders == known && found == tables {
            let gaps = gaps(text, orphans_until, &blocks);
            if gaps.is_empty() {
                roots.remove(0);
                return (blocks, roots);
            }
            leaders.extend(&gaps);
            roots.extend(gaps);
        }
        tables = found;
    }
}

/// Addresses of instructions behind blocks that belong to none.
fn gaps(text: &Text<'_>, until: u64, blocks: &BTreeMap<u64, Block>) -> Vec<u64> {
    let end_of = |(&start, block): (&u64, &Block)| match (&block.end, block.insts.last()) {
        (Terminator::Step { next, .. }, _) => *next,
        (_, Some((pc, inst))) => pc + u64::from(inst.len),
        (_, None) => start,
    };
    let starts = blocks.keys().skip(1).copied().chain([until]);
    let open = |&(end, next): &(u64, u64)| end < next.min(until) && text.fetch(end).is_some();
    let gaps = blocks.iter().map(end_of).zip(starts).filter(open).map(|(end, _)| end);
    gaps.filter(|gap| !blocks.contains_key(gap)).collect()
}

fn walk(
    text: &Text<'_>,
    start: u64,
    addresses: &Range<u64>,
    leaders: &BTreeSet<u64>,
    tables: &BTreeMap<u64, Vec<u64>>,
) -> Block {
    let mut insts = Vec::new();
    let mut pc = start;
    loop {
        if pc != start && (leaders.contains(&pc) || !addresses.contains(&pc)) {
            return Block { insts, end: Terminator::Next(pc) };
        }
        let Some(inst) = text.fetch(pc) else {
            return Block { insts, end: Terminator::Leave(pc) };
        };
        let next = pc + u64::from(inst.len);
        if text.treatment(&inst) == Treatment::Stepped {
            let end = match inst.op {
                Op::ebreak => Terminator::Leave(pc),
                _ => Terminator::Step { at: pc, next },
            };
            return Block { insts, end };
        }
        let target = pc.wrapping_add(inst.imm as u64);
        let format = inst.op.info().format;
        let end = match (format.result(), format) {
            (Destination::Branch, _) => Some(Terminator::Branch { taken: target, next }),
            (Destination::Jump, Format::J) if inst.rd == 0 => Some(Terminator::Jump(target)),
            (Destination::Jump, Format::J) if inst.rd == RA => Some(Terminator::Call { target, next }),
            (Destination::Jump, Format::Jr) if inst.rd == RA => Some(Terminator::CallIndirect { next }),
            (Destination::Jump, Format::Jr) if inst.rd == 0 && inst.rs1 == RA && inst.imm == 0 => {
                Some(Terminator::Return)
            }
            (Destination::Jump, Format::Jr) if inst.rd == 0 => {
                Some(Terminator::JumpIndirect(tables.get(&pc).cloned().unwrap_or_default()))
            }
            // Links in other registers: calls of another convention.
            (Destination::Jump, _) => return Block { insts, end: Terminator::Leave(pc) },
            _ => None,
        };
        insts.push((pc, inst));
        if let Some(end) = end {
            return Block { insts, end };
        }
        pc = next;
    }
}
