//! Programs with threads do here what they do under qemu, in every engine and order, and no harm.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::common::{gcc, gxx, machine, machine_on, qemu, try_run};
use riverrun::{Caller, Config, Error, HostError, Linker, Machine, TrapCause};
use riverrun_linux::{Builder, Captured, Linux, Output};
use riverrun_testkit::suite::SuiteEngine;

const STATIC: &[&str] = &["-O2", "-static", "-Wall"];
const CXX: &[&str] = &["-O2", "-static", "-Wall", "-std=c++20"];
/// Only for a test that fails.
const PATIENCE: Duration = Duration::from_secs(120);

/// How a run on an engine ended, and what it wrote.
fn outcome(engine: SuiteEngine, program: &Path, builder: Builder) -> (Result<i32, Error>, String) {
    let stdout = Captured::default();
    let linux = builder.stdout(Output::writer(stdout.clone())).build();
    let mut machine = machine_on(engine, &Config::new(), program, linux);
    machine.set_deadline(Some(Instant::now() + PATIENCE));
    (machine.run(), String::from_utf8(stdout.take()).unwrap())
}

fn compare(program: &Path) {
    let expected = qemu(program, &["guest"], &[], "");
    for &engine in SuiteEngine::ALL {
        for (seed, is_virtual) in [(None, false), (Some(1), true), (Some(2), false)] {
            let builder = Linux::builder().args(["guest"]).seed(seed).virtual_time(is_virtual);
            let (result, stdout) = outcome(engine, program, builder);
            let what = format!("{engine:?}, seed {seed:?}");
            let differs = stdout.lines().zip(expected.stdout.lines()).find(|(ours, theirs)| ours != theirs);
            assert_eq!(differs, None, "{what}");
            assert_eq!(stdout.len(), expected.stdout.len(), "{what}");
            assert_eq!(result.unwrap_or_else(|error| panic!("{what}: {error:?}")), expected.status, "{what}");
        }
    }
}

#[test]
fn posix_threads() {
    compare(&gcc("threads.c", STATIC));
}

#[test]
fn threads_of_cxx() {
    compare(&gxx("threads.cpp", CXX));
}

/// A write goes on behind what a full pipe has taken.
#[test]
fn pipes_that_are_full() {
    compare(&gcc("fills.c", STATIC));
}

#[test]
fn futexes() {
    compare(&gcc("futexes.c", STATIC));
}

/// Compiled code has suspended frames of one thread where the other one goes on.
#[test]
fn threads_deep_in_recursion_take_turns() {
    compare(&gcc("deep.c", STATIC));
}

#[test]
fn threads_that_spin_are_interrupted() {
    compare(&gcc("spins.c", STATIC));
}

/// Compiled code that counts nothing runs also while several threads can, but where runs are to be the same each time.
#[test]
fn compiled_threads_have_slices_of_time() {
    if !SuiteEngine::ALL.contains(&SuiteEngine::Compiled) {
        return;
    }
    let program = gcc("spins.c", STATIC);
    let count = |builder: Builder| {
        let mut machine = machine_on(SuiteEngine::Compiled, &Config::new(), &program, builder.args(["spins"]).build());
        assert_eq!(machine.run().unwrap(), 0);
        machine.instructions()
    };
    let (timed, seeded) = (count(Linux::builder()), count(Linux::builder().seed(Some(1))));
    assert!(timed < 500_000 && seeded > 1_000_000, "{timed} and {seeded} instructions counted");
}

#[test]
fn epoll_and_event_counters() {
    compare(&gcc("epoll.c", STATIC));
}

#[test]
fn a_seed_decides_how_threads_race() {
    let program = gcc("racy.c", STATIC);
    let run = |engine, seed| {
        let (result, stdout) = outcome(engine, &program, Linux::builder().args(["racy"]).seed(seed));
        assert_eq!(result.unwrap(), 0);
        stdout
    };
    let mut outputs = BTreeSet::new();
    for seed in 0..12 {
        let output = run(SuiteEngine::Interpreter, Some(seed));
        for &engine in SuiteEngine::ALL {
            assert_eq!(run(engine, Some(seed)), output, "{engine:?}, seed {seed}");
        }
        outputs.insert(output);
    }
    assert!(outputs.len() > 6, "{outputs:?}");
    assert_eq!(run(SuiteEngine::get(), None), run(SuiteEngine::get(), None));
}

#[test]
fn threads_that_wait_for_each_other_are_listed() {
    let program = gcc("deadlock.c", &[STATIC, &["-g"]].concat());
    let (result, _) = outcome(SuiteEngine::get(), &program, Linux::builder().args(["deadlock"]));
    let error = result.unwrap_err();
    let trap = error.trap().unwrap();
    assert!(matches!(trap.cause, TrapCause::EndlessWait { call: "futex", .. }), "{error}");
    assert!(error.to_string().contains("because all of them wait"), "{error}");
    let list = trap.message.as_deref().unwrap();
    assert_eq!(list.matches("\nthread 100").count(), 3, "{list}");
    assert_eq!(list.matches("deadlock.c:18").count(), 2, "{list}");
    assert!(list.contains("main+") && format!("{error:?}").contains("deadlock.c:18"), "{list}");
}

#[test]
fn threads_are_limited() {
    let program = gcc("deadlock.c", STATIC);
    let run = |builder: Builder| outcome(SuiteEngine::get(), &program, builder.args(["deadlock", "many"])).1;
    assert_eq!(run(Linux::builder().max_threads(7)), "7 threads: Resource temporarily unavailable\n");
    assert_eq!(run(Linux::builder().max_threads(0)), "1 threads: Resource temporarily unavailable\n");
    assert_eq!(run(Linux::builder()), "1024 threads: Resource temporarily unavailable\n");
}

/// A machine behind the `main` of `workers.cpp`, which has three threads besides.
fn workers() -> Machine<Linux> {
    let include = concat!("-I", env!("CARGO_MANIFEST_DIR"), "/../../guest/include");
    let object = gcc("../../../../guest/src/reactor.c", &["-O2", "-c"]);
    let own = [CXX, &["-Wl,--wrap=main", include, object.to_str().unwrap()]].concat();
    let mut machine = machine(&Config::new(), &gxx("workers.cpp", &own), Linux::builder().args(["workers"]).build());
    assert_eq!(machine.run().unwrap(), 3);
    machine
}

#[test]
fn threads_work_while_the_host_calls_a_function() {
    let mut machine = workers();
    let add = machine.func::<(i32,), i32>("add").unwrap();
    assert_eq!([1, 2, 3].map(|item| add.call(&mut machine, (item,)).unwrap()), [1, 3, 6]);
}

#[test]
fn only_its_own_thread_runs_while_a_host_function_calls_the_guest() {
    let include = concat!("-I", env!("CARGO_MANIFEST_DIR"), "/../riverrun/tests/guests");
    let program = gcc("called_back.c", &[STATIC, &[include]].concat());
    for &engine in SuiteEngine::ALL {
        for seed in [None, Some(1)] {
            let program = engine.load(&Config::new(), std::fs::read(&program).unwrap());
            let mut linker = Linker::new(program.engine());
            riverrun_linux::add_to_linker(&mut linker, |linux: &mut Linux| linux);
            let calls_back = |mut caller: Caller<'_, Linux>, count: i32| -> Result<u64, HostError> {
                let sum = caller.func::<(i32,), u64>("sum")?;
                Ok(sum.call(&mut caller, (count,))?)
            };
            linker.func("where", calls_back).unwrap();
            let mut machine = linker.instantiate(&program, Linux::builder().seed(seed).build()).unwrap();
            riverrun_linux::start(&mut machine, |linux| linux).unwrap();
            machine.set_deadline(Some(Instant::now() + PATIENCE));
            assert_eq!(machine.run().unwrap_or_else(|error| panic!("{engine:?}, {seed:?}: {error:?}")), 0);
        }
    }
}

#[test]
fn a_call_that_is_given_up_leaves_every_thread_where_it_is() {
    let mut machine = workers();
    let add = machine.func::<(i32,), i32>("add").unwrap();
    let spin = machine.func::<(i32,), ()>("spin").unwrap();
    let never = machine.func::<(), ()>("never").unwrap();
    let sp = machine.x(2);
    for round in 1..=5 {
        // All workers spin, while the call waits for ever.
        spin.call(&mut machine, (1,)).unwrap();
        for _ in 0..3 {
            add.call(&mut machine, (1,)).unwrap();
        }
        machine.set_fuel(Some(500_000 + round));
        let error = never.call(&mut machine, ()).unwrap_err();
        assert_eq!(error.trap().unwrap().cause, TrapCause::OutOfFuel);
        machine.set_fuel(None);
        assert_eq!(machine.x(2), sp);
        spin.call(&mut machine, (0,)).unwrap();
        assert_eq!(add.call(&mut machine, (0,)).unwrap() as u64, 3 * round);
    }
}

#[test]
fn hostile_threads_do_no_harm() {
    const ROUNDS: u64 = 150;
    let program = gcc("hostile.c", STATIC);
    let mut ends = BTreeSet::new();
    for seed in 0..ROUNDS {
        let mut config = Config::new();
        config.memory_limit(16 << 20).stack_size(64 << 10);
        let args = ["hostile".to_owned(), seed.to_string()];
        let builder = Linux::builder().args(args).seed(Some(seed)).virtual_time(seed % 2 == 0).max_threads(20);
        let mut machine = machine(&config, &program, builder.build());
        let start = Instant::now();
        machine.set_fuel(Some(400_000));
        machine.set_deadline(Some(start + Duration::from_secs(2)));
        let mut result = machine.run();
        // It is saved and goes on where it stands, whatever it has done.
        if matches!(&result, Err(error) if error.trap().is_some_and(|trap| trap.cause == TrapCause::OutOfFuel)) {
            let snapshot = riverrun_linux::snapshot(&mut machine, |linux| linux).unwrap();
            riverrun_linux::reset(&mut machine, &snapshot, |linux| linux).unwrap();
            machine.set_fuel(Some(50_000));
            machine.set_deadline(Some(Instant::now() + Duration::from_secs(2)));
            result = machine.run();
        }
        assert!(start.elapsed() < Duration::from_secs(20), "seed {seed} took {:?}", start.elapsed());
        match result {
            Ok(_) => ends.insert("exit".to_owned()),
            Err(Error::Trap(trap)) => {
                ends.insert(format!("{:?}", trap.cause).split([' ', '{']).next().unwrap().to_owned())
            }
            Err(error) => panic!("seed {seed}: {error}"),
        };
    }
    assert!(ends.contains("OutOfFuel"), "{ends:?}");
}

/// A program that waits for the time is interrupted by a thread that does not.
#[test]
fn waits_end_while_others_compute() {
    let program = gcc("threads.c", STATIC);
    let (result, outcome) = try_run(&Config::new(), &program, "", Linux::builder().args(["threads"]));
    assert!(outcome.stdout.contains("spinning: cancelled"), "{outcome:?}");
    result.unwrap();
}
