//! Arguments and results of all types cross in each form, by each compiler; what is for initialization, for
//! clients or for servers only is refused otherwise.

use std::fs;

use crate::common::{Build, COMPILERS, Compiler, api, builds, folder, tests};
use riverrun::bytemuck::{Pod, Zeroable};
use riverrun::{
    Caller, Config, Engine, Func, GuestValue, HostError, Linker, Machine, Memory, Program, Ptr, Scalar, Slice, Str,
};
use riverrun_bindgen::Guest;
use riverrun_testkit::suite::SuiteEngine;

#[allow(unreachable_pub, dead_code, reason = "it is what was generated")]
mod bindings {
    include!("goldens/game_host.rs");
}
use bindings::{Api, ClientApi, Handle, Mixed, Point, ServerApi, TestData, Texture, node};

#[derive(Default)]
struct Host {
    titles: Vec<String>,
    calls: u32,
}

impl Api for Host {
    fn set_title(mut caller: Caller<'_, Self>, title: Str) -> Result<(), HostError> {
        let title = title.get(caller.memory())?.to_owned();
        caller.data_mut().titles.push(title);
        Ok(())
    }

    fn game_exit(_: Caller<'_, Self>) -> Result<(), HostError> {
        Err("the game is over".into())
    }

    fn timer_stop(_: Caller<'_, Self>, id: i32) -> Result<(), HostError> {
        assert_eq!(id, -7);
        Ok(())
    }

    fn timer_periodic(
        mut caller: Caller<'_, Self>,
        first: f32,
        period: f32,
        callback: Ptr<()>,
        data: Ptr<u8>,
        size: u64,
    ) -> Result<i32, HostError> {
        assert_eq!((first, period, size), (0.5, -1.0, 3));
        let callback = caller.func_at::<(i32, Ptr<u8>), ()>(callback.address())?;
        callback.call(&mut caller, (40, data))?;
        callback.call(&mut caller, (2, data))?;
        Ok(30)
    }

    fn breakpoint(caller: Caller<'_, Self>, line: u16, text: Str) -> Result<(), HostError> {
        assert_eq!((line, text.get(caller.memory())?), (65535, "here"));
        Ok(())
    }

    fn is_debug(_: Caller<'_, Self>) -> Result<i32, HostError> {
        Ok(-2)
    }

    fn texture(caller: Caller<'_, Self>, from: Ptr<node>, done: Ptr<()>) -> Result<Ptr<Texture>, HostError> {
        if from.is_null() {
            assert!(done.is_null());
            return Ok(Ptr::new(0));
        }
        let first = from.get(caller.memory())?;
        let last = Ptr::<node>::new(first.next).get(caller.memory())?;
        assert_eq!(last.next, 0);
        Ok(Ptr::new(first.at.iter().chain(&last.at).sum::<f32>() as u64))
    }

    fn point_length(&mut self, _: &mut Memory, point: Point) -> Result<f32, HostError> {
        Ok(point.x + point.y)
    }

    fn point_add(_: Caller<'_, Self>, a: Point, b: Point) -> Result<Point, HostError> {
        Ok(Point { x: a.x + b.x, y: a.y + b.y })
    }

    fn handle_next(_: Caller<'_, Self>, handle: Handle) -> Result<Handle, HostError> {
        Ok(Handle { kind: handle.kind - 1, id: handle.id + 1, ..handle })
    }

    fn mixed_scale(_: Caller<'_, Self>, mixed: Mixed, by: f64) -> Result<Mixed, HostError> {
        Ok(Mixed { weight: mixed.weight * by, count: mixed.count * 2, ..mixed })
    }

    fn matrix_multiply(
        &mut self,
        memory: &mut Memory,
        m: Ptr<[[f32; 4]; 4]>,
        by: Ptr<[[f32; 4]; 4]>,
    ) -> Result<(), HostError> {
        let by = *by.get(memory)?;
        let m = m.get_mut(memory)?;
        for row in m {
            *row = std::array::from_fn(|column| (0..4).map(|i| row[i] * by[i][column]).sum());
        }
        Ok(())
    }

    fn matrix_is_identity(&mut self, memory: &mut Memory, m: Ptr<[f32; 16]>) -> Result<bool, HostError> {
        Ok(m.get(memory)?.iter().enumerate().all(|(at, &value)| value == f32::from(u8::from(at % 5 == 0))))
    }

    fn sum(caller: Caller<'_, Self>, values: Slice<f32>) -> Result<f32, HostError> {
        Ok(values.get(caller.memory())?.iter().sum())
    }

    fn many(_: Caller<'_, Self>, a: i32, b: i32, c: i32, d: i32, e: i32) -> Result<i64, HostError> {
        assert_eq!([a, b, c, d, e], [1, -1, 3, -2, 5]);
        Ok(-5_000_000_000)
    }

    fn stack(
        _: Caller<'_, Self>,
        a: u8,
        b: i16,
        c: i64,
        d: i64,
        e: i64,
        f: i64,
        g: i64,
        h: i64,
        i: i64,
        j: i32,
    ) -> Result<i64, HostError> {
        assert_eq!((a, b, i, j), (255, -1, -1, -2));
        Ok(i64::from(a) + i64::from(b) + c + d + e + f + g + h + i + i64::from(j) + 1)
    }

    fn eight(
        _: Caller<'_, Self>,
        a: i32,
        b: i32,
        c: i32,
        d: i32,
        e: i32,
        f: i32,
        g: i32,
        h: i32,
    ) -> Result<i32, HostError> {
        Ok(a + b + c + d + e + f + g + h)
    }

    fn floats(
        _: Caller<'_, Self>,
        a: f32,
        b: f64,
        c: f32,
        d: f32,
        e: f32,
        f: f32,
        g: f32,
        h: f32,
        i: f32,
        point: Point,
    ) -> Result<f64, HostError> {
        assert_eq!((i, point), (-1.0, Point { x: 1.5, y: -1.0 }));
        Ok(b + f64::from(a + c + d + e + f + g + h + point.x))
    }

    fn narrowed(_: Caller<'_, Self>, value: f64) -> Result<f32, HostError> {
        Ok(value as f32 / 2.0)
    }

    fn narrow(_: Caller<'_, Self>, a: i8, b: u8, c: i16, d: bool, e: u8) -> Result<i8, HostError> {
        assert_eq!((a, b, c, d, e), (-100, 200, -30_000, true, b'x'));
        Ok(-128)
    }

    fn odd(mut caller: Caller<'_, Self>) -> Result<(), HostError> {
        caller.data_mut().calls += 1;
        Ok(())
    }

    fn empty(mut caller: Caller<'_, Self>) -> Result<(), HostError> {
        caller.data_mut().calls += 10;
        Ok(())
    }
}

impl ClientApi for Host {
    fn gui_label(caller: Caller<'_, Self>, parent: u32, text: Str) -> Result<u32, HostError> {
        assert_eq!((parent, text.get(caller.memory())?), (u32::MAX, "label"));
        Ok(parent - 1)
    }
}

impl ServerApi for Host {
    fn world_save(caller: Caller<'_, Self>, size: u32, data: Ptr<TestData>) -> Result<bool, HostError> {
        let data = data.get(caller.memory())?;
        assert_eq!((size, data.c, data.z), (1, 3, 6.0));
        Ok(true)
    }
}

const FORMS: [&str; 3] = ["sys_##name", "isys_##name", "dsys_##name"];

fn guest(build: &Build<'_>, form: &str) -> Vec<u8> {
    let folder = folder();
    let [_, assembly] = api("game.json").write_guest_c(folder.path()).unwrap();
    let sources = [tests().join("guests/values.c"), assembly];
    fs::read(build.guest(folder.path(), &sources, &[&format!("-DFORM(name)={form}")])).unwrap()
}

/// The machine after main.
fn started(bytes: &[u8], engine: SuiteEngine, is_client: bool) -> Machine<Host> {
    let program = engine.load(&Config::new(), bytes);
    let mut linker = Linker::new(program.engine());
    if is_client { bindings::link_client(&mut linker) } else { bindings::link_server(&mut linker) }.unwrap();
    let mut machine = linker.instantiate(&program, Host::default()).unwrap();
    assert!(machine.is_initializing());
    assert_eq!(machine.run().unwrap(), 0);
    assert_eq!(machine.data().titles, ["a game"]);
    machine
}

#[test]
fn all_types_cross_in_all_forms() {
    for build in builds() {
        for form in FORMS {
            let bytes = guest(&build, form);
            for &engine in SuiteEngine::ALL {
                let mut machine = started(&bytes, engine, true);
                let values = machine.func::<(i32,), i32>("values").unwrap();
                let line = values.call(&mut machine, (-1,)).unwrap_or_else(|e| panic!("{build:?}, {form}: {e}"));
                assert_eq!(line, 0, "line of tests/guests/values.c, {build:?}, {form}");
                assert_eq!(machine.data().calls, 11);
            }
        }
    }
}

/// `float of[2]`, which is as two floats.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[bytemuck(crate = "riverrun::bytemuck")]
struct Pair {
    first: f32,
    second: f32,
}
riverrun::by_value!(Pair { first: f32, second: f32 });

/// More than two floats: they share integer registers.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[bytemuck(crate = "riverrun::bytemuck")]
struct Vector {
    x: f32,
    y: f32,
    z: f32,
}
riverrun::by_value!(Vector { x: f32, y: f32, z: f32 });

#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[bytemuck(crate = "riverrun::bytemuck")]
struct Named {
    weight: f32,
    padding: u32,
    name: u64,
}
riverrun::by_value!(Named = [(0, Scalar::F32), (8, Scalar::Ptr)]);

/// Calls the functions of `guests/values.c` that take and return structs.
fn call_by_value(machine: &mut Machine<Host>) {
    let turned = machine.func::<(Point, i32), Point>("turned").unwrap();
    assert_eq!(turned.call(machine, (Point { x: 1.5, y: -2.0 }, 1)).unwrap(), Point { x: 2.0, y: 1.5 });
    let mut slots = [GuestValue::to_bits(1.5_f32), GuestValue::to_bits(-2.0_f32), 1];
    let raw = machine.dyn_func("turned", Some(&Func::<(Point, i32), Point>::signature())).unwrap();
    raw.call(machine, &mut slots).unwrap();
    assert_eq!(slots, [GuestValue::to_bits(2.0_f32), GuestValue::to_bits(1.5_f32), 1]);

    let swapped = machine.func::<(Pair,), Pair>("swapped").unwrap();
    let pair = Pair { first: 1.0, second: 2.0 };
    assert_eq!(swapped.call(machine, (pair,)).unwrap(), Pair { first: 2.0, second: 1.0 });

    let handle = |kind, id| Handle { kind, id, ..Zeroable::zeroed() };
    let next = machine.func::<(Handle,), Handle>("next").unwrap();
    let Handle { kind, id, .. } = next.call(machine, (handle(-128, -10_000_000_000),)).unwrap();
    assert_eq!((kind, id), (127, -9_999_999_999));
    let mut slots = [5, 7];
    let raw = machine.dyn_func("next", Some(&Func::<(Handle,), Handle>::signature())).unwrap();
    raw.call(machine, &mut slots).unwrap();
    assert_eq!((slots[0] as i8, slots[1]), (4, 8));

    let mixed = |weight, count| Mixed { weight, count, ..Zeroable::zeroed() };
    let scaled = machine.func::<(Mixed, f64), Mixed>("scaled").unwrap();
    assert_eq!(scaled.call(machine, (mixed(0.25, -3), 2.0)).unwrap(), mixed(0.5, -6));

    let negated = machine.func::<(Vector,), Vector>("negated").unwrap();
    let vector = Vector { x: 1.0, y: -2.0, z: 3.0 };
    assert_eq!(negated.call(machine, (vector,)).unwrap(), Vector { x: -1.0, y: 2.0, z: -3.0 });

    type Crowd = (f32, f32, f32, f32, f32, f32, f32, Point, i64, i64, i64, i64, i64, Mixed, Handle, f32);
    let crowded = machine.func::<Crowd, f64>("crowded").unwrap();
    let point = Point { x: 3.0, y: -5.0 };
    let all = (1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, point, 10, 20, 30, 40, 50, mixed(0.5, -8), handle(-3, 1000), 0.5);
    let expected = 28.0 - 15.0 + 150.0 - 4.0 - 3000.0 + 0.5;
    assert_eq!(crowded.call(machine, all).unwrap(), expected);

    type Behind = (i64, i64, i64, i64, i64, i64, i64, i64, i64, Point, Mixed);
    let behind = machine.func::<Behind, f64>("behind").unwrap();
    assert_eq!(behind.call(machine, (1, 2, 3, 4, 5, 6, 7, 8, 9, point, mixed(0.5, -8))).unwrap(), 45.0 - 15.0 - 4.0);

    let error = machine.func::<(Pair,), Vector>("swapped").unwrap_err().to_string();
    assert!(error.contains("swapped as `{f32, f32} (f32, f32)`"), "{error}");
    assert!(error.contains("the host calls it as `{u64, u64} (f32, f32)`"), "{error}");
}

#[test]
fn structs_cross_by_value() {
    for build in builds() {
        let bytes = guest(&build, FORMS[2]);
        for &engine in SuiteEngine::ALL {
            eprintln!("{build:?}, {engine:?}");
            let mut machine = started(&bytes, engine, true);
            call_by_value(&mut machine);
            // Rust passes such a struct otherwise, and refuses it.
            let renamed = machine.func::<(Named,), Named>("renamed").unwrap();
            let named = Named { weight: 1.0, padding: 0, name: 0x20000 };
            let expected = Named { weight: 2.0, name: 0x20001, ..named };
            assert_eq!(renamed.call(&mut machine, (named,)).unwrap(), expected);
        }
    }
}

/// Guests in Rust, by the crate that they use.
fn rust_guest(optimise: &str) -> Vec<u8> {
    let folder = folder();
    let guest = Guest::new("values").api(tests().join("apis/game.json")).package(tests().join("guests/rust"));
    let (guest, dependencies) = guest.flag(optimise).build_in(folder.path()).unwrap_or_else(|error| panic!("{error}"));
    for file in ["guests/rust/src/main.rs", "guests/rust/Cargo.toml", "../../../guest/rust/src/heap.rs"] {
        let file = fs::canonicalize(tests().join(file)).unwrap();
        assert!(
            dependencies.iter().any(|known| fs::canonicalize(known).unwrap() == file),
            "{file:?}: {dependencies:?}"
        );
    }
    fs::read(guest).unwrap()
}

#[test]
fn all_types_cross_from_rust() {
    for optimise in ["-Copt-level=0", "-Copt-level=3"] {
        let bytes = rust_guest(optimise);
        for &engine in SuiteEngine::ALL {
            let mut machine = started(&bytes, engine, true);
            for form in ["opaque", "inline", "direct"] {
                let values = machine.func::<(i32,), i32>(form).unwrap();
                let failed = values.call(&mut machine, (-1,)).unwrap_or_else(|e| panic!("{form}: {e}"));
                assert_eq!(failed, 0, "check in tests/guests/rust/src/main.rs, {form}, {optimise}");
            }
            assert_eq!(machine.data().calls, 33);
            call_by_value(&mut machine);
        }
    }
}

fn quick(compiler: Compiler) -> Build<'static> {
    Build { compiler, cxx: false, flags: &["-O2"] }
}

#[test]
fn calls_for_initialization_are_locked_afterwards() {
    for compiler in COMPILERS {
        for form in FORMS {
            let mut machine = started(&guest(&quick(compiler), form), SuiteEngine::Interpreter, true);
            assert!(!machine.is_initializing());
            let retitle = machine.func::<(), ()>("retitle").unwrap();
            let error = retitle.call(&mut machine, ()).unwrap_err().to_string();
            assert!(error.contains("the host function Game::set_title failed: "), "{error}");
            assert!(error.contains("it can be called during initialization only"), "{error}");
            assert_eq!(machine.data().titles, ["a game"]);
        }
    }
}

#[test]
fn calls_of_the_other_side_are_refused_when_they_are_made() {
    for compiler in COMPILERS {
        for form in FORMS {
            let bytes = guest(&quick(compiler), form);
            let mut server = started(&bytes, SuiteEngine::Interpreter, false);
            let save = server.func::<(), bool>("save").unwrap();
            assert!(save.call(&mut server, ()).unwrap());
            let mut client = started(&bytes, SuiteEngine::Interpreter, true);
            let save = client.func::<(), bool>("save").unwrap();
            let error = save.call(&mut client, ()).unwrap_err().to_string();
            assert!(error.contains("World::save is a call that only servers have"), "{error}");
        }
    }
}

/// A guest that was built from a description with more calls runs on a host that has fewer, as long as it
/// does not use them; and one that uses them is told which one is missing.
#[test]
fn guests_of_other_versions() {
    let folder = folder();
    let source = folder.path().join("guest.c");
    fs::write(
        &source,
        "#include \"api.h\"\n#include <riverrun.h>\n\
         RIVERRUN_EXPORT(int, ask, (void));\n\
         int ask(void) { return dsys_old(1); }\n\
         int main(void) { return USE; }\n",
    )
    .unwrap();
    let api = riverrun_bindgen::Api::parse(
        "api.json",
        r#"{ "new": "int sys_new ()", "old": "int sys_old (int)", "newer": "int sys_newer ()" }"#,
    );
    let [_, assembly] = api.unwrap().write_guest_c(folder.path()).unwrap();
    for compiler in COMPILERS {
        let load = |used: &str, linker: fn(&Engine) -> Linker<()>| {
            let used = format!("-DUSE={used}");
            let guest = quick(compiler).guest(folder.path(), &[source.clone(), assembly.clone()], &[&used]);
            let engine = Engine::new(&Config::new()).unwrap();
            let linker = linker(&engine);
            let program = Program::new(&engine, fs::read(guest).unwrap()).unwrap();
            linker.instantiate(&program, ()).map_err(|error| error.to_string())
        };
        let old = |engine: &Engine| {
            let mut linker = Linker::new(engine);
            linker.func("old", |x: i32| x + 1).unwrap();
            linker
        };
        let mut machine = load("0", old).unwrap();
        assert_eq!(machine.run().unwrap(), 0);
        let ask = machine.func::<(), i32>("ask").unwrap();
        assert_eq!(ask.call(&mut machine, ()).unwrap(), 2);

        let error = load("dsys_new()", old).unwrap_err();
        assert!(error.contains("the host function new (i32 ())"), "{error}");
        // The other forms are found when they are called.
        for (used, named) in [("sys_new()", "`new`"), ("isys_new()", "whose name has the hash 0x")] {
            let error = load(used, old).unwrap().run().unwrap_err().to_string();
            assert!(error.contains(&format!("the guest calls the host function {named}")), "{error}");
        }
        let other = |engine: &Engine| {
            let mut linker = Linker::new(engine);
            linker.func("old", |x: i64| x).unwrap();
            linker
        };
        let error = load("0", other).unwrap_err();
        assert!(error.contains("old as `i32 (i32)`") && error.contains("`i64 (i64)`"), "{error}");
    }
}
