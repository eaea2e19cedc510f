//! Constant numbers of system calls.

use std::collections::BTreeMap;

use riverrun_vm::DYNAMIC_CALL;

use crate::analysis::block::{Block, Terminator};
use crate::analysis::constants::Known;
use crate::analysis::propagation::{Registers, agreed, evaluate, propagate};
use crate::budget::Budget;

const A7: usize = 17;
const T0: usize = 5;

/// The key of a system call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CallNumber {
    /// The constant in a7.
    InA7(u64),
    /// The constant in t0, if a7 has the number of dynamic calls.
    InT0(u64),
}

/// The keys of a function's system calls, by address. They are hints: the host's own system calls may change registers.
pub(crate) fn call_numbers(start: u64, blocks: &BTreeMap<u64, Block>, budget: &Budget) -> BTreeMap<u64, CallNumber> {
    let calls = |block: &Block| match block.end {
        Terminator::Step { at, is_ecall: true, .. } => Some(at),
        _ => None,
    };
    if !blocks.values().any(|block| calls(block).is_some()) {
        return BTreeMap::new();
    }
    let known = propagate(start, blocks, |block| calls(block).is_some(), agreed, budget);
    let number = |(block, known): (&Block, &Option<Box<Registers>>)| {
        let at = calls(block)?;
        let mut registers = **known.as_ref()?;
        evaluate(block, &mut registers);
        match (registers[A7], registers[T0]) {
            (Known::Constant(DYNAMIC_CALL), Known::Constant(key)) => Some((at, CallNumber::InT0(key))),
            (Known::Constant(DYNAMIC_CALL), _) => None,
            (Known::Constant(key), _) => Some((at, CallNumber::InA7(key))),
            _ => None,
        }
    };
    blocks.values().zip(&known).filter_map(number).collect()
}
