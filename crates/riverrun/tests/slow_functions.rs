//! Host functions that take long count as the guest's time, in every engine: a guest that does nothing but call them makes
//! few instructions between two looks at the clock.

use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use riverrun::{Config, Engine, Linker, Machine, Program, TrapCause};
use riverrun_testkit::tools;

use crate::configurations::configurations;

/// What a host function takes.
const NAP: Duration = Duration::from_millis(1);
const TIME: Duration = Duration::from_millis(50);
/// What a busy machine takes beyond it: far less than the calls of a slice take.
const PATIENCE: Duration = Duration::from_secs(2);

/// A machine of a guest, in which all functions take long.
fn machine(config: &Config, source: &str) -> Machine<()> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/guests").join(source);
    let elf = tools::compile(env!("CARGO_TARGET_TMPDIR"), &source, &["-O2"]);
    let engine = Engine::new(config).unwrap();
    let mut linker = Linker::new(&engine);
    for name in ["later", "plain"] {
        let nap = |n: i64| {
            thread::sleep(NAP);
            n
        };
        linker.func(name, nap).unwrap();
    }
    linker.func("sum_later", |a: f64, _: i32| a).unwrap();
    linker.func("fill_later", |_: riverrun::Slice<u8>| {}).unwrap();
    linker.func("twice_later", |_: riverrun::Ptr<u8>, n: i64| n).unwrap();
    linker.syscall(500, || thread::sleep(NAP)).unwrap();
    linker.instantiate(&Program::new(&engine, elf).unwrap(), ()).unwrap()
}

#[test]
fn deadlines_and_requests_end_guests_that_call_slow_functions() {
    for (name, config) in configurations() {
        // By its number, and by a system call.
        for (source, function) in [("waits.c", Some("loop")), ("naps.s", None)] {
            let mut machine = machine(&config, source);
            let function = function.map(|name| machine.func::<(i64,), i64>(name).unwrap());
            let mut assert_ends = |cause, prepare: &dyn Fn(&mut Machine<()>)| {
                let begin = Instant::now();
                prepare(&mut machine);
                let error = match &function {
                    Some(function) => function.call(&mut machine, (i64::MAX,)).unwrap_err(),
                    None => machine.run().unwrap_err(),
                };
                let took = begin.elapsed();
                assert_eq!(error.trap().map(|trap| trap.cause), Some(cause), "{name}, {source}: {error}");
                assert!(took >= TIME && took < TIME + PATIENCE, "{name}, {source}: {took:?}");
            };
            assert_ends(TrapCause::Deadline, &|machine| machine.set_deadline(Some(Instant::now() + TIME)));
            assert_ends(TrapCause::Interrupted, &|machine| {
                machine.set_deadline(None);
                let interrupt = machine.interrupt_handle();
                thread::spawn(move || {
                    thread::sleep(TIME);
                    interrupt.interrupt();
                });
            });
        }
    }
}
