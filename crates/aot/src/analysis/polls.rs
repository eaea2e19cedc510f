//! Where code that does not count fuel polls: looks whether it is to exit.
//!
//! A function that calls or jumps to others polls at its start, where it tests the host's stack: a request moves the limit
//! that it compares with. So a loop that calls such a function in each iteration needs no poll of its own, nor
//! does one that ends soon. All others poll where control goes back to their headers, and can be entered there.

use std::collections::{BTreeMap, BTreeSet};

use crate::analysis::block::Terminator;
use crate::analysis::functions::Function;
use crate::analysis::order::order;
use crate::analysis::trips::short_loops;

/// Finds where each function polls; `is_libcall` says of a start whether the function does something else first.
pub(crate) fn insert_polls(functions: &mut [Function], is_libcall: impl Fn(u64) -> bool) {
    let polls_at_start = |function: &&Function| {
        !is_libcall(function.start) && (function.leaves() || !loops(function, Terminator::successors).is_empty())
    };
    let polling: BTreeSet<u64> = functions.iter().filter(polls_at_start).map(|function| function.start).collect();
    for function in functions {
        function.polls = loops(function, |end| match end {
            Terminator::Call { target, .. } if polling.contains(target) => Vec::new(),
            // The dispatcher looks, too.
            Terminator::Step { is_ecall: false, .. } => Vec::new(),
            end => end.successors(),
        });
        let short = short_loops(function, &function.polls);
        function.polls.retain(|header, _| !short.contains(header));
    }
}

/// The loops, where the ends of blocks lead to these: their headers, each with the blocks from which control goes back
/// there.
fn loops(function: &Function, leads_to: impl Fn(&Terminator) -> Vec<u64>) -> BTreeMap<u64, BTreeSet<u64>> {
    let roots = std::iter::once(function.start).chain(function.blocks.keys().copied());
    let mut loops: BTreeMap<u64, BTreeSet<u64>> = BTreeMap::new();
    for (end, header) in order(function, roots, leads_to).back {
        loops.entry(header).or_default().insert(end);
    }
    loops
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::sample;

    /// How many polls the first function of a program has.
    fn polls(body: &str) -> usize {
        let source = format!(
            ".globl _start\n.type _start, @function\n_start:\n{body}\nret\n.size _start, .-_start\n\
             .type leaf, @function\nleaf: addi a0, a0, 1\nret\n.size leaf, .-leaf\n\
             .type deep, @function\ndeep: addi sp, sp, -16\nsd ra, 8(sp)\ncall leaf\nld ra, 8(sp)\naddi sp, sp, 16\nret\n\
             .size deep, .-deep\n.section .rodata\nname: .asciz \"nop\"\nsignature: .asciz \"void ()\"\n\
             .section .riverrun.imports, \"a\"\n.balign 8\n.word 0, 0x0f68396c\n.dword name, signature\n"
        );
        let mut functions = sample::functions_of(&sample::image(&source, sample::ASSEMBLY));
        insert_polls(&mut functions, |_| false);
        functions[0].polls.len()
    }

    #[test]
    fn a_loop_polls_where_control_goes_back_and_not_where_it_begins() {
        let source = ".globl _start\n.type _start, @function\n_start:\nli a1, 2\n1: lw a2, 0(a0)\nbeqz a2, 3f\naddi a0, a0, 4\n\
                      bnez a2, 1b\n2: nop\n3: addi a1, a1, 1\nbnez a1, 1b\nret\n.size _start, .-_start\n";
        let mut functions = sample::functions_of(&sample::image(source, sample::ASSEMBLY));
        insert_polls(&mut functions, |_| false);
        let function = &functions[0];
        let (header, ends) = function.polls.iter().next().unwrap();
        assert!(function.polls.len() == 1 && *header != function.start && !ends.contains(&function.start));
        let goes_back = |end: &u64| function.blocks[end].end.successors().contains(header);
        assert!(ends.len() == 2 && ends.iter().all(goes_back));
    }

    #[test]
    fn loops_poll_unless_they_end_soon_or_call_what_polls() {
        assert_eq!(polls("1: addi a0, a0, -1\nbnez a0, 1b"), 1);
        assert_eq!(polls("li a0, 100\n1: addi a0, a0, -1\nbnez a0, 1b"), 0);
        assert_eq!(polls("addi a1, a0, 64\n1: sb zero, 0(a0)\naddi a0, a0, 1\nbne a0, a1, 1b"), 0);
        assert_eq!(polls("li a2, 100\n1: .insn u 0x0b, x0, 0\naddi a2, a2, -1\nbnez a2, 1b"), 1);
        // It misses its end, or has none.
        assert_eq!(polls("li a0, 99\n1: addi a0, a0, -2\nbnez a0, 1b"), 1);
        assert_eq!(polls("li a0, 100\n1: addi a0, a0, 1\nbnez a0, 1b"), 1);
        assert_eq!(polls("li a0, 100\n1: addi a0, a0, -1\nlw a0, 0(a1)\nbnez a0, 1b"), 1);
        assert_eq!(polls("lui a0, 0x10000\n1: addi a0, a0, -1\nbnez a0, 1b"), 1);
        // Of two loops, the outer one.
        assert_eq!(polls("2: li a0, 100\n1: addi a0, a0, -1\nbnez a0, 1b\nbnez a1, 2b"), 1);
        assert_eq!(polls("mv s0, ra\n1: call leaf\nbnez a0, 1b\nmv ra, s0"), 1);
        assert_eq!(polls("mv s0, ra\n1: call deep\nbnez a0, 1b\nmv ra, s0"), 0);
    }
}
