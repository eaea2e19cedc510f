//! Sums with carries, which compiled code makes by the host's flag, are what they are without.
#![cfg(feature = "compile")]

use std::path::Path;

use riverrun_testkit::{Engine, Loaded, Stop, run, tools};

#[test]
fn products_are_summed_as_by_halves_of_words() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/guests/carries.c");
    let guest = tools::compile(env!("CARGO_TARGET_TMPDIR"), &source, &["-O2", "-march=rv64gc", "-funroll-loops"]);
    for engine in
        [Engine::SingleStep, Engine::Fast, Engine::Uncounted, Engine::Default, Engine::ImpreciseCounted, Engine::Quick]
    {
        assert_eq!(run(&mut Loaded::new(engine, &guest).start()).stop, Stop::Exit(0), "{engine:?}");
    }
}
