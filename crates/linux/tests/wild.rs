//! Every system call with wild arguments: nothing panics, hangs, or leaves the granted directory.

use std::fs;
use std::path::{Component, Path};
use std::time::{Duration, Instant};

use crate::common::{gcc, machine, tree};
use crate::virtual_fs::PassThrough;
use riverrun::{Config, Error, Machine, PAGE_SIZE, Perm, TrapCause};
use riverrun_linux::{Captured, Detail, DirAccess, Input, Linux, Output};

const ROUNDS: u64 = 12;
const CALLS_PER_ROUND: u64 = 20_000;
const MEMORY_LIMIT: u64 = 24 << 20;
/// What one call may take: far above the deadline that each gets, for the host is shared.
const PATIENCE: Duration = Duration::from_secs(3);
/// Guest memory that holds paths and structures.
const SCRATCH: u64 = 0x2000_0000;

/// A small generator of random numbers (SplitMix64).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len() as u64) as usize]
    }

    /// An argument: small, a flag, an address that is mapped or nearly, or anything.
    fn argument(&mut self) -> u64 {
        const EDGES: [u64; 12] =
            [0, 1, u64::MAX, -100_i64 as u64, 1 << 31, 1 << 32, 1 << 63, i64::MAX as u64, 4096, 0x7fff_f000, 8, 24];
        match self.below(10) {
            0 | 1 => self.below(12),
            2 => 1 << self.below(64),
            3 => self.pick(&EDGES),
            4..=6 => SCRATCH + self.below(64) * 64,
            7 => SCRATCH + self.below(6) * PAGE_SIZE - self.below(20),
            8 => self.below(1 << 17),
            _ => self.next(),
        }
    }
}

const PATHS: [&str; 25] = [
    "/data/sub/read",
    "/data/sub/read/file",
    "/data/sub/read/new",
    "/data/way/to/it/file",
    "/data",
    "/data/file",
    "/data/sub/../file",
    "/data/link",
    "/data/out",
    "/",
    "/dev/null",
    "/dev/zero",
    "/dev/urandom",
    "../..",
    "sub/x",
    "/data/loop/x",
    "/data/sub/",
    "/data/../../outside/file",
    "/tmp",
    "/tmp/file",
    "/tmp/sub",
    "/tmp/sub/file",
    "/tmp/sub/sub",
    "/tmp/fifo",
    "/dev/shm/file",
];

/// What makes sense to calls that check their arguments one by one, a letter an argument: a
/// descriptor, a directory's descriptor, a path, the address of a structure, a length, few bits,
/// zero, the size of a signal set, pages, a signal, the process, open's flags, mmap's, a file's mode, a family and a type of
/// sockets, the size of a socket's address.
const SENSIBLE: [(u64, &str); 92] = [
    (17, "sl"),
    (23, "f"),
    (24, "ffz"),
    (25, "fbs"),
    (33, "dpm"),
    (34, "dpl"),
    (35, "dpz"),
    (36, "pdp"),
    (37, "dpdpz"),
    (43, "ps"),
    (45, "pl"),
    (46, "fl"),
    (47, "fbll"),
    (48, "dpb"),
    (49, "p"),
    (50, "f"),
    (52, "fl"),
    (53, "dpl"),
    (54, "dpff"),
    (56, "dpol"),
    (56, "dpol"),
    (56, "dpol"),
    (59, "sz"),
    (61, "fsl"),
    (62, "flb"),
    (63, "fsl"),
    (64, "fsl"),
    (65, "fsb"),
    (66, "fsb"),
    (67, "fsll"),
    (68, "fsll"),
    (69, "fsbl"),
    (70, "fsbl"),
    (71, "ffzl"),
    (72, "bssss"),
    (73, "sbs"),
    (78, "dpsl"),
    (79, "dpsz"),
    (80, "fs"),
    (82, "f"),
    (88, "dpsz"),
    (88, "fzzz"),
    (98, "sbbs"),
    (99, "sl"),
    (113, "bs"),
    (115, "bbs"),
    (129, "in"),
    (131, "iin"),
    (132, "ss"),
    (133, "s8"),
    (134, "nss8"),
    (134, "nss8"),
    (135, "bss8"),
    (135, "bzs8"),
    (137, "sss8"),
    (198, "wtz"),
    (198, "wtz"),
    (198, "wtz"),
    (199, "wtzs"),
    (200, "fsk"),
    (200, "fsk"),
    (200, "fsk"),
    (201, "fb"),
    (201, "fb"),
    (202, "fss"),
    (203, "fsk"),
    (203, "fsk"),
    (204, "fss"),
    (206, "fslbsk"),
    (207, "fslbss"),
    (208, "fbnsk"),
    (209, "fbnss"),
    (210, "fb"),
    (211, "fsb"),
    (212, "fsb"),
    (242, "fssz"),
    (214, "P"),
    (215, "PP"),
    (216, "PPPbP"),
    (222, "PPbxfz"),
    (222, "PPbxfz"),
    (222, "PPbxfz"),
    (226, "PPb"),
    (227, "PPb"),
    (233, "PPb"),
    (276, "dpdpz"),
    (278, "slb"),
    (279, "pb"),
    (279, "pb"),
    (285, "fzfzlz"),
    (291, "dpzls"),
    (439, "dpbz"),
];

impl Random {
    fn sensible(&mut self, kind: u8) -> u64 {
        match kind {
            b'f' => self.below(12),
            b'd' => self.pick(&[-100_i64 as u64, -100_i64 as u64, 3, 4, 5]),
            b'p' => SCRATCH + self.below(32) * 64,
            b's' => SCRATCH + 2048 + self.below(32) * 64,
            b'l' => self.below(6000),
            b'b' => self.below(8),
            b'z' => 0,
            b'8' => 8,
            b'P' => 0x3000_0000 + self.below(64) * PAGE_SIZE,
            b'n' => 1 + self.below(64),
            b'i' => 1000,
            b'o' => self.pick(&[0, 1, 2, 0o100, 0o101, 0o102, 0o1002, 0o2001, 0o200000, 0o2000, 0o1101]),
            b'm' => self.pick(&[0o010600, 0o010000, 0o100600, 0]),
            b'x' => self.pick(&[0x22, 0x02, 0x32, 0x12, 0x01, 0x01, 0x11, 0x10_0022]),
            b'w' => self.pick(&[1, 2, 2, 2, 10]),
            b't' => self.pick(&[1, 1, 2, 5, 1 | 0o4000, 1 | 0o4000, 5 | 0o4000]),
            b'k' => self.pick(&[16, 16, 28]),
            _ => self.argument(),
        }
    }

    /// A call's number and its arguments.
    fn call(&mut self) -> (u64, [u64; 6]) {
        let mut args = std::array::from_fn(|_| self.argument());
        match self.below(100) {
            0 => (self.next(), args),
            1..40 => (self.below(453), args),
            _ => {
                let (number, kinds) = self.pick(&SENSIBLE);
                for (arg, kind) in args.iter_mut().zip(kinds.bytes()) {
                    if self.below(12) != 0 {
                        *arg = self.sensible(kind);
                    }
                }
                (number, args)
            }
        }
    }
}

/// Maps the scratch memory, if the guest has taken it away, and puts paths and noise there.
fn fill_scratch(machine: &mut Machine<Linux>, random: &mut Random) {
    let memory = machine.memory_mut();
    // Whatever the guest has mapped by now may not leave room.
    if memory.map(SCRATCH, 4 * PAGE_SIZE, Perm::READ | Perm::WRITE).is_err() {
        memory.unmap(0x1000_0000, 0x9000_0000).unwrap();
        memory.map(SCRATCH, 4 * PAGE_SIZE, Perm::READ | Perm::WRITE).unwrap();
    }
    for slot in 0..64 {
        let mut bytes = [0; 64];
        match random.below(4) {
            _ if slot < 32 => {
                let path = random.pick(&PATHS);
                bytes[..path.len()].copy_from_slice(path.as_bytes());
            }
            0 => bytes.chunks_mut(8).for_each(|word| word[0] = random.below(40) as u8),
            1 => bytes.chunks_mut(8).for_each(|word| word.copy_from_slice(&random.argument().to_le_bytes())),
            // An address of this host, a granted port or another one.
            2 => bytes[..8].copy_from_slice(&[2, 0, 0, random.pick(&[0, 0, 9, 9, 10]), 127, 0, 0, 1]),
            _ => {}
        }
        memory.write(SCRATCH + slot * 64, &bytes).unwrap();
    }
}

/// Links below `directory`, `depth` directories below the granted one, that lead out: by name.
fn outward_links(directory: &Path, depth: usize) -> Vec<String> {
    let mut found = Vec::new();
    // The guest may have taken its host's permission to look.
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let path = entry.path();
        if let Ok(target) = fs::read_link(&path) {
            let up = target.components().filter(|part| matches!(part, Component::ParentDir)).count();
            let inside = target.components().take(up).all(|part| matches!(part, Component::ParentDir));
            if target.is_absolute() || up > depth || !inside {
                found.push(entry.file_name().into_string().unwrap());
            }
        } else if path.is_dir() {
            found.extend(outward_links(&path, depth + 1));
        }
    }
    found
}

#[test]
fn wild_arguments_do_no_harm() {
    const A0: u8 = 10;
    const A7: u8 = 17;
    const SP: u8 = 2;
    const FALLOCATE: u64 = 47;
    let program = gcc("call.s", &["-nostdlib", "-static"]);
    let host = tempfile::tempdir().unwrap();
    let (data, outside) = (host.path().join("data"), host.path().join("outside"));
    let read = host.path().join("read");
    fs::create_dir(&outside).unwrap();
    fs::create_dir(&read).unwrap();
    fs::write(read.join("file"), "untouched").unwrap();
    fs::write(outside.join("file"), "untouched").unwrap();
    let before = [tree(&outside), tree(&read)];
    let (mut answered, mut restored) = (0, 0);
    for round in 0..ROUNDS {
        let _ = fs::remove_dir_all(&data);
        fs::create_dir_all(data.join("sub")).unwrap();
        fs::write(data.join("file"), "some text").unwrap();
        for (target, name) in [("file", "link"), ("../outside/file", "out"), ("loop", "loop")] {
            std::os::unix::fs::symlink(target, data.join(name)).unwrap();
        }
        let access = if round % 3 == 2 { DirAccess::ReadOnly } else { DirAccess::ReadWrite };
        let is_virtual = round % 4 == 3;
        let mut config = Config::new();
        config.memory_limit(MEMORY_LIMIT).stack_size(64 << 10);
        let builder = || {
            let builder = Linux::builder().args(["wild"]).seed(Some(round)).virtual_time(round % 2 == 0);
            let builder = builder.stdin(Input::bytes("input")).stdout(Output::writer(Captured::default()));
            let builder = builder.log(Captured::default(), Detail::All);
            let builder = match is_virtual {
                true => builder.file_system("/data", PassThrough::new(&data)).unwrap(),
                false => builder.dir(&data, "/data", access).unwrap(),
            };
            let builder = builder.dir(&read, "/data/sub/read", DirAccess::ReadOnly).unwrap();
            let builder = builder.dir(&read, "/data/way/to/it", DirAccess::ReadOnly).unwrap();
            match round % 3 {
                1 => builder.listen("0").unwrap().connect("127.0.0.1:9").unwrap(),
                // Where a socket of the network is open, nothing is saved.
                _ => builder,
            }
        };
        let mut machine = machine(&config, &program, builder().build());
        let (entry, stack) = (machine.pc(), machine.stack());
        let mut random = Random(round);
        for call in 0..CALLS_PER_ROUND {
            if call % 50 == 0 {
                fill_scratch(&mut machine, &mut random);
            }
            let (number, mut args) = random.call();
            if number == FALLOCATE {
                // This would take the host's disk, as it is asked to.
                args[3] = args[3].min(1 << 16);
            }
            machine.set_pc(entry);
            machine.set_x(A7, number);
            machine.set_x(SP, if random.below(4) == 0 { random.argument() } else { stack.end - 4096 });
            (0..6).for_each(|n| machine.set_x(A0 + n, args[n as usize]));
            machine.set_fuel(Some(1));
            let start = Instant::now();
            machine.set_deadline(Some(start + Duration::from_millis(2)));
            let result = machine.run();
            let what = format!("round {round}: call {number} of {args:x?}");
            assert!(start.elapsed() < PATIENCE, "{what} took {:?}", start.elapsed());
            match result {
                Ok(_) => assert!(matches!(number, 93 | 94), "{what} ends the program"),
                Err(Error::Trap(trap)) => {
                    let expected = matches!(trap.cause, TrapCause::OutOfFuel | TrapCause::Deadline | TrapCause::Signal { .. } | TrapCause::EndlessWait { .. })
                            // A signal's frame holds any pc.
                            || matches!((trap.cause, number), (TrapCause::FetchFault { .. }, _));
                    assert!(expected, "{what}: {trap}");
                    answered += u64::from(trap.cause == TrapCause::OutOfFuel);
                }
                Err(error) => panic!("{what}: {error}"),
            }
            assert!(machine.memory().used() <= MEMORY_LIMIT, "{what}: {} bytes", machine.memory().used());
            // Unless a file is gone that the guest has open.
            if call % 500 == 0
                && let Ok(saved) = machine.data().save()
                && let Ok(linux) = builder().restore(&saved)
            {
                linux.save().unwrap();
                restored += 1;
            }
        }
        // The host's own, which the guest may have removed; what a file system of the host takes is its affair.
        assert!(
            is_virtual || outward_links(&data, 0).iter().all(|name| name == "out"),
            "{:?}",
            outward_links(&data, 0)
        );
    }
    assert_eq!(before, [tree(&outside), tree(&read)]);
    assert!(restored > ROUNDS, "only {restored} states were restored");
    assert!(answered > ROUNDS * CALLS_PER_ROUND * 9 / 10, "only {answered} calls were answered");
}
