//! Fuzzing on stable Rust: `cargo run --release --manifest-path fuzz/Cargo.toml -- [TARGET]...`
//!
//! Builds the targets with the compiler's own coverage instrumentation, linked with libFuzzer,
//! and runs each for some seconds on a corpus that grows in `fuzz/corpus/`. What makes a target
//! fail is kept in `fuzz/artifacts/`.
#![forbid(unsafe_code)]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::sync::{Mutex, PoisonError};

/// The status of a target that a signal of the user has ended (libFuzzer, `FuzzerOptions.h`).
const INTERRUPTED: i32 = 72;

const USAGE: &str = "\
usage: cargo run --release --manifest-path fuzz/Cargo.toml -- [TARGET|all]... [--seconds N] [--input FILE]

Targets:
  elf         any bytes as a program: headers, symbols, source lines, unwind tables
  decode      any words: decode, encode, disassemble, print semantics
  run         random code on every engine, the final states compared
  host_api    host functions of all types, the heap, system calls and the C interface, with hostile
              registers and memory
  threads     threads, futexes, signals, timers and waits with hostile arguments, the final states of engines
              compared, whole, in slices and saved in between
  snapshot    any bytes as a snapshot, restored, run and used
  compiled    random functions, compiled precisely and interpreted, the final states compared; takes LLVM
  conforming  random functions that keep to the calling convention, compiled as by default; takes LLVM

  --seconds N     fuzz each target for N seconds (20)
  --input FILE    run the target on this file only, to see a failure again
  --no-run        only build
";

/// The targets, and how long inputs are: what a small ELF file with debug information takes, a few
/// instructions, the choices that make a program or a few calls.
const TARGETS: &[Target] = &[
    Target { name: "elf", package: TARGETS_PACKAGE, max_len: 16 << 10 },
    Target { name: "decode", package: TARGETS_PACKAGE, max_len: 64 },
    Target { name: "run", package: TARGETS_PACKAGE, max_len: 2 << 10 },
    Target { name: "host_api", package: TARGETS_PACKAGE, max_len: 2 << 10 },
    Target { name: "threads", package: TARGETS_PACKAGE, max_len: 4 << 10 },
    Target { name: "snapshot", package: TARGETS_PACKAGE, max_len: 16 << 10 },
    Target { name: "compiled", package: COMPILED_PACKAGE, max_len: 4 << 10 },
    Target { name: "conforming", package: COMPILED_PACKAGE, max_len: 4 << 10 },
];
const TARGETS_PACKAGE: &str = "riverrun-fuzz-targets";
const COMPILED_PACKAGE: &str = "riverrun-fuzz-compiled";

#[derive(Clone, Copy)]
struct Target {
    name: &'static str,
    package: &'static str,
    /// Bytes of the longest input.
    max_len: usize,
}

/// What instruments all code but build scripts. Comparisons are traced so that magic numbers are
/// found; the threshold keeps branches that the optimiser would merge.
const FLAGS: &[&str] = &[
    "--cfg=fuzzing",
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
    "-Cllvm-args=-simplifycfg-branch-fold-threshold=0",
    "-Ccodegen-units=1",
];

struct Options {
    targets: Vec<Target>,
    seconds: u64,
    input: Option<PathBuf>,
    is_run: bool,
}

fn parse() -> Result<Option<Options>, lexopt::Error> {
    use lexopt::prelude::*;
    let mut options = Options { targets: Vec::new(), seconds: 20, input: None, is_run: true };
    let mut parser = lexopt::Parser::from_env();
    while let Some(argument) = parser.next()? {
        match argument {
            Long("seconds") => options.seconds = parser.value()?.parse()?,
            Long("no-run") => options.is_run = false,
            Long("input") => options.input = Some(parser.value()?.into()),
            Short('h') | Long("help") => return Ok(None),
            Value(name) if name == "all" => options.targets.extend(TARGETS),
            Value(name) => match TARGETS.iter().find(|target| name == target.name) {
                Some(target) => options.targets.push(*target),
                None => return Err(format!("no such target: {}", name.to_string_lossy()).into()),
            },
            argument => return Err(argument.unexpected()),
        }
    }
    if options.targets.is_empty() {
        options.targets.extend(TARGETS);
    }
    Ok(Some(options))
}

fn main() -> ExitCode {
    match parse() {
        Ok(Some(options)) => match run(&options) {
            Ok(()) => ExitCode::SUCCESS,
            Err(message) => {
                eprintln!("fuzz: {message}");
                ExitCode::FAILURE
            }
        },
        Ok(None) => {
            print!("{USAGE}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprint!("fuzz: {error}\n{USAGE}");
            ExitCode::from(2)
        }
    }
}

/// Builds all targets, then runs them side by side, as many as there are processors: each uses one.
fn run(options: &Options) -> Result<(), String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let programs = build(folder, options.targets.iter().map(|target| target.package).collect())?;
    if !options.is_run {
        return Ok(());
    }
    let is_alone = options.targets.len() == 1;
    let todo = Mutex::new(options.targets.iter());
    let next = || todo.lock().unwrap_or_else(PoisonError::into_inner).next();
    let failures = Mutex::new(Vec::new());
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..processors {
            scope.spawn(|| {
                while let Some(target) = next() {
                    if let Err(message) = fuzz(folder, target, &programs, options, is_alone) {
                        failures.lock().unwrap_or_else(PoisonError::into_inner).push(message);
                    }
                }
            });
        }
    });
    let failures = failures.into_inner().unwrap_or_else(PoisonError::into_inner);
    if failures.is_empty() { Ok(()) } else { Err(failures.join("\nfuzz: ")) }
}

/// Runs a target; what it says is shown as it says it if it runs alone, else in the end.
fn fuzz(folder: &Path, target: &Target, programs: &Path, options: &Options, is_alone: bool) -> Result<(), String> {
    let Target { name, max_len, .. } = target;
    let corpus = folder.join("corpus").join(name);
    let artifacts = folder.join("artifacts").join(name);
    for folder in [&corpus, &artifacts] {
        std::fs::create_dir_all(folder).map_err(|error| format!("cannot create {}: {error}", folder.display()))?;
    }
    let mut fuzzer = Command::new(programs.join(name));
    fuzzer.arg(format!("-artifact_prefix={}/", artifacts.display())).args(["-timeout=30", "-rss_limit_mb=4096"]);
    match &options.input {
        Some(input) => fuzzer.arg(input),
        None => fuzzer
            .env("RIVERRUN_FUZZ_SEEDS", &corpus)
            .arg(format!("-max_total_time={}", options.seconds))
            .arg(format!("-max_len={max_len}"))
            .args(["-print_final_stats=1", "-print_funcs=0"])
            .arg(&corpus),
    };
    eprintln!("fuzz: {name}");
    let ended = if is_alone {
        fuzzer.status()
    } else {
        fuzzer.stdin(Stdio::null()).output().map(|output| {
            eprintln!("fuzz: {name} has said:\n{}", String::from_utf8_lossy(&output.stderr));
            output.status
        })
    };
    let status = ended.map_err(|error| format!("cannot run {name}: {error}"))?;
    if status.success() {
        return Ok(());
    }
    if status.code() == Some(INTERRUPTED) {
        return Err(format!("{name} was interrupted"));
    }
    Err(format!("{name} fails; to see it again: --input FILE, with the newest file of {}", artifacts.display()))
}

/// Builds the packages' targets, at once, so that what they depend on is built once; gives the folder that they are in.
fn build(folder: &Path, packages: BTreeSet<&str>) -> Result<PathBuf, String> {
    let cargo = std::env::var_os("CARGO").unwrap_or("cargo".into());
    let triple = host_triple()?;
    let target_folder = match std::env::var_os("CARGO_TARGET_DIR") {
        Some(folder) => PathBuf::from(folder).join("fuzz"),
        None => folder.join("target").join("fuzz"),
    };
    // Named by `--target`, so that the flags spare build scripts.
    let status = Command::new(cargo)
        .args(["build", "--release", "--bins", "--target", &triple])
        .args(packages.iter().flat_map(|package| ["--package", package]))
        .arg("--manifest-path")
        .arg(folder.join("Cargo.toml"))
        .env("CARGO_ENCODED_RUSTFLAGS", FLAGS.join("\x1f"))
        .env("CARGO_TARGET_DIR", &target_folder)
        .status()
        .map_err(|error| format!("cannot run cargo: {error}"))?;
    if !status.success() {
        return Err("the targets cannot be built".into());
    }
    Ok(target_folder.join(triple).join("release"))
}

fn host_triple() -> Result<String, String> {
    let rustc = std::env::var_os("RUSTC").unwrap_or("rustc".into());
    let output = Command::new(rustc).arg("-vV").output().map_err(|error| format!("cannot run rustc: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let host = text.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned).ok_or("rustc does not name its host".into())
}
