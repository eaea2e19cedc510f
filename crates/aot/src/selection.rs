//! Which functions of a program are compiled; the others are left to the interpreter, as those are that are too large. The
//! analyses see the whole program in any case.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use riverrun_program::Profile;

use crate::analysis::{Block, Function, loops_without_calls};
use crate::budget::work;

/// One in so many samples in a loop makes it worth a re-entry point.
const HOT_LOOP: u64 = 32;
/// Instructions of functions that are selected because selected functions call them: such small ones are hardly ever
/// sampled, and going to the interpreter for one takes longer than the function does.
const SMALL: usize = 32;

/// The functions that are compiled.
#[derive(Clone, Copy, Debug)]
pub enum Selection<'a> {
    /// All.
    All,
    /// Those in which a profile has samples, the most samples for each instruction first, as far as the limit on work goes;
    /// and the small functions that those call. Loops with many samples get re-entry points, so that a run of the
    /// interpreter in them can go on in compiled code.
    Hot {
        /// The profile.
        profile: &'a Profile,
        /// The work that compiling them may take, as of [`CompileOptions::max_work`](crate::CompileOptions::max_work).
        work: u64,
    },
}

impl Selection<'_> {
    /// The selected functions, in their order.
    pub(crate) fn of(self, mut functions: Vec<Function>) -> Vec<Function> {
        let Selection::Hot { profile, work: limit } = self else { return functions };
        let samples: Vec<u64> =
            functions.iter().map(|function| samples_in(profile, function.blocks.values())).collect();
        let costs: Vec<u64> =
            functions.iter().map(|function| work(function.size(), function.targets()) as u64).collect();
        let mut hot: Vec<usize> = (0..functions.len()).filter(|&index| samples[index] != 0).collect();
        hot.sort_by_key(|&index| Reverse(u128::from(samples[index] << 20) / u128::from(costs[index].max(1))));
        let mut left = limit;
        let mut fits = |index: usize| match left.checked_sub(costs[index]) {
            Some(rest) => {
                left = rest;
                true
            }
            None => false,
        };
        hot.retain(|&index| fits(index));
        let called = hot.iter().flat_map(|&index| functions[index].refers_to());
        let find = |to: u64| functions.binary_search_by_key(&to, |function| function.start).ok();
        let small: BTreeSet<usize> =
            called.filter_map(find).filter(|&index| samples[index] == 0 && functions[index].size() <= SMALL).collect();
        hot.extend(small.into_iter().filter(|&index| fits(index)));
        hot.sort_unstable();
        let mut index = 0;
        functions.retain(|_| {
            index += 1;
            hot.binary_search(&(index - 1)).is_ok()
        });
        for function in &mut functions {
            let is_hot = |blocks: Vec<&Block>| {
                samples_in(profile, blocks.into_iter()).saturating_mul(HOT_LOOP) >= profile.total().max(1)
            };
            if !is_hot(function.blocks.values().collect()) {
                continue;
            }
            let mut loops = loops_without_calls(function);
            loops.retain(|_, body| is_hot(body.iter().map(|at| &function.blocks[at]).collect()));
            function.entered_loops =
                loops.into_keys().filter(|at| !function.orphans.contains(at) && !function.polls.contains(at)).collect();
        }
        functions
    }
}

/// Samples in blocks.
fn samples_in<'a>(profile: &Profile, blocks: impl Iterator<Item = &'a Block>) -> u64 {
    let instructions = |block: &Block| {
        let (first, last) = (block.insts.first()?, block.insts.last()?);
        Some(first.0..last.0 + 1)
    };
    blocks.filter_map(instructions).fold(0, |sum, range| sum.saturating_add(profile.within(range)))
}
