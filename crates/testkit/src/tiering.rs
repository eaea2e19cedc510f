//! Stress for programs that are compiled as they run: random functions are compiled, and the code is exchanged, between
//! any two instructions of a run.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use riverrun::image::Profile;
use riverrun::{CompileOptions, KeptObjects, Program, Quick, TrapCause};

use crate::case::{Case, Loaded, assert_same, promised, run, uncounted_call};
use crate::outcome::{Outcome, Stop};
use crate::{Engine, Random};

/// Compilations of a program at most.
const COMPILATIONS: usize = 3;

/// A profile of up to eight random addresses, with a sample or none.
fn profile(program: &Program, random: &mut Random) -> Profile {
    let mut profile = Profile::default();
    let text = program.image().text();
    for _ in 0..1 + random.below(8) {
        let range = &text[random.below(text.len())];
        let pc = range.start + (random.below((range.end - range.start) as usize) as u64 & !1);
        profile.add(pc, random.below(2) as u64);
    }
    profile
}

/// A profile by which control has reached all of the program, with samples in some places.
fn profile_of_all(program: &Program, random: &mut Random) -> Profile {
    let mut profile = Profile::default();
    let places = 1 + random.below(64);
    for pc in program.image().text().iter().flat_map(|range| range.clone().step_by(2)) {
        profile.add(pc, u64::from(random.below(places) == 0));
    }
    profile
}

/// Compiles functions of a program by a profile, for machines that run already, with what was kept of it before.
fn compile(program: &Program, options: &CompileOptions, profile: &Profile, kept: &mut KeptObjects) {
    let compiled = program.compile_hot_now(options, profile, kept);
    compiled.unwrap_or_else(|error| panic!("a part of the program: {error}"));
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
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
    let (mut compilations, mut kept) = (0, KeptObjects::default());
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
                compile(loaded.program(), options, &profile(loaded.program(), random), &mut kept);
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

/// Runs cases of one program that keeps to the calling convention, from the beginning on in code of both back ends or in the
/// interpreter; where it calls the host, random functions of it are compiled by either or both, as they are by default.
/// Compares what such code promises with what the interpreter makes of the cases, where they end by themselves.
///
/// # Panics
/// If they differ; the message says how.
pub fn check_tiering_uncounted(cases: &[Case], random: &mut Random) {
    let Some(Case { elf, .. }) = cases.first() else { return };
    let reference = Loaded::uncounted(Engine::Fast, elf);
    let mut config = Engine::Fast.config();
    config.exit_at_polls(random.below(2) == 0);
    let options = Engine::Default.options().expect("it is compiled");
    let kept = Arc::new(Mutex::new(KeptObjects::default()));
    let state = Mutex::new((Random::seeded(random.u64()), 0, kept.clone()));
    let loaded = Loaded::configured(&config, elf, move |caller| {
        let mut state = lock(&state);
        let (random, compilations, kept) = &mut *state;
        if *compilations < 2 * COMPILATIONS && random.below(2) == 0 {
            *compilations += 1;
            let quick = [Quick::Nothing, Quick::Cold, Quick::Most, Quick::All][random.below(4)];
            let options = CompileOptions { quick, ..options };
            compile(caller.program(), &options, &profile(caller.program(), random), &mut lock(kept));
        }
        uncounted_call(caller)
    });
    if random.below(2) == 0 {
        let profile = profile_of_all(loaded.program(), random);
        compile(loaded.program(), &CompileOptions { quick: Quick::Cold, ..options }, &profile, &mut lock(&kept));
    }
    for case in cases {
        let end = run(&mut reference.machine(case));
        if !end.stop.is_by_itself() {
            continue;
        }
        let expected = promised(end);
        let mut machine = loaded.machine(case);
        machine.set_fuel(None);
        let Outcome { instructions, fuel, .. } = expected;
        let outcome = Outcome { instructions, fuel, ..promised(run(&mut machine)) };
        assert_same(case, &expected, &outcome, "code that gets better, quickly first or not");
    }
}
