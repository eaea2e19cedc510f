//! What a guest gets, what it gives back, and its limits.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::common::{Ended, Folder, command, plain, riverrun, riverrun_with_input};
use riverrun_testkit::suite::SuiteEngine;

#[test]
fn the_exit_status_is_the_guests() {
    let folder = Folder::new();
    let guest = folder.guest("ends.c", &[]);
    for (given, seen) in [("0", 0), ("1", 1), ("123", 123), ("255", 255), ("256", 0), ("-1", 255)] {
        let ended = riverrun(args!["run", guest, "exit", given]);
        ended.expect(seen, &[]);
        assert_eq!(ended.stderr, "", "nothing is said of a run that ends");
    }
}

#[test]
fn a_bare_file_means_run() {
    let folder = Folder::new();
    let guest = folder.guest("tiny.S", &["-nostdlib"]);
    riverrun(args![guest]).expect(42, &[]);
    riverrun(args!["--fuel", "3", guest]).expect(42, &[]);
    Ended::from(plain(args!["--single-step", guest]).output().unwrap()).expect(42, &[]);
    riverrun(args!["--", guest]).expect(42, &[]);
}

#[test]
fn position_independent_programs_run() {
    let folder = Folder::new();
    let guest = folder.guest("tiny.S", &["-nostdlib", "-static-pie", "-Wl,--no-dynamic-linker"]);
    riverrun(args![guest]).expect(42, &[]);
}

#[test]
fn arguments_variables_and_input_reach_the_guest() {
    let folder = Folder::new();
    let guest = folder.guest("echo.c", &[]);
    let ended = riverrun_with_input(
        &args!["run", "--env", "A=1", "--env=B=x=y", guest, "--fuel", "", "--", "-v", "ü"],
        b"line\nno newline",
    );
    ended.expect(0, &[]);
    assert_eq!(
        ended.stdout,
        "argument --fuel\nargument \nargument --\nargument -v\nargument ü\nvariable A=1\nvariable B=x=y\nline\nno newline"
    );
    assert_eq!(ended.stderr, "to standard error\n");
}

/// As if the shell had set them.
#[test]
fn the_last_of_two_variables_of_a_name_counts_and_values_may_have_any_bytes() {
    let folder = Folder::new();
    let guest = folder.guest("echo.c", &[]);
    let bytes = OsStr::from_bytes(b"B=\xff\xfe");
    let mut command = command(args!["--env", "A=1", "--env", bytes, "--env", "A=2=3", "--env", "AB=", guest]);
    let output = command.stdin(Stdio::null()).output().unwrap();
    assert_eq!(output.stdout, b"variable A=2=3\nvariable B=\xff\xfe\nvariable AB=\n", "{output:?}");
}

#[test]
fn the_hosts_variables_stay_with_the_host() {
    let folder = Folder::new();
    let guest = folder.guest("echo.c", &[]);
    let output = command([guest]).env("SECRET", "1").stdin(Stdio::null()).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "");
}

#[test]
fn a_seed_makes_random_numbers_the_same() {
    let folder = Folder::new();
    let guest = folder.guest("random.c", &[]);
    let numbers = |options: &[&str]| {
        let ended = riverrun(options.iter().map(|&option| option.as_ref()).chain([guest.as_os_str()]));
        ended.expect(0, &[]);
        ended.stdout
    };
    assert_eq!(numbers(&["--seed", "1"]), numbers(&["--seed", "1"]));
    assert_ne!(numbers(&["--seed", "1"]), numbers(&["--seed", "2"]));
    assert_ne!(numbers(&[]), numbers(&[]));
}

#[test]
fn fuel_is_exact() {
    let folder = Folder::new();
    let tiny = folder.guest("tiny.S", &["-nostdlib"]);
    riverrun(args!["--fuel", "3", tiny]).expect(42, &[]);
    riverrun(args!["--fuel", "2", tiny]).expect(123, &["out of fuel (--fuel)", " _start+0x8"]);

    let ends = folder.guest("ends.c", &[]);
    let options = args!["--fuel=123456", "--stats=json", ends, "endless"];
    let single_step = Ended::from(plain(["--single-step".as_ref()].iter().chain(&options)).output().unwrap());
    for ended in [riverrun(options), single_step] {
        ended.expect(123, &["ends.elf: out of fuel (--fuel) at pc 0x", " endless+0x"]);
        let stats = ended.stats();
        assert_eq!(stats["instructions"], 123_456);
        assert_eq!(stats["exit"], "fuel");
        assert_eq!(stats["status"], 123);
    }
}

/// On whichever engine the other tests run.
#[test]
fn compiled_code_counts_instructions_where_they_are_limited() {
    let folder = Folder::new();
    let tiny = folder.guest("tiny.S", &["-nostdlib"]);
    let run = |options: &[&str]| -> Ended {
        plain(["--compile"].iter().chain(options)).arg(&tiny).stdin(Stdio::null()).output().unwrap().into()
    };
    let ended = run(&["--stats"]);
    ended.expect(42, &["riverrun: instructions not counted (run --fuel) in "]);
    assert!(!ended.stderr.contains("MIPS"), "{}", ended.stderr);
    assert!(run(&["--stats=json"]).expect(42, &[]).stats()["instructions"].is_null());
    run(&["--stats", "--fuel=1000"]).expect(42, &["riverrun: 3 instructions in "]);
}

#[test]
fn an_endless_loop_ends_with_its_time() {
    let folder = Folder::new();
    let guest = folder.guest("ends.c", &[]);
    let begin = Instant::now();
    let ended = riverrun(args!["run", "--timeout", "1s", "--stats=json", guest, "endless"]);
    let time = begin.elapsed();
    ended.expect(124, &["ends.elf: time is up (--timeout) at pc 0x", " endless+0x"]);
    assert_eq!(ended.stats()["exit"], "timeout");
    assert!(time >= Duration::from_secs(1), "{time:?}");
    // The processor's time: a machine that is busy with other tests makes the clock's longer, not this.
    let used = ended.stats()["cpu_seconds"].as_f64().unwrap();
    assert!(used <= 1.2, "{used} s");
}

#[test]
fn a_guest_that_waits_for_input_ends_with_its_time() {
    let folder = Folder::new();
    let guest = folder.guest("ends.c", &[]);
    let begin = Instant::now();
    let mut command = command(args!["--timeout", "300ms", guest, "read"]);
    command.stdin(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // Nothing is ever written to it.
    let input = child.stdin.take();
    let ended = Ended::from(child.wait_with_output().unwrap());
    drop(input);
    ended.expect(124, &["time is up (--timeout)", "read+0x", " main+0x"]);
    assert!(begin.elapsed() >= Duration::from_millis(300));
}

/// With fewer addresses a guest takes less of what the process may have, and ends where they do.
#[test]
fn a_guest_with_few_addresses_runs_under_a_small_limit() {
    let folder = Folder::new();
    let guest = folder.guest("ends.c", &[]);
    let under = |bits: &str| {
        // In KiB.
        let script = "ulimit -v 2000000; exec \"$@\"";
        let mut shell = std::process::Command::new("sh");
        shell.args(["-c", script, "sh", env!("CARGO_BIN_EXE_riverrun"), "--address-bits", bits]).arg(&guest).arg("hog");
        Ended::from(shell.output().unwrap())
    };
    under("32").expect(125, &["RLIMIT_AS", "(--address-bits)"]);
    let ended = under("26");
    ended.expect(0, &[]);
    let (mebibytes, rest) = ended.stdout.split_once(' ').unwrap();
    assert_eq!(rest, "MiB, then ENOMEM\n");
    assert!((40..=56).contains(&mebibytes.parse().unwrap()), "{}", ended.stdout);
}

#[test]
fn a_memory_hog_sees_enomem() {
    let folder = Folder::new();
    let guest = folder.guest("ends.c", &[]);
    let ended = riverrun(args!["--memory", "64M", guest, "hog"]);
    ended.expect(0, &[]);
    let (mebibytes, rest) = ended.stdout.split_once(' ').unwrap();
    assert_eq!(rest, "MiB, then ENOMEM\n");
    // The stack has 8 of them.
    assert!((48..=56).contains(&mebibytes.parse().unwrap()), "{}", ended.stdout);
}

#[test]
fn statistics_for_people_and_for_programs() {
    let folder = Folder::new();
    let guest = folder.guest("tiny.S", &["-nostdlib"]);
    let stats = riverrun(args!["--stats=json", guest]).expect(42, &[]).stats();
    assert_eq!(stats["instructions"], 3);
    assert_eq!(stats["exit"], "exit");
    assert_eq!(stats["status"], 42);
    assert!(stats["seconds"].as_f64().is_some_and(|seconds| (0.0..60.0).contains(&seconds)), "{stats}");
    assert!(stats["mips"].as_f64().is_some_and(|mips| mips >= 0.0), "{stats}");
    // The stack and some pages of the image.
    assert!(stats["memory_bytes"].as_u64().is_some_and(|bytes| bytes > 8 << 20 && bytes < 9 << 20), "{stats}");

    let ended = riverrun(args!["--stats", guest]);
    ended.expect(42, &["riverrun: 3 instructions in 0.0", " MIPS, 8.0 MiB of memory\n"]);
}

/// However a run ends that has begun.
#[test]
fn statistics_are_the_last_line_of_each_run() {
    let folder = Folder::new();
    let program = crate::snapshot::stays(&folder);
    let run = |options: &[&str]| {
        riverrun(["run", "--stats=json"].iter().chain(options).map(OsStr::new).chain(args![program]))
    };
    for (options, ending, status) in [
        (&["--call=add(2)"][..], "exit", 0),
        (&["--call=leave(5)"], "exit", 5),
        (&["--call=leave(256)"], "exit", 0),
        (&["--call=crash"], "trap", 134),
        (&["--timeout=1s", "--call=spin"], "timeout", 124),
    ] {
        let ended = run(options);
        let stats = ended.expect(status, &[]).stats();
        assert_eq!((&stats["exit"], &stats["status"]), (&ending.into(), &status.into()), "{ended:#?}");
    }
    assert_eq!(run(&["--call=leave(5)"]).stderr.lines().count(), 1, "a guest may exit");
    let file = folder.path().join("snapshot");
    let snapshot = |options: &[&str]| {
        let command = ["snapshot", "--stats=json"].iter().chain(options).map(OsStr::new);
        riverrun(command.chain(args!["-o", file, program]))
    };
    assert_eq!(snapshot(&[]).expect(0, &[]).stats()["exit"], "exit");
    assert_eq!(snapshot(&["--fuel=100"]).expect(0, &[]).stats()["exit"], "fuel");
    let left = snapshot(&["--call=leave(5)"]);
    assert_eq!(left.expect(125, &["it has exited with status 5"]).stats()["exit"], "failure");
    let nowhere = riverrun(args!["snapshot", "--stats=json", "-o", "/none/x", program]);
    assert_eq!(nowhere.expect(125, &["riverrun: cannot write /none/x"]).stats()["status"], 125);
    let map = format!("--perf-map={}", folder.path().display());
    snapshot(&[&map]).expect(0, &[]);
    let mut files = std::fs::read_dir(folder.path()).unwrap().map(|file| file.unwrap().file_name());
    assert!(files.any(|name| name.as_bytes().starts_with(b"perf-")));
}

#[test]
fn a_guest_that_nobody_reads_ends_quietly() {
    let folder = Folder::new();
    let guest = folder.guest("ends.c", &[]);
    let mut command = command(args![guest, "chatter"]);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    drop(child.stdout.take());
    Ended::from(child.wait_with_output().unwrap()).expect(141, &[]);
}

#[test]
fn verbose_names_the_calls_that_a_guest_lacks() {
    let folder = Folder::new();
    let guest = folder.guest("ends.c", &[]);
    assert_eq!(riverrun(args![guest, "unknown-call"]).expect(0, &[]).stderr, "");
    riverrun(args!["--verbose", guest, "unknown-call"]).expect(0, &["system call 4000 does not exist\n"]);
    riverrun(args!["-vv", guest, "exit", "3"]).expect(3, &["exit_group(0x3) ends the program\n"]);
}

/// A static program of 700 KiB or so. How fast it starts is for `cargo xtask bench start-up` to say.
#[test]
fn a_small_guest_takes_little_memory() {
    let folder = Folder::new();
    let guest = folder.guest("ends.c", &[]);
    let mut child = plain(args![guest, "read"]).stdin(Stdio::piped()).spawn().unwrap();
    std::thread::sleep(Duration::from_millis(100));
    let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
    drop(child.stdin.take());
    child.wait().unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    let kibibytes: u64 = peak.trim().trim_end_matches(" kB").parse().unwrap();
    let limit_kib = if cfg!(debug_assertions) { 32 << 10 } else { 10 << 10 };
    assert!((1000..=limit_kib).contains(&kibibytes), "{peak}");
}

#[test]
fn a_map_of_compiled_functions_is_written_for_profilers() {
    let folder = Folder::new();
    let guest = folder.guest("tiny.S", &["-nostdlib"]);
    let process = command(args!["run", format!("--perf-map={}", folder.path().display()), guest])
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let path = folder.path().join(format!("perf-{}.map", process.id()));
    let ended = process.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(42));
    let map = std::fs::read_to_string(path).unwrap();
    if SuiteEngine::get() == SuiteEngine::Compiled {
        assert!(map.lines().any(|line| line.ends_with(" guest::_start")), "{map}");
    } else {
        assert_eq!(map, "");
        assert!(String::from_utf8_lossy(&ended.stderr).contains("--perf-map: the program is not compiled"));
    }
}

/// The compiler exits with 124 where a limit has ended it, which its own tests assert; a script does the same here.
#[test]
fn a_program_that_exceeds_the_compilers_limits_is_interpreted() {
    let folder = Folder::new();
    let guest = folder.guest("ends.c", &[]);
    let command = folder.path().join("riverrun");
    std::fs::hard_link(env!("CARGO_BIN_EXE_riverrun"), &command).unwrap();
    // Written by a process of its own: a file that this one writes may still be open in a child of another test.
    let script = "printf '#!/bin/sh\\nexit 124\\n' > riverrun-compile && chmod +x riverrun-compile";
    assert!(Command::new("sh").args(["-c", script]).current_dir(folder.path()).status().unwrap().success());
    let run = |options: &[&str]| {
        let mut command = Command::new(&command);
        command.env("XDG_CACHE_HOME", folder.path()).args(["run", "--compile"]).args(options);
        Ended::from(command.arg(&guest).args(["exit", "42"]).output().unwrap())
    };
    run(&[]).expect(42, &["not compiled; running in the interpreter"]);
    run(&["--engine", "compiled"]).expect(125, &["not compiled"]);
}

/// A program that fails because a library was not named ends with the option that names it.
#[test]
fn libraries_that_were_not_named_are_named_at_the_end() {
    let folder = Folder::new();
    let guest = folder.guest("loads.c", &["-dynamic"]);
    let run = |options: &[&str]| {
        let options = ["run", "--sysroot=/usr/riscv64-linux-gnu"].iter().chain(options).map(OsStr::new);
        let mut run = plain(options.chain([guest.as_os_str(), OsStr::new("libm.so.6")]));
        Ended::from(run.output().unwrap())
    };
    let hint = "loads.elf: code that was not named was refused: --library \"/lib/libm.so.6\", or its folder";
    run(&[]).expect(3, &[hint]);
    let log = run(&["-v"]);
    log.expect(3, &["\"/lib/libm.so.6\" is refused"]);
    for quiet in [log.stderr, run(&["--library", "/lib/libm.so.6"]).expect(0, &[]).stderr.clone()] {
        assert!(!quiet.contains("was not named"), "{quiet}");
    }
}

/// The compiler reads what the program is joined with, too; a script in its place keeps that.
#[test]
fn a_dynamically_linked_program_is_compiled_with_its_libraries() {
    let folder = Folder::new();
    let guest = folder.guest("ends.c", &["-dynamic"]);
    let command = folder.path().join("riverrun");
    std::fs::hard_link(env!("CARGO_BIN_EXE_riverrun"), &command).unwrap();
    let script = "printf '#!/bin/sh\nfor last; do :; done\ncat $last > joined\nexit 124\n' > riverrun-compile && \
                  chmod +x riverrun-compile";
    assert!(Command::new("sh").args(["-c", script]).current_dir(folder.path()).status().unwrap().success());
    let mut command = Command::new(&command);
    command.current_dir(folder.path()).env("XDG_CACHE_HOME", folder.path());
    command.args(["run", "--compile", "--sysroot=/usr/riscv64-linux-gnu"]).arg(&guest).args(["exit", "42"]);
    Ended::from(command.output().unwrap()).expect(42, &["not compiled; running in the interpreter"]);
    let (joined, own) = (std::fs::read(folder.path().join("joined")).unwrap(), std::fs::read(&guest).unwrap());
    assert!(joined.starts_with(b"\x7fELF") && joined.len() > own.len() + (1 << 20), "{} bytes", joined.len());
}
