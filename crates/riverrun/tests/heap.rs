//! The heap as guests use it, well and badly.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock};

use riverrun::{
    Config, CxxLibrary, CxxString, CxxVector, Engine, Error, GuestBox, GuestCxxString, GuestCxxVector, GuestString,
    GuestVec, HeapError, HeapOptions, HeapProblem, Linker, Machine, Parameters, Program, Returned,
};
use riverrun_testkit::suite::SuiteEngine;
use riverrun_testkit::{Random, tools};

fn elf() -> &'static [u8] {
    static ELF: OnceLock<Vec<u8>> = OnceLock::new();
    ELF.get_or_init(|| {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let include = format!("-I{}", root.join("../../guest/include").display());
        tools::compile(env!("CARGO_TARGET_TMPDIR"), &root.join("tests/guests/heap.c"), &["-O2", &include])
    })
}

fn machine_on(engine: SuiteEngine, config: &Config, options: &HeapOptions) -> Machine<()> {
    let program = engine.load(config, elf());
    let mut linker = Linker::new(program.engine());
    linker.heap(options).unwrap();
    linker.instantiate(&program, ()).unwrap()
}

fn machine_of(config: &Config, options: &HeapOptions) -> Machine<()> {
    machine_on(SuiteEngine::get(), config, options)
}

fn machine() -> Machine<()> {
    machine_of(&Config::new(), &HeapOptions::new())
}

fn call<P: Parameters, R: Returned>(machine: &mut Machine<()>, name: &str, parameters: P) -> Result<R, Error> {
    let function = machine.func::<P, R>(name).unwrap();
    function.call(machine, parameters)
}

/// What the heap says of a call that must fail.
fn problem<P: Parameters, R: Returned + std::fmt::Debug>(
    machine: &mut Machine<()>,
    name: &str,
    parameters: P,
) -> HeapProblem {
    let error = call::<P, R>(machine, name, parameters).unwrap_err();
    heap_error(&error).problem
}

fn heap_error(error: &Error) -> &HeapError {
    let Error::Host(failure) = error else { panic!("{error}") };
    failure.source.downcast_ref().unwrap_or_else(|| panic!("{error}"))
}

#[test]
fn every_function_does_what_it_should() {
    for &engine in SuiteEngine::ALL {
        let mut machine = machine_on(engine, &Config::new(), &HeapOptions::new());
        assert_eq!(call::<_, i32>(&mut machine, "all", ()).unwrap(), 0);
        assert_eq!(machine.heap().statistics().blocks, 0);
        assert_eq!(machine.heap().statistics().requested, 0);
    }
}

#[test]
fn a_realistic_trace_of_a_million_uses() {
    let mut stepping = machine_on(SuiteEngine::SingleStep, &Config::new(), &HeapOptions::new());
    let expected = call::<_, u64>(&mut machine(), "trace", (20_000_u64,)).unwrap();
    assert_eq!(call::<_, u64>(&mut stepping, "trace", (20_000_u64,)).unwrap(), expected);
    let mut small = machine_of(&Config::new(), HeapOptions::new().limit(64 << 20));
    assert_ne!(call::<_, u64>(&mut small, "trace", (1_000_000_u64,)).unwrap(), 0);
    let statistics = small.heap().statistics();
    assert_eq!(statistics.blocks, 0);
    assert!(statistics.fragmentation() < 0.4, "{statistics:?}");
}

#[test]
fn misuse_is_told_apart() {
    let mut machine = machine();
    let block: u64 = call(&mut machine, "take", (100_u64,)).unwrap();
    let problem_of = |machine: &mut Machine<()>, address: u64| problem::<_, ()>(machine, "give", (address,));
    assert_eq!(problem_of(&mut machine, block + 16), HeapProblem::Inside { address: block + 16, block });
    assert_eq!(problem_of(&mut machine, 0x1234), HeapProblem::Foreign { address: 0x1234 });
    let allocated = 100;
    assert_eq!(
        problem::<_, ()>(&mut machine, "give_sized", (block, 99_u64)),
        HeapProblem::WrongSize { address: block, size: 99, allocated }
    );
    call::<_, ()>(&mut machine, "give", (block,)).unwrap();
    assert_eq!(problem_of(&mut machine, block), HeapProblem::Freed { address: block });
    assert_eq!(problem::<_, u64>(&mut machine, "change", (block, 5_u64)), HeapProblem::Freed { address: block });
    assert_eq!(problem::<_, u64>(&mut machine, "usable", (block,)), HeapProblem::Freed { address: block });
    // More than there is room for, as in C.
    assert_eq!(call::<_, u64>(&mut machine, "take_zeroed", (1_u64 << 32, 1_u64 << 32)).unwrap(), 0);
    assert_eq!(
        problem::<_, u64>(&mut machine, "take_aligned", (48_u64, 1_u64)),
        HeapProblem::Alignment { alignment: 48 }
    );
    let error = call::<_, ()>(&mut machine, "give", (block,)).unwrap_err().to_string();
    assert!(error.contains("riverrun::free") && error.contains("in free+"), "{error}");
    assert!(error.contains(&format!("the block at {block:#x} has been freed before")), "{error}");
    let own = machine.heap().allocate(100).unwrap();
    assert_eq!(problem_of(&mut machine, own), HeapProblem::HostOwned { address: own });
}

#[test]
fn call_sites_are_told_on_request() {
    let mut machine = machine_of(&Config::new(), HeapOptions::new().record_sites(true));
    let block: u64 = call(&mut machine, "take", (100_u64,)).unwrap();
    call::<_, ()>(&mut machine, "give", (block,)).unwrap();
    let error = call::<_, ()>(&mut machine, "give", (block,)).unwrap_err();
    let error = heap_error(&error);
    let functions = |frames: &[riverrun::Frame]| -> BTreeSet<String> {
        frames.iter().filter_map(|frame| frame.function.clone()).collect()
    };
    assert!(functions(&error.allocated).contains("malloc"), "{error}");
    assert!(functions(&error.freed).contains("give") || functions(&error.freed).contains("free"), "{error}");
    assert!(error.to_string().contains("\n  allocated in 0x"), "{error}");
}

#[test]
fn every_use_is_logged_on_request() {
    let lines = Arc::new(Mutex::new(Vec::new()));
    let into = lines.clone();
    let mut options = HeapOptions::new();
    options.log(move |event| into.lock().unwrap().push(event.to_string()));
    let mut machine = machine_of(&Config::new(), &options);
    let block: u64 = call(&mut machine, "take", (1024_u64,)).unwrap();
    call::<_, ()>(&mut machine, "give", (block,)).unwrap();
    call::<_, u64>(&mut machine, "take", (1_u64 << 40,)).unwrap();
    let expected =
        [format!("malloc(1024) = {block:#x}"), format!("free({block:#x})"), format!("malloc({}) = 0x0", 1_u64 << 40)];
    assert_eq!(*lines.lock().unwrap(), expected);
}

#[test]
fn exhausted_memory_is_a_null_pointer() {
    let limits = [
        (Config::new(), HeapOptions::new().limit(4 << 20).clone()),
        (Config::new().memory_limit(13 << 20).clone(), HeapOptions::new()),
    ];
    for (config, options) in limits {
        let mut machine = machine_of(&config, &options);
        for size in [1_u64, 100, 5000, 100_000, 1 << 20] {
            let first: i64 = call(&mut machine, "exhaust", (size,)).unwrap();
            let bytes = first as u64 * size.next_multiple_of(16);
            assert!((2 << 20..6 << 20).contains(&bytes), "{first} blocks of {size}");
            let again: i64 = call(&mut machine, "exhaust", (size,)).unwrap();
            assert!(again >= first, "all is free again: {first} blocks of {size}, then {again}");
        }
        assert!(machine.memory().used() <= machine.memory().limit());
        for size in [u64::MAX, u64::MAX - 15, 1 << 63, 1 << 32, 1 << 31] {
            assert_eq!(call::<_, u64>(&mut machine, "take", (size,)).unwrap(), 0);
            assert_eq!(call::<_, u64>(&mut machine, "take_zeroed", (1_u64, size)).unwrap(), 0);
            assert_eq!(call::<_, u64>(&mut machine, "take_aligned", (1_u64 << 63, size)).unwrap(), 0);
            let block: u64 = call(&mut machine, "take", (100_u64,)).unwrap();
            assert_eq!(call::<_, u64>(&mut machine, "change", (block, size)).unwrap(), 0);
            call::<_, ()>(&mut machine, "give", (block,)).unwrap();
        }
        assert_eq!(machine.heap().statistics().blocks, 0);
    }
}

/// Whatever a guest hands to the heap, it gets an answer or an error, and the heap stays whole.
#[test]
fn hostile_uses_do_no_harm() {
    let mut machine = machine_of(&Config::new(), HeapOptions::new().limit(16 << 20));
    let mut random = Random::seeded(4);
    let mut known = vec![0_u64];
    for _ in 0..20_000 {
        let base = known[random.below(known.len())];
        let address = match random.below(4) {
            0 => random.u64(),
            1 => base.wrapping_add_signed(random.between(-5000..=5000)),
            _ => base,
        };
        let bits = random.below(65) as u32;
        let size = random.u64().checked_shr(bits).unwrap_or(0);
        let other = random.u64() >> random.below(64);
        let result = match random.below(8) {
            0 | 1 => call::<_, u64>(&mut machine, "take", (size % 100_000,)),
            2 => call(&mut machine, "take", (size,)),
            3 => call(&mut machine, "take_aligned", (1_u64 << (other % 64), size)),
            4 => call(&mut machine, "take_zeroed", (size, other)),
            5 => call(&mut machine, "change", (address, size)),
            6 => call::<_, ()>(&mut machine, "give", (address,)).map(|()| 0),
            _ => call::<_, ()>(&mut machine, "give_sized", (address, size)).map(|()| 0),
        };
        match result {
            Ok(address) => known.push(address),
            Err(Error::Host(failure)) => assert!(failure.source.is::<HeapError>(), "{failure}"),
            Err(error) => panic!("{error}"),
        }
    }
    let left: BTreeSet<u64> = known.into_iter().filter(|&address| machine.heap().size(address).is_some()).collect();
    assert_eq!(machine.heap().statistics().blocks, left.len() as u64);
    left.into_iter().for_each(|address| machine.heap().free(address).unwrap());
    assert_eq!(machine.heap().statistics().requested, 0);
}

#[test]
fn copies_and_fills_stay_within_the_guests_memory() {
    let mut machine = machine();
    let block: u64 = call(&mut machine, "take", (3_u64 << 20,)).unwrap();
    call::<_, ()>(&mut machine, "set", (block, 0x155_i32, 3_u64 << 20)).unwrap();
    assert!(machine.memory().slice(block, 3 << 20).unwrap().iter().all(|&byte| byte == 0x55));
    for (to, from, size) in [(block, 0_u64, 1_u64), (0, block, 1), (block, block, u64::MAX), (u64::MAX, block, 2)] {
        let error = call::<_, ()>(&mut machine, "copy", (to, from, size)).unwrap_err();
        assert!(error.to_string().contains("is not mapped for this access"), "{error}");
    }
    assert!(call::<_, ()>(&mut machine, "set", (block, 0_i32, u64::MAX)).is_err());
    let text = machine.program().image().entry();
    assert!(call::<_, ()>(&mut machine, "set", (text, 0_i32, 1_u64)).is_err(), "text is not written");
}

#[test]
fn a_heap_whose_pages_the_guest_has_unmapped_is_an_error() {
    let mut machine = machine();
    let block: u64 = call(&mut machine, "take", (100_000_u64,)).unwrap();
    let kept = GuestVec::new(&mut machine.heap(), &[1_u8; 100_000]).unwrap();
    let string = GuestCxxString::new(&mut machine.heap(), CxxLibrary::Libcxx, &"x".repeat(100)).unwrap();
    let arena = machine.heap().arena();
    machine.memory_mut().unmap(arena.start, arena.end - arena.start).unwrap();
    assert!(matches!(problem::<_, u64>(&mut machine, "change", (block, 10_u64)), HeapProblem::Fault(_)));
    assert!(matches!(kept.get(machine.memory()), Err(HeapError { problem: HeapProblem::Fault(_), .. })));
    drop((kept, string));
    call::<_, ()>(&mut machine, "give", (block,)).unwrap();
    assert_eq!(machine.heap().statistics().blocks, 1, "what the string had cannot be told any more");
}

#[test]
fn owned_objects_free_themselves_once() {
    let mut machine = machine();
    let mut other = self::machine();
    let number = GuestBox::new(&mut machine.heap(), 7_u64).unwrap();
    let mut list = GuestVec::new(&mut machine.heap(), &[1_u32, 2]).unwrap();
    assert!(list.push(&mut other.heap(), 3).is_err(), "another machine's heap");
    for n in 3..1000 {
        list.push(&mut machine.heap(), n).unwrap();
    }
    assert_eq!(list.get(machine.memory()).unwrap()[998], 999);
    let text = GuestString::new(&mut machine.heap(), "text").unwrap();
    assert_eq!(machine.heap().statistics().blocks, 3);
    let address = text.into_guest(&mut machine.heap()).unwrap();
    call::<_, ()>(&mut machine, "give", (address,)).unwrap();
    let block: u64 = call(&mut machine, "take", (8_u64,)).unwrap();
    let adopted = GuestBox::<u64>::from_guest(&mut machine.heap(), block).unwrap();
    assert!(GuestBox::<u64>::from_guest(&mut machine.heap(), block).is_err(), "it has an owner");
    assert!(GuestBox::<[u64; 2]>::from_guest(&mut machine.heap(), block).is_err(), "it is too small");
    std::thread::spawn(move || drop((number, list, adopted))).join().unwrap();
    assert_eq!(machine.heap().statistics().blocks, 0);
    drop(machine);
    let string = GuestString::new(&mut other.heap(), "outlives its machine").unwrap();
    drop(other);
    drop(string);
}

#[test]
fn elements_of_large_alignment_stay_aligned() {
    #[repr(C, align(64))]
    #[derive(Clone, Copy)]
    struct Line([u8; 64]);
    // SAFETY: 64 bytes without padding, any of them.
    unsafe impl riverrun::bytemuck::Zeroable for Line {}
    // SAFETY: likewise.
    unsafe impl riverrun::bytemuck::Pod for Line {}
    let mut machine = machine();
    let mut lines = GuestVec::with_capacity(&mut machine.heap(), 1).unwrap();
    for n in 0..100 {
        lines.push(&mut machine.heap(), Line([n; 64])).unwrap();
        assert_eq!(lines.address() % 64, 0);
    }
    assert!(lines.get(machine.memory()).unwrap().iter().enumerate().all(|(n, line)| line.0 == [n as u8; 64]));
}

#[test]
fn objects_of_cxx_that_are_in_disorder_are_errors() {
    let mut machine = machine();
    let at = machine.heap().allocate_zeroed(32).unwrap();
    let objects = [[0, u64::MAX, 0], [u64::MAX, u64::MAX, u64::MAX], [8, 4, 0], [1, 2, 0], [at + 16, 1 << 40, 0]];
    for words in objects {
        words
            .into_iter()
            .zip([0, 8, 16])
            .for_each(|(word, offset)| machine.memory_mut().write_u64(at + offset, word).unwrap());
        assert!(CxxString::at(CxxLibrary::Libstdcxx, at).get(machine.memory()).is_err(), "{words:x?}");
        assert!(CxxVector::<u32>::at(at).get(machine.memory()).is_err(), "{words:x?}");
    }
    machine.memory_mut().write_u64(at, !1).unwrap();
    let error = CxxString::at(CxxLibrary::Libcxx, at).get(machine.memory()).unwrap_err();
    assert_eq!(error.problem, HeapProblem::Malformed { address: at });
    // One that points to a block of the host's, or to no block, does not free it.
    let precious = machine.heap().allocate(100).unwrap();
    for address in [precious, 0x1234, u64::MAX] {
        let vector = GuestCxxVector::new(&mut machine.heap(), &[1_u8]).unwrap();
        let data = machine.memory().read_u64(vector.address()).unwrap();
        machine.memory_mut().write_u64(vector.address(), address).unwrap();
        drop(vector);
        assert_eq!(machine.heap().size(precious), Some(100));
        machine.heap().free(data).unwrap();
    }
    assert_eq!(machine.heap().statistics().blocks, 2);
}

#[test]
fn the_functions_have_the_headers_signatures() {
    let engine = Engine::new(&Config::new()).unwrap();
    let program = Program::new(&engine, elf()).unwrap();
    let imports = program.image().imports().unwrap();
    assert_eq!(imports.len(), 9, "{imports:?}");
    assert!(imports.iter().all(|import| import.name.starts_with("riverrun::") && import.index < 32));
    assert!(imports.iter().all(|import| import.signature.is_some()));
    assert_eq!(program.image().exports().unwrap().iter().filter(|export| export.signature.is_some()).count(), 12);
    let error = Linker::new(&engine).instantiate(&program, ()).unwrap_err().to_string();
    assert!(error.contains("riverrun::malloc"), "{error}");
}
