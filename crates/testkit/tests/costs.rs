//! Compiled code that copies and fills memory otherwise than the guest does takes as much fuel.
#![cfg(feature = "compile")]

use std::path::Path;

use riverrun::TrapCause;
use riverrun_testkit::{Engine, Loaded, Outcome, Stop, run, tools};

const A0: u8 = 10;
const A1: u8 = 11;

fn guest() -> Vec<u8> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/guests/costs.c");
    // The C library's functions are the only ones of it, and wanted before anything calls them.
    let library = "-Wl,-u,memcpy,-u,memmove,-u,memset,-lc";
    let flags = ["-O2", "-march=rv64gc", "-fno-builtin", "-fno-tree-loop-distribute-patterns", library];
    tools::compile(env!("CARGO_TARGET_TMPDIR"), &source, &flags)
}

/// How a run ends that copies from so many bytes to less than so many.
fn outcome(loaded: &Loaded, (from, to): (u64, u64), fuel: u64) -> Outcome {
    let mut machine = loaded.start();
    machine.set_x(A0, from);
    machine.set_x(A1, to);
    machine.set_fuel(Some(fuel));
    run(&mut machine)
}

#[test]
fn blocks_of_all_small_sizes_take_what_they_take_in_the_interpreter() {
    let guest = guest();
    let [fast, compiled] = [Engine::Fast, Engine::ImpreciseCounted].map(|engine| Loaded::new(engine, &guest));
    for from in (0..140).step_by(10) {
        let [expected, found] = [&fast, &compiled].map(|loaded| outcome(loaded, (from, from + 10), 1 << 40));
        assert!(matches!(expected.stop, Stop::Exit(_)), "{:?}", expected.stop);
        assert_eq!((found.stop, found.instructions), (expected.stop, expected.instructions), "from {from} bytes");
    }
}

#[test]
fn they_end_with_the_fuel_where_it_ends() {
    let guest = guest();
    let [fast, compiled] = [Engine::Fast, Engine::ImpreciseCounted].map(|engine| Loaded::new(engine, &guest));
    let all = outcome(&fast, (60, 63), 1 << 40).instructions;
    for fuel in (0..all).step_by(997) {
        let [expected, found] = [&fast, &compiled].map(|loaded| outcome(loaded, (60, 63), fuel));
        assert!(matches!(expected.stop, Stop::Trap(TrapCause::OutOfFuel, _)), "{:?}", expected.stop);
        assert_eq!((found.stop, found.instructions), (expected.stop, fuel));
    }
}
