//! The semantics of instructions agree with qemu-riscv64, a batch of probes at a time.

use std::process::Command;

use riverrun_isa::{COp, Extension, Op};
use riverrun_testkit::probe::{Batch, Inputs, Probe, ROUNDS, Results, Subject};
use riverrun_testkit::{Engine, amount, tools};

/// Probes of a batch.
const PROBES: usize = 2500;

/// A result of qemu that is not what the specification says.
struct Deviation {
    why: &'static str,
    /// Probe, inputs, our result, qemu's.
    applies: fn(&Probe, &Inputs, &Results, &Results) -> bool,
}

const DEVIATIONS: &[Deviation] = &[Deviation {
    why: "ctzw of a register whose low half is zero is 32 (Bit-Manipulation ISA extensions, section 2.2); \
          qemu 7.2 counts on in the high half",
    applies: |probe, inputs, ours, theirs| {
        let rs1 = inputs.sources[0];
        let counted_on = Results { value: rs1.trailing_zeros().into(), ..*ours };
        probe.inst.op == Op::ctzw && rs1 as u32 == 0 && ours.value == 32 && *theirs == counted_on
    },
}];

/// Instructions that are not straightforward to probe.
fn is_probed(op: Op) -> bool {
    // They end or stop a program; that they do is tested elsewhere.
    !matches!(op, Op::ecall | Op::ebreak)
}

fn subjects(extension: Extension) -> Vec<Subject> {
    Op::ALL.iter().filter(|op| op.info().extension == extension && is_probed(**op)).map(|&op| Subject::Op(op)).collect()
}

/// Executes as many random instructions as asked for and compares every result.
fn compare(name: &str, subjects: &[Subject]) {
    let probes = amount(20_000, 1_000_000).div_ceil(ROUNDS as u64) as usize;
    let mut deviations = vec![0; DEVIATIONS.len()];
    let batches = (0..probes).step_by(PROBES).map(|first| (PROBES.min(probes - first), Engine::INTERPRETERS));
    // Compiling a batch takes a hundred times as long as running it.
    let batches = batches.chain([(PROBES / 20, Engine::ALL)]);
    for (seed, (len, engines)) in batches.enumerate() {
        let batch = Batch::new(subjects, len, seed as u64);
        let file = tools::Scratch::new(env!("CARGO_TARGET_TMPDIR"), &batch.elf);
        let mut qemu = Command::new("qemu-riscv64");
        qemu.args(["-cpu", "rv64,zba=true,zbb=true,zbs=true"]).arg(file.path());
        let expected = tools::output_of(&mut qemu, "qemu-user");
        for &engine in engines {
            let output = batch.run(engine);
            let pairs = batch.results(&output).zip(batch.results(&expected));
            for ((probe, inputs, ours), (_, _, theirs)) in pairs.filter(|((_, _, ours), (_, _, theirs))| ours != theirs)
            {
                let known = DEVIATIONS.iter().position(|known| (known.applies)(probe, &inputs, &ours, &theirs));
                match known {
                    Some(known) => deviations[known] += 1,
                    None => panic!(
                        "{name}, batch {seed}: {probe}\n{:#x?}\n{inputs:#x?}\n{engine:?} {ours:#x?}\nqemu {theirs:#x?}",
                        probe.inst
                    ),
                }
            }
        }
    }
    println!("{name}: {} instructions compared", probes * ROUNDS);
    for (known, count) in DEVIATIONS.iter().zip(deviations).filter(|(_, count)| *count > 0) {
        println!("  {count} times known: {}", known.why);
    }
}

macro_rules! extensions {
    ($($test:ident $extension:ident,)*) => {
        $(
            #[test]
            fn $test() {
                compare(stringify!($extension), &subjects(Extension::$extension));
            }
        )*
    };
}

extensions! {
    i I,
    m M,
    a A,
    f F,
    d D,
    zba Zba,
    zbb Zbb,
    zbs Zbs,
    zicsr Zicsr,
}

#[test]
fn c() {
    let subjects: Vec<Subject> = COp::ALL
        .iter()
        .filter(|cop| cop.info().extension == "C" && **cop != COp::c_ebreak)
        .map(|&cop| Subject::Compressed(cop))
        .collect();
    compare("C", &subjects);
}
