//! `cargo xtask bench tier-up`: what programs take that are compiled while they run, beside interpreting them and
//! compiling them as a whole. Processor time includes the compiler's.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::thread;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::guests::{self, Target};
use crate::programs::{LUA, Program, QUICKJS, SQLITE};
use crate::{real_programs, riverrun, setup, workspace};

/// A program with work that takes the interpreter less than a second, and more than ten.
struct Row {
    name: &'static str,
    guest: Guest,
    args: &'static [&'static str],
    /// Whether the size is that of its input in MiB, and not its last argument.
    reads: bool,
    /// Whether it can be run as WebAssembly: it is C, without files, threads, `setjmp` and libraries of its own.
    is_wasm: bool,
    sizes: [&'static str; 2],
}

/// Where a guest comes from.
enum Guest {
    /// It is built.
    Source(Program),
    /// It is dynamically linked, and in Debian's packages.
    Debian(&'static str),
}

const SOURCES: &str = "bench/tier-up";

static ROWS: [Row; 6] = [
    Row {
        name: "C++ containers",
        guest: Guest::Source(Program {
            name: "tier-up-containers",
            source: "bench/tier-up/containers.cpp",
            library: None,
            march: "rv64gc",
        }),
        args: &[],
        reads: false,
        is_wasm: false,
        sizes: ["50", "1200"],
    },
    Row {
        name: "Lua script",
        guest: Guest::Source(Program {
            name: "lua",
            source: "examples/demo/lua.c",
            library: Some(&LUA),
            march: "rv64gc",
        }),
        args: &["/bench/words.lua"],
        reads: false,
        is_wasm: false,
        sizes: ["60", "1500"],
    },
    Row {
        name: "SQLite rows",
        guest: Guest::Source(Program {
            name: "tier-up-rows",
            source: "bench/tier-up/rows.c",
            library: Some(&SQLITE),
            march: "rv64gc",
        }),
        args: &[],
        reads: false,
        is_wasm: true,
        sizes: ["20000", "400000"],
    },
    Row {
        name: "QuickJS script",
        guest: Guest::Source(Program {
            name: "tier-up-javascript",
            source: "bench/tier-up/javascript.c",
            library: Some(&QUICKJS),
            march: "rv64gc",
        }),
        args: &["/bench/words.js"],
        reads: false,
        is_wasm: true,
        sizes: ["30", "700"],
    },
    Row {
        name: "OpenSSL digest, MiB",
        guest: Guest::Debian("usr/bin/openssl"),
        args: &["dgst", "-sha3-256"],
        reads: true,
        is_wasm: false,
        sizes: ["16", "400"],
    },
    Row {
        name: "CPython script",
        guest: Guest::Debian("usr/bin/python3.13"),
        args: &["/bench/words.py"],
        reads: false,
        is_wasm: false,
        sizes: ["1", "100"],
    },
];

/// What a run took, in seconds.
#[derive(Clone, Copy)]
struct Cost {
    wall: f64,
    /// Of the processor, the compiler's included.
    cpu: f64,
}

/// What was compiled as a program ran.
struct Improved {
    functions: u64,
    /// Seconds after which the last code was there.
    after: f64,
    /// Whether it began with the best code that its profile gives, and ended with the same.
    is_settled: bool,
}

/// Runs with a cache at most until it is settled.
const RUNS: usize = 10;
/// Pairs of a run by whole code and one by a settled cache.
const PAIRS: usize = 5;
/// Seconds after which code that is compiled as it runs is to be as fast as whole code.
const LATE: f64 = 5.0;
/// Pairs of runs that show whether it is, with an empty cache, and how many times as much work they have as the larger size.
const LATE_RUNS: usize = 3;
const LATE_TIMES: u64 = 5;
/// The folder of the cache.
const TIER_UP: &str = "tier-up";

/// `cargo xtask bench tier-up [NAME ..]`, where a name is the beginning of a row's.
pub(crate) fn command(args: &[String]) -> Result<ExitCode> {
    let is_asked = |row: &&Row| args.is_empty() || args.iter().any(|name| row.name.starts_with(name.as_str()));
    let rows: Vec<&Row> = ROWS.iter().filter(is_asked).collect();
    if let Some(unknown) = args.iter().find(|name| !ROWS.iter().any(|row| row.name.starts_with(name.as_str()))) {
        bail!("bench tier-up has no program `{unknown}`; there are {}", ROWS.each_ref().map(|row| row.name).join(", "));
    }
    setup::ensure(&[setup::CROSS_COMPILER, setup::LLVM])?;
    // Compilers that go on after the command become children of this process.
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
    riverrun::build(true)?;
    let sources =
        rows.iter().filter_map(|row| if let Guest::Source(program) = &row.guest { Some((row, program)) } else { None });
    let (wasm, all): (Vec<_>, Vec<_>) = sources.map(|(row, program)| (row.is_wasm.then_some(program), program)).unzip();
    guests::build(&all, &[Target::Guest])?;
    let wasm: Vec<&Program> = wasm.into_iter().flatten().collect();
    if !wasm.is_empty() {
        setup::ensure(&[setup::WASI])?;
        guests::build(&wasm, &[Target::Wasm])?;
        build_wasmtime()?;
    }
    let folder = workspace::root().join("target/tier-up");
    std::fs::create_dir_all(&folder)?;
    println!(
        "| program | size | | interpreted | whole, compiling | whole, running | tier-up, cold | its last code after | \
         tier-up, next | tier-up, settled | settled to whole | compiled functions | Wasmtime, compiling and running |"
    );
    println!("| --- | ---: | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |");
    for row in rows {
        measure(row, &folder)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Builds what compiles and runs WebAssembly by Wasmtime.
fn build_wasmtime() -> Result<()> {
    let mut cargo = workspace::cargo();
    cargo.args(["build", "--quiet", "--release", "--manifest-path", "bench/Cargo.toml", "--package", "peer-wasmtime"]);
    workspace::call(cargo.arg("--target-dir").arg(workspace::cargo_target_dir()?))
}

/// Measures a program with work of all sizes, and prints what it took.
fn measure(row: &Row, folder: &Path) -> Result<()> {
    let (guest, sysroot) = match &row.guest {
        Guest::Source(program) => (guests::path(program.name, Target::Guest), None),
        Guest::Debian(path) => {
            let sysroot = real_programs::debian()?;
            (sysroot.join(path), Some(sysroot))
        }
    };
    let bench = Bench { row, guest: &guest, sysroot: sysroot.as_deref(), folder };
    let whole = folder.join("whole.rro");
    let compiling = bench.compile(&whole)?;
    let artifact = format!("--artifact={}", whole.display());
    for size in row.sizes {
        let (expected, interpreted, _) = bench.run("interpreted", size, &["--engine=interp"])?;
        bench.empty_cache()?;
        let (cold_output, cold, improved) = bench.run(TIER_UP, size, &["--tier-up"])?;
        let (next_output, next, mut present) = bench.run(TIER_UP, size, &["--tier-up"])?;
        let mut outputs = vec![("cold", cold_output), ("next", next_output)];
        while !present.is_settled && outputs.len() < RUNS {
            let (output, _, improved) = bench.run(TIER_UP, size, &["--tier-up"])?;
            outputs.push(("later", output));
            present = improved;
        }
        let (mut by_whole, mut by_settled) = (Vec::new(), Vec::new());
        for _ in 0..PAIRS {
            let whole = bench.run("whole", size, &[&artifact])?;
            let settled = bench.run(TIER_UP, size, &["--tier-up"])?;
            by_whole.push(whole.1);
            by_settled.push(settled.1);
            outputs.extend([("whole", whole.0), ("settled", settled.0)]);
        }
        let wasmtime = bench.run_wasm(size)?;
        outputs.extend(wasmtime.iter().map(|(output, _)| ("Wasmtime", output.clone())));
        for (name, output) in outputs {
            if output != expected {
                bail!("{}: {name}: {output:?} instead of {expected:?}", row.name);
            }
        }
        let functions = present.functions;
        let after = format!("{:.2}", improved.after);
        for (what, of, after) in
            [("s", (|cost| cost.wall) as fn(&Cost) -> f64, after), ("CPU s", |cost| cost.cpu, String::new())]
        {
            let shown = |time: f64| format!("{time:.2}");
            let [whole, settled] = [&by_whole, &by_settled].map(|costs| shown(middle(costs.iter().map(of))[1]));
            let ratios = by_whole.iter().zip(&by_settled).map(|(whole, settled)| of(settled) / of(whole));
            let [least, ratio, most] = middle(ratios).map(shown);
            let [interpreted, compiling, cold, next] =
                [interpreted, compiling, cold, next].map(|cost| shown(of(&cost)));
            let wasmtime = wasmtime.as_ref().map(|(_, cost)| shown(of(cost))).unwrap_or_default();
            println!(
                "| {} | {size} | {what} | {interpreted} | {compiling} | {whole} | {cold} | {after} | {next} | {settled} | \
                 {ratio} ({least} to {most}) | {functions} | {wasmtime} |",
                row.name
            );
        }
    }
    let [_, larger] = row.sizes;
    let size = LATE_TIMES * larger.parse::<u64>()?;
    let late = bench.late(size, &artifact)?;
    for (what, ratios) in ["all work", "work up to the last hundredth"].into_iter().zip(late) {
        let [least, ratio, most] = ratios.map(|ratio| format!("{ratio:.2}"));
        println!(
            "| {} | {size} | {what} left after {LATE} s, cold, to whole | | | | {ratio} ({least} to {most}) | | | | | | |",
            row.name
        );
    }
    Ok(())
}

/// The least, the median and the greatest of an odd number of values.
fn middle(values: impl Iterator<Item = f64>) -> [f64; 3] {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    [values[0], values[values.len() / 2], values[values.len() - 1]]
}

#[derive(Clone, Copy)]
struct Bench<'a> {
    row: &'a Row,
    guest: &'a Path,
    sysroot: Option<&'a Path>,
    folder: &'a Path,
}

impl Bench<'_> {
    fn command(&self, name: &str) -> Result<PathBuf> {
        Ok(workspace::cargo_target_dir()?.join("release").join(name))
    }

    /// Compiles the whole program, with its libraries if it has such, to a file.
    fn compile(&self, whole: &Path) -> Result<Cost> {
        if whole.exists() {
            std::fs::remove_file(whole)?;
        }
        let mut command;
        match self.sysroot {
            None => {
                command = Command::new(self.command("riverrun-compile")?);
                command.args(["--quiet", "-o"]).arg(whole).arg(self.guest);
            }
            // By a run that does hardly anything.
            Some(sysroot) => {
                command = Command::new(self.command("riverrun")?);
                command.args(["run", "--compile"]).arg(format!("--artifact={}", whole.display()));
                command.arg("--sysroot").arg(sysroot).arg(self.guest).arg("--version");
            }
        }
        Ok(self.cost(&mut command)?.1)
    }

    /// A run of the guest with work of this size and these options.
    fn running(&self, cache: &str, size: &str, options: &[&str]) -> Result<Command> {
        let mut command = Command::new(self.command("riverrun")?);
        command.env("XDG_CACHE_HOME", self.folder.join(cache)).args(["run", "--stats=json"]).args(options);
        command.args(self.sysroot.iter().flat_map(|sysroot| [Path::new("--sysroot"), sysroot]));
        command.arg("--dir").arg(format!("{}:/bench:ro", workspace::root().join(SOURCES).display()));
        command.arg(self.guest).args(self.row.args).args((!self.row.reads).then_some(size));
        Ok(command)
    }

    /// The seconds after which a run has done hundredths of its work, and all of it.
    fn progress(&self, cache: &str, size: u64, options: &[&str]) -> Result<Vec<f64>> {
        let mut command = self.running(cache, &size.to_string(), options)?;
        let stdin = if self.row.reads { Stdio::piped() } else { Stdio::null() };
        command.stdin(stdin).stdout(Stdio::null()).stderr(Stdio::piped());
        let begin = Instant::now();
        let mut child = command.spawn().with_context(|| workspace::shown(&command))?;
        let (input, messages) = (child.stdin.take(), child.stderr.take().context("it has a pipe")?);
        let passed = || begin.elapsed().as_secs_f64();
        let mut times = thread::scope(|scope| {
            // The guest has read a part once the next one has gone into the pipe.
            let written = input.map(|mut input| {
                let part = vec![0; (size << 20) as usize / 100];
                scope.spawn(move || (0..100).map(|_| input.write_all(&part).map(|()| passed())).collect())
            });
            let lines = BufReader::new(messages).lines();
            let printed = lines.filter(|line| line.as_ref().map_or(true, |line| line == "."));
            let printed: std::io::Result<Vec<f64>> = printed.map(|line| line.map(|_| passed())).collect();
            written.map_or(printed, |thread| thread.join().expect("it does not panic"))
        })?;
        let status = child.wait()?;
        if !status.success() {
            bail!("{} failed ({status})", workspace::shown(&command));
        }
        times.push(passed());
        wait_for_orphans()?;
        Ok(times)
    }

    /// What the work of a run with an empty cache takes that is left after [`LATE`] seconds, in times of what it takes by whole
    /// code: the least, the median and the greatest of some. First all of it, then up to the last hundredth, behind which
    /// programs may do something else, by code that they have not reached before.
    fn late(&self, size: u64, artifact: &str) -> Result<[[f64; 3]; 2]> {
        let mut ratios = Vec::new();
        for _ in 0..LATE_RUNS {
            let whole = self.progress("whole", size, &[artifact])?;
            self.empty_cache()?;
            let cold = self.progress(TIER_UP, size, &["--tier-up"])?;
            // A tenth at least: less is noise.
            let at = cold.iter().position(|&time| time >= LATE).filter(|at| at + 10 < whole.len());
            let at = at.with_context(|| format!("{}: too little work is left after {LATE} s", self.row.name))?;
            ratios.push([1, 2].map(|behind| {
                let left = |times: &[f64]| times[times.len() - behind] - times[at];
                left(&cold) / left(&whole)
            }));
        }
        Ok([0, 1].map(|which| middle(ratios.iter().map(|pair| pair[which]))))
    }

    fn empty_cache(&self) -> Result<()> {
        let cache = self.folder.join(TIER_UP);
        if cache.exists() {
            std::fs::remove_dir_all(&cache)?;
        }
        Ok(())
    }

    /// Runs the guest with work of this size and these options, with a cache of this name: its output, what it took, and what
    /// was compiled as it ran.
    fn run(&self, cache: &str, size: &str, options: &[&str]) -> Result<(String, Cost, Improved)> {
        let mut command = self.running(cache, size, options)?;
        if self.row.reads {
            let input = self.folder.join("input");
            File::create(&input)?.set_len(size.parse::<u64>()? << 20)?;
            command.stdin(File::open(&input)?);
        }
        let (output, cost) = self.cost(&mut command)?;
        let stats = output.1.lines().last().unwrap_or_default();
        let stats: Value = serde_json::from_str(stats).with_context(|| format!("no statistics: {}", output.1))?;
        let stats = &stats["tier_up"];
        let number = |name: &str| stats[name].as_u64().unwrap_or(0);
        let functions = number("functions");
        let is_settled = functions > 0 && number("compilations") == 0 && stats["quick"] == false;
        let improved = Improved { functions, after: stats["since_seconds"].as_f64().unwrap_or(0.0), is_settled };
        Ok((output.0, cost, improved))
    }

    /// Compiles the guest's WebAssembly by Wasmtime and runs it, if there is such: its output, and what it took.
    fn run_wasm(&self, size: &str) -> Result<Option<(String, Cost)>> {
        let Guest::Source(program) = &self.row.guest else { return Ok(None) };
        if !self.row.is_wasm {
            return Ok(None);
        }
        let mut command = Command::new(self.command("peer-wasmtime")?);
        command.arg(guests::path(program.name, Target::Wasm)).args(self.row.args).arg(size);
        let ((output, _), cost) = self.cost(&mut command)?;
        Ok(Some((output, cost)))
    }

    /// Runs a command: its output and messages, and what it and its children took, those included that outlive it.
    fn cost(&self, command: &mut Command) -> Result<((String, String), Cost)> {
        let cpu = children_cpu()?;
        let begin = Instant::now();
        let output = command.output().with_context(|| workspace::shown(command))?;
        let wall = begin.elapsed().as_secs_f64();
        let messages = String::from_utf8_lossy(&output.stderr).into_owned();
        if !output.status.success() {
            bail!("{} failed ({})\n{messages}", workspace::shown(command), output.status);
        }
        wait_for_orphans()?;
        let cost = Cost { wall, cpu: children_cpu()? - cpu };
        Ok(((String::from_utf8_lossy(&output.stdout).into_owned(), messages), cost))
    }
}

/// Waits for all children that are left.
fn wait_for_orphans() -> Result<()> {
    loop {
        match rustix::process::wait(rustix::process::WaitOptions::empty()) {
            Ok(_) => {}
            Err(rustix::io::Errno::CHILD) => return Ok(()),
            Err(error) => return Err(error.into()),
        }
    }
}

/// Seconds of processor time of all children that have ended so far; Linux counts in hundredths.
fn children_cpu() -> Result<f64> {
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    // The name of the program is in parentheses, and may have any others.
    let fields = stat.rsplit_once(')').context("/proc/self/stat has no name")?.1;
    let ticks = fields.split_whitespace().skip(13).take(2).map(|ticks| ticks.parse::<f64>());
    Ok(ticks.sum::<std::result::Result<f64, _>>()? / 100.0)
}
