//! Programs with a libc, saved after their `main` and called many times.

use crate::common::gcc;
use riverrun::{Config, Linker, Machine, Pool};
use riverrun_linux::{Captured, Linux, Output};
use riverrun_testkit::suite::SuiteEngine;

fn ask(machine: &mut Machine<Linux>, which: i64) -> i64 {
    let ask = machine.func::<(i64,), i64>("ask").unwrap();
    ask.call(machine, (which,)).unwrap()
}

#[test]
fn a_libc_program_is_called_many_times_after_its_main() {
    let elf = std::fs::read(gcc("warm.c", &["-O2", "-static", "-Wall"])).unwrap();
    for &engine in SuiteEngine::ALL {
        let program = engine.load(&Config::new(), elf.clone());
        let mut linker = Linker::new(program.engine());
        riverrun_linux::add_to_linker(&mut linker, |linux: &mut Linux| linux);
        let stdout = Captured::default();
        let linux = || Linux::builder().stdout(Output::writer(stdout.clone())).build();
        let mut machine = linker.instantiate(&program, linux()).unwrap();
        riverrun_linux::start(&mut machine, |linux| linux).unwrap();
        assert_eq!(machine.run().unwrap(), 7);
        assert_eq!(stdout.take(), b"ready\n");
        let snapshot = machine.snapshot().unwrap();
        assert!(!machine.is_initializing());
        let answers: Vec<i64> = (0..5).map(|which| ask(&mut machine, which)).collect();
        // Each answer is of the program as `main` has left it.
        for round in 0..5 {
            machine.reset(&snapshot).unwrap();
            let again: Vec<i64> = (0..5).map(|which| ask(&mut machine, which)).collect();
            assert_eq!(again, answers, "{engine:?}, round {round}");
        }
        let mut other = linker.instantiate_from(&snapshot, linux()).unwrap();
        assert_eq!(ask(&mut other, 0), answers[0]);
        assert_eq!(ask(&mut other.fork(linux()).unwrap(), 1), answers[1]);
        let builder = stdout.clone();
        let new = move || Ok(Linux::builder().stdout(Output::writer(builder.clone())).build());
        let pool = Pool::new(&linker, &snapshot, 2, new, |_| Ok(()));
        for _ in 0..10 {
            assert_eq!(ask(&mut pool.get().unwrap(), 0), answers[0]);
        }
        assert_eq!(pool.idle(), 1);
        assert!(stdout.take().is_empty());
    }
}
