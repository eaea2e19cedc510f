//! Calls of compiled functions, again and again, by machines and threads that take turns: faults and requests are
//! always those of the machine that runs. The same with functions that the program exports, which have entries of their
//! own for the host, and with such as are called by their symbols.

use std::path::Path;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use riverrun::{
    CallLimits, Caller, CompileOptions, Config, Engine, Error, Fidelity, Flow, Func, HostError, InterruptHandle,
    Linker, Machine, Program, Quick, TrapCause,
};
use riverrun_testkit::tools;

/// What the host does for its guest's call.
type Host = Option<Box<dyn FnMut(Caller<'_, Answer>, u64) -> u64 + Send>>;

#[derive(Default)]
struct Answer(Host);

type Number = Func<(u64,), u64>;
type Nothing = Func<(), u64>;

struct Guest<const EXPORTED: bool> {
    machine: Machine<Answer>,
    twice: Number,
    out: Number,
    wild: Nothing,
    endless: Nothing,
    around: Nothing,
}

fn compiled(engine: &Engine, exported: bool, artifact: &Path, threads: usize) -> Program {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/guests/claims.c");
    let flags: &[&str] = if exported { &["-O2", "-DEXPORTED"] } else { &["-O2"] };
    let elf = tools::compile(env!("CARGO_TARGET_TMPDIR"), &source, flags);
    let program = Program::new(engine, elf).unwrap();
    program.compile_to(&CompileOptions { threads, ..CompileOptions::default() }, artifact).unwrap().0
}

fn program(exported: bool) -> &'static (Linker<Answer>, Program) {
    static PROGRAMS: [OnceLock<(Linker<Answer>, Program)>; 2] = [const { OnceLock::new() }; 2];
    PROGRAMS[usize::from(exported)].get_or_init(|| {
        let engine = Engine::new(&Config::new()).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let program = compiled(&engine, exported, &folder.path().join("claims.rro"), 1);
        let mut linker = Linker::<Answer>::new(&engine);
        let answer = |mut caller: Caller<'_, Answer>, n: u64| {
            assert!(stack_is_aligned());
            match caller.data_mut().0.take() {
                Some(mut host) => host(caller, n),
                None => n,
            }
        };
        linker.syscall(1000, answer).unwrap();
        linker.ecall(|_: Caller<'_, Answer>| Ok(Flow::Continue));
        (linker, program)
    })
}

/// Whether this is called with a stack as the host's convention asks for: compilers rely on it.
#[inline(never)]
fn stack_is_aligned() -> bool {
    #[repr(align(16))]
    struct Aligned(#[expect(dead_code, reason = "its address is looked at")] u8);
    // Not a constant: the compiler would put that elsewhere.
    let on_the_stack = Aligned(std::hint::black_box(0));
    std::hint::black_box(&raw const on_the_stack).addr().is_multiple_of(16)
}

/// Units are compiled by whichever thread is free.
#[test]
fn however_many_threads_compile_the_artifact_is_the_same() {
    let engine = Engine::new(&Config::new()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let artifacts = [1, 2, 3].map(|threads| {
        let artifact = folder.path().join(format!("{threads}.rro"));
        compiled(&engine, true, &artifact, threads);
        std::fs::read(artifact).unwrap()
    });
    assert!(artifacts[0] == artifacts[1] && artifacts[0] == artifacts[2]);
}

/// A machine of `given.c`, whose host function calls the guest back, which takes fuel.
fn given(options: &CompileOptions) -> Machine<()> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/guests/given.c");
    let elf = tools::compile(env!("CARGO_TARGET_TMPDIR"), &source, &["-O1"]);
    let engine = Engine::new(&Config::new()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let program = Program::new(&engine, elf).unwrap();
    let program = program.compile_to(options, folder.path().join("given.rro")).unwrap().0;
    let mut linker = Linker::<()>::new(&engine);
    let host = |mut caller: Caller<'_, ()>| -> Result<u64, HostError> {
        let work = caller.func::<(u64,), u64>("work")?;
        Ok(3 * work.call(&mut caller, (1_000,))?)
    };
    linker.func("given", host).unwrap();
    linker.instantiate(&program, ()).unwrap()
}

/// The guest leaves its compiled code behind the call, as its fuel is no longer what it was, and goes on with the result.
#[test]
fn what_a_host_function_gives_is_there_however_much_fuel_it_has_used() {
    for fidelity in [Fidelity::AbiAssuming, Fidelity::Precise] {
        let mut machine = given(&CompileOptions { fuel: true, fidelity, ..CompileOptions::default() });
        machine.set_fuel(Some(100_000));
        let asked = machine.func::<(u64,), u64>("asked").unwrap();
        assert_eq!(asked.call(&mut machine, (100,)).unwrap(), 121, "{fidelity:?}");
        assert!(machine.fuel().is_some_and(|left| left < 99_000), "{:?} of fuel is left", machine.fuel());
    }
}

#[test]
fn arguments_that_a_host_function_does_not_take_are_there_wherever_the_guest_returns() {
    let mut machine = given(&CompileOptions::default());
    let roundabout = machine.func::<(u64, u64), u64>("roundabout").unwrap();
    for n in 0..3 {
        assert_eq!(roundabout.call(&mut machine, (7, n)).unwrap(), 21 + n);
    }
}

/// A guest chooses its symbols; those of compiled code are beside them.
#[test]
fn functions_named_as_entry_points_of_others_are_their_own() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/guests/named.s");
    let elf = tools::compile(env!("CARGO_TARGET_TMPDIR"), &source, &[]);
    let engine = Engine::new(&Config::new()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let program = Program::new(&engine, elf).unwrap();
    let plain = CompileOptions::default();
    for options in [plain, CompileOptions { fuel: true, ..plain }, CompileOptions { quick: Quick::All, ..plain }] {
        let (compiled, report) = program.compile_to(&options, folder.path().join("named.rro")).unwrap();
        assert_eq!(report.interpreted, [], "{options:?}");
        let mut machine = Linker::<()>::new(&engine).instantiate(&compiled, ()).unwrap();
        // Later calls are on the fast path.
        for n in 0..4 {
            for (name, result) in [("twice", 2 * n), ("hundred", n + 100), ("both", 2 * (n + 100))] {
                let function = machine.func::<(u64,), u64>(name).unwrap();
                assert_eq!(function.call(&mut machine, (n,)).unwrap(), result, "{name}, {options:?}");
            }
        }
    }
}

impl<const EXPORTED: bool> Guest<EXPORTED> {
    fn new() -> Self {
        let (linker, program) = program(EXPORTED);
        let mut machine = linker.instantiate(program, Answer::default()).unwrap();
        let (twice, out) = (machine.func("twice").unwrap(), machine.func("out").unwrap());
        let (wild, endless) = (machine.func("wild").unwrap(), machine.func("endless").unwrap());
        let around = machine.func("around").unwrap();
        Guest { machine, twice, out, wild, endless, around }
    }

    fn assert_works(&mut self) {
        for n in 0..3 {
            assert_eq!(self.twice.call(&mut self.machine, (n,)).unwrap(), 2 * n);
        }
    }

    fn assert_faults(&mut self) {
        assert_wild(self.wild.call(&mut self.machine, ()));
        self.assert_works();
    }

    fn host(&mut self, host: impl FnMut(Caller<'_, Answer>, u64) -> u64 + Send + 'static) {
        self.machine.data_mut().0 = Some(Box::new(host));
    }
}

fn cause(result: Result<u64, Error>) -> TrapCause {
    let error = result.unwrap_err();
    error.trap().unwrap_or_else(|| panic!("{error}")).cause
}

fn assert_wild(result: Result<u64, Error>) {
    assert_eq!(cause(result), TrapCause::LoadFault { address: 16 });
}

fn assert_interrupted(result: Result<u64, Error>) {
    assert_eq!(cause(result), TrapCause::Interrupted);
}

fn assert_late(result: Result<u64, Error>) {
    assert_eq!(cause(result), TrapCause::Deadline);
}

fn machines_take_turns_on_a_thread<const EXPORTED: bool>() {
    let mut guests = [Guest::<EXPORTED>::new(), Guest::<EXPORTED>::new(), Guest::<EXPORTED>::new()];
    for round in 0..10 {
        for guest in &mut guests {
            guest.assert_works();
            if round % 3 == 0 {
                guest.assert_faults();
            }
        }
    }
}

fn a_machine_is_called_while_another_waits<const EXPORTED: bool>() {
    let mut guest = Guest::<EXPORTED>::new();
    for answer in [5, 1, 5, 1] {
        let mut inner = Guest::<EXPORTED>::new();
        guest.assert_works();
        guest.host(move |_, _| {
            inner.assert_works();
            inner.assert_faults();
            // A machine within a machine within a machine.
            inner.host(|_, n| {
                Guest::<EXPORTED>::new().assert_faults();
                n
            });
            assert_eq!(inner.out.call(&mut inner.machine, (7,)).unwrap(), 7);
            answer
        });
        // The fault behind the host function is the outer one's.
        match answer {
            1 => assert_wild(guest.out.call(&mut guest.machine, (3,))),
            _ => assert_eq!(guest.out.call(&mut guest.machine, (3,)).unwrap(), answer),
        }
        guest.assert_faults();
    }
}

fn a_machine_is_called_back_into_while_it_waits<const EXPORTED: bool>() {
    let mut guest = Guest::<EXPORTED>::new();
    let (twice, wild) = (guest.twice, guest.wild);
    for answer in [5, 1] {
        guest.host(move |mut caller, n| {
            assert_eq!(twice.call(&mut caller, (n,)).unwrap(), 2 * n);
            assert_wild(wild.call(&mut caller, ()));
            Guest::<EXPORTED>::new().assert_faults();
            answer
        });
        match answer {
            1 => assert_wild(guest.out.call(&mut guest.machine, (3,))),
            _ => assert_eq!(guest.out.call(&mut guest.machine, (3,)).unwrap(), answer),
        }
        guest.assert_works();
    }
}

fn functions_return_however_they_do<const EXPORTED: bool>() {
    let Guest { mut machine, around, .. } = Guest::<EXPORTED>::new();
    let elsewhere: Nothing = machine.func("elsewhere").unwrap();
    let rounded: Func<(f64, f64), f64> = machine.func("rounded").unwrap();
    let chosen: Number = machine.func("chosen").unwrap();
    let sp = machine.x(2);
    for _ in 0..3 {
        assert_eq!(around.call(&mut machine, ()).unwrap(), 9);
        assert_eq!(elsewhere.call(&mut machine, ()).unwrap(), 9);
        assert_eq!(rounded.call(&mut machine, (1.0, 10.0)).unwrap().to_bits(), 0.1_f64.to_bits() - 1);
        let all: Vec<u64> = (0..7).map(|n| chosen.call(&mut machine, (n,)).unwrap()).collect();
        assert_eq!(all, [4, 4, 16, 4, 5_u64.wrapping_sub(9), 4, 6]);
        assert_eq!(machine.x(2), sp);
    }
}

/// Interrupts a function that never ends, of a machine that this thread or another has called before.
fn assert_can_be_interrupted<const EXPORTED: bool>(guest: &mut Guest<EXPORTED>) {
    let handle: InterruptHandle = guest.machine.interrupt_handle();
    guest.assert_works();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(5));
            handle.interrupt();
        });
        assert_interrupted(guest.endless.call(&mut guest.machine, ()));
    });
    guest.assert_faults();
}

fn machines_move_between_threads<const EXPORTED: bool>() {
    let mut guests = [Guest::<EXPORTED>::new(), Guest::<EXPORTED>::new()];
    for _ in 0..3 {
        guests.iter_mut().for_each(assert_can_be_interrupted);
        std::thread::scope(|scope| {
            for guest in &mut guests {
                scope.spawn(|| assert_can_be_interrupted(guest));
            }
        });
        guests.iter_mut().for_each(Guest::assert_works);
        // Compiled code is gone into otherwise, too.
        std::thread::scope(|scope| {
            for Guest { machine, around, .. } in &mut guests {
                scope.spawn(|| assert_eq!(around.call(machine, ()).unwrap(), 9));
            }
        });
    }
}

fn threads_of_their_own_do_not_disturb_each_other<const EXPORTED: bool>() {
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..20 {
                    let mut guest = Guest::<EXPORTED>::new();
                    guest.assert_faults();
                    let limits = CallLimits::new().timeout(Duration::from_millis(2));
                    assert_late(guest.endless.call_within(&mut guest.machine, limits, ()));
                    guest.assert_works();
                }
            });
        }
    });
}

fn a_request_refuses_the_next_call_only<const EXPORTED: bool>() {
    let mut guest = Guest::<EXPORTED>::new();
    let handle = guest.machine.interrupt_handle();
    for _ in 0..20 {
        guest.assert_works();
        handle.interrupt();
        assert_interrupted(guest.twice.call(&mut guest.machine, (1,)));
    }
    // One that comes while the guest waits for its host: the guest may return before the watchdog has stopped it.
    guest.host(move |_, n| {
        handle.interrupt();
        n
    });
    let first = guest.out.call(&mut guest.machine, (5,));
    match first {
        Ok(n) => {
            assert_eq!(n, 5);
            assert_interrupted(guest.twice.call(&mut guest.machine, (1,)));
        }
        Err(_) => assert_interrupted(first),
    }
    guest.assert_works();
}

fn a_deadline_that_has_passed_refuses_calls_until_it_is_taken_back<const EXPORTED: bool>() {
    let mut guest = Guest::<EXPORTED>::new();
    guest.assert_works();
    guest.machine.set_deadline(Some(Instant::now()));
    for _ in 0..3 {
        assert_late(guest.twice.call(&mut guest.machine, (1,)));
    }
    guest.machine.set_deadline(None);
    guest.assert_works();
}

/// What a host function changes of the machine's registers, and that it does, is seen by later calls.
fn a_host_function_may_change_what_calls_rely_upon<const EXPORTED: bool>() {
    let mut guest = Guest::<EXPORTED>::new();
    let sp = guest.machine.x(2);
    guest.assert_works();
    guest.host(|mut caller, n| {
        caller.set_fcsr(1 << 5);
        n
    });
    assert_eq!(guest.out.call(&mut guest.machine, (5,)).unwrap(), 5);
    guest.assert_works();
    assert_eq!((guest.machine.x(2), guest.machine.fcsr() >> 5), (sp, 1));
}

macro_rules! in_both_ways {
    ($($test:ident)*) => {
        mod by_symbols {
            $(#[test]
            fn $test() {
                super::$test::<false>();
            })*
        }
        mod by_exports {
            $(#[test]
            fn $test() {
                super::$test::<true>();
            })*
        }
    };
}

in_both_ways! {
    machines_take_turns_on_a_thread
    a_machine_is_called_while_another_waits
    a_machine_is_called_back_into_while_it_waits
    machines_move_between_threads
    threads_of_their_own_do_not_disturb_each_other
    a_request_refuses_the_next_call_only
    a_deadline_that_has_passed_refuses_calls_until_it_is_taken_back
    a_host_function_may_change_what_calls_rely_upon
    functions_return_however_they_do
}
