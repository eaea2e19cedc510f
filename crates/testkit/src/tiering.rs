//! Stress for programs that are compiled as they run: random functions are compiled, and the code is exchanged, between
//! any two instructions of a run.

use riverrun::image::Profile;
use riverrun::{CompileOptions, TrapCause};

use crate::case::{Case, Loaded, assert_same, promised, run};
use crate::outcome::{Outcome, Stop};
use crate::{Engine, Random};

/// Compilations of a program at most.
const COMPILATIONS: usize = 3;

/// A profile of up to eight random addresses.
fn profile(loaded: &Loaded, random: &mut Random) -> Profile {
    let mut profile = Profile::default();
    let text = loaded.program().image().text();
    for _ in 0..1 + random.below(8) {
        let range = &text[random.below(text.len())];
        profile.add(range.start + (random.below((range.end - range.start) as usize) as u64 & !1), 1);
    }
    profile
}

/// Runs cases of one program in slices of random lengths, between which random functions of it are compiled so, and
/// compares how they end with what the reference interpreter makes of them; `compared` is what of it counts.
///
/// # Panics
/// If they differ; the message says how.
fn check_with(
    cases: &[Case],
    random: &mut Random,
    load: impl Fn(Engine, &[u8]) -> Loaded,
    options: &CompileOptions,
    compared: impl Fn(Outcome) -> Outcome,
) {
    let Some(Case { elf, .. }) = cases.first() else { return };
    let (reference, loaded) = (load(Engine::SingleStep, elf), load(Engine::Fast, elf));
    let mut compilations = 0;
    for case in cases {
        let expected = run(&mut reference.machine(case));
        let mut machine = loaded.machine(case);
        let mut left = case.fuel;
        let outcome = loop {
            let slice = left.min(1 + random.below(1 + expected.instructions as usize / 2) as u64);
            let before = machine.instructions();
            machine.set_fuel(Some(slice));
            let outcome = run(&mut machine);
            left -= machine.instructions() - before;
            if left == 0 || !matches!(outcome.stop, Stop::Trap(TrapCause::OutOfFuel, _)) {
                break Outcome { fuel: Some(left), ..outcome };
            }
            if compilations < COMPILATIONS && random.below(2) == 0 {
                compilations += 1;
                let compiled = loaded.program().compile_hot_now(options, &profile(&loaded, random));
                compiled.unwrap_or_else(|error| panic!("a part of the program: {error}"));
            }
        };
        assert_same(case, &compared(expected), &compared(outcome), "code that gets better");
    }
}

/// The same for precise code, which has the state of the reference interpreter wherever it ends.
///
/// # Panics
/// As for one that is not precise.
pub fn check_tiering(cases: &[Case], random: &mut Random) {
    let options = Engine::Compiled.options().expect("it is compiled");
    check_with(cases, random, Loaded::new, &options, |outcome| outcome);
}

/// Runs cases of one program that keeps to the calling convention in slices, between which random functions of it are
/// compiled as they are by default, but with fuel. Compares what such code promises with what the reference interpreter
/// makes of the cases.
///
/// # Panics
/// If they differ; the message says how.
pub fn check_tiering_conforming(cases: &[Case], random: &mut Random) {
    let options = Engine::ImpreciseCounted.options().expect("it is compiled");
    check_with(cases, random, Loaded::uncounted, &options, promised);
}
