//! `cargo xtask miri` and `cargo xtask loom`: tests in machines that know what the language allows. Miri runs what
//! needs neither the host's assembly nor another process, and finds undefined behaviour; loom runs the protocol between
//! threads in all orders (`crates/vm/src/interrupt/model.rs`).

use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

use crate::workspace;

/// What Miri runs: a crate, the targets of `cargo test`, and the tests. What is not here forbids `unsafe`, calls the
/// host's assembly, or runs a compiler.
const MIRI: &[(&str, &[&str], &[&str])] = &[
    ("riverrun-isa", &["--test", "disassemble"], &[]),
    ("riverrun-program", &["--lib"], &["call_registers::", "prologue::", "signature::"]),
    ("riverrun-vm", &["--lib"], &["memory::"]),
    ("riverrun", &["--lib"], &["heap::model::no_two_blocks"]),
];

/// `cargo xtask miri`.
pub(crate) fn miri(args: &[String]) -> Result<()> {
    if !args.is_empty() {
        bail!("miri takes no arguments");
    }
    // A toolchain that is there is kept as it is; only a machine without one gets the newest.
    let add = ["component", "add", "--toolchain", "nightly", "miri", "rust-src"];
    let install = ["toolchain", "install", "nightly", "--profile", "minimal", "--component", "miri,rust-src"];
    if workspace::call(Command::new("rustup").args(add)).is_err() {
        workspace::call(Command::new("rustup").args(install))
            .context("Miri is a part of the nightly toolchain, which rustup could not install")?;
    }
    for (package, targets, tests) in MIRI {
        workspace::call(&mut in_miri(package, targets, tests))?;
    }
    // And it finds a fault that is there on purpose.
    let output = in_miri("riverrun-vm", &["--lib"], &["--ignored", "a_use_of_what_was_released"]).output()?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(!output.status.success() && said.contains("Undefined Behavior"), "Miri has found no fault: {said}");
    Ok(())
}

fn in_miri(package: &str, targets: &[&str], tests: &[&str]) -> Command {
    let mut command = Command::new("cargo");
    command.current_dir(workspace::root()).args(["+nightly", "miri", "test", "--package", package]);
    command.args(targets).arg("--").args(tests);
    // Cargo's variables name the toolchain that this runs with.
    command.env_remove("CARGO").env_remove("RUSTUP_TOOLCHAIN").env_remove("RUSTC");
    command.env("MIRIFLAGS", "-Zmiri-disable-isolation -Zmiri-permissive-provenance");
    command
}

/// `cargo xtask loom`.
pub(crate) fn loom(args: &[String]) -> Result<()> {
    if !args.is_empty() {
        bail!("loom takes no arguments");
    }
    let mut command = workspace::cargo();
    command.args(["test", "--release", "--package", "riverrun-vm", "--lib", "--target-dir"]);
    command.arg(workspace::cargo_target_dir()?.join("loom")).args(["--", "model::"]);
    command.env("RUSTFLAGS", "--cfg loom").env("LOOM_MAX_BRANCHES", "2000");
    workspace::call(&mut command)
}
