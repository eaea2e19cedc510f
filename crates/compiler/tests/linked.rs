//! Compiled code that a linker makes part of a host, beside that of another program.

use std::path::{Path, PathBuf};
use std::process::Command;

use riverrun::{ArtifactError, Config, Engine, Error, Flow, LinkedArtifact, Linker, Program};
use riverrun_testkit::tools::output_of;

/// The guest `answer.c` with this addend, and its object.
fn compiled(folder: &Path, name: &str, addend: i32) -> (PathBuf, PathBuf) {
    compiled_of(folder, "answer.c", name, &format!("-DADDEND={addend}"), &[])
}

/// A guest and its object.
fn compiled_of(folder: &Path, source: &str, name: &str, flag: &str, options: &[&str]) -> (PathBuf, PathBuf) {
    let (guest, object) = (folder.join(name), folder.join(format!("{name}.o")));
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/guests").join(source);
    let mut gcc = Command::new("riscv64-linux-gnu-gcc");
    gcc.args(["-O1", "-nostdlib", "-static", "-o"]).arg(&guest).arg(source).arg(flag);
    output_of(&mut gcc, "gcc-riscv64-linux-gnu");
    let mut compiler = Command::new(env!("CARGO_BIN_EXE_riverrun-compile"));
    output_of(compiler.args(["--emit", "object", "-o"]).arg(&object).args(options).arg(&guest), "llvm-22-dev");
    (guest, object)
}

/// A host with these objects. As a test cannot relink itself, a library stands for it: linkers do the same for
/// both.
fn host(folder: &Path, objects: &[&Path]) -> &'static libloading::Library {
    let host = folder.join("host.so");
    let mut gcc = Command::new("gcc");
    gcc.args(["-shared", "-nostdlib", "-Wl,-z,defs", "-o"]).arg(&host);
    output_of(gcc.args(objects), "gcc");
    // SAFETY: it has no initialisers, and stays loaded to the end.
    Box::leak(Box::new(unsafe { libloading::Library::new(&host) }.unwrap()))
}

fn artifact(host: &'static libloading::Library, name: &str) -> &'static LinkedArtifact {
    let symbol = format!("{}{name}", LinkedArtifact::SYMBOL);
    // SAFETY: the compiler has made the symbol of this type.
    unsafe { *host.get::<&LinkedArtifact>(symbol.as_bytes()).unwrap() }
}

#[test]
fn code_of_two_programs_in_one_host() {
    let folder = tempfile::tempdir().unwrap();
    let programs =
        [("first", 1), ("second", 2)].map(|(name, addend)| (name, addend, compiled(folder.path(), name, addend)));
    let host = host(folder.path(), &[&programs[0].2.1, &programs[1].2.1]);
    let engine = Engine::new(&Config::new()).unwrap();
    for (name, addend, (guest, _)) in &programs {
        let program = Program::from_file(&engine, guest).unwrap();
        // SAFETY: it was made here and now.
        let program = unsafe { program.with_linked_artifact(artifact(host, name)) }.unwrap();
        assert!(program.is_compiled());
        let mut linker = Linker::new(&engine);
        linker.ecall(|caller: riverrun::Caller<'_, ()>| Ok(Flow::Exit(caller.x(10) as i32)));
        let mut machine = linker.instantiate(&program, ()).unwrap();
        assert_eq!(machine.run().unwrap(), 34 + addend);
    }
    let program = Program::from_file(&engine, &programs[0].2.0).unwrap();
    // SAFETY: as before.
    let refused = unsafe { program.with_linked_artifact(artifact(host, "second")) };
    assert!(matches!(refused, Err(Error::Artifact(ArtifactError::Program))), "{refused:?}");
}

/// Linkers gather the table of accesses that may fault.
#[test]
fn linked_code_is_as_precise() {
    let folder = tempfile::tempdir().unwrap();
    let (guest, object) = compiled_of(folder.path(), "poke.c", "poke", "-g", &["--precise"]);
    let host = host(folder.path(), &[&object]);
    let engine = Engine::new(&Config::new()).unwrap();
    let trapped = |is_compiled: bool| {
        let mut program = Program::from_file(&engine, &guest).unwrap();
        if is_compiled {
            // SAFETY: it was made here and now.
            program = unsafe { program.with_linked_artifact(artifact(host, "poke")) }.unwrap();
        }
        let mut machine = Linker::new(&engine).instantiate(&program, ()).unwrap();
        let trap = machine.run().unwrap_err().trap().expect("a trap").clone();
        (trap.cause, trap.pc, (0..32).map(|n| machine.x(n)).collect::<Vec<_>>())
    };
    assert_eq!(trapped(true), trapped(false));
}

#[test]
fn names_are_identifiers() {
    let folder = tempfile::tempdir().unwrap();
    let (guest, _) = compiled(folder.path(), "good", 0);
    let mut compiler = Command::new(env!("CARGO_BIN_EXE_riverrun-compile"));
    let refused = compiler.args(["--emit", "object", "--name", "no-good"]).arg(&guest).output().unwrap();
    let message = String::from_utf8(refused.stderr).unwrap();
    assert!(!refused.status.success() && message.contains("\"no-good\" is no name for an object"), "{message}");
}
