//! Go programs do here what they do under qemu.

mod common;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use common::{machine_of, machine_on, qemu};
use riverrun::Config;
use riverrun_linux::{Captured, Linux, Output};
use riverrun_testkit::suite::{SuiteEngine, load_compiled_in_part};

fn go(source: &str) -> PathBuf {
    let output = Path::new(env!("CARGO_TARGET_TMPDIR")).join(source).with_extension("go-guest");
    let run = Command::new("go")
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/guests/go"))
        .envs([("GOOS", "linux"), ("GOARCH", "riscv64"), ("CGO_ENABLED", "0")])
        .args(["build", "-o"])
        .arg(&output)
        .arg(source)
        .output()
        .unwrap_or_else(|error| panic!("cannot run go ({error}): apt install golang, 1.22 or newer"));
    assert!(run.status.success(), "go build {source}: {}", String::from_utf8_lossy(&run.stderr));
    output
}

#[test]
fn goroutines() {
    // It takes long to compile, and in the reference interpreter.
    let engine = SuiteEngine::Interpreter;
    let program = go("goroutines.go");
    let expected = qemu(&program, &["guest"], &[], "");
    for (seed, is_virtual) in [(None, false), (Some(1), true), (Some(2), false)] {
        let (stdout, stderr) = (Captured::default(), Captured::default());
        let builder = Linux::builder().args(["guest"]).seed(seed).virtual_time(is_virtual);
        let linux = builder.stdout(Output::writer(stdout.clone())).stderr(Output::writer(stderr.clone())).build();
        let mut machine = machine_on(engine, &Config::new(), &program, linux);
        machine.set_deadline(Some(Instant::now() + Duration::from_secs(120)));
        let result = machine.run();
        let text = |captured: Captured| String::from_utf8(captured.take()).unwrap();
        let what = format!("seed {seed:?}: {}", text(stderr));
        assert_eq!(text(stdout), expected.stdout, "{what}");
        assert_eq!(result.unwrap_or_else(|error| panic!("{error}: {what}")), expected.status, "{what}");
    }
}

#[test]
fn nil_pointers_are_panics() {
    let program = go("nil.go");
    for args in [&["guest"][..], &["guest", "unrecovered"]] {
        let expected = qemu(&program, args, &[], "");
        let (stdout, stderr) = (Captured::default(), Captured::default());
        let builder = Linux::builder().args(args.iter().copied());
        let linux = builder.stdout(Output::writer(stdout.clone())).stderr(Output::writer(stderr.clone())).build();
        let mut machine = machine_on(SuiteEngine::Interpreter, &Config::new(), &program, linux);
        machine.set_deadline(Some(Instant::now() + Duration::from_secs(120)));
        let status = machine.run().unwrap_or_else(|error| panic!("{error}"));
        let text = |captured: Captured| String::from_utf8(captured.take()).unwrap();
        assert_eq!((status, text(stdout)), (expected.status, expected.stdout), "{args:?}");
        let head = |text: &str| text.lines().take(2).map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(head(&text(stderr)), head(&expected.stderr), "{args:?}");
    }
}

/// Functions in Go have a convention of their own, by which compiled code must go, too. Compiled are the program's, and those
/// of the runtime that switch and move stacks, and handle signals; the whole runtime would take long.
#[test]
fn conventions_are_as_in_the_interpreter() {
    const COMPILED: [&str; 14] = [
        "main.",
        "runtime.asyncPreempt",
        "runtime.chan",
        "runtime.copystack",
        "runtime.execute",
        "runtime.go",
        "runtime.mcall",
        "runtime.morestack",
        "runtime.newstack",
        "runtime.park",
        "runtime.recovery",
        "runtime.schedule",
        "runtime.sig",
        "runtime.systemstack",
    ];
    let path = go("convention.go");
    let elf = std::fs::read(&path).unwrap();
    let interpreted = SuiteEngine::Interpreter.load(&Config::new(), &*elf);
    let compiled = load_compiled_in_part(&*elf, |image| {
        let chosen = image.symbols().filter(|symbol| COMPILED.iter().any(|start| symbol.name.starts_with(start)));
        chosen.map(|symbol| symbol.address..symbol.address + symbol.size).collect()
    });
    if let Some(compiled) = &compiled {
        assert!(compiled.compiled_options().unwrap().is_precise());
    }
    for args in [&["guest"][..], &["guest", "unrecovered"]] {
        let expected = qemu(&path, args, &[], "");
        for program in std::iter::once(&interpreted).chain(&compiled) {
            let stderr = Captured::default();
            let linux = Linux::builder().args(args.iter().copied()).stderr(Output::writer(stderr.clone())).build();
            let mut machine = machine_of(program, linux);
            machine.set_deadline(Some(Instant::now() + Duration::from_secs(120)));
            let status = machine.run().unwrap_or_else(|error| panic!("{error}"));
            let stderr = String::from_utf8(stderr.take()).unwrap();
            let what = format!("{args:?}, compiled: {}", program.is_compiled());
            assert_eq!((status, stderr), (expected.status, expected.stderr.clone()), "{what}");
        }
    }
}
