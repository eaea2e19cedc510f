//! Compiled code ends with its time, whatever it does, and its machine says how it stands then.

use std::path::Path;
use std::process::Command;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use riverrun::{Caller, CompileOptions, Config, Engine, Error, Fidelity, Flow, Linker, Machine, Program, TrapCause};
use riverrun_testkit::{Random, processor_time, tools};

const CHILD: &str = "RIVERRUN_TEST_CHILD";
/// What the guest does for these arguments ends with its time only; the last one bounces between
/// compiled code and the interpreter.
const ENDLESS: std::ops::Range<u64> = 0..6;
/// It recurses without end.
const RECURSION: u64 = 6;
/// It exits with this status.
const EXIT: u64 = 7;
/// What a run may use of the processor beyond its time.
const PATIENCE: Duration = Duration::from_secs(5);

struct Guest {
    linker: Linker<()>,
    program: Program,
}

impl Guest {
    fn new(options: &CompileOptions) -> Guest {
        Guest::of("endless.c", options)
    }

    fn of(source: &str, options: &CompileOptions) -> Guest {
        let engine = Engine::new(&Config::new()).unwrap();
        let mut linker = Linker::new(&engine);
        linker.ecall(|caller: Caller<'_, ()>| Ok(Flow::Exit(caller.x(10) as i32)));
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/guests").join(source);
        let elf = tools::compile(env!("CARGO_TARGET_TMPDIR"), &source, &["-O2", "-fno-optimize-sibling-calls"]);
        let program = Program::new(&engine, elf).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let (program, _) = program.compile_to(options, folder.path().join("guest.rro")).unwrap();
        Guest { linker, program }
    }

    fn machine(&self, which: u64) -> Machine<()> {
        let mut machine = self.linker.instantiate(&self.program, ()).unwrap();
        machine.set_x(10, which);
        machine
    }
}

/// Code without fuel, which exits where it polls.
fn guest() -> &'static Guest {
    static GUEST: OnceLock<Guest> = OnceLock::new();
    GUEST.get_or_init(|| Guest::new(&CompileOptions::default()))
}

fn assert_ended(result: Result<i32, Error>, cause: TrapCause) {
    let error = result.unwrap_err();
    assert_eq!(error.trap().map(|trap| trap.cause), Some(cause), "{error}");
}

/// Runs until the deadline, and asserts that it ends then, and goes on not much longer.
fn assert_ends_in_time(machine: &mut Machine<()>, time: Duration) {
    let (begin, used_before) = (Instant::now(), processor_time());
    machine.set_deadline(Some(begin + time));
    assert_ended(machine.run(), TrapCause::Deadline);
    let (took, used) = (begin.elapsed(), processor_time() - used_before);
    assert!(took >= time && used < time + PATIENCE, "{took:?}, of which {used:?} used, instead of {time:?}");
    machine.set_deadline(None);
}

#[test]
fn deadlines_end_every_loop() {
    for which in ENDLESS.filter(|&which| which != 4) {
        assert_ends_in_time(&mut guest().machine(which), Duration::from_millis(20));
    }
}

#[test]
fn deadlines_that_have_passed_end_runs_at_once() {
    let mut machine = guest().machine(0);
    machine.set_deadline(Some(Instant::now()));
    let before = processor_time();
    assert_ended(machine.run(), TrapCause::Deadline);
    assert!(processor_time() - before < PATIENCE);
    machine.set_x(10, EXIT);
    machine.set_deadline(None);
    assert_eq!(machine.run().unwrap(), EXIT as i32);
}

#[test]
fn many_threads_end_at_their_own_deadlines() {
    std::thread::scope(|scope| {
        for thread in 0..16 {
            scope.spawn(move || {
                for round in 0..10 {
                    let which = (thread + round) % 4;
                    let time = Duration::from_millis(5 + (thread * 7 + round * 3) % 20);
                    assert_ends_in_time(&mut guest().machine(which), time);
                }
            });
        }
    });
}

#[test]
fn requests_end_runs_on_other_threads() {
    for which in [0, 1, 2] {
        let mut machine = guest().machine(which);
        let handle = machine.interrupt_handle();
        for wait in [0, 1, 10] {
            machine.set_pc(machine.program().image().entry());
            machine.set_x(10, which);
            std::thread::scope(|scope| {
                let run = scope.spawn(|| machine.run());
                std::thread::sleep(Duration::from_millis(wait));
                handle.interrupt();
                assert_ended(run.join().unwrap(), TrapCause::Interrupted);
            });
        }
    }
}

/// Whether a request comes before, while or after code is entered, it is never overlooked.
#[test]
fn requests_at_any_moment_are_seen() {
    let mut machine = guest().machine(0);
    let handle = machine.interrupt_handle();
    for round in 0..200 {
        machine.set_pc(machine.program().image().entry());
        machine.set_x(10, 0);
        std::thread::scope(|scope| {
            let run = scope.spawn(|| machine.run());
            (0..round * 50).for_each(|_| std::hint::spin_loop());
            handle.interrupt();
            assert_ended(run.join().unwrap(), TrapCause::Interrupted);
        });
    }
}

/// How compiled code may find out that it is to stop.
fn every_kind_of_code() -> [CompileOptions; 3] {
    let default = CompileOptions::default();
    [default, CompileOptions { fidelity: Fidelity::Precise, ..default }, CompileOptions { fuel: true, ..default }]
}

#[test]
fn a_run_that_its_deadline_has_stopped_goes_on() {
    for options in every_kind_of_code() {
        let guest = Guest::new(&options);
        for which in ENDLESS.filter(|&which| which != 4) {
            let mut machine = guest.machine(which);
            for _ in 0..3 {
                assert_ends_in_time(&mut machine, Duration::from_millis(20));
            }
        }
    }
}

/// Runs a machine to its end, and stops it at random moments until then: by a request, or by a deadline. Returns how
/// often it was stopped, and its status.
fn run_amid_stops(machine: &mut Machine<()>, random: &mut Random) -> (usize, i32) {
    let handle = machine.interrupt_handle();
    // 0: nothing runs; 1: a run has begun that is to be stopped; 2: all is done.
    let phase = AtomicUsize::new(0);
    let waits: Vec<usize> = (0..64).map(|_| random.below(4_000)).collect();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for wait in waits.iter().cycle() {
                while phase.load(Ordering::SeqCst) == 0 {
                    std::thread::yield_now();
                }
                (0..*wait).for_each(|_| std::hint::spin_loop());
                match phase.compare_exchange(1, 0, Ordering::SeqCst, Ordering::SeqCst) {
                    Ok(_) => handle.interrupt(),
                    Err(2) => return,
                    Err(_) => {}
                }
            }
        });
        let mut stops = 0;
        loop {
            let by_deadline = random.one_in(4);
            if by_deadline {
                machine.set_deadline(Some(Instant::now() + Duration::from_micros(random.below(800) as u64)));
            } else {
                phase.store(1, Ordering::SeqCst);
            }
            let result = machine.run();
            let _ = phase.compare_exchange(1, 0, Ordering::SeqCst, Ordering::SeqCst);
            machine.set_deadline(None);
            match result {
                Ok(status) => {
                    phase.store(2, Ordering::SeqCst);
                    return (stops, status);
                }
                Err(error) => {
                    let cause = error.trap().unwrap_or_else(|| panic!("{error}")).cause;
                    assert!(matches!(cause, TrapCause::Interrupted | TrapCause::Deadline), "{cause}");
                    stops += 1;
                }
            }
        }
    })
}

#[test]
fn a_run_that_is_stopped_a_thousand_times_comes_to_the_same_end() {
    for options in every_kind_of_code() {
        let guest = Guest::of("stopped.c", &options);
        let status = guest.machine(0).run().unwrap();
        let mut random = Random::seeded(7);
        let mut stops = 0;
        while stops < 1_000 {
            let (stopped, ended) = run_amid_stops(&mut guest.machine(0), &mut random);
            assert_eq!(ended, status, "{options:?}, stopped {stopped} times");
            stops += stopped;
        }
    }
}

/// A loop whose table compiled code knows goes on in it where it was stopped, unless the host has changed what is known.
#[test]
fn a_stopped_switch_goes_on_by_the_table_that_its_register_has() {
    const ROUNDS: u64 = 1 << 26;
    const LEFT: u64 = 1_000;
    let guest = Guest::of("switched.s", &CompileOptions::default());
    let other = guest.program.image().symbol("other").unwrap().address;
    let stopped = || {
        let mut machine = guest.machine(ROUNDS);
        machine.set_deadline(Some(Instant::now() + Duration::from_millis(2)));
        assert_ended(machine.run(), TrapCause::Deadline);
        machine.set_deadline(None);
        machine
    };
    let mut machine = stopped();
    assert_eq!(machine.run().unwrap(), (ROUNDS / 4 * (1 + 2 + 3 + 4)) as i32);
    assert!(machine.instructions() < ROUNDS, "{}", machine.instructions());
    let mut machine = stopped();
    let before = machine.x(10);
    machine.set_x(8, other);
    machine.set_x(18, LEFT);
    assert_eq!(machine.run().unwrap(), (before + 16 * LEFT) as i32);
}

#[test]
fn endless_recursion_is_a_trap() {
    for fuel in [false, true] {
        let guest = Guest::new(&CompileOptions { fuel, ..CompileOptions::default() });
        for which in [4, RECURSION] {
            let error = guest.machine(which).run().unwrap_err();
            let cause = error.trap().unwrap_or_else(|| panic!("{error}")).cause;
            assert!(matches!(cause, TrapCause::StackOverflow { .. }), "{cause}");
        }
    }
}

/// As threads of C are, and of languages that make no stack for signals: the handlers run on the stack of compiled code.
#[test]
fn threads_without_a_stack_for_signals_survive() {
    let body = || {
        let none = libc::stack_t { ss_sp: std::ptr::null_mut(), ss_flags: libc::SS_DISABLE, ss_size: 0 };
        let mut present = none;
        // SAFETY: both are valid, and nothing runs on the thread's signal stack now; the thread's end only unmaps it.
        unsafe {
            assert_eq!(libc::sigaltstack(&raw const none, std::ptr::null_mut()), 0);
            assert_eq!(libc::sigaltstack(std::ptr::null(), &raw mut present), 0);
        }
        assert_eq!(present.ss_flags, libc::SS_DISABLE);
        for _ in 0..3 {
            for which in ENDLESS.filter(|&which| which != 4) {
                assert_ends_in_time(&mut guest().machine(which), Duration::from_millis(10));
            }
            let error = guest().machine(RECURSION).run().unwrap_err();
            assert!(matches!(error.trap().unwrap().cause, TrapCause::StackOverflow { .. }), "{error}");
            assert_eq!(guest().machine(EXIT).run().unwrap(), EXIT as i32);
        }
    };
    std::thread::spawn(body).join().unwrap();
}

/// Runs the named test of this file again in a process of its own: handlers are the process's.
fn in_a_process_of_its_own(name: &str, body: impl FnOnce()) {
    if std::env::var_os(CHILD).is_some() {
        return body();
    }
    let this = std::env::current_exe().expect("a test has a path");
    let output = Command::new(this).args(["--exact", name, "--nocapture"]).env(CHILD, "1").output().expect("it runs");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {errors}", output.status);
}

/// How often the host's handler was called.
static CALLS: AtomicUsize = AtomicUsize::new(0);
/// What handled the signal before the host's handler, if that passes on.
static PREVIOUS: AtomicUsize = AtomicUsize::new(0);

extern "C" fn host_handler(signal: i32, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    CALLS.fetch_add(1, Ordering::SeqCst);
    let previous = PREVIOUS.load(Ordering::SeqCst);
    if previous != 0 {
        // SAFETY: what was there before is riverrun's handler, which takes these arguments.
        unsafe {
            let handler: extern "C" fn(i32, *mut libc::siginfo_t, *mut libc::c_void) = std::mem::transmute(previous);
            handler(signal, info, context);
        }
    }
}

fn install_host_handler(passes_on: bool) {
    // SAFETY: a handler of the right signature.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = host_handler as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
        let mut previous: libc::sigaction = std::mem::zeroed();
        assert_eq!(libc::sigaction(libc::SIGURG, &action, &mut previous), 0);
        if passes_on {
            PREVIOUS.store(previous.sa_sigaction, Ordering::SeqCst);
        }
    }
}

/// The host's own signal reaches the host's handler.
fn assert_host_is_signalled() {
    let calls = CALLS.load(Ordering::SeqCst);
    // SAFETY: the signal has a handler.
    unsafe { libc::raise(libc::SIGURG) };
    assert_eq!(CALLS.load(Ordering::SeqCst), calls + 1);
}

#[test]
fn a_handler_that_was_there_before_keeps_its_signals() {
    in_a_process_of_its_own("a_handler_that_was_there_before_keeps_its_signals", || {
        install_host_handler(false);
        assert_ends_in_time(&mut guest().machine(0), Duration::from_millis(5));
        assert_eq!(CALLS.load(Ordering::SeqCst), 0, "what is not the host's is not passed on");
        assert_host_is_signalled();
    });
}

#[test]
fn a_handler_that_comes_later_and_passes_on_is_no_hindrance() {
    in_a_process_of_its_own("a_handler_that_comes_later_and_passes_on_is_no_hindrance", || {
        assert_ends_in_time(&mut guest().machine(0), Duration::from_millis(5));
        install_host_handler(true);
        for _ in 0..3 {
            assert_ends_in_time(&mut guest().machine(0), Duration::from_millis(5));
            assert_host_is_signalled();
        }
    });
}

#[test]
fn a_handler_that_comes_later_and_keeps_everything_is_no_hindrance() {
    in_a_process_of_its_own("a_handler_that_comes_later_and_keeps_everything_is_no_hindrance", || {
        assert_ends_in_time(&mut guest().machine(0), Duration::from_millis(5));
        install_host_handler(false);
        for _ in 0..3 {
            assert_ends_in_time(&mut guest().machine(0), Duration::from_millis(5));
            assert_host_is_signalled();
        }
    });
}

#[test]
fn a_thread_that_blocks_the_signal_is_interrupted_all_the_same() {
    std::thread::spawn(|| {
        // SAFETY: the set is this frame's own.
        unsafe {
            let mut all: libc::sigset_t = std::mem::zeroed();
            libc::sigfillset(&mut all);
            libc::pthread_sigmask(libc::SIG_BLOCK, &all, std::ptr::null_mut());
        }
        assert_ends_in_time(&mut guest().machine(0), Duration::from_millis(5));
    })
    .join()
    .unwrap();
}
