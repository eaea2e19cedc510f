//! Where code that counts fuel tests it. The fuel register holds the fuel less a reserve: it is negative if less than the
//! reserve is left.
//!
//! After a test, at least the whole reserve is left; after a call at least half, as functions return with so much. Between
//! there and the next test, at most that much is used, so no instruction is executed without fuel. Therefore small functions
//! test once, at their beginning; code after a call does not test before the next call, except before returns; and only
//! loops without calls test in each iteration.

use std::collections::{BTreeMap, BTreeSet};

use riverrun_vm::convention::{RESERVE, RESERVE_BEHIND};

use crate::analysis::{Function, Terminator, order};

/// The least value of the register at any time.
const NOTHING: i64 = -RESERVE;

/// The least value of the register when a function returns.
pub(crate) const BEHIND: i64 = RESERVE_BEHIND - RESERVE;

/// The blocks that begin with a test of whether the whole reserve will be left at their end.
pub(crate) fn tests(function: &Function) -> BTreeSet<u64> {
    let leads_to = |end: &Terminator| if end.is_call() { Vec::new() } else { end.successors() };
    let reentry_points = || function.reentry_points().filter(|at| function.blocks.contains_key(at));
    let roots = std::iter::once(function.start).chain(reentry_points()).chain(function.blocks.keys().copied());
    let order = order(function, roots, leads_to);
    let mut tests = order.headers();
    tests.insert(function.start);
    // By blocks: what is left at least where they begin.
    let mut left: BTreeMap<u64, i64> = reentry_points().map(|at| (at, BEHIND)).collect();
    for &start in order.postorder.iter().rev() {
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
