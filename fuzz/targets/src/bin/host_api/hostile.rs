//! A guest that calls its host with registers and memory of the fuzzer's choice.

use std::time::{Duration, Instant};

use riverrun::{Error, Machine, Perm};
use riverrun_testkit::{Random, elf};

/// The guest: calls as its registers say, again with what came of it, and traps.
pub fn program() -> Vec<u8> {
    const ECALL: u32 = 0x0000_0073;
    const EBREAK: u32 = 0x0010_0073;
    let text: Vec<u8> = [ECALL, ECALL, EBREAK].iter().flat_map(|word| word.to_le_bytes()).collect();
    elf::executable(&text, &[0; LEN as usize], 0)
}

/// Bytes of each piece of its memory.
pub const LEN: u64 = 0x4000;
const READ_ONLY: u64 = 0x30_0000;
const INACCESSIBLE: u64 = 0x40_0000;
/// The last pages that a guest can have who has all addresses.
const LAST: u64 = 0xffff_0000 - LEN;
/// The last ones of a guest who has the fewest.
const LAST_OF_FEW: u64 = (1 << 26) - 0x1_0000 - LEN;

/// The memory that a guest may have, in all.
pub const MEMORY_LIMIT: u64 = 64 << 20;

/// How long one call may take: some wait for ever.
const PATIENCE: Duration = Duration::from_millis(5);

/// Numbers at edges of types and limits.
const EDGES: [u64; 23] = [
    0,
    1,
    7,
    8,
    16,
    255,
    4095,
    4096,
    0xffff,
    1 << 20,
    1 << 26,
    0x7fff_ffff,
    1 << 31,
    0xffff_ffff,
    1 << 32,
    1 << 33,
    1 << 47,
    1 << 61,
    i64::MAX as u64,
    1 << 63,
    u64::MAX / 8,
    u64::MAX / 24,
    u64::MAX,
];

/// An address that something is at, or close by.
pub fn address(random: &mut Random) -> u64 {
    const OTHERS: [u64; 7] = [READ_ONLY, INACCESSIBLE, LAST, LAST_OF_FEW, elf::TEXT, 0, 1 << 30];
    let base = if random.below(3) == 0 { elf::DATA } else { random.pick(&OTHERS) };
    let offset = match random.below(4) {
        0 => random.below(LEN as usize) as u64,
        1 => 8 * random.below(LEN as usize / 8) as u64,
        2 => LEN.wrapping_sub(random.below(40) as u64),
        _ => (random.below(64) as u64).wrapping_sub(32),
    };
    base.wrapping_add(offset)
}

/// A register.
pub fn value(random: &mut Random) -> u64 {
    match random.below(8) {
        0..3 => address(random),
        3 => random.below(64) as u64,
        4 => random.pick(&EDGES).wrapping_add(random.below(5) as u64).wrapping_sub(2),
        5 => (random.between(-200..=200)) as u64,
        6 => random.below(1 << 16) as u64,
        _ => random.u64(),
    }
}

/// Maps memory of all kinds, and fills what can be with values, texts, and structures of them.
pub fn prepare<T>(machine: &mut Machine<T>, random: &mut Random) {
    let memory = machine.memory_mut();
    let last = memory.addresses().end - LEN;
    for (start, perm) in [(READ_ONLY, Perm::READ), (INACCESSIBLE, Perm::NONE), (last, Perm::READ | Perm::WRITE)] {
        memory.map(start, LEN, perm).expect("nothing is there");
    }
    for _ in 0..random.below(24) {
        let at = elf::DATA + 8 * random.below(LEN as usize / 8) as u64;
        let at = at.min(elf::DATA + LEN - 512);
        match random.below(3) {
            0 => {
                let words: Vec<u8> = (0..random.below(8)).flat_map(|_| value(random).to_le_bytes()).collect();
                memory.write(at, &words).expect("it is mapped");
            }
            1 => memory.write(at, text(random).as_bytes()).expect("it is mapped"),
            _ => {
                let bytes: Vec<u8> = (0..random.below(64)).map(|_| random.u32() as u8).collect();
                memory.write(at, &bytes).expect("it is mapped");
            }
        }
    }
}

/// A path, most of the time; with a zero at its end, most of the time.
fn text(random: &mut Random) -> String {
    const NAMES: [&str; 19] = [
        "/fs",
        "/fs/a",
        "/fs/data/b",
        "/w",
        "a",
        "b",
        "..",
        ".",
        "",
        "link",
        "/",
        "/ro/file",
        "/dev/zero",
        "/dev",
        "dir",
        "/etc/passwd",
        "ö",
        "\u{1}",
        "a\0b",
    ];
    let names: Vec<&str> = (0..random.below(5)).map(|_| random.pick(&NAMES)).collect();
    let path = if random.one_in(20) { "n".repeat(300) } else { names.join("/") };
    if random.one_in(8) { path } else { path + "\0" }
}

/// Runs the guest from its beginning with this in a7 and anything in the other registers. It ends in a trap, an
/// error of the host's or by itself, and can be used again.
pub fn call<T>(machine: &mut Machine<T>, random: &mut Random, a7: u64) {
    for register in (5..8).chain(10..17) {
        machine.set_x(register, value(random));
    }
    for register in 10..18 {
        machine.set_f(register, value(random));
    }
    if random.one_in(4) {
        machine.set_x(2, value(random));
    }
    if random.one_in(16) {
        machine.set_fcsr(random.u32());
    }
    machine.set_x(17, a7);
    machine.set_pc(elf::TEXT);
    machine.set_fuel(Some(1000));
    machine.set_deadline(Some(Instant::now() + PATIENCE));
    if let Err(error) = machine.run() {
        assert!(!error.to_string().is_empty());
        if let Error::Host(failure) = &error {
            assert!(!failure.source.to_string().is_empty());
        }
    }
    machine.set_deadline(None);
    let memory = machine.memory();
    assert!(memory.used() <= memory.limit());
    assert!(memory.regions().windows(2).all(|pair| pair[0].end <= pair[1].start));
}
