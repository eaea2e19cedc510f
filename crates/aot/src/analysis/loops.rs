//! Loops of a function that contain no re-entry point: the interpreter could not hand them over while they run.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::analysis::blocks::Terminator;
use crate::analysis::functions::Function;

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
    let mut predecessors: HashMap<u64, Vec<u64>> = HashMap::new();
    let successors = |at: u64| {
        let own = |to: &u64| function.blocks.contains_key(to);
        function.blocks[&at].end.successors().into_iter().filter(own).collect::<Vec<u64>>()
    };
    // Depth first. Present: seen; true: on the path, so that an edge to it closes a loop.
    let mut on_path: HashMap<u64, bool> = HashMap::new();
    let mut path: Vec<(u64, Vec<u64>)> = Vec::new();
    let mut back: Vec<(u64, u64)> = Vec::new();
    for &root in function.blocks.keys() {
        if on_path.contains_key(&root) {
            continue;
        }
        on_path.insert(root, true);
        path.push((root, successors(root)));
        while let Some((at, pending)) = path.last_mut() {
            let at = *at;
            let Some(to) = pending.pop() else {
                on_path.insert(at, false);
                path.pop();
                continue;
            };
            predecessors.entry(to).or_default().push(at);
            match on_path.get(&to) {
                Some(true) => back.push((at, to)),
                Some(false) => {}
                None => {
                    on_path.insert(to, true);
                    path.push((to, successors(to)));
                }
            }
        }
    }
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
    use riverrun_program::Image;
    use riverrun_testkit::tools;

    use super::*;
    use crate::analysis::{Abilities, Text, functions};
    use crate::budget::Budget;

    /// The loops of `_start`, by the places of their headers among its blocks.
    fn of(body: &str) -> Vec<usize> {
        let source = format!(
            ".globl _start\n.type _start, @function\n_start:\n{body}\nret\n.size _start, .-_start\nother: ret\n"
        );
        let folder = std::env::temp_dir();
        let folder = folder.to_str().unwrap();
        let source = tools::Scratch::new(folder, source.as_bytes());
        let elf = tools::compile(folder, source.path(), &["-march=rv64gc", "-xassembler"]);
        let image = Image::parse(elf).unwrap();
        let functions = functions(&Text::new(&image, Abilities { rounds: true, fuses: true }), &Budget::default());
        let function = functions.iter().find(|function| function.start == image.entry()).unwrap();
        let blocks: Vec<u64> = function.blocks.keys().copied().collect();
        let loops = loops_without_calls(function);
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
