//! Constant propagation over the blocks of a function.

use std::collections::BTreeMap;
use std::mem::replace;

use crate::analysis::block::{Block, Terminator};
use crate::analysis::constants::{Constants, Known};
use crate::analysis::execution::execute;
use crate::budget::Budget;

/// Registers that calls preserve: sp, gp, tp and the saved ones.
const PRESERVED: u32 = 0x0ffc_031d;

/// Registers that system calls change: a0 and a1.
const RESULTS: u32 = 0x0000_0c00;

/// The known facts about the integer registers.
pub(super) type Registers = [Known; 32];

pub(super) const NOTHING: Registers = {
    let mut registers = [Known::Unknown; 32];
    registers[0] = Known::Constant(0);
    registers
};

/// On what all paths agree.
pub(super) fn agreed(one: Known, other: Known) -> Known {
    if one == other { one } else { Known::Unknown }
}

/// The known facts about the integer registers at the beginning of each block from which control may come to one that is
/// sought, in the blocks' order, joined over its predecessors; none where control does not come from `start`. Less than the
/// facts if the budget is spent.
pub(super) fn propagate(
    start: u64,
    blocks: &BTreeMap<u64, Block>,
    is_sought: impl Fn(&Block) -> bool,
    join: impl Fn(Known, Known) -> Known,
    budget: &Budget,
) -> Vec<Option<Box<Registers>>> {
    let starts: Vec<u64> = blocks.keys().copied().collect();
    let number = |at: &u64| starts.binary_search(at).ok();
    let by_number: Vec<&Block> = blocks.values().collect();
    let successors: Vec<Vec<usize>> =
        blocks.values().map(|block| block.end.successors().iter().filter_map(number).collect()).collect();
    let leads = leading(&successors, by_number.iter().map(|block| is_sought(block)).collect(), budget);
    let mut known: Vec<Option<Box<Registers>>> = vec![None; starts.len()];
    let mut pending: Vec<usize> = number(&start).into_iter().collect();
    pending.iter().for_each(|&first| known[first] = Some(Box::new(NOTHING)));
    while let Some(at) = pending.pop() {
        let (block, before) = (by_number[at], &known[at]);
        if !budget.spend(block.insts.len() + 1 + block.end.targets()) {
            break;
        }
        let mut registers = before.as_deref().copied().unwrap_or(NOTHING);
        evaluate(block, &mut registers);
        let preserved = match block.end {
            Terminator::Step { .. } => !RESULTS,
            _ if block.end.is_call() => PRESERVED,
            _ => !0,
        };
        for (n, register) in registers.iter_mut().enumerate() {
            if preserved >> n & 1 == 0 {
                *register = Known::Unknown;
            }
        }
        for to in successors[at].iter().copied().filter(|&to| leads[to]) {
            let is_changed = match &mut known[to] {
                Some(known) => known.iter_mut().zip(registers).fold(false, |changed, (old, new)| {
                    let joined = join(*old, new);
                    replace(old, joined) != joined || changed
                }),
                none => none.replace(Box::new(registers)).is_none(),
            };
            if is_changed {
                pending.push(to);
            }
        }
    }
    known
}

/// Which blocks are sought, or lead to one that is.
fn leading(successors: &[Vec<usize>], mut leads: Vec<bool>, budget: &Budget) -> Vec<bool> {
    let mut is_more = true;
    while replace(&mut is_more, false) && budget.spend(successors.len()) {
        for (number, successors) in successors.iter().enumerate().rev() {
            if !leads[number] && successors.iter().any(|&to| leads[to]) {
                (leads[number], is_more) = (true, true);
            }
        }
    }
    leads
}

/// Executes the block on known facts; returns those about the last instruction's value.
pub(super) fn evaluate(block: &Block, registers: &mut Registers) -> Known {
    let mut last = Known::Unknown;
    for (pc, inst) in &block.insts {
        last = execute(&Constants, *pc, inst, registers, Known::Unknown);
    }
    last
}
