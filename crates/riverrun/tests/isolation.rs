//! Whatever addresses a guest makes up, nothing outside its window changes, and every run ends in
//! a trap or at a limit.

use std::ptr;

use riverrun::{Config, Engine, Linker, Program};
use riverrun_isa::{Inst, Op, Rounding};
use riverrun_testkit::{Random, elf};

/// Host memory beside guests' windows, filled with a pattern.
struct Canary {
    start: *mut u8,
    len: usize,
}

impl Canary {
    const LEN: usize = 1 << 20;
    const BYTE: u8 = 0xa5;

    fn new() -> Canary {
        // SAFETY: a fresh mapping of this test's own.
        unsafe {
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
            let start = libc::mmap(ptr::null_mut(), Canary::LEN, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0);
            assert_ne!(start, libc::MAP_FAILED);
            ptr::write_bytes(start.cast::<u8>(), Canary::BYTE, Canary::LEN);
            Canary { start: start.cast(), len: Canary::LEN }
        }
    }

    fn is_intact(&self) -> bool {
        // SAFETY: the mapping lives as long as the canary.
        unsafe { std::slice::from_raw_parts(self.start, self.len) }.iter().all(|&byte| byte == Canary::BYTE)
    }
}

fn inst(op: Op, rd: u8, rs1: u8, rs2: u8, imm: i32) -> u32 {
    Inst { op, rd, rs1, rs2, rs3: 0, rm: Rounding::Rne, len: 4, imm }.encode()
}

/// A guest that accesses `x5 + imm` in every width, or jumps there.
fn guest(random: &mut Random) -> Vec<u8> {
    let access =
        [Op::sb, Op::sh, Op::sw, Op::sd, Op::fsd, Op::lb, Op::lhu, Op::lw, Op::ld, Op::fld, Op::amoadd_d, Op::jalr];
    let imm = random.between(-2048..=2047) as i32;
    let op = random.pick(&access);
    let word = match op {
        Op::amoadd_d => inst(op, 6, 5, 7, 0),
        _ => inst(op, 6, 5, 7, imm),
    };
    // The access, then again and again.
    let back = Inst { op: Op::jal, rd: 0, rs1: 0, rs2: 0, rs3: 0, rm: Rounding::Rne, len: 4, imm: -4 }.encode();
    [word, back].iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// Addresses near every edge there is, and anywhere.
fn address(random: &mut Random) -> u64 {
    let edges = [0u64, 1 << 16, 1 << 17, 1 << 31, 1 << 32, u64::MAX, 1 << 63, 0xffff_0000, 0xfffe_0000, 1 << 47];
    match random.below(3) {
        0 => random.u64(),
        1 => u64::from(random.u32()),
        _ => random.pick(&edges).wrapping_add(random.between(-4096..=4096) as u64),
    }
}

#[test]
fn wild_accesses_stay_in_the_window() {
    let engine = Engine::new(&Config::new()).unwrap();
    let linker = Linker::new(&engine);
    let mut random = Random::seeded(1);
    for _ in 0..300 {
        // The kernel places mappings side by side, downward: canaries lie on both sides.
        let before = Canary::new();
        let program = Program::new(&engine, elf::executable(&guest(&mut random), &[], 0)).unwrap();
        let mut machine = linker.instantiate(&program, ()).unwrap();
        let after = Canary::new();
        for _ in 0..40 {
            machine.set_pc(program.image().entry());
            machine.set_x(5, address(&mut random));
            machine.set_x(7, random.u64());
            machine.set_fuel(Some(100));
            let error = machine.run().expect_err("the guest has no way to exit");
            assert!(error.trap().is_some(), "{error}");
        }
        assert!(before.is_intact() && after.is_intact());
        // SAFETY: nothing refers to the mappings any more.
        unsafe {
            libc::munmap(before.start.cast(), before.len);
            libc::munmap(after.start.cast(), after.len);
        }
    }
}

#[test]
fn a_stack_of_impossible_size_is_refused() {
    for size in [0, 1 << 40, u64::MAX] {
        let error = Engine::new(Config::new().stack_size(size)).unwrap_err();
        assert!(error.to_string().contains("a stack of"), "{error}");
    }
}

#[test]
fn code_beyond_the_limit_runs_all_the_same() {
    // At the end the pc leaves the text.
    let text: Vec<u8> = (0..10_000).flat_map(|_| inst(Op::addi, 10, 10, 0, 1).to_le_bytes()).collect();
    let run = |limit| {
        let engine = Engine::new(Config::new().code_limit(limit)).unwrap();
        let program = Program::new(&engine, elf::executable(&text, &[], 0)).unwrap();
        let mut machine = Linker::new(&engine).instantiate(&program, ()).unwrap();
        let error = machine.run().unwrap_err();
        (error.to_string(), machine.x(10), machine.instructions())
    };
    assert_eq!(run(0), run(1 << 20));
    assert_eq!(run(0).1, 10_000);
}
