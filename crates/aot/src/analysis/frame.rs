//! Accesses to a function's private frame, to which no pointer exists.
//!
//! Compilers address spilled registers by sp and a constant. If a function uses sp in no other way, no pointer to its frame
//! exists, so these accesses do not alias others and LLVM may reorder them. A guest that forges such a pointer, or uses one
//! into a frame that has been popped, may read an older value. Precise mode does not use this.

use std::collections::{BTreeMap, BTreeSet};

use riverrun_isa::{Inst, Op};

use crate::analysis::functions::{Extent, Function};
use crate::analysis::registers::{sources, written};
use crate::analysis::{Block, Terminator};

const SP: usize = 2;

/// The accesses of a function to its own frame, by their blocks and their places there; none if a pointer may lead to it,
/// or if one cannot tell.
pub(crate) fn private_accesses(function: &Function) -> BTreeSet<(u64, usize)> {
    find(function).unwrap_or_default()
}

fn find(function: &Function) -> Option<BTreeSet<(u64, usize)>> {
    // What is not seen of a function may make a pointer to its frame, and come back behind one of its calls or to a loop.
    let is_entered = || function.reentry_points().next().is_some() || !function.polls.is_empty();
    if !function.orphans.is_empty() || function.extent != Extent::Whole && is_entered() {
        return None;
    }
    let mut accesses = BTreeSet::new();
    // How far sp is below where it was at the function's start, where blocks begin.
    let mut depths = BTreeMap::from([(function.start, 0)]);
    let mut pending = vec![function.start];
    while let Some(start) = pending.pop() {
        let block = &function.blocks[&start];
        let mut depth = depths[&start];
        for (index, (_, inst)) in block.insts.iter().enumerate() {
            match use_of_sp(inst) {
                Use::None => {}
                Use::Moved(by) => depth -= by,
                // Memory above belongs to callers, which may have pointers to it.
                Use::Accessed(range) if range.start >= depth => {}
                Use::Accessed(range) if 0 <= range.start && range.end <= depth => {
                    accesses.insert((start, index));
                }
                Use::Accessed(_) | Use::Other => return None,
            }
        }
        if depth != 0 && !stays(function, block) {
            return None;
        }
        for to in block.end.successors().into_iter().filter(|to| function.blocks.contains_key(to)) {
            match depths.insert(to, depth) {
                None => pending.push(to),
                Some(known) if known == depth => {}
                Some(_) => return None,
            }
        }
    }
    Some(accesses)
}

/// Whether control stays in the function behind a block, or comes back from a call with sp as it was.
fn stays(function: &Function, block: &Block) -> bool {
    match &block.end {
        Terminator::JumpIndirect(targets) => {
            targets.are_all && targets.outside.is_empty() && !targets.inside.is_empty()
        }
        Terminator::Step { .. } => false,
        end => end.successors().iter().all(|to| function.blocks.contains_key(to)),
    }
}

/// How an instruction uses sp.
enum Use {
    None,
    /// Adds to it.
    Moved(i64),
    /// Accesses memory at these distances from it.
    Accessed(std::ops::Range<i64>),
    Other,
}

fn use_of_sp(inst: &Inst) -> Use {
    let (is_written, [first, second, third]) =
        (written(inst) == Some(SP), sources(inst).map(|source| source == Some(SP)));
    let imm = i64::from(inst.imm);
    match (is_written, first, second || third) {
        (false, false, false) => Use::None,
        (true, true, false) if inst.op == Op::addi => Use::Moved(imm),
        (false, true, false) => bytes(inst.op).map_or(Use::Other, |bytes| Use::Accessed(imm..imm + bytes)),
        _ => Use::Other,
    }
}

/// How much a load or a store accesses, in bytes.
fn bytes(op: Op) -> Option<i64> {
    use Op::*;
    match op {
        lb | lbu | sb => Some(1),
        lh | lhu | sh => Some(2),
        lw | lwu | sw | flw | fsw => Some(4),
        ld | sd | fld | fsd => Some(8),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::sample;

    /// How many accesses of a function are to a frame that is its own.
    fn count(body: &str) -> usize {
        let source = format!(
            ".globl _start\n.type _start, @function\n_start:\n{body}\nret\n.size _start, .-_start\n\
             .globl other\n.type other, @function\nother:\nret\n.size other, .-other\n"
        );
        private_accesses(&sample::first_function(&source)).len()
    }

    fn in_frame(body: &str) -> usize {
        count(&format!("addi sp, sp, -16\nsd a1, 8(sp)\n{body}\naddi sp, sp, 16"))
    }

    #[test]
    fn what_is_named_by_sp_alone_is_private() {
        assert_eq!(in_frame("sd a0, 0(a1)\nld a0, 8(sp)"), 2);
        assert_eq!(in_frame("1: lw a0, 12(sp)\nfsd fa0, 0(sp)\nbnez a0, 1b"), 3);
        assert_eq!(in_frame("call other\nld a0, 8(sp)"), 2);
        assert_eq!(in_frame("addi sp, sp, -16\nsd a0, 16(sp)\naddi sp, sp, 16"), 2);
    }

    #[test]
    fn what_others_may_have_pointers_to_is_not() {
        assert_eq!(count("ld a0, 0(sp)"), 0, "its caller's");
        assert_eq!(in_frame("ld a0, -8(sp)"), 0, "what is below");
        assert_eq!(in_frame("ld a0, 16(sp)\nlw a1, 20(sp)"), 1, "its caller's");
        assert_eq!(in_frame("ld a0, 12(sp)"), 0, "both");
        for taken in ["mv a0, sp", "addi a0, sp, 8", "add a0, a0, sp", "sd sp, 8(sp)", "sd sp, 0(a0)", "mv sp, a0"] {
            assert_eq!(in_frame(taken), 0, "{taken}");
        }
        assert_eq!(in_frame("lr.d a0, (sp)"), 0);
    }

    #[test]
    fn where_sp_is_has_to_be_known() {
        assert_eq!(in_frame("beqz a0, 1f\naddi sp, sp, -16\n1: ld a0, 0(sp)"), 0);
        assert_eq!(in_frame("1: addi sp, sp, -16\nbnez a0, 1b"), 0);
    }

    #[test]
    fn frames_end_where_control_leaves() {
        assert_eq!(in_frame("j other"), 0);
        assert_eq!(in_frame("beqz a0, other"), 0);
        assert_eq!(in_frame("jr a0"), 0);
        assert_eq!(in_frame("fence.i\nfrrm a0\nfsrm a0"), 0);
    }

    #[test]
    fn functions_that_call_have_to_be_seen_whole() {
        let more = "addi sp, sp, 16\nj other\nmv a0, sp\naddi sp, sp, -16";
        assert_eq!(in_frame(more), 1);
        assert_eq!(in_frame(&format!("call other\n{more}")), 0);
    }
}
