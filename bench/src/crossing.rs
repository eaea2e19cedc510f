//! Calls between host and guest, and dynamic calls: a program of its own (`peers/crossing`) measures them, as all
//! engines have to be in one process for that.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use peer_common::figures::Figures;

use crate::engine::cargo_build;
use crate::engines::riverrun;
use crate::figures::FiguresReport;
use crate::host::Host;
use crate::lab::Lab;
use crate::process;
use crate::toolchain::first_line;

const PACKAGE: &str = "bench-crossing";

/// The peers: features of the package, each with a crate whose version says what was measured, if it has one.
const PEERS: [(&str, Option<&str>); 4] = [
    ("libriscv", Some("libriscv")),
    ("lua", None),
    ("wasmtime", Some("wasmtime")),
    ("wasmtime-c", Some("wasmtime-c-api-impl")),
];

const LIMIT: Duration = Duration::from_secs(600);

pub(crate) fn run(lab: &mut Lab) -> Result<FiguresReport> {
    lab.progress.show("building what measures calls");
    let begin = Instant::now();
    let all = PEERS.map(|(peer, _)| peer);
    let mut missing = Vec::new();
    let command = build(lab, &all).or_else(|error| {
        // Which of them is it?
        let mut there = Vec::new();
        for peer in all {
            match build(lab, &[peer]) {
                Ok(_) => there.push(peer),
                Err(error) => missing.push((peer.to_owned(), format!("not built: {error:#}"))),
            }
        }
        if missing.is_empty() { Err(error) } else { build(lab, &there) }
    })?;
    lab.building += begin.elapsed();
    let host = Host::describe();
    lab.progress.show("calls between host and guest");
    fs::create_dir_all(&lab.setup.target_folder)?;
    let file = lab.setup.target_folder.join("crossing.json");
    let mut command = Command::new(command);
    process::run(command.arg("--json").arg(&file), LIMIT).context(PACKAGE)?;
    lab.progress.clear();
    let mut figures: Figures = serde_json::from_str(&fs::read_to_string(&file)?).context("figures of calls")?;
    figures.missing.extend(missing);
    let version = |(peer, package): &(&str, Option<&str>)| match package {
        Some(package) => format!("{peer} {}", lab.setup.crates.version(package)),
        None => format!("{peer}: the system's shared libraries of Lua 5.4 and LuaJIT 2.1, by their C API"),
    };
    let mut versions = vec![format!("riverrun {}", riverrun::version(&lab.setup)?)];
    versions.extend(PEERS.iter().map(version));
    for (what, compiler) in [("the guest", "riscv64-linux-gnu-gcc"), ("calls in C and C++", "cc")] {
        versions.push(format!("{what}: {} -O2", first_line(compiler, &["--version"])?));
    }
    Ok(FiguresReport {
        title: "Crossings",
        host,
        engines: Vec::new(),
        toolchains: Vec::new(),
        versions,
        figures,
        failures: Vec::new(),
    })
}

fn build(lab: &Lab, peers: &[&str]) -> Result<PathBuf> {
    let manifest = lab.setup.bench.join("Cargo.toml");
    let mut built = cargo_build(&manifest, &[PACKAGE], "release", &lab.setup.cargo_folder, peers, &[])?;
    built.pop().context("it has no executable")
}
