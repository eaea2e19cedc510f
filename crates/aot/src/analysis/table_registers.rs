//! Registers that hold the addresses of jump tables where control enters a function again: at loop headers that poll.
//!
//! The index of a table's entry is calculated from the table's address. If control could come to the loop with any value in
//! that register, LLVM would calculate it in each iteration. So it comes with the address alone, and otherwise the interpreter
//! goes on.

use std::collections::BTreeMap;

use crate::analysis::block::{Block, Terminator};
use crate::analysis::constants::Known;
use crate::analysis::functions::Function;
use crate::analysis::propagation::{agreed, propagate};
use crate::budget::Budget;

/// How far the immediate of a load reaches.
const REACH: u64 = 1 << 11;

/// For each block at which a function polls, the registers that have the address of a table of it at its beginning, on every
/// path from the function's start, and these addresses; fewer if the budget is spent.
pub(crate) fn table_registers(function: &Function, budget: &Budget) -> BTreeMap<u64, Vec<(usize, u64)>> {
    let table = |block: &Block| match &block.end {
        Terminator::JumpIndirect(targets) => targets.fixed.map(|fixed| fixed.start),
        _ => None,
    };
    let tables: Vec<u64> = function.blocks.values().filter_map(table).collect();
    if tables.is_empty() || function.polls.is_empty() {
        return BTreeMap::new();
    }
    let address = |(register, known): (usize, &Known)| match known {
        Known::Constant(at) if tables.iter().any(|table| table.abs_diff(*at) <= REACH) => Some((register, *at)),
        _ => None,
    };
    let known = propagate(function.start, &function.blocks, |_| true, agreed, budget);
    let at_polls = function.blocks.keys().zip(&known).filter(|(start, _)| function.polls.contains(start));
    let registers = at_polls.map(|(&start, known)| {
        let known = known.iter().flat_map(|registers| registers.iter().enumerate());
        (start, known.filter_map(address).collect())
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
        let at_polls = table_registers(&functions[0], &Budget::default());
        assert!(at_polls.len() == 1 && functions[0].polls.contains(at_polls.keys().next().unwrap()));
        at_polls.into_values().flatten().map(|(register, _)| register).collect()
    }

    #[test]
    fn tables_are_known_where_no_path_changes_their_registers() {
        assert_eq!(registers("", "nop"), [8]);
        assert_eq!(registers("mv a3, s0", "nop"), [8, 13]);
        assert_eq!(registers("mv a3, s0", "addi a3, a3, 4"), [8]);
    }
}
