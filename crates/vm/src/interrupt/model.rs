//! The protocol between a thread that runs guest code, its entry guard, the watchdog, and a thread that interrupts, in all
//! orders that loom finds: once an interruption is requested, guest code ends, wherever it is; a request is never lost.
//!
//! Compiled code tests nothing: here it is a loop that only the watchdog's signal ends. Where a request is lost it never
//! ends, which loom reports.
//!
//! ```sh
//! cargo xtask loom
//! ```

use std::ptr;

use loom::thread;

use super::activation::Activation;
use super::clock::now;
use super::entry_guard::EntryToken;
use super::interruption::Interruption;
use super::watchdog;
use crate::sys;

/// Tries all orders in which threads are interrupted at most so often where they need not be.
fn model(preemptions: usize, body: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.check(move || {
        Activation::forget();
        body();
    });
}

/// Runs a guest on this thread, beside a watchdog and another thread.
fn beside(other: impl FnOnce(&Interruption) + 'static, guest: impl FnOnce(&Interruption)) {
    let interruption = Interruption::default();
    let watchdog = thread::spawn(watchdog::keep_until_end);
    let shared = interruption.clone();
    let other = thread::spawn(move || other(&shared));
    guest(&interruption);
    other.join().unwrap();
    watchdog::end();
    watchdog.join().unwrap();
}

/// Compiled code that runs until it is interrupted.
fn run_compiled_code(interruption: &Interruption) {
    // As the handler of the signal does.
    while !(sys::take_interrupt() && interruption.is_reached()) {
        thread::yield_now();
    }
}

fn activation(interruption: &Interruption) -> Activation {
    Activation {
        code: 0..0,
        fault_exits: &[],
        fault_entry: 0,
        state: ptr::null_mut(),
        fault: Default::default(),
        stack_guard: 0..0,
        interruption: &raw const **interruption,
        ignored: Default::default(),
        interrupt_entry: 0,
        outer: Default::default(),
    }
}

/// A run of the machine (as `Execution::run`).
fn run(interruption: &Interruption) {
    let activation = activation(interruption);
    // SAFETY: it stays where it is until it ends. No code runs in which it would be looked at.
    unsafe {
        if activation.begin() {
            run_compiled_code(interruption);
        }
        activation.end();
    }
}

const TOKEN: u64 = 7;

/// The first call, which makes all ready and asks (as `Instance::call_unready` in `riverrun`). Whether it began.
fn first_call(interruption: &Interruption, activation: &Activation, function: impl FnOnce()) -> bool {
    let entry_guard = interruption.entry_guard();
    interruption.renew_entry_guard();
    // SAFETY: what runs stays where it is until all is over; the entry guard is the interruption's.
    let _ownership = unsafe { activation.own() };
    entry_guard.enter();
    if interruption.is_reached() {
        entry_guard.close();
        return false;
    }
    function();
    entry_guard.reopen(EntryToken::compiled(TOKEN));
    true
}

/// A call on the fast path, which compares only (as `Instance::enter_compiled` in `riverrun`). Whether it began.
fn next_call(interruption: &Interruption) -> bool {
    let entry_guard = interruption.entry_guard();
    entry_guard.enter();
    if !entry_guard.is_owned_by(Activation::owner().0) {
        entry_guard.close();
        return false;
    }
    run_compiled_code(interruption);
    entry_guard.reopen(EntryToken::compiled(TOKEN));
    true
}

#[test]
fn a_run_ends_that_another_thread_interrupts() {
    model(3, || beside(|interruption| interruption.request(), |interruption| run(interruption)));
}

#[test]
fn a_first_call_ends_that_another_thread_interrupts() {
    let guest = |interruption: &Interruption| {
        first_call(interruption, &activation(interruption), || run_compiled_code(interruption));
    };
    model(2, move || beside(|interruption| interruption.request(), guest));
}

/// What the models would find: a thread that tests for requests before it enters its guard.
#[test]
#[should_panic(expected = "branches")]
fn a_first_call_that_tests_too_early_is_found() {
    let guest = |interruption: &Interruption| {
        interruption.renew_entry_guard();
        let activation = activation(interruption);
        // SAFETY: as in `first_call`.
        let _ownership = unsafe { activation.own() };
        if !interruption.is_reached() {
            interruption.entry_guard().enter();
            run_compiled_code(interruption);
            interruption.entry_guard().reopen(EntryToken::compiled(TOKEN));
        }
    };
    model(2, move || beside(|interruption| interruption.request(), guest));
}

#[test]
fn a_call_on_the_fast_path_ends_that_another_thread_interrupts() {
    let guest = |interruption: &Interruption| {
        let activation = activation(interruption);
        if first_call(interruption, &activation, || {}) && !next_call(interruption) {
            assert!(interruption.is_reached(), "a call is refused only for a reason");
        }
    };
    model(2, move || beside(|interruption| interruption.request(), guest));
}

#[test]
fn a_run_ends_at_its_deadline() {
    let guest = |interruption: &Interruption| {
        interruption.set_deadline_at(now() + 1);
        run(interruption);
    };
    model(2, move || beside(|_| {}, guest));
}

#[test]
fn a_request_is_not_lost_behind_one_that_was_withdrawn() {
    let other = |interruption: &Interruption| {
        interruption.request();
        interruption.withdraw();
        interruption.request();
    };
    model(2, move || beside(other, |interruption| run(interruption)));
}
