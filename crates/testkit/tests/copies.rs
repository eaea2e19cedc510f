//! Copies of functions in themselves, as compiled code has them, do what the functions do, whichever way they end.
#![cfg(feature = "compile")]

use std::path::Path;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use riverrun::image::Image;
use riverrun::{Error, Machine, TrapCause};
use riverrun_testkit::{Engine, Loaded, Stop, run, tools};

/// All that compile.
const COMPILED: [Engine; 4] = [Engine::Compiled, Engine::Uncounted, Engine::Default, Engine::ImpreciseCounted];
/// What the guest cannot read.
const UNMAPPED: u64 = 0x4000_0000;
const A0: u8 = 10;

fn guest() -> &'static [u8] {
    static GUEST: OnceLock<Vec<u8>> = OnceLock::new();
    GUEST.get_or_init(|| {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/guests/copies.c");
        let flags = ["-O2", "-march=rv64gc", "-fno-optimize-sibling-calls"];
        tools::compile(env!("CARGO_TARGET_TMPDIR"), &source, &flags)
    })
}

/// The machines of all engines that compile, about to do what `which` says.
fn machines(which: u64) -> impl Iterator<Item = (Engine, Machine<Vec<u8>>)> {
    COMPILED.into_iter().map(move |engine| {
        let mut machine = Loaded::new(engine, guest()).start();
        machine.set_x(A0, which);
        (engine, machine)
    })
}

fn assert_exits(which: u64, status: i32) {
    let mut interpreted = Loaded::new(Engine::Fast, guest()).start();
    interpreted.set_x(A0, which);
    assert_eq!(run(&mut interpreted).stop, Stop::Exit(status));
    for (engine, mut machine) in machines(which) {
        assert_eq!(run(&mut machine).stop, Stop::Exit(status), "{engine:?}");
    }
}

/// The function of an address.
fn function_at(pc: u64) -> String {
    let image = Image::parse(guest().to_vec()).unwrap();
    image.symbol_at(pc).unwrap().0.name.to_owned()
}

fn assert_faults_in(which: u64, function: &str) {
    let mut reference = Loaded::new(Engine::SingleStep, guest()).start();
    reference.set_x(A0, which);
    let expected = run(&mut reference);
    let Stop::Trap(TrapCause::LoadFault { address: UNMAPPED }, pc) = expected.stop else {
        panic!("{:?}", expected.stop)
    };
    assert_eq!(function_at(pc), function);
    for (engine, mut machine) in machines(which) {
        let outcome = run(&mut machine);
        assert_eq!(outcome.stop, expected.stop, "{engine:?}");
        if matches!(engine, Engine::Compiled | Engine::Uncounted) {
            assert_eq!(outcome.x, expected.x, "{engine:?}");
            let names =
                |machine: &Machine<_>| -> Vec<u64> { machine.backtrace().iter().map(|frame| frame.frame.pc).collect() };
            assert_eq!(names(&machine), names(&reference), "{engine:?}");
        }
    }
}

#[test]
fn copies_return_what_functions_do() {
    assert_exits(0, 46);
}

#[test]
fn jumps_over_frames_lead_out_of_copies() {
    assert_exits(1, 17);
}

#[test]
fn copies_return_to_where_ra_leads() {
    // The deepest one's result, less 100 as it returns to another place, and one for each but that and its caller.
    assert_exits(2, (0..6).map(|depth| 20 + depth).sum());
    assert_exits(3, 3 + 2 + 7);
}

#[test]
fn faults_in_copies_are_where_they_are() {
    assert_faults_in(4, "poke");
    assert_faults_in(5, "peek");
}

#[test]
fn copies_are_interrupted_and_gone_on_with() {
    let expected = 46368 % 100;
    for engine in [Engine::Compiled, Engine::ImpreciseCounted] {
        let mut machine = Loaded::new(engine, guest()).start();
        machine.set_x(A0, 6);
        let mut stops = 0;
        let status = loop {
            machine.set_fuel(Some(997));
            match machine.run() {
                Ok(status) => break status,
                Err(Error::Trap(trap)) if trap.cause == TrapCause::OutOfFuel => stops += 1,
                Err(error) => panic!("{error}"),
            }
        };
        assert!(status == expected && stops > 500, "{engine:?}: {status} after {stops} stops");
    }
    // Without fuel, what a signal ends in the middle of compiled code may be lost, and then says so.
    let mut machine = Loaded::new(Engine::Default, guest()).start();
    machine.set_x(A0, 7);
    machine.set_deadline(Some(Instant::now() + Duration::from_millis(20)));
    let error = machine.run().unwrap_err();
    assert_eq!(error.trap().map(|trap| trap.cause), Some(TrapCause::Deadline), "{error}");
    let pc = error.trap().unwrap().pc;
    assert_eq!(function_at(pc), "fib");
}
