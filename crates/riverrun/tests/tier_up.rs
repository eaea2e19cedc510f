//! Programs that are compiled while they run, by a compiler that fails: they stay interpreted, and say why.

use std::fmt::Write as _;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use riverrun::image::Profile;
use riverrun::{Caller, Config, Engine, Flow, HostError, Linker, Program, TierUp, TierUpStatistics};
use riverrun_testkit::tools;

/// A script that the tests take for a compiler, which notes its calls. It is written by a process of its own: a file that
/// this one writes may still be open in a child of another test.
fn script(folder: &Path, body: &str) -> PathBuf {
    let path = folder.join("compiler");
    let mut shell = Command::new("sh");
    shell.args([
        "-c",
        "printf '#!/bin/sh\\necho >> %s/calls\\n%s\\n' \"$PWD\" \"$BODY\" > compiler && chmod +x compiler",
    ]);
    shell.env("BODY", body);
    assert!(shell.current_dir(folder).status().unwrap().success());
    assert_eq!(path.metadata().unwrap().permissions().mode() & 0o100, 0o100);
    path
}

/// How often the script in the folder was called.
fn calls(folder: &Path) -> usize {
    std::fs::read_to_string(folder.join("calls")).map_or(0, |lines| lines.lines().count())
}

/// The guest, with a cache that has a profile of long runs already: the first sample makes a compilation worthwhile.
fn program(compiler: &Path, cache: &Path) -> Program {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/guests/tiers.c");
    let elf = tools::compile(env!("CARGO_TARGET_TMPDIR"), &source, &["-O2", "-march=rv64gc"]);
    let load = |config: &Config| Program::new(&Engine::new(config).unwrap(), elf.clone()).unwrap();
    let plain = load(&Config::new());
    let mut profile = "riverrun profile 3\ninterpreted 50000\n".to_owned();
    writeln!(profile, "{:#x} 100000", plain.image().symbol("hot").unwrap().address).unwrap();
    if std::fs::create_dir_all(cache).is_ok() {
        std::fs::write(cache.join(plain.artifact_name(false)).with_extension("profile"), profile).unwrap();
    }
    let mut config = Config::new();
    // SAFETY: the folder and the compiler are the test's own.
    unsafe { config.cache(cache).tier_up(TierUp::new(compiler)) };
    load(&config)
}

/// Runs the guest until compiling has ended one way or the other, and gives what is known of it then.
fn ended(program: &Program) -> TierUpStatistics {
    let mut linker = Linker::new(program.engine());
    let end = Instant::now() + Duration::from_secs(60);
    linker.ecall(move |mut caller: Caller<'_, ()>| -> Result<Flow, HostError> {
        if caller.x(17) == 93 {
            return Ok(Flow::Exit(caller.x(10) as i32));
        }
        assert!(Instant::now() < end, "{:?}", caller.program().tier_up());
        let statistics = caller.program().tier_up().unwrap();
        let is_over = statistics.compilations != 0 || statistics.failure.is_some();
        caller.set_x(10, if is_over { u64::MAX } else { 0 });
        Ok(Flow::Continue)
    });
    let mut machine = linker.instantiate(program, ()).unwrap();
    machine.set_x(10, 0);
    assert_eq!(machine.run().unwrap(), 0);
    let statistics = program.tier_up().unwrap();
    // And once more, without another attempt.
    let mut machine = linker.instantiate(program, ()).unwrap();
    machine.set_x(10, 1);
    machine.set_x(11, 1_000_000);
    machine.run().unwrap();
    assert_eq!(program.tier_up().unwrap().failure, statistics.failure);
    statistics
}

/// What a program says whose compiler is this script, which it calls once.
fn failure(body: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let program = program(&script(folder.path(), body), &folder.path().join("cache"));
    let statistics = ended(&program);
    assert_eq!(calls(folder.path()), 1);
    assert_eq!((statistics.compilations, statistics.functions, statistics.is_compiling), (0, 0, false));
    assert!(!program.is_compiled());
    statistics.failure.expect("the compiler has failed")
}

#[test]
fn a_compiler_that_gives_up_leaves_the_guest_interpreted() {
    let failure = failure("echo riverrun: it is tired >&2; exit 125");
    assert!(failure.ends_with("compiler: it is tired"), "{failure}");
}

#[test]
fn a_compiler_that_is_killed_leaves_the_guest_interpreted() {
    let failure = failure("kill -9 $$");
    assert!(failure.contains("signal 9, SIGKILL"), "{failure}");
}

#[test]
fn many_machines_have_one_compiler() {
    let folder = tempfile::tempdir().unwrap();
    let program = program(&script(folder.path(), "sleep 0.2; exit 1"), &folder.path().join("cache"));
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| (0..2).for_each(|_| assert!(ended(&program).failure.is_some())));
        }
    });
    assert_eq!(calls(folder.path()), 1);
}

#[test]
fn what_is_no_artifact_is_refused() {
    let failure = failure("while [ \"$1\" != --output ]; do shift; done; echo nothing > \"$2\"");
    assert!(failure.contains("not an artifact") || failure.contains("no artifact"), "{failure}");
}

#[test]
fn a_compiler_that_is_not_there_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let program = program(&folder.path().join("absent"), &folder.path().join("cache"));
    let failure = ended(&program).failure.unwrap();
    assert!(failure.contains("cannot start") && failure.contains("absent"), "{failure}");
}

#[test]
fn a_cache_that_cannot_be_written_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let cache = folder.path().join("cache");
    let program = program(&script(folder.path(), "exit 1"), &cache);
    std::fs::remove_dir_all(&cache).unwrap();
    std::fs::write(&cache, "not a folder").unwrap();
    let failure = ended(&program).failure.unwrap();
    assert!(failure.contains("cannot write") && failure.contains("cache"), "{failure}");
    assert!(program.keep_profile().unwrap_err().to_string().contains("cache"));
}

#[test]
fn the_profile_is_kept_for_the_next_start() {
    let folder = tempfile::tempdir().unwrap();
    let cache = folder.path().join("cache");
    let compiler = script(folder.path(), "exit 1");
    let first = program(&compiler, &cache);
    let samples = ended(&first).samples;
    assert!(samples > 100_000);
    first.keep_profile().unwrap();
    let mut config = Config::new();
    // SAFETY: the folder and the compiler are the test's own.
    unsafe { config.cache(&cache).tier_up(TierUp::new(&compiler)) };
    let next = Program::new(&Engine::new(&config).unwrap(), first.image().bytes().to_vec()).unwrap();
    assert!(next.tier_up().unwrap().samples >= samples);
}

/// A guest in assembly, after it has run, and the profile that it leaves.
fn profiled(source: &str) -> (Program, Profile) {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/guests").join(source);
    let elf = tools::compile(env!("CARGO_TARGET_TMPDIR"), &source, &["-march=rv64gc"]);
    let cache = tempfile::tempdir().unwrap();
    let mut config = Config::new();
    // SAFETY: the folder is the test's own, and there is no compiler.
    unsafe { config.cache(cache.path()).tier_up(TierUp::new("none")) };
    let program = Program::new(&Engine::new(&config).unwrap(), elf).unwrap();
    let mut linker = Linker::new(program.engine());
    linker.ecall(|_: Caller<'_, ()>| -> Result<Flow, HostError> { Ok(Flow::Exit(0)) });
    linker.instantiate(&program, ()).unwrap().run().unwrap();
    program.keep_profile().unwrap();
    let profile = cache.path().join(program.artifact_name(false)).with_extension("profile");
    let profile = std::fs::read_to_string(profile).unwrap().parse().unwrap();
    (program, profile)
}

#[test]
fn samples_are_where_instructions_are_executed() {
    let (program, profile) = profiled("sampled.s");
    let [begin, end] = ["short", "short_end"].map(|name| program.image().symbol(name).unwrap().address);
    // 21 of 25 instructions of a turn.
    let (short, all) = (profile.within(begin..end), profile.total());
    assert!(all > 30 && short * 25 > all * 16, "{short} of {all} samples");
}

#[test]
fn entries_of_linkage_tables_are_reached_one_by_one() {
    let (program, profile) = profiled("linked.s");
    let has_reached = |name| {
        let address = program.image().symbol(name).unwrap().address;
        profile.has_reached(address..=address)
    };
    let reached = ["first", "second", "third", "landing"].map(has_reached);
    assert_eq!(reached, [true, false, true, true]);
}
