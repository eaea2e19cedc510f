//! Recursive inlining: copies of a small recursive function replace its calls of itself.
//!
//! A copy's blocks have numbers of their own: the guest address with the copy's number in the bits above. Instructions keep
//! their addresses and calls set ra as usual; a copy's return compares ra with the continuation of the copy's call. Control
//! that comes back in any other way continues in the original blocks.

use std::collections::{BTreeMap, VecDeque};

use crate::analysis::block::{Block, Terminator};
use crate::analysis::functions::Function;

/// Instructions of the longest function that is inlined into itself.
const SMALL: usize = 64;
/// The depth of inlining.
const DEPTH: usize = 2;
/// Instructions that copies may add to a function.
const GROWTH: usize = 256;

/// The bit at which a copy's number begins in the number of a block: instructions are below 4 GiB, and jumps lead at most 4
/// GiB beyond, or below 0.
const COPY: u32 = 40;

/// The guest's address of a block.
pub(crate) fn address(block: u64) -> u64 {
    block - in_copy(copy_of(block), 0)
}

/// Whether a block belongs to a copy.
pub(crate) fn is_copied(block: u64) -> bool {
    copy_of(block) != 0
}

/// A copy's number, from 1 on, or 0.
fn copy_of(block: u64) -> u64 {
    Some(block >> COPY).filter(|&copy| copy <= GROWTH as u64).unwrap_or(0)
}

fn in_copy(copy: u64, address: u64) -> u64 {
    copy << COPY | address
}

/// Replaces a function's calls of itself by copies, if it may be inlined.
pub(crate) fn insert_copies(function: &mut Function) {
    let length: usize = function.blocks.values().map(|block| block.insts.len()).sum();
    if length > SMALL || !may_be_copied(function) {
        return;
    }
    let original = function.blocks.clone();
    // With how many copies each is in.
    let mut pending: VecDeque<(u64, usize)> = original.keys().map(|&at| (at, 0)).collect();
    let mut copy = 0;
    while let Some((at, depth)) = pending.pop_front() {
        let Terminator::Call { target, next } = function.blocks[&at].end else { continue };
        let is_last = depth == DEPTH || (copy as usize + 1) * length > GROWTH;
        if target != function.start || is_last || !function.blocks.contains_key(&next) {
            continue;
        }
        copy += 1;
        for (&start, block) in &original {
            function.blocks.insert(in_copy(copy, start), copied(block, copy, &original, next));
            pending.push_back((in_copy(copy, start), depth + 1));
        }
        let call = function.blocks.get_mut(&at).expect("the block that ends with the call");
        call.end = Terminator::CallInside { to: in_copy(copy, target) };
    }
}

fn may_be_copied(function: &Function) -> bool {
    let stays = |block: &Block| match &block.end {
        Terminator::JumpIndirect(_) | Terminator::Step { .. } | Terminator::Exit(_) => false,
        // Nothing may be behind calls that do not return.
        end => end.is_call() || end.successors().iter().all(|to| function.blocks.contains_key(to)),
    };
    // Else nothing would lead to what is behind a copy's call.
    let returns = |block: &Block| matches!(block.end, Terminator::Return);
    function.orphans.is_empty() && function.blocks.values().all(stays) && function.blocks.values().any(returns)
}

/// A block of `original` in a copy that returns to `back`.
fn copied(block: &Block, copy: u64, original: &BTreeMap<u64, Block>, back: u64) -> Block {
    let at = |to: u64| if original.contains_key(&to) { in_copy(copy, to) } else { to };
    let end = match &block.end {
        &Terminator::Next(to) => Terminator::Next(at(to)),
        &Terminator::Jump(to) => Terminator::Jump(at(to)),
        &Terminator::Branch { taken, next } => Terminator::Branch { taken: at(taken), next: at(next) },
        &Terminator::Call { target, next } => Terminator::Call { target, next: at(next) },
        &Terminator::CallIndirect { next } => Terminator::CallIndirect { next: at(next) },
        Terminator::Return => Terminator::ReturnInside { next: back },
        other => unreachable!("functions with {other:?} are not copied"),
    };
    Block { insts: block.insts.clone(), end }
}

#[cfg(test)]
mod tests {
    use riverrun_program::Image;
    use riverrun_testkit::{Random, generate};

    use super::*;
    use crate::analysis::sample;

    fn with_copies(elf: Vec<u8>) -> Vec<Function> {
        let image = Image::parse(elf).unwrap();
        let mut functions = sample::functions_of(&image);
        functions.iter_mut().for_each(insert_copies);
        functions
    }

    fn count(function: &Function) -> usize {
        function.blocks.values().filter(|block| matches!(block.end, Terminator::CallInside { .. })).count()
    }

    /// How many copies are in a function.
    fn copies(body: &str) -> usize {
        let source = format!(
            ".globl callee\n.type callee, @function\ncallee:\n{body}\n.size callee, .-callee\n\
             .globl _start\n.type _start, @function\n_start:\ncall callee\nebreak\n.size _start, .-_start\n"
        );
        let functions = with_copies(sample::elf(&source, sample::ASSEMBLY));
        let function = functions.iter().find(|function| function.name.as_deref() == Some("callee")).unwrap();
        let numbers: std::collections::BTreeSet<u64> = function.blocks.keys().map(|&at| copy_of(at)).collect();
        assert_eq!(numbers.len(), 1 + count(function), "a call for each copy");
        count(function)
    }

    fn recursive(calls: usize) -> String {
        let calls = "jal callee\n".repeat(calls);
        format!("addi sp, sp, -16\nsd ra, 8(sp)\n{calls}ld ra, 8(sp)\naddi sp, sp, 16\nret")
    }

    #[test]
    fn no_address_is_that_of_a_copy() {
        for at in [0, 0x1_0000, u64::from(u32::MAX), 1 << 33, u64::MAX, u64::MAX - (1 << 33)] {
            assert_eq!((copy_of(at), address(at)), (0, at), "{at:#x}");
        }
        for (copy, at) in [(1, 0x1_0000), (GROWTH as u64, u64::from(u32::MAX))] {
            assert_eq!((copy_of(in_copy(copy, at)), address(in_copy(copy, at))), (copy, at));
        }
    }

    #[test]
    fn functions_are_copied_into_themselves() {
        assert_eq!(copies(&recursive(1)), DEPTH);
        assert_eq!(copies(&recursive(2)), 2 + 4);
        // Only so many that the function grows by no more than its limit.
        assert_eq!(copies(&recursive(40)), GROWTH / (40 + 5));
        assert_eq!(copies(&recursive(SMALL)), 0, "it is not small");
    }

    #[test]
    fn what_leads_elsewhere_is_not_copied() {
        assert_eq!(copies(&format!("beqz a0, _start\n{}", recursive(1))), 0);
        assert_eq!(copies(&format!("ecall\n{}", recursive(1))), 0);
        assert_eq!(copies("call callee\njr a0"), 0);
        assert_eq!(copies("call callee\n1: j 1b"), 0);
    }

    /// What is tested by random programs is compiled so, too.
    #[test]
    fn random_programs_have_copies() {
        let all = |programs: &dyn Fn(&mut Random) -> Vec<u8>| -> usize {
            let functions = (0..100).flat_map(|seed| with_copies(programs(&mut Random::seeded(seed))));
            functions.map(|function| count(&function)).sum()
        };
        let any = all(&|random| generate::functions(random, false).remove(0).elf);
        let conforming = all(&|random| generate::conforming(random).remove(0).elf);
        assert!(any >= 50 && conforming >= 20, "{any} copies, and {conforming} in programs that keep to conventions");
    }
}
