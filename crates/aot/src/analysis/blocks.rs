//! Basic blocks of a function, and where each leads.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use riverrun_isa::ops::Mem;
use riverrun_isa::{Destination, Inst, Op};

use crate::analysis::text::{Text, Treatment};
use crate::analysis::{jump_tables, millicode};
use crate::budget::Budget;

const RA: u8 = 1;
pub(super) const T0: u8 = 5;

/// Instructions that are executed one after another.
#[derive(Clone, Debug)]
pub(crate) struct Block {
    /// Addresses and instructions; the last one is the branch or jump that ends the block, if one
    /// does.
    pub(crate) insts: Vec<(u64, Inst)>,
    /// How it ends.
    pub(crate) end: Terminator,
}

impl Block {
    /// Whether the jump at its end links in t0.
    pub(super) fn calls_millicode(&self) -> bool {
        let links = |inst: &Inst| inst.op.info().format.destination() == Destination::Jump && inst.rd == T0;
        self.insts.last().is_some_and(|(_, inst)| links(inst))
    }

    /// The address behind its last instruction.
    ///
    /// # Panics
    /// If it has no instruction.
    pub(super) fn end_address(&self) -> u64 {
        let (pc, inst) = self.insts.last().expect("a block with instructions");
        pc + u64::from(inst.len)
    }
}

/// The known targets of a jump by register, sorted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Targets {
    /// In the function.
    pub(crate) inside: Vec<u64>,
    /// Targets outside the function, such as cold parts that a compiler has moved.
    pub(crate) outside: Vec<u64>,
    /// Whether a table of the function proves that these are all. Otherwise they are the function's labels whose address is
    /// taken, and the jump may lead to any of them.
    pub(crate) are_all: bool,
    /// The target of each entry of that table, if there is one.
    pub(crate) table: Vec<u64>,
    /// The table, if it is in memory that is never writable.
    pub(crate) fixed: Option<Fixed>,
}

/// A table in memory that cannot be written to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fixed {
    pub(crate) start: u64,
    /// What an entry is.
    pub(crate) mem: Mem,
    /// The constant that is added to an entry.
    pub(crate) plus: u64,
}

impl Targets {
    pub(super) fn new(inside: impl IntoIterator<Item = u64>) -> Targets {
        let mut targets = Targets { inside: inside.into_iter().collect(), are_all: true, ..Targets::default() };
        targets.tidy();
        targets
    }

    /// Adds targets found from weaker facts.
    fn extend(&mut self, others: &Targets) {
        self.are_all = if self.inside.is_empty() { others.are_all } else { self.are_all };
        if self.table.is_empty() {
            self.table.clone_from(&others.table);
            self.fixed = others.fixed;
        }
        self.inside.extend(&others.inside);
        self.outside.extend(&others.outside);
        self.tidy();
    }

    pub(super) fn tidy(&mut self) {
        for targets in [&mut self.inside, &mut self.outside] {
            targets.sort_unstable();
            targets.dedup();
        }
    }
}

/// The terminator of a block.
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
    /// With a call of a copy, which is in the same function.
    CallInside {
        /// The copy's first block.
        to: u64,
    },
    /// With a jump to ra in a copy.
    ReturnInside {
        /// The block behind the copy's call.
        next: u64,
    },
    /// With a jump by register.
    JumpIndirect(Targets),
    /// Before an instruction that the reference interpreter executes.
    Step {
        /// Its address.
        at: u64,
        /// The address behind it.
        next: u64,
        /// Whether it calls the host.
        is_ecall: bool,
    },
    /// Before an instruction that cannot be compiled and after which control does not return.
    Leave(u64),
}

impl Terminator {
    /// The successors in the same function.
    pub(crate) fn successors(&self) -> Vec<u64> {
        match self {
            Terminator::Next(to)
            | Terminator::Jump(to)
            | Terminator::CallInside { to }
            | Terminator::ReturnInside { next: to } => vec![*to],
            Terminator::Branch { taken, next } => vec![*taken, *next],
            Terminator::Call { next, .. } | Terminator::CallIndirect { next } | Terminator::Step { next, .. } => {
                vec![*next]
            }
            Terminator::JumpIndirect(targets) => targets.inside.clone(),
            Terminator::Return | Terminator::Leave(_) => Vec::new(),
        }
    }

    /// How many targets a jump by register has in its function.
    pub(crate) fn targets(&self) -> usize {
        if let Terminator::JumpIndirect(targets) = self { targets.inside.len() } else { 0 }
    }

    /// Whether control continues at known places with registers unchanged.
    pub(crate) fn goes_on(&self) -> bool {
        match self {
            Terminator::Next(_)
            | Terminator::Jump(_)
            | Terminator::Branch { .. }
            | Terminator::CallInside { .. }
            | Terminator::ReturnInside { .. } => true,
            Terminator::Call { .. }
            | Terminator::CallIndirect { .. }
            | Terminator::Return
            | Terminator::JumpIndirect(_)
            | Terminator::Step { .. }
            | Terminator::Leave(_) => false,
        }
    }

    /// Whether all facts about registers end with it.
    pub(crate) fn is_call(&self) -> bool {
        matches!(self, Terminator::Call { .. } | Terminator::CallIndirect { .. } | Terminator::Step { .. })
    }
}

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
    let mut roots = vec![addresses.start];
    let mut tables: BTreeMap<u64, Targets> = BTreeMap::new();
    let mut extent = Extent { own: addresses.clone(), millicode: BTreeSet::new() };
    // A leader inside a block that has been walked splits it in the next round.
    loop {
        let mut blocks = BTreeMap::new();
        let mut pending = roots.clone();
        let known = leaders.clone();
        while let Some(start) = pending.pop() {
            if blocks.contains_key(&start) {
                continue;
            }
            let block = walk(text, start, &extent, &known, &tables);
            let sought = if block.insts.last().is_some_and(|(_, inst)| inst.rd == T0) { millicode::LIMIT } else { 0 };
            if !budget.spend(block.insts.len() + 1 + block.end.targets() + sought) {
                return (blocks, roots);
            }
            if let (Terminator::Jump(to), true) = (&block.end, block.calls_millicode()) {
                extent.millicode.extend(millicode::reached_from(text, *to).unwrap_or_default());
            }
            for to in block.end.successors().into_iter().filter(|&to| extent.contains(to)) {
                leaders.insert(to);
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
        if leaders == known && found == tables {
            let gaps = gaps(text, addresses.start..orphans_until, &blocks);
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

/// Addresses of instructions behind blocks that belong to none and are not there to align others.
pub(super) fn gaps(text: &Text<'_>, addresses: Range<u64>, blocks: &BTreeMap<u64, Block>) -> Vec<u64> {
    let end_of = |(&start, block): (&u64, &Block)| match (&block.end, block.insts.last()) {
        (Terminator::Step { next, .. }, _) => *next,
        (_, Some((pc, inst))) => pc + u64::from(inst.len),
        (_, None) => start,
    };
    let until = addresses.end;
    let starts = blocks.range(addresses.clone()).skip(1).map(|(&start, _)| start).chain([until]);
    let is_nop = |inst: &Inst| inst.op == Op::addi && inst.rd == 0;
    let open = |(end, next): (u64, u64)| {
        let mut pc = end;
        while let Some(inst) = text.fetch(pc).filter(|inst| pc < next && is_nop(inst)) {
            pc += u64::from(inst.len);
        }
        (pc < next.min(until) && text.fetch(pc).is_some()).then_some(end)
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
            return Block { insts, end: Terminator::Leave(pc) };
        };
        let next = pc + u64::from(inst.len);
        if text.treatment(&inst) == Treatment::Stepped {
            let end = match inst.op {
                Op::ebreak => Terminator::Leave(pc),
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
            (Destination::Jump, 0, None) => {
                Some(Terminator::JumpIndirect(tables.get(&pc).cloned().unwrap_or_default()))
            }
            // Links in other registers: calls of another convention.
            (Destination::Jump, ..) => return Block { insts, end: Terminator::Leave(pc) },
            _ => None,
        };
        insts.push((pc, inst));
        if let Some(end) = end {
            return Block { insts, end };
        }
        pc = next;
    }
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
