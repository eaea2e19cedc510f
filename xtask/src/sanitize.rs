//! `cargo xtask sanitize`: the unoptimised tests under AddressSanitizer, and those of hosts under ThreadSanitizer.
//!
//! Stable Rust has both, behind an option for which `RUSTC_BOOTSTRAP` lets it be asked. What hosts in C and C++ do runs
//! under the sanitizers of clang in the tests of `riverrun-capi`.

use anyhow::{Context, Result, bail};

use crate::{guests, workspace};

/// What the tests run for: compiled code and the sanitizers need an explicit target, lest build scripts be instrumented.
const TARGET: &str = "x86_64-unknown-linux-gnu";

struct Sanitizer {
    name: &'static str,
    rust_flags: &'static str,
    /// The options of the sanitizer's runtime: a variable of the environment and its value.
    options: (&'static str, &'static str),
    /// Arguments of `cargo test`.
    tests: &'static [&'static str],
}

const SANITIZERS: [Sanitizer; 2] = [
    Sanitizer {
        name: "address",
        // A fault of the guest drops the frames of handlers, whose stack slots would stay poisoned for what runs there
        // next: the stack is not instrumented.
        rust_flags: "-Zsanitizer=address -Cllvm-args=-asan-stack=0",
        // The guests' faults, and the tests of the host's own, are the processor's signals.
        // Some tests leak on purpose, as hosts may.
        options: ("ASAN_OPTIONS", "handle_segv=0:handle_sigbus=0:detect_leaks=0"),
        tests: &[
            "--package",
            "riverrun-isa",
            "--package",
            "riverrun-program",
            "--package",
            "riverrun-vm",
            "--package",
            "riverrun-interp",
            "--package",
            "riverrun",
            "--package",
            "riverrun-linux",
            "--package",
            "riverrun-testkit",
        ],
    },
    Sanitizer {
        name: "thread",
        // The standard library is built with it, too, else what it synchronizes looks like races. Compiled code is not
        // run: the sanitizer keeps signals back until the thread calls the system, and code without calls never ends.
        rust_flags: "-Zsanitizer=thread",
        options: ("TSAN_OPTIONS", "handle_segv=0:handle_sigbus=0"),
        tests: &["-Zbuild-std", "--package", "riverrun", "--package", "riverrun-vm"],
    },
];

/// `cargo xtask sanitize [address|thread] [--no-run]`.
pub(crate) fn command(args: &[String]) -> Result<()> {
    let (options, names): (Vec<&String>, Vec<&String>) = args.iter().partition(|arg| *arg == "--no-run");
    let chosen: Vec<&Sanitizer> = match names[..] {
        [] => SANITIZERS.iter().collect(),
        [name] => match SANITIZERS.iter().find(|sanitizer| sanitizer.name == name) {
            Some(sanitizer) => vec![sanitizer],
            None => bail!("no such sanitizer: {name}; there are address and thread"),
        },
        _ => bail!("sanitize takes one sanitizer, address or thread, or nothing for both"),
    };
    guests::command(&[])?;
    chosen.into_iter().try_for_each(|sanitizer| run(sanitizer, options.is_empty()))
}

/// Builds the tests, and runs them if they are not only built.
fn run(sanitizer: &Sanitizer, is_run: bool) -> Result<()> {
    if sanitizer.tests.contains(&"-Zbuild-std") {
        let mut rustup = std::process::Command::new("rustup");
        workspace::call(rustup.args(["component", "add", "rust-src"]))
            .context("the source of the standard library is needed: `rustup component add rust-src`")?;
    }
    // A folder for each: what was built with other flags would be built anew.
    let folder = workspace::cargo_target_dir()?.join("sanitized").join(sanitizer.name);
    let mut command = workspace::cargo();
    command.args(["test", "--no-fail-fast", "--lib", "--tests", "--target", TARGET, "--target-dir"]).arg(folder);
    command.args(sanitizer.tests).args((!is_run).then_some("--no-run"));
    // The sanitizers' own memory exceeds the limits on the process that these tests set, and leaves no room for the large
    // writable mapping without which the kernel keeps a window's mappings apart, nor for thousands of windows.
    command.args([
        "--",
        "--skip",
        "a_limit_on_",
        "--skip",
        "are_one_mapping",
        "--skip",
        "moving_",
        "--skip",
        "counted_memory_",
        "--skip",
        "six_mappings",
        "--skip",
        "ten_thousand_",
    ]);
    // Names are enough to find a place again; lines would double the size of a hundred binaries.
    command.env("CARGO_PROFILE_DEV_DEBUG", "false");
    command.env("RUSTC_BOOTSTRAP", "1").env("RUSTFLAGS", sanitizer.rust_flags);
    workspace::call(command.env(sanitizer.options.0, sanitizer.options.1))
}
