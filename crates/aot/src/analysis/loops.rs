//! Loops of a function that contain no re-entry point: the interpreter could not hand them over while they run.

use std::collections::{BTreeMap, BTreeSet};

use crate::analysis::block::Terminator;
use crate::analysis::functions::Function;
use crate::analysis::order::{Order, order, predecessors};

/// The outermost of these loops: their headers, and their blocks. Blocks of copies are in none.
pub(crate) fn loops_without_calls(function: &Function) -> BTreeMap<u64, BTreeSet<u64>> {
    let stays = |at: &u64| {
        let end = &function.blocks[at].end;
        !end.is_call() && !matches!(end, Terminator::Step { .. } | Terminator::ReturnInside { .. })
    };
    let mut loops: Vec<(u64, BTreeSet<u64>)> = natural_loops(function).into_iter().collect();
    loops.retain(|(_, body)| body.iter().all(stays));
    loops.sort_by_key(|(header, body)| (std::cmp::Reverse(body.len()), *header));
    let mut outermost: BTreeMap<u64, BTreeSet<u64>> = BTreeMap::new();
    for (header, body) in loops {
        if !outermost.values().any(|outer| outer.contains(&header)) {
            outermost.insert(header, body);
        }
    }
    outermost
}

/// Each loop's header, and the blocks from which control comes back to it without passing it.
fn natural_loops(function: &Function) -> BTreeMap<u64, BTreeSet<u64>> {
    let predecessors = predecessors(function);
    let Order { back, .. } = order(function, function.blocks.keys().copied(), Terminator::successors);
    let mut loops: BTreeMap<u64, BTreeSet<u64>> = BTreeMap::new();
    for (latch, header) in back {
        let body = loops.entry(header).or_insert_with(|| BTreeSet::from([header]));
        let mut pending = vec![latch];
        while let Some(at) = pending.pop() {
            if body.insert(at) {
                pending.extend(predecessors.get(&at).into_iter().flatten());
            }
        }
    }
    loops
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::sample;

    /// The loops of `_start`, by the places of their headers among its blocks.
    fn of(body: &str) -> Vec<usize> {
        let source = format!(
            ".globl _start\n.type _start, @function\n_start:\n{body}\nret\n.size _start, .-_start\nother: ret\n"
        );
        let function = sample::first_function(&source);
        let blocks: Vec<u64> = function.blocks.keys().copied().collect();
        let loops = loops_without_calls(&function);
        loops.keys().map(|header| blocks.binary_search(header).unwrap()).collect()
    }

    #[test]
    fn the_outermost_loops_without_calls_are_found() {
        assert_eq!(of("1: addi a0, a0, -1\nbnez a0, 1b"), [0]);
        // Inner ones are left through outer ones.
        assert_eq!(of("li a2, 1\n1: li a1, 9\n2: addi a1, a1, -1\nbnez a1, 2b\naddi a0, a0, -1\nbnez a0, 1b"), [1]);
        // A loop with a call is entered behind that.
        assert_eq!(of("1: call other\naddi a0, a0, -1\nbnez a0, 1b"), []);
        assert_eq!(of("1: call other\n2: addi a1, a1, -1\nbnez a1, 2b\naddi a0, a0, -1\nbnez a0, 1b"), [1]);
        assert_eq!(of("beqz a0, 1f\naddi a0, a0, 1\n1: nop"), []);
    }
}
