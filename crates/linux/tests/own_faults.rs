//! A program's faults reach its signal handlers as under qemu, in every engine that keeps registers at them; what no handler
//! takes ends the run with the trap itself.

use std::path::Path;
use std::time::{Duration, Instant};

use crate::common::{gcc, machine_of, machine_on, qemu};
use riverrun::{Config, Error, TrapCause};
use riverrun_linux::{Captured, Linux, Output};
use riverrun_testkit::suite::{SuiteEngine, load_compiled_in_part};

const ENGINES: [SuiteEngine; 2] = [SuiteEngine::Interpreter, SuiteEngine::SingleStep];

fn program() -> std::path::PathBuf {
    gcc("own_faults.c", &["-O2", "-static", "-Wall", "-Wno-infinite-recursion"])
}

/// How the program ends, what it has written, and the instructions it has executed.
fn run(engine: SuiteEngine, program: &Path, args: &[&str], fuel: Option<u64>) -> (Result<i32, Error>, String, u64) {
    let stdout = Captured::default();
    let linux = Linux::builder().args(args.iter().copied()).stdout(Output::writer(stdout.clone())).build();
    let mut machine = machine_on(engine, &Config::new(), program, linux);
    machine.set_fuel(fuel);
    machine.set_deadline(Some(Instant::now() + Duration::from_secs(120)));
    let result = machine.run();
    (result, String::from_utf8(stdout.take()).unwrap(), machine.instructions())
}

#[test]
fn handlers_take_faults_as_under_linux() {
    let program = program();
    let expected = qemu(&program, &["guest"], &[], "");
    assert!(expected.stdout.ends_with("thread goes on, 1 0\n"), "{expected:?}");
    let mut counts = vec![];
    for engine in ENGINES {
        let (result, stdout, instructions) = run(engine, &program, &["guest"], None);
        assert_eq!(stdout, expected.stdout, "{engine:?}");
        assert_eq!(result.unwrap(), 0, "{engine:?}");
        counts.push(instructions);
    }
    assert_eq!(counts[0], counts[1]);
}

/// Also in compiled code, where most registers are not in memory: by the quick back end, which large programs are compiled by
/// here, and by LLVM.
#[test]
fn handlers_go_on_behind_what_traps() {
    const TRAPPING: [&str; 6] = ["breakpoint", "ones", "opcode", "csr", "unimplemented", "zeros"];
    let program = gcc("steps_over.c", &["-O2", "-static", "-Wall"]);
    let expected = qemu(&program, &["guest"], &[], "").stdout;
    assert_eq!(expected.lines().count(), TRAPPING.len(), "{expected}");
    let elf = std::fs::read(&program).unwrap();
    let by_llvm = load_compiled_in_part(elf.clone(), |image| {
        let chosen = image.symbols().filter(|symbol| TRAPPING.iter().any(|name| symbol.name.starts_with(name)));
        chosen.map(|symbol| symbol.address..symbol.address + symbol.size).collect()
    });
    let engines = SuiteEngine::ALL.iter().map(|engine| engine.load(&Config::new(), elf.clone()));
    for (number, program) in engines.chain(by_llvm).enumerate() {
        let stdout = Captured::default();
        let linux = Linux::builder().args(["guest"]).stdout(Output::writer(stdout.clone())).build();
        let result = machine_of(&program, linux).run();
        let stdout = String::from_utf8(stdout.take()).unwrap();
        assert_eq!((stdout.as_str(), result.ok()), (expected.as_str(), Some(0)), "program {number}");
    }
}

#[test]
fn faults_that_no_handler_takes_are_traps() {
    let program = program();
    for (case, address) in [
        ("none", Some(24)),
        ("blocked", Some(24)),
        ("ignored", Some(24)),
        ("default", Some(24)),
        ("another", Some(24)),
        ("reset", Some(24)),
        ("twice", Some(24)),
        ("full stack", Some(24)),
        ("no stack", None),
        ("endless fetches", Some(64)),
    ] {
        let expected = qemu(&program, &["guest", case], &[], "");
        assert_eq!(expected.status, -1, "{case}: {expected:?}");
        let mut counts = vec![];
        for engine in ENGINES {
            let (result, stdout, instructions) = run(engine, &program, &["guest", case], None);
            let error = result.expect_err(case);
            let trap = error.trap().unwrap_or_else(|| panic!("{case}: {error}"));
            match (trap.cause, address) {
                (TrapCause::StoreFault { address }, Some(expected)) => assert_eq!(address, expected, "{case}"),
                (TrapCause::FetchFault { address }, Some(expected)) => assert_eq!(address, expected, "{case}"),
                (TrapCause::StackOverflow { .. }, None) => {}
                (cause, _) => panic!("{case}: {cause:?}"),
            }
            if address == Some(24) {
                assert_eq!(trap.backtrace[0].function.as_deref(), Some("poke"), "{case}: {error:?}");
            }
            assert_eq!(stdout, expected.stdout, "{case}");
            counts.push(instructions);
        }
        assert_eq!(counts[0], counts[1], "{case}");
    }
}

/// Where each fault leads to the next, or each handler's return, and no instruction between them is executed.
#[test]
fn fuel_ends_guests_that_only_fault_or_return() {
    let program = program();
    for case in ["endless faults", "endless returns"] {
        for engine in ENGINES {
            let (result, _, instructions) = run(engine, &program, &["guest", case], Some(200_000));
            let cause = result.expect_err(case).trap().map(|trap| trap.cause);
            assert_eq!((cause, instructions), (Some(TrapCause::OutOfFuel), 200_000), "{case}, {engine:?}");
        }
    }
}
