//! Programs on which engines once differed, each named for its bug.

use riverrun_isa::{Inst, Op, Rounding};
use riverrun_testkit::generate::blank;
use riverrun_testkit::{Case, Outcome, Stop, check, elf};

/// Runs instructions on every engine, with registers set by number first.
fn agree(program: &[Inst], registers: &[(usize, u64)]) -> Outcome {
    let text: Vec<u8> = program.iter().flat_map(|inst| inst.encode().to_le_bytes()).collect();
    let mut x = [0; 32];
    for &(register, value) in registers {
        x[register] = value;
    }
    check(&Case { elf: elf::executable(&text, &[0; 4096], 0), x, f: [0; 32], fcsr: 0, fuel: 1_000 })
}

/// Runs a program in assembly in the interpreter, and compiled with and without precision: it exits so.
#[cfg(feature = "compile")]
#[track_caller]
fn all_exit(source: &str, status: i32) {
    all_exit_with(source, &[], status);
}

/// The same, compiled with these flags.
#[cfg(feature = "compile")]
#[track_caller]
fn all_exit_with(source: &str, flags: &[&str], status: i32) {
    use riverrun_testkit::{Engine, Loaded, run, tools};

    let source = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/guests").join(source);
    let elf = tools::compile(env!("CARGO_TARGET_TMPDIR"), &source, flags);
    for engine in [Engine::Fast, Engine::Compiled, Engine::Default, Engine::Quick] {
        assert_eq!(run(&mut Loaded::new(engine, &elf).start()).stop, Stop::Exit(status), "{engine:?}");
    }
}

/// Linux's call 93.
const EXIT: [Inst; 2] = [Inst { rd: 17, imm: 93, ..blank(Op::addi) }, blank(Op::ecall)];

fn jump(rd: u8, imm: i32) -> Inst {
    Inst { rd, imm, ..blank(Op::jal) }
}

fn add(rd: u8, rs1: u8, imm: i32) -> Inst {
    Inst { rd, rs1, imm, ..blank(Op::addi) }
}

fn branch(op: Op, rs1: u8, rs2: u8, imm: i32) -> Inst {
    Inst { rs1, rs2, imm, ..blank(op) }
}

/// Compiled code brought what was computed before the branch into the state on one way only.
#[test]
fn both_ways_of_a_branch_lead_into_other_functions() {
    let program = [
        jump(1, 32),
        add(28, 28, 1),
        branch(Op::bne, 7, 0, 16),
        add(29, 28, 0), // the one function
        EXIT[0],
        EXIT[1],
        add(30, 28, 0), // the other one
        jump(0, -12),
        // What is called here, if only in theory, are functions of their own.
        branch(Op::bne, 6, 0, 8),
        Inst { rs1: 1, ..blank(Op::jalr) },
        jump(1, -28),
        jump(1, -20),
    ];
    for which in 0..2 {
        let outcome = agree(&program, &[(7, which), (28, 5)]);
        assert_eq!(outcome.stop, Stop::Exit(0));
        assert_eq!((outcome.x[29], outcome.x[30]), if which == 0 { (6, 0) } else { (0, 6) });
    }
}

/// Jumps by register that may lead to the same places share code for all others: what it handed over was what the
/// first one's targets needed. A tail call's function got 0 for sp.
#[cfg(feature = "compile")]
#[test]
fn jumps_that_share_a_switch_hand_over_what_any_needs() {
    all_exit("shared_switch.S", 7);
}

/// Where a call waited, compiled code went on once the guest came to the address behind it, though by a jump: it took
/// ra for where it had been returned to.
#[test]
fn a_jump_to_where_a_call_returns_is_no_return() {
    let program = [
        jump(1, 16),
        add(29, 29, 1),
        EXIT[0],
        EXIT[1],
        // What is called goes on where no function is known, and from there to behind the call, with another ra.
        Inst { rs1: 6, ..blank(Op::jalr) },
        Inst { rd: 1, rs1: 7, ..blank(Op::jalr) },
        add(30, 30, 1),
        EXIT[0],
        EXIT[1],
    ];
    let start = elf::TEXT;
    let outcome = agree(&program, &[(6, start + 20), (7, start + 4)]);
    assert_eq!((outcome.stop, outcome.x[29], outcome.x[30]), (Stop::Exit(0), 1, 0));
}

/// What a table had as the program began tells compiled code where its entries lead, but the entry decides.
#[cfg(feature = "compile")]
#[test]
fn a_jump_goes_by_what_its_table_has_become() {
    all_exit("rewritten_table.S", 34);
}

/// What a function does not change its caller may count on. Of one with a switch of which not all was seen, it was taken
/// that it changed all arguments: what was in them was not handed on past the next call.
#[cfg(feature = "compile")]
#[test]
fn a_switch_leaves_alone_what_its_cases_do_not_change() {
    all_exit("left_alone.S", 11);
}

/// The sign of the host's NaN, which is negative, came to a number in the place of the canonical one's.
#[test]
fn a_number_takes_the_sign_of_a_nan() {
    let program = [
        Inst { rs1: 5, rd: 1, ..blank(Op::fcvt_d_w) },
        Inst { rs1: 0, rs2: 0, rd: 2, ..blank(Op::fdiv_d) },
        Inst { rs1: 1, rs2: 2, rd: 3, ..blank(Op::fsgnj_d) },
        Inst { rs1: 3, rs2: 1, rd: 4, ..blank(Op::fadd_d) },
        Inst { rs1: 4, rd: 10, rm: Rounding::Rtz, ..blank(Op::fcvt_w_d) },
        EXIT[0],
        EXIT[1],
    ];
    assert_eq!(agree(&program, &[(5, 1)]).stop, Stop::Exit(2));
}

/// Of a result that is dead on one way of a branch, NaNs become canonical on the other.
#[test]
fn a_nan_is_canonical_on_the_way_on_which_it_is_live() {
    let nan = |rd| Inst { rs1: 0, rs2: 0, rd, ..blank(Op::fdiv_d) };
    let bits = |rd, rs1| Inst { rs1, rd, ..blank(Op::fmv_x_d) };
    let program = [
        // Where the loop begins again it is dead.
        nan(2),
        add(5, 5, -1),
        branch(Op::bne, 5, 0, -8),
        bits(29, 2),
        // Where the branch is not taken another one takes its place.
        nan(3),
        branch(Op::bne, 6, 0, 8),
        Inst { rs1: 7, rd: 3, ..blank(Op::fmv_d_x) },
        bits(30, 3),
        EXIT[0],
        EXIT[1],
    ];
    const CANONICAL: u64 = 0x7ff8_0000_0000_0000;
    for (is_taken, seen) in [(0, 7), (1, CANONICAL)] {
        let outcome = agree(&program, &[(5, 3), (6, is_taken), (7, 7)]);
        assert_eq!((outcome.stop, outcome.x[29], outcome.x[30]), (Stop::Exit(0), CANONICAL, seen));
    }
}

/// A static function that is called `memset` was done by the host's vectors, as C's is.
#[cfg(feature = "compile")]
#[test]
fn a_function_is_not_what_its_name_says() {
    all_exit("misnamed.c", 0);
}

/// The code that finds an indirect function was taken for that function.
#[cfg(feature = "compile")]
#[test]
fn what_finds_a_function_is_not_that_function() {
    all_exit_with("ifunc.c", &["-O1", "-fno-builtin"], 42);
}

/// Compiled code had not committed the return address that a function reads which is called by register.
#[cfg(feature = "compile")]
#[test]
fn a_function_finds_what_follows_its_call() {
    all_exit("reads_ra.S", 53);
}

/// What symbols say of functions' sizes is not so; results do not depend on it.
#[cfg(feature = "compile")]
#[test]
fn functions_end_where_their_code_does() {
    all_exit_with("false_metadata.S", &["-DFALSE_SIZES"], 62);
}

/// Nor on what unwind tables and records of exports say.
#[cfg(feature = "compile")]
#[test]
fn functions_begin_where_their_code_does() {
    all_exit("false_metadata.S", 62);
}

/// Compiled code had not committed the temporaries that such a function reads after its call.
#[cfg(feature = "compile")]
#[test]
fn a_function_that_calls_into_itself_keeps_its_temporaries() {
    all_exit("calls_into_itself.S", 40);
}

/// Temporaries may be kept over calls by register, if the callee leaves them alone.
#[cfg(feature = "compile")]
#[test]
fn temporaries_are_kept_over_calls_by_register() {
    all_exit("keeps_temporaries.S", 41);
}

/// The default mode takes it from the psABI that no other function uses a function's temporaries: precise code does
/// not.
#[cfg(feature = "compile")]
#[test]
fn precise_code_keeps_temporaries_that_the_callee_restores() {
    use riverrun_testkit::{Engine, Loaded, run, tools};

    let source = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/guests/keeps_temporaries.S");
    let elf = tools::compile(env!("CARGO_TARGET_TMPDIR"), &source, &["-DRESTORES"]);
    for engine in [Engine::SingleStep, Engine::Fast, Engine::Compiled, Engine::Uncounted] {
        assert_eq!(run(&mut Loaded::new(engine, &elf).start()).stop, Stop::Exit(32), "{engine:?}");
    }
}

/// Pairs of lr and sc hold or fail in all engines alike, and a misaligned access traps where it is.
#[cfg(feature = "compile")]
#[test]
fn atomic_accesses_hold_fail_and_trap_alike() {
    use riverrun_testkit::{Engine, Loaded, run, tools};

    all_exit("atomics.S", 51);
    let source = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/guests/atomics.S");
    let elf = tools::compile(env!("CARGO_TARGET_TMPDIR"), &source, &["-DMISALIGNED"]);
    let stop = |engine| run(&mut Loaded::new(engine, &elf).start()).stop;
    let expected = stop(Engine::SingleStep);
    assert!(matches!(expected, Stop::Trap(..)), "{expected:?}");
    for engine in [Engine::Fast, Engine::Compiled, Engine::Default, Engine::Quick] {
        assert_eq!(stop(engine), expected, "{engine:?}");
    }
}
