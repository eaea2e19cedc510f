//! Code that gets better while it runs: machines take it where the dispatcher has control, in runs, in calls, and in calls
//! within calls.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use riverrun::image::Profile;
use riverrun::{
    Caller, CompileOptions, Config, Engine, Error, Fidelity, Flow, HostError, KeptObjects, Linker, Machine, Program,
    Quick, TierUp,
};
use riverrun_testkit::tools;

fn elf() -> Vec<u8> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/guests/tiers.c");
    tools::compile(env!("CARGO_TARGET_TMPDIR"), &source, &["-O2", "-march=rv64gc"])
}

fn profile(program: &Program, functions: &[&str]) -> Profile {
    let mut profile = Profile::default();
    for name in functions {
        let symbol = program.image().symbol(name).unwrap();
        (symbol.address..symbol.address + symbol.size).step_by(2).for_each(|pc| profile.add(pc, 1));
    }
    profile
}

fn compile(program: &Program, functions: &[&str]) {
    let (profile, mut kept) = (profile(program, functions), KeptObjects::default());
    let report = program.compile_hot_now(&CompileOptions::default(), &profile, &mut kept).unwrap();
    assert_eq!(report.functions, functions.len());
}

/// As the guest's function.
fn hot(x: u32) -> u32 {
    x.wrapping_mul(1_664_525).wrapping_add(1_013_904_223)
}

type Ask = Box<dyn FnMut(&mut Caller<'_, Host>, i64) -> i64 + Send>;

/// What the guest's question is answered by.
struct Host(Option<Ask>);

fn linker(engine: &Engine) -> Linker<Host> {
    let mut linker = Linker::<Host>::new(engine);
    linker.ecall(|mut caller: Caller<'_, Host>| -> Result<Flow, HostError> {
        if caller.x(17) == 93 {
            return Ok(Flow::Exit(caller.x(10) as i32));
        }
        let (question, mut ask) = (caller.x(10) as i64, caller.data_mut().0.take().ok_or("it asks in its answer")?);
        let answer = ask(&mut caller, question);
        caller.data_mut().0 = Some(ask);
        caller.set_x(10, answer as u64);
        Ok(Flow::Continue)
    });
    linker
}

fn machine(program: &Program, ask: impl FnMut(&mut Caller<'_, Host>, i64) -> i64 + Send + 'static) -> Machine<Host> {
    linker(program.engine()).instantiate(program, Host(Some(Box::new(ask)))).unwrap()
}

fn interpreted() -> Program {
    Program::new(&Engine::new(&Config::new()).unwrap(), elf()).unwrap()
}

#[test]
fn a_run_goes_on_in_code_that_is_compiled_meanwhile() {
    for (first, then) in
        [(&["hot"][..], &["rounds", "hot"][..]), (&["rounds"], &["hot"]), (&["rounds", "hot"], &["hot"])]
    {
        let program = interpreted();
        let (mut round, mut x) = (0, 1);
        let mut machine = machine(&program, move |caller, question| {
            (0..1000).for_each(|_| x = hot(x));
            assert_eq!(question as u32, x, "round {round}");
            round += 1;
            match round {
                3 => compile(caller.program(), first),
                6 => compile(caller.program(), then),
                9 => return -1,
                _ => {}
            }
            round
        });
        machine.set_x(10, 0);
        assert_eq!(machine.run().unwrap(), (1..9).sum::<i64>() as i32, "{first:?} {then:?}");
    }
}

#[test]
fn what_is_compiled_is_interpreted_no_more() {
    let program = interpreted();
    let mut round = 0;
    let mut counted = 0;
    let mut machine = machine(&program, move |caller, _| {
        round += 1;
        if round == 2 {
            compile(caller.program(), &["rounds", "hot"]);
        }
        if round == 3 {
            counted = caller.instructions();
        }
        if round < 100 {
            return 0;
        }
        // Compiled code does not count, and a round has more than 3,000 instructions.
        assert!(caller.instructions() - counted < 3_000, "{}", caller.instructions() - counted);
        -1
    });
    machine.set_x(10, 0);
    machine.run().unwrap();
}

#[test]
fn parts_are_compiled_for_fuel_and_precisely() {
    let expected = {
        let mut machine = machine(&interpreted(), |_, _| 0);
        machine.set_x(10, 1);
        machine.set_x(11, 1000);
        (machine.run().unwrap(), machine.instructions())
    };
    for fidelity in [Fidelity::AbiAssuming, Fidelity::Precise] {
        let program = interpreted();
        let options = CompileOptions { fuel: true, fidelity, ..CompileOptions::default() };
        let mut machine = machine(&program, |_, _| 0);
        machine.set_x(10, 1);
        machine.set_x(11, 1000);
        let mut slices = 0;
        let status = loop {
            machine.set_fuel(Some(777));
            match machine.run() {
                Ok(status) => break status,
                Err(Error::Trap(_)) => slices += 1,
                Err(error) => panic!("{error}"),
            }
            if slices == 2 {
                program.compile_hot_now(&options, &profile(&program, &["spin"]), &mut KeptObjects::default()).unwrap();
            }
        };
        assert_eq!((status, machine.instructions()), expected);
        assert!(slices > 3);
    }
}

#[test]
fn functions_are_called_whenever_they_were_looked_up() {
    let program = interpreted();
    let mut machines = [machine(&program, |_, _| 0), machine(&program, |_, _| 0)];
    let mut functions = Vec::new();
    for parts in [&[][..], &["spin"], &["hot"], &["hot", "nested"]] {
        if !parts.is_empty() {
            compile(&program, parts);
        }
        functions.push(machines[0].func::<(u32,), u32>("hot").unwrap());
        for machine in &mut machines {
            for x in 0..20 {
                for function in &functions {
                    assert_eq!(function.call(machine, (x,)).unwrap(), hot(x), "{parts:?}");
                }
            }
        }
    }
    // A thread of its own, with a machine that has not seen any of it.
    let mut fresh = machine(&program, |_, _| 0);
    std::thread::spawn(move || functions.iter().for_each(|f| assert_eq!(f.call(&mut fresh, (7,)).unwrap(), hot(7))))
        .join()
        .unwrap();
}

#[test]
fn code_gets_better_within_nested_calls() {
    fn nested(depth: i64) -> i64 {
        let inside = if depth > 0 { nested(depth - 1) } else { 0 };
        i64::from(hot(depth as u32)) + inside + i64::from(hot(inside as u32))
    }
    for first in [&["nested"][..], &["nested", "hot"], &["hot"]] {
        let program = interpreted();
        let mut linker = Linker::<()>::new(program.engine());
        linker.ecall(move |mut caller: Caller<'_, ()>| -> Result<Flow, HostError> {
            let depth = caller.x(10) as i64;
            let parts = match depth {
                3 => first,
                2 => &["hot"],
                1 => &["nested", "hot"],
                _ => &["nested"],
            };
            compile(caller.program(), parts);
            let function = caller.func::<(i64,), i64>("nested").unwrap();
            let result = function.call(&mut caller, (depth,))?;
            caller.set_x(10, result as u64);
            Ok(Flow::Continue)
        });
        let mut machine = linker.instantiate(&program, ()).unwrap();
        let function = machine.func::<(i64,), i64>("nested").unwrap();
        for _ in 0..3 {
            assert_eq!(function.call(&mut machine, (4,)).unwrap(), nested(4), "{first:?}");
        }
    }
}

/// What a script takes for the compiler's.
fn compiler(folder: &Path) -> PathBuf {
    let script = r#"case "$* " in *"--quick=most "*) name=quick ;; *) name=artifact ;; esac
        while [ "$1" != --output ]; do shift; done; cp "${0%/*}/$name" "$2.new"; mv "$2.new" "$2""#;
    let write = "printf '#!/bin/sh\n%s\n' \"$SCRIPT\" > compiler && chmod +x compiler";
    let mut shell = Command::new("sh");
    shell.args(["-c", write]).env("SCRIPT", script).current_dir(folder);
    assert!(shell.status().unwrap().success());
    folder.join("compiler")
}

/// A program that is compiled in the background by a script, which copies what this test has compiled: of these functions
/// quick code first, then LLVM's of those. Where a file of the cache ends in this, it is there at the start.
fn tiering_from(folder: &Path, quick: &[&str], functions: &[&str], kept: (&str, impl AsRef<[u8]>)) -> Program {
    let plain = interpreted();
    for (name, functions) in [("quick", quick), ("artifact", functions)] {
        let quick = if name == "quick" { Quick::All } else { Quick::Nothing };
        let options = CompileOptions { quick, ..CompileOptions::default() };
        let (artifact, _) = plain.compile_hot(&options, &profile(&plain, functions), |_, _| {}).unwrap();
        std::fs::write(folder.join(name), artifact).unwrap();
    }
    let cache = folder.join("cache");
    std::fs::create_dir_all(&cache).unwrap();
    std::fs::write(cache.join(plain.artifact_name(false)).with_extension(kept.0), kept.1).unwrap();
    let mut config = Config::new();
    // SAFETY: all of it is the test's own.
    unsafe { config.cache(&cache).tier_up(TierUp::new(compiler(folder))) };
    Program::new(&Engine::new(&config).unwrap(), elf()).unwrap()
}

/// One with the profile of long runs: its first sample makes a compilation worthwhile.
fn tiering(folder: &Path, quick: &[&str], functions: &[&str]) -> Program {
    let entry = interpreted().image().symbol("hot").unwrap().address;
    tiering_from(
        folder,
        quick,
        functions,
        ("profile", format!("riverrun profile 3\ninterpreted 50000\n{entry:#x} 100000\n")),
    )
}

#[test]
fn a_loop_without_calls_is_left_to_compiled_code_while_it_runs() {
    let folder = tempfile::tempdir().unwrap();
    let program = tiering(folder.path(), &["spin"], &["spin"]);
    let times: u32 = 1 << 29;
    let mut machine = machine(&program, |_, _| 0);
    machine.set_x(10, 1);
    machine.set_x(11, times.into());
    machine.run().unwrap();
    assert!(program.tier_up().unwrap().compilations >= 1);
    assert!(machine.instructions() < u64::from(times), "{}", machine.instructions());
}

/// Whether the code is quick code.
fn is_quick(program: &Program) -> bool {
    program.compiled_options().unwrap().quick >= Quick::Most
}

#[test]
fn a_loop_in_quick_code_goes_on_in_what_llvm_makes_meanwhile() {
    let folder = tempfile::tempdir().unwrap();
    // LLVM's code has no loop: it is interpreted then, which makes samples.
    let program = tiering(folder.path(), &["spin"], &["hot"]);
    let mut machine = machine(&program, |_, _| 0);
    machine.set_x(10, 1);
    machine.set_x(11, u32::MAX.into());
    let handle = machine.interrupt_handle();
    let run = std::thread::spawn(move || machine.run().map_err(|error| error.to_string()));
    let end = Instant::now() + Duration::from_secs(60);
    let wait_for = |is_so: &dyn Fn() -> bool| {
        while !is_so() {
            assert!(Instant::now() < end && !run.is_finished(), "{:?}", program.tier_up());
            std::thread::sleep(Duration::from_millis(1));
        }
    };
    wait_for(&|| program.is_compiled() && !is_quick(&program));
    let samples = program.tier_up().unwrap().samples;
    wait_for(&|| program.tier_up().unwrap().samples > samples + 10);
    handle.interrupt();
    assert!(run.join().unwrap().is_err());
}

#[test]
fn quick_code_of_an_earlier_run_is_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let quick = {
        let plain = interpreted();
        let options = CompileOptions { quick: Quick::All, ..CompileOptions::default() };
        plain.compile_hot(&options, &profile(&plain, &["rounds", "hot"]), |_, _| {}).unwrap().0
    };
    let program = tiering_from(folder.path(), &["hot"], &["rounds", "hot"], ("hot.rro", quick));
    assert!(is_quick(&program) && program.tier_up().unwrap().is_quick);
    let end = Instant::now() + Duration::from_secs(60);
    let mut machine = machine(&program, move |caller, _| {
        assert!(Instant::now() < end, "{:?}", caller.program().tier_up());
        if is_quick(caller.program()) { 0 } else { -1 }
    });
    machine.set_x(10, 0);
    machine.run().unwrap();
    let statistics = program.tier_up().unwrap();
    assert_eq!((statistics.is_quick, statistics.functions, statistics.failure), (false, 2, None));
    let map = program.perf_map().unwrap();
    assert_eq!(map.lines().filter(|line| line.ends_with(" guest::hot")).count(), 2, "of both: {map}");
}

#[test]
fn many_machines_share_what_one_compiler_has_made() {
    let folder = tempfile::tempdir().unwrap();
    let program = tiering(folder.path(), &["rounds", "hot"], &["rounds", "hot"]);
    let end = Instant::now() + Duration::from_secs(60);
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                let mut counted = 0;
                let mut machine = machine(&program, move |caller, _| {
                    assert!(Instant::now() < end, "{:?}", caller.program().tier_up());
                    let since = caller.instructions() - counted;
                    counted = caller.instructions();
                    // A round has more than 3,000 instructions, of which compiled code counts none.
                    if since < 3_000 { -1 } else { 0 }
                });
                machine.set_x(10, 0);
                machine.run().unwrap();
            });
        }
    });
    let compilations = program.tier_up().unwrap().compilations;
    assert!((1..=3).contains(&compilations), "quick code, and LLVM's twice: {compilations}");
}

#[test]
fn what_another_process_compiles_is_waited_for_and_used() {
    let folder = tempfile::tempdir().unwrap();
    let program = tiering(folder.path(), &["hot"], &["rounds", "hot"]);
    let file = |extension| folder.path().join("cache").join(program.artifact_name(false)).with_extension(extension);
    let lock = File::create(file("lock")).unwrap();
    lock.try_lock().unwrap();
    // Its own compiler would fail.
    std::fs::write(folder.path().join("compiler"), "#!/bin/sh\nexit 1\n").unwrap();
    let (made, place) = (folder.path().join("artifact"), file("hot.rro"));
    let (mut lock, mut round) = (Some(lock), 0);
    let end = Instant::now() + Duration::from_secs(60);
    let mut machine = machine(&program, move |caller, _| {
        let statistics = caller.program().tier_up().unwrap();
        assert!(Instant::now() < end, "{statistics:?}");
        round += i64::from(statistics.is_compiling);
        if round == 100 {
            // Until the thread that compiles has come to wait, also on a busy machine.
            std::thread::sleep(Duration::from_secs(1));
            std::fs::rename(&made, &place).unwrap();
            drop(lock.take());
        }
        if statistics.compilations == 0 && statistics.failure.is_none() { 0 } else { -1 }
    });
    machine.set_x(10, 0);
    machine.run().unwrap();
    let statistics = program.tier_up().unwrap();
    assert_eq!((statistics.functions, statistics.is_quick, statistics.failure), (2, false, None));
}

#[test]
fn the_next_start_begins_with_what_was_compiled() {
    let folder = tempfile::tempdir().unwrap();
    let program = tiering(folder.path(), &["rounds", "hot"], &["rounds", "hot"]);
    let end = Instant::now() + Duration::from_secs(60);
    let mut machine = machine(&program, move |caller, _| {
        assert!(Instant::now() < end);
        if !caller.program().is_compiled() || is_quick(caller.program()) { 0 } else { -1 }
    });
    machine.set_x(10, 0);
    machine.run().unwrap();
    let statistics = program.tier_up().unwrap();
    assert_eq!((statistics.functions, statistics.failure), (2, None));

    let next = Program::new(program.engine(), elf()).unwrap();
    assert!(next.is_compiled());
    let statistics = next.tier_up().unwrap();
    assert_eq!((statistics.functions, statistics.compilations), (2, 0));
    let mut round = 0;
    let mut machine = self::machine(&next, move |_, _| {
        round += 1;
        if round < 100 { 0 } else { -1 }
    });
    machine.set_x(10, 0);
    machine.run().unwrap();
    assert!(machine.instructions() < 10_000, "{}", machine.instructions());
    assert_eq!(next.tier_up().unwrap().compilations, 0, "nothing is new");
}

#[test]
fn whole_code_in_the_cache_is_preferred() {
    let folder = tempfile::tempdir().unwrap();
    let program = tiering(folder.path(), &["hot"], &["hot"]);
    let whole = folder.path().join("cache").join(program.artifact_name(false));
    interpreted().compile_to(&CompileOptions::default(), &whole).unwrap();
    let next = Program::new(program.engine(), elf()).unwrap();
    assert!(next.is_compiled() && next.tier_up().is_none());
}
