//! What hosts in safe Rust can get wrong, is an error, or the host's own panic: never undefined behaviour. What the
//! compiler refuses is in `src/must_not_compile.rs`.
#![forbid(unsafe_code)]

use std::cell::RefCell;
use std::hint::black_box;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::atomic::{AtomicU32, Ordering};

use riverrun::{
    Caller, Config, Engine, Error, Flow, Func, GuestBox, GuestString, GuestValue, GuestVec, HeapError, HeapProblem,
    LinkError, Linker, Machine, Program, Scalar,
};

/// An engine, whose guests are compiled where there is a compiler.
fn engine() -> Engine {
    #[cfg_attr(not(feature = "compile"), expect(unused_mut, reason = "what is interpreted needs no options"))]
    let mut config = Config::new();
    #[cfg(feature = "compile")]
    config.compile(riverrun::CompileOptions::default());
    Engine::new(&config).unwrap()
}

fn adder(engine: &Engine) -> Machine<()> {
    let program = Program::new(engine, riverrun::doc::ADDER).unwrap();
    Linker::new(engine).instantiate(&program, ()).unwrap()
}

fn add(machine: &mut Machine<()>) -> i32 {
    let add = machine.func::<(i32, i32), i32>("add").unwrap();
    add.call(machine, (40, 2)).unwrap()
}

/// The scorer, whose `Game::score` is this.
fn scorer<T: 'static, R: riverrun::HostResult<Value = i32> + 'static>(
    engine: &Engine,
    data: T,
    score: impl Fn(Caller<'_, T>, i32) -> R + Send + Sync + 'static,
) -> Machine<T> {
    let mut linker = Linker::new(engine);
    linker.func("Game::add", |a: i32, b: i32| a.wrapping_add(b)).unwrap();
    linker.func("Game::score", score).unwrap();
    linker.instantiate(&Program::new(engine, riverrun::doc::SCORER).unwrap(), data).unwrap()
}

fn play<T: 'static>(machine: &mut Machine<T>, points: i32) -> Result<i32, Error> {
    let play = machine.func::<(i32,), i32>("play").unwrap();
    play.call(machine, (points,))
}

fn is_other_program<R: std::fmt::Debug>(result: Result<R, Error>) -> bool {
    matches!(result, Err(Error::Link(LinkError::OtherProgram { .. })))
}

/// On a machine that has just been made, on one that has been called, with limits, and from a host function.
#[test]
fn functions_of_other_programs_are_refused() {
    let engine = engine();
    let mut other = adder(&engine);
    let foreign = other.func::<(i32, i32), i32>("add").unwrap();
    let dynamic = other.dyn_func("add", None).unwrap();
    let mut machine = scorer(&engine, foreign, |mut caller: Caller<'_, Func<(i32, i32), i32>>, points| {
        let foreign = *caller.data();
        assert!(is_other_program(foreign.call(&mut caller, (1, 2))));
        points
    });
    for _ in 0..2 {
        let limits = riverrun::CallLimits::new().fuel(1000);
        assert!(is_other_program(foreign.call(&mut machine, (1, 2))));
        assert!(is_other_program(foreign.call_within(&mut machine, limits, (1, 2))));
        assert!(is_other_program(dynamic.call_within(&mut machine, limits, &mut [1, 2])));
        assert!(is_other_program(dynamic.call(&mut machine, &mut [1, 2])));
        assert_eq!(play(&mut machine, 7).unwrap(), 7);
    }
    // The same bytes, loaded twice, are two programs.
    assert!(is_other_program(foreign.call(&mut adder(&engine), (1, 2))));
    assert_eq!(add(&mut other), 42);
}

#[test]
fn objects_of_other_machines_are_refused() {
    let engine = engine();
    let (mut one, mut two) = (adder(&engine), adder(&engine));
    let is_other = |error: HeapError| matches!(error.problem, HeapProblem::OtherMachine);
    let number = GuestBox::new(&mut one.heap(), 7_u32).unwrap();
    let mut list = GuestVec::new(&mut one.heap(), &[1_u64, 2]).unwrap();
    let mut text = GuestString::new(&mut one.heap(), "one").unwrap();
    // Where the other machine has objects, too.
    let _same = GuestBox::new(&mut two.heap(), [0_u64; 8]).unwrap();
    assert!(is_other(number.get(two.memory()).unwrap_err()));
    assert!(is_other(number.get_mut(two.memory_mut()).unwrap_err()));
    assert!(is_other(list.get(two.memory()).unwrap_err()));
    assert!(is_other(list.get_mut(two.memory_mut()).unwrap_err()));
    assert!(is_other(list.push(&mut two.heap(), 3).unwrap_err()));
    assert!(is_other(text.get(two.memory()).unwrap_err()));
    assert!(is_other(text.push_str(&mut two.heap(), "!").unwrap_err()));
    assert_eq!(list.get(one.memory()).unwrap(), [1, 2]);
    assert_eq!(text.get(one.memory()).unwrap(), "one");
    // Not even where the machine is gone, and another one stands at its addresses.
    drop(one);
    for _ in 0..8 {
        let mut three = adder(&engine);
        assert!(is_other(number.get(three.memory()).unwrap_err()));
        assert!(is_other(list.push(&mut three.heap(), 3).unwrap_err()));
    }
    assert!(is_other(number.into_guest(&mut two.heap()).unwrap_err()));
}

/// Machines that a host function finds in its data can be used, moved, exchanged and dropped while it runs.
#[test]
fn machines_within_machines() {
    let engine = engine();
    let inner = vec![adder(&engine), adder(&engine)];
    let mut machine = scorer(&engine, inner, |mut caller: Caller<'_, Vec<Machine<()>>>, points| {
        let engine = caller.program().engine().clone();
        let (machines, memory) = caller.split();
        let before = memory.regions().to_vec();
        machines.swap(0, 1);
        let [one, two] = &mut machines[..] else { panic!("there are two") };
        std::mem::swap(one, two);
        let sum = add(one) + add(two);
        let mut taken = std::mem::take(machines);
        let last = taken.pop().unwrap();
        drop(taken);
        machines.push(last);
        let sum = sum + add(&mut machines[0]);
        machines.clear();
        assert_eq!(memory.regions(), before);
        // The guest that waits is as it was.
        machines.extend([adder(&engine), adder(&engine)]);
        points + sum
    });
    for _ in 0..3 {
        assert_eq!(play(&mut machine, 1).unwrap(), 1 + 3 * 42);
    }
    let data = machine.into_data();
    assert_eq!(data.len(), 2);
}

/// A machine cannot be reached from its own host function, whatever it hides behind.
#[test]
fn a_machine_is_out_of_reach_while_it_runs() {
    type Shared = Rc<RefCell<Option<Machine<Own>>>>;
    struct Own(Shared);
    let engine = engine();
    let shared = Shared::default();
    let machine = scorer(&engine, Own(shared.clone()), |caller: Caller<'_, Own>, points| {
        assert!(caller.data().0.try_borrow().is_err(), "it is borrowed by its run");
        points
    });
    *shared.borrow_mut() = Some(machine);
    assert_eq!(play(shared.borrow_mut().as_mut().unwrap(), 5).unwrap(), 5);
    drop(shared.borrow_mut().take());
}

#[test]
fn what_is_forgotten_is_only_lost() {
    let engine = engine();
    let mut machine = adder(&engine);
    std::mem::forget(GuestBox::new(&mut machine.heap(), 1_u8).unwrap());
    std::mem::forget(machine.interrupt_handle());
    assert_eq!(add(&mut machine), 42);
    assert_eq!(machine.heap().statistics().blocks, 1);
    std::mem::forget(machine);
    let mut forgetful = scorer(&engine, (), |mut caller: Caller<'_, ()>, points| {
        std::mem::forget(GuestVec::new(&mut caller.heap(), &[points]).unwrap());
        points
    });
    assert_eq!(play(&mut forgetful, 3).unwrap(), 3);
}

/// A value whose conversions are the host's, and panic.
#[derive(Clone, Copy, Debug)]
struct Brittle(i32);

impl GuestValue for Brittle {
    const TYPE: Scalar = Scalar::I32;

    fn from_bits(bits: u64) -> Brittle {
        assert_ne!(bits as i32, 13, "from_bits");
        Brittle(bits as i32)
    }

    fn to_bits(self) -> u64 {
        assert_ne!(self.0, 26, "to_bits");
        self.0 as u64
    }
}

fn panics<R>(body: impl FnOnce() -> R) -> String {
    let panic = catch_unwind(AssertUnwindSafe(body)).err().expect("it panics");
    match panic.downcast::<String>() {
        Ok(text) => *text,
        Err(panic) => (*panic.downcast::<&str>().unwrap()).to_owned(),
    }
}

/// Wherever the host's code panics, the panic comes out of the call, and the machine is as good as before.
#[test]
fn panics_of_the_hosts_code_come_out_of_its_calls() {
    let engine = engine();
    let mut linker: Linker<u32> = Linker::new(&engine);
    linker.func("Game::add", |a: i32, b: i32| a.wrapping_add(b)).unwrap();
    linker
        .func("Game::score", |mut caller: Caller<'_, u32>, value: i32| {
            *caller.data_mut() += 1;
            match value {
                1 => panic!("the closure"),
                // A panic that passes two runs of the guest.
                2 => {
                    let play = caller.func::<(i32,), i32>("play")?;
                    play.call(&mut caller, (1,)).map(Brittle)
                }
                value => Ok(Brittle(value)),
            }
        })
        .unwrap();
    let program = Program::new(&engine, riverrun::doc::SCORER).unwrap();
    let mut machine = linker.instantiate(&program, 0).unwrap();
    let brittle = machine.func::<(Brittle,), Brittle>("play").unwrap();
    for _ in 0..3 {
        assert!(panics(|| play(&mut machine, 1)).contains("the closure"));
        assert!(panics(|| play(&mut machine, 2)).contains("the closure"));
        assert!(panics(|| play(&mut machine, 26)).contains("to_bits"));
        assert!(panics(|| brittle.call(&mut machine, (Brittle(13),))).contains("from_bits"));
        assert!(panics(|| brittle.call(&mut machine, (Brittle(26),))).contains("to_bits"));
        assert_eq!(play(&mut machine, 4).unwrap(), 4);
    }
    assert_eq!(*machine.data(), 3 * 6);
}

/// The same where a closure handles what no function does.
#[test]
fn panics_of_handlers_come_out_of_runs() {
    let engine = engine();
    let mut linker: Linker<bool> = Linker::new(&engine);
    linker.ecall(|mut caller: Caller<'_, bool>| match std::mem::replace(caller.data_mut(), false) {
        true => panic!("the handler"),
        false => Ok(Flow::Exit(caller.x(10) as i32)),
    });
    let program = Program::new(&engine, riverrun::doc::TINY).unwrap();
    let mut machine = linker.instantiate(&program, true).unwrap();
    assert!(panics(|| machine.run()).contains("the handler"));
    assert_eq!(machine.run().unwrap(), 42, "it goes on at the call");
}

/// A host backtrace, which panics and many errors capture by themselves, ends where the guest begins:
/// the guest's frames are not the host's to unwind.
#[test]
fn backtraces_of_host_functions_end_at_the_guest() {
    let engine = engine();
    let mut machine = scorer(&engine, String::new(), |mut caller: Caller<'_, String>, points| {
        *caller.data_mut() = std::backtrace::Backtrace::force_capture().to_string();
        points
    });
    #[inline(never)]
    fn outside(machine: &mut Machine<String>) {
        assert_eq!(black_box(inside(machine)), 7);
    }
    // What enters the guest may be a part of this.
    #[inline(never)]
    fn inside(machine: &mut Machine<String>) -> i32 {
        black_box(play(machine, 7).unwrap())
    }
    for _ in 0..3 {
        outside(&mut machine);
        let frames = machine.data();
        assert!(frames.contains("backtraces_of_host_functions"), "{frames}");
        assert!(!frames.contains("outside"), "what waits for the guest is behind it:\n{frames}");
    }
}

/// What a machine's data does when it is dropped is the host's.
#[test]
fn panics_of_drops_are_the_hosts() {
    static DROPPED: AtomicU32 = AtomicU32::new(0);
    struct Loud;
    impl Drop for Loud {
        fn drop(&mut self) {
            DROPPED.fetch_add(1, Ordering::Relaxed);
            panic!("the drop");
        }
    }
    let engine = engine();
    let mut machine = scorer(&engine, Some(Loud), |mut caller: Caller<'_, Option<Loud>>, points| {
        *caller.data_mut() = None;
        points
    });
    assert!(panics(|| play(&mut machine, 1)).contains("the drop"));
    assert_eq!(play(&mut machine, 2).unwrap(), 2);
    *machine.data_mut() = Some(Loud);
    assert!(panics(|| drop(machine)).contains("the drop"));
    assert_eq!(DROPPED.load(Ordering::Relaxed), 2);
    assert_eq!(add(&mut adder(&engine)), 42);
}
