//! Calls across the boundary, in every engine.

use std::hint::black_box;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::OnceLock;
use std::time::Duration;

use riverrun::bytemuck::{Pod, Zeroable};
use riverrun::{
    CallContext, CallLimits, Caller, Config, Engine, Error, Flow, Func, GuestValue, HostError, LinkError, Linker,
    Machine, Parameters, PointerError, Program, Ptr, Returned, Slice, Str, TrapCause,
};
use riverrun_testkit::tools;

#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
struct Point {
    x: f32,
    y: f32,
}

/// What the host functions note.
#[derive(Debug, Default)]
struct Host {
    log: Vec<String>,
    nops: u64,
    /// Whether `call_back` has a frame of a megabyte.
    has_large_frames: bool,
}

/// Calls a function of the guest, with a frame that it may not change.
#[inline(never)]
fn call_with_large_frame(
    caller: &mut Caller<'_, Host>,
    function: &Func<(i32,), i32>,
    argument: i32,
) -> Result<i32, Error> {
    let mut frame = [argument as u8; 1 << 20];
    black_box(&mut frame);
    let result = function.call(caller, (argument,));
    assert!(black_box(&frame).iter().all(|&byte| byte == argument as u8), "the frame has changed");
    result
}

struct Guest {
    name: &'static str,
    linker: Linker<Host>,
    program: Program,
}

/// Programs that look at float flags are called with more care.
fn elf_of(flags: bool) -> &'static [u8] {
    static ELF: [OnceLock<Vec<u8>>; 2] = [const { OnceLock::new() }; 2];
    ELF[usize::from(flags)].get_or_init(|| {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/guests/calls.c");
        let flags = if flags { ["-O2", "-DFLOAT_FLAGS"] } else { ["-O2", "-DNO_FLOAT_FLAGS"] };
        tools::compile(env!("CARGO_TARGET_TMPDIR"), &source, &flags)
    })
}

fn elf() -> &'static [u8] {
    elf_of(false)
}

fn register(linker: &mut Linker<Host>) -> Result<(), Error> {
    linker.func("nop", |mut caller: Caller<'_, Host>| caller.data_mut().nops += 1)?;
    linker.func("ints", |a: i8, b: u8, c: i16, d: u16, e: i32, f: u32, g: i64, h: u64, i: bool, j: i32| {
        assert_eq!((a, b, c, d, e, f, g, h, i, j), (-1, 255, -2, 65535, -3, 0xffff_fffd, -4, u64::MAX, true, 10));
        -5_i64
    })?;
    linker.func(
        "floats",
        |a: f32, b: f64, c: f32, d: f64, e: f32, f: f64, g: f32, h: f64, i: f32, j: f64, k: f64| {
            let all = [a.into(), b, c.into(), d, e.into(), f, g.into(), h, i.into(), j, k];
            assert_eq!(all, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0]);
            all.iter().sum::<f64>()
        },
    )?;
    linker.func("mixed", |a: i32, b: f32, c: i64, d: f64| a as f32 + b + c as f32 + d as f32)?;
    linker.func("pair_ii", |x: i32| (x, -x))?;
    linker.func("pair_ll", |x: i32| (i64::from(x) << 40, -1_i64))?;
    linker.func("pair_df", |x: i32| (f64::from(x), 0.5_f32))?;
    linker.func("pair_ld", |x: i32| (i64::from(x), 0.25_f64))?;
    linker.func("fail", |code: i32| -> Result<(), HostError> { Err(format!("code {code}").into()) })?;
    linker.func("panic", || -> () { panic!("the host panics") })?;
    linker.func("log", |mut caller: Caller<'_, Host>, text: Str| {
        let line = text.get(caller.memory())?.to_owned();
        caller.data_mut().log.push(line);
        Ok::<(), PointerError>(())
    })?;
    linker.func("sum", |caller: Caller<'_, Host>, values: Slice<f32>| {
        Ok::<f32, PointerError>(values.get(caller.memory())?.iter().sum())
    })?;
    linker.func("fill", |mut caller: Caller<'_, Host>, to: Slice<u8>| {
        to.get_mut(caller.memory_mut())?.fill(7);
        Ok::<(), PointerError>(())
    })?;
    linker.func("point", |mut caller: Caller<'_, Host>, point: Ptr<Point>| {
        let point = point.get_mut(caller.memory_mut())?;
        point.x += 1.0;
        Ok::<f32, PointerError>(point.x + point.y)
    })?;
    linker.func("call_back", |mut caller: Caller<'_, Host>, function: Ptr<u8>, argument: i32| {
        let function: Func<(i32,), i32> = caller.func_at(function.address())?;
        if caller.data().has_large_frames {
            return call_with_large_frame(&mut caller, &function, argument);
        }
        function.call(&mut caller, (argument,))
    })?;
    linker.func("where", |caller: Caller<'_, Host>, what: i32| match what {
        0 => caller.pc(),
        1 => caller.instructions(),
        _ => caller.x(1),
    })?;
    linker.func("exit", |_: i32| {})?;
    linker.func("tenth", |x: f64| {
        let tenth = black_box(x / 10.0);
        if x < 0.0 { Err("it is negative") } else { Ok(tenth) }
    })?;
    linker.func("twice", |x: i32| 2 * x)?;
    linker.syscall(500, |x: i64| 3 * x)?;
    linker.ecall(|mut caller: Caller<'_, Host>| match caller.x(17) {
        93 => Ok(Flow::Exit(caller.x(10) as i32)),
        1 => {
            let address = caller.func::<(i32, i32), i32>("add")?;
            let sum = address.call(&mut caller, (1, 2))?;
            caller.set_x(10, sum as u64);
            Ok(Flow::Continue)
        }
        number => Err(format!("no call {number}").into()),
    });
    Ok(())
}

impl Guest {
    fn new(name: &'static str, config: &Config, flags: bool) -> Guest {
        let engine = Engine::new(config).unwrap();
        let mut linker = Linker::new(&engine);
        register(&mut linker).unwrap();
        let program = Program::new(&engine, elf_of(flags)).unwrap();
        Guest { name, linker, program }
    }

    fn machine(&self) -> Machine<Host> {
        self.linker.instantiate(&self.program, Host::default()).unwrap()
    }
}

#[cfg(feature = "compile")]
fn compiled(name: &'static str, fuel: bool, fidelity: riverrun::Fidelity, flags: bool) -> Guest {
    let mut guest = Guest::new(name, &Config::new(), flags);
    let folder = tempfile::tempdir().unwrap();
    let options = riverrun::CompileOptions { fuel, fidelity, ..Default::default() };
    guest.program = guest.program.compile_to(&options, folder.path().join("calls.rro")).unwrap().0;
    guest
}

/// The program in every engine.
fn guests() -> &'static [Guest] {
    static GUESTS: OnceLock<Vec<Guest>> = OnceLock::new();
    GUESTS.get_or_init(|| {
        vec![
            Guest::new("fast", &Config::new(), false),
            Guest::new("fast, with flags", &Config::new(), true),
            Guest::new("single-step", Config::new().single_step(true), true),
            #[cfg(feature = "compile")]
            compiled("compiled", false, riverrun::Fidelity::AbiAssuming, false),
            #[cfg(feature = "compile")]
            compiled("compiled, with flags", false, riverrun::Fidelity::AbiAssuming, true),
            #[cfg(feature = "compile")]
            compiled("compiled, counting", true, riverrun::Fidelity::AbiAssuming, false),
            #[cfg(feature = "compile")]
            compiled("compiled, counting, precise", true, riverrun::Fidelity::Precise, false),
            #[cfg(feature = "compile")]
            compiled("compiled, counting, precise, with flags", true, riverrun::Fidelity::Precise, true),
        ]
    })
}

fn each(test: impl Fn(&mut Machine<Host>)) {
    for guest in guests() {
        eprintln!("engine: {}", guest.name);
        test(&mut guest.machine());
    }
}

fn call<P: Parameters, R: Returned>(machine: &mut Machine<Host>, name: &str, parameters: P) -> R {
    let function = machine.func::<P, R>(name).unwrap();
    function.call(machine, parameters).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn fails<P: Parameters, R: Returned + std::fmt::Debug>(
    machine: &mut Machine<Host>,
    name: &str,
    parameters: P,
) -> Error {
    machine.func::<P, R>(name).unwrap().call(machine, parameters).expect_err(name)
}

fn cause(error: &Error) -> Option<TrapCause> {
    error.trap().map(|trap| trap.cause)
}

#[test]
fn guest_functions_take_and_give_all_types() {
    each(|machine| {
        assert_eq!(call::<_, i32>(machine, "add", (40, 2)), 42);
        assert_eq!(call::<_, i32>(machine, "add", (i32::MAX, 1)), i32::MIN);
        assert_eq!(call::<_, f64>(machine, "scale", (1.5_f32, 4.0)), 6.0);
        assert_eq!(call::<_, (i32, i32)>(machine, "swap", (0x7_ffff_fffe_i64,)), (7, -2));
        call::<_, ()>(machine, "empty", ());
        let parameters = (1, 2.0_f32, 3, 4.0_f64, 5, 6, 7, 8, 9, 10, 11, 12.0_f64);
        assert_eq!(call::<_, i64>(machine, "many", parameters), (1..=12).map(|n| n * n).sum::<i64>());
    });
}

#[test]
fn host_functions_take_and_give_all_types() {
    each(|machine| {
        assert_eq!(call::<_, i64>(machine, "call_ints", ()), -5);
        assert_eq!(call::<_, f64>(machine, "call_floats", ()), 66.0);
        assert_eq!(call::<_, f32>(machine, "call_mixed", ()), 10.75);
        let pairs = 3.0 - 6.0 + 3.0 * f64::from(3_u32 << 20) * f64::from(1 << 20) - 4.0 + 15.0 + 3.0 + 21.0 + 2.0;
        assert_eq!(call::<_, f64>(machine, "call_pairs", (3,)), pairs);
    });
}

#[test]
fn memory_is_seen_where_it_is() {
    each(|machine| {
        call::<_, ()>(machine, "call_log", (Str::new(0),));
        assert_eq!(machine.data().log, ["hello"]);
        assert_eq!(call::<_, f32>(machine, "call_sum", (Ptr::<f32>::new(0), 0_u64)), 6.5);
        assert_eq!(call::<_, i32>(machine, "call_fill", (Ptr::<u8>::new(0), 0_u64)), 0x0707_0701);
        assert_eq!(call::<_, f32>(machine, "call_point", (Ptr::<Point>::new(0),)), 2.5 + 2.0 + 25.0);
    });
}

/// What a guest can get wrong about pointers ends its run with an error that names function and argument.
#[test]
fn hostile_pointers_are_named() {
    each(|machine| {
        let stack = machine.stack();
        // The last word that is mapped: nothing is above the stack's pages.
        let end = machine.memory().regions().last().unwrap().end;
        let edge = end - 4;
        let refused = |error: Error, words: &[&str]| {
            let text = error.to_string();
            assert!(matches!(error, Error::Host(_)), "{text}");
            assert!(words.iter().all(|word| text.contains(word)), "{text}");
        };
        for address in [16, 0xffff_ffff, u64::MAX, 1 << 32, edge + 4] {
            let pointer = format!("argument 1, the pointer {address:#x}: ");
            let error = fails::<_, ()>(machine, "call_log", (Str::new(address),));
            refused(error, &["host function log failed: ", "; called at pc", "in log_", &pointer, "is not mapped"]);
            let error = fails::<_, f32>(machine, "call_sum", (Ptr::<f32>::new(address).slice(1),));
            refused(error, &["host function sum", &pointer]);
        }
        let error = fails::<_, f32>(machine, "call_sum", (Ptr::<f32>::new(stack.start).slice(u64::MAX / 2),));
        refused(error, &["sum", "argument 1", "9223372036854775807 elements of 4 bytes exceed all memory"]);
        let error = fails::<_, f32>(machine, "call_sum", (Ptr::<f32>::new(stack.start + 2).slice(1),));
        refused(error, &["sum", "it is not a multiple of 4"]);
        let error = fails::<_, f32>(machine, "call_point", (Ptr::<Point>::new(edge),));
        refused(error, &["point", "argument 1", &format!("{end:#x} is not mapped")]);
        // Text is read-only, and text to be read.
        let text = machine.func::<(), ()>("empty").unwrap().address();
        let error = fails::<_, i32>(machine, "call_fill", (Ptr::<u8>::new(text).slice(4),));
        refused(error, &["fill", "argument 1"]);
        // A string without an end, and one that is no text.
        machine.memory_mut().slice_mut(stack.start, 2 << 20).unwrap().fill(b'x');
        refused(
            fails::<_, ()>(machine, "call_log", (Str::new(stack.start),)),
            &["no zero byte ends the string within 1048576 bytes"],
        );
        machine.memory_mut().write(stack.start, &[0xff, 0]).unwrap();
        refused(fails::<_, ()>(machine, "call_log", (Str::new(stack.start),)), &["not UTF-8"]);
        assert_eq!(call::<_, i32>(machine, "add", (1, 2)), 3, "the machine stays usable");
    });
}

#[test]
fn errors_of_host_functions_are_traps_that_carry_them() {
    each(|machine| {
        for code in 1..4 {
            let error = fails::<_, ()>(machine, "call_fail", (code,));
            let Error::Host(failure) = &error else { panic!("{error}") };
            assert_eq!(failure.source.to_string(), format!("code {code}"));
            assert_eq!(failure.function.as_deref(), Some("fail"));
            let frames: Vec<_> = failure.backtrace.iter().map(|frame| frame.function.as_deref()).collect();
            assert_eq!(frames[0], Some("fail"), "{frames:?}");
            let image = machine.program().image();
            assert_eq!(image.symbol_at(failure.pc).unwrap().0.name, "fail");
        }
        assert_eq!(call::<_, i32>(machine, "count", ()), 3);
    });
}

#[test]
fn panics_of_host_functions_go_on_in_the_host() {
    each(|machine| {
        for _ in 0..3 {
            let function = machine.func::<(), ()>("call_panic").unwrap();
            let panic = catch_unwind(AssertUnwindSafe(|| function.call(machine, ()))).unwrap_err();
            assert_eq!(panic.downcast_ref::<&str>(), Some(&"the host panics"));
        }
        assert_eq!(call::<_, i32>(machine, "count", ()), 3);
        // The same with runs that wait: the guest calls the host, which calls the guest, which panics the host.
        let pointer = machine.program().image().symbol("call_panic").unwrap().address;
        let call_back = machine.func::<(Ptr<u8>, i32), i32>("call_call_back").unwrap();
        for _ in 0..3 {
            let panic = catch_unwind(AssertUnwindSafe(|| call_back.call(machine, (Ptr::new(pointer), 0)))).unwrap_err();
            assert_eq!(panic.downcast_ref::<&str>(), Some(&"the host panics"));
        }
        assert_eq!(call::<_, i32>(machine, "recurse", (63,)), 63);
        assert_eq!(machine.run().unwrap(), 7, "the guest's own run begins where it would have");
    });
}

#[test]
fn a_host_call_changes_nothing_but_its_results() {
    each(|machine| {
        assert_eq!(call::<_, u64>(machine, "kept", ()), 0);
        assert_eq!(call::<_, u64>(machine, "kept_by_callback", ()), 0);
    });
}

/// A call back has a stack of its own in compiled code: frames that wait keep what they hold.
#[test]
fn frames_that_wait_are_left_alone() {
    each(|machine| {
        let pointer = machine.program().image().symbol("spill").unwrap().address;
        assert_eq!(call::<_, i32>(machine, "spill", (Ptr::<u8>::new(pointer), 5)), 5 * (1..=40).sum::<i32>());
    });
}

#[test]
fn calls_nest_as_deep_as_the_limit() {
    each(|machine| {
        assert_eq!(call::<_, i32>(machine, "recurse", (63,)), 63);
        let error = fails::<_, i32>(machine, "recurse", (64,));
        let mut source: &dyn std::error::Error = &error;
        while let Some(next) = source.source() {
            source = next;
        }
        assert_eq!(
            source.to_string(),
            "host and guest have called each other 64 times, which is the limit (`Config::call_depth`)"
        );
        assert_eq!(call::<_, i32>(machine, "recurse", (10,)), 10);
    });
    let engine = Engine::new(Config::new().call_depth(3)).unwrap();
    let mut linker = Linker::new(&engine);
    register(&mut linker).unwrap();
    let mut machine = linker.instantiate(&Program::new(&engine, elf()).unwrap(), Host::default()).unwrap();
    assert_eq!(call::<_, i32>(&mut machine, "recurse", (2,)), 2);
    fails::<_, i32>(&mut machine, "recurse", (3,));
    let error = Engine::new(Config::new().call_depth(0)).unwrap_err();
    assert!(matches!(error, Error::Config(_)) && error.to_string().contains("`Config::call_depth`"), "{error}");
}

/// As many calls as the limit allows do not fit a small stack: that is an error, and the process lives.
#[test]
fn calls_nest_as_deep_as_the_threads_stack_allows() {
    let run = || {
        each(|machine| {
            let error = fails::<_, i32>(machine, "recurse", (63,));
            let mut source: &dyn std::error::Error = &error;
            while let Some(next) = source.source() {
                source = next;
            }
            let text = source.to_string();
            assert!(text.contains("bytes are left of the host thread's stack"), "{text}");
            assert_eq!(call::<_, i32>(machine, "recurse", (2,)), 2);
        });
    };
    // Errors of 60 nested calls are printed by the 60: what is compiled without optimisation takes more.
    let size = if cfg!(debug_assertions) { 384 << 10 } else { 128 << 10 };
    std::thread::Builder::new().stack_size(size).spawn(run).unwrap().join().unwrap();
}

/// Frames of the host's own functions lie between those of the guest, however large they are.
#[test]
fn host_functions_of_nested_calls_may_have_large_frames() {
    const CALLS: i32 = 20;
    let run = || {
        each(|machine| {
            machine.data_mut().has_large_frames = true;
            assert_eq!(call::<_, i32>(machine, "recurse", (CALLS,)), CALLS);
            // Each holds what does not fit into registers.
            let pointer = machine.program().image().symbol("spill").unwrap().address;
            assert_eq!(call::<_, i32>(machine, "spill", (Ptr::<u8>::new(pointer), 5)), 5 * (1..=40).sum::<i32>());
        });
    };
    // Where nothing is optimised, a frame has a copy.
    std::thread::Builder::new().stack_size((2 * CALLS as usize + 8) << 20).spawn(run).unwrap().join().unwrap();
}

#[test]
fn function_pointers_of_the_guest_can_be_kept() {
    each(|machine| {
        let pointer = call::<_, Ptr<u8>>(machine, "pointer", ());
        let function = machine.func_at::<(i32,), i32>(pointer.address()).unwrap();
        assert_eq!(function.call(machine, (6,)).unwrap(), 7);
        let nowhere = machine.func_at::<(i32,), i32>(16).unwrap_err();
        assert_eq!(nowhere.to_string(), "no function can be at 0x10, which is not in the program's text");
    });
}

/// A handle made by address has the host's signature, whatever the function there is exported as.
#[test]
fn signatures_of_addresses_are_the_hosts_own() {
    each(|machine| {
        // Both functions leave the registers of their parameters as they are, but for a0 of `add`.
        let empty = machine.func::<(), ()>("empty").unwrap().address();
        let add = machine.func::<(i32, i32), i32>("add").unwrap().address();
        let one = machine.func_at::<(i64, i64), i64>(empty).unwrap();
        assert_eq!(one.call(machine, (3 << 40, 4)).unwrap(), 3 << 40);
        let two = machine.func_at::<(i64, i64), (i64, i64)>(empty).unwrap();
        assert_eq!(two.call(machine, (3, 4 << 40)).unwrap(), (3, 4 << 40));
        let two = machine.func_at::<(i64, i64), (i64, i64)>(add).unwrap();
        assert_eq!(two.call(machine, (40, 2)).unwrap(), (42, 2));
        let none = machine.func_at::<(i64, i64), ()>(add).unwrap();
        none.call(machine, (40, 2)).unwrap();
    });
}

#[test]
fn traps_leave_the_machine_usable() {
    each(|machine| {
        let error = fails::<_, ()>(machine, "trap", ());
        // Compiled code that is not precise may take it for the load just before it.
        let (store, load) = (TrapCause::StoreFault { address: 16 }, TrapCause::LoadFault { address: 16 });
        assert!(cause(&error) == Some(store) || cause(&error) == Some(load), "{error}");
        let error = fails::<_, ()>(machine, "unbound", ());
        assert_eq!(cause(&error), Some(TrapCause::UnboundImport { index: 1000 }));
        assert_eq!(call::<_, i32>(machine, "add", (1, 2)), 3);
        assert_eq!(machine.run().unwrap(), 7, "the guest's own run begins where it would have");
        assert_eq!(call::<_, i32>(machine, "add", (2, 2)), 4);
    });
}

#[test]
fn a_guest_may_exit_while_it_is_called() {
    each(|machine| {
        let error = fails::<_, ()>(machine, "call_exit", (3,));
        assert!(matches!(error, Error::Exited { status: 3 }), "{error}");
        assert_eq!(call::<_, i32>(machine, "add", (1, 2)), 3);
    });
}

#[test]
fn calls_have_limits_of_their_own() {
    each(|machine| {
        let spin = machine.func::<(), ()>("spin").unwrap();
        let before = machine.instructions();
        let error = spin.call_within(machine, CallLimits::new().fuel(1000), ()).unwrap_err();
        assert_eq!(cause(&error), Some(TrapCause::OutOfFuel));
        let backtrace = &error.trap().unwrap().backtrace;
        assert_eq!(backtrace.first().and_then(|frame| frame.function.as_deref()), Some("spin"), "{backtrace:?}");
        assert_eq!(machine.instructions() - before, 1000, "fuel is exact");
        assert_eq!(machine.fuel(), None);
        let limits = CallLimits::new().timeout(Duration::from_millis(20));
        assert_eq!(cause(&spin.call_within(machine, limits, ()).unwrap_err()), Some(TrapCause::Deadline));
        assert_eq!(call::<_, i32>(machine, "add", (1, 2)), 3);

        machine.set_fuel(Some(500));
        let error = spin.call_within(machine, CallLimits::new().fuel(100), ()).unwrap_err();
        assert_eq!((cause(&error), machine.fuel()), (Some(TrapCause::OutOfFuel), Some(400)));
        assert_eq!(call::<_, i32>(machine, "add", (1, 2)), 3);
        assert_eq!(machine.fuel(), Some(398));
    });
}

/// What a nested call executes is taken from the outer one's fuel.
#[test]
fn nested_calls_share_fuel() {
    let mut ends = Vec::new();
    each(|machine| {
        machine.set_fuel(Some(2000));
        let call_spin = machine.func::<(), i32>("call_spin").unwrap();
        call_spin.call(machine, ()).unwrap_err();
        assert_eq!(machine.fuel(), Some(0));
        assert_eq!(machine.instructions(), 2000);
    });
    for guest in guests() {
        let mut machine = guest.machine();
        machine.set_fuel(Some(1_000_000));
        let sum = call::<_, i32>(&mut machine, "recurse", (20,));
        ends.push((sum, machine.fuel(), machine.instructions()));
    }
    ends.dedup();
    assert_eq!(ends.len(), 1, "engines agree: {ends:?}");
    let exact = 1_000_000 - ends[0].1.unwrap();
    for guest in guests() {
        for fuel in [exact - 1, exact] {
            let mut machine = guest.machine();
            machine.set_fuel(Some(fuel));
            let recurse = machine.func::<(i32,), i32>("recurse").unwrap();
            let result = recurse.call(&mut machine, (20,));
            assert_eq!(result.is_ok(), fuel == exact, "{}: {result:?}", guest.name);
        }
    }
}

#[test]
fn host_functions_know_where_they_are_called() {
    let mut counts = Vec::new();
    for guest in guests() {
        let mut machine = guest.machine();
        // Code that does not count is not run with fuel.
        machine.set_fuel(Some(1_000_000));
        let here = machine.program().image().symbol("here").unwrap().address;
        assert_eq!(call::<_, u64>(&mut machine, "call_where", (0,)), here, "{}", guest.name);
        counts.push(call::<_, u64>(&mut machine, "call_where", (1,)));
    }
    counts.dedup();
    assert_eq!(counts.len(), 1, "{counts:?}");
}

#[test]
fn all_forms_of_calls_lead_to_the_same_functions() {
    each(|machine| {
        assert_eq!(call::<_, i32>(machine, "call_inline", (21,)), 42);
        assert_eq!(call::<_, i32>(machine, "call_opaque", (22,)), 44);
        assert_eq!(call::<_, i64>(machine, "system_call", (500_i64, 5_i64)), 15);
        assert_eq!(call::<_, i64>(machine, "system_call", (1_i64, 0_i64)), 3, "the handler calls back");
        let error = fails::<_, i64>(machine, "system_call", (2_i64, 0_i64));
        let text = error.to_string();
        assert!(text.starts_with("a system call failed: no call 2; called at pc 0x"), "{text}");
    });
}

#[test]
fn loops_of_host_calls_run() {
    each(|machine| {
        assert_eq!(call::<_, i64>(machine, "loop", (1000_i64,)), 1000);
        assert_eq!(machine.data().nops, 1000);
        machine.set_fuel(Some(5_000));
        let error = fails::<_, i64>(machine, "loop", (1000_i64,));
        assert_eq!((cause(&error), machine.fuel()), (Some(TrapCause::OutOfFuel), Some(0)));
    });
}

/// Host code never runs in the guest's rounding mode, and the guest's is there again afterwards.
#[test]
fn rounding_modes_are_the_guests_own() {
    each(|machine| {
        const DOWN: u64 = 2;
        if machine.program().export("rounds_down").is_some() {
            assert_eq!(call::<_, (u64, f64)>(machine, "rounds_down", ()), (DOWN, 0.1));
        }
        machine.set_fcsr((DOWN as u32) << 5);
        assert_eq!(call::<_, f32>(machine, "call_mixed", ()), 10.75);
    });
}

/// Exceptions that host code raises are not the guest's, whether it returns or fails.
#[test]
fn float_exceptions_are_the_guests_own() {
    const INEXACT: u32 = 1;
    const NO_DIVISOR: u32 = 8;
    each(|machine| {
        if machine.program().export("exceptions").is_none() {
            return;
        }
        assert_eq!(call::<_, u64>(machine, "exceptions", (1.0, 2.0)), 0);
        assert_eq!(call::<_, u64>(machine, "exceptions", (1.0, 10.0)), INEXACT.into());
        assert_eq!(call::<_, u64>(machine, "exceptions", (1.0, 0.0)), NO_DIVISOR.into());
        for divisor in [2.0, 0.0] {
            fails::<_, u64>(machine, "exceptions", (-1.0, divisor));
            assert_eq!(machine.fcsr() & INEXACT, 0);
        }
    });
}

/// The float environment is a thread's: it stays as a call leaves it, in all engines and with any limit. Reservations end
/// with the call.
#[test]
fn functions_that_follow_each_other_share_the_float_environment_and_no_reservation() {
    const INEXACT: u64 = 1;
    const UP: u64 = 3;
    each(|machine| {
        if machine.program().export("environment").is_none() {
            return;
        }
        for fuel in [None, Some(1_000_000)] {
            machine.set_fuel(fuel);
            for (mode, third) in [(UP, 0x3fd5_5555_5555_5556), (0, 0x3fd5_5555_5555_5555)] {
                machine.set_fcsr(0);
                call::<_, ()>(machine, "set_mode", (mode,));
                assert_eq!(call::<_, f64>(machine, "quotient", (1.0, 3.0)).to_bits(), third, "{fuel:?}");
                let environment = mode << 5 | INEXACT;
                assert_eq!(call::<_, u64>(machine, "environment", ()), environment, "{fuel:?}");
                assert_eq!(u64::from(machine.fcsr()), environment, "{fuel:?}");
                call::<_, ()>(machine, "set_mode", (0_u64,));
            }
            call::<_, ()>(machine, "reserve", ());
            assert_eq!(call::<_, u64>(machine, "store", ()), 1, "{fuel:?}");
        }
    });
}

#[test]
fn raw_values_are_as_good() {
    each(|machine| {
        let types = Func::<(i32, f32, i32, f64, i32, i32, i32, i32, i32, i32, i32, f64), i64>::signature();
        let many = machine.dyn_func("many", Some(&types)).unwrap();
        let (two, four, twelve) = (GuestValue::to_bits(2.0_f32), 4.0_f64.to_bits(), 12.0_f64.to_bits());
        let mut slots = [1, two, 3, four, 5, 6, 7, 8, 9, 10, 11, twelve];
        many.call(machine, &mut slots).unwrap();
        assert_eq!(slots[0], (1..=12).map(|n| n * n).sum::<u64>());
        let swap = machine.dyn_func("swap", Some(&Func::<(i64,), (i32, i32)>::signature())).unwrap();
        let mut slots = [0x7_ffff_fffe, 0];
        swap.call(machine, &mut slots).unwrap();
        assert_eq!(slots.map(i32::from_bits), [7, -2]);
    });
}

#[test]
fn a_suspended_run_goes_on_after_calls() {
    each(|machine| {
        machine.set_fuel(Some(2));
        assert_eq!(cause(&machine.run().unwrap_err()), Some(TrapCause::OutOfFuel));
        let registers: Vec<u64> = (0..32).map(|n| machine.x(n)).collect();
        let pc = machine.pc();
        machine.set_fuel(None);
        assert_eq!(call::<_, i32>(machine, "add", (1, 2)), 3);
        assert_eq!((0..32).map(|n| machine.x(n)).collect::<Vec<u64>>(), registers);
        assert_eq!(machine.pc(), pc);
        assert_eq!(machine.run().unwrap(), 7);
    });
}

#[test]
fn calls_leave_where_the_guest_stands() {
    each(|machine| {
        let stands = |machine: &Machine<Host>| (machine.pc(), machine.x(2), machine.backtrace().len());
        let before = stands(machine);
        // A host function that is called in the midst of it says where.
        let place = machine.func::<(i32,), u64>("call_where").unwrap();
        for _ in 0..3 {
            assert_ne!(place.call(machine, (0,)).unwrap(), before.0);
            assert_eq!(stands(machine), before);
        }
        // What is asked to be changed is changed, and kept by calls.
        let (pc, sp) = (before.0 + 4, before.1 - 64);
        machine.set_x(2, sp);
        place.call(machine, (0,)).unwrap();
        assert_eq!(machine.x(2), sp);
        machine.set_pc(pc);
        for _ in 0..3 {
            place.call(machine, (0,)).unwrap();
        }
        assert_eq!((machine.pc(), machine.x(2)), (pc, sp));
    });
}

/// The guest's own run has the same registers before and behind calls, however these end.
#[test]
fn calls_leave_the_registers_of_the_guests_own_run() {
    const GIVEN: [u8; 3] = [0, 2, 3];
    each(|machine| {
        let pointer = machine.program().image().symbol("spill").unwrap().address;
        for n in (0..32).filter(|n| !GIVEN.contains(n)) {
            machine.set_x(n, 0x1111_0000 + u64::from(n));
        }
        for n in 0..32 {
            machine.set_f(n, 0x2222_0000 + u64::from(n));
        }
        let registers = |machine: &Machine<Host>| {
            let (x, f): (Vec<u64>, Vec<u64>) = (0..32).map(|n| (machine.x(n), machine.f(n))).unzip();
            (machine.pc(), x, f)
        };
        let before = registers(machine);
        for _ in 0..2 {
            assert_eq!(call::<_, i32>(machine, "spill", (Ptr::<u8>::new(pointer), 1)), (1..=40).sum::<i32>());
            assert_eq!(call::<_, f64>(machine, "scale", (2.0_f32, 1.5)), 3.0);
            assert_eq!(call::<_, u64>(machine, "kept_by_callback", ()), 0);
            assert_eq!(registers(machine), before);
            fails::<_, ()>(machine, "call_fail", (5,));
            assert_eq!(registers(machine), before);
            fails::<_, ()>(machine, "trap", ());
            assert_eq!(registers(machine), before);
            fails::<_, ()>(machine, "call_exit", (3,));
            assert_eq!(registers(machine), before);
            let function = machine.func::<(), ()>("call_panic").unwrap();
            catch_unwind(AssertUnwindSafe(|| function.call(machine, ()))).unwrap_err();
            assert_eq!(registers(machine), before);
        }
    });
}

/// A run that a host function has ended calls it again when it goes on, with the same arguments, or says that these are
/// lost.
#[test]
fn a_run_that_a_host_function_has_ended_goes_on_at_its_call() {
    each(|machine| {
        for (count, name) in [(1, "fail_computed"), (2, "fail_constant")] {
            machine.set_pc(machine.program().image().symbol(name).unwrap().address);
            machine.set_x(10, 41);
            let error = machine.run().unwrap_err().to_string();
            assert!(error.contains("code 124"), "{error}");
            for _ in 0..2 {
                match machine.run().unwrap_err() {
                    Error::Lost { pc } => assert_eq!(pc, machine.pc()),
                    error => {
                        assert!(error.to_string().contains("code 124"), "{error}");
                        assert_eq!(machine.x(10), 124);
                    }
                }
                assert_eq!(call::<_, i32>(machine, "count", ()), count);
            }
        }
        machine.set_pc(machine.program().image().symbol("call_panic").unwrap().address);
        for _ in 0..3 {
            let panic = catch_unwind(AssertUnwindSafe(|| machine.run())).unwrap_err();
            assert_eq!(panic.downcast_ref::<&str>(), Some(&"the host panics"), "it is given nothing");
        }
        assert_eq!(call::<_, i32>(machine, "count", ()), 3);
    });
}

/// Calls that are left where compiled code keeps no registers say nothing of the guest's own run.
#[test]
fn calls_that_lose_their_registers_leave_those_of_the_guests_own_run() {
    each(|machine| {
        for _ in 0..2 {
            let spin = machine.func::<(), ()>("spin_behind_a_call").unwrap();
            let limits = CallLimits::new().timeout(Duration::from_millis(10));
            let error = spin.call_within(machine, limits, ()).unwrap_err();
            assert_eq!(cause(&error), Some(TrapCause::Deadline), "{error}");
        }
        assert_eq!(machine.run().unwrap(), 7);
    });
}

#[test]
fn what_does_not_fit_is_said_at_load() {
    let engine = Engine::new(&Config::new()).unwrap();
    let program = Program::new(&engine, elf()).unwrap();
    let empty: Linker<Host> = Linker::new(&engine);
    let error = empty.instantiate(&program, Host::default()).unwrap_err();
    let missing = "the program calls the host function nop (void ()), which the linker does not have: \
                   register it with `Linker::func`";
    assert_eq!(error.to_string(), missing);

    let mut other: Linker<Host> = Linker::new(&engine);
    other.func("nop", |_: i32| 1_i64).unwrap();
    let error = other.instantiate(&program, Host::default()).unwrap_err();
    let text = "the program calls the host function nop as `void ()`, but the linker has it as `i64 (i32)`";
    assert_eq!(error.to_string(), text);

    let machine = &mut guests()[0].machine();
    let error = machine.func::<(i32,), i32>("add").unwrap_err();
    let text = "the program exports add as `i32 (i32, i32)`, but the host calls it as `i32 (i32)`";
    assert_eq!(error.to_string(), text);
    let error = machine.func::<(), ()>("nothing").unwrap_err();
    assert!(error.to_string().starts_with("the program has no function nothing: "), "{error}");
    assert!(machine.func::<(i32,), i32>("clobber").is_ok(), "symbols will do");
}

#[test]
fn names_have_one_function_and_one_hash() {
    let engine = Engine::new(&Config::new()).unwrap();
    let mut linker: Linker<()> = Linker::new(&engine);
    let refused = |error: Option<Error>, expected: LinkError| match error {
        Some(Error::Link(error)) => assert_eq!(error, expected),
        other => panic!("{other:?}"),
    };
    linker.func("plumless", || {}).unwrap();
    refused(linker.func("plumless", || {}).err(), LinkError::Duplicate { name: "plumless".into() });
    let (first, second) = ("plumless".into(), "buckeroo".into());
    refused(linker.func("buckeroo", || {}).err(), LinkError::Collision { first, second, hash: 0x4ddb_0c25 });
    refused(linker.syscall(100_000, || {}).err(), LinkError::Number { number: 100_000 });
    refused(linker.syscall(504, || {}).err(), LinkError::Number { number: 504 });
}

/// Both kinds of places to call from.
#[test]
fn contexts_are_generic() {
    fn through(context: &mut impl CallContext, add: Func<(i32, i32), i32>) -> i32 {
        add.call(context, (20, 1)).unwrap()
    }
    let machine = &mut guests()[0].machine();
    let add = machine.func("add").unwrap();
    assert_eq!(through(machine, add), 21);
}
