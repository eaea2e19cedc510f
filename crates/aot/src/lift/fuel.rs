//! Where code that counts looks at its fuel, of which it keeps a reserve: its register is negative where less is left.
//!
//! The whole reserve is there behind a test, and half of it behind a call, as functions return with so much. On the way
//! from there to the next test, more than the reserve is never used, lest instructions are executed that there is no
//! fuel for. So small functions look once, as they begin; what is behind calls does not, up to the next call, but in
//! front of returns; and only loops that no call cuts look each time round.

use std::collections::{BTreeMap, BTreeSet};

use riverrun_native::convention::{RESERVE, RESERVE_BEHIND};

use crate::analysis::{Function, Terminator};
use crate::lift::order::{Order, order};

/// What may be left at least: nothing, in terms of the register.
const NOTHING: i64 = -RESERVE;

/// What has to be left behind a function.
pub(crate) const BEHIND: i64 = RESERVE_BEHIND - RESERVE;

/// The blocks that test whether the reserve will be whole behind them, as they begin.
pub(crate) fn tests(function: &Function) -> BTreeSet<u64> {
    let leads_to = |end: &Terminator| if end.is_call() { Vec::new() } else { end.successors() };
    let entrances = || function.entrances().filter(|at| function.blocks.contains_key(at));
    let roots = std::iter::once(function.start).chain(entrances()).chain(function.blocks.keys().copied());
    let Order { postorder, headers } = order(function, roots, leads_to);
    let mut tests: BTreeSet<u64> = headers;
    tests.insert(function.start);
    // By blocks: what is left at least where they begin.
    let mut left: BTreeMap<u64, i64> = entrances().map(|at| (at, BEHIND)).collect();
    for &start in postorder.iter().rev() {
        let block = &function.blocks[&start];
        let least = left.get(&start).map_or(i64::MIN, |left| left - block.insts.len() as i64);
        if least < needed(&block.end) {
            tests.insert(start);
        }
        let behind = if tests.contains(&start) { 0 } else { least };
        for to in leads_to(&block.end) {
            left.entry(to).and_modify(|least| *least = behind.min(*least)).or_insert(behind);
        }
    }
    tests
}

/// What has to be left where a block ends.
fn needed(end: &Terminator) -> i64 {
    match end {
        Terminator::Return | Terminator::ReturnInside { .. } => BEHIND,
        // It is not counted with its block, and what is behind it as behind a function.
        Terminator::Step { .. } => BEHIND + 1,
        _ => NOTHING,
    }
}
