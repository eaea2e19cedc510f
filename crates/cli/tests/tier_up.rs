//! `run --tier-up` where nothing can be compiled: the guest is interpreted, and the command says why, once.

use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::Command;

use crate::common::{Ended, Folder};

/// The command in a folder of its own, beside a script in the place of the compiler. The script is written by a process of
/// its own: a file that this one writes may still be open in a child of another test.
fn beside_compiler(folder: &Folder, compiler: &str) -> Command {
    let path = folder.path().join("riverrun");
    std::fs::hard_link(env!("CARGO_BIN_EXE_riverrun"), &path).unwrap();
    let script = format!("printf '#!/bin/sh\\n{compiler}\\n' > riverrun-compile && chmod +x riverrun-compile");
    assert!(Command::new("sh").args(["-c", &script]).current_dir(folder.path()).status().unwrap().success());
    let mut command = Command::new(path);
    command.env("XDG_CACHE_HOME", folder.path().join("cache")).arg("run");
    command
}

fn command(folder: &Folder, compiler: &str) -> Command {
    let mut command = beside_compiler(folder, compiler);
    command.arg("--tier-up");
    command
}

/// Runs a guest until the command says that compiling it has failed; on a busy machine it may take longer than the guest runs
/// at first until the compiler has started.
fn failed(mut run: impl FnMut(&str) -> Ended) -> Ended {
    let ended = ["3", "10", "60"].into_iter().map(&mut run).find(|ended| ended.stderr.contains("--tier-up: "));
    let ended = ended.expect("it says what has failed");
    assert_eq!(ended.stderr.matches("--tier-up: ").count(), 1, "{}", ended.stderr);
    ended
}

/// The files in the cache, by their endings.
fn kept(folder: &Folder) -> Vec<String> {
    let files = std::fs::read_dir(folder.path().join("cache/riverrun")).unwrap();
    let ending = |name: String| name.split_once('.').unwrap().1.to_owned();
    let endings = files.map(|file| ending(file.unwrap().file_name().into_string().unwrap()));
    // By which processes wait for each other.
    endings.filter(|ending| ending != "lock").collect()
}

#[test]
fn a_failure_is_said_once_and_the_guest_runs_on() {
    let folder = Folder::new();
    let guest = folder.guest("worker.c", &["-O2", "-DROUNDS=100000000"]);
    let run = |folder: &Folder, seconds: &str| {
        let mut command = command(folder, "echo riverrun: it is tired >&2; exit 125");
        let ended = Ended::from(command.args(["--timeout", seconds]).arg(&guest).output().unwrap());
        std::fs::remove_file(folder.path().join("riverrun")).unwrap();
        ended
    };
    // The first run shows that a compilation is worthwhile, unless it has had time for one.
    run(&folder, "2");
    let name = kept(&folder);
    assert_eq!(name, ["profile"]);
    let mut files = std::fs::read_dir(folder.path().join("cache/riverrun")).unwrap().map(|file| file.unwrap().path());
    let file = files.find(|file| file.extension().unwrap() == "profile").unwrap();
    let profile = std::fs::read_to_string(&file).unwrap();
    let hot = profile.lines().find(|line| line.starts_with("0x")).unwrap().split_once(' ').unwrap().0;
    std::fs::write(&file, format!("riverrun profile 3\ninterpreted 500000\n{hot} 1000000\n")).unwrap();
    let ended = failed(|seconds| run(&folder, seconds));
    ended.expect(124, &["--tier-up: ", "riverrun-compile: it is tired", "time is up"]);
}

#[test]
fn a_cache_that_cannot_be_written_is_said_once_and_the_guest_runs_on() {
    let folder = Folder::new();
    let guest = folder.guest("worker.c", &["-O2", "-DROUNDS=100000000"]);
    let command = command(&folder, "exit 1");
    let in_shell = |set_up: &str, cache: &Path, seconds: &str| {
        let mut shell = Command::new("sh");
        shell.args(["-c", &format!("{set_up}; exec \"$@\""), "sh"]).arg(command.get_program()).args(command.get_args());
        Ended::from(shell.args(["--timeout", seconds]).arg(&guest).env("XDG_CACHE_HOME", cache).output().unwrap())
    };
    // No user can make a folder there, not even the administrator.
    let ended = failed(|seconds| in_shell(":", Path::new("/sys"), seconds));
    ended.expect(124, &["--tier-up: cannot write /sys/riverrun/", "time is up"]);

    let cache = folder.path().join("cache");
    failed(|seconds| in_shell(":", &cache, seconds)).expect(124, &["riverrun-compile: exit status: 1"]);
    assert_eq!(kept(&folder), ["profile"]);
    // What the command writes first lies on a full disk now.
    let full = "ln -s /dev/full $XDG_CACHE_HOME/riverrun/.riverrun-$$-0";
    let ended = failed(|seconds| in_shell(full, &cache, seconds));
    ended.expect(124, &["--tier-up: cannot write ", ".profile: No space left on device", "time is up"]);
    assert_eq!(kept(&folder), ["profile"], "what is not whole is not kept");
}

#[test]
fn short_runs_leave_nothing_and_say_nothing() {
    let folder = Folder::new();
    let guest = folder.guest("tiny.S", &["-nostdlib"]);
    let ended = Ended::from(command(&folder, "exit 1").arg("--stats=json").arg(&guest).output().unwrap());
    ended.expect(42, &["\"tier_up\":{\"samples\":0,\"compilations\":0,\"functions\":0"]);
    assert!(!folder.path().join("cache").exists());
}

#[test]
fn a_map_for_profilers_without_a_function_is_said_once() {
    let folder = Folder::new();
    let guest = folder.guest("tiny.S", &["-nostdlib"]);
    let map = format!("--perf-map={}", folder.path().display());
    let ended = Ended::from(command(&folder, "exit 1").arg(map).arg(&guest).output().unwrap());
    ended.expect(42, &["--perf-map: the program is not compiled"]);
    assert_eq!(ended.stderr.matches("--perf-map").count(), 1, "{}", ended.stderr);
}

#[test]
fn options_that_choose_other_code_do_not_go_with_it() {
    let folder = Folder::new();
    let guest = folder.guest("tiny.S", &["-nostdlib"]);
    for option in ["--compile", "--single-step", "--artifact=x"] {
        let ended = Ended::from(command(&folder, "exit 1").arg(option).arg(&guest).output().unwrap());
        ended.expect(125, &["--tier-up"]);
        std::fs::remove_file(folder.path().join("riverrun")).unwrap();
    }
}

/// Each ends with the command, even if that is killed.
#[test]
fn a_compiler_that_is_killed_is_told_of_with_the_likely_cause() {
    let folder = Folder::new();
    let guest = folder.guest("tiny.S", &["-nostdlib"]);
    let killed = "riverrun-compile: it was killed (signal 9, SIGKILL), as Linux does where memory is short";
    let mut command = beside_compiler(&folder, "echo $1 $2 $PPID > asked; kill -9 $$");
    command.current_dir(folder.path()).arg("--compile").arg(&guest);
    Ended::from(command.output().unwrap()).expect(125, &["not compiled: ", killed]);
    let mut command = Command::new(folder.path().join("riverrun"));
    command.current_dir(folder.path()).args(["inspect", "--function", "_start"]).arg(&guest);
    Ended::from(command.output().unwrap()).expect(125, &["not compiled: ", killed]);
    let asked = std::fs::read_to_string(folder.path().join("asked")).unwrap();
    let words: Vec<&str> = asked.split_whitespace().collect();
    assert!(words[0] == "--parent" && words[1] == words[2], "{asked}");
    let mut command = Command::new(folder.path().join("riverrun"));
    let status = command.current_dir(folder.path()).arg("compile").arg(&guest).status().unwrap();
    assert_eq!(status.signal(), Some(9), "the command is the compiler then");
}

#[test]
fn a_damaged_file_in_the_cache_is_made_again() {
    let folder = Folder::new();
    let guest = folder.guest("tiny.S", &["-nostdlib"]);
    let cache = folder.path().join("cache");
    let run = || {
        let mut command = Command::new(env!("CARGO_BIN_EXE_riverrun"));
        command.env("XDG_CACHE_HOME", &cache).args(["run", "--compile", "--engine=compiled"]);
        let ended = Ended::from(command.arg(&guest).output().unwrap());
        assert_eq!(ended.expect(42, &[]).stderr, "");
    };
    run();
    let file = std::fs::read_dir(cache.join("riverrun")).unwrap().next().unwrap().unwrap().path();
    let whole = std::fs::read(&file).unwrap();
    let mut changed = whole.clone();
    changed[whole.len() / 2] ^= 1;
    for damaged in [&[], &whole[..whole.len() / 2], &changed] {
        std::fs::write(&file, damaged).unwrap();
        run();
        assert_eq!(std::fs::read(&file).unwrap(), whole);
    }
    // One that was named stays.
    let named = folder.file("named.rro", "damaged");
    let mut command = Command::new(env!("CARGO_BIN_EXE_riverrun"));
    let command = command.args(["run", "--compile", "--artifact"]).arg(&named).arg(&guest);
    Ended::from(command.output().unwrap()).expect(125, &["named.rro: "]);
    assert_eq!(std::fs::read(&named).unwrap(), b"damaged");
}

/// Such as of a dynamically linked program, which `riverrun compile` does not know the libraries of.
#[test]
fn a_program_is_compiled_by_its_profile_before_it_runs() {
    let folder = Folder::new();
    let guest = folder.guest("tiny.S", &["-nostdlib"]);
    let mut command = beside_compiler(&folder, "echo \"$@\" > asked; exit 124");
    command.current_dir(folder.path()).args(["--compile", "--profile=seen.profile", "--artifact=hot.rro"]);
    Ended::from(command.arg(&guest).output().unwrap()).expect(42, &["not compiled; running in the interpreter"]);
    let asked = std::fs::read_to_string(folder.path().join("asked")).unwrap();
    assert!(asked.contains("--output hot.rro ") && asked.contains(" --profile seen.profile "), "{asked}");
    let mut command = Command::new(env!("CARGO_BIN_EXE_riverrun"));
    command.args(["run", "--compile", "--profile=seen.profile"]).arg(&guest);
    Ended::from(command.output().unwrap()).expect(125, &["--artifact"]);
    let mut command = Command::new(env!("CARGO_BIN_EXE_riverrun"));
    command.args(["run", "--profile=seen.profile", "--artifact=hot.rro"]).arg(&guest);
    Ended::from(command.output().unwrap()).expect(125, &["--compile"]);
}
