//! `--quick`: code that takes little time to compile.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use riverrun::{Config, Engine, Flow, Linker, Program, Quick, TrapCause};
use riverrun_testkit::tools::output_of;

/// A guest in C, compiled quickly, and its program.
fn compiled(folder: &Path, source: &str) -> Program {
    compiled_by(folder, source, |_| vec!["--quick".to_owned()])
}

/// The same by these options, which may depend on the program.
fn compiled_by(folder: &Path, source: &str, options: impl Fn(&Program) -> Vec<String>) -> Program {
    let (guest, artifact) = (folder.join("guest"), folder.join("guest.rro"));
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/guests").join(source);
    let mut gcc = Command::new("riscv64-linux-gnu-gcc");
    gcc.args(["-O1", "-nostdlib", "-static", "-DADDEND=8", "-o"]).arg(&guest).arg(source);
    output_of(&mut gcc, "gcc-riscv64-linux-gnu");
    let engine = Engine::new(&Config::new()).unwrap();
    let program = Program::from_file(&engine, &guest).unwrap();
    let mut compiler = Command::new(env!("CARGO_BIN_EXE_riverrun-compile"));
    output_of(compiler.args(options(&program)).arg("-o").arg(&artifact).arg(&guest), "llvm-22-dev");
    // SAFETY: it was made here and now.
    unsafe { program.with_artifact(&artifact) }.unwrap()
}

/// Runs the guest that has an answer, all of it compiled.
fn assert_answers(program: &Program) {
    let mut linker = Linker::new(program.engine());
    linker.ecall(|caller: riverrun::Caller<'_, ()>| Ok(Flow::Exit(caller.x(10) as i32)));
    let mut machine = linker.instantiate(program, ()).unwrap();
    assert_eq!(machine.run().unwrap(), 42);
    // What is compiled counts nothing.
    assert!(machine.instructions() < 20, "{}", machine.instructions());
}

#[test]
fn quick_code_runs() {
    let folder = tempfile::tempdir().unwrap();
    let program = compiled(folder.path(), "answer.c");
    assert!(program.is_compiled());
    assert_answers(&program);
}

#[test]
fn what_a_profile_has_no_samples_of_is_quick_code() {
    let folder = tempfile::tempdir().unwrap();
    let profile = folder.path().join("profile");
    for (which, quick) in [("cold", Quick::Cold), ("most", Quick::Most)] {
        let options = |program: &Program| {
            let mut text = "riverrun profile 3\n".to_owned();
            let text_of = program.image().text();
            for pc in text_of.iter().flat_map(|range| range.clone().step_by(2)) {
                // Samples in the function in which control begins.
                let samples = u64::from(pc == program.image().entry());
                writeln!(text, "{pc:#x} {samples}").unwrap();
            }
            std::fs::write(&profile, text).unwrap();
            vec![format!("--quick={which}"), "--profile".to_owned(), profile.display().to_string()]
        };
        let program = compiled_by(folder.path(), "answer.c", options);
        assert_eq!(program.compiled_options().unwrap().quick, quick);
        assert_answers(&program);
    }
}

#[test]
fn cold_functions_are_known_by_a_profile_only() {
    let needs_profile = "--quick=cold and =most go with --profile";
    for (option, answer) in [
        ("--quick=cold", needs_profile),
        ("--quick=most", needs_profile),
        ("--quick=all", "say --quick, --quick=most or"),
    ] {
        let mut compiler = Command::new(env!("CARGO_BIN_EXE_riverrun-compile"));
        let output = compiler.args([option, "guest"]).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && said.contains(answer), "{said}");
    }
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
