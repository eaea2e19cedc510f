//! Which code of a program is compiled; the rest is left to the interpreter, as functions are that are too large. The
//! analyses see the whole program in any case.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::ops::Range;

use riverrun_program::Profile;
use riverrun_vm::artifact::{LLVM_INSTRUCTION, Quick};

use crate::analysis::{Block, Function, Imports, Liveness, is_reached, leave_out_cold, loops_without_calls};
use crate::budget::work;
use crate::kept_objects::KeptObjects;

/// One in so many samples in a loop makes it worth a re-entry point.
const HOT_LOOP: u64 = 32;
/// How many times as long as it was interpreted LLVM may take for a function. Most with a sample or two are hardly ever
/// executed again: a quarter of LLVM's time for CPython, which is as fast without.
const PAYS: Ratio = Ratio(16, 1);
/// The same where a program waits for its first code: these are functions that have most of the time and are short, or else
/// it would wait for longer.
const PAYS_AT_ONCE: Ratio = Ratio(1, 4);

/// A ratio of two numbers.
#[derive(Clone, Copy)]
struct Ratio(u128, u128);

/// The code that is compiled.
#[derive(Clone, Copy, Debug)]
pub enum Selection<'a> {
    /// All functions.
    All,
    /// What control has reached, as far as the limit on work goes: first the functions in which a profile has samples, the
    /// most for each instruction first, then the others, the smallest first; of each the blocks that may have been executed.
    /// Loops with many samples get re-entry points, so that a run of the interpreter in them can go on in compiled code.
    Hot {
        /// The profile.
        profile: &'a Profile,
        /// The work that compiling them may take, as of [`CompileOptions::max_work`](crate::CompileOptions::max_work).
        work: u64,
        /// Machine code of earlier compilations.
        kept: Option<&'a KeptObjects>,
    },
}

impl<'a> Selection<'a> {
    /// Machine code of earlier compilations.
    pub(crate) fn kept(self) -> Option<&'a KeptObjects> {
        if let Selection::Hot { kept, .. } = self { kept } else { None }
    }

    /// Whether a function with these addresses may be selected.
    pub(crate) fn may_be_in(self, addresses: Range<u64>) -> bool {
        match self {
            Selection::All => true,
            Selection::Hot { profile, .. } => profile.has_reached(addresses.start..=addresses.end - 1),
        }
    }

    /// The selected functions, in their order, without their cold blocks.
    pub(crate) fn of(self, mut functions: Vec<Function>, liveness: &mut Liveness, imports: &Imports) -> Vec<Function> {
        let Selection::Hot { profile, work: limit, .. } = self else { return functions };
        functions.retain(|function| is_reached(function, profile));
        for function in &mut functions {
            for (start, block) in leave_out_cold(function, profile) {
                liveness.leave_out(function.start, start, &block, imports);
            }
        }
        let cost = |function: &Function| work(function.size(), function.targets()).max(1) as u64;
        functions.sort_by_cached_key(|function| {
            let (samples, cost) = (samples_in(profile, function.blocks.values()), cost(function));
            (Reverse((u128::from(samples) << 20) / u128::from(cost)), cost)
        });
        let mut left = limit;
        functions.retain(|function| match left.checked_sub(cost(function)) {
            Some(rest) => {
                left = rest;
                true
            }
            None => false,
        });
        functions.sort_by_key(|function| function.start);
        for function in &mut functions {
            let is_hot = |blocks: Vec<&Block>| {
                samples_in(profile, blocks.into_iter()).saturating_mul(HOT_LOOP) >= profile.total().max(1)
            };
            if !is_hot(function.blocks.values().collect()) {
                continue;
            }
            let mut loops = loops_without_calls(function);
            loops.retain(|_, body| is_hot(body.iter().map(|at| &function.blocks[at]).collect()));
            function.entered_loops = loops
                .into_keys()
                .filter(|at| !function.orphans.contains(at) && !function.polls.contains_key(at))
                .collect();
        }
        functions
    }
}

/// Those functions of a selection that are compiled by the quick back end; of `optimised` ones LLVM's code is kept, if there
/// was a compilation before.
pub(crate) fn quick<'f>(
    selection: Selection<'_>,
    quick: Quick,
    optimised: Option<&BTreeSet<u64>>,
    functions: &'f [Function],
) -> impl Iterator<Item = &'f Function> {
    functions.iter().filter(move |function| match (quick, selection) {
        (Quick::Nothing, _) | (Quick::Cold, Selection::All) => false,
        (Quick::Cold, Selection::Hot { profile, .. }) => !pays(profile, function, PAYS),
        (Quick::Most, Selection::Hot { profile, .. }) => match optimised {
            Some(optimised) => !optimised.contains(&function.start),
            None => !pays(profile, function, PAYS_AT_ONCE),
        },
        (Quick::Most, Selection::All) | (Quick::All, _) => true,
    })
}

/// Whether LLVM's code of a function is worthwhile: that takes so many times as long at most as the function was interpreted
/// for. If a profile has no times, it is for those with samples.
fn pays(profile: &Profile, function: &Function, Ratio(times, parts): Ratio) -> bool {
    let samples = samples_in(profile, function.blocks.values());
    let time = profile.interpreted.as_nanos().saturating_mul(u128::from(samples));
    let expected = LLVM_INSTRUCTION.as_nanos() * function.size() as u128 * u128::from(profile.total());
    samples != 0 && (time == 0 || expected.saturating_mul(parts) <= time.saturating_mul(times))
}

/// Samples in blocks.
fn samples_in<'a>(profile: &Profile, blocks: impl Iterator<Item = &'a Block>) -> u64 {
    let instructions = |block: &Block| {
        let (first, last) = (block.insts.first()?, block.insts.last()?);
        Some(first.0..last.0 + 1)
    };
    blocks.filter_map(instructions).fold(0, |sum, range| sum.saturating_add(profile.within(range)))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::analysis::sample;

    #[test]
    fn llvm_compiles_what_was_interpreted_for_long_enough() {
        let function = sample::first_function(".globl _start\n_start:\n.rept 640\naddi a0, a0, 1\n.endr\nret\n");
        let profile = |samples: u64, interpreted: Duration| {
            let mut profile = Profile::default();
            profile.interpreted = interpreted;
            profile.add(function.start, samples);
            profile.add(!1, 1000 - samples);
            profile
        };
        // A sample is a millisecond here.
        let expected = (LLVM_INSTRUCTION * function.size() as u32).as_micros() as u64;
        let second = Duration::from_secs(1);
        for ratio in [PAYS, PAYS_AT_ONCE] {
            let enough = (expected * ratio.1 as u64 / ratio.0 as u64).div_ceil(1000);
            assert!(pays(&profile(enough, second), &function, ratio));
            assert!(!pays(&profile(enough, second / 2), &function, ratio), "a sample is half as much there");
            assert!(!pays(&profile(0, second), &function, ratio));
            assert!(pays(&profile(1000, Duration::MAX), &function, ratio));
            assert!(pays(&profile(1, Duration::ZERO), &function, ratio));
            assert!(!pays(&profile(0, Duration::ZERO), &function, ratio));
        }
    }

    #[test]
    fn the_hotter_a_function_is_the_less_is_quick_code() {
        let functions = [sample::first_function(
            ".globl _start
_start:
addi a0, a0, 1
ret
",
        )];
        let expected = LLVM_INSTRUCTION * functions[0].size() as u32;
        let is_quick = |interpreted: Duration| {
            let mut profile = Profile::default();
            profile.interpreted = interpreted;
            profile.add(functions[0].start, 1);
            let selection = Selection::Hot { profile: &profile, work: u64::MAX, kept: None };
            [Quick::Nothing, Quick::Cold, Quick::Most, Quick::All]
                .map(|which| quick(selection, which, None, &functions).count() == 1)
        };
        assert_eq!(is_quick(expected * 4), [false, false, false, true]);
        assert_eq!(is_quick(expected), [false, false, true, true]);
        assert_eq!(is_quick(expected / 17), [false, true, true, true]);
    }
}
