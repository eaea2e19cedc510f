//! Guests in Rust: the example of the crate `riverrun-guest` exports functions, allocates, panics.

use std::error::Error as _;
use std::fs;
use std::path::Path;
use std::process::Command;

use crate::common::{folder, run, tests};
use riverrun::{Config, Error, GuestPanic, HeapOptions, Linker, Machine};
use riverrun_bindgen::{BuildError, Guest};
use riverrun_testkit::suite::SuiteEngine;

/// Built as users build it, without riverrun's chores.
fn tally() -> Vec<u8> {
    let folder = folder();
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["build", "--release", "--target", "riscv64gc-unknown-none-elf", "--example", "tally"]);
    cargo.current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../guest/rust"));
    // Cargo says, where the target is missing, how to install it.
    run(cargo.env_remove("RUSTFLAGS").arg("--target-dir").arg(folder.path()));
    fs::read(folder.path().join("riscv64gc-unknown-none-elf/release/examples/tally")).unwrap()
}

fn started(engine: SuiteEngine, bytes: &[u8]) -> Machine<()> {
    let program = engine.load(&Config::new(), bytes);
    let mut linker = Linker::new(program.engine());
    linker.heap(&HeapOptions::new()).unwrap();
    let mut machine = linker.instantiate(&program, ()).unwrap();
    assert_eq!(machine.run().unwrap(), 0);
    machine
}

#[test]
fn exports_are_called_and_allocate() {
    let bytes = tally();
    for &engine in SuiteEngine::ALL {
        let mut machine = started(engine, &bytes);
        let score = machine.func::<(i32,), f64>("score").unwrap();
        for points in 0..1000 {
            assert_eq!(score.call(&mut machine, (points,)).unwrap(), f64::from(points) / 2.0, "{engine:?}");
        }
        // It has grown from 4 elements, and left nothing else behind.
        assert_eq!(machine.heap().statistics().blocks, 1, "{engine:?}");
        let best = machine.func::<(), i32>("Tally::best").unwrap();
        assert_eq!(best.call(&mut machine, ()).unwrap(), 999, "{engine:?}");
    }
}

#[test]
fn panics_come_to_the_host_with_their_words() {
    let bytes = tally();
    for &engine in SuiteEngine::ALL {
        let mut machine = started(engine, &bytes);
        let best = machine.func::<(), i32>("Tally::best").unwrap();
        let error = best.call(&mut machine, ()).unwrap_err();
        let panic = error.source().and_then(|source| source.downcast_ref::<GuestPanic>()).unwrap();
        assert!(panic.message.starts_with("examples/tally.rs:"), "{engine:?}: {panic}");
        assert!(panic.message.ends_with(": no score yet"), "{engine:?}: {panic}");
        let Error::Host(failure) = error else { panic!("{engine:?}: {error}") };
        let names: Vec<_> = failure.backtrace.iter().filter_map(|frame| frame.function.as_deref()).collect();
        assert!(engine == SuiteEngine::Compiled || names.iter().any(|name| name.contains("panic")), "{names:?}");
        // The machine goes on.
        let score = machine.func::<(i32,), f64>("score").unwrap();
        assert_eq!(score.call(&mut machine, (7,)).unwrap(), 7.0, "{engine:?}");
    }
}

#[test]
fn other_types_than_the_exported_ones_are_an_error() {
    let mut machine = started(SuiteEngine::Interpreter, &tally());
    let error = machine.func::<(u32,), f64>("score").unwrap_err().to_string();
    assert!(error.contains("exports score as `f64 (i32)`, but the host calls it as `f64 (u32)`"), "{error}");
    let error = machine.func::<(), ()>("Tally::best").unwrap_err().to_string();
    assert!(error.contains("exports Tally::best as `i32 ()`"), "{error}");
}

#[test]
fn a_guest_is_a_package_or_sources() {
    let folder = folder();
    let package = tests().join("guests/rust");
    let error = Guest::new("values").package(package).source("a.c").build_in(folder.path()).unwrap_err();
    assert!(matches!(error, BuildError::Mixed { .. }), "{error}");
    assert!(error.to_string().contains("guests/rust and a.c at once"), "{error}");
}
