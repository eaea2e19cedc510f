//! The ordered lists of steps behind `cargo xtask test` and `cargo xtask verify`, and the way to the
//! packages that are workspaces of their own.

use std::io::IsTerminal;
use std::process::{Command, ExitCode, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Result, bail};

use crate::failures::Excerpt;
use crate::{guests, setup, workspace};

/// One command, with what it is called in the summary.
pub(crate) struct Step {
    name: &'static str,
    /// Arguments of `cargo`.
    cargo: &'static [&'static str],
    /// Variables for it.
    environment: &'static [(&'static str, &'static str)],
    /// Whether the steps after it are pointless if it fails.
    required: bool,
    /// Whether `--no-run` has it only build, which is done while the steps before it run.
    builds_ahead: bool,
}

const fn step(name: &'static str, cargo: &'static [&'static str]) -> Step {
    Step { name, cargo, environment: &[], required: false, builds_ahead: false }
}

const fn required(step: Step) -> Step {
    Step { required: true, ..step }
}

const fn ahead(step: Step) -> Step {
    Step { builds_ahead: true, ..step }
}

const fn with(step: Step, environment: &'static [(&'static str, &'static str)]) -> Step {
    Step { environment, ..step }
}

/// `cargo xtask test`: add a line here to have it run in CI.
pub(crate) static TEST: &[Step] = &[
    required(step("set-up", &["xtask", "setup", "--tests"])),
    required(step("guest programs", &["xtask", "guests"])),
    step("format", &["fmt", "--all", "--check"]),
    step("format of the benchmarks", &["fmt", "--manifest-path", "bench/Cargo.toml", "--all", "--check"]),
    step("format of the fuzz targets", &["fmt", "--manifest-path", "fuzz/Cargo.toml", "--all", "--check"]),
    step("format of the guests' crate", &["fmt", "--manifest-path", "guest/rust/Cargo.toml", "--check"]),
    step("clippy", &["clippy", "--workspace", "--all-targets", "--all-features", "--", "-D", "warnings"]),
    step("clippy for guests", GUEST_CLIPPY),
    with(step("documentation", &["doc", "--no-deps", "--workspace"]), &[("RUSTDOCFLAGS", "-D warnings")]),
    // Without the optimiser the interpreter's handlers return to a trampoline, and debug assertions hold ..
    ahead(step("tests, unoptimised, under AddressSanitizer", &["xtask", "sanitize", "address"])),
    // .. and with it they chain by tail calls: two different machines. With the compiler built in, too.
    ahead(step("tests, optimised", OPTIMISED)),
    required(step("compiler", COMPILER)),
    ahead(step("tests of the command", COMMAND)),
    // The suite of whole programs again, on the other engines.
    with(step("programs in single steps", PROGRAMS), SINGLE_STEP),
    with(step("programs in single steps, by the command", COMMAND_PROGRAMS), SINGLE_STEP),
    with(step("programs compiled", PROGRAMS), COMPILED),
    with(step("programs compiled, by the command", COMMAND_PROGRAMS), COMPILED),
    with(step("programs with few addresses", PROGRAMS_THAT_FIT), FEW_ADDRESSES),
    ahead(step("tests under ThreadSanitizer", &["xtask", "sanitize", "thread"])),
    step("what Miri can run", &["xtask", "miri"]),
    step("threads in all orders", &["xtask", "loom"]),
    step("demo programs as on qemu-riscv64", &["xtask", "demo", "--engine", "interp", "--engine", "compiled"]),
    step("real programs, briefly", &["xtask", "programs", "--short", "--engine", "interp"]),
    ahead(step("fuzz targets, briefly", &["xtask", "fuzz", "--seconds", "6"])),
    ahead(step("tests of the benchmarks", BENCH)),
    step("benchmarks, briefly", BENCH_SMOKE),
    step("instances, briefly", INSTANCES_SMOKE),
];

/// The features that build the compiler into what the optimised tests run: the same everywhere, so that nothing is built
/// twice.
const COMPILING: &str = "riverrun-testkit/compile,riverrun/compile,riverrun-capi/compile,riverrun-console/compile,\
    riverrun-game/compile,riverrun-requests/compile,riverrun-rollback/compile";

/// Optimised tests: all, or those of these modules of suites.
macro_rules! optimised {
    ($($($module:literal)+)?) => {
        &[
            "test", "--workspace", "--exclude", "riverrun-cli", "--no-fail-fast", "--release", "--features", COMPILING,
            $("--test", "suite", "--", $($module,)+)?
        ]
    };
}

const OPTIMISED: &[&str] = optimised!();

/// The command and its compiler, which are built alike everywhere, too. The command has no compiler built in: it would load
/// LLVM each time.
const COMPILER: &[&str] = &["build", "--release", "--package", "riverrun-cli", "--package", "riverrun-compile"];

/// Tests of the command: all, or those of these modules of its suite.
macro_rules! command {
    ($($($module:literal)+)?) => {
        &[
            "test", "--release", "--no-fail-fast", "--package", "riverrun-cli", "--package", "riverrun-compile",
            $("--test", "suite", "--", $($module,)+)?
        ]
    };
}

const COMMAND: &[&str] = command!();

/// The variable by which tests of whole programs choose their engine.
const SINGLE_STEP: &[(&str, &str)] = &[("RIVERRUN_TEST_ENGINE", "single-step")];
const COMPILED: &[(&str, &str)] = &[("RIVERRUN_TEST_ENGINE", "compiled")];

const PROGRAMS: &[&str] = optimised!("heap::" "programs::" "sandbox::" "aborts::");

/// Those that need no more than 256 MiB of addresses.
const PROGRAMS_THAT_FIT: &[&str] = optimised!("heap::" "programs::" "system_calls::");

/// The variable by which tests that do not choose it get another number of address bits than the most.
const FEW_ADDRESSES: &[(&str, &str)] = &[("RIVERRUN_TEST_ADDRESS_BITS", "28")];

const COMMAND_PROGRAMS: &[&str] = command!("run::" "traps::" "files::" "host_heap::" "toolchain::");

const GUEST_CLIPPY: &[&str] = &[
    "clippy",
    "--manifest-path",
    "guest/rust/Cargo.toml",
    "--target-dir",
    "target",
    "--target",
    "riscv64gc-unknown-none-elf",
    "--examples",
    "--",
    "-D",
    "warnings",
];

const BENCH: &[&str] = &["test", "--release", "--manifest-path", "bench/Cargo.toml", "--target-dir", "target"];

/// Two programs on a few engines: that the benchmark runs, not how fast.
const BENCH_SMOKE: &[&str] = &[
    "xtask",
    "bench",
    "compute",
    "--quick",
    "--runs",
    "1",
    "--programs",
    "fib,nbody",
    "--engines",
    "native,riverrun,riverrun-interp,qemu",
];

/// That many machines of a program are what they should be.
const INSTANCES_SMOKE: &[&str] =
    &["xtask", "bench", "instances", "--quick", "--runs", "1", "--engines", "riverrun,riverrun-interp"];

/// `cargo xtask verify`: the checks in full. A test that has a long form takes it if
/// `RIVERRUN_VERIFY` is `full`.
pub(crate) static VERIFY: &[Step] = &[
    required(step("set-up", &["xtask", "setup", "--tests"])),
    required(step("guest programs", &["xtask", "guests"])),
    with(step("tests in full", OPTIMISED), FULL),
    required(step("compiler", COMPILER)),
    with(step("tests of the command in full", COMMAND), FULL),
];

const FULL: &[(&str, &str)] = &[("RIVERRUN_VERIFY", "full"), ("RIVERRUN_SWEEP", "2000000")];

/// What is built once is not built to be changed: that would take gigabytes.
const ONCE: [(&str, &str); 1] = [("CARGO_INCREMENTAL", "0")];

/// Free space that a first run takes, in GiB.
const SPACE: u64 = 10;

enum Outcome {
    Passed,
    /// With what the step said.
    Failed(Vec<String>),
    NotRun,
}

/// Runs the steps in order, each to its end even if an earlier one failed, and prints a summary, what failed and a last
/// line `N passed, N failed`. A step that could not run counts as failed, and a failed step
/// makes the exit code one of failure.
///
/// Tests leave a processor idle much of the time. So once what is set up first is there, what later steps need is built,
/// at the lowest priority: see [`build_ahead`].
pub(crate) fn run_all(steps: &[Step]) -> ExitCode {
    warn_of_little_space();
    let mut outcomes: Vec<(&Step, Outcome, Duration)> = Vec::new();
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let (mut stopped, mut is_building) = (false, false);
        for step in steps {
            if !is_building && !step.required && !stopped {
                scope.spawn(|| build_ahead(steps, &is_over));
                is_building = true;
            }
            let begin = Instant::now();
            let outcome = if stopped { Outcome::NotRun } else { run(step) };
            stopped |= step.required && !matches!(outcome, Outcome::Passed);
            outcomes.push((step, outcome, begin.elapsed()));
        }
        is_over.store(true, Ordering::Relaxed);
    });

    println!();
    for (step, outcome, time) in &outcomes {
        let word = match outcome {
            Outcome::Passed => "passed",
            Outcome::Failed(_) => "FAILED",
            Outcome::NotRun => "not run",
        };
        println!("{word:<8}{:>8.1} s  {}", time.as_secs_f64(), step.name);
    }
    // Behind all that passed: of a long log people see the end.
    for (step, outcome, _) in &outcomes {
        if let Outcome::Failed(lines) = outcome {
            println!("\n== {}:", step.name);
            lines.iter().for_each(|line| println!("{line}"));
        }
    }
    let passed = outcomes.iter().filter(|(_, outcome, _)| matches!(outcome, Outcome::Passed)).count();
    let failed = outcomes.len() - passed;
    println!("{passed} passed, {failed} failed");
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Says so if the disk may well be too small for what is built.
fn warn_of_little_space() {
    let target = workspace::cargo_target_dir().unwrap_or_else(|_| workspace::root().join("target"));
    // It may not be there yet.
    let space = target.ancestors().find_map(|folder| rustix::fs::statvfs(folder).ok());
    let free = space.map(|space| (space.f_bavail.saturating_mul(space.f_frsize)) >> 30);
    if let Some(free) = free.filter(|free| *free < SPACE) {
        eprintln!("xtask: {} has {free} GiB of free space; a first run takes {SPACE}", target.display());
    }
}

/// Builds what steps build that can do that alone, in their order, until all is over. A step that comes to what is being
/// built waits for Cargo's lock. What fails here says nothing: it fails in its step again, and is shown there.
fn build_ahead(steps: &[Step], is_over: &AtomicBool) {
    for step in steps.iter().filter(|step| step.builds_ahead) {
        if is_over.load(Ordering::Relaxed) {
            return;
        }
        let cargo = workspace::cargo();
        let mut command = Command::new("nice");
        command.current_dir(workspace::root()).args(["-n", "19"]).arg(cargo.get_program()).args(step.cargo);
        command.arg("--no-run").envs(ONCE).envs(step.environment.iter().copied());
        // Without `nice` the steps build for themselves.
        let _ = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
    }
}

fn run(step: &Step) -> Outcome {
    let mut command = workspace::cargo();
    command.args(step.cargo).envs(ONCE).envs(step.environment.iter().copied());
    println!("\n== {}: {}", step.name, workspace::shown(&command));
    let mut excerpt = Excerpt::default();
    // On a terminal the command's own progress is worth more.
    let result = if std::io::stdout().is_terminal() {
        workspace::call(&mut command)
    } else {
        workspace::call_and_hear(&mut command, |line| excerpt.hear(line))
    };
    match result {
        Ok(()) => Outcome::Passed,
        Err(error) => {
            println!("== {}: {error:#}", step.name);
            Outcome::Failed(excerpt.lines())
        }
    }
}

/// Measures calls across the boundary, a part of them: by a program of its own in the benchmarks' workspace.
pub(crate) fn crossing(args: &[String]) -> Result<()> {
    setup::ensure(&setup::ALL)?;
    setup::ensure(&[setup::LLVM, setup::LUA, setup::CMAKE])?;
    let mut command = workspace::cargo();
    command.args(["run", "--release", "--package", "bench-crossing", "--manifest-path", "bench/Cargo.toml"]);
    command.arg("--target-dir").arg(workspace::cargo_target_dir()?);
    workspace::call(command.arg("--").args(args))
}

/// Runs `bench` or `fuzz`, workspaces of their own in the folder of that name, with `args`.
pub(crate) fn own_workspace(folder: &str, args: &[String]) -> Result<()> {
    let manifest = workspace::root().join(folder).join("Cargo.toml");
    if !manifest.exists() {
        bail!("{} is missing", manifest.display());
    }
    setup::ensure(&setup::ALL)?;
    if folder == "bench" {
        setup::ensure(&[setup::LLVM])?;
        // Without them the report says what is missing.
        if let Err(error) = setup::ensure(&[setup::LUA, setup::CMAKE]) {
            eprintln!("xtask: {error:#}");
        }
    } else {
        let programs = guests::select(&[])?;
        guests::build(&programs, &[guests::Target::Guest, guests::Target::Native])?;
    }
    // In the same folder as riverrun itself, so that nothing is built twice; not quietly, as building takes minutes.
    let mut command = workspace::cargo();
    command.args(["run", "--release", "--manifest-path"]).arg(manifest);
    command.arg("--target-dir").arg(workspace::cargo_target_dir()?);
    workspace::call(command.arg("--").args(args))
}
