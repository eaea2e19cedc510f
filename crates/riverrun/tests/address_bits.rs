//! Machines with fewer addresses: each engine keeps to them, and what does not fit is refused in words.

use std::path::Path;
use std::sync::OnceLock;

use riverrun::{
    AddressSpace, Config, Engine, Error, HeapOptions, Linker, Machine, Parameters, Perm, Pool, Program, Returned,
    Snapshot, SnapshotError, TrapCause,
};
use riverrun_testkit::suite::SuiteEngine;
use riverrun_testkit::tools;

const SIZES: [u32; 4] = [26, 27, 31, 32];

fn elf() -> &'static [u8] {
    static ELF: OnceLock<Vec<u8>> = OnceLock::new();
    ELF.get_or_init(|| {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let include = format!("-I{}", root.join("../../guest/include").display());
        let flags = ["-O2", "-fno-tree-loop-distribute-patterns", &include];
        tools::compile(env!("CARGO_TARGET_TMPDIR"), &root.join("tests/guests/aliases.c"), &flags)
    })
}

fn config(bits: u32) -> Config {
    Config::new().address_bits(bits).stack_size(64 << 10).clone()
}

fn program(engine: SuiteEngine, bits: u32) -> Program {
    let mut config = config(bits);
    #[cfg(feature = "compile")]
    if engine == SuiteEngine::Compiled {
        config.compile(riverrun::CompileOptions::default());
    }
    config.single_step(engine == SuiteEngine::SingleStep);
    Program::new(&Engine::new(&config).unwrap(), elf()).unwrap()
}

fn machine(program: &Program) -> Machine<()> {
    Linker::new(program.engine()).instantiate(program, ()).unwrap()
}

/// A machine of each engine and size.
fn each(test: impl Fn(Machine<()>, AddressSpace)) {
    for &engine in SuiteEngine::ALL {
        for bits in SIZES {
            eprintln!("{engine:?}, {bits} bits");
            test(machine(&program(engine, bits)), AddressSpace::new(bits).unwrap());
        }
    }
}

fn call<P: Parameters, R: Returned>(machine: &mut Machine<()>, name: &str, parameters: P) -> Result<R, Error> {
    let function = machine.func::<P, R>(name).unwrap();
    function.call(machine, parameters)
}

/// The same place by other numbers.
fn aliases(place: u64, space: AddressSpace) -> [u64; 5] {
    let size = space.size();
    [place, place + size, place.wrapping_sub(size), place | 1 << 63, place | !space.mask()]
}

#[test]
fn accesses_loops_and_libcalls_count_modulo_the_size() {
    each(|mut machine, space| {
        let place: u64 = call(&mut machine, "place", ()).unwrap();
        for (n, alias) in aliases(place, space).into_iter().enumerate() {
            for len in [1_u64, 7, 64, 200, 5000] {
                call::<_, ()>(&mut machine, "fill", (alias, n as i32 + 1, len)).unwrap();
                assert!(machine.memory().slice(place, len).unwrap().iter().all(|&byte| byte == n as u8 + 1));
                call::<_, ()>(&mut machine, "copy", (alias + 0x8000, alias, len)).unwrap();
                assert!(machine.memory().slice(place + 0x8000, len).unwrap().iter().all(|&byte| byte == n as u8 + 1));
            }
            machine.memory_mut().write(place, &[1; 1024]).unwrap();
            assert_eq!(call::<_, i64>(&mut machine, "sum", (alias, 16, 3)).unwrap(), 16 * 0x0101_0101);
            assert_eq!(call::<_, i64>(&mut machine, "sum", (alias + 256, 16, -3)).unwrap(), 16 * 0x0101_0101);
            assert_eq!(call::<_, i64>(&mut machine, "look", (alias, 0xff03_u64)).unwrap(), 1);
        }
    });
}

/// Both ends of the window are guards, and no byte of a neighbour is read or written beyond them.
#[test]
fn what_leaves_the_window_faults() {
    each(|mut machine, space| {
        let neighbour = machine_of_ones(&program(SuiteEngine::Interpreter, space.bits()));
        for address in [space.end(), space.size() - 1, space.size() - 4, 0, u64::MAX - 3, space.size() + 8] {
            for result in [
                call::<_, i64>(&mut machine, "sum", (address, 1, 1)).map(drop),
                call::<_, i64>(&mut machine, "look", (address, 255_u64)).map(drop),
                call::<_, ()>(&mut machine, "fill", (address, 7, 100_u64)),
                call::<_, ()>(&mut machine, "copy", (address, address, 40_u64)),
            ] {
                let error = result.unwrap_err();
                let trap = error.trap().unwrap_or_else(|| panic!("{address:#x}: {error}"));
                let (TrapCause::LoadFault { address: at } | TrapCause::StoreFault { address: at }) = trap.cause else {
                    panic!("{address:#x}: {error}")
                };
                assert!(at <= space.size(), "{address:#x}: {error}");
            }
        }
        // Far out, in one access after the other.
        let place: u64 = call(&mut machine, "place", ()).unwrap();
        let error = call::<_, ()>(&mut machine, "fill", (place, 7, 1_u64 << 40)).unwrap_err();
        assert!(error.trap().is_some(), "{error}");
        assert!(neighbour.memory().slice(place, 1 << 16).unwrap().iter().all(|&byte| byte == 1));
    });
}

fn machine_of_ones(program: &Program) -> Machine<()> {
    let mut machine = machine(program);
    let place: u64 = call(&mut machine, "place", ()).unwrap();
    machine.memory_mut().slice_mut(place, 1 << 16).unwrap().fill(1);
    machine
}

#[test]
fn the_stack_is_below_the_end() {
    each(|mut machine, space| {
        assert!(machine.stack().end < space.end() && machine.stack().start > space.size() / 2);
        assert_eq!(call::<_, u64>(&mut machine, "down", (100_u64,)).unwrap(), 5050);
        let error = call::<_, u64>(&mut machine, "down", (1_u64 << 40,)).unwrap_err();
        assert!(matches!(error.trap().unwrap().cause, TrapCause::StackOverflow { .. }), "{error}");
    });
}

#[test]
fn host_accesses_end_where_the_addresses_do() {
    let mut machine = machine(&program(SuiteEngine::Interpreter, 26));
    let memory = machine.memory_mut();
    let end = memory.addresses().end;
    let writable = Perm::READ | Perm::WRITE;
    memory.map(end - 0x1000, 0x1000, writable).unwrap();
    memory.write(end - 8, &[1; 8]).unwrap();
    assert_eq!(memory.write(end - 8, &[1; 9]).unwrap_err().address, end);
    for address in [end, 1 << 26, 1 << 31, 1 << 32, u64::MAX - 0xfff] {
        assert!(memory.map(address, 0x1000, writable).is_err(), "{address:#x}");
        assert!(memory.read_u32(address).is_err() && memory.write_u64(address, 0).is_err(), "{address:#x}");
    }
}

#[test]
fn the_heap_leaves_room() {
    for bits in SIZES {
        let program = program(SuiteEngine::Interpreter, bits);
        let mut linker = Linker::new(program.engine());
        linker.heap(&HeapOptions::new()).unwrap();
        let mut machine = linker.instantiate(&program, ()).unwrap();
        let block = machine.heap().allocate(1 << 20).unwrap();
        machine.memory_mut().slice_mut(block, 1 << 20).unwrap().fill(7);
        let end = machine.stack().start - (1 << 20);
        machine.memory_mut().map(end - (2 << 20), 1 << 20, Perm::READ).unwrap();
    }
}

/// What the error of an engine with this configuration says.
fn problem(config: &Config) -> String {
    Engine::new(config).unwrap_err().to_string()
}

#[test]
fn settings_that_do_not_fit_are_named() {
    for bits in [0, 25, 33, u32::MAX] {
        let said = problem(Config::new().address_bits(bits));
        assert!(said.contains(&format!("{bits} bits")) && said.contains("26 to 32"), "{said}");
    }
    let said = problem(Config::new().address_bits(26).stack_size(40 << 20));
    assert!(said.contains("a stack of 41943040 bytes") && said.contains("raise `Config::address_bits`"), "{said}");
    let said = problem(Config::new().address_bits(27).memory_limit(1 << 30));
    assert!(said.contains("a limit of 1073741824 bytes") && said.contains("raise `Config::address_bits`"), "{said}");
    assert!(Engine::new(Config::new().address_bits(26).memory_limit(64 << 20)).is_ok());
}

#[test]
fn a_program_that_does_not_fit_is_named() {
    let high = riverrun_testkit::elf::executable(&[0x73, 0, 0, 0], &[1; 64], 60 << 20);
    let load = |config: &Config| Program::new(&Engine::new(config).unwrap(), &*high);
    let error = load(&config(26)).unwrap_err();
    assert!(matches!(error, Error::AddressSpace { bits: 26, .. }), "{error}");
    assert!(error.to_string().contains("raise `Config::address_bits`"), "{error}");
    assert!(load(&config(27)).is_ok());
    // A stack that leaves it no room.
    assert!(matches!(load(config(27).stack_size(60 << 20)), Err(Error::AddressSpace { .. })));
    // Of the linker's engine, too.
    let small = Engine::new(config(27).stack_size(60 << 20)).unwrap();
    let error = Linker::new(&small).instantiate(&load(&config(27)).unwrap(), ()).unwrap_err();
    assert!(matches!(error, Error::AddressSpace { .. }), "{error}");
}

/// The handlers of a program take addresses modulo the size of its own engine's machines.
#[test]
fn a_linker_of_another_size_makes_no_machine() {
    for (of_linker, of_program) in [(26, 32), (32, 26), (27, 26)] {
        let linker = Linker::new(&Engine::new(&config(of_linker)).unwrap());
        let error = linker.instantiate(&program(SuiteEngine::Interpreter, of_program), ()).unwrap_err();
        assert!(matches!(error, Error::Config(_)), "{error}");
        assert!(error.to_string().contains(&format!("{of_linker} bits")), "{error}");
    }
}

#[test]
fn snapshots_are_of_one_size() {
    let (small, large) = (program(SuiteEngine::Interpreter, 26), program(SuiteEngine::SingleStep, 32));
    let mut first = machine_of_ones(&small);
    let snapshot = first.snapshot().unwrap();
    let bytes = snapshot.to_bytes();
    let refused = [
        snapshot.for_program(&large).unwrap_err(),
        machine(&large).reset(&snapshot).unwrap_err(),
        Snapshot::from_bytes(&large, &bytes).unwrap_err(),
    ];
    for error in refused {
        assert!(matches!(error, Error::Snapshot(SnapshotError::AddressBits { found: 26, wanted: 32 })), "{error}");
        assert!(error.to_string().contains("26 bits") && error.to_string().contains("32"), "{error}");
    }
    // The same size on another engine, by all ways.
    let again = Snapshot::from_bytes(&program(SuiteEngine::SingleStep, 26), &bytes).unwrap();
    let linker = Linker::new(again.program().engine());
    let pool = Pool::new(&linker, &again, 1, || Ok(()), |()| Ok(()));
    for _ in 0..3 {
        let mut pooled = pool.get().unwrap();
        let mut fork = pooled.fork(()).unwrap();
        for machine in [&mut *pooled, &mut fork, &mut first] {
            let place: u64 = call(machine, "place", ()).unwrap();
            let alias = place + (3 << 26);
            assert_eq!(call::<_, i64>(machine, "sum", (alias, 4, 1)).unwrap(), 4 * 0x0101_0101);
            call::<_, ()>(machine, "fill", (alias, 9, 64_u64)).unwrap();
        }
        first.reset(&snapshot).unwrap();
    }
}

/// Windows of dropped machines are not those of another size.
#[test]
fn windows_are_kept_by_size() {
    for round in 0..20 {
        for bits in SIZES {
            let program = program(SuiteEngine::Interpreter, bits);
            let made: Vec<Machine<()>> = (0..3).map(|_| machine(&program)).collect();
            assert!(made.iter().all(|machine| machine.memory().addresses().end == (1 << bits) - 0x1_0000), "{round}");
        }
    }
}

/// Bytes of this process's memory, page tables included, and the processor time that it has used.
fn usage() -> (u64, std::time::Duration) {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let kib = |key| {
        let line = status.lines().find_map(|line: &str| line.strip_prefix(key)).unwrap();
        line.trim().trim_end_matches(" kB").trim().parse::<u64>().unwrap()
    };
    ((kib("VmRSS:") + kib("VmPTE:")) << 10, riverrun_testkit::processor_time())
}

#[test]
#[ignore = "takes 3 GiB of memory, and vm.max_map_count=1000000"]
fn a_hundred_thousand_machines_live_at_once() {
    const COUNT: u64 = 100_000;
    for &engine in SuiteEngine::ALL.iter().filter(|&&engine| engine != SuiteEngine::SingleStep) {
        let program = program(engine, 26);
        let linker = Linker::new(program.engine());
        let mut first = linker.instantiate(&program, ()).unwrap();
        let touch = first.func::<(u64,), u64>("touch").unwrap();
        let begin = usage();
        let mut machines: Vec<Machine<()>> = (0..COUNT).map(|_| linker.instantiate(&program, ()).unwrap()).collect();
        let made = usage();
        for (n, machine) in machines.iter_mut().enumerate() {
            assert_eq!(touch.call(machine, (n as u64,)).unwrap(), n as u64);
        }
        let called = usage();
        for (n, machine) in machines.iter_mut().enumerate() {
            assert_eq!(touch.call(machine, (1,)).unwrap(), n as u64 + 1);
        }
        let again = usage();
        drop(machines);
        let dropped = usage();
        let each = |from: (u64, std::time::Duration), to: (u64, std::time::Duration)| {
            let time = (to.1 - from.1).as_nanos() as u64 / COUNT;
            format!("{time} ns, {} bytes", to.0.saturating_sub(from.0) / COUNT)
        };
        eprintln!(
            "{engine:?}, each: made {}; first call {}; next call {}; dropped {}",
            each(begin, made),
            each(made, called),
            each(called, again),
            each(again, dropped)
        );
    }
}

#[cfg(feature = "compile")]
mod compiled {
    use riverrun::{ArtifactError, CompileOptions, Fidelity};

    use super::*;

    #[test]
    fn an_artifact_of_another_size_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        for (of_artifact, of_program) in [(32, 26), (26, 32), (27, 26)] {
            let path = folder.path().join("artifact.rro");
            let compiled = program(SuiteEngine::Interpreter, of_artifact);
            let (_, report) = compiled.compile_to(&CompileOptions::default(), &path).unwrap();
            assert!(report.functions > 0);
            // SAFETY: it was made here.
            let refused = unsafe { program(SuiteEngine::Interpreter, of_program).with_artifact(&path) };
            match refused.unwrap_err() {
                Error::Artifact(error @ ArtifactError::AddressBits { found, wanted }) => {
                    assert_eq!((found, wanted), (of_artifact, of_program));
                    let said = error.to_string();
                    assert!(said.contains(&found.to_string()) && said.contains(&wanted.to_string()), "{said}");
                }
                error => panic!("{error}"),
            }
        }
    }

    /// The cache keeps code of each size apart.
    #[test]
    fn the_cache_knows_the_size() {
        let folder = tempfile::tempdir().unwrap();
        let mut names = Vec::new();
        for _ in 0..2 {
            for bits in SIZES {
                let mut config = config(bits);
                // SAFETY: the folder is the test's own.
                unsafe { config.compile(CompileOptions::default()).cache(folder.path()) };
                let program = Program::new(&Engine::new(&config).unwrap(), elf()).unwrap();
                assert_eq!(program.compiled_options().unwrap().space.bits(), bits);
                names.push(program.artifact_name(false));
                let mut machine = machine(&program);
                let place: u64 = call(&mut machine, "place", ()).unwrap();
                assert_eq!(call::<_, i64>(&mut machine, "sum", (place + (1 << bits), 4, 1)).unwrap(), 0);
            }
        }
        names.sort();
        names.dedup();
        assert_eq!((names.len(), std::fs::read_dir(folder.path()).unwrap().count()), (SIZES.len(), SIZES.len()));
    }

    /// Precise code has its own way to make accesses.
    #[test]
    fn precise_code_keeps_to_the_size() {
        let options = CompileOptions { fidelity: Fidelity::Precise, ..CompileOptions::default() };
        let program = Program::new(&Engine::new(config(26).compile(options)).unwrap(), elf()).unwrap();
        let mut machine = machine(&program);
        let place: u64 = call(&mut machine, "place", ()).unwrap();
        call::<_, ()>(&mut machine, "fill", (place + (7 << 26), 1, 100_u64)).unwrap();
        assert_eq!(call::<_, i64>(&mut machine, "sum", (place - (1 << 26), 25, 1)).unwrap(), 25 * 0x0101_0101);
        let error = call::<_, i64>(&mut machine, "sum", ((1_u64 << 26) - 4, 1, 1)).unwrap_err();
        assert_eq!(error.trap().unwrap().cause, TrapCause::LoadFault { address: (1 << 26) - 4 });
    }
}
