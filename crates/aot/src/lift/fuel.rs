//! Where code that counts looks at its fuel: where functions begin, behind calls, and once in each loop that has no such
//! place anyway. What is left has to last to the next such place.

use std::collections::{BTreeMap, BTreeSet};

use crate::analysis::Function;
use crate::lift::order::order;

/// The blocks that begin with a test, each with the instructions up to the next ones, at most.
pub(crate) fn tests(function: &Function) -> BTreeMap<u64, u64> {
    let blocks = || function.blocks.keys().copied();
    let outer: BTreeSet<u64> =
        function.entrances().chain([function.start]).filter(|at| function.blocks.contains_key(at)).collect();
    // In the first loop come what leads to loops, lest they are walked into in their middle.
    let walked = order(function, outer.iter().copied().chain(blocks()), &outer);
    let is_test = |at: u64| outer.contains(&at) || walked.headers.contains(&at);
    let mut bounds: BTreeMap<u64, u64> = BTreeMap::new();
    for &start in &walked.postorder {
        let block = &function.blocks[&start];
        let further = block.end.successors().into_iter().filter(|&to| !is_test(to)).filter_map(|to| bounds.get(&to));
        let bound = block.insts.len() as u64 + further.max().copied().unwrap_or(0);
        bounds.insert(start, bound);
    }
    bounds.retain(|&at, _| is_test(at));
    bounds
}
