//! Machines from snapshots, and back to them: the guest is as it was, and nothing of one guest reaches another.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use riverrun::{
    Config, Engine, Error, GuestVec, HeapOptions, HostError, Linker, MIN_ADDRESS, Machine, PAGE_SIZE, Parameters, Perm,
    Pool, Program, Returned, Snapshot, SnapshotError, TrapCause,
};
use riverrun_testkit::suite::SuiteEngine;
use riverrun_testkit::{Random, amount, tools};

const R: Perm = Perm::READ;

fn elf() -> &'static [u8] {
    static ELF: OnceLock<Vec<u8>> = OnceLock::new();
    ELF.get_or_init(|| {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let include = format!("-I{}", root.join("../../guest/include").display());
        tools::compile(env!("CARGO_TARGET_TMPDIR"), &root.join("tests/guests/snapshots.c"), &["-O2", &include])
    })
}

/// What a host function does next: gives the number, fails, or panics.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum Answer {
    #[default]
    Number,
    Failure,
    Panic,
}

fn host(engine: SuiteEngine) -> (Linker<Answer>, Program) {
    let program = engine.load(Config::new().stack_size(64 << 10), elf());
    let mut linker = Linker::new(program.engine());
    linker.heap(&HeapOptions::new()).unwrap();
    linker
        .syscall(500, |caller: riverrun::Caller<'_, Answer>, x: i32| match caller.data() {
            Answer::Number => Ok(x + 1),
            Answer::Failure => Err(HostError::from("it fails")),
            Answer::Panic => panic!("it panics"),
        })
        .unwrap();
    (linker, program)
}

fn each(test: impl Fn(Linker<Answer>, Program)) {
    for &engine in SuiteEngine::ALL {
        eprintln!("engine: {engine:?}");
        let (linker, program) = host(engine);
        test(linker, program);
    }
}

fn call<P: Parameters, R: Returned>(machine: &mut Machine<Answer>, name: &str, parameters: P) -> R {
    try_call(machine, name, parameters).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn try_call<P: Parameters, R: Returned>(machine: &mut Machine<Answer>, name: &str, parameters: P) -> Result<R, Error> {
    let function = machine.func::<P, R>(name).unwrap();
    function.call(machine, parameters)
}

/// All that a guest can observe.
#[derive(PartialEq)]
struct State {
    registers: Vec<u64>,
    pc: u64,
    instructions: u64,
    regions: Vec<(u64, u64, String)>,
    bytes: Vec<u8>,
}

fn state(machine: &mut Machine<Answer>) -> State {
    let registers = (0..32).flat_map(|n| [machine.x(n), machine.f(n)]).collect();
    let regions = machine.memory().regions().to_vec();
    let mut bytes = Vec::new();
    for region in &regions {
        // What the guest may not read is looked at as if it might.
        if region.perm == Perm::NONE {
            if region.end - region.start > 1 << 24 {
                continue;
            }
            machine.memory_mut().protect(region.start, region.end - region.start, R).unwrap();
        }
        bytes.extend_from_slice(machine.memory().slice(region.start, region.end - region.start).unwrap());
        if region.perm == Perm::NONE {
            machine.memory_mut().protect(region.start, region.end - region.start, Perm::NONE).unwrap();
        }
    }
    let regions = regions.iter().map(|region| (region.start, region.end, region.perm.to_string())).collect();
    State { registers, pc: machine.pc(), instructions: machine.instructions(), regions, bytes }
}

#[test]
fn a_restored_guest_is_as_it_was() {
    each(|linker, program| {
        let mut machine = linker.instantiate(&program, Answer::Number).unwrap();
        assert_eq!(call::<_, i64>(&mut machine, "count", (4_i64,)), 7);
        let block: i64 = call(&mut machine, "allocate", (100_i64,));
        machine.set_f(7, 0x4000_0000_0000_0000);
        let snapshot = machine.snapshot().unwrap();
        let before = state(&mut machine);
        let mut other = linker.instantiate_from(&snapshot, Answer::Number).unwrap();
        assert!(state(&mut other) == before);

        call::<_, ()>(&mut machine, "hide", (0x5ec_u64, 30));
        call::<_, i64>(&mut machine, "count", (100_i64,));
        call::<_, ()>(&mut machine, "release", (block,));
        assert!(state(&mut machine) != before && state(&mut other) == before);
        machine.reset(&snapshot).unwrap();
        assert!(state(&mut machine) == before);
        for machine in [&mut machine, &mut other] {
            assert_eq!(call::<_, i64>(machine, "count", (1_i64,)), 8);
            // The heap's records are as the guest's memory.
            assert_eq!(machine.heap().size(block as u64), Some(100));
            call::<_, ()>(machine, "release", (block,));
            assert!(try_call::<_, ()>(machine, "release", (block,)).is_err());
            assert_eq!(machine.heap().statistics().blocks, 0);
        }
    });
}

/// Changes what is mapped at random, and writes there.
fn change(machine: &mut Machine<Answer>, random: &mut Random) {
    let text = machine.program().image().entry() & !(PAGE_SIZE - 1);
    let base = random.pick(&[text, 0x2000_0000, machine.stack().end - 0x8000]);
    let start = base + PAGE_SIZE * random.below(12) as u64;
    let len = PAGE_SIZE * (1 + random.below(4) as u64);
    let perm = random.pick(&[R | Perm::WRITE, R, Perm::NONE, R | Perm::WRITE]);
    let memory = machine.memory_mut();
    // Some of these are refused: then nothing changes.
    let _ = match random.below(5) {
        0 | 1 => memory.map(start, len, perm),
        2 => memory.unmap(start, len),
        3 => memory.protect(start, len, perm),
        _ => memory.discard(start, len),
    };
    let bytes: Vec<u8> = (0..24).map(|_| random.u64() as u8).collect();
    for page in (start..start + len).step_by(PAGE_SIZE as usize) {
        let _ = memory.write(page + random.below(4000) as u64, &bytes);
    }
}

#[test]
fn changes_of_mappings_are_undone() {
    let mut random = Random::seeded(7);
    for round in 0..amount(25, 1_000) {
        let (linker, program) = host(SuiteEngine::Interpreter);
        let mut machine = linker.instantiate(&program, Answer::Number).unwrap();
        let mut saved = Vec::new();
        for _ in 0..4 {
            for _ in 0..random.below(6) {
                change(&mut machine, &mut random);
            }
            let snapshot = machine.snapshot().unwrap();
            saved.push((snapshot, state(&mut machine)));
        }
        for step in 0..12 {
            for _ in 0..random.below(4) {
                change(&mut machine, &mut random);
            }
            let (snapshot, expected) = &saved[random.below(saved.len())];
            machine.reset(snapshot).unwrap();
            assert!(state(&mut machine) == *expected, "round {round}, step {step}");
            let mut other = linker.instantiate_from(snapshot, Answer::Number).unwrap();
            assert!(state(&mut other) == *expected, "round {round}, step {step}: another machine");
            if random.below(3) == 0 {
                // What is given back is as at first, not as in the snapshot.
                let memory = machine.memory_mut();
                let _ = memory.discard(0x2000_0000, 4 * PAGE_SIZE);
                if memory.check_zero(0x2000_0000).is_some_and(|zero| !zero) {
                    panic!("round {round}: a discarded page is not zero");
                }
            }
        }
    }
}

/// Machines are made in windows of dropped ones: each begins as the first one did, and finds nothing of those before it.
#[test]
fn a_new_machine_finds_nothing_of_those_before_it() {
    each(|linker, program| {
        let mut random = Random::seeded(23);
        let mut first = linker.instantiate(&program, Answer::Number).unwrap();
        let fresh = state(&mut first);
        call::<_, ()>(&mut first, "hide", (0x1234_u64, 20));
        let mut parent = (first.snapshot().unwrap(), state(&mut first));
        for round in 0..amount(80, 4_000) {
            let (mut machine, expected) = match random.below(3) {
                0 => (linker.instantiate(&program, Answer::Number).unwrap(), &fresh),
                1 => (linker.instantiate_from(&parent.0, Answer::Number).unwrap(), &parent.1),
                _ => (first.fork(Answer::Number).unwrap(), &parent.1),
            };
            assert!(state(&mut machine) == *expected, "round {round}");
            assert_eq!(machine.fuel(), None);
            for n in 1..32 {
                machine.set_f(n, random.u64());
            }
            let secret = 0x5ec2_e700_0000_0000 | round;
            if random.below(4) != 0 {
                call::<_, ()>(&mut machine, "hide", (secret, random.below(65) as i32));
            }
            for _ in 0..random.below(4) {
                change(&mut machine, &mut random);
            }
            let place = machine.stack().start + 8 * random.below(1000) as u64;
            // Its stack may be gone.
            let _ = machine.memory_mut().write_u64(place, secret);
            machine.set_fuel(Some(100));
            let own = (random.below(3) == 0).then(|| machine.snapshot().unwrap());
            let _ = machine.memory_mut().write_u64(place + PAGE_SIZE, secret);
            drop(machine);
            drop(own);
            if random.below(3) == 0 {
                // The parent goes on, and its children with it.
                call::<_, i64>(&mut first, "touch", (round as i64,));
                parent = (first.snapshot().unwrap(), state(&mut first));
            }
        }
    });
}

/// The pages of forks that live at the same time are a file's until they are written. Whatever host and guest do with them is
/// as with pages that were copied.
#[test]
fn forks_share_pages_until_they_are_written() {
    const START: u64 = 0x2000_0000;
    const PAGES: u64 = 64;
    each(|linker, program| {
        let mut random = Random::seeded(9);
        let mut parent = linker.instantiate(&program, Answer::Number).unwrap();
        parent.memory_mut().map(START, PAGES * PAGE_SIZE, R | Perm::WRITE).unwrap();
        for page in (0..PAGES).filter(|page| page % 20 != 5) {
            parent.memory_mut().write_u64(START + page * PAGE_SIZE, 1 + page).unwrap();
        }
        let snapshot = parent.snapshot().unwrap();
        let before = state(&mut parent);
        // The first ones copy.
        let mut forks: Vec<_> = (0..4).map(|_| parent.fork(Answer::Number).unwrap()).collect();
        for round in 0..amount(40, 2_000) {
            let which = random.below(forks.len());
            let page = random.below(PAGES as usize - 8) as u64;
            let (address, len) = (START + page * PAGE_SIZE, PAGE_SIZE * (1 + random.below(8) as u64));
            let fork = &mut forks[which];
            match random.below(7) {
                0 => {
                    fork.memory_mut().discard(address, len).unwrap();
                    assert!(fork.memory().slice(address, len).unwrap().iter().all(|&byte| byte == 0), "round {round}");
                    fork.memory_mut().write_u64(address, round).unwrap();
                    assert_eq!(fork.memory().read_u64(address).unwrap(), round);
                }
                1 => {
                    fork.memory_mut().protect(address, len, R).unwrap();
                    fork.memory_mut().protect(address, len, R | Perm::WRITE).unwrap();
                }
                2 => {
                    fork.memory_mut().map(address, len, R | Perm::WRITE).unwrap();
                    assert!(fork.memory().slice(address, len).unwrap().iter().all(|&byte| byte == 0), "round {round}");
                }
                3 => {
                    call::<_, i64>(fork, "poke", (address, round as i64));
                }
                4 => {
                    let own = fork.snapshot().unwrap();
                    let now = state(fork);
                    let mut other = linker.instantiate_from(&own, Answer::Number).unwrap();
                    assert!(state(&mut other) == now, "round {round}");
                }
                5 => {
                    fork.reset(&snapshot).unwrap();
                    assert!(state(fork) == before, "round {round}");
                }
                _ => {
                    let mut fork = parent.fork(Answer::Number).unwrap();
                    assert!(state(&mut fork) == before, "round {round}");
                    forks[which] = fork;
                }
            }
        }
        assert!(state(&mut parent) == before);
    });
}

/// Addresses that a guest sets aside do not count as memory, neither when they are saved nor when they are restored.
#[test]
fn addresses_beyond_the_limit_of_memory_are_restored() {
    let program = SuiteEngine::Interpreter.load(Config::new().stack_size(64 << 10).memory_limit(2 << 20), elf());
    let mut linker = Linker::new(program.engine());
    linker.heap(&HeapOptions::new()).unwrap();
    linker.syscall(500, |_: riverrun::Caller<'_, ()>, x: i32| Ok::<i32, HostError>(x + 1)).unwrap();
    let mut machine = linker.instantiate(&program, ()).unwrap();
    machine.memory_mut().map(0x2000_0000, 64 << 20, Perm::NONE).unwrap();
    let snapshot = machine.snapshot().unwrap();
    let other = linker.instantiate_from(&snapshot, ()).unwrap();
    assert_eq!(other.memory().regions(), machine.memory().regions());
    assert_eq!(other.memory().used(), machine.memory().used());
}

/// Refuses a system call of this thread from now on, as the filters of containers do.
fn refuse(call: libc::c_long, errno: i32) {
    let code = |class: u32, k, jt, jf| libc::sock_filter { code: class as u16, jt, jf, k };
    let mut filter = [
        // The number is at the beginning of what a filter sees.
        code(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, 0),
        code(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, call as u32, 0, 1),
        code(libc::BPF_RET | libc::BPF_K, libc::SECCOMP_RET_ERRNO | errno as u32, 0, 0),
        code(libc::BPF_RET | libc::BPF_K, libc::SECCOMP_RET_ALLOW, 0, 0),
    ];
    let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_mut_ptr() };
    // SAFETY: the kernel reads the filter, which lives until then.
    unsafe {
        assert_eq!(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
        assert_eq!(libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program), 0);
    }
}

/// Where the host does not tell which pages were written, or only in the old way, snapshots are the same.
#[test]
fn snapshots_do_not_depend_on_the_page_map() {
    // The scan of pages is an `ioctl` of a file that must be opened.
    for (call, errno) in
        [(libc::SYS_ioctl, libc::EPERM), (libc::SYS_ioctl, libc::ENOSYS), (libc::SYS_openat, libc::EPERM)]
    {
        let (linker, program) = host(SuiteEngine::Interpreter);
        let mut machine = linker.instantiate(&program, Answer::Number).unwrap();
        use_memory(&mut machine);
        let before = state(&mut machine);
        let whole = machine.snapshot().unwrap().to_bytes();
        let mut machine = linker.instantiate(&program, Answer::Number).unwrap();
        use_memory(&mut machine);
        std::thread::spawn(move || {
            refuse(call, errno);
            let snapshot = machine.snapshot().unwrap();
            assert!(snapshot.to_bytes() == whole);
            assert!(state(&mut linker.instantiate_from(&snapshot, Answer::Number).unwrap()) == before);
        })
        .join()
        .unwrap();
    }
}

fn use_memory(machine: &mut Machine<Answer>) {
    call::<_, ()>(machine, "hide", (0x5ec_u64, 30));
    call::<_, i64>(machine, "count", (4_i64,));
}

trait CheckZero {
    fn check_zero(&self, address: u64) -> Option<bool>;
}

impl CheckZero for riverrun::Memory {
    /// Whether four pages are zero, if they are mapped.
    fn check_zero(&self, address: u64) -> Option<bool> {
        Some(self.slice(address, 4 * PAGE_SIZE).ok()?.iter().all(|&byte| byte == 0))
    }
}

#[test]
fn what_cannot_be_is_an_error_in_words() {
    let (linker, program) = host(SuiteEngine::Interpreter);
    let snapshot = linker.instantiate(&program, Answer::Number).unwrap().snapshot().unwrap();
    let other = Program::new(program.engine(), riverrun::doc::TINY).unwrap();
    let mut machine = linker.instantiate(&other, Answer::Number).unwrap();
    let error = machine.reset(&snapshot).unwrap_err();
    assert!(matches!(error, Error::Snapshot(SnapshotError::OtherProgram)) && error.to_string().contains("program"));
    assert!(matches!(snapshot.for_program(&other), Err(Error::Snapshot(SnapshotError::OtherProgram))));
    assert_eq!(machine.run().unwrap(), 42);

    let small = Engine::new(Config::new().memory_limit(16 << 20).stack_size(1 << 16)).unwrap();
    let mut large = linker.instantiate(&program, Answer::Number).unwrap();
    large.memory_mut().map(0x2000_0000, 32 << 20, R).unwrap();
    let snapshot = large.snapshot().unwrap().for_program(&Program::new(&small, elf()).unwrap()).unwrap();
    let mut linker = Linker::<()>::new(&small);
    linker.heap(&HeapOptions::new()).unwrap();
    assert!(matches!(linker.instantiate_from(&snapshot, ()), Err(Error::Map(riverrun::MapError::Limit))));
}

#[test]
fn sections_are_the_hosts() {
    let (linker, program) = host(SuiteEngine::Interpreter);
    let plain = linker.instantiate(&program, Answer::Number).unwrap().snapshot().unwrap();
    let snapshot = plain.with_section("b", [1, 2]).with_section("a", [3]).with_section("b", [4]);
    assert_eq!((snapshot.section("a"), snapshot.section("b")), (Some(&[3][..]), Some(&[4][..])));
    assert_eq!(snapshot.sections().map(|(name, _)| name).collect::<Vec<_>>(), ["a", "b"]);
    assert_eq!((plain.section("a"), plain.sections().count()), (None, 0));
}

#[test]
fn forks_are_apart() {
    each(|linker, program| {
        let mut parent = linker.instantiate(&program, Answer::Number).unwrap();
        call::<_, ()>(&mut parent, "hide", (0x5ec_u64, 64));
        for round in 0..5 {
            let mut child = parent.fork(Answer::Failure).unwrap();
            assert_eq!(*child.data(), Answer::Failure);
            assert_eq!(call::<_, i64>(&mut child, "count", (10_i64,)), 13 + round);
            let mut grandchild = child.fork(Answer::Number).unwrap();
            assert_eq!(call::<_, i64>(&mut grandchild, "count", (10_i64,)), 23 + round);
            assert_eq!(call::<_, i64>(&mut child, "count", (0_i64,)), 13 + round);
            assert_eq!(call::<_, i64>(&mut parent, "count", (1_i64,)), 4 + round);
        }
    });
}

fn pool(linker: &Linker<Answer>, snapshot: &Snapshot) -> Pool<Answer> {
    Pool::new(
        linker,
        snapshot,
        4,
        || Ok(Answer::Number),
        |answer| {
            *answer = Answer::Number;
            Ok(())
        },
    )
}

/// Whatever a user of a pool does, the next one finds the guest as in the snapshot.
#[test]
fn the_next_user_of_a_pool_finds_nothing_of_the_last() {
    each(|linker, program| {
        let mut first = linker.instantiate(&program, Answer::Number).unwrap();
        call::<_, i64>(&mut first, "count", (4_i64,));
        let snapshot = first.snapshot().unwrap();
        let expected = state(&mut first);
        let pool = pool(&linker, &snapshot);
        let mut handles = Vec::new();
        for round in 0..40 {
            let mut machine = pool.get().unwrap();
            assert!(pool.idle() == 0, "round {round}");
            assert!(state(&mut machine) == expected, "round {round}");
            assert_eq!((machine.fuel(), *machine.data()), (None, Answer::Number));
            match round % 10 {
                0 => call::<_, ()>(&mut machine, "hide", (0x5ec_u64, 64)),
                // Fuel ends in the middle.
                1 => {
                    machine.set_fuel(Some(50_000));
                    let error = try_call::<_, i64>(&mut machine, "spin", ()).unwrap_err();
                    assert_eq!(error.trap().map(|trap| trap.cause), Some(TrapCause::OutOfFuel));
                }
                2 => {
                    machine.set_deadline(Some(Instant::now() + Duration::from_millis(3)));
                    let error = try_call::<_, i64>(&mut machine, "spin", ()).unwrap_err();
                    assert_eq!(error.trap().map(|trap| trap.cause), Some(TrapCause::Deadline));
                }
                3 => {
                    *machine.data_mut() = Answer::Failure;
                    assert!(matches!(try_call::<_, i32>(&mut machine, "ask_host", (1,)), Err(Error::Host(_))));
                }
                4 => {
                    *machine.data_mut() = Answer::Panic;
                    let call = || try_call::<_, i32>(&mut machine, "ask_host", (1,));
                    assert!(catch_unwind(AssertUnwindSafe(call)).is_err());
                }
                5 => assert!(try_call::<_, i64>(&mut machine, "poke", (MIN_ADDRESS, 1_i64)).is_err()),
                6 => {
                    machine.memory_mut().map(0x2000_0000, 0x10000, R | Perm::WRITE).unwrap();
                    call::<_, i64>(&mut machine, "poke", (0x2000_0000_u64, 1_i64));
                    let stack = machine.stack();
                    machine.memory_mut().protect(stack.start, PAGE_SIZE, Perm::NONE).unwrap();
                }
                // The user of the machine keeps a handle that stops it, and uses it later.
                7 => handles.push(machine.interrupt_handle()),
                8 => {
                    handles.iter().for_each(riverrun::InterruptHandle::interrupt);
                    machine.heap().allocate(1 << 20).unwrap();
                    machine.set_x(9, 9);
                    machine.set_fcsr(0x60);
                }
                _ => {
                    assert_eq!(call::<_, i32>(&mut machine, "ask_host", (1,)), 2);
                    machine.interrupt_handle().interrupt();
                }
            }
        }
        assert_eq!(pool.idle(), 1);
    });
}

/// Fields are dropped in their order: a machine may go back to its pool before an object on its heap.
#[test]
fn objects_that_outlive_their_use_of_a_pools_machine_do_not_reach_the_next_one() {
    each(|linker, program| {
        let snapshot = linker.instantiate(&program, Answer::Number).unwrap().snapshot().unwrap();
        let pool = pool(&linker, &snapshot);
        let mut first = pool.get().unwrap();
        let buffer = GuestVec::new(&mut first.heap(), b"the first's").unwrap();
        drop(first);
        let mut second = pool.get().unwrap();
        let own = GuestVec::new(&mut second.heap(), b"the second's").unwrap();
        assert_eq!(own.address(), buffer.address());
        assert!(buffer.get(second.memory()).unwrap_err().to_string().contains("another machine"));
        drop(buffer);
        let other = GuestVec::new(&mut second.heap(), b"overwrites").unwrap();
        assert_ne!(own.address(), other.address());
        assert_eq!(own.get(second.memory()).unwrap(), b"the second's");
        // One that is dropped in time frees its block.
        drop(other);
        assert_eq!(second.heap().statistics().blocks, 1);
    });
}

#[test]
fn pools_drop_what_they_cannot_restore() {
    let (linker, program) = host(SuiteEngine::Interpreter);
    let snapshot = linker.instantiate(&program, Answer::Number).unwrap().snapshot().unwrap();
    let reset = |answer: &mut Answer| match answer {
        Answer::Number => Ok(()),
        Answer::Failure => Err("no".into()),
        Answer::Panic => panic!("never"),
    };
    let pool = Pool::new(&linker, &snapshot, 2, || Ok(Answer::Number), reset);
    for (answer, idle) in [(Answer::Number, 1), (Answer::Failure, 0), (Answer::Number, 1), (Answer::Panic, 0)] {
        *pool.get().unwrap().data_mut() = answer;
        assert_eq!(pool.idle(), idle, "{answer:?}");
    }
    drop(pool.get().unwrap());
    let panic = || {
        let _machine = pool.get().unwrap();
        panic!("a request fails");
    };
    assert!(catch_unwind(AssertUnwindSafe(panic)).is_err());
    assert_eq!(pool.idle(), 0);
    // Nor is one of another program, linker, snapshot or pool, in place of the pool's.
    let other = Program::new(program.engine(), riverrun::doc::TINY).unwrap();
    let twin = Pool::new(&linker, &snapshot, 2, || Ok(Answer::Number), reset);
    for mut machine in [
        linker.instantiate(&other, Answer::Number).unwrap(),
        Linker::new(program.engine()).instantiate(&other, Answer::Number).unwrap(),
        linker.instantiate_from(&snapshot, Answer::Number).unwrap(),
        twin.get().unwrap().into_machine(),
    ] {
        std::mem::swap(&mut *pool.get().unwrap(), &mut machine);
        assert_eq!(pool.idle(), 0);
    }
    // No more than two are kept.
    let all: Vec<_> = (0..5).map(|_| pool.get().unwrap()).collect();
    drop(all);
    assert_eq!(pool.idle(), 2);
    let none: Pool<Answer> = Pool::new(&linker, &snapshot, 2, || Err("no state".into()), |_| Ok(()));
    assert!(none.get().unwrap_err().to_string().contains("no state"));
}

/// Many threads share a pool; each guest hides a secret and searches all of its memory for others'.
#[test]
fn secrets_stay_with_their_guest() {
    const MARK: u64 = 0x5ec2_e700_0000_0000;
    const MASK: u64 = 0xffff_ffff_0000_0000;
    each(|linker, program| {
        let mut first = linker.instantiate(&program, Answer::Number).unwrap();
        let snapshot = first.snapshot().unwrap();
        let pool = pool(&linker, &snapshot);
        let rounds = amount(50, 12_500);
        std::thread::scope(|scope| {
            for thread in 0..8 {
                let pool = pool.clone();
                scope.spawn(move || {
                    let mut random = Random::seeded(thread);
                    for round in 0..rounds {
                        let mut machine = pool.get().unwrap();
                        // The heap's addresses are not mapped before it is used.
                        if round % 5 == 0 {
                            machine.heap().allocate(100_000).unwrap();
                        }
                        if round % 7 == 0 {
                            machine.memory_mut().map(0x2000_0000, 0x8000, R | Perm::WRITE).unwrap();
                        }
                        for region in machine.memory().regions().to_vec() {
                            if !region.perm.contains(Perm::READ) || region.end - region.start > 1 << 21 {
                                continue;
                            }
                            let found: i64 = match round % 16 {
                                0 => call(&mut machine, "find", (region.start, region.end, MASK, MARK)),
                                _ => {
                                    let memory = machine.memory();
                                    let bytes = memory.slice(region.start, region.end - region.start).unwrap();
                                    i64::from(memchr::memmem::find(bytes, &(MARK >> 32).to_le_bytes()[..4]).is_some())
                                }
                            };
                            assert_eq!(found, 0, "thread {thread}, round {round}: a secret in {region:x?}");
                        }
                        let secret = MARK | thread << 24 | round;
                        call::<_, ()>(&mut machine, "hide", (secret, random.below(65) as i32));
                        if round % 7 == 0 {
                            call::<_, i64>(&mut machine, "poke", (0x2000_0000 + 8 * (round % 4096), secret as i64));
                        }
                        let place = machine.stack().start + 8 * random.below(1000) as u64;
                        machine.memory_mut().write_u64(place, secret).unwrap();
                    }
                });
            }
        });
    });
}

/// Guest and host write few pages, many runs or many pages, between snapshots and resets in any order: written pages are
/// noted, until there are too many.
#[test]
fn any_number_of_written_pages_is_put_back() {
    const START: u64 = 0x2000_0000;
    const PAGES: u64 = 1024;
    each(|linker, program| {
        let mut random = Random::seeded(5);
        let mut machine = linker.instantiate(&program, Answer::Number).unwrap();
        machine.memory_mut().map(START, PAGES * PAGE_SIZE, R | Perm::WRITE).unwrap();
        let poke = machine.func::<(u64, i64), i64>("poke").unwrap();
        let snapshot = machine.snapshot().unwrap();
        let bytes = |machine: &Machine<Answer>| machine.memory().slice(START, PAGES * PAGE_SIZE).unwrap().to_vec();
        let mut saved = vec![(snapshot, bytes(&machine), 3_i64)];
        let mut counter = 3;
        for round in 0..amount(60, 2_000) {
            // Few pages, more runs than are noted, more pages than are noted, or none.
            let (writes, step) = random.pick(&[(3, 1), (6, 50), (50, 20), (600, 1), (0, 1)]);
            let first = random.below(PAGES as usize) as u64;
            for write in 0..writes {
                let address = START + (first + write * step) % PAGES * PAGE_SIZE + 8 * random.below(512) as u64;
                match random.below(4) {
                    0 => machine.memory_mut().write_u64(address, round).unwrap(),
                    1 if address < START + (PAGES - 2) * PAGE_SIZE => {
                        machine.memory_mut().copy_within(address, address + 4000, 200).unwrap();
                    }
                    _ => drop(poke.call(&mut machine, (address, round as i64)).unwrap()),
                }
            }
            counter += 1;
            assert_eq!(call::<_, i64>(&mut machine, "count", (1_i64,)), counter, "round {round}");
            if random.below(3) == 0 {
                if saved.len() == 6 {
                    saved.remove(random.below(6));
                }
                let snapshot = machine.snapshot().unwrap();
                saved.push((snapshot, bytes(&machine), counter));
            } else {
                let (snapshot, expected, count) = &saved[random.below(saved.len())];
                machine.reset(snapshot).unwrap();
                assert!(bytes(&machine) == *expected, "round {round}");
                counter = *count;
            }
        }
        for (snapshot, expected, count) in &saved {
            let mut other = linker.instantiate_from(snapshot, Answer::Number).unwrap();
            assert!(bytes(&other) == *expected);
            assert_eq!(call::<_, i64>(&mut other, "count", (0_i64,)), *count);
        }
    });
}

/// Pages that are not written yet can be written by the kernel, for a system call of the host.
#[test]
fn system_calls_write_to_pages_that_are_noted() {
    let (linker, program) = host(SuiteEngine::Interpreter);
    let mut machine = linker.instantiate(&program, Answer::Number).unwrap();
    machine.memory_mut().map(0x2000_0000, 0x8000, R | Perm::WRITE).unwrap();
    let snapshot = machine.snapshot().unwrap();
    for _ in 0..3 {
        let mut file = std::fs::File::open("/dev/zero").unwrap();
        machine.memory_mut().write(0x2000_3000, &[7; 0x3000]).unwrap();
        let buffer = machine.memory_mut().slice_mut(0x2000_1800, 0x4000).unwrap();
        std::io::Read::read_exact(&mut file, buffer).unwrap();
        machine.reset(&snapshot).unwrap();
        assert!(machine.memory().slice(0x2000_0000, 0x8000).unwrap().iter().all(|&byte| byte == 0));
    }
}
