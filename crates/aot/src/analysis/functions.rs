//! Finding functions: by symbols, unwind tables, addresses that are taken, and targets of calls and jumps.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use riverrun_program::SymbolKind;

use crate::analysis::block::{Block, Terminator};
use crate::analysis::blocks::{blocks, gaps};
use crate::analysis::text::Text;
use crate::budget::Budget;

/// A function of the guest.
#[derive(Clone, Debug)]
pub(crate) struct Function {
    /// The address of its first instruction.
    pub(crate) start: u64,
    /// Its name, where it has one.
    pub(crate) name: Option<String>,
    /// Its blocks by address, behind them those of copies; the first one is at its start.
    pub(crate) blocks: BTreeMap<u64, Block>,
    /// Whether its blocks are the whole function.
    pub(crate) extent: Extent,
    /// Blocks without a predecessor: landing pads of exceptions.
    pub(crate) orphans: Vec<u64>,
    /// Headers of loops at which the interpreter hands over, besides: see [`crate::selection`].
    pub(crate) entered_loops: Vec<u64>,
    /// The headers of the loops that poll, and the blocks from whose ends control goes back to each: see
    /// [`crate::analysis::insert_polls`].
    pub(crate) polls: BTreeMap<u64, BTreeSet<u64>>,
}

/// How much of a function was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Extent {
    /// All its instructions are in its blocks.
    Whole,
    /// There are instructions between its blocks without a known predecessor.
    Gaps,
    /// Its end is unknown, or a part of it is taken for another function.
    Unknown,
}

impl Function {
    /// Its re-entry points: the continuations of its calls, landing pads of exceptions, loops that are entered, and the
    /// continuations of calls in copies, to which only those calls return.
    pub(crate) fn reentry_points(&self) -> impl Iterator<Item = u64> {
        let comes_back = |end: &Terminator| end.is_call() || matches!(end, Terminator::ReturnInside { .. });
        let calls = self.blocks.values().filter(move |block| comes_back(&block.end));
        calls.flat_map(|block| block.end.successors()).chain(self.entered_blocks())
    }

    /// The re-entry points that are no continuations of calls.
    pub(crate) fn entered_blocks(&self) -> impl DoubleEndedIterator<Item = u64> {
        self.orphans.iter().chain(&self.entered_loops).copied()
    }

    /// Whether it may call or jump to other functions, or have them return to it.
    pub(crate) fn leaves(&self) -> bool {
        let leads_away = |end: &Terminator| match end {
            Terminator::JumpIndirect(_) => true,
            end => end.is_call() || end.successors().iter().any(|to| !self.blocks.contains_key(to)),
        };
        self.entered_blocks().next().is_some() || self.blocks.values().any(|block| leads_away(&block.end))
    }

    /// The continuations of system calls.
    pub(crate) fn behind_system_calls(&self) -> impl Iterator<Item = u64> {
        self.blocks.values().filter_map(|block| match block.end {
            Terminator::Step { next, is_ecall: true, .. } => Some(next),
            _ => None,
        })
    }

    /// Instructions in all blocks.
    pub(crate) fn size(&self) -> usize {
        self.blocks.values().map(|block| block.insts.len() + 1).sum()
    }

    /// Targets of all its jumps by register.
    pub(crate) fn targets(&self) -> usize {
        self.blocks.values().map(|block| block.end.targets()).sum()
    }

    /// All addresses that its code may refer to as functions: those that it calls, jumps to, or comes to behind a call that
    /// does not return.
    pub(crate) fn refers_to(&self) -> impl Iterator<Item = u64> {
        let called = |block: &Block| if let Terminator::Call { target, .. } = block.end { Some(target) } else { None };
        let direct = move |block: &Block| called(block).into_iter().chain(block.end.successors());
        self.blocks.values().flat_map(direct)
    }

    /// Addresses that the function calls or jumps to directly but that are none of its blocks.
    fn leads_to(&self) -> impl Iterator<Item = u64> {
        let direct = |block: &Block| match &block.end {
            Terminator::Call { target, .. } => vec![*target],
            end => end.successors(),
        };
        self.blocks.values().flat_map(direct).filter(|to| !self.blocks.contains_key(to))
    }
}

/// Where the functions of a program begin, as far as that is known.
pub(crate) struct Starts<'a, 't> {
    text: &'a Text<'t>,
    /// By symbols and unwind tables: where they begin and end. Nothing else tells where exceptions land.
    ends: BTreeMap<u64, u64>,
    all: BTreeSet<u64>,
    has_exceptions: bool,
}

impl<'a, 't> Starts<'a, 't> {
    /// Those that the program itself names, or whose addresses it takes, and `found`.
    pub(crate) fn new(text: &'a Text<'t>, found: impl IntoIterator<Item = u64>) -> Starts<'a, 't> {
        let image = text.image;
        let named = image.symbols().filter(|symbol| matches!(symbol.kind, SymbolKind::Function | SymbolKind::Resolver));
        let named = named.map(|symbol| symbol.address..symbol.address.saturating_add(symbol.size));
        let mut ends: BTreeMap<u64, u64> = BTreeMap::new();
        for range in named.chain(image.unwind_ranges()).filter(|range| is_start(text, range.start)) {
            let end = ends.entry(range.start).or_default();
            *end = range.end.max(*end);
        }
        let mut all: BTreeSet<u64> = ends.keys().copied().chain(found).collect();
        all.insert(image.entry());
        // Addresses that are taken inside a function are labels.
        let is_inside = |address: u64| ends.range(..=address).next_back().is_some_and(|(_, &end)| address < end);
        all.extend(text.pointers().iter().copied().filter(|&pointer| !is_inside(pointer)));
        Starts { text, all, has_exceptions: image.section(".gcc_except_table").is_some(), ends }
    }

    /// The addresses of a function, which ends where the next one begins.
    pub(crate) fn range(&self, start: u64) -> Range<u64> {
        start..self.all.range(start..).nth(1).copied().unwrap_or(u64::MAX)
    }

    /// The function that begins at a start.
    pub(crate) fn function(&self, start: u64, budget: &Budget) -> Function {
        let Starts { text, .. } = self;
        let end = self.range(start).end;
        let symbol = text.image.symbol_at(start).filter(|(_, offset)| *offset == 0).map(|(symbol, _)| symbol);
        let known_end = self.ends.get(&start).copied().unwrap_or(start);
        let orphans_until = if self.has_exceptions { end.min(known_end) } else { start };
        let (blocks, orphans) = blocks(text, start..end, orphans_until, budget);
        let name = symbol.map(|symbol| symbol.name.to_owned());
        let extent = match known_end {
            known_end if known_end <= start || end < known_end => Extent::Unknown,
            known_end if gaps(text, start..known_end, &blocks).is_empty() => Extent::Whole,
            _ => Extent::Gaps,
        };
        let (entered_loops, polls) = (Vec::new(), BTreeMap::new());
        Function { start, name, blocks, extent, orphans, entered_loops, polls }
    }
}

/// Whether there is an instruction at an address.
fn is_start(text: &Text<'_>, address: u64) -> bool {
    text.fetch(address).is_some()
}

/// The functions of a program, by address; none if the budget is spent.
pub(crate) fn functions(text: &Text<'_>, budget: &Budget) -> Vec<Function> {
    let mut starts = Starts::new(text, []);
    let mut found: BTreeMap<u64, Function> = BTreeMap::new();
    let mut pending = starts.all.clone();
    while !pending.is_empty() {
        let mut further = BTreeSet::new();
        for start in pending {
            if !budget.spend(1) {
                return Vec::new();
            }
            let function = starts.function(start, budget);
            further.extend(function.leads_to().filter(|to| !starts.all.contains(to) && is_start(text, *to)));
            found.insert(start, function);
        }
        starts.all.extend(&further);
        // A function changes only where another one begins inside it.
        let around = |start: u64| starts.all.range(..start).next_back().copied();
        pending = further.iter().copied().filter_map(around).chain(further.iter().copied()).collect();
    }
    found.into_values().collect()
}
