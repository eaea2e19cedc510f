//! `--quick`: code that takes little time to compile.

use std::path::Path;
use std::process::Command;

use riverrun::{Config, Engine, Flow, Linker, Program, TrapCause};
use riverrun_testkit::tools::output_of;

/// A guest in C, compiled quickly, and its program.
fn compiled(folder: &Path, source: &str) -> Program {
    let (guest, artifact) = (folder.join("guest"), folder.join("guest.rro"));
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/guests").join(source);
    let mut gcc = Command::new("riscv64-linux-gnu-gcc");
    gcc.args(["-O1", "-nostdlib", "-static", "-DADDEND=8", "-o"]).arg(&guest).arg(source);
    output_of(&mut gcc, "gcc-riscv64-linux-gnu");
    let mut compiler = Command::new(env!("CARGO_BIN_EXE_riverrun-compile"));
    output_of(compiler.args(["--quick", "-o"]).arg(&artifact).arg(&guest), "llvm-22-dev");
    let engine = Engine::new(&Config::new()).unwrap();
    let program = Program::from_file(&engine, &guest).unwrap();
    // SAFETY: it was made here and now.
    unsafe { program.with_artifact(&artifact) }.unwrap()
}

#[test]
fn quick_code_runs() {
    let folder = tempfile::tempdir().unwrap();
    let program = compiled(folder.path(), "answer.c");
    assert!(program.is_compiled());
    let mut linker = Linker::new(program.engine());
    linker.ecall(|caller: riverrun::Caller<'_, ()>| Ok(Flow::Exit(caller.x(10) as i32)));
    let mut machine = linker.instantiate(&program, ()).unwrap();
    assert_eq!(machine.run().unwrap(), 42);
    // What is compiled counts nothing.
    assert!(machine.instructions() < 20, "{}", machine.instructions());
}

#[test]
fn faults_name_their_function() {
    let folder = tempfile::tempdir().unwrap();
    let program = compiled(folder.path(), "poke.c");
    let error = Linker::<()>::new(program.engine()).instantiate(&program, ()).unwrap().run().unwrap_err();
    assert_eq!(error.trap().unwrap().cause, TrapCause::StoreFault { address: 8 });
    assert!(error.to_string().contains("poke"), "{error}");
}

#[test]
fn what_quick_code_cannot_do_is_refused() {
    for options in [&["--fuel"][..], &["--precise"], &["--emit", "object"]] {
        let mut compiler = Command::new(env!("CARGO_BIN_EXE_riverrun-compile"));
        let output = compiler.arg("--quick").args(options).arg("guest").output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(said.contains("--quick goes without --fuel, --precise and --emit object"), "{said}");
    }
}
