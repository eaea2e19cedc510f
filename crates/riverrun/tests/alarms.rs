//! Alarms suspend guests that make no call, with all registers as they are, in every engine.

use std::path::Path;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use riverrun::{Alarm, Caller, Config, Engine, Flow, Linker, Machine, Program, TrapCause};
#[cfg(feature = "compile")]
use riverrun::{CompileOptions, Fidelity};
use riverrun_testkit::tools;

/// What the alarm's handler finds: instructions, the pc, registers.
type Seen = (u64, u64, [u64; 32]);

#[derive(Default)]
struct Host {
    /// When the guest wants the alarm, and the word that ends its loop.
    alarm: Option<Alarm>,
    flag: u64,
    seen: Vec<Seen>,
}

struct Guest {
    name: &'static str,
    linker: Linker<Host>,
    program: Program,
}

impl Guest {
    fn new(name: &'static str, config: &Config) -> Guest {
        static ELF: OnceLock<Vec<u8>> = OnceLock::new();
        let elf = ELF.get_or_init(|| {
            let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/guests/alarms.c");
            tools::compile(env!("CARGO_TARGET_TMPDIR"), &source, &["-O2"])
        });
        let engine = Engine::new(config).unwrap();
        let mut linker = Linker::new(&engine);
        linker.ecall(|mut caller: Caller<'_, Host>| {
            if caller.x(17) == 93 {
                return Ok(Flow::Exit(caller.x(10) as i32));
            }
            caller.data_mut().flag = caller.x(10);
            let alarm = caller.data().alarm;
            caller.set_alarm(alarm);
            Ok(Flow::Continue)
        });
        linker.alarm(|mut caller: Caller<'_, Host>| {
            let seen = (caller.instructions(), caller.pc(), std::array::from_fn(|n| caller.x(n as u8)));
            let (host, memory) = caller.split();
            host.seen.push(seen);
            memory.write_u64(host.flag, 1)?;
            Ok(Flow::Continue)
        });
        let program = Program::new(&engine, &**elf).unwrap();
        Guest { name, linker, program }
    }

    fn machine(&self, alarm: Alarm) -> Machine<Host> {
        let host = Host { alarm: Some(alarm), ..Host::default() };
        let mut machine = self.linker.instantiate(&self.program, host).unwrap();
        // What does not end by itself ends late.
        machine.set_deadline(Some(Instant::now() + Duration::from_secs(30)));
        machine
    }
}

/// The guest on each engine. Compiled code without fuel does not count its instructions.
fn guests() -> Vec<Guest> {
    #[cfg_attr(not(feature = "compile"), expect(unused_mut))]
    let mut guests = counting();
    #[cfg(feature = "compile")]
    guests.extend([
        Guest::new("default", Config::new().compile(CompileOptions::default())),
        Guest::new(
            "precise",
            Config::new().compile(CompileOptions { fidelity: Fidelity::Precise, ..Default::default() }),
        ),
    ]);
    guests
}

/// On each engine that counts instructions.
fn counting() -> Vec<Guest> {
    vec![
        Guest::new("interpreter", &Config::new()),
        Guest::new("single steps", Config::new().single_step(true)),
        #[cfg(feature = "compile")]
        Guest::new("fuel", Config::new().compile(CompileOptions { fuel: true, ..Default::default() })),
    ]
}

#[test]
fn alarms_at_a_count_of_instructions_find_the_same_wherever_these_are_counted() {
    let guests = counting();
    for executed in (20..60).chain([1_000, 131_072, 131_073, 300_001]) {
        let mut expected: Option<(i32, u64, Vec<Seen>)> = None;
        for guest in &guests {
            let mut machine = guest.machine(Alarm::Executed(executed));
            let status = machine.run().unwrap_or_else(|error| panic!("{}: {error}", guest.name));
            let outcome = (status, machine.instructions(), std::mem::take(&mut machine.data_mut().seen));
            assert_eq!((outcome.2.len(), outcome.2[0].0), (1, executed), "{}", guest.name);
            match &expected {
                Some(expected) => assert_eq!(&outcome, expected, "{}: {executed}", guest.name),
                None => expected = Some(outcome),
            }
        }
    }
}

#[test]
fn fuel_and_alarms_are_both_exact() {
    for guest in counting() {
        let mut machine = guest.machine(Alarm::Executed(5_000));
        let status = machine.run().unwrap();
        let (total, seen) = (machine.instructions(), machine.data().seen.clone());
        for fuel in [4_999, 5_000, 5_001] {
            let mut machine = guest.machine(Alarm::Executed(5_000));
            machine.set_fuel(Some(fuel));
            let cause = machine.run().unwrap_err().trap().unwrap().cause;
            assert_eq!((cause, machine.instructions()), (TrapCause::OutOfFuel, fuel), "{}", guest.name);
            assert_eq!(machine.data().seen.len(), usize::from(fuel > 5_000), "{}", guest.name);
            machine.set_fuel(None);
            assert_eq!((machine.run().unwrap(), machine.instructions()), (status, total), "{}", guest.name);
            assert_eq!(machine.data().seen, seen, "{}", guest.name);
        }
    }
}

#[test]
fn alarms_at_a_moment_end_loops_without_calls() {
    for guest in guests() {
        let start = Instant::now();
        let mut machine = guest.machine(Alarm::At(start + Duration::from_millis(20)));
        machine.run().unwrap_or_else(|error| panic!("{}: {error}", guest.name));
        assert!(start.elapsed() >= Duration::from_millis(20) && machine.data().seen.len() == 1, "{}", guest.name);
    }
}

#[test]
fn calls_are_interrupted_as_runs_are() {
    for guest in guests() {
        let mut machine = guest.machine(Alarm::At(Instant::now() + Duration::from_millis(20)));
        let with_alarm = machine.func::<(u64,), u64>("spin_with_alarm").unwrap();
        let spin = machine.func::<(u64,), u64>("spin").unwrap();
        with_alarm.call(&mut machine, (1,)).unwrap_or_else(|error| panic!("{}: {error}", guest.name));
        // Set by the host between two calls, of which the first one has prepared the fast path.
        for n in 2..5 {
            machine.set_alarm(Some(Alarm::Executed(machine.instructions() + 1_000)));
            spin.call(&mut machine, (n,)).unwrap_or_else(|error| panic!("{}: {error}", guest.name));
            assert_eq!(machine.data().seen.len() as u64, n, "{}", guest.name);
        }
    }
}
