//! riverrun's rows.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use riverrun::{CompileOptions, Config, Engine, Func, Linker, Machine, Program};

use crate::measure::{MANY, Row};

/// The guest's ELF file, compiled with these flags besides the usual ones.
pub(crate) fn guest(flags: &[&str]) -> Result<Vec<u8>> {
    let folder = tempfile::tempdir()?;
    let elf = folder.path().join("guest.elf");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("guest.c");
    let hash = |name: &str| crc32fast::hash(name.as_bytes());
    let texts = [("EMPTY", "empty"), ("I64", "i64"), ("MANY", "many"), ("THREE", "three")];
    let texts = texts.map(|(define, name)| format!("-D{define}=\"{:#x}\"", hash(name)));
    let numbers = [("EMPTY_NUMBER", "empty"), ("THREE_NUMBER", "three")];
    let numbers = numbers.map(|(define, name)| format!("-D{define}={:#x}u", hash(name)));
    let status = Command::new("riscv64-linux-gnu-gcc")
        .args(["-O2", "-static", "-nostdlib", "-ffreestanding", "-mno-relax", "-fno-tree-vectorize"])
        .args(flags)
        .args(texts)
        .args(numbers)
        .arg(&source)
        .arg("-o")
        .arg(&elf)
        .status()
        .context("riscv64-linux-gnu-gcc: apt install gcc-riscv64-linux-gnu")?;
    ensure!(status.success(), "guest.c does not compile");
    Ok(std::fs::read(elf)?)
}

fn linker(engine: &Engine, others: usize) -> Result<Linker<u64>> {
    let mut linker = Linker::new(engine);
    for other in 0..others {
        linker.func(&format!("other{other}"), || {})?;
    }
    linker.func("empty", || {})?;
    linker.func("i64", || 42_i64)?;
    linker.func("many", |a: i32, b: i32, c: i32, d: i32, e: i32| i64::from(a) + i64::from(b ^ c ^ d ^ e))?;
    linker.func("three", |a: i32, b: i32, c: i32| a ^ b ^ c)?;
    linker.syscall(400, || {})?;
    linker.syscall(401, |a: i32, b: i32, c: i32| a ^ b ^ c)?;
    Ok(linker)
}

/// A machine of the guest, compiled or not, whose linker has so many functions besides.
pub(crate) fn machine(elf: &[u8], compiled: bool, others: usize) -> Result<Machine<u64>> {
    let engine = Engine::new(&Config::new())?;
    let mut program = Program::new(&engine, elf)?;
    if compiled {
        let folder = tempfile::tempdir()?;
        (program, _) = program.compile_to(&CompileOptions::default(), folder.path().join("guest.rro"))?;
    }
    Ok(linker(&engine, others)?.instantiate(&program, 0)?)
}

/// Calls from host to guest, `typed` or with raw values, and calls back.
pub(crate) fn rows(engine: &str, elf: &[u8], compiled: bool, typed: bool) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for (name, is_loop) in [("nop", false), ("i64", false), ("many", false), ("i64 host", true), ("many host", true)] {
        let mut machine = machine(elf, compiled, 0)?;
        rows.push(if is_loop {
            let symbol = if name == "i64 host" { "i64_host" } else { "many_host" };
            let function: Func<(i64,), i64> = machine.func(symbol)?;
            ensure!(function.call(&mut machine, (1,))? == if name == "i64 host" { 42 } else { MANY });
            Row::new(engine, name, move |times| {
                function.call(&mut machine, (times as i64,)).expect("a loop");
            })
        } else if !typed {
            let function = machine.dyn_func(name, None)?;
            let mut slots = [0];
            Row::new(engine, name, move |times| {
                (0..times).for_each(|_| function.call(&mut machine, &mut slots).expect("a number, or nothing"));
                std::hint::black_box(slots);
            })
        } else if name == "nop" {
            let function: Func<(), ()> = machine.func(name)?;
            Row::new(engine, name, move |times| {
                (0..times).for_each(|_| function.call(&mut machine, ()).expect("nothing"))
            })
        } else {
            let function: Func<(), i64> = machine.func(name)?;
            Row::new(engine, name, move |times| {
                let mut sum = 0;
                (0..times).for_each(|_| sum += function.call(&mut machine, ()).expect("a number"));
                std::hint::black_box(sum);
            })
        });
    }
    Ok(rows)
}

/// The forms of dynamic calls, four empty ones and eight mixed with arguments.
pub(crate) fn dynamic_rows(engine: &str, elf: &[u8], compiled: bool, others: usize) -> Result<Vec<Row>> {
    const FORMS: [(&str, &str); 8] = [
        ("opaque x4", "opaque_four"),
        ("inline x4", "inline_four"),
        ("direct x4", "direct_four"),
        ("numbered x4", "numbered_four"),
        ("opaque x8", "opaque_eight"),
        ("inline x8", "inline_eight"),
        ("direct x8", "direct_eight"),
        ("numbered x8", "numbered_eight"),
    ];
    let mut rows = Vec::new();
    for (name, symbol) in FORMS {
        let mut machine = machine(elf, compiled, others)?;
        let function: Func<(i64,), i64> = machine.func(symbol)?;
        let sum = function.call(&mut machine, (1,))?;
        // The exclusive or of 1, 2, 3, of 4, 5, 6 and so on, added up.
        let expected = 26;
        ensure!(sum == if symbol.ends_with("eight") { expected } else { 0 }, "{symbol} gives {sum}");
        rows.push(Row::new(engine, name, move |times| {
            function.call(&mut machine, (times as i64,)).expect("a loop");
        }));
    }
    Ok(rows)
}
