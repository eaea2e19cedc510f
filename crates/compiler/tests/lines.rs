//! What compiled code says of where it comes from: to debuggers and profilers, and to traps.

use std::path::{Path, PathBuf};
use std::process::Command;

use riverrun::{Config, Engine, Error, Linker, Program, TrapCause};
use riverrun_testkit::tools::output_of;
use tempfile::TempDir;

/// The line of `poke.c` that traps.
const LINE: u32 = 3;

struct Compiled {
    folder: TempDir,
}

impl Compiled {
    /// `poke.c`, compiled for the guest with `flags`, and from there for the host.
    fn new(flags: &[&str]) -> Compiled {
        let folder = tempfile::tempdir().unwrap();
        let compiled = Compiled { folder };
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/guests/poke.c");
        let mut gcc = Command::new("riscv64-linux-gnu-gcc");
        gcc.args(["-O1", "-nostdlib", "-static", "-o"]).arg(compiled.guest()).arg(source).args(flags);
        output_of(&mut gcc, "gcc-riscv64-linux-gnu");
        let mut compiler = Command::new(env!("CARGO_BIN_EXE_riverrun-compile"));
        output_of(compiler.arg("-o").arg(compiled.artifact()).arg(compiled.guest()), "llvm-22-dev");
        compiled
    }

    fn guest(&self) -> PathBuf {
        self.folder.path().join("poke")
    }

    fn artifact(&self) -> PathBuf {
        self.folder.path().join("poke.rro")
    }

    fn gdb(&self, command: &str) -> String {
        let mut gdb = Command::new("gdb");
        gdb.args(["--batch", "--nx", "-ex", command]).arg(self.artifact());
        String::from_utf8(output_of(&mut gdb, "gdb")).unwrap()
    }

    /// The source line of the instruction that traps, as an unmodified run has it.
    fn trap(&self) -> (TrapCause, Option<u32>) {
        let engine = Engine::new(&Config::new()).unwrap();
        let program = Program::from_file(&engine, self.guest()).unwrap();
        // SAFETY: it was made here and now.
        let program = unsafe { program.with_artifact(self.artifact()) }.unwrap();
        let mut machine = Linker::new(&engine).instantiate(&program, ()).unwrap();
        match machine.run() {
            Err(Error::Trap(trap)) => (trap.cause, program.image().locate(trap.pc).first().and_then(|at| at.line)),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn gdb_shows_guest_functions_and_lines() {
    let compiled = Compiled::new(&["-g"]);
    let line = compiled.gdb("info line *'guest::poke'");
    assert!(line.starts_with("Line 3 of ") && line.contains("poke.c\" starts at address"), "{line}");
    let code = compiled.gdb("disassemble /s 'guest::poke'");
    assert!(code.contains("poke.c:\n3\t    *place = value; /* traps */\n"), "{code}");
}

#[test]
fn gdb_shows_guest_addresses_where_there_are_no_lines() {
    let compiled = Compiled::new(&[]);
    let engine = Engine::new(&Config::new()).unwrap();
    let program = Program::from_file(&engine, compiled.guest()).unwrap();
    let add = program.image().symbol("add").unwrap().address;
    let line = compiled.gdb("info line *'guest::add'");
    assert!(line.starts_with(&format!("Line {add} of \"guest-text\"")), "{line}");
}

#[test]
fn traps_have_the_address_of_their_instruction() {
    let (cause, line) = Compiled::new(&["-g"]).trap();
    assert_eq!(cause, TrapCause::StoreFault { address: 8 });
    assert_eq!(line, Some(LINE));
}

#[test]
fn a_listing_shows_what_each_instruction_becomes() {
    let compiled = Compiled::new(&[]);
    let engine = Engine::new(&Config::new()).unwrap();
    let program = Program::from_file(&engine, compiled.guest()).unwrap();
    let store = program.image().symbol("poke").unwrap().address;
    let mut compiler = Command::new(env!("CARGO_BIN_EXE_riverrun-compile"));
    let output = output_of(compiler.arg(format!("--listing={store:#x}")).arg(compiled.guest()), "llvm-22-dev");
    let listing: serde_json::Value = serde_json::from_slice(&output).unwrap();
    assert_eq!(listing["start"], store);
    let of_store = |step: &str, text: &str| {
        let rows = listing[step].as_array().unwrap().iter().filter(|row| row["pc"] == store);
        let texts: Vec<&str> = rows.map(|row| row["text"].as_str().unwrap()).collect();
        assert!(texts.iter().any(|row| row.contains(text)), "{step}: no {text:?} in {texts:?}");
    };
    of_store("lifted", "store i32");
    of_store("optimised", "store i32");
    of_store("host", "movl %");
}
