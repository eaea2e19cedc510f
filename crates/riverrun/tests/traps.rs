//! Hosts handle traps of their guests, with all registers as they are, in every engine that keeps them at a fault.

use std::path::Path;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use riverrun::{Caller, Config, Engine, Error, Flow, Linker, Machine, PAGE_SIZE, Perm, Program, TrapCause};
#[cfg(feature = "compile")]
use riverrun::{CompileOptions, Fidelity};
use riverrun_testkit::tools;

/// Where the handler maps a page, where it lets the trap end the run, and where it has the access made again as it is.
const MAPPED: u64 = 0x4000_0000;
const DECLINED: u64 = 0x5000_0000;
const ENDLESS: u64 = 0x6000_0000;
const FAILED: u64 = 0x7000_0000;

struct Guest {
    name: &'static str,
    linker: Linker<Vec<TrapCause>>,
    program: Program,
}

impl Guest {
    fn new(name: &'static str, config: &Config) -> Guest {
        static ELF: OnceLock<Vec<u8>> = OnceLock::new();
        let elf = ELF.get_or_init(|| {
            let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/guests/traps.c");
            tools::compile(env!("CARGO_TARGET_TMPDIR"), &source, &["-O2"])
        });
        let engine = Engine::new(config).unwrap();
        let mut linker = Linker::new(&engine);
        linker.ecall(|mut caller: Caller<'_, Vec<TrapCause>>| {
            let load = caller.func::<(u64,), u64>("load")?;
            let place = caller.x(10);
            let value = load.call(&mut caller, (place,))?;
            caller.set_x(10, value);
            Ok(Flow::Continue)
        });
        linker.trap(|mut caller: Caller<'_, Vec<TrapCause>>, cause| {
            caller.data_mut().push(cause);
            match cause {
                TrapCause::LoadFault { address: MAPPED } | TrapCause::StoreFault { address: MAPPED } => {
                    caller.memory_mut().map(MAPPED, PAGE_SIZE, Perm::READ | Perm::WRITE)?;
                    Ok(Flow::Continue)
                }
                TrapCause::LoadFault { address: ENDLESS } => Ok(Flow::Continue),
                TrapCause::LoadFault { address: FAILED } => Err("the host's own reason".into()),
                TrapCause::Breakpoint => {
                    caller.set_x(10, caller.x(10) + 10);
                    Ok(Flow::Jump(caller.pc() + 4))
                }
                cause => Ok(Flow::Trap(cause)),
            }
        });
        let program = Program::new(&engine, &**elf).unwrap();
        Guest { name, linker, program }
    }

    fn machine(&self) -> Machine<Vec<TrapCause>> {
        let mut machine = self.linker.instantiate(&self.program, vec![]).unwrap();
        // What does not end by itself ends late.
        machine.set_deadline(Some(Instant::now() + Duration::from_secs(30)));
        machine
    }
}

/// The guest on each engine that has all registers at a fault.
fn guests() -> Vec<Guest> {
    vec![
        Guest::new("interpreter", &Config::new()),
        Guest::new("single steps", Config::new().single_step(true)),
        #[cfg(feature = "compile")]
        Guest::new(
            "precise",
            Config::new().compile(CompileOptions { fidelity: Fidelity::Precise, ..Default::default() }),
        ),
        #[cfg(feature = "compile")]
        Guest::new(
            "fuel",
            Config::new().compile(CompileOptions { fidelity: Fidelity::Precise, fuel: true, ..Default::default() }),
        ),
    ]
}

fn call(machine: &mut Machine<Vec<TrapCause>>, function: &str, argument: u64) -> Result<u64, Error> {
    let function = machine.func::<(u64,), u64>(function).unwrap();
    function.call(machine, (argument,))
}

#[test]
fn guests_go_on_behind_handled_traps() {
    for guest in guests() {
        for (function, argument, result) in
            [("load", MAPPED, 1), ("store", MAPPED, 5), ("nested", MAPPED, 2), ("halt", 7, 18)]
        {
            // The second call is on the fast path, and a fork has the handler, too.
            let mut machine = guest.machine();
            assert_eq!(call(&mut machine, function, argument).unwrap(), result, "{}: {function}", guest.name);
            assert_eq!(machine.data().len(), 1, "{}: {function}", guest.name);
            let again = call(&mut machine, function, argument).unwrap();
            assert!(again >= result, "{}: {function} {again}", guest.name);
            let mut fork = guest.machine().fork(vec![]).unwrap();
            assert_eq!(call(&mut fork, function, argument).unwrap(), result, "{}: {function}", guest.name);
        }
    }
}

#[test]
fn traps_that_are_declined_are_as_without_a_handler() {
    for mut guest in guests() {
        let declined = call(&mut guest.machine(), "load", DECLINED).unwrap_err();
        guest.linker = Linker::new(guest.program.engine());
        let expected = call(&mut guest.machine(), "load", DECLINED).unwrap_err();
        assert_eq!(format!("{declined:?}"), format!("{expected:?}"), "{}", guest.name);
        assert_eq!(expected.trap().unwrap().cause, TrapCause::LoadFault { address: DECLINED }, "{}", guest.name);
    }
}

#[test]
fn failing_handlers_end_the_run() {
    for guest in guests() {
        let error = call(&mut guest.machine(), "load", FAILED).unwrap_err();
        let text = error.to_string();
        assert!(matches!(error, Error::Host(_)), "{}: {text}", guest.name);
        let (cause, place) = text.split_once("; ").unwrap();
        assert!(cause.starts_with("the host's handler of the trap failed: "), "{}: {text}", guest.name);
        assert!(cause.contains("own reason") && place.starts_with("trapped at pc 0x"), "{}: {text}", guest.name);
    }
}

/// A stack's overflow has its own name for the handler, as for the host.
#[test]
fn handlers_get_the_cause_that_the_error_has() {
    for guest in guests() {
        let mut machine = guest.machine();
        let below = machine.stack().start - 8;
        let cause = call(&mut machine, "load", below).unwrap_err().trap().unwrap().cause;
        assert_eq!((cause, &machine.data()[..]), (TrapCause::StackOverflow { address: below }, &[cause][..]));
    }
}

/// An access that traps each time executes nothing.
#[test]
fn fuel_ends_guests_that_only_trap() {
    for guest in guests().into_iter().filter(|guest| guest.name != "precise") {
        let mut machine = guest.machine();
        machine.set_fuel(Some(1_000));
        let cause = call(&mut machine, "load", ENDLESS).unwrap_err().trap().unwrap().cause;
        assert_eq!((cause, machine.instructions()), (TrapCause::OutOfFuel, 1_000), "{}", guest.name);
        assert_eq!(machine.data().len(), 1_000, "{}", guest.name);
    }
}

#[test]
fn limits_are_no_traps() {
    for guest in guests() {
        let mut machine = guest.machine();
        machine.set_deadline(Some(Instant::now() + Duration::from_millis(20)));
        let spin = machine.func::<(), ()>("spin").unwrap();
        let cause = spin.call(&mut machine, ()).unwrap_err().trap().unwrap().cause;
        assert_eq!((cause, machine.data().len()), (TrapCause::Deadline, 0), "{}", guest.name);
        machine.set_deadline(None);
        machine.set_fuel(Some(100));
        let spin = machine.func::<(), ()>("spin").unwrap();
        let cause = spin.call(&mut machine, ()).unwrap_err().trap().unwrap().cause;
        assert_eq!((cause, machine.data().len()), (TrapCause::OutOfFuel, 0), "{}", guest.name);
    }
}

/// Default compiled code has lost its registers there: the error names the remedy.
#[cfg(feature = "compile")]
#[test]
fn handlers_are_not_called_without_registers() {
    let mut guest = Guest::new("default", Config::new().compile(CompileOptions::default()));
    let mut machine = guest.machine();
    let error = call(&mut machine, "load", MAPPED).unwrap_err();
    assert_eq!((error.trap().unwrap().cause, machine.data().len()), (TrapCause::LoadFault { address: MAPPED }, 0));
    let text = format!("{error:?}");
    assert!(text.contains("no handler of the fault called") && text.contains("--precise"), "{text}");
    guest.linker = Linker::new(guest.program.engine());
    let text = format!("{:?}", call(&mut guest.machine(), "load", MAPPED).unwrap_err());
    assert!(text.contains("callers unknown (run") && !text.contains("no handler"), "{text}");
}
