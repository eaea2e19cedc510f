//! `cargo xtask demo`: real programs on riverrun, beside qemu-riscv64 and the host itself.

use std::collections::BTreeMap;
use std::fs;
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use crate::guests::{self, Target};
use crate::riverrun::{self, Engine};
use crate::{programs, setup, workspace};

/// A program of `programs.rs` and how it is shown. In `args`, `{data}` stands for a directory of its
/// own, by the name it has for the program; `{style}` for `colour` on a terminal, else `plain`.
struct Demo {
    program: &'static str,
    args: &'static [&'static str],
    /// Files that lie in the directory before the program starts, relative to the repository.
    inputs: &'static [&'static str],
    /// Directories of the system that the program looks into, as it may on qemu-riscv64.
    system: &'static [&'static str],
    /// Arguments with which the native program then checks what riverrun's guest left there.
    check: Option<&'static [&'static str]>,
}

static DEMOS: &[Demo] = &[
    Demo { program: "hello", args: &[], inputs: &[], system: &[], check: None },
    Demo { program: "lua", args: &["{data}/demo.lua"], inputs: &["examples/demo/demo.lua"], system: &[], check: None },
    Demo { program: "secp256k1", args: &[], inputs: &[], system: &[], check: None },
    Demo { program: "sqlite", args: &["{data}"], inputs: &[], system: &[], check: Some(&["{data}", "check"]) },
    Demo { program: "cxx", args: &["{data}"], inputs: &[], system: &["/usr/lib/locale"], check: None },
    Demo { program: "mandelbrot", args: &["{style}"], inputs: &[], system: &[], check: None },
];

/// The directory's name inside riverrun; elsewhere the program sees the host's name.
const GUEST_DATA: &str = "/data";

#[derive(Default)]
struct Options {
    json: bool,
    riverrun: Option<PathBuf>,
    /// riverrun's.
    engines: Vec<Engine>,
    names: Vec<String>,
}

fn parse(args: &[String]) -> Result<Options> {
    let mut options = Options::default();
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--json" => options.json = true,
            "--riverrun" => {
                let path = args.next().context("--riverrun takes the path of the command")?;
                options.riverrun = Some(path.into());
            }
            "--engine" => options.engines.push(Engine::named(args.next())?),
            flag if flag.starts_with('-') => bail!("demo has no option `{flag}`"),
            name if DEMOS.iter().any(|demo| demo.program == name) => {
                options.names.push(name.into());
            }
            name => {
                let known: Vec<&str> = DEMOS.iter().map(|demo| demo.program).collect();
                bail!("no demo is named `{name}`; there are {}", known.join(", "));
            }
        }
    }
    if options.engines.is_empty() {
        options.engines.push(Engine::Interp);
    }
    Ok(options)
}

/// Sets up, builds and runs the demo programs, and compares them.
///
/// # Errors
/// If something cannot be built, or a program does otherwise on riverrun than on qemu-riscv64.
pub(crate) fn command(args: &[String]) -> Result<()> {
    let options = parse(args)?;
    let demos: Vec<&Demo> = DEMOS
        .iter()
        .filter(|demo| options.names.is_empty() || options.names.iter().any(|n| n == demo.program))
        .collect();

    setup::ensure(&setup::ALL)?;
    let compiles = options.engines.contains(&Engine::Compiled);
    if compiles {
        setup::ensure(&[setup::LLVM])?;
        // What an older compiler has left is not what is to be shown.
        if cache().exists() {
            fs::remove_dir_all(cache()).context("cannot empty the cache of compiled demos")?;
        }
    }
    let riverrun = match options.riverrun {
        Some(path) => path,
        None => riverrun::build(compiles)?,
    };
    let wanted: Vec<_> = demos.iter().filter_map(|demo| programs::find(demo.program)).collect();
    guests::build(&wanted, &[Target::Guest, Target::Native])?;

    let mut results = Vec::new();
    for demo in demos {
        let expected = Expected::of(demo)?;
        for &engine in &options.engines {
            let result = compare(demo, &expected, engine, &riverrun)?;
            if !options.json && engine == options.engines[0] {
                result.print_output()?;
            }
            results.push(result);
        }
    }
    if options.json {
        let all: Vec<Value> = results.iter().map(Comparison::json).collect();
        println!("{}", serde_json::to_string_pretty(&all)?);
    } else {
        print_table(&results);
    }
    let name = |result: &Comparison| format!("{} ({})", result.program, result.engine.name());
    let failed: Vec<String> = results.iter().filter(|result| !result.problems.is_empty()).map(name).collect();
    for result in &results {
        for problem in &result.problems {
            eprintln!("{}: {problem}", name(result));
        }
    }
    if !failed.is_empty() {
        bail!("not as on qemu-riscv64: {}", failed.join(", "));
    }
    Ok(())
}

/// Where compiled demos are kept while they are shown.
fn cache() -> PathBuf {
    workspace::root().join("target/demo/cache")
}

/// What runs a program.
enum Runner<'a> {
    /// By this command.
    Riverrun(&'a Path, Engine),
    Qemu,
    Native,
}

impl Runner<'_> {
    fn name(&self) -> &'static str {
        match self {
            Runner::Riverrun(_, engine) => engine.name(),
            Runner::Qemu => "qemu-riscv64",
            Runner::Native => "native",
        }
    }

    /// The program's command line, with `data` as its directory.
    fn command(&self, demo: &Demo, args: &[&str], data: &Path) -> Command {
        let guest = guests::path(demo.program, Target::Guest);
        let mut data_name = data.display().to_string();
        let mut command;
        match self {
            Runner::Riverrun(path, engine) => {
                command = Command::new(path);
                command.args(["run", "--stats=json"]);
                command.args(engine.options()).env("XDG_CACHE_HOME", cache());
                if args.iter().any(|arg| arg.contains("{data}")) {
                    command.arg("--dir").arg(format!("{data_name}:{GUEST_DATA}"));
                    data_name = GUEST_DATA.into();
                }
                for directory in demo.system.iter().filter(|directory| Path::new(directory).exists()) {
                    command.arg("--dir").arg(format!("{directory}:{directory}:ro"));
                }
                command.arg(guest);
            }
            Runner::Qemu => {
                command = Command::new("qemu-riscv64");
                command.arg(guest);
            }
            Runner::Native => {
                command = Command::new(guests::path(demo.program, Target::Native));
            }
        }
        let style = if std::io::stdout().is_terminal() { "colour" } else { "plain" };
        for arg in args {
            command.arg(arg.replace("{data}", &data_name).replace("{style}", style));
        }
        command.stdin(Stdio::null());
        command
    }

    fn run(&self, demo: &Demo) -> Result<Run> {
        let data = workspace::root().join("target/demo").join(self.name()).join(demo.program);
        if data.exists() {
            fs::remove_dir_all(&data).context("cannot empty a demo's directory")?;
        }
        fs::create_dir_all(&data).context("cannot make a demo's directory")?;
        for input in demo.inputs {
            let name = Path::new(input).file_name().unwrap_or_default();
            fs::copy(workspace::root().join(input), data.join(name)).with_context(|| format!("cannot copy {input}"))?;
        }

        let mut command = self.command(demo, demo.args, &data);
        let begin = Instant::now();
        let output = command.output().with_context(|| format!("cannot start {}", self.name()))?;
        Ok(Run {
            time: begin.elapsed(),
            stdout: output.stdout,
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
            status: output.status,
            data,
        })
    }
}

/// What a program did.
struct Run {
    /// From its start to its end, loading and all.
    time: Duration,
    stdout: Vec<u8>,
    stderr: String,
    status: ExitStatus,
    data: PathBuf,
}

/// What riverrun says of a run.
struct Stats {
    /// `None` of compiled code, which does not count them.
    instructions: Option<u64>,
    /// Of executing them, without the loading.
    seconds: f64,
}

impl Stats {
    /// The last line of standard error, a JSON object; the rest is the guest's own.
    fn take(stderr: &str) -> Result<Self> {
        let line = stderr.trim_end().lines().next_back().unwrap_or_default();
        let value: Value = serde_json::from_str(line).unwrap_or_default();
        match value["seconds"].as_f64() {
            Some(seconds) => Ok(Stats { instructions: value["instructions"].as_u64(), seconds }),
            None => bail!(
                "riverrun's last line on standard error is not its statistics: {}",
                if line.is_empty() { "nothing" } else { line }
            ),
        }
    }

    fn mips(&self) -> Option<f64> {
        Some(self.instructions? as f64 / self.seconds / 1e6)
    }
}

/// One program on all engines.
struct Comparison {
    program: &'static str,
    engine: Engine,
    riverrun: Run,
    stats: Option<Stats>,
    expected: Times,
    /// How riverrun's run was wrong.
    problems: Vec<String>,
}

/// What a program does elsewhere.
struct Expected {
    qemu: Run,
    native: Run,
}

/// What a program took elsewhere.
#[derive(Clone, Copy)]
struct Times {
    qemu: Duration,
    native: Duration,
}

impl Expected {
    fn of(demo: &Demo) -> Result<Expected> {
        let expected = Expected { qemu: Runner::Qemu.run(demo)?, native: Runner::Native.run(demo)? };
        for (reference, name) in [(&expected.qemu, "qemu-riscv64"), (&expected.native, "the host")] {
            if !reference.status.success() {
                bail!("{} failed on {name} ({}): {}", demo.program, reference.status, reference.stderr);
            }
        }
        Ok(expected)
    }
}

fn compare(demo: &Demo, expected: &Expected, engine: Engine, riverrun: &Path) -> Result<Comparison> {
    let Expected { qemu, native } = expected;
    let riverrun = Runner::Riverrun(riverrun, engine);
    if engine == Engine::Compiled {
        // What compiling takes is no part of the run that is timed.
        riverrun.run(demo)?;
    }
    let run = riverrun.run(demo)?;

    let mut problems = Vec::new();
    if run.status.code() != qemu.status.code() {
        problems.push(format!("ended with {}; standard error:\n{}", run.status, run.stderr.trim_end()));
    }
    if let Some(difference) = first_difference(&run.stdout, &qemu.stdout) {
        problems.push(format!("output differs from qemu-riscv64's at {difference}"));
    }
    problems.extend(compare_files(&run.data, &qemu.data)?);
    if let Some(args) = demo.check {
        let mut check = Runner::Native.command(demo, args, &run.data);
        if let Err(error) = workspace::stdout_of(&mut check) {
            problems.push(format!("what it left does not hold: {error:#}"));
        }
    }
    let stats = match Stats::take(&run.stderr) {
        Ok(stats) => Some(stats),
        Err(error) => {
            problems.push(error.to_string());
            None
        }
    };
    let expected = Times { qemu: qemu.time, native: native.time };
    Ok(Comparison { program: demo.program, engine, riverrun: run, stats, expected, problems })
}

/// Where two byte strings part, in words; `None` if they are equal.
pub(crate) fn first_difference(got: &[u8], expected: &[u8]) -> Option<String> {
    if got == expected {
        return None;
    }
    let common = got.iter().zip(expected).take_while(|(a, b)| a == b).count();
    let line = 1 + got[..common].iter().filter(|&&byte| byte == b'\n').count();
    let byte = |bytes: &[u8]| match bytes.get(common) {
        Some(byte) => format!("{byte:#04x}"),
        None => "the end".into(),
    };
    Some(format!("byte {common} (line {line}): {} instead of {}", byte(got), byte(expected)))
}

#[derive(PartialEq)]
enum Entry {
    Directory,
    Link(PathBuf),
    File(Vec<u8>),
}

/// How the files that riverrun's guest left differ from those under qemu-riscv64.
fn compare_files(got: &Path, expected: &Path) -> Result<Vec<String>> {
    let (got, expected) = (entries(got)?, entries(expected)?);
    let mut problems = Vec::new();
    for (path, entry) in &expected {
        let name = path.display();
        match (got.get(path), entry) {
            (None, _) => problems.push(format!("{name} is missing afterwards")),
            (Some(Entry::File(got)), Entry::File(expected)) => {
                if let Some(difference) = first_difference(got, expected) {
                    problems.push(format!("{name} differs from qemu-riscv64's at {difference}"));
                }
            }
            (Some(got), expected) if got != expected => {
                problems.push(format!("{name} is of another kind or leads elsewhere"));
            }
            _ => {}
        }
    }
    for path in got.keys().filter(|path| !expected.contains_key(*path)) {
        problems.push(format!("{} should not be there afterwards", path.display()));
    }
    Ok(problems)
}

/// All that a directory holds, by paths relative to it.
fn entries(root: &Path) -> Result<BTreeMap<PathBuf, Entry>> {
    let mut found = BTreeMap::new();
    let mut pending = vec![root.to_owned()];
    while let Some(directory) = pending.pop() {
        for item in fs::read_dir(&directory)? {
            let path = item?.path();
            let kind = fs::symlink_metadata(&path)?.file_type();
            let entry = if kind.is_symlink() {
                Entry::Link(fs::read_link(&path)?)
            } else if kind.is_dir() {
                pending.push(path.clone());
                Entry::Directory
            } else {
                Entry::File(fs::read(&path)?)
            };
            found.insert(path.strip_prefix(root)?.to_owned(), entry);
        }
    }
    Ok(found)
}

impl Comparison {
    /// Instructions and millions of them in a second, where the engine counts them.
    fn counted(&self) -> Option<(u64, f64)> {
        let stats = self.stats.as_ref()?;
        Some((stats.instructions?, stats.mips()?))
    }

    fn print_output(&self) -> Result<()> {
        let mut out = std::io::stdout().lock();
        writeln!(out, "===== {} =====", self.program)?;
        out.write_all(&self.riverrun.stdout)?;
        writeln!(out)?;
        Ok(())
    }

    fn json(&self) -> Value {
        json!({
            "program": self.program,
            "engine": self.engine.name(),
            "same_as_qemu": self.problems.is_empty(),
            "problems": self.problems,
            "instructions": self.counted().map(|(instructions, _)| instructions),
            "mips": self.counted().map(|(_, mips)| mips),
            "riverrun_seconds": self.riverrun.time.as_secs_f64(),
            "qemu_seconds": self.expected.qemu.as_secs_f64(),
            "native_seconds": self.expected.native.as_secs_f64(),
        })
    }
}

/// Times are from start to end of the process, MIPS of the execution alone.
fn print_table(results: &[Comparison]) {
    println!(
        "{:<12} {:<12} {:>16} {:>8} {:>12} {:>12} {:>12}  as on qemu",
        "program", "engine", "instructions", "MIPS", "riverrun", "qemu", "native"
    );
    for result in results {
        let (instructions, mips) = match result.counted() {
            Some((instructions, mips)) => (grouped(instructions), format!("{mips:.0}")),
            None => ("-".into(), "-".into()),
        };
        println!(
            "{:<12} {:<12} {instructions:>16} {mips:>8} {:>12} {:>12} {:>12}  {}",
            result.program,
            result.engine.name(),
            milliseconds(result.riverrun.time),
            milliseconds(result.expected.qemu),
            milliseconds(result.expected.native),
            if result.problems.is_empty() { "yes" } else { "NO" },
        );
    }
}

fn milliseconds(time: Duration) -> String {
    format!("{:.1} ms", time.as_secs_f64() * 1e3)
}

/// A number with its thousands apart.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_output_has_no_difference() {
        assert_eq!(first_difference(b"a\nb\n", b"a\nb\n"), None);
    }

    #[test]
    fn the_first_differing_byte_is_named() {
        let difference = first_difference(b"one\ntwo\n", b"one\ntoo\n").unwrap();
        assert_eq!(difference, "byte 5 (line 2): 0x77 instead of 0x6f");
    }

    #[test]
    fn output_that_ends_early_or_late_differs() {
        let early = first_difference(b"one", b"one\n").unwrap();
        assert_eq!(early, "byte 3 (line 1): the end instead of 0x0a");
        let late = first_difference(b"one\n", b"one").unwrap();
        assert_eq!(late, "byte 3 (line 1): 0x0a instead of the end");
    }

    #[test]
    fn statistics_are_the_last_line() {
        let stderr = "the guest's own\n{\"instructions\": 3000000, \"seconds\": 0.5}\n";
        let stats = Stats::take(stderr).unwrap();
        assert_eq!((stats.instructions, stats.mips()), (Some(3_000_000), Some(6.0)));
        assert!(Stats::take("the guest's own\n").is_err());
        assert!(Stats::take("").is_err());
    }

    #[test]
    fn thousands_are_grouped() {
        assert_eq!([0, 999, 1000, 1234567].map(grouped), ["0", "999", "1,000", "1,234,567"]);
    }

    #[test]
    fn every_demo_is_a_program() {
        for demo in DEMOS {
            assert!(programs::find(demo.program).is_some(), "{}", demo.program);
        }
    }
}
