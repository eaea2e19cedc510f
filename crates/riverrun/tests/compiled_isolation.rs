//! Whatever addresses compiled code makes up, nothing outside its window changes, and every run ends.

use std::ptr;
use std::time::{Duration, Instant};

use riverrun::{CompileOptions, Config, Engine, Fidelity, Linker, Program};
use riverrun_isa::{Inst, Op, Rounding};
use riverrun_testkit::{Random, amount, elf};

/// Host memory beside guests' windows, filled with a pattern.
struct Canary(*mut u8);

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
            Canary(start.cast())
        }
    }

    fn is_intact(&self) -> bool {
        // SAFETY: the mapping lives as long as the canary.
        unsafe { std::slice::from_raw_parts(self.0, Canary::LEN) }.iter().all(|&byte| byte == Canary::BYTE)
    }
}

impl Drop for Canary {
    fn drop(&mut self) {
        // SAFETY: nothing else refers to the mapping.
        unsafe { libc::munmap(self.0.cast(), Canary::LEN) };
    }
}

/// How many accesses a guest has to choose from.
const ACCESSES: usize = 48;

fn inst(op: Op, rd: u8, rs1: u8, rs2: u8, imm: i32) -> Inst {
    Inst { op, rd, rs1, rs2, rs3: 0, rm: Rounding::Rne, len: 4, imm }
}

/// A guest that makes access number x28, at `x5 + imm` or at an entry of the table there, and keeps what it loads in
/// use.
fn guest(random: &mut Random) -> Vec<u8> {
    let mut text = Vec::new();
    for number in 0..ACCESSES as i32 {
        let access = [
            Op::sb,
            Op::sh,
            Op::sw,
            Op::sd,
            Op::fsd,
            Op::lb,
            Op::lhu,
            Op::lw,
            Op::ld,
            Op::fld,
            Op::amoadd_d,
            Op::lr_w,
            Op::sc_d,
            Op::jalr,
        ];
        let op = random.pick(&access);
        let imm = random.between(-2048..=2047) as i32;
        let access = match op {
            Op::amoadd_d | Op::lr_w | Op::sc_d => inst(op, 6, 5, if op == Op::lr_w { 0 } else { 7 }, 0),
            _ => inst(op, 6, 5, 7, imm),
        };
        text.extend([
            inst(Op::addi, 29, 0, 0, number),
            inst(Op::bne, 0, 28, 29, 7 * 4),
            inst(Op::andi, 30, 7, 0, 0x3ff),
            inst(Op::slli, 30, 30, 0, random.below(4) as i32),
            if random.one_in(2) { inst(Op::add, 5, 5, 30, 0) } else { inst(Op::addi, 0, 0, 0, 0) },
            access,
            inst(Op::sd, 0, 2, 6, -8),
            inst(Op::ebreak, 0, 0, 0, 0),
        ]);
    }
    text.push(inst(Op::ebreak, 0, 0, 0, 0));
    text.iter().flat_map(|inst| inst.encode().to_le_bytes()).collect()
}

/// Addresses near every edge there is, and anywhere.
fn address(random: &mut Random) -> u64 {
    let edges = [0u64, 1 << 16, 1 << 17, 1 << 31, 1 << 32, u64::MAX, 1 << 63, 0xffff_0000, 0xfffe_0000, 1 << 47];
    match random.below(4) {
        0 => random.u64(),
        1 => u64::from(random.u32()),
        2 => elf::TEXT + random.below(64) as u64,
        _ => random.pick(&edges).wrapping_add(random.between(-4096..=4096) as u64),
    }
}

#[test]
fn wild_accesses_of_compiled_code_stay_in_the_window() {
    let engine = Engine::new(&Config::new()).unwrap();
    let linker = Linker::new(&engine);
    let mut random = Random::seeded(2);
    for round in 0..amount(9, 300) {
        let program = Program::new(&engine, elf::executable(&guest(&mut random), &[], 0)).unwrap();
        let (fuel, fidelity) =
            [(false, Fidelity::AbiAssuming), (true, Fidelity::AbiAssuming), (true, Fidelity::Precise)]
                [round as usize % 3];
        let options = CompileOptions { fuel, fidelity, threads: 1, ..CompileOptions::default() };
        let artifact = tempfile::tempdir().unwrap();
        let (program, _) = program.compile_to(&options, artifact.path().join("wild.rro")).unwrap();
        // The kernel places mappings side by side, downward: canaries lie on both sides.
        let before = Canary::new();
        let mut machine = linker.instantiate(&program, ()).unwrap();
        let after = Canary::new();
        let stack = machine.stack();
        for _ in 0..400 {
            machine.set_pc(program.image().entry());
            machine.set_x(2, stack.end);
            machine.set_x(5, address(&mut random));
            machine.set_x(7, random.u64());
            machine.set_x(28, random.below(ACCESSES) as u64);
            if fuel {
                machine.set_fuel(Some(1000));
            } else {
                // A jump may lead back to itself.
                machine.set_deadline(Some(Instant::now() + Duration::from_millis(20)));
            }
            let error = machine.run().expect_err("the guest has no way to exit");
            assert!(error.trap().is_some(), "{error}");
        }
        assert!(before.is_intact() && after.is_intact());
    }
}

/// Jumps clear the lowest bit of their targets, which compiled code does only where it has to; what stands in free
/// places of its table of functions has that bit set.
#[test]
fn jumps_to_odd_addresses_lead_to_even_ones() {
    let text = [
        inst(Op::bne, 0, 28, 0, 4 * 4),
        inst(Op::jalr, 1, 5, 0, 0),
        inst(Op::jal, 1, 0, 0, 3 * 4),
        inst(Op::ebreak, 0, 0, 0, 0),
        inst(Op::jalr, 0, 5, 0, 0),
        // A function, as it is called.
        inst(Op::addi, 6, 6, 0, 1),
        inst(Op::jalr, 0, 1, 0, 0),
    ];
    let text: Vec<u8> = text.iter().flat_map(|inst| inst.encode().to_le_bytes()).collect();
    let engine = Engine::new(&Config::new()).unwrap();
    let linker = Linker::new(&engine);
    let program = Program::new(&engine, elf::executable(&text, &[], 0)).unwrap();
    let function = elf::TEXT + 5 * 4;
    let run = |program: &Program, target: u64, is_call: bool| {
        let mut machine = linker.instantiate(program, ()).unwrap();
        machine.set_x(1, elf::TEXT + 3 * 4);
        machine.set_x(5, target);
        machine.set_x(28, u64::from(!is_call));
        let error = machine.run().expect_err("the guest has no way to exit");
        (format!("{:?}", error.trap().expect("it traps")), machine.pc(), machine.x(6))
    };
    let cases = (0..8).chain(function..function + 2).flat_map(|target| [(target, false), (target, true)]);
    let cases: Vec<_> = cases.map(|(target, is_call)| (target, is_call, run(&program, target, is_call))).collect();
    assert!(cases.iter().any(|(_, _, (_, _, called))| *called == 2));
    let artifact = tempfile::tempdir().unwrap();
    let (compiled, _) = program.compile_to(&CompileOptions::default(), artifact.path().join("odd.rro")).unwrap();
    for (target, is_call, expected) in cases {
        assert_eq!(run(&compiled, target, is_call), expected, "target {target:#x}, {is_call}");
    }
}
