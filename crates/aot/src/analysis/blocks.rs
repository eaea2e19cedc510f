//! Finding the blocks of a function in its text.

use std::collections::{BTreeMap, BTreeSet};
use std::mem::replace;
use std::ops::Range;

use riverrun_isa::{Destination, Inst, Op};

use crate::analysis::block::{Block, T0, Targets, Terminator};
use crate::analysis::text::{Text, Treatment};
use crate::analysis::{jump_tables, millicode};
use crate::budget::Budget;

const RA: u8 = 1;
/// The registers in which entries of a procedure linkage table link, and have their target.
const T1: u8 = 6;
const T3: u8 = 28;

/// The addresses of a function's instructions: its own, and those of the [`millicode`] that it calls,
/// which becomes part of it.
struct Extent {
    own: Range<u64>,
    millicode: BTreeSet<u64>,
}

impl Extent {
    fn contains(&self, pc: u64) -> bool {
        self.own.contains(&pc) || self.millicode.contains(&pc)
    }
}

/// The blocks that control can reach from the first of `addresses` without leaving them; up to the address `orphans_until`
/// also blocks without a known predecessor, which unwinding may enter. Some of them if the budget is spent.
pub(crate) fn blocks(
    text: &Text<'_>,
    addresses: Range<u64>,
    orphans_until: u64,
    budget: &Budget,
) -> (BTreeMap<u64, Block>, Vec<u64>) {
    let mut leaders = BTreeSet::from([addresses.start]);
    let mut orphans = Vec::new();
    let mut blocks: BTreeMap<u64, Block> = BTreeMap::new();
    let mut pending = vec![addresses.start];
    let mut tables: BTreeMap<u64, Targets> = BTreeMap::new();
    let mut extent = Extent { own: addresses.clone(), millicode: BTreeSet::new() };
    let mut is_parted = false;
    loop {
        let mut further = BTreeSet::new();
        if !budget.spend(blocks.len()) {
            return (blocks, orphans);
        }
        while let Some(start) = pending.pop() {
            if blocks.contains_key(&start) {
                continue;
            }
            let mut block = walk(text, start, &extent, &leaders, &tables);
            // There may be millions of instructions.
            block.insts.shrink_to_fit();
            let sought = if block.insts.last().is_some_and(|(_, inst)| inst.rd == T0) { millicode::LIMIT } else { 0 };
            if !budget.spend(block.insts.len() + 1 + block.end.targets() + sought) {
                return (blocks, orphans);
            }
            if let (Terminator::Jump(to), true) = (&block.end, block.calls_millicode()) {
                extent.millicode.extend(millicode::reached_from(text, *to).unwrap_or_default());
            }
            for to in block.end.successors().into_iter().filter(|&to| extent.contains(to)) {
                if !leaders.contains(&to) {
                    further.insert(to);
                }
                pending.push(to);
            }
            blocks.insert(start, block);
        }
        // A jump table can be read when the blocks that compute its address are known. It leads to further blocks, after
        // which fewer facts may hold, so targets that were found before are kept.
        let mut found = jump_tables::find(text, &addresses, &blocks, budget);
        for (jump, targets) in &tables {
            found.entry(*jump).or_default().extend(targets);
        }
        if further.is_empty() && found == tables {
            if replace(&mut is_parted, false) {
                leave_reachable(&mut blocks, orphans.iter().copied().chain([addresses.start]).collect());
            }
            let gaps = gaps(text, addresses.start..orphans_until, &blocks);
            if gaps.is_empty() {
                return (blocks, orphans);
            }
            pending.extend(&gaps);
            further.extend(&gaps);
            orphans.extend(gaps);
        }
        tables = found;
        let splits = |start: u64, block: &Block| further.range(block.addresses(start)).any(|&at| at != start);
        leaders.extend(&further);
        is_parted |= blocks.values().any(|block| is_parted_by(block, &further));
        // These are walked again.
        let changed = blocks.extract_if(.., |&start, block| match block.end {
            // What is known of it may have changed.
            Terminator::JumpIndirect(_) => true,
            // It ended where the function did, which may have grown by millicode.
            Terminator::Next(to) if !leaders.contains(&to) => true,
            _ => splits(start, block),
        });
        pending.extend(changed.map(|(start, _)| start));
    }
}

/// Whether a leader parts the two instructions of a distant jump, which leads nowhere known by itself.
fn is_parted_by(block: &Block, leaders: &BTreeSet<u64>) -> bool {
    let is_second = |(pc, inst): &(u64, Inst)| inst.op == Op::jalr && leaders.contains(pc);
    matches!(block.end, Terminator::Jump(_)) && block.insts.last().is_some_and(is_second)
}

/// Leaves the blocks to which control may come from `pending`.
fn leave_reachable(blocks: &mut BTreeMap<u64, Block>, mut pending: Vec<u64>) {
    let mut reachable = BTreeSet::new();
    while let Some(start) = pending.pop() {
        if let Some(block) = blocks.get(&start).filter(|_| reachable.insert(start)) {
            pending.extend(block.end.successors());
        }
    }
    blocks.retain(|start, _| reachable.contains(start));
}

/// Addresses of instructions behind blocks that belong to none and are not there to align others.
pub(super) fn gaps(text: &Text<'_>, addresses: Range<u64>, blocks: &BTreeMap<u64, Block>) -> Vec<u64> {
    let end_of = |(&start, block): (&u64, &Block)| match (&block.end, block.insts.last()) {
        (Terminator::Step { next, .. }, _) => *next,
        (_, Some((pc, inst))) => pc + u64::from(inst.len),
        (_, None) => start,
    };
    let starts = blocks.range(addresses.clone()).skip(1).map(|(&start, _)| start).chain([addresses.end]);
    let is_nop = |inst: &Inst| inst.op == Op::addi && inst.rd == 0;
    let open = |(end, next): (u64, u64)| {
        let mut pc = end;
        while pc < next {
            match text.fetch(pc) {
                Some(inst) if is_nop(&inst) => pc += u64::from(inst.len),
                Some(_) => return Some(end),
                None => break,
            }
        }
        None
    };
    let gaps = blocks.range(addresses).map(end_of).zip(starts).filter_map(open);
    gaps.filter(|gap| !blocks.contains_key(gap)).collect()
}

fn walk(
    text: &Text<'_>,
    start: u64,
    extent: &Extent,
    leaders: &BTreeSet<u64>,
    tables: &BTreeMap<u64, Targets>,
) -> Block {
    let mut insts = Vec::new();
    let mut pc = start;
    loop {
        if pc != start && (leaders.contains(&pc) || !extent.contains(pc)) {
            return Block { insts, end: Terminator::Next(pc) };
        }
        let Some(inst) = text.fetch(pc) else {
            return Block { insts, end: Terminator::Exit(pc) };
        };
        let next = pc + u64::from(inst.len);
        if text.treatment(&inst) == Treatment::Stepped {
            // A handler of its signal may have the guest go on behind it.
            let end = match inst.op {
                Op::ebreak if !extent.contains(next) || text.fetch(next).is_none() => Terminator::Exit(pc),
                op => Terminator::Step { at: pc, next, is_ecall: op == Op::ecall },
            };
            return Block { insts, end };
        }
        let format = inst.op.info().format;
        let to = target(&insts, pc, &inst);
        let end = match (format.destination(), inst.rd, to) {
            (Destination::Branch, ..) => Some(Terminator::Branch { taken: pc.wrapping_add(inst.imm as u64), next }),
            (Destination::Jump, 0, Some(to)) => Some(Terminator::Jump(to)),
            (Destination::Jump, RA, Some(target)) => Some(Terminator::Call { target, next }),
            (Destination::Jump, RA, None) => Some(Terminator::CallIndirect { next }),
            (Destination::Jump, T0, Some(to)) if millicode::reached_from(text, to).is_some() => {
                Some(Terminator::Jump(to))
            }
            (Destination::Jump, 0, None) if inst.rs1 == RA && inst.imm == 0 => Some(Terminator::Return),
            (Destination::Jump, rd, None) if rd == 0 || is_linkage_entry(&inst) => {
                Some(Terminator::JumpIndirect(Box::new(tables.get(&pc).cloned().unwrap_or_default())))
            }
            // Links in other registers: calls of another convention.
            (Destination::Jump, ..) => return Block { insts, end: Terminator::Exit(pc) },
            _ => None,
        };
        insts.push((pc, inst));
        if let Some(end) = end {
            return Block { insts, end };
        }
        pc = next;
    }
}

/// Whether an instruction is the jump of an entry of a procedure linkage table. It links in t1 for what binds a symbol
/// that is not bound yet; nothing returns there.
fn is_linkage_entry(inst: &Inst) -> bool {
    (inst.op, inst.rd, inst.rs1, inst.imm) == (Op::jalr, T1, T3, 0)
}

/// The target of a direct jump: `jal`, or `auipc` with `jalr` for distant targets.
fn target(before: &[(u64, Inst)], pc: u64, inst: &Inst) -> Option<u64> {
    match inst.op {
        Op::jal => Some(pc.wrapping_add(inst.imm as u64)),
        Op::jalr => {
            let (base, upper) = before.last().filter(|(_, upper)| upper.op == Op::auipc && upper.rd == inst.rs1)?;
            (inst.rs1 != 0).then(|| base.wrapping_add(upper.imm as u64).wrapping_add(inst.imm as u64) & !1)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use riverrun_program::Image;
    use riverrun_testkit::{Random, generate};

    use super::*;
    use crate::analysis::sample;

    /// Jumps of random programs part the instructions of others.
    #[test]
    fn something_leads_to_each_block() {
        for seed in 0..1000 {
            let elf = generate::case(&mut Random::seeded(seed)).elf;
            for function in sample::functions_of(&Image::parse(elf).unwrap()) {
                let mut blocks = function.blocks.clone();
                leave_reachable(&mut blocks, function.orphans.iter().copied().chain([function.start]).collect());
                assert!(blocks.keys().eq(function.blocks.keys()), "seed {seed}: {:#x}", function.start);
            }
        }
    }
}
