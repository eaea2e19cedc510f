//! `cargo xtask bench tier-up`: what programs take that are compiled while they run, beside interpreting them and
//! compiling them as a whole. Processor time includes the compiler's.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Instant;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::guests::{self, Target};
use crate::programs::{LUA, Program, QUICKJS, SQLITE};
use crate::{riverrun, setup, workspace};

/// A program with work that takes the interpreter less than a second, and more than ten.
struct Row {
    name: &'static str,
    guest: Program,
    /// The argument before the size: a file beside this table's sources.
    script: Option<&'static str>,
    sizes: [&'static str; 2],
}

const SOURCES: &str = "bench/tier-up";

static ROWS: [Row; 4] = [
    Row {
        name: "C++ containers",
        guest: Program {
            name: "tier-up-containers",
            source: "bench/tier-up/containers.cpp",
            library: None,
            march: "rv64gc",
        },
        script: None,
        sizes: ["50", "1200"],
    },
    Row {
        name: "Lua script",
        guest: Program { name: "lua", source: "examples/demo/lua.c", library: Some(&LUA), march: "rv64gc" },
        script: Some("words.lua"),
        sizes: ["60", "1500"],
    },
    Row {
        name: "SQLite rows",
        guest: Program {
            name: "tier-up-rows",
            source: "bench/tier-up/rows.c",
            library: Some(&SQLITE),
            march: "rv64gc",
        },
        script: None,
        sizes: ["20000", "400000"],
    },
    Row {
        name: "QuickJS script",
        guest: Program {
            name: "tier-up-javascript",
            source: "bench/tier-up/javascript.c",
            library: Some(&QUICKJS),
            march: "rv64gc",
        },
        script: Some("words.js"),
        sizes: ["30", "700"],
    },
];

/// What a run took, in seconds.
#[derive(Clone, Copy)]
struct Cost {
    wall: f64,
    /// Of the processor, the compiler's included.
    cpu: f64,
}

/// `cargo xtask bench tier-up`.
pub(crate) fn command(args: &[String]) -> Result<ExitCode> {
    if let [argument, ..] = args {
        bail!("bench tier-up takes no argument, and there is `{argument}`");
    }
    setup::ensure(&[setup::CROSS_COMPILER, setup::LLVM])?;
    // Compilers that go on after the command become children of this process.
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
    riverrun::build(true)?;
    guests::build(&ROWS.iter().map(|row| &row.guest).collect::<Vec<_>>(), &[Target::Guest])?;
    let folder = workspace::root().join("target/tier-up");
    println!(
        "| program | size | | interpreted | whole, compiling | whole, running | tier-up, cold | tier-up, warm | \
         compiled functions |"
    );
    println!("| --- | ---: | --- | ---: | ---: | ---: | ---: | ---: | ---: |");
    for row in &ROWS {
        measure(row, &folder)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Measures a program with work of all sizes, and prints what it took.
fn measure(row: &Row, folder: &Path) -> Result<()> {
    std::fs::create_dir_all(folder)?;
    let bench = Bench { row, size: "", folder };
    let whole = folder.join(format!("{}.rro", row.guest.name));
    let mut compiler = Command::new(bench.command("riverrun-compile")?);
    let (_, compiling) = bench.cost(compiler.args(["--quiet", "-o"]).arg(&whole).arg(bench.guest()))?;
    let artifact = format!("--artifact={}", whole.display());
    for size in row.sizes {
        let bench = Bench { size, ..bench };
        let (expected, interpreted, _) = bench.run("interpreted", &["--engine=interp"])?;
        let (compiled, running, _) = bench.run("whole", &[&artifact])?;
        let cache = folder.join("tier-up");
        if cache.exists() {
            std::fs::remove_dir_all(&cache)?;
        }
        let (cold_output, cold, _) = bench.run("tier-up", &["--tier-up"])?;
        let (warm_output, warm, functions) = bench.run("tier-up", &["--tier-up"])?;
        for (name, output) in [("compiled", compiled), ("cold", cold_output), ("warm", warm_output)] {
            if output != expected {
                bail!("{}: {name}: {output:?} instead of {expected:?}", row.name);
            }
        }
        let costs = [interpreted, compiling, running, cold, warm];
        for (what, of) in [("s", (|cost| cost.wall) as fn(&Cost) -> f64), ("CPU s", |cost| cost.cpu)] {
            let cells: Vec<String> = costs.iter().map(|cost| format!("{:.2}", of(cost))).collect();
            println!("| {} | {size} | {what} | {} | {functions} |", row.name, cells.join(" | "));
        }
    }
    Ok(())
}

#[derive(Clone, Copy)]
struct Bench<'a> {
    row: &'a Row,
    size: &'a str,
    folder: &'a Path,
}

impl Bench<'_> {
    fn command(&self, name: &str) -> Result<PathBuf> {
        Ok(workspace::cargo_target_dir()?.join("release").join(name))
    }

    fn guest(&self) -> PathBuf {
        guests::path(self.row.guest.name, Target::Guest)
    }

    /// Runs the guest so, with a cache of this name: its output, what it took, and how many functions were compiled as it
    /// ran.
    fn run(&self, cache: &str, options: &[&str]) -> Result<(String, Cost, u64)> {
        let mut command = Command::new(self.command("riverrun")?);
        command.env("XDG_CACHE_HOME", self.folder.join(cache)).args(["run", "--stats=json"]).args(options);
        if let Some(script) = self.row.script {
            command.arg("--dir").arg(format!("{}:/bench:ro", workspace::root().join(SOURCES).display()));
            command.arg(self.guest()).arg(format!("/bench/{script}"));
        } else {
            command.arg(self.guest());
        }
        let (output, cost) = self.cost(command.arg(self.size))?;
        let stats = output.1.lines().last().unwrap_or_default();
        let stats: Value = serde_json::from_str(stats).with_context(|| format!("no statistics: {}", output.1))?;
        let functions = stats["tier_up"]["functions"].as_u64().unwrap_or(0);
        Ok((output.0, cost, functions))
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
