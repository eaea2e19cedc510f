//! Host functions get the same arguments from every engine, however the guest sets them.

use std::fmt::Write;

use riverrun::{Caller, Config, Engine, Func, Linker, Machine, Program};
use riverrun_testkit::{Random, amount, tools};

const ENOUGH: u64 = 500;
const REGISTERS: [&str; 10] = ["a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "t3", "t4"];

/// By its number of arguments, doubled, and one more where it gives something.
fn name(number: usize) -> String {
    format!("{}{}", if number.is_multiple_of(2) { "take" } else { "ask" }, number / 2)
}

fn signature(number: usize) -> String {
    format!("{} ({})", if number.is_multiple_of(2) { "void" } else { "i64" }, vec!["i64"; number / 2].join(", "))
}

/// What host functions have got, and behind how many instructions.
type Log = Vec<(u64, Vec<i64>)>;

fn linker(engine: &Engine) -> Linker<Log> {
    let mut linker = Linker::new(engine);
    macro_rules! functions {
        ($($number:literal: $($argument:ident)*;)*) => {$(
            linker.func(&name(2 * $number), |mut caller: Caller<'_, Log> $(, $argument: i64)*| {
                let count = caller.instructions();
                caller.data_mut().push((count, vec![$($argument),*]));
            }).unwrap();
            linker.func(&name(2 * $number + 1), |mut caller: Caller<'_, Log> $(, $argument: i64)*| {
                let count = caller.instructions();
                caller.data_mut().push((count, vec![$($argument),*]));
                7_i64 $(^ $argument.rotate_left(9))*
            }).unwrap();
        )*};
    }
    functions! {
        0: ;
        1: a;
        2: a b;
        3: a b c;
        4: a b c d;
        5: a b c d e;
        6: a b c d e f;
    }
    linker
}

/// Calls with all kinds of things in front, and jumps into the middle of these.
fn source(random: &mut Random) -> String {
    let mut text = String::from(".option arch, +zbb\n.text\n.globl run\nrun:\n");
    for (n, register) in REGISTERS.iter().enumerate() {
        writeln!(text, "li {register}, {}", (n as i64 - 3) << 33).unwrap();
    }
    for block in 0..24 {
        if random.one_in(3) {
            let condition = random.pick(&["beqz", "bltz", "bgtz"]);
            writeln!(text, "{condition} {}, 1f", random.pick(&REGISTERS)).unwrap();
        }
        let number = random.below(14);
        let setters = random.below(8);
        let middle = random.below(setters + 1);
        for setter in 0..=setters {
            if setter == middle {
                writeln!(text, "1:").unwrap();
            }
            let [to, from] = [8, 3].map(|n| {
                let likely = if random.one_in(n) { REGISTERS.len() } else { (number / 2).max(1) };
                random.pick(&REGISTERS[..likely])
            });
            match random.below(9) {
                0..4 => writeln!(text, "li {to}, {}", random.between(-2048..=2047)),
                4..7 => writeln!(text, "mv {to}, {from}"),
                7 => writeln!(text, "li {to}, {}", random.u32() as i32),
                _ => writeln!(text, "addi {to}, {to}, {block}"),
            }
            .unwrap();
        }
        writeln!(text, ".insn u 0x0b, x0, {number}").unwrap();
    }
    for register in &REGISTERS[1..] {
        writeln!(text, "rori a0, a0, 7\nxor a0, a0, {register}").unwrap();
    }
    text += "ret\n.globl _start\n_start: ret\n";
    for number in 0..14 {
        let (name, signature) = (name(number), signature(number));
        let hash = crc32fast::hash(name.as_bytes());
        write!(
            text,
            ".section .rodata\n.L{name}: .asciz \"{name}\"\n.Lof_{name}: .asciz \"{signature}\"\n\
             .section .riverrun.imports, \"a\"\n.balign 8\n.word {number}, {hash:#x}\n.dword .L{name}, .Lof_{name}\n"
        )
        .unwrap();
    }
    text += ".section .rodata\n.Lrun: .asciz \"run\"\n.Lof_run: .asciz \"i64 ()\"\n\
             .section .riverrun.exports, \"a\"\n.balign 8\n.dword run, .Lrun, .Lof_run\n";
    text
}

/// What a run with so much fuel comes to, and what is left of that.
fn outcome(mut machine: Machine<Log>, fuel: u64) -> (Result<i64, String>, Option<u64>, Log) {
    machine.set_fuel(Some(fuel));
    let run: Func<(), i64> = machine.func("run").unwrap();
    let result = run.call(&mut machine, ()).map_err(|error| error.to_string());
    (result, machine.fuel(), std::mem::take(machine.data_mut()))
}

#[test]
fn engines_hand_over_the_same_arguments_wherever_fuel_runs_out() {
    for seed in 0..amount(12, 300) {
        let file = tempfile::Builder::new().suffix(".s").tempfile_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        std::fs::write(file.path(), source(&mut Random::seeded(seed))).unwrap();
        let elf = tools::compile(env!("CARGO_TARGET_TMPDIR"), file.path(), &[]);
        let [reference, fast] = [true, false].map(|single_step| {
            let engine = Engine::new(Config::new().single_step(single_step)).unwrap();
            (linker(&engine), Program::new(&engine, &*elf).unwrap())
        });
        let start = |(linker, program): &(Linker<Log>, Program)| linker.instantiate(program, Log::new()).unwrap();
        assert!(outcome(start(&reference), ENOUGH).0.is_ok(), "seed {seed}");
        for fuel in (0..200).chain([ENOUGH]) {
            assert_eq!(outcome(start(&fast), fuel), outcome(start(&reference), fuel), "seed {seed}, fuel {fuel}");
        }
    }
}
