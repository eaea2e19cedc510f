//! Where things lie, and how other programs are called.

use std::ffi::OsStr;
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use serde_json::Value;

/// The repository's root.
pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in a folder of the workspace")
}

/// `cargo`, the one that runs this program, in the repository's root.
pub(crate) fn cargo() -> Command {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.current_dir(root());
    command
}

/// Runs `cargo metadata` on a manifest, given relative to the root.
pub(crate) fn metadata(manifest: &str, extra: &[&str]) -> Result<Value> {
    let mut command = cargo();
    command.args(["metadata", "--format-version=1", "--manifest-path"]).arg(root().join(manifest)).args(extra);
    let output = stdout_of(&mut command)?;
    serde_json::from_slice(&output).context("cargo metadata printed no JSON")
}

/// Where Cargo puts the workspace's own artifacts; the environment may have moved it.
pub(crate) fn cargo_target_dir() -> Result<PathBuf> {
    let metadata = metadata("Cargo.toml", &["--no-deps"])?;
    let directory = metadata["target_directory"].as_str().context("cargo metadata names no target directory")?;
    Ok(directory.into())
}

/// Runs a command to its end and returns its standard output.
///
/// # Errors
/// If it cannot be started, or fails; the error carries its standard error.
pub(crate) fn stdout_of(command: &mut Command) -> Result<Vec<u8>> {
    let output = command.output().with_context(|| format!("cannot start {}", shown(command)))?;
    if !output.status.success() {
        bail!("{} failed ({})\n{}", shown(command), output.status, String::from_utf8_lossy(&output.stderr).trim_end());
    }
    Ok(output.stdout)
}

/// Runs a command that talks to the terminal itself.
///
/// # Errors
/// If it cannot be started, or fails.
pub(crate) fn call(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| format!("cannot start {}", shown(command)))?;
    if !status.success() {
        bail!("{} failed ({status})", shown(command));
    }
    Ok(())
}

/// Runs a command as [`call`] does, and shows each line of its output, errors included, to `hear` too.
///
/// # Errors
/// If it cannot be started, or fails.
pub(crate) fn call_and_hear(command: &mut Command, mut hear: impl FnMut(&str)) -> Result<()> {
    let (reader, writer) = io::pipe()?;
    let errors = writer.try_clone()?;
    let started = command.stdout(writer).stderr(errors).spawn();
    let mut child = started.with_context(|| format!("cannot start {}", shown(command)))?;
    // The command holds the pipe's other end too.
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let mut out = io::stdout().lock();
    for line in BufReader::new(reader).split(b'\n') {
        let line = line?;
        let line = String::from_utf8_lossy(&line);
        // If the reader of the output is gone, the status still counts.
        let _ = writeln!(out, "{line}");
        hear(&line);
    }
    let status = child.wait()?;
    if !status.success() {
        bail!("{} failed ({status})", shown(command));
    }
    Ok(())
}

/// A command as one would type it, for messages.
pub(crate) fn shown(command: &Command) -> String {
    let program = Path::new(command.get_program());
    let name = program.file_name().unwrap_or(program.as_os_str());
    let words = std::iter::once(name).chain(command.get_args());
    words.map(OsStr::to_string_lossy).collect::<Vec<_>>().join(" ")
}
