//! What a program's records of imports and exports say is not believed: in every engine it does the same, or it is
//! refused.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use riverrun::image::crc32;
use riverrun::{Config, Engine, Error, Flow, Linker, Machine, Parameters, Program, Returned};
use riverrun_testkit::tools;

#[cfg(feature = "compile")]
use riverrun::{CompileOptions, Fidelity};

/// Every engine and mode of the compiler.
fn configs() -> Vec<(&'static str, Config)> {
    vec![
        ("single steps", Config::new().single_step(true).clone()),
        ("interpreter", Config::new()),
        #[cfg(feature = "compile")]
        ("default", Config::new().compile(CompileOptions { level: 1, ..Default::default() }).clone()),
        #[cfg(feature = "compile")]
        (
            "precise",
            Config::new()
                .compile(CompileOptions { level: 1, fidelity: Fidelity::Precise, ..Default::default() })
                .clone(),
        ),
        #[cfg(feature = "compile")]
        ("fuel", Config::new().compile(CompileOptions { level: 1, fuel: true, ..Default::default() }).clone()),
    ]
}

fn assemble(source: &str) -> Vec<u8> {
    let file = tempfile::Builder::new().suffix(".S").tempfile().unwrap();
    std::fs::write(file.path(), source).unwrap();
    tools::compile(env!("CARGO_TARGET_TMPDIR"), file.path(), &["-x", "assembler-with-cpp"])
}

/// A record of an import, with what it says for its hash.
fn import(index: u64, name: &str, hash: u32, signature: Option<&str>) -> String {
    let text =
        signature.map_or("0".to_owned(), |text| format!("9f\n.pushsection .rodata\n9: .asciz \"{text}\"\n.popsection"));
    // The assembler takes the string's address where it stands.
    let (address, strings) = text.split_once('\n').unwrap_or((&text, ""));
    format!(
        ".pushsection .rodata\n8: .asciz \"{name}\"\n.popsection\n{strings}\n\
         .pushsection .riverrun.imports, \"a\"\n.balign 8\n.word {index}, {hash:#x}\n.dword 8b, {}\n.popsection\n",
        address.replace("9f", "9b"),
    )
}

fn honest(index: u64, name: &str, signature: Option<&str>) -> String {
    import(index, name, crc32(name), signature)
}

fn linker(engine: &Engine) -> Linker<()> {
    let mut linker = Linker::new(engine);
    linker.ecall(|caller| Ok(Flow::Exit(caller.x(10) as i32)));
    linker.func("none", || ()).unwrap();
    linker.func("int", |a: i32| a.wrapping_mul(3)).unwrap();
    linker.func("byte", |a: u8| a.wrapping_add(200)).unwrap();
    linker.func("double", |a: f64| a * 0.5).unwrap();
    linker.func("float", |a: f32, b: f32| a - b).unwrap();
    linker.func("pair", |a: i64| (a, !a)).unwrap();
    linker
        .func("long", |a: i64, b: i64, c: i64, d: i64, e: i64, f: i64, g: i64, h: i64| a ^ b ^ c ^ d ^ e ^ f ^ g ^ h)
        .unwrap();
    linker.func("mixed", |a: f64, b: i32, c: f32, d: u64| f64::from(b) + a * f64::from(c) + d as f64).unwrap();
    linker
}

/// The linker's functions with their types, and one type that is not theirs.
const FUNCTIONS: [(&str, &str); 8] = [
    ("none", "void ()"),
    ("int", "i32 (i32)"),
    ("byte", "u8 (u8)"),
    ("double", "f64 (f64)"),
    ("float", "f32 (f32, f32)"),
    ("pair", ""),
    ("long", "i64 (i64, i64, i64, i64, i64, i64, i64, i64)"),
    ("mixed", "f64 (f64, i32, f32, u64)"),
];

/// Code that sets all registers, makes a host call, and mixes all registers into s2. It keeps to no convention.
fn call_with_all_registers(index: usize) -> String {
    let mut code = String::new();
    let temporaries = (5..=7).chain(10..=17).chain(28..=31);
    for n in temporaries.clone() {
        let _ = writeln!(code, "li x{n}, {}", 0x1234_5678_u64 * (n + index as u64) % 0x7fff_ffff);
    }
    for n in (0..8).chain(10..18).chain(28..32) {
        let _ = writeln!(code, "fcvt.d.w f{n}, x{}", 10 + n % 8);
    }
    // A float in its box.
    let _ = writeln!(code, "fcvt.s.w f11, x11\n.insn u 0x0b, x0, {index}");
    for n in temporaries {
        let _ = writeln!(code, "xor s2, s2, x{n}\nslli s3, s2, 13\nsrli s2, s2, 51\nor s2, s2, s3");
    }
    for n in (0..8).chain(10..18).chain(28..32) {
        let _ = writeln!(code, "fmv.x.d s4, f{n}\nadd s2, s2, s4\nslli s3, s2, 7\nsrli s2, s2, 57\nor s2, s2, s3");
    }
    code
}

/// What a program does, in words.
fn outcome(config: &Config, elf: &[u8]) -> String {
    let attempt = || -> Result<(i32, u64), Error> {
        let engine = Engine::new(config)?;
        let program = Program::new(&engine, elf)?;
        let mut machine = linker(&engine).instantiate(&program, ())?;
        machine.set_deadline(Some(Instant::now() + Duration::from_secs(60)));
        Ok((machine.run()?, machine.instructions()))
    };
    match attempt() {
        // Default code does not count.
        Ok((status, _)) => format!("exits with {status}"),
        Err(error) => match error.trap() {
            Some(trap) => format!("{} at {:#x}", trap.cause, trap.pc),
            None => error.to_string(),
        },
    }
}

/// Asserts that all engines do the same with a program, and gives what that is.
#[track_caller]
fn agreed(source: &str) -> String {
    let elf = assemble(source);
    let outcomes = configs().into_iter().map(|(name, config)| (name, outcome(&config, &elf)));
    outcomes
        .reduce(|first, other| {
            assert_eq!(first.1, other.1, "{} and {}", first.0, other.0);
            first
        })
        .unwrap()
        .1
}

const START: &str = ".option norelax\n.globl _start\n.type _start, @function\n_start:\n";
const END: &str = "mv a0, s2\nli a7, 93\necall\n.size _start, .-_start\n";

#[test]
fn host_calls_change_their_results_alone_whatever_the_code_around_them() {
    for is_typed in [false, true] {
        let mut source = START.to_owned();
        (0..FUNCTIONS.len()).for_each(|index| source += &call_with_all_registers(40 + index));
        source += END;
        for (index, (name, signature)) in FUNCTIONS.iter().enumerate() {
            let signature = Some(*signature).filter(|text| is_typed && !text.is_empty());
            source += &honest(40 + index as u64, name, signature);
        }
        assert!(agreed(&source).starts_with("exits with"), "{}", agreed(&source));
    }
}

#[test]
fn records_that_lie_are_refused() {
    let program = |records: String| agreed(&format!("{START}.insn u 0x0b, x0, 40\n{END}{records}"));
    let refused = [
        (honest(40, "int", Some("i64 (i32)")), "i64 (i32)"),
        (honest(40, "int", Some("i32 (")), "i32 ("),
        (honest(40, "int", Some(&"i32 (i32".repeat(600))), "does not end"),
        (honest(40, "unknown", None), "unknown"),
        (import(40, "int", 7, None), "hash"),
        (honest(1 << 16, "int", None), "65536"),
        (honest(40, "", None), "empty"),
        (honest(40, "int", None) + &honest(40, "byte", None), "number 40"),
        (honest(40, "int", None) + &honest(40, "int", Some("i32 (i32)")), "number 40"),
        (".pushsection .riverrun.imports, \"a\"\n.zero 25\n.popsection\n".to_owned(), "25 bytes"),
        (".pushsection .riverrun.imports, \"a\"\n.dword 40, -1, 1\n.popsection\n".to_owned(), "its name"),
        (".pushsection .riverrun.imports, \"a\"\n.dword 40, _start, 1\n.popsection\n".to_owned(), "its name"),
    ];
    for (records, reason) in refused {
        let outcome = program(records);
        assert!(outcome.contains(reason), "{outcome:?} does not say {reason:?}");
    }
    // A call without a record, and one whose record is another's.
    assert!(program(String::new()).contains("import"), "{}", program(String::new()));
    assert!(program(honest(41, "int", None)).contains("import"));
}

#[test]
fn thousands_of_records_are_as_good_as_one() {
    let mut source = format!("{START}{}{END}", call_with_all_registers(40));
    (0..4_000).for_each(|_| source += &honest(40, "int", Some("i32 (i32)")));
    (41..3_000).for_each(|index| source += &honest(index, "mixed", None));
    assert!(agreed(&source).starts_with("exits with"));
}

/// Code with branches, a table, calls and floats; every two bytes of it are an export.
const EXPORTED: &str = "
first:  addi a0, a0, 1
        beqz a0, 1f
        mul a0, a0, a1
        fcvt.d.w fa1, a0
        fadd.d fa0, fa0, fa1
1:      ret
        .globl second
        .type second, @function
second: addi sp, sp, -16
        sd ra, 8(sp)
        call first
        addi a0, a0, 5
        ld ra, 8(sp)
        addi sp, sp, 16
        ret
        .size second, 2
        .globl third
        .type third, @function
third:  andi a4, a0, 3
        slli a4, a4, 3
        la a5, table
        add a5, a5, a4
        ld a5, 0(a5)
        jr a5
2:      addi a0, a0, 100
3:      lui a1, 0x12345
4:      add a0, a0, a1
        .insn u 0x0b, x0, 41
        ret
        .size third, 100000
end:
        .pushsection .rodata
        .balign 8
table:  .dword 2b, 3b, 4b, 2b
        .popsection
";

fn call<P: Parameters + Clone, R: Returned + std::fmt::Debug>(
    machine: &mut Machine<()>,
    name: &str,
    parameters: P,
) -> String {
    let function = match machine.func::<P, R>(name) {
        Ok(function) => function,
        Err(error) => return error.to_string(),
    };
    match function.call(machine, parameters) {
        Ok(result) => format!("{result:?}"),
        Err(error) => match error.trap() {
            Some(trap) => format!("{} at {:#x}", trap.cause, trap.pc),
            None => error.to_string(),
        },
    }
}

#[test]
fn exports_in_the_middle_of_instructions_do_the_same_everywhere() {
    const SIGNATURES: [&str; 4] = ["i32 (i32)", "f64 (f64, i64)", "i64 (i64, i64)", "void ()"];
    let mut source = format!("{START}{END}{EXPORTED}");
    source += &honest(41, "int", Some("i32 (i32)"));
    let count = 48;
    for n in 0..count {
        let (address, signature) = (2 * n, SIGNATURES[n % SIGNATURES.len()]);
        let _ = write!(
            source,
            ".pushsection .rodata\n8: .asciz \"e{n}\"\n9: .asciz \"{signature}\"\n.popsection\n\
             .pushsection .riverrun.exports, \"a\"\n.balign 8\n.dword first + {address}, 8b, 9b\n.popsection\n"
        );
    }
    let elf = assemble(&source);
    let results = |config: &Config| -> Vec<String> {
        let engine = Engine::new(config).unwrap();
        let program = Program::new(&engine, &*elf).unwrap();
        let linker = linker(&engine);
        let call_of = |n: usize| {
            // Each in a machine of its own: what a trap leaves behind is not the matter here.
            let mut machine = linker.instantiate(&program, ()).unwrap();
            machine.set_deadline(Some(Instant::now() + Duration::from_secs(30)));
            let name = format!("e{n}");
            (0..3)
                .map(|_| match n % SIGNATURES.len() {
                    0 => call::<(i32,), i32>(&mut machine, &name, (6,)),
                    1 => call::<(f64, i64), f64>(&mut machine, &name, (1.5, 7)),
                    2 => call::<(i64, i64), i64>(&mut machine, &name, (2, 9)),
                    _ => call::<(), ()>(&mut machine, &name, ()),
                })
                .collect::<Vec<_>>()
                .join(", ")
        };
        (0..count).map(call_of).collect()
    };
    let mut all = configs().into_iter().map(|(name, config)| (name, results(&config)));
    let (_, expected) = all.next().unwrap();
    for (name, results) in all {
        for (n, (expected, result)) in expected.iter().zip(&results).enumerate() {
            assert_eq!(expected, result, "{name}: e{n}");
        }
    }
}
