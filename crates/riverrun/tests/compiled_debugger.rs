//! gdb sees compiled code: guest names and source lines, as soon as it is loaded.

use std::path::{Path, PathBuf};
use std::process::Command;

use riverrun::{Caller, CompileOptions, Config, Engine, Flow, Linker, Program};
use riverrun_testkit::tools;

/// Where the child finds program and artifact, and that it is one.
const FOLDER: &str = "RIVERRUN_TEST_FOLDER";

fn load(elf: Vec<u8>) -> (Linker<()>, Program) {
    let engine = Engine::new(&Config::new()).unwrap();
    let mut linker = Linker::new(&engine);
    linker.ecall(|caller: Caller<'_, ()>| Ok(Flow::Exit(caller.x(10) as i32)));
    (linker, Program::new(&engine, elf).unwrap())
}

/// What gdb says to these commands of a process that runs the test of this name as a child.
fn gdb(folder: &Path, test: &str, commands: &[&str]) -> String {
    let mut gdb = Command::new("gdb");
    gdb.args(["-nx", "-batch", "-iex", "set debuginfod enabled off", "-ex", "set pagination off"]);
    // Faults are the guest's, and riverrun's business.
    gdb.args(["-ex", "handle SIGSEGV nostop noprint pass", "-ex", "set breakpoint pending on"]);
    gdb.args(commands.iter().flat_map(|command| ["-ex", command]));
    gdb.arg("--args").arg(std::env::current_exe().unwrap()).args(["--exact", test, "--nocapture"]);
    String::from_utf8(tools::output_of(gdb.env(FOLDER, folder), "gdb")).unwrap()
}

fn child_folder() -> Option<PathBuf> {
    std::env::var_os(FOLDER).map(PathBuf::from)
}

/// Loads the artifact twice, so that one is taken off the list while the other is on it.
fn run_child(folder: &Path) {
    let elf = std::fs::read(folder.join("chain.elf")).unwrap();
    let (linker, program) = load(elf);
    // SAFETY: the parent has made it.
    #[allow(unsafe_code)]
    let [other, program] = [(); 2].map(|()| unsafe { program.with_artifact(folder.join("chain.rro")) }.unwrap());
    drop(other);
    let mut machine = linker.instantiate(&program, ()).unwrap();
    let run = machine.func::<(i32,), i32>("run").unwrap();
    assert!(run.call(&mut machine, (5,)).is_err());
}

#[test]
fn gdb_sees_functions_and_lines_of_the_guest() {
    if let Some(folder) = child_folder() {
        return run_child(&folder);
    }
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/guests/chain.c");
    let elf = tools::compile(env!("CARGO_TARGET_TMPDIR"), &source, &["-O1", "-g"]);
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("chain.elf"), &elf).unwrap();
    load(elf).1.compile_to(&CompileOptions::default(), folder.path().join("chain.rro")).unwrap();

    let commands =
        ["break guest::leave_addresses", "run", "bt 2", "info symbol $pc", "info line *$pc", "delete", "continue"];
    let said = gdb(folder.path(), "gdb_sees_functions_and_lines_of_the_guest", &commands);
    assert!(said.contains("hit Breakpoint 1"), "{said}");
    assert!(said.contains("guest::leave_addresses"), "{said}");
    assert!(said.contains("guest::middle"), "{said}");
    assert!(said.contains("chain.c"), "{said}");
    assert!(said.contains("exited normally"), "{said}");
}
