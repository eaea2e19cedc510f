//! Registers that hold constants where control enters a function again: at headers of loops that poll.
//!
//! If control could come to a loop with any value in such a register, LLVM would know no divisor there, nor the address of a
//! jump table. So it comes with the constants alone, and otherwise the interpreter goes on.

use std::collections::BTreeMap;

use crate::analysis::constants::Known;
use crate::analysis::functions::Function;
use crate::analysis::propagation::{agreed, propagate};
use crate::budget::Budget;

/// For each header at which a function polls, the registers that hold a constant at its beginning, on every path from the
/// function's start, and these constants; fewer if the budget is spent.
pub(crate) fn poll_constants(function: &Function, budget: &Budget) -> BTreeMap<u64, Vec<(usize, u64)>> {
    if function.polls.is_empty() {
        return BTreeMap::new();
    }
    let constant = |(register, known): (usize, &Known)| match known {
        Known::Constant(constant) if register != 0 => Some((register, *constant)),
        _ => None,
    };
    let known = propagate(function.start, &function.blocks, |_| true, agreed, budget);
    let at_polls = function.blocks.keys().zip(&known).filter(|(start, _)| function.polls.contains_key(start));
    let registers = at_polls.map(|(&start, known)| {
        let known = known.iter().flat_map(|registers| registers.iter().enumerate());
        (start, known.filter_map(constant).collect())
    });
    registers.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::{insert_polls, sample};

    const TABLE: &str = ".section .rodata\n.balign 4\ntable: .word first - table, second - table\n.text\n";

    /// The registers at the first poll of a loop with a table, whose beginning and one of whose cases these are.
    fn registers(beginning: &str, case: &str) -> Vec<usize> {
        let source = format!(
            ".globl _start\n.type _start, @function\n_start:\nlla s0, table\nli s1, 2\n{beginning}\n\
             1: lbu a1, 0(a0)\naddi a0, a0, 1\nbgeu a1, s1, 4f\nslli a1, a1, 2\nadd a1, a1, s0\nlw a1, 0(a1)\n\
             add a1, a1, s0\njr a1\nfirst: {case}\nj 1b\nsecond: addi a2, a2, 1\nj 1b\n4: ret\n.size _start, .-_start\n{TABLE}"
        );
        let mut functions = sample::functions_of(&sample::image(&source, sample::ASSEMBLY));
        insert_polls(&mut functions, |_| false);
        let at_polls = poll_constants(&functions[0], &Budget::default());
        assert!(at_polls.len() == 1 && functions[0].polls.contains_key(at_polls.keys().next().unwrap()));
        at_polls.into_values().flatten().map(|(register, _)| register).collect()
    }

    #[test]
    fn constants_are_known_where_no_path_changes_their_registers() {
        assert_eq!(registers("", "nop"), [8, 9]);
        assert_eq!(registers("mv a3, s0", "nop"), [8, 9, 13]);
        assert_eq!(registers("mv a3, s0", "addi a3, a3, 4"), [8, 9]);
    }
}
