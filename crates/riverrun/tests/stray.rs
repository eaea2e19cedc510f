//! Guests that jump to the addresses at which functions and signal handlers return, where they return from nothing, and that
//! make riverrun's own system calls with any arguments: an error, or the end of the innermost call, in every engine.

use std::path::Path;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use riverrun::{
    Caller, Config, DYNAMIC_CALL, Engine, Error, HostError, Linker, Machine, Program, READY_CALL,
    SIGNAL_RETURN_ADDRESS, TrapCause,
};
use riverrun_testkit::tools;
use riverrun_vm::RETURN_ADDRESS;

/// The ways to go somewhere: a return, a jump, a call.
const WAYS: [u64; 3] = [0, 1, 2];

type Argument = (u64, u64, u64);

struct Guest {
    name: &'static str,
    linker: Linker<()>,
    program: Program,
}

impl Guest {
    fn new(name: &'static str, config: &Config) -> Guest {
        static ELF: OnceLock<Vec<u8>> = OnceLock::new();
        let elf = ELF.get_or_init(|| {
            let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/guests/stray.c");
            tools::compile(env!("CARGO_TARGET_TMPDIR"), &source, &["-O2"])
        });
        let engine = Engine::new(config).unwrap();
        let mut linker = Linker::new(&engine);
        let visit = |mut caller: Caller<'_, ()>, way: u64, to: u64, value: u64| -> Result<u64, HostError> {
            let strays = caller.func::<Argument, u64>("strays")?;
            let sp = caller.x(2);
            let result = strays.call(&mut caller, (way, to, value));
            assert_eq!(caller.x(2), sp);
            Ok(result?)
        };
        linker.func("visit", visit).unwrap();
        Guest { name, linker, program: Program::new(&engine, &**elf).unwrap() }
    }

    fn machine(&self) -> Machine<()> {
        let mut machine = self.linker.instantiate(&self.program, ()).unwrap();
        // What does not end by itself ends late.
        machine.set_deadline(Some(Instant::now() + Duration::from_secs(30)));
        machine
    }
}

fn guests() -> &'static [Guest] {
    static GUESTS: OnceLock<Vec<Guest>> = OnceLock::new();
    GUESTS.get_or_init(|| {
        #[allow(unused_mut, reason = "without the compiler")]
        let mut guests = vec![
            Guest::new("interpreter", &Config::new()),
            Guest::new("single steps", Config::new().single_step(true)),
        ];
        #[cfg(feature = "compile")]
        {
            use riverrun::{CompileOptions, Fidelity, Quick};
            let plain = CompileOptions::default();
            let counting = CompileOptions { fuel: true, ..plain };
            guests.extend([
                Guest::new("compiled", Config::new().compile(plain)),
                Guest::new("counting", Config::new().compile(counting)),
                Guest::new(
                    "precise",
                    Config::new().compile(CompileOptions { fidelity: Fidelity::Precise, ..counting }),
                ),
                Guest::new("quick", Config::new().compile(CompileOptions { quick: Quick::All, ..plain })),
            ]);
        }
        guests
    })
}

fn call(machine: &mut Machine<()>, function: &str, argument: Argument) -> Result<u64, Error> {
    machine.func::<Argument, u64>(function).unwrap().call(machine, argument)
}

fn run(machine: &mut Machine<()>, (way, to, value): Argument, depth: u64) -> Result<i32, Error> {
    machine.set_pc(machine.program().image().entry());
    machine.set_x(2, machine.stack().end);
    (10..).zip([way, to, value, depth]).for_each(|(register, value)| machine.set_x(register, value));
    machine.run()
}

fn assert_fetch_fault<R: std::fmt::Debug>(result: Result<R, Error>, to: u64, what: &str) {
    let error = result.expect_err(what);
    // Of a call within a call, the inner one's error is the host function's.
    let inner = match &error {
        Error::Host(failure) => failure.source.downcast_ref::<Error>(),
        error => Some(error),
    };
    let trap = inner.and_then(Error::trap).unwrap_or_else(|| panic!("{what}: {error:?}"));
    assert_eq!((trap.cause, trap.pc), (TrapCause::FetchFault { address: to }, to), "{what}");
}

fn assert_works(machine: &mut Machine<()>, what: &str) {
    let twice = machine.func::<(u64,), u64>("twice").unwrap();
    assert_eq!(twice.call(machine, (21,)).unwrap(), 42, "{what}");
}

#[test]
fn a_jump_to_the_return_address_ends_the_innermost_call_only() {
    for guest in guests() {
        let mut machine = guest.machine();
        let sp = machine.x(2);
        // Later calls are on the fast path.
        for way in WAYS.into_iter().cycle().take(9) {
            let what = format!("{}, way {way}", guest.name);
            assert_eq!(call(&mut machine, "strays", (way, RETURN_ADDRESS, 7)).unwrap(), 7, "{what}");
            assert_works(&mut machine, &what);
            let expected = 7 + 21 + (way ^ RETURN_ADDRESS);
            assert_eq!(call(&mut machine, "outer", (way, RETURN_ADDRESS, 7)).unwrap(), expected, "{what}");
            assert_works(&mut machine, &what);
            assert_eq!(machine.x(2), sp, "{what}");
        }
    }
}

#[test]
fn a_run_that_jumps_to_the_return_address_is_an_error() {
    for guest in guests() {
        let mut machine = guest.machine();
        for way in WAYS.into_iter().cycle().take(6) {
            let what = format!("{}, way {way}", guest.name);
            assert_fetch_fault(run(&mut machine, (way, RETURN_ADDRESS, 7), 0), RETURN_ADDRESS, &what);
            // It is still there.
            assert_fetch_fault(machine.run(), RETURN_ADDRESS, &what);
            // Within a call, the run is not what has ended.
            let expected = (7 + 21 + (way ^ RETURN_ADDRESS)) as i32;
            assert_eq!(run(&mut machine, (way, RETURN_ADDRESS, 7), 1).unwrap(), expected, "{what}");
            assert_works(&mut machine, &what);
        }
    }
}

/// Without a personality, nothing is there.
#[test]
fn a_jump_to_the_address_where_signal_handlers_return_is_a_fault() {
    for guest in guests() {
        let mut machine = guest.machine();
        // Beside it, too.
        for to in [SIGNAL_RETURN_ADDRESS, SIGNAL_RETURN_ADDRESS + 8, RETURN_ADDRESS + 16] {
            for way in WAYS {
                let what = format!("{}, way {way}", guest.name);
                for function in ["strays", "outer", "strays"] {
                    assert_fetch_fault(call(&mut machine, function, (way, to, 7)), to, &what);
                    assert_works(&mut machine, &what);
                }
                for depth in [0, 1] {
                    assert_fetch_fault(run(&mut machine, (way, to, 7), depth), to, &what);
                }
            }
            machine = guest.machine();
        }
    }
}

#[test]
fn numbers_of_riverruns_own_calls_by_chance_are_errors() {
    let wild =
        [0, 1, 93, DYNAMIC_CALL, READY_CALL, 99_999, 100_000, 1 << 31, 1 << 32, 1 << 63, RETURN_ADDRESS, u64::MAX];
    for guest in guests() {
        let mut machine = guest.machine();
        let calls = machine.func::<(u64, u64, u64, u64), u64>("calls").unwrap();
        for one in wild {
            for other in wild {
                let what = format!("{}, {one:#x} and {other:#x}", guest.name);
                let error = calls.call(&mut machine, (DYNAMIC_CALL, one, other, one)).expect_err(&what).to_string();
                assert!(error.contains("the guest calls the host function"), "{what}: {error}");
                assert!(error.contains("which the linker does not have"), "{what}: {error}");
                let error = calls.call(&mut machine, (READY_CALL, one, other, one)).expect_err(&what).to_string();
                assert!(error.contains("the guest makes system call 505"), "{what}: {error}");
            }
            assert_works(&mut machine, guest.name);
        }
    }
}
