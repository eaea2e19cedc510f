//! A run that is cut into slices comes to the same end as one that is not, in every engine and on any thread.

use std::path::Path;
use std::sync::{Barrier, OnceLock};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use riverrun::{CallLimits, Caller, Config, Engine, Flow, Linker, Machine, Program, TrapCause};
#[cfg(feature = "compile")]
use riverrun::{CompileOptions, Fidelity};
use riverrun_testkit::{amount, tools};

/// The guest on an engine.
fn guest(config: &Config) -> (Linker<()>, Program) {
    static ELF: OnceLock<Vec<u8>> = OnceLock::new();
    let elf = ELF.get_or_init(|| {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/guests/stopped.c");
        tools::compile(env!("CARGO_TARGET_TMPDIR"), &source, &["-O2", "-fno-optimize-sibling-calls"])
    });
    let engine = Engine::new(config).unwrap();
    let mut linker = Linker::new(&engine);
    linker.ecall(|mut caller: Caller<'_, ()>| {
        // A nested run, in which slices end.
        let fib = caller.func::<(u64,), u64>("fib")?;
        assert_eq!(fib.call(&mut caller, (24,))?, 46_368);
        Ok(Flow::Exit(caller.x(10) as i32))
    });
    (linker, Program::new(&engine, &**elf).unwrap())
}

/// The guest on each engine.
fn machines() -> Vec<(&'static str, Machine<()>)> {
    let machine = |config: &Config| {
        let (linker, program) = guest(config);
        linker.instantiate(&program, ()).unwrap()
    };
    #[cfg_attr(not(feature = "compile"), expect(unused_mut))]
    let mut machines = vec![("interpreter", machine(&Config::new()))];
    #[cfg(feature = "compile")]
    for (name, fuel, fidelity) in [
        ("default", false, Fidelity::AbiAssuming),
        ("precise", false, Fidelity::Precise),
        ("fuel", true, Fidelity::AbiAssuming),
    ] {
        let options = CompileOptions { fuel, fidelity, ..CompileOptions::default() };
        machines.push((name, machine(Config::new().compile(options))));
    }
    machines
}

/// What every engine makes of it.
fn status() -> i32 {
    static STATUS: OnceLock<i32> = OnceLock::new();
    *STATUS.get_or_init(|| machines().remove(0).1.run().unwrap())
}

#[test]
fn slices_of_time_on_any_thread_come_to_the_same_end() {
    for (name, mut machine) in machines() {
        let mut slices = 0;
        let ended = loop {
            let limits = CallLimits::new().timeout(Duration::from_micros(700));
            // Each on a thread of its own.
            let ended = std::thread::scope(|scope| scope.spawn(|| machine.run_for(limits)).join().unwrap());
            match ended.unwrap_or_else(|error| panic!("{name}: {error}")) {
                Some(status) => break status,
                None => slices += 1,
            }
        };
        assert_eq!(ended, status(), "{name}");
        assert!(slices > 2, "{name}: {slices}");
    }
}

#[test]
fn slices_of_fuel_are_exact_and_leave_the_machines_own() {
    for (name, mut machine) in machines() {
        assert_eq!(machine.run_for(CallLimits::new().fuel(1_000)).unwrap(), None, "{name}");
        assert_eq!((machine.instructions(), machine.fuel()), (1_000, None), "{name}");
        machine.set_fuel(Some(1_500));
        assert_eq!(machine.run_for(CallLimits::new().fuel(1_000)).unwrap(), None, "{name}");
        assert_eq!(machine.fuel(), Some(500), "{name}");
        let error = machine.run_for(CallLimits::new().fuel(1_000)).unwrap_err();
        assert_eq!(error.trap().unwrap().cause, TrapCause::OutOfFuel, "{name}");
        assert_eq!(machine.instructions(), 2_500, "{name}");
        machine.set_fuel(None);
        assert_eq!(machine.run().unwrap(), status(), "{name}");
    }
}

/// Decoded code is shared, and its branches are linked while other threads execute them.
#[test]
fn threads_that_run_a_program_for_the_first_time_together_come_to_the_same_places() {
    const INSTRUCTIONS: u64 = 600_000;
    for round in 0..amount(12, 1_000) {
        let (linker, program) = guest(&Config::new());
        let mut machines: Vec<_> = (0..4).map(|_| linker.instantiate(&program, ()).unwrap()).collect();
        let start = Barrier::new(machines.len());
        std::thread::scope(|scope| {
            for machine in &mut machines {
                scope.spawn(|| {
                    start.wait();
                    assert_eq!(machine.run_for(CallLimits::new().fuel(INSTRUCTIONS + round)).unwrap(), None);
                });
            }
        });
        let place = |machine: &Machine<()>| (machine.pc(), std::array::from_fn::<u64, 32, _>(|n| machine.x(n as u8)));
        let places: Vec<_> = machines.iter().map(place).collect();
        assert!(places.iter().all(|place| *place == places[0]), "{round}: {places:x?}");
    }
}

#[test]
fn limits_of_the_machine_hold_in_slices() {
    for (name, mut machine) in machines() {
        machine.set_deadline(Some(Instant::now()));
        let error = machine.run_for(CallLimits::new().timeout(Duration::from_secs(60))).unwrap_err();
        assert_eq!(error.trap().unwrap().cause, TrapCause::Deadline, "{name}");
        machine.set_deadline(None);
        machine.interrupt_handle().interrupt();
        let error = machine.run_for(CallLimits::new().fuel(1_000)).unwrap_err();
        assert_eq!(error.trap().unwrap().cause, TrapCause::Interrupted, "{name}");
        assert_eq!(machine.run().unwrap(), status(), "{name}");
    }
}

#[test]
fn slices_that_have_passed_execute_nothing() {
    for (name, mut machine) in machines() {
        let at = |machine: &Machine<()>| (machine.pc(), machine.instructions());
        let before = at(&machine);
        for _ in 0..100 {
            assert_eq!(machine.run_for(CallLimits::new().deadline(Instant::now())).unwrap(), None, "{name}");
            assert_eq!(at(&machine), before, "{name}");
        }
        assert_eq!(machine.run().unwrap(), status(), "{name}");
    }
}

#[test]
fn a_guest_that_computes_gives_its_executor_turns() {
    let mut turns = 0;
    for (_, mut machine) in machines() {
        let mut context = Context::from_waker(Waker::noop());
        let mut run = std::pin::pin!(machine.run_async());
        let ended = loop {
            match run.as_mut().poll(&mut context) {
                Poll::Ready(ended) => break ended.unwrap(),
                Poll::Pending => turns += 1,
            }
        };
        assert_eq!(ended, status());
    }
    assert!(turns > 2, "{turns}");
}
