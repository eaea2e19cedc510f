//! Calls of compiled functions, again and again, by machines and threads that take turns: faults and requests are
//! always those of the machine that runs.

use std::path::Path;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use riverrun::{
    CallLimits, Caller, CompileOptions, Config, Engine, Error, Flow, Func, InterruptHandle, Linker, Machine, Program,
    TrapCause,
};
use riverrun_testkit::tools;

/// What the host does for its guest's call.
type Host = Option<Box<dyn FnMut(Caller<'_, Answer>, u64) -> u64 + Send>>;

#[derive(Default)]
struct Answer(Host);

type Number = Func<(u64,), u64>;
type Nothing = Func<(), u64>;

struct Guest {
    machine: Machine<Answer>,
    twice: Number,
    out: Number,
    wild: Nothing,
    endless: Nothing,
    around: Nothing,
}

fn program() -> &'static (Linker<Answer>, Program) {
    static PROGRAM: OnceLock<(Linker<Answer>, Program)> = OnceLock::new();
    PROGRAM.get_or_init(|| {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/guests/claims.c");
        let elf = tools::compile(env!("CARGO_TARGET_TMPDIR"), &source, &["-O2"]);
        let engine = Engine::new(&Config::new()).unwrap();
        let program = Program::new(&engine, elf).unwrap();
        let folder = tempfile::tempdir().unwrap();
        program.compile_to(&CompileOptions::default(), folder.path().join("claims.rro")).unwrap();
        let mut linker = Linker::<Answer>::new(&engine);
        let answer = |mut caller: Caller<'_, Answer>, n: u64| match caller.data_mut().0.take() {
            Some(mut host) => host(caller, n),
            None => n,
        };
        linker.syscall(1000, answer).unwrap();
        linker.ecall(|_: Caller<'_, Answer>| Ok(Flow::Continue));
        (linker, program)
    })
}

impl Guest {
    fn new() -> Guest {
        let (linker, program) = program();
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

#[test]
fn machines_take_turns_on_a_thread() {
    let mut guests = [Guest::new(), Guest::new(), Guest::new()];
    for round in 0..10 {
        for guest in &mut guests {
            guest.assert_works();
            if round % 3 == 0 {
                guest.assert_faults();
            }
        }
    }
}

#[test]
fn a_machine_is_called_while_another_waits() {
    let mut guest = Guest::new();
    for answer in [5, 1, 5, 1] {
        let mut inner = Guest::new();
        guest.assert_works();
        guest.host(move |_, _| {
            inner.assert_works();
            inner.assert_faults();
            // A machine within a machine within a machine.
            inner.host(|_, n| {
                Guest::new().assert_faults();
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

#[test]
fn a_machine_is_called_back_into_while_it_waits() {
    let mut guest = Guest::new();
    let (twice, wild) = (guest.twice, guest.wild);
    for answer in [5, 1] {
        guest.host(move |mut caller, n| {
            assert_eq!(twice.call(&mut caller, (n,)).unwrap(), 2 * n);
            assert_wild(wild.call(&mut caller, ()));
            Guest::new().assert_faults();
            answer
        });
        match answer {
            1 => assert_wild(guest.out.call(&mut guest.machine, (3,))),
            _ => assert_eq!(guest.out.call(&mut guest.machine, (3,)).unwrap(), answer),
        }
        guest.assert_works();
    }
}

/// Interrupts a function that never ends, of a machine that this thread or another has called before.
fn assert_can_be_interrupted(guest: &mut Guest) {
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

#[test]
fn machines_move_between_threads() {
    let mut guests = [Guest::new(), Guest::new()];
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

#[test]
fn threads_of_their_own_do_not_disturb_each_other() {
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..20 {
                    let mut guest = Guest::new();
                    guest.assert_faults();
                    let limits = CallLimits::new().timeout(Duration::from_millis(2));
                    assert_interrupted(guest.endless.call_within(&mut guest.machine, limits, ()));
                    guest.assert_works();
                }
            });
        }
    });
}

#[test]
fn a_request_refuses_the_next_call_only() {
    let mut guest = Guest::new();
    let handle = guest.machine.interrupt_handle();
    for _ in 0..20 {
        guest.assert_works();
        handle.interrupt();
        assert_interrupted(guest.twice.call(&mut guest.machine, (1,)));
    }
    // One that comes while the guest waits for its host, and returns before anybody has stopped it, or not.
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

#[test]
fn a_deadline_that_has_passed_refuses_calls_until_it_is_taken_back() {
    let mut guest = Guest::new();
    guest.assert_works();
    guest.machine.set_deadline(Some(Instant::now()));
    for _ in 0..3 {
        assert_interrupted(guest.twice.call(&mut guest.machine, (1,)));
    }
    guest.machine.set_deadline(None);
    guest.assert_works();
}

/// What a host function changes of the machine's registers, and that it does, is seen by later calls.
#[test]
fn a_host_function_may_change_what_calls_rely_upon() {
    let mut guest = Guest::new();
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
