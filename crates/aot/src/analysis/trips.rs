//! Short loops: innermost counted loops whose trip count is a small constant. Each iteration adds a constant to a
//! register, the counter, until it reaches a limit at a constant distance from its first value.
//!
//! [`super::polls`] places no poll in them. The analysis expects loops as compilers lay them out: after a jump into a
//! loop with other register values, it may iterate more often than was computed. So only the delay of interruptions may
//! depend on the result: the watchdog ends a run whose code does not poll in time, without its registers.

use std::collections::{BTreeMap, BTreeSet};

use riverrun_isa::{Format, Inst, Op};

use crate::analysis::block::Terminator;
use crate::analysis::functions::Function;
use crate::analysis::order::{Predecessors, predecessors};
use crate::analysis::registers::written;

/// The most instructions that all iterations of a short loop execute together.
const SHORT: u64 = 64 << 10;
/// The most blocks that a short loop has.
const BLOCKS: usize = 32;
/// The most blocks before a loop that are searched for the first values of its counter and limit.
const FRONT: usize = 8;

/// A symbolic value: a constant, or what a register held at some address, plus a constant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Known {
    /// The address of the instruction that wrote a register, or of the block at whose start it is read, and the
    /// register; `None` for a constant.
    base: Option<(u64, usize)>,
    plus: i64,
}

/// The headers of short loops among those that would poll.
pub(super) fn short_loops(function: &Function, polls: &BTreeMap<u64, BTreeSet<u64>>) -> BTreeSet<u64> {
    let predecessors = predecessors(function);
    let reentry_points: BTreeSet<u64> = function.reentry_points().chain([function.start]).collect();
    let is_short =
        |header: u64| instructions(function, &predecessors, header).is_some_and(|executed| executed <= SHORT);
    polls.keys().copied().filter(|header| !reentry_points.contains(header) && is_short(*header)).collect()
}

/// How many instructions all iterations of the innermost loop with this header execute; `None` if that is unknown.
fn instructions(function: &Function, predecessors: &Predecessors, header: u64) -> Option<u64> {
    let predecessors = |of: u64| predecessors.get(&of).into_iter().flatten().copied();
    let (fronts, latches): (Vec<u64>, Vec<u64>) = predecessors(header).partition(|&at| at < header);
    let &[latch] = latches.as_slice() else { return None };
    let mut body = vec![header];
    let mut pending = vec![latch];
    while let Some(at) = pending.pop() {
        if body.contains(&at) {
            continue;
        }
        // The loop is entered elsewhere than at its header, or its header does not come first.
        if at < header || body.len() == BLOCKS || at == function.start {
            return None;
        }
        body.push(at);
        pending.extend(predecessors(at));
    }
    let is_inside = |at: u64, to: u64| to <= at && to != header && body.contains(&to);
    let goes_back = |at: &u64| function.blocks[at].end.successors().iter().any(|&to| is_inside(*at, to));
    let branches = |at: &u64| {
        let end = &function.blocks[at].end;
        matches!(end, Terminator::Next(_) | Terminator::Jump(_) | Terminator::Branch { .. })
    };
    if body.iter().any(goes_back) || !body.iter().all(branches) {
        return None;
    }
    let insts = || body.iter().flat_map(|at| &function.blocks[at].insts).map(|(_, inst)| inst);
    // What a host function takes is not known.
    if insts().any(|inst| inst.op.info().format == Format::Import) {
        return None;
    }
    let writes = |register: usize| insts().filter(move |inst| written(inst) == Some(register));
    let Terminator::Branch { taken, .. } = function.blocks[&latch].end else { return None };
    let (_, branch) = function.blocks[&latch].insts.last()?;
    // Whether the loop continues while counter and limit differ; otherwise while one is less than the other.
    let differ = match (branch.op, taken == header) {
        (Op::bne, true) | (Op::beq, false) => true,
        (Op::blt | Op::bge | Op::bltu | Op::bgeu, _) => false,
        _ => return None,
    };
    let step = |register: usize| -> Option<i64> {
        let mut writes = writes(register);
        let inst = writes.next().filter(|_| writes.next().is_none())?;
        let has = |at: &u64| function.blocks[at].insts.iter().any(|(_, own)| std::ptr::eq(own, inst));
        let adds = matches!(inst.op, Op::addi | Op::addiw) && usize::from(inst.rs1) == register;
        // Each iteration executes these two blocks.
        (adds && inst.imm != 0 && [header, latch].iter().any(has)).then_some(i64::from(inst.imm))
    };
    let registers = [usize::from(branch.rs1), usize::from(branch.rs2)];
    let is_first = step(registers[0]).is_some();
    let [counter, limit] = if is_first { registers } else { [registers[1], registers[0]] };
    let step = step(counter)?;
    let last = function.blocks[&latch].insts.iter().rev().find(|(_, inst)| written(inst) == Some(limit));
    let in_loop = match last {
        Some((_, inst)) => Some(constant(inst)?),
        None if writes(limit).next().is_none() => None,
        None => return None,
    };
    let trips = fronts.iter().map(|&front| {
        let first = value(function, predecessors, front, counter);
        let last =
            in_loop.map_or_else(|| value(function, predecessors, front, limit), |plus| Known { base: None, plus });
        let distance = (first.base == last.base).then(|| last.plus.wrapping_sub(first.plus))?;
        let reaches = distance.signum() == step.signum() && (!differ || distance.checked_rem(step)? == 0);
        reaches.then_some(distance.unsigned_abs() / step.unsigned_abs() + 1)
    });
    let trips = trips.collect::<Option<Vec<u64>>>()?.into_iter().max()?;
    Some(trips.saturating_mul(insts().count() as u64))
}

/// The constant that an instruction writes to its register.
fn constant(inst: &Inst) -> Option<i64> {
    match inst.op {
        Op::addi | Op::addiw if inst.rs1 == 0 => Some(i64::from(inst.imm)),
        Op::lui => Some(inst.immediate() as i64),
        _ => None,
    }
}

/// What a register has at the end of a block.
fn value<I: Iterator<Item = u64>>(
    function: &Function,
    predecessors: impl Fn(u64) -> I,
    mut at: u64,
    mut register: usize,
) -> Known {
    let mut plus = 0_i64;
    let mut end = usize::MAX;
    for _ in 0..FRONT {
        let insts = &function.blocks[&at].insts;
        let present = end.min(insts.len());
        let last = insts[..present].iter().rposition(|(_, inst)| written(inst) == Some(register));
        match last.map(|index| (index, &insts[index])) {
            None if register == 0 => return Known { base: None, plus },
            None => {
                let mut fronts = predecessors(at);
                match (fronts.next(), fronts.next()) {
                    (Some(front), None) if at != function.start && function.blocks[&front].end.goes_on() => {
                        (at, end) = (front, usize::MAX);
                    }
                    _ => return Known { base: Some((at, register)), plus },
                }
            }
            Some((index, (pc, inst))) => match constant(inst) {
                Some(constant) => return Known { base: None, plus: plus.wrapping_add(constant) },
                None if inst.op == Op::addi => {
                    plus = plus.wrapping_add(i64::from(inst.imm));
                    (register, end) = (usize::from(inst.rs1), index);
                }
                None => return Known { base: Some((*pc, register)), plus },
            },
        }
    }
    Known { base: None, plus: i64::MIN }
}
