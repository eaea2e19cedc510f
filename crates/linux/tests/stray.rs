//! Guests that jump to the addresses at which functions and signal handlers return, from where nothing returns or with frames
//! of their own, and that make riverrun's own system calls by chance, in every engine.

use std::time::{Duration, Instant};

use crate::common::gcc;
use riverrun::{
    Caller, Config, DYNAMIC_CALL, Error, HostError, Linker, Machine, READY_CALL, SIGNAL_RETURN_ADDRESS, TrapCause,
};
use riverrun_linux::Linux;
use riverrun_testkit::suite::SuiteEngine;

/// Where functions that the host has called return to.
const RETURN_ADDRESS: u64 = SIGNAL_RETURN_ADDRESS - 32;

/// How the guest strays: `strays` in `stray.c`.
const JUMP: u64 = 0;
const IN_HANDLER: u64 = 1;
const BY_FRAME: u64 = 2;
const WITHOUT_FRAME: u64 = 3;
const IN_THREAD: u64 = 4;

/// What a jump has in a0.
const VALUE: u64 = 7;

type Argument = (u64, u64);

fn machine(engine: SuiteEngine) -> Machine<Linux> {
    let elf = std::fs::read(gcc("stray.c", &["-O2", "-static", "-nostdlib", "-ffreestanding", "-mno-relax"])).unwrap();
    let program = engine.load(&Config::new(), elf);
    let mut linker = Linker::new(program.engine());
    riverrun_linux::add_to_linker(&mut linker, |linux: &mut Linux| linux);
    let visit = |mut caller: Caller<'_, Linux>, way: u64, to: u64| -> Result<u64, HostError> {
        let strays = caller.func::<Argument, u64>("strays")?;
        Ok(strays.call(&mut caller, (way, to))?)
    };
    linker.func("visit", visit).unwrap();
    let mut machine = linker.instantiate(&program, Linux::builder().args(["guest"]).build()).unwrap();
    riverrun_linux::start(&mut machine, |linux| linux).unwrap();
    machine.set_deadline(Some(Instant::now() + Duration::from_secs(60)));
    machine
}

/// Runs a guest that strays in its main function, or in a call of the host's within that.
fn run(engine: SuiteEngine, depth: u64, (way, to): Argument) -> (Machine<Linux>, Result<i32, Error>) {
    let mut machine = machine(engine);
    (10..).zip([depth, way, to]).for_each(|(register, value)| machine.set_x(register, value));
    let result = machine.run();
    (machine, result)
}

/// A machine whose functions can be called.
fn ready(engine: SuiteEngine) -> Machine<Linux> {
    let (machine, result) = run(engine, 0, (0, 0));
    assert_eq!(result.unwrap(), 0, "{engine:?}");
    machine
}

fn call(machine: &mut Machine<Linux>, function: &str, argument: Argument) -> Result<u64, Error> {
    machine.func::<Argument, u64>(function).unwrap().call(machine, argument)
}

fn cause<R: std::fmt::Debug>(result: Result<R, Error>, what: &str) -> TrapCause {
    let error = result.expect_err(what);
    // Of a call within a call, the inner one's error is the host function's.
    let inner = match &error {
        Error::Host(failure) => failure.source.downcast_ref::<Error>(),
        error => Some(error),
    };
    inner.and_then(Error::trap).unwrap_or_else(|| panic!("{what}: {error:?}")).cause
}

/// Later calls return to where they were made, those within a call, too.
fn assert_works(machine: &mut Machine<Linux>, what: &str) {
    assert_eq!(call(machine, "strays", (9, 21)).unwrap(), 21, "{what}");
    assert_eq!(call(machine, "outer", (9, 21)).unwrap(), 21 + 900 + 21, "{what}");
}

#[test]
fn a_jump_to_the_return_address_ends_a_call_or_is_an_error() {
    const FAULT: TrapCause = TrapCause::FetchFault { address: RETURN_ADDRESS };
    for &engine in SuiteEngine::ALL {
        for way in [JUMP, IN_HANDLER, BY_FRAME, IN_THREAD] {
            let what = format!("{engine:?}, way {way}");
            let (mut machine, result) = run(engine, 1, (way, RETURN_ADDRESS));
            assert_eq!(cause(result, &what), FAULT, "{what}");
            assert_eq!(cause(machine.run(), &what), FAULT, "{what}");
            // No thread is exchanged within a call within a call.
            if way == IN_THREAD {
                let mut machine = ready(engine);
                assert_eq!(cause(call(&mut machine, "strays", (way, RETURN_ADDRESS)), &what), FAULT, "{what}");
                continue;
            }
            let outer = VALUE + 100 * way + 0xc0;
            let (_, result) = run(engine, 2, (way, RETURN_ADDRESS));
            assert_eq!(result.unwrap(), (outer & 0xff) as i32, "{what}");
            let mut machine = ready(engine);
            for _ in 0..3 {
                assert_eq!(call(&mut machine, "strays", (way, RETURN_ADDRESS)).unwrap(), VALUE, "{what}");
                assert_works(&mut machine, &what);
                assert_eq!(call(&mut machine, "outer", (way, RETURN_ADDRESS)).unwrap(), outer, "{what}");
                assert_works(&mut machine, &what);
            }
        }
    }
}

#[test]
fn a_return_from_no_signal_is_by_what_lies_at_sp() {
    const SEGMENTATION: TrapCause = TrapCause::Signal { number: 11 };
    let fetch = |address| TrapCause::FetchFault { address };
    for &engine in SuiteEngine::ALL {
        for ((way, to), expected) in [
            // No frame is there, at no address that is mapped, at the end of all, or where reading it leaves all memory.
            ((WITHOUT_FRAME, 0), SEGMENTATION),
            ((WITHOUT_FRAME, SIGNAL_RETURN_ADDRESS), SEGMENTATION),
            ((WITHOUT_FRAME, u64::MAX - 15), SEGMENTATION),
            ((BY_FRAME, 0), fetch(0)),
            ((BY_FRAME, 1 << 63), fetch(1 << 63)),
            ((BY_FRAME, RETURN_ADDRESS + 16), fetch(RETURN_ADDRESS + 16)),
        ] {
            let what = format!("{engine:?}, way {way}, to {to:#x}");
            for depth in [1, 2] {
                assert_eq!(cause(run(engine, depth, (way, to)).1, &what), expected, "{what}");
            }
            let mut machine = ready(engine);
            for function in ["strays", "outer", "strays"] {
                assert_eq!(cause(call(&mut machine, function, (way, to)), &what), expected, "{what}, {function}");
                assert_works(&mut machine, &what);
            }
        }
        // A frame as a signal would have made: the guest goes on there.
        for depth in [1, 2] {
            let (_, result) = run(engine, depth, (BY_FRAME, 1));
            let status = match result {
                Err(Error::Host(failure)) => match failure.source.downcast_ref::<Error>() {
                    Some(&Error::Exited { status }) => status,
                    error => panic!("{error:?}"),
                },
                result => result.unwrap(),
            };
            assert_eq!(status, 42, "{engine:?}");
        }
    }
}

#[test]
fn riverruns_own_calls_by_chance_are_errors_or_end_the_run_once() {
    const NO_SUCH_CALL: u64 = -38_i64 as u64;
    let wild = [0, 1, 93, DYNAMIC_CALL, READY_CALL, 1 << 31, 1 << 63, SIGNAL_RETURN_ADDRESS, u64::MAX];
    for &engine in SuiteEngine::ALL {
        let mut machine = ready(engine);
        let calls = machine.func::<(u64, u64, u64), u64>("calls").unwrap();
        for one in wild {
            for other in wild {
                let error = calls.call(&mut machine, (DYNAMIC_CALL, one, other)).unwrap_err().to_string();
                assert!(error.contains("the guest calls the host function"), "{engine:?}: {error}");
                let result = calls.call(&mut machine, (READY_CALL, one, other)).unwrap();
                assert_eq!(result, NO_SUCH_CALL, "{engine:?}");
            }
        }
        assert_works(&mut machine, "after wild calls");
    }
}
