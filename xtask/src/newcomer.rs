//! The newcomer's path: the commands that the README has for a project of one's own, run as it prints them, by somebody
//! who has nothing yet.

use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

use crate::workspace;

/// The path has so many commands at most.
const COMMANDS_MAX: usize = 3;

/// What the host prints last but one, when the guest's C++ function has called it and been called back.
const CALLED_BACK: &str = "guest: a new record";

/// `cargo xtask newcomer`: clones what is committed, and runs the commands there with nothing built and no crate
/// downloaded. Prints how long each takes.
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
    let mut times = Vec::new();
    let mut called_back = false;
    for command in &commands {
        println!("\n== {command}");
        let begin = Instant::now();
        let mut shell = Command::new("sh");
        shell.args(["-c", command]).current_dir(&clone).env("CARGO_HOME", &home).env("PATH", &path);
        for variable in ["CARGO", "CARGO_TARGET_DIR", "CARGO_BUILD_TARGET_DIR", "RUSTFLAGS", "RIVERRUN_CC"] {
            shell.env_remove(variable);
        }
        workspace::call_and_hear(&mut shell, |line| called_back |= line == CALLED_BACK)?;
        times.push(begin.elapsed());
    }
    println!();
    for (command, time) in commands.iter().zip(&times) {
        println!("{:>8.1} s  {command}", time.as_secs_f64());
    }
    println!("{:>8.1} s  in all", times.iter().sum::<Duration>().as_secs_f64());
    ensure!(called_back, "the guest was not called back: nothing has printed `{CALLED_BACK}`");
    Ok(())
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
    fn the_path_is_short() {
        let commands = super::commands(include_str!("../../README.md")).unwrap();
        assert_eq!(commands.last().unwrap(), "cd hello && cargo run");
    }
}
