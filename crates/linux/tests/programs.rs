//! Programs do here what they do under qemu: the same output, status and files.

use std::time::{Duration, Instant};

use crate::common::{assert_same, compare_in_directory, gcc, gxx, qemu, run, run_on};
use riverrun::Config;
use riverrun_linux::{Captured, Linux, Output};
use riverrun_testkit::suite::SuiteEngine;

const STATIC: &[&str] = &["-O2", "-static", "-Wall"];

#[test]
fn memory() {
    compare_in_directory(&gcc("memory.c", STATIC), "");
}

/// Page faults that this thread has had without waiting for a disk.
fn faults() -> u64 {
    let stat = std::fs::read_to_string("/proc/thread-self/stat").unwrap();
    // The name, which may have spaces, is in parentheses.
    stat.rsplit(") ").next().unwrap().split(' ').nth(7).unwrap().parse().unwrap()
}

#[test]
fn moving_memory_copies_nothing() {
    let program = gcc("moves.c", STATIC);
    let before = faults();
    assert_eq!(run(&program, "", Linux::builder().args(["moves"])).status, 0);
    let pages = (64 << 20) / 4096;
    assert!(faults() - before < 3 * pages, "{} page faults", faults() - before);
}

#[test]
fn blocks_of_memory() {
    compare_in_directory(&gcc("blocks.c", &[STATIC, &["-fno-builtin"]].concat()), "");
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

/// As in hardware, where the lowest bit of `sepc` is 0; qemu 7.2 keeps it.
#[test]
fn handlers_and_what_they_go_on_with_may_be_odd() {
    let program = gcc("odd.c", STATIC);
    for &engine in SuiteEngine::ALL {
        let outcome = run_on(engine, &program, "", Linux::builder().args(["odd"]));
        assert_eq!(outcome.stdout, "flags of the alternate stack: 2\n1 handled, sum 8\n", "{engine:?}");
    }
}

/// No register tells a handler's return from a call of the host by number or by hash.
#[test]
fn handlers_return_where_a_host_has_functions_of_its_own() {
    use riverrun::Linker;

    let include = concat!("-I", env!("CARGO_MANIFEST_DIR"), "/../riverrun/tests/guests");
    let program = std::fs::read(gcc("notified.c", &[STATIC, &[include]].concat())).unwrap();
    let program = SuiteEngine::get().load(&Config::new(), program);
    let mut linker = Linker::new(program.engine());
    riverrun_linux::add_to_linker(&mut linker, |linux: &mut Linux| linux);
    linker.func("where", |number: i32| -> u64 { (3 * i64::from(number)) as u64 }).unwrap();
    let mut machine = linker.instantiate(&program, Linux::builder().args(["notified"]).build()).unwrap();
    riverrun_linux::start(&mut machine, |linux| linux).unwrap();
    assert_eq!(machine.run().unwrap(), 10);
    let notified = machine.func::<(i32,), i32>("notified").unwrap();
    let answers = machine.func::<(), u64>("answers").unwrap();
    for round in 2..=4 {
        assert_eq!(notified.call(&mut machine, (10,)).unwrap(), 10 * round);
        // In each, ten handlers ask for the number of SIGUSR2.
        assert_eq!(answers.call(&mut machine, ()).unwrap(), 10 * 3 * 12 * round as u64);
    }
}

/// The program of `reactor.cpp`, linked as `riverrun c++` does it.
fn reactor(flags: &[&str]) -> std::path::PathBuf {
    let object = gcc("../../../../guest/src/reactor.c", &["-O2", "-c"]);
    let include = concat!("-I", env!("CARGO_MANIFEST_DIR"), "/../../guest/include");
    let own = ["-O2", "-static", "-Wl,--wrap=main", include, object.to_str().unwrap()];
    gxx("reactor.cpp", &[&own[..], flags].concat())
}

#[test]
fn programs_that_offer_functions_stay_behind_their_main() {
    let stdout = Captured::default();
    let builder = Linux::builder().args(["reactor"]).stdout(Output::writer(stdout.clone()));
    let mut machine = crate::common::machine(&Config::new(), &reactor(&[]), builder.build());
    assert_eq!(machine.run().unwrap(), 5, "what main has returned");
    assert_eq!(String::from_utf8(stdout.take()).unwrap(), "main\n");

    let sum = machine.func::<(), i32>("sum").unwrap();
    let add = machine.func::<(i32,), i32>("add").unwrap();
    let caught = machine.func::<(i32,), i32>("caught").unwrap();
    assert_eq!(sum.call(&mut machine, ()).unwrap(), 40);
    assert_eq!(add.call(&mut machine, (5,)).unwrap(), 5);
    assert_eq!(sum.call(&mut machine, ()).unwrap(), 45);
    assert_eq!([1, 3, 4].map(|n| caught.call(&mut machine, (n,)).unwrap()), [1, -99, -98]);
    assert_eq!(String::from_utf8(stdout.take()).unwrap(), "too large: 3\ntoo large: 4\n");

    // Run once more, it exits in order.
    assert_eq!(machine.run().unwrap(), 5);
    assert_eq!(String::from_utf8(stdout.take()).unwrap(), "at exit\ndestroyed\n");
}

/// Where its host calls none of its functions, such a program is like any other.
#[test]
fn programs_that_offer_functions_exit_where_they_are_only_run() {
    let program = reactor(&[]);
    let outcome = run(&program, "", Linux::builder().args(["reactor", "1"]).exits(true));
    assert_eq!((outcome.status, &*outcome.stdout), (6, "main\nat exit\ndestroyed\n"));
    assert_same(&outcome, &qemu(&program, &["reactor", "1"], &[], ""));
}

/// The unwinder comes to the end of the stack behind the called function, so that the program says what was thrown.
#[test]
fn exceptions_that_leave_a_called_function_end_the_program_in_its_own_words() {
    let stderr = Captured::default();
    let builder = Linux::builder().args(["reactor"]).stderr(Output::writer(stderr.clone()));
    let mut machine = crate::common::machine(&Config::new(), &reactor(&[]), builder.build());
    machine.run().unwrap();
    let thrown = machine.func::<(), ()>("thrown").unwrap();
    let error = thrown.call(&mut machine, ()).unwrap_err();
    assert_eq!(error.trap().unwrap().cause, riverrun::TrapCause::Signal { number: 6 }, "{error}");
    let text = String::from_utf8(stderr.take()).unwrap();
    let expected =
        "terminate called after throwing an instance of 'std::logic_error'\n  what():  nobody catches this\n";
    assert_eq!(text, expected);
}

#[test]
fn nans_and_float_exceptions() {
    let program = gcc("floats.c", &["-O2", "-static", "-Wall", "-lm"]);
    let outcome = run(&program, "", Linux::builder().args(["floats"]));
    assert!(outcome.stdout.contains(" raises 0\nsignalling 8.000000 raises 10\n"), "{outcome:?}");
    assert!(outcome.stdout.contains("\nlrint 0 raises 1\n"), "{outcome:?}");
    assert_same(&outcome, &qemu(&program, &["floats"], &[], ""));
}

#[test]
fn signals() {
    let program = gcc("signals.c", STATIC);
    let outcome = run(&program, "", Linux::builder().args(["signals"]));
    assert_same(&outcome, &qemu(&program, &["signals"], &[], ""));
    assert!(outcome.stdout.ends_with("escaped from abort\n"), "{outcome:?}");
}

#[test]
fn alarms() {
    let program = gcc("alarms.c", STATIC);
    let expected = qemu(&program, &["alarms"], &[], "");
    for is_virtual in [false, true] {
        let builder = Linux::builder().args(["alarms"]).virtual_time(is_virtual);
        let (result, outcome) = crate::common::try_run(&Config::new(), &program, "", builder);
        assert_eq!(outcome.stdout, expected.stdout);
        let cause = result.expect_err(&format!("{outcome:?}")).trap().expect("a trap").cause;
        assert_eq!(cause, riverrun::TrapCause::Signal { number: 14 });
    }
}

/// Timers that programs make, timers and signals that are files, with threads, `poll` and `epoll` that wait for them.
#[test]
fn timers() {
    let program = gcc("timers.c", STATIC);
    let expected = qemu(&program, &["timers"], &[], "");
    for is_virtual in [false, true] {
        let stdout = Captured::default();
        let builder = Linux::builder().args(["timers"]).virtual_time(is_virtual);
        let linux = builder.stdout(Output::writer(stdout.clone())).build();
        let mut machine = crate::common::machine(&Config::new(), &program, linux);
        machine.set_deadline(Some(Instant::now() + Duration::from_secs(60)));
        let result = machine.run();
        assert_eq!(
            String::from_utf8(stdout.take()).unwrap(),
            expected.stdout,
            "virtual time: {is_virtual}, {result:?}"
        );
        assert_eq!(result.unwrap(), 0);
    }
}

/// A timer that ends while a call begins to wait for it ends the wait.
#[test]
fn short_timers() {
    let program = gcc("short_timers.c", STATIC);
    let stdout = Captured::default();
    let linux = Linux::builder().args(["short_timers"]).stdout(Output::writer(stdout.clone())).build();
    let mut machine = crate::common::machine(&Config::new(), &program, linux);
    machine.set_deadline(Some(Instant::now() + Duration::from_secs(60)));
    let result = machine.run();
    assert_eq!(String::from_utf8(stdout.take()).unwrap(), "4000 reads\n4000 signals\n4000 awaited\n", "{result:?}");
}

/// A wait that no timer ends lasts until the machine's time is up, also where time is virtual.
#[test]
fn timers_that_wake_nobody() {
    let program = gcc("idle_timer.c", STATIC);
    for is_virtual in [false, true] {
        let linux = Linux::builder().args(["idle_timer"]).virtual_time(is_virtual).build();
        let mut machine = crate::common::machine(&Config::new(), &program, linux);
        machine.set_deadline(Some(Instant::now() + Duration::from_millis(100)));
        let cause = machine.run().unwrap_err().trap().expect("a trap").cause;
        assert_eq!(cause, riverrun::TrapCause::Deadline, "virtual time: {is_virtual}");
    }
}

/// Timers interrupt programs that make no system call, in every engine.
#[test]
fn ticks() {
    let program = gcc("ticks.c", &[STATIC, &["-fno-tree-loop-optimize"]].concat());
    let expected = qemu(&program, &["ticks"], &[], "").stdout;
    assert_eq!(expected.matches(" = 1\n").count(), 10, "{expected}");
    let mut times = vec![];
    for engine in SuiteEngine::ALL {
        for is_virtual in [false, true] {
            let stdout = Captured::default();
            let builder = Linux::builder().args(["ticks"]).virtual_time(is_virtual);
            let linux = builder.stdout(Output::writer(stdout.clone())).build();
            let mut machine = crate::common::machine_on(*engine, &Config::new(), &program, linux);
            machine.set_deadline(Some(Instant::now() + Duration::from_secs(60)));
            let cause = machine.run().unwrap_err().trap().expect("a trap").cause;
            assert_eq!(cause, riverrun::TrapCause::Signal { number: 14 }, "{engine:?}");
            assert_eq!(String::from_utf8(stdout.take()).unwrap(), expected, "{engine:?}");
            // Compiled code counts nothing by default.
            if is_virtual && *engine != SuiteEngine::Compiled {
                times.push(machine.instructions());
            }
        }
    }
    assert!(times.iter().all(|&time| time == times[0]), "virtual time depends on the engine: {times:?}");
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

/// A host that has forgotten what programs with a libc need is told what that is.
#[test]
fn hosts_without_linux_are_told_what_is_missing() {
    use riverrun::{Linker, Machine};

    let programs = [gcc("process.c", STATIC), reactor(&[])];
    for program in programs {
        let program = SuiteEngine::get().load(&Config::new(), std::fs::read(program).unwrap());
        let mut linker = Linker::new(program.engine());
        linker.func("Game::unrelated", || {}).unwrap();
        let mut machine: Machine<()> = linker.instantiate(&program, ()).unwrap();
        let error = machine.run().unwrap_err().to_string();
        assert!(error.contains("programs with a libc need Linux's: riverrun_linux::add_to_linker"), "{error}");

        let mut linker = Linker::new(program.engine());
        riverrun_linux::add_to_linker(&mut linker, |linux: &mut Linux| linux);
        let mut machine = linker.instantiate(&program, Linux::builder().build()).unwrap();
        let error = machine.run().unwrap_err().to_string();
        assert!(error.contains("calls brk, but its host has not called riverrun_linux::start"), "{error}");
    }
}
