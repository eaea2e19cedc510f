//! `riverrun snapshot`, and `riverrun run --from` and `--call`.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use crate::common::{Folder, riverrun};

/// A program that stays behind its main.
pub(crate) fn stays(folder: &Folder) -> PathBuf {
    let program = folder.path().join("stays.elf");
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/guests/stays.c");
    let mut compile = crate::common::plain(args!["cc", "-O1", "-o", program, source]);
    let ended: crate::common::Ended =
        compile.env("XDG_CACHE_HOME", folder.path().join("cache")).output().unwrap().into();
    ended.expect(0, &[]);
    program
}

#[test]
fn a_program_goes_on_behind_its_main_as_often_as_wanted() {
    let folder = Folder::new();
    let (program, file) = (stays(&folder), folder.path().join("after.snapshot"));
    let taken = riverrun(args!["snapshot", "-o", file, program, "argument"]);
    taken.expect(0, &[]);
    assert_eq!((&*taken.stdout, &*taken.stderr), ("main with 2 arguments\n", ""));
    for _ in 0..2 {
        let called = riverrun(args!["run", "--from", file, "--call", "add(2)", "--call", "add(-50)", program]);
        called.expect(0, &[]);
        assert_eq!(called.stdout, "42\n-8\n");
        // Run without calls, it exits in order.
        let run = riverrun(args!["run", "--from", file, program]);
        run.expect(7, &[]);
        assert_eq!(run.stdout, "count 40 at exit\n");
    }
    // From a snapshot another one is taken.
    let second = folder.path().join("second.snapshot");
    let taken = riverrun(args!["snapshot", "--from", file, "--call", "add(100)", "-o", second, program]);
    assert_eq!(taken.expect(0, &[]).stdout, "140\n");
    assert_eq!(riverrun(args!["run", "--from", second, program]).stdout, "count 140 at exit\n");
}

#[test]
fn functions_are_called_by_their_types() {
    let folder = Folder::new();
    let program = stays(&folder);
    let called = riverrun(args!["run", "--call", "half(0.5)", "--call=add(0x10)", program]);
    assert_eq!(called.expect(0, &[]).stdout, "main with 1 arguments\n0.25\n56\n");
    for (call, message) in [
        ("add(1, 2)", "add is `i32 (i32)`, but 2 arguments are given"),
        ("half(1, 2)", "half is `f64 (f64)`, but 2 arguments are given"),
        ("crash(1)", "crash is `void ()`, but 1 argument is given"),
        ("add(x)", "\"x\" is not of type i32"),
        ("none()", "none"),
        ("add(1", "say for example 'add(40, 2)'"),
    ] {
        let ended = riverrun(args!["run", "--call", "add(1)", "--call", call, program]);
        ended.expect(125, &[message]);
        assert_eq!(ended.stdout, "", "main has not run");
    }
    riverrun(args!["run", "--call", "crash", program]).expect(134, &["signal 6"]);
}

#[test]
fn limits_are_points_to_go_on_from() {
    let folder = Folder::new();
    let program = folder.guest("echo.c", &[]);
    let whole = riverrun(args!["run", "--env", "A=1", program, "one", "two"]);
    for fuel in ["1", "1000", "3000"] {
        let file = folder.path().join("snapshot");
        let begun = riverrun(args!["snapshot", "--fuel", fuel, "--env", "A=1", "-o", file, program, "one", "two"]);
        begun.expect(0, &[]);
        let ended = riverrun(args!["run", "--from", file, program]);
        assert_eq!(ended.expect(0, &[]).stdout, whole.stdout[begun.stdout.len()..], "{fuel}");
    }
}

#[test]
fn open_files_are_opened_by_the_new_command_line() {
    let folder = Folder::new();
    let (program, file) = (stays(&folder), folder.path().join("after.snapshot"));
    let (first, second) = (folder.path().join("first"), folder.path().join("second"));
    fs::create_dir(&first).unwrap();
    fs::create_dir(&second).unwrap();
    let grant = |directory: &std::path::Path| format!("{}:/data", directory.display());
    riverrun(args!["snapshot", "--dir", grant(&first), "-o", file, program, "/data/log"]).expect(0, &[]);
    fs::write(second.join("log"), "before\n").unwrap();
    let called = riverrun(args!["run", "--from", file, "--dir", grant(&second), "--call", "add(5)", program]);
    assert_eq!(called.expect(0, &[]).stdout, "45\n");
    assert_eq!(fs::read_to_string(second.join("log")).unwrap(), "before\nadded 5\n");
    assert_eq!(fs::read_to_string(first.join("log")).unwrap(), "");
    let refused = riverrun(args!["run", "--from", file, "--call", "add(5)", program]);
    refused.expect(125, &["after.snapshot: cannot open \"/data/log\" again, which is descriptor 3: No such file"]);
}

#[test]
fn a_file_that_is_replaced_keeps_its_mode() {
    let folder = Folder::new();
    let (program, file) = (folder.guest("echo.c", &[]), folder.path().join("snapshot"));
    let mode = || fs::metadata(&file).unwrap().permissions().mode() & 0o777;
    let take = || riverrun(args!["snapshot", "--fuel", "1000", "-o", file, program]).expect(0, &[]).status;
    take();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    take();
    assert_eq!(mode(), 0o600);
}

#[test]
fn mistakes_are_said() {
    let folder = Folder::new();
    let (program, file) = (stays(&folder), folder.path().join("after.snapshot"));
    riverrun(args!["snapshot", "-o", file, program]).expect(0, &[]);
    let whole = fs::read(&file).unwrap();
    let other = folder.guest("tiny.S", &["-nostdlib"]);
    riverrun(args!["run", "--from", file, other]).expect(125, &["after.snapshot: ", "another program"]);
    riverrun(args!["run", "--from", file, program, "x"]).expect(125, &["--from: arguments", "those of the snapshot"]);
    riverrun(args!["run", "--from", program, program]).expect(125, &["stays.elf: ", "not a snapshot"]);
    riverrun(args!["run", "--from", "none", program]).expect(125, &["cannot read none: No such file"]);
    fs::write(&file, &whole[..whole.len() / 2]).unwrap();
    riverrun(args!["run", "--from", file, program]).expect(125, &["after.snapshot: ", "truncated"]);
    fs::write(&file, [&whole[..], b"more"].concat()).unwrap();
    let bytes = format!("the snapshot has {} bytes instead of {}", whole.len() + 4, whole.len());
    riverrun(args!["run", "--from", file, program]).expect(125, &["after.snapshot: ", &bytes]);
    let mut damaged = whole.clone();
    damaged[whole.len() / 2] ^= 1;
    fs::write(&file, damaged).unwrap();
    riverrun(args!["run", "--from", file, program]).expect(125, &["after.snapshot: ", "checksum"]);
    riverrun(args!["snapshot", program]).expect(125, &["--output <FILE>"]);
    riverrun(args!["snapshot", "-o", "/none/x", program]).expect(125, &["cannot write /none/x: No such file"]);
    riverrun(args!["snapshot", "-o", file, other]).expect(125, &["it has exited with status 42", "--fuel"]);
    let traps = folder.guest("ends.c", &[]);
    riverrun(args!["snapshot", "-o", file, traps, "abort"]).expect(134, &["signal 6"]);
}
