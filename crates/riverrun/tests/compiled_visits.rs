//! Compiled code is come back to, whatever ways control goes: code without fuel does not count its
//! instructions, so that what is counted is what the interpreter had to do.

use std::path::Path;

use riverrun::{Caller, CompileOptions, Config, Engine, Flow, Linker, Program};
use riverrun_testkit::tools;

/// Rounds of each guest, as in its source.
const ROUNDS: u64 = 100_000;

/// Runs the guest that goes the ways `which`, stripped or not, and gives its status with the number of
/// instructions that were interpreted, with compiled code and without.
fn run(which: u64, flags: &[&str]) -> (i32, u64, u64) {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/guests/wandering.c");
    let elf = tools::compile(env!("CARGO_TARGET_TMPDIR"), &source, &[&["-O2", "-march=rv64gc"], flags].concat());
    let engine = Engine::new(&Config::new()).unwrap();
    let program = Program::new(&engine, elf).unwrap();
    let mut linker = Linker::new(&engine);
    linker.ecall(|caller: Caller<'_, ()>| Ok(Flow::Exit(caller.x(10) as i32)));
    let run = |program: &Program| {
        let mut machine = linker.instantiate(program, ()).unwrap();
        machine.set_x(10, which);
        (machine.run().unwrap(), machine.instructions())
    };
    let (expected, all) = run(&program);
    let folder = tempfile::tempdir().unwrap();
    let (compiled, _) = program.compile_to(&CompileOptions::default(), folder.path().join("test.rro")).unwrap();
    let (status, interpreted) = run(&compiled);
    assert_eq!(status, expected);
    (status, interpreted, all)
}

#[test]
fn code_is_come_back_to_after_another_rounding_mode() {
    let (status, interpreted, all) = run(0, &[]);
    assert_eq!(status, 9);
    assert!(all > 6 * ROUNDS && interpreted < 4 * ROUNDS, "{interpreted} of {all} were interpreted");
}

#[test]
fn switches_are_compiled() {
    let (status, interpreted, all) = run(1, &[]);
    assert_eq!(status, 8);
    assert!(all > 20 * ROUNDS && interpreted < 100, "{interpreted} of {all} were interpreted");
}

#[test]
fn millicode_is_compiled() {
    let (status, interpreted, all) = run(2, &[]);
    assert_eq!(status, 8);
    assert!(all > 10 * ROUNDS && interpreted < 100, "{interpreted} of {all} were interpreted");
}

#[test]
fn switches_of_stacks_stay_in_compiled_code() {
    let (status, interpreted, all) = run(3, &[]);
    assert_eq!(status, 9);
    assert!(all > 20 * ROUNDS && interpreted < 100, "{interpreted} of {all} were interpreted");
}

#[test]
fn jumps_over_frames_stay_in_compiled_code() {
    let (status, interpreted, all) = run(4, &[]);
    assert_eq!(status, 10);
    assert!(all > 50 * ROUNDS && interpreted < 100, "{interpreted} of {all} were interpreted");
}

#[test]
fn jumps_to_labels_stay_in_compiled_code() {
    let (status, interpreted, all) = run(5, &[]);
    assert_eq!(status, 11);
    assert!(all > 5 * ROUNDS && interpreted < 100, "{interpreted} of {all} were interpreted");
}

/// Nothing tells that the labels are where others come back to, with what they have in a register.
#[test]
fn values_get_through_jumps_to_labels_of_other_functions() {
    for flags in [&[][..], &["-s"]] {
        assert_eq!(run(6, flags).0, 15);
    }
}

/// Without symbols, functions are found by unwind tables, and by addresses that are taken.
#[test]
fn stripped_programs_are_compiled_all_the_same() {
    for flags in [&["-s"][..], &["-s", "-fno-asynchronous-unwind-tables"]] {
        for which in 1..6 {
            let (_, interpreted, all) = run(which, flags);
            assert!(interpreted < 100, "{interpreted} of {all} were interpreted, program {which} {flags:?}");
        }
    }
}
