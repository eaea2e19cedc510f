//! Guests that go wrong: the message says what happened and where, and the status is 134.

use std::path::Path;

use crate::common::{Ended, Folder, riverrun_precisely};

/// The ending that `how` names.
fn ending(guest: &Path, how: &str) -> Ended {
    let ended = riverrun_precisely(args!["run", guest, how]);
    ended.expect(134, &["riverrun: ", "ends.elf: "]);
    ended
}

#[test]
fn loads_and_stores() {
    let folder = Folder::new();
    let guest = folder.guest("ends.c", &[]);
    let unreadable = "load from unmapped or unreadable address";
    let unwritable = "store to unmapped or read-only address";
    ending(&guest, "null").expect(134, &[&format!("{unreadable} 0x0 at pc 0x"), "  0: 0x", " load+0x"]);
    ending(&guest, "wild-load").expect(134, &[&format!("{unreadable} 0x60000000 at pc 0x"), " load+0x"]);
    ending(&guest, "wild-store").expect(134, &[&format!("{unwritable} 0x60000000 at pc 0x"), " store+0x"]);
    ending(&guest, "write-text").expect(134, &[&format!("{unwritable} 0x1"), " store+0x"]);
}

#[test]
fn jumps_out_of_the_text() {
    let folder = Folder::new();
    let guest = folder.guest("ends.c", &[]);
    ending(&guest, "jump-data")
        .expect(134, &["jump to address 0x", "which is not in the text", " jump+0x", " main+0x"]);
    ending(&guest, "jump-null").expect(134, &["jump to address 0x0, which is not in the text", " jump+0x"]);
}

#[test]
fn instructions_that_are_none() {
    let folder = Folder::new();
    let guest = folder.guest("ends.c", &[]);
    ending(&guest, "illegal").expect(134, &["illegal instruction 0x0000 at pc 0x", " illegal+0x"]);
    ending(&guest, "breakpoint").expect(134, &["breakpoint at pc 0x", " main+0x"]);
}

#[test]
fn extensions_that_are_missing_are_named() {
    let folder = Folder::new();
    let guest = folder.guest("vector.s", &["-nostdlib", "-march=rv64gcv"]);
    let ended = riverrun_precisely(args!["run", guest]);
    ended.expect(
        134,
        &[
            "vector.elf: compiled for v, which riverrun does not have",
            "illegal instruction 0x0c0572d7: vsetvli needs V, which riverrun does not have at pc 0x",
            " _start+0x0",
        ],
    );
    assert_eq!(ended.stderr.matches("compiled for").count(), 1, "{}", ended.stderr);
}

#[test]
fn aborts() {
    let folder = Folder::new();
    let guest = folder.guest("ends.c", &[]);
    ending(&guest, "abort").expect(134, &["the guest sent itself SIGABRT (signal 6)", " abort+0x", " main+0x"]);
}

#[test]
fn runaway_recursion_names_the_function() {
    let folder = Folder::new();
    let guest = folder.guest("ends.c", &[]);
    let ended = ending(&guest, "runaway");
    ended.expect(134, &["stack overflow at address 0x", " runaway+0x", " (x "]);
    assert!(ended.stderr.lines().count() < 50, "a deep backtrace is cut: {}", ended.stderr);
}

#[test]
fn the_backtrace_has_functions_and_source_lines() {
    let folder = Folder::new();
    let guest = folder.guest("ends.c", &[]);
    let ended = ending(&guest, "null");
    let source = include_str!("guests/ends.c");
    let line = |text: &str| 1 + source.lines().position(|line| line.contains(text)).unwrap();
    let frames: Vec<&str> = ended.stderr.lines().filter(|line| line.starts_with("    ")).collect();
    for (frame, (function, text)) in frames.iter().zip([("load", "int load("), ("main", "\"null\"")]) {
        assert!(frame.contains(&format!(" {function}+0x")), "{function} in {frame}");
        assert!(frame.contains(&format!("ends.c:{}", line(text))), "line {} in {frame}", line(text));
    }
    assert!(frames.len() >= 2, "{}", ended.stderr);
}

#[test]
fn statistics_come_after_a_trap_too() {
    let folder = Folder::new();
    let guest = folder.guest("ends.c", &[]);
    let ended = riverrun_precisely(args!["--stats=json", guest, "null"]);
    let stats = ended.expect(134, &["load from unmapped"]).stats();
    assert_eq!(stats["exit"], "trap");
    assert_eq!(stats["status"], 134);
}
