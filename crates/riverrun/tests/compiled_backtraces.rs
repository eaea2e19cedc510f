//! No backtrace of compiled code invents frames: it is a prefix of the interpreter's, or says that callers are unknown.

use std::path::Path;

use riverrun::{Backtrace, Caller, CompileOptions, Config, Engine, Fidelity, Flow, Linker, Program, Trap};
use riverrun_testkit::tools;

/// Ways to fault in `guests/chain.c`.
const WAYS: u64 = 6;

struct Guest {
    linker: Linker<()>,
    program: Program,
}

impl Guest {
    fn new(flags: &[&str], options: Option<&CompileOptions>) -> Guest {
        let engine = Engine::new(&Config::new()).unwrap();
        let mut linker = Linker::new(&engine);
        linker.ecall(|caller: Caller<'_, ()>| Ok(Flow::Exit(caller.x(10) as i32)));
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/guests/chain.c");
        let elf = tools::compile(env!("CARGO_TARGET_TMPDIR"), &source, flags);
        let mut program = Program::new(&engine, elf).unwrap();
        if let Some(options) = options {
            let folder = tempfile::tempdir().unwrap();
            program = program.compile_to(options, folder.path().join("chain.rro")).unwrap().0;
        }
        Guest { linker, program }
    }

    /// The trap of the guest's own run and that of a call, each with what the machine says afterwards.
    fn traps(&self, which: u64) -> [(Trap, Option<Backtrace>); 2] {
        let mut machine = self.linker.instantiate(&self.program, ()).unwrap();
        machine.set_x(10, which);
        let trap = machine.run().unwrap_err().trap().unwrap().clone();
        let own = (trap, Some(machine.backtrace()));
        let mut machine = self.linker.instantiate(&self.program, ()).unwrap();
        let run = machine.func::<(i32,), i32>("run").unwrap();
        let trap = run.call(&mut machine, (which as i32,)).unwrap_err().trap().unwrap().clone();
        [own, (trap, None)]
    }
}

fn pcs(backtrace: &Backtrace) -> Vec<u64> {
    backtrace.iter().map(|frame| frame.frame.pc).collect()
}

/// Without the pc: that of the innermost frame is as near as code that is not precise says.
fn functions(backtrace: &Backtrace) -> Vec<Option<String>> {
    backtrace.iter().map(|frame| frame.function.clone()).collect()
}

#[test]
fn compiled_frames_are_a_prefix_of_the_interpreters() {
    let default = CompileOptions::default();
    let precise = CompileOptions { fidelity: Fidelity::Precise, ..CompileOptions::default() };
    let fuel = CompileOptions { fuel: true, ..CompileOptions::default() };
    for flags in [&["-O2", "-g", "-fomit-frame-pointer"][..], &["-O1", "-fno-omit-frame-pointer"]] {
        let interpreted = Guest::new(flags, None);
        for options in [&default, &precise, &fuel] {
            let compiled = Guest::new(flags, Some(options));
            for which in 0..WAYS {
                for ((trap, after), (expected, _)) in compiled.traps(which).iter().zip(interpreted.traps(which)) {
                    let what = format!("{flags:?} {options:?} {which}: {trap:?}\nexpected {expected:?}");
                    assert_eq!(trap.cause, expected.cause, "{what}");
                    for backtrace in [Some(&trap.backtrace), after.as_ref()].into_iter().flatten() {
                        let (known, all) = (functions(backtrace), functions(&expected.backtrace));
                        assert!(all.len() > 1 && !known.is_empty() && all.starts_with(&known), "{what}");
                        assert!(
                            options.fidelity == Fidelity::AbiAssuming || pcs(backtrace) == pcs(&expected.backtrace),
                            "{what}"
                        );
                        assert_eq!(backtrace.callers_unknown(), options.fidelity == Fidelity::AbiAssuming, "{what}");
                        assert!((options.fidelity == Fidelity::Precise) == (known == all), "{what}");
                        assert_eq!(
                            backtrace.to_string().contains("callers unknown"),
                            options.fidelity == Fidelity::AbiAssuming,
                            "{what}"
                        );
                    }
                }
            }
        }
    }
}
