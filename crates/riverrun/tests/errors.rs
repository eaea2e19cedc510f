//! What `fn main() -> Result<(), riverrun::Error>` prints.

use std::path::Path;

use riverrun::{Caller, Config, Engine, Flow, Linker, Program, TrapCause};
use riverrun_testkit::tools;

/// `guests/endless.c` recurses without end for this argument.
const RECURSION: u64 = 6;

#[test]
fn errors_print_cause_function_and_folded_frames() {
    let engine = Engine::new(&Config::new()).unwrap();
    let mut linker = Linker::new(&engine);
    linker.ecall(|caller: Caller<'_, ()>| Ok(Flow::Exit(caller.x(10) as i32)));
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/guests/endless.c");
    let elf = tools::compile(env!("CARGO_TARGET_TMPDIR"), &source, &["-O1", "-g", "-fno-optimize-sibling-calls"]);
    let program = Program::new(&engine, elf).unwrap();
    let mut machine = linker.instantiate(&program, ()).unwrap();
    machine.set_x(10, RECURSION);
    let error = machine.run().unwrap_err();
    assert!(matches!(error.trap().unwrap().cause, TrapCause::StackOverflow { .. }), "{error}");

    let line = error.to_string();
    assert!(
        line.starts_with("stack overflow at ") && line.contains("endless.c:") && line.lines().count() == 1,
        "{line}"
    );
    let text = format!("{error:?}");
    assert!(text.starts_with(&line), "{text}");
    assert!(text.contains(" (x 2") && text.contains("endless.c:") && text.ends_with("... and more callers"), "{text}");
    assert!(text.lines().count() <= 32 && text.len() < 8192, "{text}");
}
