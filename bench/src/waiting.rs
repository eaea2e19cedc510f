//! Calls that wait for the host: a program of its own (`peers/waiting`) measures them, each engine in a process.

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
use crate::options::Options;
use crate::process;
use crate::toolchain::first_line;

const PACKAGE: &str = "bench-waiting";
/// The peer: a feature of the package, and the crate whose version says what was measured.
const PEER: &str = "wasmtime";
const LIMIT: Duration = Duration::from_secs(600);
/// Calls that wait at once.
const COUNT: &str = "10000";
const QUICK: &str = "500";

pub(crate) fn run(lab: &mut Lab, options: &Options) -> Result<FiguresReport> {
    lab.progress.show("building what measures waiting calls");
    let begin = Instant::now();
    let mut missing = Vec::new();
    let command = build(lab, &[PEER]).or_else(|error| {
        missing.push((PEER.to_owned(), format!("not built: {error:#}")));
        build(lab, &[])
    })?;
    lab.building += begin.elapsed();
    let host = Host::describe();
    lab.progress.show("calls that wait for the host");
    fs::create_dir_all(&lab.setup.target_folder)?;
    let file = lab.setup.target_folder.join("waiting.json");
    let mut command = Command::new(command);
    command.arg("--json").arg(&file).arg(if options.quick { QUICK } else { COUNT });
    process::run(&mut command, LIMIT).context(PACKAGE)?;
    lab.progress.clear();
    let mut figures: Figures = serde_json::from_str(&fs::read_to_string(&file)?).context("figures of waiting calls")?;
    figures.missing.extend(missing);
    let guest = first_line("riscv64-linux-gnu-gcc", &["--version"])?;
    let versions = vec![
        format!("riverrun {}", riverrun::version(&lab.setup)?),
        format!("{PEER} {}", lab.setup.crates.version(PEER)),
        format!("tokio {}", lab.setup.crates.version("tokio")),
        format!("the guest: {guest} -O2"),
    ];
    Ok(FiguresReport {
        title: "Waiting",
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
