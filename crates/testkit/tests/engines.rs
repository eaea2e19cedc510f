//! Every engine makes the same of every program, wherever its fuel runs out.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::Path;
use std::sync::Barrier;

use riverrun::TrapCause;
use riverrun_isa::{Inst, Op, csr};
use riverrun_testkit::generate::blank;
use riverrun_testkit::{
    Case, Engine, Loaded, Random, Stop, amount, assert_same, check, check_on, check_program, elf, generate, run, tools,
};

/// Runs `test` for every seed, and names the seed at which it fails.
fn for_seeds(count: u64, test: impl Fn(u64)) {
    for seed in 0..count {
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| test(seed))) {
            eprintln!("seed {seed}:");
            resume_unwind(panic);
        }
    }
}

/// Compiling a random program takes a hundred times as long as running it, so that is done with every tenth.
fn engines(seed: u64) -> &'static [Engine] {
    if seed.is_multiple_of(10) { Engine::ALL } else { Engine::INTERPRETERS }
}

#[test]
fn engines_agree() {
    for_seeds(amount(4_000, 200_000), |seed| {
        check_on(engines(seed), &generate::case(&mut Random::seeded(seed)));
    });
}

#[test]
fn engines_agree_on_programs_of_functions() {
    for_seeds(amount(300, 20_000), |seed| {
        let counts = seed % 4 < 2;
        check_program(engines(seed), &generate::functions(&mut Random::seeded(seed ^ 0xf0c5), counts), counts);
    });
}

#[test]
fn engines_agree_on_random_bytes() {
    for_seeds(amount(2_000, 100_000), |seed| {
        let mut random = Random::seeded(seed ^ 0xb17e5);
        let text: Vec<u8> = (0..2 + random.below(64)).flat_map(|_| (random.u32() as u16).to_le_bytes()).collect();
        check_on(engines(seed), &generate::case_of(&text, &mut random));
    });
}

/// After any number of instructions, every engine has the state that so many single steps give;
/// and goes on from there to the same end.
fn check_every_stop(case: &Case, stops: u64) {
    let reference = Loaded::new(Engine::SingleStep, &case.elf);
    let end = run(&mut reference.machine(case));
    let others: Vec<_> = Engine::ALL[1..].iter().map(|&engine| (engine, Loaded::new(engine, &case.elf))).collect();
    let mut steps = reference.machine(case);
    for fuel in 0..=stops.min(case.fuel) {
        steps.set_fuel(Some(u64::from(fuel != 0)));
        let mut expected = run(&mut steps);
        let goes_on = matches!(expected.stop, Stop::Trap(TrapCause::OutOfFuel, _));
        for (engine, loaded) in &others {
            let mut machine = loaded.machine(&Case { fuel, ..case.clone() });
            let outcome = run(&mut machine);
            expected.fuel = Some(fuel - outcome.instructions);
            assert_same(case, &expected, &outcome, &format!("{engine:?} with fuel for {fuel}"));
            machine.set_fuel(Some(case.fuel - outcome.instructions));
            if goes_on {
                let resumed = run(&mut machine);
                assert_same(case, &end, &resumed, &format!("{engine:?} resumed after {fuel} instructions"));
            }
        }
        if !goes_on {
            break;
        }
    }
}

#[test]
fn fuel_is_exact_on_generated_programs() {
    for_seeds(amount(15, 1_000), |seed| {
        let case = generate::case(&mut Random::seeded(seed ^ 0xf0e1));
        check_every_stop(&Case { fuel: 3_000, ..case }, 3_000);
    });
}

#[test]
fn fuel_is_exact_on_a_compiled_program() {
    let guests = [
        ("sorting.c", ["-O2", "-march=rv64gc"]),
        ("sorting.c", ["-O1", "-march=rv64imafd"]),
        ("copies.c", ["-O2", "-march=rv64gc"]),
    ];
    for (source, flags) in guests {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/guests").join(source);
        let elf = tools::compile(env!("CARGO_TARGET_TMPDIR"), &source, &flags);
        let mut x = [0; 32];
        x[2] = Loaded::new(Engine::SingleStep, &elf).start().x(2);
        let case = Case { elf, x, f: [0; 32], fcsr: 0, fuel: 100_000 };
        let end = check(&case);
        assert!(matches!(end.stop, Stop::Exit(_)), "{:?}", end.stop);
        check_every_stop(&case, 3_000);
    }
}

/// Exceptions and rounding modes, also on compiled code that is not precise.
#[test]
fn float_flags_are_what_programs_expect() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/guests/float_flags.c");
    for level in ["-O0", "-O2"] {
        let elf = tools::compile(env!("CARGO_TARGET_TMPDIR"), &source, &[level, "-frounding-math"]);
        let end = |engine| {
            let mut machine = Loaded::new(engine, &elf).start();
            let outcome = run(&mut machine);
            assert_eq!(outcome.stop, Stop::Exit(0), "{engine:?}");
            outcome.output
        };
        let expected = end(Engine::SingleStep);
        assert_eq!(end(Engine::Fast), expected);
        #[cfg(feature = "compile")]
        for engine in [Engine::Compiled, Engine::Uncounted, Engine::Default, Engine::Quick] {
            assert_eq!(end(engine), expected, "{engine:?}");
        }
    }
}

/// Where compiled code is not precise, for programs that keep to the calling convention.
#[cfg(feature = "compile")]
#[test]
fn imprecise_code_agrees_on_programs_that_keep_to_conventions() {
    for_seeds(amount(10, 5_000), |seed| {
        riverrun_testkit::check_conforming(&generate::conforming(&mut Random::seeded(seed ^ 0xab1)));
    });
}

/// `rounds` rounds of a loop of three instructions that counts them in x6.
fn counting_loop(rounds: u64) -> Case {
    let program = [
        Inst { rd: 6, rs1: 6, imm: 1, ..blank(Op::addi) },
        Inst { rd: 5, rs1: 5, imm: -1, ..blank(Op::addi) },
        Inst { rs1: 5, imm: -8, ..blank(Op::bne) },
        Inst { rd: 17, imm: 93, ..blank(Op::addi) },
        blank(Op::ecall),
    ];
    let mut x = [0; 32];
    x[5] = rounds;
    Case { elf: elf::executable(&text_of(&program), &[], 0), x, f: [0; 32], fcsr: 0, fuel: u64::MAX }
}

fn text_of(program: &[Inst]) -> Vec<u8> {
    program.iter().flat_map(|inst| inst.encode().to_le_bytes()).collect()
}

/// Engines look at the clock from time to time; that must not cost or give an instruction.
#[test]
fn long_runs_count_exactly() {
    // Around where the interpreter looks at the clock for the first time.
    for fuel in (4 << 20) - 2..(4 << 20) + 3 {
        let case = Case { fuel, ..counting_loop(u64::MAX) };
        let outcome = run(&mut Loaded::new(Engine::Fast, &case.elf).machine(&case));
        assert_eq!(outcome.stop, Stop::Trap(TrapCause::OutOfFuel, elf::TEXT + fuel % 3 * 4));
        assert_eq!((outcome.instructions, outcome.fuel, outcome.x[6]), (fuel, Some(0), fuel.div_ceil(3)));
    }
}

/// Machines of one program decode and link its code for each other while they run.
#[test]
fn machines_on_many_threads_agree() {
    for_seeds(amount(150, 5_000), |seed| {
        let case = Case { fuel: 3_000, ..generate::case(&mut Random::seeded(seed ^ 0x7123ad)) };
        let expected = run(&mut Loaded::new(Engine::SingleStep, &case.elf).machine(&case));
        for &engine in &engines(seed)[1..] {
            let loaded = Loaded::new(engine, &case.elf);
            let start = Barrier::new(4);
            std::thread::scope(|scope| {
                for _ in 0..4 {
                    scope.spawn(|| {
                        let mut machine = loaded.machine(&case);
                        start.wait();
                        assert_same(&case, &expected, &run(&mut machine), &format!("{engine:?} on a thread"));
                    });
                }
            });
        }
    });
}

/// Every way to trap, with the cause that the host is told.
#[test]
fn traps_say_why() {
    /// `fadd.s ft1, ft1, ft2, dyn`
    const DYNAMIC: u32 = 0x0020_f0d3;
    let amo = |rs1| Inst { rd: 7, rs1, ..blank(Op::amoadd_w) };
    let rows = [
        (0x0000_0000_u32, TrapCause::IllegalInstruction { bits: 0 }),
        (0xffff_ffff, TrapCause::IllegalInstruction { bits: 0xffff_ffff }),
        // Rounding mode 5, and dynamic rounding where frm is 6.
        (0x0020_d0d3, TrapCause::IllegalInstruction { bits: 0x0020_d0d3 }),
        (DYNAMIC, TrapCause::IllegalInstruction { bits: DYNAMIC }),
        (blank(Op::ebreak).encode(), TrapCause::Breakpoint),
        // x8 is unmapped, x9 in the text, x10 in the data but odd.
        (Inst { rs1: 8, imm: 4, ..blank(Op::ld) }.encode(), TrapCause::LoadFault { address: 0x4000_0004 }),
        (Inst { rs1: 0, imm: -8, ..blank(Op::lw) }.encode(), TrapCause::LoadFault { address: 0xffff_fff8 }),
        (Inst { rs1: 9, ..blank(Op::sd) }.encode(), TrapCause::StoreFault { address: elf::TEXT }),
        (amo(8).encode(), TrapCause::StoreFault { address: 0x4000_0000 }),
        (amo(9).encode(), TrapCause::StoreFault { address: elf::TEXT }),
        (amo(10).encode(), TrapCause::MisalignedAtomic { address: elf::DATA + 1 }),
        (Inst { rs1: 10, ..blank(Op::lr_d) }.encode(), TrapCause::MisalignedAtomic { address: elf::DATA + 1 }),
        // A read-only register written; one that does not exist; one of another privilege.
        (Inst { rs1: 1, imm: 0xc00, ..blank(Op::csrrs) }.encode(), TrapCause::IllegalInstruction { bits: 0xc000_a073 }),
        (Inst { imm: 0x7ff, ..blank(Op::csrrs) }.encode(), TrapCause::IllegalInstruction { bits: 0x7ff0_2073 }),
        (Inst { imm: 0x300, ..blank(Op::csrrs) }.encode(), TrapCause::IllegalInstruction { bits: 0x3000_2073 }),
    ];
    for (word, cause) in rows {
        let fcsr = if word == DYNAMIC { 6 << 5 } else { 0 };
        // A row in the middle of others: faults are exact within fused code, too.
        let before = Inst { rd: 6, rs1: 6, imm: 1, ..blank(Op::addi) };
        let text = [&text_of(&[before; 3])[..], &word.to_le_bytes(), &text_of(&[before; 3])].concat();
        let mut x = [0; 32];
        (x[8], x[9], x[10]) = (0x4000_0000, elf::TEXT, elf::DATA + 1);
        let case = Case { elf: elf::executable(&text, &[0; 64], 0), x, f: [0; 32], fcsr, fuel: 100 };
        let outcome = check(&case);
        assert_eq!(outcome.stop, Stop::Trap(cause, elf::TEXT + 12), "{word:#x}");
        assert_eq!((outcome.instructions, outcome.x[6]), (3, 3), "{word:#x}");
    }
}

/// A jump out of the text traps at its target, when the jump itself is done.
#[test]
fn jumps_out_of_the_text_trap_at_their_target() {
    for (target, pc) in [(0, 0), (elf::DATA, elf::DATA), (elf::TEXT - 1, elf::TEXT - 2), (u64::MAX, u64::MAX - 1)] {
        let text = text_of(&[Inst { rd: 1, rs1: 5, ..blank(Op::jalr) }]);
        let mut x = [0; 32];
        x[5] = target;
        let case = Case { elf: elf::executable(&text, &[0; 64], 0), x, f: [0; 32], fcsr: 0, fuel: 100 };
        let outcome = check(&case);
        assert_eq!(outcome.stop, Stop::Trap(TrapCause::FetchFault { address: pc }, pc));
        assert_eq!((outcome.instructions, outcome.x[1]), (1, elf::TEXT + 4));
    }
}

/// Handlers that read `fflags` once called the next one instead of jumping to it.
#[test]
fn csr_reads_need_no_host_stack() {
    let count = Inst { rd: 5, rs1: 5, imm: -1, ..blank(Op::addi) };
    let program = [
        Inst { rd: 5, imm: 0x10_0000, ..blank(Op::lui) },
        Inst { rd: 6, imm: csr::FFLAGS.into(), ..blank(Op::csrrs) },
        count,
        Inst { rs1: 5, imm: -8, ..blank(Op::bne) },
        Inst { rd: 17, imm: 93, ..blank(Op::addi) },
        blank(Op::ecall),
    ];
    let elf = elf::executable(&text_of(&program), &[], 0);
    assert_eq!(Loaded::new(Engine::Fast, &elf).start().run().unwrap(), 0);
}
