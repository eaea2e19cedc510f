//! The newcomer's path: the README's commands for a project of one's own, run as it prints them, from a clone with nothing
//! built.

use std::path::PathBuf;
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result, bail, ensure};

use crate::workspace;

/// The path has so many commands at most.
const COMMANDS_MAX: usize = 3;

/// What the host prints last but one, when the guest's C++ function has called it and been called back.
const CALLED_BACK: &str = "guest: a new record";

/// `cargo xtask newcomer`: clones what is committed, and runs the commands there with nothing built and no crate
/// downloaded. Prints how long each takes, and how much of the processors' time, which says more where others use them.
pub(crate) fn command(args: &[String]) -> Result<()> {
    if !args.is_empty() {
        bail!("newcomer takes no arguments");
    }
    let folder = Folder::new()?;
    let clone = folder.0.join("riverrun");
    workspace::call(Command::new("git").args(["clone", "--quiet"]).arg(workspace::root()).arg(&clone))?;
    let readme = std::fs::read_to_string(clone.join("README.md"))?;
    let commands = commands(&readme)?;

    // What a newcomer has of the kind is Rust's own; what gets installed comes onto the path.
    let home = folder.0.join("cargo");
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::join_paths(std::iter::once(home.join("bin")).chain(std::env::split_paths(&path)))?;
    let account = folder.0.join("account");
    let mut times = Vec::new();
    let mut called_back = false;
    for command in &commands {
        println!("\n== {command}");
        let begin = Instant::now();
        let mut shell = Command::new("sh");
        // The shell's own account of its children.
        let accounted = format!("{command}\nstatus=$?; times > {}; exit $status", account.display());
        shell.args(["-c", &accounted]).current_dir(&clone).env("CARGO_HOME", &home).env("PATH", &path);
        for variable in ["CARGO", "CARGO_TARGET_DIR", "CARGO_BUILD_TARGET_DIR", "RUSTFLAGS", "RIVERRUN_CC"] {
            shell.env_remove(variable);
        }
        workspace::call_and_hear(&mut shell, |line| called_back |= line == CALLED_BACK)?;
        times.push((begin.elapsed().as_secs_f64(), processor_time(&std::fs::read_to_string(&account)?)?));
    }
    println!();
    let total = times.iter().fold((0.0, 0.0), |sum, time| (sum.0 + time.0, sum.1 + time.1));
    let lines = commands.iter().map(String::as_str).zip(times).chain([("in all", total)]);
    for (what, (time, processor)) in lines {
        println!("{time:>8.1} s, {processor:>6.1} s of processors  {what}");
    }
    ensure!(called_back, "the guest was not called back: nothing has printed `{CALLED_BACK}`");
    Ok(())
}

/// Seconds in what the shell's `times` prints: a line for itself, then one for its children, `1m2.3s 0m0.4s` for users and
/// system.
fn processor_time(times: &str) -> Result<f64> {
    let seconds = |word: &str| -> Option<f64> {
        let (minutes, seconds) = word.strip_suffix('s')?.split_once('m')?;
        Some(60.0 * minutes.parse::<f64>().ok()? + seconds.parse::<f64>().ok()?)
    };
    let children = times.lines().nth(1).map(|line| line.split_whitespace().map(seconds).sum::<Option<f64>>());
    children.flatten().with_context(|| format!("the shell's `times` prints something else: {times}"))
}

/// The commands of the section.
fn commands(readme: &str) -> Result<Vec<String>> {
    let (_, section) = readme.split_once("\n## A project of your own\n").context("README.md has no such section")?;
    let block = section.split("```").nth(1).and_then(|block| block.strip_prefix("sh\n"));
    let commands: Vec<String> = block.context("the section has no commands")?.lines().map(str::to_owned).collect();
    ensure!(commands.len() <= COMMANDS_MAX, "more than {COMMANDS_MAX} commands: {commands:?}");
    Ok(commands)
}

/// A folder that is empty at first, and gone afterwards.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Result<Folder> {
        let folder = std::env::temp_dir().join(format!("riverrun-newcomer-{}", std::process::id()));
        std::fs::create_dir(&folder).with_context(|| folder.display().to_string())?;
        Ok(Folder(folder))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_dir_all(&self.0) {
            eprintln!("xtask: {}: {error}", self.0.display());
        }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn times_are_read() {
        assert_eq!(super::processor_time("0m0.00s 0m0.01s\n2m1.50s 0m3.25s\n").unwrap(), 124.75);
        assert!(super::processor_time("nothing").is_err());
    }

    #[test]
    fn the_path_is_short() {
        let commands = super::commands(include_str!("../../README.md")).unwrap();
        assert_eq!(commands.last().unwrap(), "cd hello && cargo run");
    }
}
