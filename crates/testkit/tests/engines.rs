//! Every engine makes the same of every program, wherever its fuel runs out.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::Path;

use riverrun::TrapCause;
use riverrun_isa::{Inst, Op, csr};
use riverrun_testkit::generate::blank;
use riverrun_testkit::{Case, Engine, Loaded, Random, Stop, amount, assert_same, check, elf, generate, run, tools};

/// Runs `test` for every seed, and names the seed at which it fails.
fn for_seeds(count: u64, test: impl Fn(u64)) {
    for seed in 0..count {
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| test(seed))) {
            eprintln!("seed {seed}:");
            resume_unwind(panic);
        }
    }
}

#[test]
fn engines_agree() {
    for_seeds(amount(4_000, 200_000), |seed| {
        check(&generate::case(&mut Random::seeded(seed)));
    });
}

#[test]
fn engines_agree_on_random_bytes() {
    for_seeds(amount(2_000, 100_000), |seed| {
        let mut random = Random::seeded(seed ^ 0xb17e5);
        let text: Vec<u8> = (0..2 + random.below(64)).flat_map(|_| (random.u32() as u16).to_le_bytes()).collect();
        check(&generate::case_of(&text, &mut random));
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
    for_seeds(amount(25, 1_000), |seed| {
        let case = generate::case(&mut Random::seeded(seed ^ 0xf0e1));
        check_every_stop(&Case { fuel: 3_000, ..case }, 3_000);
    });
}

#[test]
fn fuel_is_exact_on_a_compiled_program() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/guests/sorting.c");
    for flags in [&["-O2", "-march=rv64gc"], &["-O1", "-march=rv64imafd"]] {
        let elf = tools::compile(env!("CARGO_TARGET_TMPDIR"), &source, flags);
        let mut x = [0; 32];
        x[2] = Loaded::new(Engine::SingleStep, &elf).start().x(2);
        let case = Case { elf, x, f: [0; 32], fcsr: 0, fuel: 100_000 };
        let end = check(&case);
        assert!(matches!(end.stop, Stop::Exit(_)), "{:?}", end.stop);
        check_every_stop(&case, 3_000);
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
    let text: Vec<u8> = program.iter().flat_map(|inst| inst.encode().to_le_bytes()).collect();
    let elf = elf::executable(&text, &[], 0);
    assert_eq!(Loaded::new(Engine::Fast, &elf).start().run().unwrap(), 0);
}
