//! Where code that does not count fuel polls: looks whether it is to exit.
//!
//! A function that calls or jumps to others polls at its start, where it tests the host's stack: a request moves the limit
//! that it compares with. So a loop that calls such a function in each iteration needs no poll of its own, nor
//! does one that ends soon. All other loops poll at their headers, and can be entered there.

use std::collections::BTreeSet;

use crate::analysis::blocks::Terminator;
use crate::analysis::functions::Function;
use crate::analysis::order::order;
use crate::analysis::trips::short_loops;

/// Finds where each function polls; `is_libcall` says of a start whether the function does something else first.
pub(crate) fn insert_polls(functions: &mut [Function], is_libcall: impl Fn(u64) -> bool) {
    let polls_at_start = |function: &&Function| {
        !is_libcall(function.start) && (function.leaves() || !headers(function, Terminator::successors).is_empty())
    };
    let polling: BTreeSet<u64> = functions.iter().filter(polls_at_start).map(|function| function.start).collect();
    for function in functions {
        function.polls = headers(function, |end| match end {
            Terminator::Call { target, .. } if polling.contains(target) => Vec::new(),
            // The dispatcher looks, too.
            Terminator::Step { is_ecall: false, .. } => Vec::new(),
            end => end.successors(),
        });
        let short = short_loops(function, &function.polls);
        function.polls.retain(|header| !short.contains(header));
    }
}

/// The loop headers, where the ends of blocks lead to these.
fn headers(function: &Function, leads_to: impl Fn(&Terminator) -> Vec<u64>) -> BTreeSet<u64> {
    let roots = std::iter::once(function.start).chain(function.blocks.keys().copied());
    order(function, roots, leads_to).headers
}
