//! Measurements that a program of its own makes, because all engines have to be in one process for them. It is built with
//! the peers that can be had, and writes its figures to a file.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use peer_common::figures::Figures;

use crate::engine::cargo_build;
use crate::host::Host;
use crate::lab::Lab;
use crate::process;

const LIMIT: Duration = Duration::from_secs(600);

/// Builds a package with these peers, which are features of it, and runs it; the host just before, and the figures of `what`.
/// Peers that cannot be built are named among what is missing.
pub(crate) fn measure(
    lab: &mut Lab,
    package: &str,
    peers: &[&str],
    what: &str,
    arguments: &[&str],
) -> Result<(Host, Figures)> {
    lab.progress.show(&format!("building what measures {what}"));
    let begin = Instant::now();
    let mut missing = Vec::new();
    let program = build(lab, package, peers).or_else(|error| {
        // Which of them is it?
        let mut there = Vec::new();
        for &peer in peers {
            match build(lab, package, &[peer]) {
                Ok(_) => there.push(peer),
                Err(error) => missing.push((peer.to_owned(), format!("not built: {error:#}"))),
            }
        }
        if missing.is_empty() { Err(error) } else { build(lab, package, &there) }
    })?;
    lab.building += begin.elapsed();
    let host = Host::describe();
    lab.progress.show(what);
    fs::create_dir_all(&lab.setup.target_folder)?;
    let file = lab.setup.target_folder.join(package).with_extension("json");
    process::run(Command::new(program).arg("--json").arg(&file).args(arguments), LIMIT).context(package.to_owned())?;
    lab.progress.clear();
    let figures = serde_json::from_str(&fs::read_to_string(&file)?);
    let mut figures: Figures = figures.with_context(|| format!("figures of {what}"))?;
    figures.missing.extend(missing);
    Ok((host, figures))
}

fn build(lab: &Lab, package: &str, peers: &[&str]) -> Result<PathBuf> {
    let manifest = lab.setup.bench.join("Cargo.toml");
    let mut built = cargo_build(&manifest, &[package], "release", &lab.setup.cargo_folder, peers, &[])?;
    built.pop().context("it has no executable")
}
