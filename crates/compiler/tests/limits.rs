//! Compilations end at their limits, with an error that names the limit; functions that are left out are named.

use std::fmt::Write;
use std::path::PathBuf;
use std::process::{Command, Output};

use riverrun_testkit::tools::output_of;
use tempfile::TempDir;

/// The compiler's exit status where a limit has ended it.
const LIMIT: i32 = 124;

struct Guest {
    folder: TempDir,
}

impl Guest {
    /// A program of this text in assembly.
    fn new(text: &str) -> Guest {
        let guest = Guest { folder: tempfile::tempdir().unwrap() };
        let source = guest.path("guest.s");
        std::fs::write(&source, text).unwrap();
        let mut gcc = Command::new("riscv64-linux-gnu-gcc");
        gcc.args(["-nostdlib", "-static", "-Wl,--no-relax", "-o"]).arg(guest.path("guest")).arg(source);
        output_of(&mut gcc, "gcc-riscv64-linux-gnu");
        guest
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn compile(&self, options: &[&str]) -> Output {
        let mut compiler = Command::new(env!("CARGO_BIN_EXE_riverrun-compile"));
        compiler.args(options).arg("-o").arg(self.path("guest.rro")).arg(self.path("guest")).output().unwrap()
    }

    /// Asserts that a compilation ends at a limit, says which, and writes nothing.
    fn assert_ends(&self, options: &[&str], limit: &str) {
        let output = self.compile(options);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(LIMIT), "{options:?}: {stderr}");
        assert!(stderr.contains(limit), "{options:?}: {stderr}");
        assert!(!self.path("guest.rro").exists());
    }
}

/// A function that ends the program, of `body`.
fn function(name: &str, body: &str) -> String {
    format!(".globl {name}\n.type {name}, @function\n{name}:\n{body}\nret\n.size {name}, .-{name}\n")
}

/// As many instructions that depend on each other.
fn straight(instructions: usize) -> String {
    "add a0, a0, a1\n".repeat(instructions)
}

/// A text full of branches: each block ends in one, to a place before it, and changes registers of its own.
fn branches(blocks: usize) -> String {
    (0..blocks).fold(String::new(), |mut text, block| {
        let (to, [a, b, c]) = (block.saturating_sub(900), [1, 7, 3].map(|factor| 5 + block * factor % 27));
        writeln!(text, "b{block}: beqz x{a}, b{to}\naddi x{b}, x{c}, 1").unwrap();
        text
    })
}

#[test]
fn work_is_limited_where_functions_are_long() {
    let guest = Guest::new(&function("_start", &straight(20_000)));
    guest.assert_ends(&["--max-work", "100000"], "more work than the limit of 100000 instructions");
    let few = Guest::new(&function("_start", &straight(2_000)));
    assert!(few.compile(&["--max-work", "100000"]).status.success());
}

#[test]
fn work_is_limited_where_analysis_takes_it() {
    let guest = Guest::new(&function("_start", &branches(60_000)));
    // The function is too long for LLVM, which is given none of it.
    guest.assert_ends(&["--max-work", "10000"], "more work than the limit of 10000 instructions");
    let few = Guest::new(&function("_start", &straight(40_000)));
    assert!(few.compile(&["--max-work", "10000"]).status.success());
}

#[test]
fn time_and_memory_are_limited() {
    // Several times as much as any machine compiles in a second.
    let names = (0..12).map(|n| format!("f{n}"));
    let calls: String = names.clone().map(|name| format!("call {name}\n")).collect();
    let functions: String = names.map(|name| function(&name, &straight(30_000))).collect();
    let guest = Guest::new(&(function("_start", &calls) + &functions));
    guest.assert_ends(&["--max-time", "1"], "limit of 1 s of processor time");
    guest.assert_ends(&["--max-memory", "1"], "limit of 1 MiB of memory");
}

#[test]
fn functions_left_to_the_interpreter_are_named() {
    let text = function("_start", "call long_one") + &function("long_one", &straight(33_000));
    let guest = Guest::new(&text);
    let stderr = |options: &[&str]| {
        let output = guest.compile(options);
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stderr).unwrap()
    };
    assert_eq!(stderr(&[]), "riverrun: left to the interpreter: long_one (too long: 33002 instructions)\n");
    assert_eq!(stderr(&["--quiet"]), "");
}

/// Jumps by register that share a table of many targets: each is followed to all of them.
#[test]
fn work_is_limited_where_tables_are_large() {
    const TARGETS: usize = 4_000;
    const JUMPS: usize = 2_000;
    let labels = (0..TARGETS).fold(String::new(), |text, n| text + &format!("t{n}: addi a0, a0, 1\n"));
    let jump =
        "beqz a3, 1f\nandi a1, a0, 2047\nslli a1, a1, 3\nla a2, table\nadd a1, a1, a2\nld a1, 0(a1)\njr a1\n1:\n";
    let table = (0..TARGETS).fold(String::new(), |text, n| text + &format!(".dword t{n}\n"));
    let guest = |jumps: usize| {
        let body = jump.repeat(jumps) + &labels;
        Guest::new(&format!("{}.section .rodata\n.balign 8\ntable:\n{table}", function("_start", &body)))
    };
    guest(JUMPS).assert_ends(&["--max-work", "60000"], "more work than the limit of 60000 instructions");
    assert!(guest(2).compile(&["-O0", "--max-work", "60000"]).status.success());
}

/// Functions that only have the names of libc's are executed to see what they do.
#[test]
fn work_is_limited_where_many_functions_have_names_of_libc() {
    let loops = |count: usize| {
        let place = |n: usize| {
            format!(".globl memcpy{n}\n.type memcpy{n}, @function\nmemcpy{n}: addi t0, t0, 1\nj memcpy{n}\n")
        };
        let places = (0..count).fold(String::new(), |text, n| text + &place(n));
        let guest = Guest::new(&(function("_start", "li a0, 0") + &places));
        for n in 0..count {
            // One name may stand for one symbol of a file: the others get it here.
            let bytes = std::fs::read(guest.path("guest")).unwrap();
            let renamed = rename(bytes, &format!("memcpy{n}"));
            std::fs::write(guest.path("guest"), renamed).unwrap();
        }
        guest
    };
    let few = loops(1);
    assert!(few.compile(&["--max-work", "100000"]).status.success());
    loops(8).assert_ends(&["--max-work", "100000"], "more work than the limit of 100000 instructions");
}

/// Ends a symbol's name behind `memcpy`.
fn rename(mut bytes: Vec<u8>, name: &str) -> Vec<u8> {
    let entry = [b"\0", name.as_bytes(), b"\0"].concat();
    let at = bytes.windows(entry.len()).position(|window| window == entry).expect("the symbol is in its table");
    bytes[at + 1 + "memcpy".len()] = 0;
    bytes
}
