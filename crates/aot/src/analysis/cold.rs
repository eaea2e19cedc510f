//! Cold blocks: those that control has never reached, as far as a profile tells. Compiled code exits in front of them, and
//! the interpreter goes on, so that the compiler need not see code that hardly ever runs.
//!
//! What lifting finds out about the function afterwards must hold with its cold blocks as well: control comes back from them
//! at re-entry points only, about which nothing is assumed, and [`private_accesses`] takes a function with cold blocks for
//! one that is not seen whole if a pointer may lead to its frame.

use std::collections::BTreeSet;

use riverrun_program::Profile;

use crate::analysis::block::{Block, Terminator};
use crate::analysis::frame::private_accesses;
use crate::analysis::functions::{Extent, Function};
use crate::analysis::order::order;

/// Whether control has been in the function.
pub(crate) fn is_reached(function: &Function, profile: &Profile) -> bool {
    function.blocks.iter().any(|(&start, block)| profile.has_reached(block.addresses(start)))
}

/// Replaces the cold blocks of a function by exits. Gives those to which its other blocks lead.
pub(crate) fn leave_out_cold(function: &mut Function, profile: &Profile) -> Vec<(u64, Block)> {
    let reached = reached(function, profile);
    if reached.len() == function.blocks.len() {
        return Vec::new();
    }
    if function.extent == Extent::Whole && private_accesses(function).is_empty() {
        function.extent = Extent::Gaps;
    }
    function.orphans.retain(|orphan| reached.contains(orphan));
    let cold = function.blocks.iter_mut().filter(|(start, _)| !reached.contains(start));
    let exit = |start| Block { insts: Vec::new(), end: Terminator::Exit(start) };
    let mut cold: Vec<(u64, Block)> = cold.map(|(&at, block)| (at, std::mem::replace(block, exit(at)))).collect();
    let roots = function.orphans.iter().copied().chain([function.start]);
    let kept: BTreeSet<u64> = order(function, roots, Terminator::successors).postorder.into_iter().collect();
    function.blocks.retain(|start, _| kept.contains(start));
    cold.retain(|(start, _)| kept.contains(start));
    cold
}

/// The blocks that control may have reached. A profile names where it came from elsewhere; from there on, the interpreter
/// does not tell which instructions before the next jump it has executed.
fn reached(function: &Function, profile: &Profile) -> BTreeSet<u64> {
    let named = function.blocks.iter().filter(|(start, block)| profile.has_reached(block.addresses(**start)));
    let mut pending: Vec<u64> = named.map(|(&start, _)| start).chain([function.start]).collect();
    let mut reached = BTreeSet::new();
    while let Some(start) = pending.pop() {
        if let Some(block) = function.blocks.get(&start).filter(|_| reached.insert(start)) {
            pending.extend(behind(block));
        }
    }
    reached
}

/// The address behind a block, if control may come there from it, be it through a call.
fn behind(block: &Block) -> Option<u64> {
    match block.end {
        Terminator::Next(next)
        | Terminator::Branch { next, .. }
        | Terminator::Call { next, .. }
        | Terminator::CallIndirect { next }
        | Terminator::Step { next, .. } => Some(next),
        Terminator::Jump(_) if block.calls_millicode() => Some(block.end_address()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::sample;

    /// A function, the places of its blocks that control has reached, and the others.
    fn split(body: &str, reached: &[usize]) -> (Function, Vec<u64>, Vec<u64>) {
        let source = format!(
            ".globl _start\n.type _start, @function\n_start:\n{body}\nret\n.size _start, .-_start\n\
             .type other, @function\nother:\nret\n.size other, .-other\n"
        );
        let mut function = sample::first_function(&source);
        let mut profile = Profile::default();
        let all: Vec<u64> = function.blocks.keys().copied().collect();
        reached.iter().for_each(|&place| profile.add(all[place], 0));
        let cold: Vec<u64> = leave_out_cold(&mut function, &profile).into_iter().map(|(start, _)| start).collect();
        (function, all, cold)
    }

    /// The places of blocks that are left out and have exits in their place; that of each other must be as it was.
    fn cold(body: &str, reached: &[usize]) -> Vec<usize> {
        let (function, all, cold) = split(body, reached);
        for (&start, block) in &function.blocks {
            assert_eq!(block.insts.is_empty() && block.end == Terminator::Exit(start), cold.contains(&start));
        }
        cold.iter().map(|start| all.binary_search(start).unwrap()).collect()
    }

    #[test]
    fn what_no_jump_has_led_to_is_left_out() {
        // 0: branch to 2; 1: jump to 3; 2: jump to 4; 3: return; 4: return.
        let body = "beqz a0, 2f\nj 3f\n2: j 4f\n3: ret\n4: nop";
        assert_eq!(cold(body, &[0, 2, 3, 4]), []);
        assert_eq!(cold(body, &[0, 3]), [2]);
        assert_eq!(cold(body, &[0, 2, 4]), [3]);
        assert_eq!(cold(body, &[]), [2, 3], "its beginning is never cold");
    }

    #[test]
    fn control_goes_on_behind_calls_and_branches() {
        assert_eq!(cold("call other\nbeqz a0, 1f\njalr a1\necall\n1: nop", &[0]), []);
        assert_eq!(cold("j 1f\n2: ret\n1: call other\nbeqz a0, 2b", &[0, 2]), [1]);
    }

    #[test]
    fn what_only_cold_blocks_lead_to_is_gone() {
        let (function, all, cold) = split("beqz a0, 1f\nret\n1: addi a0, a0, 1\nbnez a0, 3f\nret\n3: nop", &[0]);
        assert_eq!(cold, [all[2]]);
        assert_eq!(function.blocks.keys().copied().collect::<Vec<u64>>(), all[..3]);
    }

    #[test]
    fn a_frame_stays_private_only_if_no_cold_block_has_a_pointer_to_it() {
        let body = |cold: &str| {
            format!("addi sp, sp, -16\nsd a1, 8(sp)\ncall other\nbnez a0, 1f\nj 2f\n1: {cold}\n2: addi sp, sp, 16")
        };
        for (instruction, count) in [("ld a0, 8(sp)", 1), ("addi a0, sp, 8", 0)] {
            let (function, all, cold) = split(&body(instruction), &[0, 4]);
            assert_eq!(cold, [all[3]]);
            assert_eq!(private_accesses(&function).len(), count, "{instruction}");
        }
    }
}
