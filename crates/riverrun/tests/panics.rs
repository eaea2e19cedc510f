//! Panics of the host's code leave a machine's limits and slices as they are without, in every engine.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::Duration;

use riverrun::{CallLimits, Caller, Config, Engine, Flow, Func, Linker, Machine, Program};

use crate::configurations::configurations;

type Play = Func<(i32,), i32>;

/// The scorer in each engine. Its `Game::score` panics for 1, and has the guest do so for 2, which it catches.
fn machines() -> Vec<(&'static str, Machine<()>, Play)> {
    let machine = |(name, config): (&'static str, Config)| {
        let engine = Engine::new(&config).unwrap();
        let mut linker = Linker::new(&engine);
        linker.func("Game::add", |a: i32, b: i32| a.wrapping_add(b)).unwrap();
        linker.func("Game::score", score).unwrap();
        // Where a run of `play` returns, it begins again.
        linker.trap(|mut caller: Caller<'_, ()>, _| {
            caller.set_x(10, 4);
            Ok(Flow::Jump(caller.func::<(i32,), i32>("play")?.address()))
        });
        let mut machine = linker.instantiate(&Program::new(&engine, riverrun::doc::SCORER).unwrap(), ()).unwrap();
        let play = machine.func("play").unwrap();
        (name, machine, play)
    };
    configurations().into_iter().map(machine).collect()
}

fn score(mut caller: Caller<'_, ()>, points: i32) -> Result<i32, riverrun::Error> {
    assert_ne!(points, 1, "the host panics");
    if points == 2 {
        let (fuel, play) = (caller.fuel(), caller.func::<(i32,), i32>("play")?);
        panics(|| play.call(&mut caller, (1,)));
        panics(|| play.call_within(&mut caller, tight(), (1,)));
        assert!(caller.deadline().is_none());
        assert_eq!(caller.fuel().is_some(), fuel.is_some());
    }
    Ok(points)
}

fn tight() -> CallLimits {
    CallLimits::new().fuel(1_000).timeout(Duration::from_millis(20))
}

fn panics<R>(body: impl FnOnce() -> R) {
    assert!(catch_unwind(AssertUnwindSafe(body)).is_err());
}

/// Begins a run of `play` with these points.
fn begin(machine: &mut Machine<()>, play: &Play, points: u64) {
    machine.set_pc(play.address());
    machine.set_x(10, points);
}

#[test]
fn limits_of_a_call_end_with_its_panic() {
    for (name, mut machine, play) in machines() {
        panics(|| play.call_within(&mut machine, tight(), (1,)));
        let dynamic = machine.dyn_func("play", None).unwrap();
        panics(|| dynamic.call_within(&mut machine, tight(), &mut []));
        assert_eq!(machine.fuel(), None, "{name}");
        thread::sleep(Duration::from_millis(30));
        assert_eq!(play.call(&mut machine, (4,)).unwrap(), 4, "{name}");
        // The same of calls by a host function.
        assert_eq!(play.call(&mut machine, (2,)).unwrap(), 2, "{name}");
    }
}

#[test]
fn fuel_is_charged_for_what_a_panic_ends() {
    const FUEL: u64 = 10_000;
    for (name, mut machine, play) in machines() {
        machine.set_fuel(Some(FUEL));
        let before = machine.instructions();
        let mut last = FUEL;
        let mut is_charged = |machine: &Machine<()>, what| {
            let left = machine.fuel().unwrap();
            assert_eq!(FUEL - left, machine.instructions() - before, "{name}, {what}");
            assert!(left < last, "{name}, {what}");
            last = left;
        };
        for _ in 0..3 {
            panics(|| play.call(&mut machine, (1,)));
            is_charged(&machine, "a call");
            panics(|| play.call_within(&mut machine, CallLimits::new().fuel(100), (1,)));
            is_charged(&machine, "a call with limits");
            begin(&mut machine, &play, 1);
            panics(|| machine.run());
            is_charged(&machine, "a run");
            let mut context = Context::from_waker(Waker::noop());
            panics(|| pin!(play.call_async(&mut machine, (1,))).poll(&mut context));
            is_charged(&machine, "a call that may wait");
            play.call(&mut machine, (2,)).unwrap();
            is_charged(&machine, "calls by a host function");
        }
    }
}

/// The limit of an earlier run says nothing of later ones.
#[test]
fn fuel_is_kept_where_a_call_cannot_begin() {
    for (name, mut machine, play) in machines() {
        assert_eq!(play.call(&mut machine, (4,)).unwrap(), 4);
        machine.set_fuel(Some(1_000));
        machine.set_x(2, 8);
        let many =
            machine.dyn_func_at(play.address(), &"i32 (i64, i64, i64, i64, i64, i64, i64, i64, i64)".parse().unwrap());
        many.unwrap().call(&mut machine, &mut [4; 9]).unwrap_err();
        assert_eq!(machine.fuel(), Some(1_000), "{name}");
    }
}

#[test]
fn slices_end_after_a_panic_that_a_host_function_has_caught() {
    for (name, mut machine, play) in machines() {
        begin(&mut machine, &play, 2);
        let handle = machine.interrupt_handle();
        // A slice without end fails.
        let (ended, ends) = std::sync::mpsc::channel::<()>();
        let other = thread::spawn(move || {
            ends.recv_timeout(Duration::from_secs(10)).is_ok() || {
                handle.interrupt();
                false
            }
        });
        assert!(matches!(machine.run_for(CallLimits::new().timeout(Duration::from_millis(20))), Ok(None)), "{name}");
        begin(&mut machine, &play, 2);
        let mut run = pin!(machine.run_async());
        assert!(matches!(run.as_mut().poll(&mut Context::from_waker(Waker::noop())), Poll::Pending), "{name}");
        ended.send(()).unwrap();
        assert!(other.join().unwrap());
    }
}
