//! Guests that wait for async host functions, in every engine.

use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use riverrun::{
    AsyncCaller, Caller, Config, Engine, Error, Func, Hart, HostError, InterruptHandle, Linker, Machine, Program, Ptr,
    Slice, TrapCause,
};
use riverrun_testkit::tools;
use tokio::sync::Semaphore;

use crate::configurations::configurations;

mod configurations;

/// How often a host function waits before it is ready, and what else it does.
#[derive(Clone, Copy, Debug)]
struct Host {
    waits: u32,
    calls: u32,
    fails: bool,
    panics: bool,
}

impl Host {
    fn new(waits: u32) -> Host {
        Host { waits, calls: 0, fails: false, panics: false }
    }
}

/// Is pending so often; for ever if that is [`u32::MAX`].
async fn wait(mut times: u32) {
    poll_fn(|context| match times {
        0 => Poll::Ready(()),
        u32::MAX => Poll::Pending,
        _ => {
            times -= 1;
            context.waker().wake_by_ref();
            Poll::Pending
        }
    })
    .await
}

fn register(linker: &mut Linker<Host>) -> Result<(), Error> {
    linker.func_async("later", |mut caller: AsyncCaller<'_, Host>, (n,): (i64,)| {
        caller.data_mut().calls += 1;
        Box::pin(async move {
            wait(caller.data().waits).await;
            if caller.data().fails {
                return Err("the data base is away".into());
            }
            assert!(!caller.data().panics, "the host panics");
            Ok(n * 5 + 1)
        })
    })?;
    linker.func_async("sum_later", |caller: AsyncCaller<'_, Host>, (a, b): (f64, i32)| {
        Box::pin(async move {
            wait(caller.data().waits).await;
            Ok(a + f64::from(b))
        })
    })?;
    linker.func_async("fill_later", |mut caller: AsyncCaller<'_, Host>, (bytes,): (Slice<u8>,)| {
        Box::pin(async move {
            wait(caller.data().waits).await;
            bytes.get_mut(caller.memory_mut())?.fill(3);
            Ok(())
        })
    })?;
    linker.func_async("twice_later", |mut caller: AsyncCaller<'_, Host>, (function, n): (Ptr<u8>, i64)| {
        Box::pin(async move {
            let function = caller.func_at::<(i64,), i64>(function.address())?;
            let once = function.call(&mut *caller, (n,))?;
            wait(caller.data().waits).await;
            Ok(function.call(&mut *caller, (once,))?)
        })
    })?;
    linker.func("plain", |mut caller: Caller<'_, Host>, n: i64| -> Result<i64, HostError> {
        if n > -1000 {
            return Ok(n ^ 0x55);
        }
        let nested = caller.func::<(i64,), i64>("nested")?;
        Ok(nested.call(&mut caller, (n + 1000 - 1,))?)
    })?;
    Ok(())
}

struct Guest {
    name: &'static str,
    linker: Linker<Host>,
    program: Program,
}

impl Guest {
    fn new(name: &'static str, config: &Config) -> Guest {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/guests/waits.c");
        let elf = tools::compile(env!("CARGO_TARGET_TMPDIR"), &source, &["-O2"]);
        let engine = Engine::new(config).unwrap();
        let mut linker = Linker::new(&engine);
        register(&mut linker).unwrap();
        Guest { name, linker, program: Program::new(&engine, elf).unwrap() }
    }

    fn machine(&self, host: Host) -> Machine<Host> {
        self.linker.instantiate(&self.program, host).unwrap()
    }
}

/// The program in every engine.
fn guests() -> &'static [Guest] {
    static GUESTS: OnceLock<Vec<Guest>> = OnceLock::new();
    GUESTS.get_or_init(|| configurations().iter().map(|(name, config)| Guest::new(name, config)).collect())
}

/// Wakes a thread.
struct Unpark(Thread, AtomicBool);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.1.store(true, Ordering::SeqCst);
        self.0.unpark();
    }
}

/// Runs a future on this thread: an executor in ten lines.
fn block_on<F: Future>(future: F) -> F::Output {
    let unpark = Arc::new(Unpark(thread::current(), AtomicBool::new(false)));
    let waker = Waker::from(unpark.clone());
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return output;
        }
        while !unpark.1.swap(false, Ordering::SeqCst) {
            thread::park();
        }
    }
}

/// Polls so often, and gives the future up.
fn give_up_after<F: Future>(polls: u32, future: F) {
    let mut future = pin!(future);
    for _ in 0..polls {
        assert!(future.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    }
}

fn trap<T: std::fmt::Debug>(result: Result<T, Error>) -> TrapCause {
    result.unwrap_err().trap().expect("a trap").cause
}

#[test]
fn a_guest_that_waits_gives_the_same_results() {
    for guest in guests() {
        let outcome = |waits: u32| {
            let mut machine = guest.machine(Host::new(waits));
            let status = block_on(machine.run_async()).unwrap();
            let [loops, deep, fill, back] = ["loop", "deep", "fill", "back"].map(|name| {
                // `fill` takes an unsigned number.
                match name {
                    "fill" => {
                        let fill = machine.func::<(u64,), i64>(name).unwrap();
                        block_on(fill.call_async(&mut machine, (1000,))).unwrap()
                    }
                    _ => {
                        let function = machine.func::<(i64,), i64>(name).unwrap();
                        block_on(function.call_async(&mut machine, (12,))).unwrap()
                    }
                }
            });
            let floats = machine.func::<(i32,), f64>("floats").unwrap();
            let floats = block_on(floats.call_async(&mut machine, (9,))).unwrap();
            (status, loops, deep, fill, back, floats.to_bits(), machine.instructions())
        };
        let expected = outcome(0);
        assert_eq!((expected.3, expected.4), (3000, 12 + 7 + 7 + 12), "{}", guest.name);
        for waits in 1..4 {
            let mut found = outcome(waits);
            if matches!(guest.name, "compiled" | "compiled precisely") {
                // Only what is interpreted counts.
                found.6 = expected.6;
            }
            assert_eq!(found, expected, "{}, waiting {waits} times", guest.name);
        }
    }
}

#[test]
fn a_guest_that_waits_keeps_all_registers_but_results() {
    for guest in guests() {
        let mut machine = guest.machine(Host::new(1));
        let kept = machine.func::<(i64,), i64>("kept").unwrap();
        for n in [1, 1000, -5] {
            let [a0, a1, a2, a3, a4, a5, t0]: [i64; 7] = [n * 5 + 1, n * 3, n ^ 5, n + 7, n - 11, n * 13, n ^ 17];
            let expected = (a0 * 3) ^ (a1 * 5) ^ (a2 * 7) ^ (a3 * 11) ^ (a4 * 13) ^ (a5 * 17) ^ (t0 * 19);
            assert_eq!(block_on(kept.call_async(&mut machine, (n,))).unwrap(), expected, "{}", guest.name);
        }
    }
}

#[test]
fn runs_that_cannot_wait_are_errors() {
    for guest in guests() {
        let mut machine = guest.machine(Host::new(0));
        let deep = machine.func::<(i64,), i64>("deep").unwrap();
        let expected = block_on(deep.call_async(&mut machine, (3,))).unwrap();
        let error = deep.call(&mut machine, (3,)).unwrap_err().to_string();
        assert!(error.contains("later") && error.contains("run_async"), "{}: {error}", guest.name);
        assert!(machine.run().unwrap_err().to_string().contains("run_async"));
        assert_eq!(block_on(deep.call_async(&mut machine, (3,))).unwrap(), expected);
        // A call that a host function makes.
        let nested = machine.func::<(i64,), i64>("nested").unwrap();
        let error = block_on(nested.call_async(&mut machine, (1,))).unwrap_err().to_string();
        assert!(error.contains("plain") && error.contains("later") && error.contains("async"), "{error}");
    }
}

#[test]
fn limits_hold_while_a_guest_waits() {
    for guest in guests() {
        let mut machine = guest.machine(Host::new(u32::MAX));
        let begin = Instant::now();
        machine.set_deadline(Some(begin + Duration::from_millis(20)));
        assert_eq!(trap(block_on(machine.run_async())), TrapCause::Deadline, "{}", guest.name);
        assert!(begin.elapsed() < Duration::from_secs(5));
        machine.set_deadline(None);

        let handle = machine.interrupt_handle();
        let other = thread::spawn(move || {
            thread::sleep(Duration::from_millis(20));
            handle.interrupt();
        });
        assert_eq!(trap(block_on(machine.run_async())), TrapCause::Interrupted, "{}", guest.name);
        other.join().unwrap();

        // The run makes the call again.
        let calls = machine.data().calls;
        assert!(calls >= 2);
        machine.data_mut().waits = 1;
        assert_eq!(block_on(machine.run_async()).unwrap(), {
            let mut whole = guest.machine(Host::new(0));
            block_on(whole.run_async()).unwrap()
        });
    }
}

#[test]
fn fuel_ends_where_it_does_without_waiting() {
    for guest in guests().iter().filter(|guest| !matches!(guest.name, "compiled" | "compiled precisely")) {
        let stopped = |waits: u32, fuel: u64| {
            let mut machine = guest.machine(Host::new(waits));
            machine.set_fuel(Some(fuel));
            assert_eq!(trap(block_on(machine.run_async())), TrapCause::OutOfFuel);
            (machine.pc(), machine.instructions(), machine.data().calls)
        };
        for fuel in [1, 10, 33, 100, 150, 151, 152, 153, 154, 200] {
            assert_eq!(stopped(2, fuel), stopped(0, fuel), "{}, {fuel} instructions", guest.name);
        }
    }
}

#[test]
fn futures_can_be_dropped_while_the_guest_waits() {
    for guest in guests() {
        let mut machine = guest.machine(Host::new(0));
        let expected = block_on(machine.run_async()).unwrap();
        let deep = machine.func::<(i64,), i64>("deep").unwrap();
        let result = block_on(deep.call_async(&mut machine, (5,))).unwrap();

        let mut machine = guest.machine(Host::new(3));
        // The guest's own run, in the midst of which a call is given up.
        give_up_after(2, machine.run_async());
        let registers: Vec<u64> = (0..32).map(|n| machine.x(n)).collect();
        let pc = machine.pc();
        give_up_after(5, deep.call_async(&mut machine, (5,)));
        assert_eq!(
            (machine.pc(), (0..32).map(|n| machine.x(n)).collect::<Vec<_>>()),
            (pc, registers),
            "{}",
            guest.name
        );
        assert_eq!(block_on(deep.call_async(&mut machine, (5,))).unwrap(), result, "{}", guest.name);
        assert_eq!(block_on(machine.run_async()).unwrap(), expected, "{}", guest.name);
        // Or is never ended: nothing of it runs any more.
        std::mem::forget(machine.run_async());
        drop(machine);
    }
}

#[test]
fn functions_that_fail_after_waiting_leave_the_machine_usable() {
    for guest in guests() {
        let mut machine = guest.machine(Host::new(2));
        let deep = machine.func::<(i64,), i64>("deep").unwrap();
        let expected = block_on(deep.call_async(&mut machine, (5,))).unwrap();
        machine.data_mut().fails = true;
        let error = block_on(deep.call_async(&mut machine, (5,))).unwrap_err().to_string();
        assert!(error.contains("later") && error.contains("the data base is away"), "{}: {error}", guest.name);
        machine.data_mut().fails = false;
        machine.data_mut().panics = true;
        let panic = catch_unwind(AssertUnwindSafe(|| block_on(deep.call_async(&mut machine, (5,)))));
        assert!(panic.is_err());
        machine.data_mut().panics = false;
        assert_eq!(block_on(deep.call_async(&mut machine, (5,))).unwrap(), expected, "{}", guest.name);
    }
}

/// What executors may have: it does this when it is woken, and this when it is dropped.
struct Foreign {
    wakes: fn(),
    interrupts: Option<InterruptHandle>,
}

impl Wake for Foreign {
    fn wake(self: Arc<Self>) {
        (self.wakes)();
    }
}

impl Drop for Foreign {
    fn drop(&mut self) {
        if let Some(handle) = self.interrupts.take() {
            handle.interrupt();
        }
    }
}

/// Deadlines end guests of the process also after a waker has panicked.
#[test]
fn a_waker_that_panics_stops_no_watchdog() {
    static WOKEN: AtomicBool = AtomicBool::new(false);
    let wakes = || {
        WOKEN.store(true, Ordering::SeqCst);
        panic!("the waker panics")
    };
    let waker = Waker::from(Arc::new(Foreign { wakes, interrupts: None }));
    let mut machine = guests()[0].machine(Host::new(u32::MAX));
    for _ in 0..2 {
        machine.set_deadline(Some(Instant::now() + Duration::from_millis(20)));
        let mut run = pin!(machine.run_async());
        assert!(run.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
        let begin = Instant::now();
        while !WOKEN.swap(false, Ordering::SeqCst) {
            assert!(begin.elapsed() < Duration::from_secs(10), "no watchdog");
            thread::sleep(Duration::from_millis(1));
        }
    }
}

/// A waker may stop the machine as it is dropped, where another takes its place and where the guest waits no more.
#[test]
fn wakers_are_dropped_without_locks() {
    let mut machine = guests()[0].machine(Host::new(u32::MAX));
    for _ in 0..2 {
        let interrupts = Some(machine.interrupt_handle());
        let first = Waker::from(Arc::new(Foreign { wakes: || (), interrupts }));
        let mut run = pin!(machine.run_async());
        assert!(run.as_mut().poll(&mut Context::from_waker(&first)).is_pending());
        drop(first);
        let Poll::Ready(ended) = run.as_mut().poll(&mut Context::from_waker(Waker::noop())) else {
            panic!("its request is lost")
        };
        assert_eq!(trap(ended), TrapCause::Interrupted);
    }
}

/// What is awaited may call the guest as it is dropped, and leave the machine another hart: the error is that of the
/// run.
#[test]
fn what_an_async_function_does_to_the_guest_does_not_change_why_it_ends() {
    struct Calls<'a>(AsyncCaller<'a, ()>);

    impl Drop for Calls<'_> {
        fn drop(&mut self) {
            let play = self.0.func::<(i32,), i32>("play").unwrap();
            play.call(&mut *self.0, (1,)).unwrap_err();
        }
    }

    let engine = Engine::new(&Config::new()).unwrap();
    let mut linker = Linker::new(&engine);
    linker.func("Game::add", |a: i32, b: i32| a.wrapping_add(b)).unwrap();
    linker
        .func_async("Game::score", |mut caller: AsyncCaller<'_, ()>, (points,): (i32,)| {
            Box::pin(async move {
                if points == 2 {
                    let mut hart = Hart::new();
                    hart.set_pc(u64::MAX - 1);
                    caller.swap_hart(&mut hart);
                    return Ok(points);
                }
                let _calls = Calls(caller);
                std::future::pending().await
            })
        })
        .unwrap();
    let mut machine = linker.instantiate(&Program::new(&engine, riverrun::doc::SCORER).unwrap(), ()).unwrap();
    let play = machine.func::<(i32,), i32>("play").unwrap();
    let handle = machine.interrupt_handle();
    let mut call = pin!(play.call_async(&mut machine, (1,)));
    let mut context = Context::from_waker(Waker::noop());
    assert!(call.as_mut().poll(&mut context).is_pending());
    handle.interrupt();
    let Poll::Ready(ended) = call.as_mut().poll(&mut context) else { panic!("it is interrupted") };
    assert_eq!(trap(ended), TrapCause::Interrupted);
    // The last address, behind which is the first.
    block_on(play.call_async(&mut machine, (2,))).unwrap_err();
}

/// A program whose host function waits until all are woken.
fn scorer() -> (Linker<Arc<Semaphore>>, Program) {
    let engine = Engine::new(&Config::new()).unwrap();
    let mut linker = Linker::<Arc<Semaphore>>::new(&engine);
    linker.func("Game::add", |a: i32, b: i32| a.wrapping_add(b)).unwrap();
    linker
        .func_async("Game::score", |caller: AsyncCaller<'_, Arc<Semaphore>>, (points,): (i32,)| {
            Box::pin(async move {
                let _permit = caller.data().acquire().await;
                Ok(points + 1)
            })
        })
        .unwrap();
    let program = Program::new(&engine, riverrun::doc::SCORER).unwrap();
    (linker, program)
}

/// Mappings of this process.
fn mappings() -> usize {
    std::fs::read_to_string("/proc/self/maps").unwrap().lines().count()
}

/// 10,000 calls wait on one thread of tokio, or as many as have room besides other tests in the host's limit on mappings: at
/// 65,530, the default, more than 5,000.
#[test]
fn ten_thousand_wait_at_once() {
    const CALLS: usize = 10_000;
    const OTHERS: usize = 20_000;
    let (linker, program) = scorer();
    let gate = Arc::new(Semaphore::new(0));
    let make = || linker.instantiate(&program, gate.clone()).unwrap();
    let (before, first) = (mappings(), (0..100).map(|_| make()).collect::<Vec<_>>());
    let each = (mappings() - before).div_ceil(first.len());
    let limit: usize = std::fs::read_to_string("/proc/sys/vm/max_map_count").unwrap().trim().parse().unwrap();
    let count = CALLS.min(limit.saturating_sub(OTHERS) / each);
    assert!(count >= CALLS.min(5_000), "{each} mappings a machine, and {limit} in all");

    let play: Func<(i32,), i32> = make().func("play").unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let machines = first.into_iter().chain(std::iter::repeat_with(make)).take(count);
    let tasks: Vec<_> = (0..)
        .zip(machines)
        .map(|(n, mut machine)| runtime.spawn(async move { play.call_async(&mut machine, (n,)).await.unwrap() }))
        .collect();
    runtime.block_on(async {
        tokio::task::yield_now().await;
        assert!(tasks.iter().all(|task| !task.is_finished()));
        gate.add_permits(1);
        for (n, task) in (0..).zip(tasks) {
            assert_eq!(task.await.unwrap(), n + 1);
        }
    });
}

/// Machines wait side by side.
#[test]
fn tokio_runs_them() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let (linker, program) = scorer();
    let gate = Arc::new(Semaphore::new(0));
    let play: Func<(i32,), i32> = linker.instantiate(&program, gate.clone()).unwrap().func("play").unwrap();
    let sum: i32 = runtime.block_on(async {
        let mut set = tokio::task::JoinSet::new();
        for n in 0..500 {
            let mut machine = linker.instantiate(&program, gate.clone()).unwrap();
            set.spawn(async move { play.call_async(&mut machine, (n,)).await.unwrap() });
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
        assert!(set.try_join_next().is_none());
        gate.add_permits(500);
        set.join_all().await.into_iter().sum()
    });
    assert_eq!(sum, (1..=500).sum::<i32>());
}

/// Futures move between threads, with their machines.
#[test]
fn a_guest_goes_on_on_another_thread() {
    fn poll_once<F: Future + ?Sized>(future: Pin<&mut F>) -> Poll<F::Output> {
        future.poll(&mut Context::from_waker(Waker::noop()))
    }
    for guest in guests() {
        let expected = block_on(guest.machine(Host::new(0)).run_async()).unwrap();
        let mut future: Pin<Box<dyn Future<Output = i32> + Send>> = Box::pin(async {
            let mut machine = guest.machine(Host::new(1));
            machine.run_async().await.unwrap()
        });
        let status = loop {
            let polled;
            (future, polled) = thread::scope(|scope| {
                scope
                    .spawn(move || {
                        let polled = poll_once(future.as_mut());
                        (future, polled)
                    })
                    .join()
                    .unwrap()
            });
            if let Poll::Ready(status) = polled {
                break status;
            }
        };
        assert_eq!(status, expected, "{}", guest.name);
    }
}
