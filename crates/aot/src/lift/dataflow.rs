//! Facts about a function's blocks that lifting needs: which registers are live, committed, or kept in the state.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use riverrun_isa::ops::Float;
use riverrun_isa::{Format, Inst};
use riverrun_vm::HASH_MIN;

use crate::analysis::{Block, CallNumber, Function, Order, Terminator, order};
use crate::budget::Budget;
use crate::lift::host_calls;
use crate::lift::registers::{self, COUNT, FUEL, Set};

/// The facts about a block.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Facts {
    /// Registers that may be uncommitted at its beginning.
    pub(crate) dirty: Set,
    /// Its live-out registers.
    pub(crate) live: Set,
    /// Registers to commit by its end, because the function does not read them afterwards.
    pub(crate) committed: Set,
}

pub(crate) fn calls_host(inst: &Inst) -> bool {
    inst.op.info().format == Format::Import
}

/// Whether the function calls host functions by their names, directly or with these numbers: they look at the
/// state.
pub(crate) fn is_host_caller(function: &Function, numbers: &BTreeMap<u64, CallNumber>) -> bool {
    let is_hash = |&number: &CallNumber| matches!(number, CallNumber::InT0(key) | CallNumber::InA7(key) if key as u32 >= HASH_MIN);
    numbers.values().any(is_hash)
        || function.blocks.values().flat_map(|block| &block.insts).any(|(_, inst)| calls_host(inst))
}

/// Registers that may be uncommitted after a host call.
pub(crate) fn dirty_behind_host(fuel: bool) -> Set {
    host_calls::lacking() | registers::pinned_set(fuel) & 1 << FUEL
}

/// How much more often a small loop runs than what surrounds it.
const LOOP: usize = 16;

/// Whether most of what the function executes are operations with floats.
pub(crate) fn is_mostly_floats(function: &Function) -> bool {
    let loops = small_loops(function);
    let (mut floats, mut others) = (0, 0);
    for (start, block) in &function.blocks {
        let weight = if loops.contains(start) { LOOP } else { 1 };
        let with_floats = block.insts.iter().filter(|(_, inst)| registers::names_float(inst)).count();
        floats += weight * with_floats;
        others += weight * (block.insts.len() - with_floats);
    }
    floats > others
}

/// All registers that the function names.
pub(crate) fn used(function: &Function) -> Set {
    let makes_system_call = |block: &Block| matches!(block.end, Terminator::Step { is_ecall: true, .. });
    let has_system_calls = function.blocks.values().any(makes_system_call);
    let insts = function.blocks.values().flat_map(|block| &block.insts);
    insts.fold(if has_system_calls { host_calls::used() } else { 0 }, |set, (_, inst)| {
        let named = registers::sources(inst).into_iter().flatten().chain(registers::written(inst));
        let host = if calls_host(inst) { host_calls::used() } else { 0 };
        named.fold(set | host, |set, register| set | 1 << register)
    })
}

/// The state-resident registers: those, besides the pinned ones, that the function had better keep in the state between its
/// blocks. A register in a host register must be reloaded after every call, needed there or not. In functions with many
/// calls, the host has far too few registers and would keep copies of the state on its stack.
pub(crate) fn state_resident(function: &Function, fuel: bool) -> Set {
    /// The cost of a call to a register in a host register, in accesses to the state.
    const CALL: usize = 4;
    let loops = small_loops(function);
    let mut calls = 0;
    let mut accesses = [0; COUNT];
    for (start, block) in &function.blocks {
        let weight = if loops.contains(start) { LOOP } else { 1 };
        let (mut read, mut written): (Set, Set) = (0, 0);
        for (_, inst) in &block.insts {
            let sources = registers::sources(inst).into_iter().flatten().fold(0, |set, n| set | 1 << n);
            read |= sources & !written;
            written |= registers::written(inst).map_or(0, |n| 1 << n);
        }
        for (register, accesses) in accesses.iter_mut().enumerate() {
            *accesses += weight * ((read >> register & 1) + (written >> register & 1)) as usize;
        }
        calls += usize::from(block.end.is_call());
    }
    let used = used(function) & !registers::pinned_set(fuel);
    registers::members(used).filter(|&n| accesses[n] <= CALL * calls).fold(0, |set, n| set | 1 << n)
}

/// The format of which the function reads each register as a float, where it does.
pub(crate) fn float_views(function: &Function) -> [Option<Float>; COUNT] {
    let mut views = [None; COUNT];
    for (_, inst) in function.blocks.values().flat_map(|block| &block.insts) {
        let Some(format) = registers::float_sources(inst) else { continue };
        for register in registers::sources(inst).into_iter().flatten() {
            // Where it is read in both formats, binary32 goes by its bits.
            if views[register] != Some(Float::D) {
                views[register] = Some(format);
            }
        }
    }
    views
}

/// The facts about each block, given the uncommitted registers where the function begins; without meaning if the budget is
/// spent.
pub(crate) fn facts(
    function: &Function,
    fuel: bool,
    state_resident: Set,
    dirty: Set,
    live_behind: &impl Fn(u64) -> Set,
    budget: &Budget,
) -> BTreeMap<u64, Facts> {
    let roots = function.entered_blocks().rev().chain([function.start]);
    let Order { postorder, .. } = order(function, roots, Terminator::successors);
    let facts_of = |&start| (start, Facts { live: live_behind(start), ..Facts::default() });
    let mut facts: BTreeMap<u64, Facts> = postorder.iter().map(facts_of).collect();
    let pass = function.size() + function.targets();
    let goes_on = || budget.spend(pass);
    find_committed(function, &postorder, fuel, &mut facts, goes_on);
    facts.values_mut().for_each(|facts| facts.committed |= state_resident & facts.live);
    let pinned = registers::pinned_set(fuel);
    let behind_system_calls: BTreeSet<u64> = function.behind_system_calls().collect();
    let behind = |at| if behind_system_calls.contains(&at) { dirty_behind_host(fuel) } else { pinned };
    for (point, dirty) in
        [(function.start, dirty)].into_iter().chain(function.reentry_points().map(|at| (at, behind(at))))
    {
        if let Some(facts) = facts.get_mut(&point) {
            facts.dirty = dirty;
        }
    }
    propagate_dirty(function, &postorder, fuel, &mut facts, goes_on);
    facts
}

/// The future of registers at a place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Future {
    /// May be read before they are written.
    read: Set,
    /// Must be committed, because the state may be read before they are written.
    sought: Set,
}

/// Finds the registers that each block should commit: those that only the state needs. Kept until the next call or return,
/// they would occupy host registers. Small loops without calls keep them, to store them once.
fn find_committed(
    function: &Function,
    postorder: &[u64],
    fuel: bool,
    facts: &mut BTreeMap<u64, Facts>,
    goes_on: impl Fn() -> bool,
) {
    let pinned = registers::pinned_set(fuel);
    let mut futures: HashMap<u64, Future> = HashMap::new();
    let behind =
        |start: &u64, facts: &BTreeMap<u64, Facts>, futures: &HashMap<u64, Future>| match &function.blocks[start].end {
            end if end.goes_on() || matches!(end, Terminator::JumpIndirect(_)) => {
                let sought = Future { read: 0, sought: facts[start].live };
                let known =
                    |to| if function.blocks.contains_key(&to) { futures.get(&to).copied() } else { Some(sought) };
                let ends = if end.successors().is_empty() { sought } else { Future::default() };
                let join = |a: Future, b: Future| Future { read: a.read | b.read, sought: a.sought | b.sought };
                end.successors().into_iter().filter_map(known).fold(ends, join)
            }
            _ => Future { read: 0, sought: facts[start].live },
        };
    let mut changed = true;
    while changed && goes_on() {
        changed = false;
        for &start in postorder {
            let block = &function.blocks[&start];
            let mut future = behind(&start, facts, &futures);
            for (_, inst) in block.insts.iter().rev() {
                if let Some(register) = registers::written(inst) {
                    future.read &= !(1 << register);
                    future.sought &= !(1 << register);
                }
                future.read |= registers::sources(inst).into_iter().flatten().fold(0, |set, n| set | 1 << n);
            }
            changed |= futures.insert(start, future) != Some(future);
        }
    }
    let loops = small_loops(function);
    for start in function.blocks.keys().filter(|start| !loops.contains(start)) {
        let future = behind(start, facts, &futures);
        if let Some(facts) = facts.get_mut(start) {
            facts.committed = future.sought & !future.read & !pinned;
        }
    }
}

/// After which instruction of a block to commit which registers: after the last one that writes them, if they must be
/// committed by the block's end. Until then they occupy host registers.
pub(crate) fn commits(block: &Block, committed: Set, live: Set, fuel: bool) -> HashMap<usize, Set> {
    let ends = matches!(block.end, Terminator::Return) || block.end.is_call();
    let mut wanted = if ends { committed | live & !registers::pinned_set(fuel) } else { committed };
    let mut commits = HashMap::new();
    for (index, (_, inst)) in block.insts.iter().enumerate().rev() {
        if let Some(register) = registers::written(inst).filter(|&register| wanted >> register & 1 != 0) {
            wanted &= !(1 << register);
            commits.insert(index, 1 << register);
        }
    }
    commits
}

/// The blocks of loops without calls, as compilers lay them out: one after another.
fn small_loops(function: &Function) -> BTreeSet<u64> {
    /// Instructions of a loop at most.
    const SMALL: usize = 128;
    let mut found = BTreeSet::new();
    for (&last, block) in &function.blocks {
        let (Terminator::Jump(first) | Terminator::Branch { taken: first, .. }) = block.end else { continue };
        if first > last || !function.blocks.contains_key(&first) {
            continue;
        }
        let body = || function.blocks.range(first..=last).take(SMALL + 1);
        let size: usize = body().map(|(_, block)| block.insts.len()).sum();
        let calls = |end: &Terminator| end.is_call() || matches!(end, Terminator::CallInside { .. });
        if size <= SMALL && !body().any(|(_, block)| calls(&block.end)) {
            found.extend(body().map(|(&start, _)| start));
        }
    }
    found
}

fn propagate_dirty(
    function: &Function,
    postorder: &[u64],
    fuel: bool,
    facts: &mut BTreeMap<u64, Facts>,
    goes_on: impl Fn() -> bool,
) {
    let mut changed = true;
    while changed && goes_on() {
        changed = false;
        for &start in postorder.iter().rev() {
            let block = &function.blocks[&start];
            let known = &facts[&start];
            let out = dirty_behind(block, known.dirty, fuel) & !known.committed;
            for to in block.end.successors() {
                if let Some(to) = facts.get_mut(&to) {
                    changed |= out & !to.dirty != 0;
                    to.dirty |= out;
                }
            }
        }
    }
}

fn dirty_behind(block: &Block, mut dirty: Set, fuel: bool) -> Set {
    let pinned = registers::pinned_set(fuel);
    for (_, inst) in &block.insts {
        if calls_host(inst) {
            dirty = dirty & 1 << FUEL | host_calls::lacking();
        }
        if let Some(register) = registers::written(inst) {
            dirty |= 1 << register;
        }
    }
    // Every block counts its instructions.
    dirty |= pinned & 1 << FUEL;
    match block.end {
        Terminator::Step { is_ecall: true, .. } => dirty_behind_host(fuel),
        _ if block.end.is_call() => pinned,
        _ => dirty,
    }
}
