//! Programs do here what they do under qemu: the same output, status and files.

mod common;

use std::path::Path;

use common::{Outcome, gcc, gxx, qemu, run, tree};
use riverrun_linux::{DirAccess, Linux};

const STATIC: &[&str] = &["-O2", "-static", "-Wall"];

/// Runs a program that works in a directory, here and by qemu; both start with it empty.
fn compare_in_directory(program: &Path, stdin: &str) -> Outcome {
    let (ours, theirs) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let builder = Linux::builder().args(["guest", "/data"]).dir(ours.path(), "/data", DirAccess::ReadWrite).unwrap();
    let outcome = run(program, stdin, builder);
    let expected = qemu(program, &["guest", theirs.path().to_str().unwrap()], &[], stdin);
    assert_same(&outcome, &expected);
    assert_eq!(tree(ours.path()), tree(theirs.path()));
    outcome
}

fn assert_same(ours: &Outcome, expected: &Outcome) {
    let lines = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
    let (ours_lines, expected_lines) = (lines(&ours.stdout), lines(&expected.stdout));
    let differences = ours_lines.iter().zip(&expected_lines).filter(|(ours, expected)| ours != expected);
    let differences: Vec<_> = differences.take(20).collect();
    assert!(differences.is_empty(), "ours and qemu's output differ: {differences:#?}");
    assert_eq!(ours, expected);
}

#[test]
fn files() {
    let outcome = compare_in_directory(&gcc("files.c", STATIC), "");
    assert!(outcome.stdout.contains("many has 502 entries"), "{}", outcome.stdout);
}

#[test]
fn sizes_of_files() {
    let program = gcc("sizes.c", STATIC);
    let (ours, theirs) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let builder = Linux::builder().args(["guest", "/data"]).max_file_size(10_240);
    let outcome = run(&program, "", builder.dir(ours.path(), "/data", DirAccess::ReadWrite).unwrap());
    assert_same(&outcome, &qemu(&program, &["guest", theirs.path().to_str().unwrap()], &[], ""));
    assert_eq!(tree(ours.path()), tree(theirs.path()));
    assert_eq!(outcome.stdout.matches("signal 25").count(), 8, "{}", outcome.stdout);
}

#[test]
fn memory() {
    compare_in_directory(&gcc("memory.c", STATIC), "");
}

#[test]
fn blocks_of_memory() {
    compare_in_directory(&gcc("blocks.c", &[STATIC, &["-fno-builtin"]].concat()), "");
}

#[test]
fn bad_pointers() {
    let outcome = compare_in_directory(&gcc("faults.c", STATIC), "");
    assert_eq!(outcome.stdout.matches("Bad address").count(), 39, "{}", outcome.stdout);
}

#[test]
fn the_standard_library_of_cxx() {
    let outcome = compare_in_directory(&gxx("standard.cpp", STATIC), "some words\nof input");
    assert!(outcome.status == 42 && outcome.stdout.contains("4 words"), "{outcome:?}");
}

#[test]
fn handlers_return_by_their_return_address_alone() {
    let program = gxx("handlers.cpp", &["-O2", "-static", "-Wall", "-fnon-call-exceptions"]);
    let outcome = run(&program, "", Linux::builder().args(["handlers"]));
    assert!(outcome.stdout.starts_with("counted 1000\n"), "{outcome:?}");
    assert_same(&outcome, &qemu(&program, &["handlers"], &[], ""));
}

#[test]
fn signals() {
    let program = gcc("signals.c", STATIC);
    let outcome = run(&program, "", Linux::builder().args(["signals"]));
    assert_same(&outcome, &qemu(&program, &["signals"], &[], ""));
    assert!(outcome.stdout.ends_with("escaped from abort\n"), "{outcome:?}");
}

#[test]
fn streams() {
    let program = gcc("streams.c", STATIC);
    let input = "first line\n42 the rest\nof the input\n";
    let outcome = run(&program, input, Linux::builder().args(["streams"]));
    assert_same(&outcome, &qemu(&program, &["streams"], &[], input));
    assert_eq!(outcome.status, 3);
}

#[test]
fn process() {
    let program = gcc("process.c", STATIC);
    let args = ["process", "one", "", "three words here"];
    let builder = Linux::builder().args(args).env("TEST_A", "value").env("TEST_B", "");
    let outcome = run(&program, "", builder);
    assert_same(&outcome, &qemu(&program, &args, &[("TEST_A", "value"), ("TEST_B", "")], ""));
    assert!(outcome.status == 44 && outcome.stdout.contains("argument 3: <three words here>"), "{outcome:?}");
}

#[test]
fn position_independent() {
    let program =
        gcc("pie.c", &["-O1", "-ffreestanding", "-nostdlib", "-static-pie", "-fpie", "-Wl,--no-dynamic-linker"]);
    let args = ["pie", "argument"];
    let outcome = run(&program, "", Linux::builder().args(args).env("A", "B"));
    assert_same(&outcome, &qemu(&program, &args, &[("A", "B")], ""));
    assert_eq!((outcome.status, outcome.stdout.as_str()), (5, "pie\nargument\nA=B\nrelocated\n"));
}
