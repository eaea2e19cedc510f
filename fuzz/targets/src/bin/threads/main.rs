//! Hostile threads: system calls of threads, futexes, signals, timers, local sockets and waits with arguments of all kinds, in
//! programs that share memory and wait for each other. A panic is a finding, and so is a run that does not end within its limits,
//! or that differs between engines, in slices or when it is saved in between, unless its random numbers are the host's.
#![no_main]

use std::io::{Cursor, Read};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

use libfuzzer_sys::fuzz_target;
use riverrun::{CallLimits, Config, Engine, Linker, Machine, Program, Snapshot};
use riverrun_fuzz_targets::seed;
use riverrun_linux::{Error, Input, Linux, Output, add_to_linker, snapshot, start};
use riverrun_testkit::{Random, elf};

/// The words of `guest.S`.
const GUEST: [u32; 34] = [
    0x01247433, 0x008482b3, 0x04040413, 0x0002b303, 0x0082b503, 0x0102b583, 0x0182b603, 0x0202b683, 0x0282b703,
    0x0302b783, 0x0382b883, 0x02030663, 0xfff30313, 0x02030863, 0xfff30313, 0x02030863, 0xfff30313, 0x02030863,
    0xfff30313, 0x02030863, 0x00100073, 0xfadff06f, 0x00000073, 0x00050993, 0xfa1ff06f, 0x00b53023, 0xf99ff06f,
    0x00b523af, 0xf91ff06f, 0x00050413, 0xf89ff06f, 0x01353023, 0xf81ff06f, 0x00008067,
];
const HANDLER: u64 = elf::TEXT + 0x84;

/// The table of records, words that threads share, structures, and stacks.
const TABLE: u64 = elf::DATA;
const RECORDS: usize = 64;
const RECORD: usize = 64;
const WORDS: u64 = TABLE + (RECORDS * RECORD) as u64;
const STRUCTURES: u64 = WORDS + 0x400;
/// Addresses of local sockets, structures of messages, and what these lead to: buffers and control messages.
const NAMES: u64 = WORDS + 0x800;
const MESSAGES: u64 = WORDS + 0x900;
const BUFFERS: u64 = WORDS + 0xc00;
const CONTROLS: u64 = WORDS + 0xe00;
const STACKS: u64 = WORDS + 0x1000;
const LEN: u64 = 0x8000;

/// Instructions of a run.
const FUEL: u64 = 30_000;
/// How long one may take: in virtual time nothing waits.
const PATIENCE: Duration = Duration::from_secs(5);

/// The calls, by their numbers; those that make programs interesting are there more than once.
const CALLS: [u64; 108] = [
    220, 220, 220, 220, 220, 435, 98, 98, 98, 98, 98, 98, 98, 98, 99, 100, 93, 93, 94, 96, 101, 103, 102, 107, 107,
    108, 109, 110, 110, 111, 115, 124, 124, 129, 130, 131, 131, 132, 133, 134, 134, 134, 135, 135, 136, 137, 139, 178,
    19, 20, 21, 21, 22, 441, 59, 63, 63, 64, 64, 72, 73, 74, 85, 86, 86, 87, 57, 24, 23, 25, 167, 283, 199, 206, 207,
    210, 198, 198, 198, 198, 200, 200, 200, 201, 201, 203, 203, 203, 202, 202, 242, 242, 204, 205, 206, 206, 207, 211,
    211, 212, 212, 269, 269, 243, 35, 35, 166, 208,
];

/// What threads of a C library are made with, some bits of which are changed.
const THREAD_FLAGS: u64 = 0x3d_0f00;

struct Host {
    engines: [(Linker<Linux>, Program); 2],
}

fn host() -> &'static Host {
    static HOST: OnceLock<Host> = OnceLock::new();
    HOST.get_or_init(|| {
        let text: Vec<u8> = GUEST.iter().flat_map(|word| word.to_le_bytes()).collect();
        let program = elf::executable(&text, &[], LEN);
        let engines = [false, true].map(|single_step| {
            let mut config = Config::new();
            config.memory_limit(16 << 20).stack_size(64 << 10).single_step(single_step);
            let engine = Engine::new(&config).expect("the configuration is in range");
            let mut linker = Linker::new(&engine);
            add_to_linker(&mut linker, |linux: &mut Linux| linux);
            (linker, Program::new(&engine, program.clone()).expect("it is a program"))
        });
        Host { engines }
    })
}

/// A word that threads share.
fn word(random: &mut Random) -> u64 {
    WORDS + 8 * random.below(6) as u64 + if random.one_in(20) { random.below(8) as u64 } else { 0 }
}

/// A structure, or what may be taken for one.
fn structure(random: &mut Random) -> u64 {
    STRUCTURES + 32 * random.below(24) as u64
}

/// The address of a local socket's name, and its size.
fn name(random: &mut Random) -> (u64, u64) {
    let n = random.below(5) as u64;
    (NAMES + 32 * n, if random.one_in(10) { random.below(120) as u64 } else { [10, 10, 4, 4, 2][n as usize] })
}

/// The address of a message's structure, behind which are others.
fn message(random: &mut Random) -> u64 {
    MESSAGES + 64 * random.below(6) as u64
}

/// An argument of a call.
fn value(random: &mut Random) -> u64 {
    const EDGES: [u64; 12] =
        [0, 1, 2, 4095, 0x7fff_ffff, 1 << 31, 0xffff_ffff, 1 << 32, 1 << 61, i64::MAX as u64, 1 << 63, u64::MAX];
    match random.below(12) {
        0..3 => word(random),
        3..5 => structure(random),
        5..8 => random.below(9) as u64,
        8 => STACKS + 16 * random.below(0x300) as u64,
        9 => random.below(70) as u64,
        10 => random.pick(&EDGES),
        _ => random.u64(),
    }
}

/// The arguments of a call that is more than nonsense, most of the time.
fn arguments(random: &mut Random, number: u64) -> [u64; 6] {
    let mut a: [u64; 6] = std::array::from_fn(|_| value(random));
    let null_or = |random: &mut Random, address: u64| if random.one_in(3) { 0 } else { address };
    match number {
        // clone
        220 if !random.one_in(8) => {
            let changed = if random.one_in(3) { 1 << random.below(32) } else { 0 };
            let stack = STACKS + 256 * (1 + random.below(60) as u64);
            a = [THREAD_FLAGS ^ changed, null_or(random, stack), word(random), random.u64(), word(random), 0];
        }
        // futex: all commands, private and by the real clock
        98 if !random.one_in(8) => {
            let command = random.below(14) as u64 | random.pick(&[0, 128, 256, 384]);
            let timeout = random.below(4) as u64;
            let timeout = if random.one_in(2) { structure(random) } else { timeout };
            a = [word(random), command, random.below(4) as u64, timeout, word(random), random.pick(&[0, 1, u64::MAX])];
        }
        // rt_sigaction
        134 if !random.one_in(8) => a = [1 + random.below(64) as u64, structure(random), 0, 8, 0, 0],
        // rt_sigprocmask
        135 if !random.one_in(8) => a = [random.below(3) as u64, structure(random), 0, 8, 0, 0],
        // rt_sigsuspend, rt_sigtimedwait
        133 => a[1] = 8,
        137 => (a[2], a[3]) = (null_or(random, a[2]), 8),
        // tgkill, tkill, kill
        131 => a = [1000 + random.below(3) as u64, 1000 + random.below(8) as u64, random.below(65) as u64, 0, 0, 0],
        130 => a = [1000 + random.below(8) as u64, random.below(65) as u64, 0, 0, 0, 0],
        129 => a = [0, random.below(65) as u64, 0, 0, 0, 0],
        // epoll_ctl
        21 => {
            a = [random.below(12) as u64, 1 + random.below(3) as u64, random.below(12) as u64, structure(random), 0, 0]
        }
        // epoll_pwait, ppoll, pselect6
        22 => a = [random.below(12) as u64, structure(random), 4, random.pick(&[0, 3, u64::MAX]), 0, 8],
        73 => a = [structure(random), random.below(3) as u64, null_or(random, a[2]), 0, 8, 0],
        72 => a = [random.below(12) as u64, structure(random), 0, 0, null_or(random, a[4]), 0],
        // reading and writing
        63 | 64 => a = [random.below(12) as u64, structure(random), random.below(200) as u64, 0, 0, 0],
        // timerfd_settime, timer_settime
        86 => a = [random.below(12) as u64, random.below(2) as u64, structure(random), null_or(random, a[3]), 0, 0],
        110 => a = [random.below(4) as u64, random.below(2) as u64, structure(random), null_or(random, a[3]), 0, 0],
        // signalfd4, eventfd2, timerfd_create, pipe2
        74 => a = [u64::MAX, structure(random), 8, random.pick(&[0, 0o4000]), 0, 0],
        19 => (a[0], a[1]) = (random.below(3) as u64, random.pick(&[0, 1, 0o4000])),
        85 => (a[0], a[1]) = (random.below(2) as u64, random.pick(&[0, 0o4000])),
        59 => a[1] = random.pick(&[0, 0o4000]),
        // socketpair, and calls on what it makes
        199 => a = [1, random.pick(&[1, 2, 5, 1 | 0o4000]), 0, structure(random), 0, 0],
        206 if random.one_in(3) => a[4] = 0,
        206 => {
            let (to, size) = name(random);
            a = [random.below(12) as u64, structure(random), random.below(200) as u64, a[3] & 0x142, to, size];
        }
        207 => {
            let (to, from, size) = (structure(random), structure(random), word(random));
            let from = null_or(random, from);
            a = [random.below(12) as u64, to, random.below(200) as u64, a[3] & 0x142, from, size];
        }
        // socket, bind, connect, listen, accept, accept4, getsockname, getpeername
        198 => a = [1, random.pick(&[1, 2, 2, 5, 1 | 0o4000, 2 | 0o4000, 5 | 0o4000]), 0, 0, 0, 0],
        200 | 203 => {
            let (at, size) = name(random);
            a = [random.below(12) as u64, at, size, 0, 0, 0];
        }
        201 => a = [random.below(12) as u64, random.below(3) as u64, 0, 0, 0, 0],
        202 | 242 => {
            let flags = random.pick(&[0, 0o4000]);
            let address = structure(random);
            a = [random.below(12) as u64, null_or(random, address), word(random), flags, 0, 0];
        }
        204 | 205 => a = [random.below(12) as u64, structure(random), word(random), 0, 0, 0],
        // sendmsg, recvmsg, sendmmsg, recvmmsg
        211 | 212 => a = [random.below(12) as u64, message(random), a[2] & 0x4000_0142, 0, 0, 0],
        269 | 243 => {
            let timeout = structure(random);
            let timeout = null_or(random, timeout);
            let flags = a[3] & 0x4001_0142;
            a = [random.below(12) as u64, message(random), random.below(4) as u64, flags, timeout, 0];
        }
        // unlinkat of a name in the file system, umask
        35 => a = [-100_i64 as u64, NAMES + 2, 0, 0, 0, 0],
        166 => a[0] = random.pick(&[0, 0o22, 0o777]),
        210 => a = [random.below(12) as u64, random.below(4) as u64, 0, 0, 0, 0],
        _ => {}
    }
    a
}

/// A record of the table: what is done, a0 to a5, and the call's number.
fn record(random: &mut Random) -> [u64; 8] {
    let number = if random.one_in(60) { random.below(460) as u64 } else { random.pick(&CALLS) };
    let (what, [a0, a1, a2, a3, a4, a5]) = match random.below(20) {
        0..14 => (0, arguments(random, number)),
        what @ 14..16 => (what as u64 - 13, [word(random), random.below(4) as u64, 0, 0, 0, 0]),
        16 => (2, [word(random), random.u64(), 0, 0, 0, 0]),
        17 => (3, [random.u64(), 0, 0, 0, 0, 0]),
        18 => (4, [if random.one_in(2) { structure(random) } else { word(random) }, 0, 0, 0, 0, 0]),
        _ => (random.below(7) as u64, std::array::from_fn(|_| value(random))),
    };
    [what, a0, a1, a2, a3, a4, a5, number]
}

/// Fills a guest's memory.
fn fill(machine: &mut Machine<Linux>, random: &mut Random) {
    let memory = machine.memory_mut();
    let mut write = |address: u64, word: u64| memory.write_u64(address, word).expect("it is mapped");
    for n in 0..RECORDS as u64 {
        for (word, at) in record(random).into_iter().zip((TABLE + n * RECORD as u64..).step_by(8)) {
            write(at, word);
        }
    }
    // Times of some milliseconds, actions with handlers, sets of signals, descriptors with events, lists of futexes.
    for at in (STRUCTURES..STRUCTURES + 32 * 24).step_by(32) {
        let small = |random: &mut Random| random.below(3_000_000) as u64;
        let words = match random.below(6) {
            0 => [0, small(random), 0, small(random)],
            1 => [
                random.pick(&[HANDLER, HANDLER, 0, 1, elf::TEXT]),
                random.pick(&[0, 4, 1 << 28, 1 << 30]),
                random.u64(),
                0,
            ],
            2 => [random.u64(), 0, 0, 0],
            3 => std::array::from_fn(|_| random.below(12) as u64 | (random.below(32) as u64) << 32),
            4 => [at, 0, word(random), 0],
            _ => std::array::from_fn(|_| value(random)),
        };
        for (word, at) in words.into_iter().zip((at..).step_by(8)) {
            write(at, word);
        }
    }
    // Two names in the file system, two abstract ones, and none.
    let names =
        [*b"\x01\0/tmp/a", *b"\x01\0/tmp/b", *b"\x01\0\0a\0\0\0\0", *b"\x01\0\0b\0\0\0\0", *b"\x01\0\0\0\0\0\0\0"];
    for (bytes, at) in names.into_iter().zip((NAMES..).step_by(32)) {
        write(at, u64::from_le_bytes(bytes));
    }
    // Messages: names and their sizes, buffers and their number, control messages and their length.
    for at in (MESSAGES..MESSAGES + 64 * 8).step_by(64) {
        let (to, size) = if random.one_in(2) { (0, 0) } else { name(random) };
        let buffers = BUFFERS + 16 * random.below(8) as u64;
        let controls = if random.one_in(3) { 0 } else { CONTROLS + 32 * random.below(8) as u64 };
        let len = random.pick(&[32, 24, 20, 16, 0, 64]);
        write_all(at, [to, size, buffers, random.below(3) as u64, controls, len, 0, 0], random, &mut write);
    }
    for at in (BUFFERS..BUFFERS + 16 * 8).step_by(16) {
        write_all(at, [structure(random), random.pick(&[0, 1, 30, 200, 5000])], random, &mut write);
    }
    // Two descriptors each, of level SOL_SOCKET and type SCM_RIGHTS.
    for at in (CONTROLS..CONTROLS + 32 * 8).step_by(32) {
        let two = random.below(12) as u64 | (random.below(12) as u64) << 32;
        write_all(at, [random.pick(&[20, 24, 16]), 1 | 1 << 32, two, 0], random, &mut write);
    }
}

/// Writes words, few of which are others.
fn write_all<const N: usize>(at: u64, words: [u64; N], random: &mut Random, write: &mut impl FnMut(u64, u64)) {
    for (word, at) in words.into_iter().zip((at..).step_by(8)) {
        write(at, if random.one_in(40) { value(random) } else { word });
    }
}

/// Input of which a guest that is restored reads what is left.
#[derive(Clone)]
struct Shared(Arc<Mutex<Cursor<&'static [u8; 5]>>>);

impl Read for Shared {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        self.0.lock().expect("no other thread reads it").read(buffer)
    }
}

/// The seed of a guest's random numbers, the first choice. Few have none: their random numbers are the host's, other ones in each
/// run.
fn random_seed(random: &mut Random) -> Option<u64> {
    (!random.one_in(16)).then(|| random.u64())
}

/// How a run is cut.
#[derive(Clone, Copy, PartialEq)]
enum Cut {
    Not,
    /// Into slices of so many instructions.
    Slices(u64),
    /// Saved once, after so many instructions.
    Saved(u64),
}

/// How a run has ended: in words, with registers, memory and instructions; nothing if its time was up.
fn run(engine: usize, choices: &[u8], cut: Cut) -> Option<(String, Vec<u64>, Vec<u8>, u64)> {
    let (linker, program) = &host().engines[engine];
    let mut random = Random::from_bytes(choices.to_vec());
    let input = Shared(Arc::new(Mutex::new(Cursor::new(b"input"))));
    let builder = || Linux::builder().stdin(Input::reader(input.clone())).stdout(Output::writer(std::io::sink()));
    let linux = builder().seed(random_seed(&mut random)).virtual_time(true).max_threads(12).build();
    let mut machine = linker.instantiate(program, linux).expect("there is room");
    start(&mut machine, |linux| linux).expect("there are no arguments");
    fill(&mut machine, &mut random);
    machine.set_x(8, 0);
    machine.set_x(9, TABLE);
    machine.set_x(18, ((RECORDS - 1) * RECORD) as u64);
    let begin = Instant::now();
    machine.set_deadline(Some(begin + PATIENCE));
    machine.set_fuel(Some(FUEL));
    let result = match cut {
        Cut::Not => machine.run(),
        Cut::Slices(fuel) => loop {
            match machine.run_for(CallLimits::new().fuel(fuel)) {
                Ok(None) => {}
                Ok(Some(status)) => break Ok(status),
                Err(error) => break Err(error),
            }
        },
        Cut::Saved(fuel) => match machine.run_for(CallLimits::new().fuel(fuel)) {
            Ok(None) => {
                let left = machine.fuel();
                match snapshot(&mut machine, |linux| linux) {
                    Ok(saved) => {
                        let saved = Snapshot::from_bytes(program, &saved.to_bytes()).expect("it is whole");
                        let linux = builder().max_threads(12).restore_from(&saved).expect("it was saved so");
                        machine = linker.instantiate_from(&saved, linux).expect("there is room");
                        machine.set_deadline(Some(begin + PATIENCE));
                        machine.set_fuel(left);
                    }
                    // The guest sends descriptors to itself.
                    Err(Error::OnTheirWay { .. }) => {}
                    Err(error) => panic!("its files are its own, but {error}"),
                }
                machine.run()
            }
            Ok(Some(status)) => Ok(status),
            Err(error) => Err(error),
        },
    };
    assert!(begin.elapsed() < 2 * PATIENCE, "it outlasts its deadline");
    if begin.elapsed() >= PATIENCE {
        return None;
    }
    let words = result.map_or_else(|error| error.to_string(), |status| format!("status {status}"));
    let registers = (0..32).map(|n| machine.x(n)).chain([machine.pc()]).collect();
    let memory = machine.memory().slice(elf::DATA, LEN).map_or_else(|_| Vec::new(), <[u8]>::to_vec);
    Some((words, registers, memory, machine.instructions()))
}

/// Choices of any kind.
fn seeds() -> Vec<Vec<u8>> {
    let mut random = Random::seeded(0);
    (0..30).map(|_| (0..4000).map(|_| random.u32() as u8).collect()).collect()
}

fuzz_target!(init: seed(seeds()), |data: &[u8]| {
    let Some((&how, choices)) = data.split_first().filter(|(_, choices)| choices.len() > 16) else { return };
    let Some(whole) = run(0, choices, Cut::Not) else { return };
    let length = 1 + u64::from(how) * whole.3 / 256;
    let other = match how % 4 {
        0 => run(1, choices, Cut::Not),
        1 => run(0, choices, Cut::Slices(length)),
        2 => run(0, choices, Cut::Saved(length)),
        _ => run(1, choices, Cut::Saved(length)),
    };
    let is_seeded = random_seed(&mut Random::from_bytes(choices.to_vec())).is_some();
    let Some(other) = other.filter(|_| is_seeded) else { return };
    assert_eq!((&whole.0, &whole.1, whole.3), (&other.0, &other.1, other.3), "{how}");
    assert!(whole.2 == other.2, "{how}: other memory");
});
