//! Basic blocks of a function, and where each leads.

use std::ops::RangeInclusive;

use riverrun_isa::ops::Mem;
use riverrun_isa::{Destination, Inst};

/// The register in which calls of millicode link.
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

    /// The addresses at which control can be in the block, which begins at `start`.
    pub(super) fn addresses(&self, start: u64) -> RangeInclusive<u64> {
        let last = match self.end {
            Terminator::Step { at, .. } | Terminator::Exit(at) => at,
            _ => self.insts.last().map_or(start, |(pc, _)| *pc),
        };
        start..=last
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
    pub(super) fn extend(&mut self, others: &Targets) {
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
    JumpIndirect(Box<Targets>),
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
    Exit(u64),
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
            Terminator::Return | Terminator::Exit(_) => Vec::new(),
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
            | Terminator::Exit(_) => false,
        }
    }

    /// Whether all facts about registers end with it.
    pub(crate) fn is_call(&self) -> bool {
        matches!(self, Terminator::Call { .. } | Terminator::CallIndirect { .. } | Terminator::Step { .. })
    }
}
