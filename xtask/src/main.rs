//! The project's own chores: `cargo xtask <command>`.

mod demo;
mod failures;
mod guests;
mod install;
mod models;
mod newcomer;
mod programs;
mod real_programs;
mod riverrun;
mod sanitize;
mod setup;
mod steps;
mod tier_up;
mod verdicts;
mod workspace;
mod zig;

use std::process::ExitCode;

use anyhow::{Result, bail};

const USAGE: &str = "\
cargo xtask <command>

  setup [--tests]         install what is missing: cross compiler, qemu, native compiler;
                          with --tests also what only `test` and `verify` need
  guests [NAME..]         build the guest programs into target/guests/
  demo [--json] [--riverrun PATH] [--engine interp|compiled|single-step].. [NAME..]
                          run the demo programs on riverrun, qemu-riscv64 and natively,
                          compare their output and show their times
  programs [--short] [--json] [--engine interp|single-step|compiled].. [NAME..]
                          run real programs in C, C++, Go and Rust and of Debian on riverrun and
                          qemu-riscv64, and compare them; with --short those that take seconds
  install --prefix FOLDER [--features LIST] [--compiler] [--debug]
                          install the libraries and headers for hosts in C and C++, with files
                          for pkg-config and CMake, and the command; with --compiler also what
                          `riverrun compile` needs, which takes LLVM
  test                    everything that CI runs, step by step
  verify                  the exhaustive checks, of which `test` runs a smaller form
  sanitize [address|thread] [--no-run]
                          the tests of hosts under AddressSanitizer and ThreadSanitizer
  miri                    what Miri can run of the tests: needs a nightly toolchain
  loom                    the protocol between threads in all orders, by loom
  bench [ARGS..]          the speed comparison (arguments go to bench/): `bench all` makes all tables
  bench crossing PART     of the calls between host and guest, only those whose `engine/name` has
                          this part
  bench verdicts [TIMES]  how often `riverrun bench` is right on this machine
  bench tier-up           what compiling while programs run takes, beside interpreting and compiling them
                          as a whole
  newcomer                the README's way to a project of one's own, from nothing: takes minutes
  zig                     the tests of guests' compilers, with PyPI's ziglang: takes minutes
  fuzz [ARGS..]           the fuzz targets (arguments go to fuzz/)
";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match run(&args) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(args: &[String]) -> Result<ExitCode> {
    let Some((command, rest)) = args.split_first() else {
        bail!("no command given\n\n{USAGE}");
    };
    match command.as_str() {
        "help" | "--help" | "-h" => print!("{USAGE}"),
        "setup" => setup::command(rest)?,
        "guests" => guests::command(rest)?,
        "demo" => demo::command(rest)?,
        "programs" => real_programs::command(rest)?,
        "install" => install::command(rest)?,
        "test" | "verify" if !rest.is_empty() => bail!("{command} takes no arguments"),
        "test" => return Ok(steps::run_all(steps::TEST)),
        "verify" => return Ok(steps::run_all(steps::VERIFY)),
        "sanitize" => sanitize::command(rest)?,
        "miri" => models::miri(rest)?,
        "loom" => models::loom(rest)?,
        "newcomer" => newcomer::command(rest)?,
        "zig" => zig::command(rest)?,
        "bench" if matches!(rest, [what, part] if what == "crossing" && !part.starts_with('-')) => {
            steps::crossing(&rest[1..])?;
        }
        "bench" if rest.first().is_some_and(|what| what == "verdicts") => return verdicts::command(&rest[1..]),
        "bench" if rest.first().is_some_and(|what| what == "tier-up") => return tier_up::command(&rest[1..]),
        "bench" => steps::own_workspace("bench", rest)?,
        "fuzz" => steps::own_workspace("fuzz", rest)?,
        other => bail!("unknown command `{other}`\n\n{USAGE}"),
    }
    Ok(ExitCode::SUCCESS)
}
