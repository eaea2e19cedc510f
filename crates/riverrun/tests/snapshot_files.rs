//! Snapshots as bytes and files: the same guest in every engine, and nothing worse than another guest from forged ones.

use std::path::Path;
use std::sync::OnceLock;

use riverrun::{Config, Engine, Error, HeapOptions, Linker, Machine, Program, Snapshot, SnapshotError, TrapCause, doc};
use riverrun_testkit::suite::SuiteEngine;
use riverrun_testkit::{Random, tools};

/// A guest with a heap and functions to call (`snapshots.c`).
fn elf() -> &'static [u8] {
    static ELF: OnceLock<Vec<u8>> = OnceLock::new();
    ELF.get_or_init(|| {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let include = format!("-I{}", root.join("../../guest/include").display());
        tools::compile(env!("CARGO_TARGET_TMPDIR"), &root.join("tests/guests/snapshots.c"), &["-O2", &include])
    })
}

fn linker(engine: &Engine) -> Linker<()> {
    let mut linker = Linker::new(engine);
    linker.heap(HeapOptions::new().limit(4 << 20)).unwrap();
    linker.syscall(500, |_: riverrun::Caller<'_, ()>, x: i32| Ok::<_, riverrun::HostError>(x + 1)).unwrap();
    linker
}

fn host(engine: SuiteEngine, elf: &[u8]) -> (Linker<()>, Program) {
    let program = engine.load(Config::new().stack_size(64 << 10), elf);
    (linker(program.engine()), program)
}

fn problem(result: Result<Snapshot, Error>) -> SnapshotError {
    match result {
        Err(Error::Snapshot(problem)) => problem,
        other => panic!("{other:?}"),
    }
}

/// Where the checksum is, of 32 bytes.
const CHECKSUM: usize = 8 + 4 + 8 + 32;

/// The bytes with a checksum that is right.
fn signed(mut bytes: Vec<u8>) -> Vec<u8> {
    bytes[CHECKSUM..CHECKSUM + 32].fill(0);
    let hash = blake3::hash(&bytes);
    bytes[CHECKSUM..CHECKSUM + 32].copy_from_slice(hash.as_bytes());
    bytes
}

/// A small snapshot, of a machine that has executed some instructions and allocated some blocks.
fn small() -> (Linker<()>, Program, Vec<u8>) {
    let (linker, program) = host(SuiteEngine::Interpreter, doc::TINY);
    let mut machine = linker.instantiate(&program, ()).unwrap();
    machine.set_fuel(Some(1));
    machine.run().unwrap_err();
    let kept = machine.heap().allocate(100).unwrap();
    let freed = machine.heap().allocate(100).unwrap();
    machine.heap().allocate(100_000).unwrap();
    machine.heap().free(freed).unwrap();
    machine.memory_mut().write(kept, b"kept").unwrap();
    let snapshot = machine.snapshot().unwrap().with_section("host", *b"its own");
    (linker, program, snapshot.to_bytes())
}

#[test]
fn what_is_damaged_is_refused_in_words() {
    let (_, program, bytes) = small();
    assert!(bytes.len() < 20_000, "only what differs from the program is there: {}", bytes.len());
    Snapshot::from_bytes(&program, &bytes).unwrap();
    for len in 0..bytes.len() {
        let problem = problem(Snapshot::from_bytes(&program, &bytes[..len]));
        match problem {
            SnapshotError::NotASnapshot => assert_eq!(len, 0),
            SnapshotError::Length { found, expected } => assert!(found == len as u64 && expected > found),
            other => panic!("{len}: {other}"),
        }
        assert!(len == 0 || problem.to_string().contains("truncated"), "{problem}");
    }
    let longer = [&bytes[..], b"x"].concat();
    assert!(matches!(problem(Snapshot::from_bytes(&program, &longer)), SnapshotError::Length { .. }));
    for at in 0..bytes.len() {
        for flip in [1, 0x80] {
            let mut damaged = bytes.clone();
            damaged[at] ^= flip;
            let problem = problem(Snapshot::from_bytes(&program, &damaged));
            let expected = match at {
                0..8 => matches!(problem, SnapshotError::NotASnapshot),
                8..12 => matches!(problem, SnapshotError::Format { .. }),
                12..20 => matches!(problem, SnapshotError::Length { .. }),
                _ => matches!(problem, SnapshotError::Checksum),
            };
            assert!(expected, "{at}: {problem}");
        }
    }
}

/// A forged snapshot is another guest, which lives in its sandbox as any other.
#[test]
fn what_is_forged_is_refused_or_another_guest() {
    let (linker, program, bytes) = small();
    let (mut refused, mut accepted) = (0, 0);
    let mut random = Random::seeded(1);
    // Pages are the guest's own business.
    let contents = CHECKSUM + 32..1000;
    for at in contents.chain((1000..bytes.len()).step_by(499)) {
        for flip in [1, 2, 0x10, 0x7f, 0x80] {
            let mut forged = bytes.clone();
            forged[at] ^= flip;
            match Snapshot::from_bytes(&program, &signed(forged)) {
                Err(Error::Snapshot(_)) => refused += 1,
                Err(other) => panic!("{other}"),
                Ok(snapshot) => {
                    accepted += 1;
                    let Ok(mut machine) = linker.instantiate_from(&snapshot, ()) else { continue };
                    use_up(&mut machine, &mut random);
                }
            }
        }
    }
    assert!(refused > 100 && accepted > 100, "{refused} refused, {accepted} accepted");
}

/// Lets the guest run for a while, and uses what the host sees of it.
fn use_up(machine: &mut Machine<()>, random: &mut Random) {
    machine.set_fuel(Some(1000));
    drop(machine.run());
    drop(machine.backtrace().to_string());
    let mut heap = machine.heap();
    let arena = heap.arena();
    let _ = heap.statistics();
    for _ in 0..20 {
        let address = heap.allocate_zeroed(random.u64() % 5000).unwrap_or(arena.start + 16 * (random.u64() % 20));
        if random.below(2) == 0 {
            drop(heap.free(address));
        }
    }
}

#[test]
fn the_snapshot_of_another_program_or_format_is_named() {
    let (_, program, bytes) = small();
    let (_, other) = host(SuiteEngine::Interpreter, doc::ADDER);
    let refused = problem(Snapshot::from_bytes(&other, &bytes));
    assert_eq!(refused, SnapshotError::OtherProgram);
    assert!(refused.to_string().contains("another program"), "{refused}");
    let mut newer = bytes.clone();
    newer[8] += 1;
    let refused = problem(Snapshot::from_bytes(&program, &newer)).to_string();
    let version = env!("CARGO_PKG_VERSION");
    assert!(refused.contains("format 2") && refused.contains(&format!("riverrun {version}")), "{refused}");
    assert_eq!(problem(Snapshot::from_bytes(&program, doc::TINY)), SnapshotError::NotASnapshot);
    assert_eq!(problem(Snapshot::from_bytes(&program, b"")), SnapshotError::NotASnapshot);
}

#[test]
fn the_limits_of_the_engine_hold() {
    let (_, _, bytes) = small();
    let engine = Engine::new(Config::new().memory_limit(128 << 10)).unwrap();
    let program = Program::new(&engine, doc::TINY).unwrap();
    let refused = problem(Snapshot::from_bytes(&program, &bytes));
    assert!(matches!(refused, SnapshotError::Memory { limit: 131_072, .. }), "{refused}");
    let engine = Engine::new(Config::new().mapping_limit(2)).unwrap();
    let program = Program::new(&engine, doc::TINY).unwrap();
    assert_eq!(problem(Snapshot::from_bytes(&program, &bytes)), SnapshotError::Pieces { limit: 2 });
}

#[test]
fn files_are_written_whole_and_read() {
    let (linker, program, bytes) = small();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tiny.snapshot");
    let snapshot = Snapshot::from_bytes(&program, &bytes).unwrap();
    for _ in 0..2 {
        snapshot.write_to(&path).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), bytes);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "nothing else is left there");
    }
    let again = Snapshot::read(&program, &path).unwrap();
    assert_eq!(again.section("host"), Some(&b"its own"[..]));
    assert_eq!(linker.instantiate_from(&again, ()).unwrap().run().unwrap(), 42);

    let missing = folder.path().join("none/tiny.snapshot");
    assert!(snapshot.write_to(&missing).unwrap_err().to_string().contains("cannot write"));
    assert!(matches!(Snapshot::read(&program, &missing), Err(Error::File { .. })));
    let mut large = bytes.clone();
    large[12..20].copy_from_slice(&u64::MAX.to_le_bytes());
    std::fs::write(&path, large).unwrap();
    assert!(matches!(problem(Snapshot::read(&program, &path)), SnapshotError::TooLarge { found: u64::MAX, .. }));
    std::fs::write(&path, [&bytes[..], b"more"].concat()).unwrap();
    assert!(matches!(problem(Snapshot::read(&program, &path)), SnapshotError::Length { .. }));
}

fn call(machine: &mut Machine<()>, name: &str, x: i64) -> i64 {
    let function = machine.func::<(i64,), i64>(name).unwrap();
    function.call(machine, (x,)).unwrap()
}

/// Heap blocks, data and counters go on in every engine as they do in the first machine.
#[test]
fn guests_go_on_in_every_engine() {
    for &taken in SuiteEngine::ALL {
        let (linker, program) = host(taken, elf());
        let mut first = linker.instantiate(&program, ()).unwrap();
        let mut addresses: Vec<u64> = (0..200).map(|n| first.heap().allocate(n * 37 % 3000).unwrap()).collect();
        for address in addresses.iter().step_by(3) {
            first.heap().free(*address).unwrap();
        }
        assert_eq!((call(&mut first, "count", 4), call(&mut first, "touch", 5)), (7, 10));
        let bytes = first.snapshot().unwrap().to_bytes();
        addresses = (0..200).map(|n| first.heap().allocate(n * 53 % 3000).unwrap()).collect();
        let (count, touched, statistics) =
            (call(&mut first, "count", 1), call(&mut first, "touch", 2), first.heap().statistics());
        for &engine in SuiteEngine::ALL {
            let (linker, program) = host(engine, elf());
            let snapshot = Snapshot::from_bytes(&program, &bytes).unwrap();
            assert_eq!(snapshot.to_bytes(), bytes, "{taken:?} to {engine:?}");
            let mut machine = linker.instantiate_from(&snapshot, ()).unwrap();
            let same: Vec<u64> = (0..200).map(|n| machine.heap().allocate(n * 53 % 3000).unwrap()).collect();
            assert_eq!(same, addresses, "{taken:?} to {engine:?}");
            assert_eq!((call(&mut machine, "count", 1), call(&mut machine, "touch", 2)), (count, touched));
            assert_eq!(machine.heap().statistics(), statistics);
            // Compiled code counts nothing by default.
            if ![taken, engine].contains(&SuiteEngine::Compiled) {
                assert_eq!(machine.instructions(), first.instructions());
            }
        }
    }
}

/// Engines that stop at the same instruction give the same bytes.
#[test]
fn the_bytes_do_not_depend_on_the_engine() {
    let at = |engine: SuiteEngine, fuel: u64| {
        let (linker, program) = host(engine, doc::TINY);
        let mut machine = linker.instantiate(&program, ()).unwrap();
        machine.set_fuel(Some(fuel));
        match machine.run() {
            Err(error) if error.trap().is_some_and(|trap| trap.cause == TrapCause::OutOfFuel) => {}
            _ => return None,
        }
        Some(machine.snapshot().unwrap().to_bytes())
    };
    assert!(at(SuiteEngine::Interpreter, 1).is_some());
    for fuel in 0..5 {
        assert!(at(SuiteEngine::Interpreter, fuel) == at(SuiteEngine::SingleStep, fuel), "{fuel}");
    }
}
