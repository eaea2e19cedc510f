//! What all engines have in common: a command that runs a program, and a clock.

use std::ffi::OsString;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeVal;
use serde::{Deserialize, Serialize};

use crate::program::Crates;
use crate::toolchain::Target;

/// A way to run programs. One small file each in `engines/`.
pub(crate) trait Engine {
    /// Its name in options and reports.
    fn name(&self) -> &'static str;

    /// What it runs.
    fn target(&self) -> Target;

    /// Builds it.
    ///
    /// # Errors
    /// Says why it cannot be had; the report then lists it with that reason.
    fn prepare(&self, setup: &Setup) -> Result<Ready>;
}

/// What engines are built with.
pub(crate) struct Setup {
    /// The folder of this workspace.
    pub(crate) bench: PathBuf,
    /// Where the engines are built.
    pub(crate) target_folder: PathBuf,
    pub(crate) crates: Crates,
}

/// An engine that can run.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Ready {
    /// The command; the program and its arguments follow.
    #[serde(skip)]
    pub(crate) command: Vec<OsString>,
    pub(crate) version: String,
    /// How it was built and what it was told.
    pub(crate) configuration: String,
    pub(crate) clock: Clock,
}

/// What is timed. Always processor time, user and system, so that other processes matter less.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(crate) enum Clock {
    /// The guest's run, as the last line of standard error has it (`cpu_seconds`); where that line
    /// lacks it, the whole process.
    #[serde(rename = "the guest's run")]
    Guest,
    /// The whole process: its start, translation and run.
    #[serde(rename = "the whole process")]
    Process,
}

/// One run, with the expected output.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Sample {
    /// Processor time.
    pub(crate) seconds: f64,
    /// Guest instructions, where the engine counts them.
    pub(crate) instructions: Option<u64>,
}

/// The last line that an engine with statistics prints on standard error.
#[derive(Deserialize)]
struct Stats {
    instructions: Option<u64>,
    cpu_seconds: Option<f64>,
}

/// No run takes longer, in wall time.
const TIME_LIMIT: Duration = Duration::from_secs(120);

impl Ready {
    /// Runs `program` once.
    ///
    /// # Errors
    /// If it fails, takes too long, or prints anything but the `expected` line.
    pub(crate) fn run(&self, program: &Path, size: &str, expected: &str) -> Result<Sample> {
        let (command, arguments) = self.command.split_first().map_or((program.as_os_str(), &[][..]), |(c, a)| (c, a));
        let mut process = Command::new(command);
        process.args(arguments);
        if !self.command.is_empty() {
            process.arg(program);
        }
        process.arg(size).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());

        let before = children_cpu_seconds()?;
        let start = Instant::now();
        let mut child = process.spawn().with_context(|| command.to_string_lossy().into_owned())?;
        let status = loop {
            if let Some(status) = child.try_wait()? {
                break status;
            }
            if start.elapsed() > TIME_LIMIT {
                child.kill()?;
                child.wait()?;
                bail!("took longer than {} s", TIME_LIMIT.as_secs());
            }
            std::thread::sleep(Duration::from_millis(2));
        };
        let process_seconds = children_cpu_seconds()? - before;

        // A program prints one line, so that pipes never fill up before it ends.
        let (mut output, mut messages) = (String::new(), String::new());
        child.stdout.take().context("no standard output")?.read_to_string(&mut output)?;
        child.stderr.take().context("no standard error")?.read_to_string(&mut messages)?;
        let last = messages.lines().last().unwrap_or_default();
        ensure!(status.success(), "{status}: {last}");
        ensure!(output.trim_end() == expected, "wrong checksum: {:?} instead of {expected:?}", output.trim_end());

        let stats: Option<Stats> = match self.clock {
            Clock::Guest => {
                Some(serde_json::from_str(last).context("no statistics on the last line of standard error")?)
            }
            Clock::Process => None,
        };
        Ok(Sample {
            seconds: stats.as_ref().and_then(|stats| stats.cpu_seconds).unwrap_or(process_seconds),
            instructions: stats.and_then(|stats| stats.instructions),
        })
    }
}

/// Processor time of all processes that were started and waited for.
fn children_cpu_seconds() -> Result<f64> {
    let seconds = |time: TimeVal| time.tv_sec() as f64 + time.tv_usec() as f64 * 1e-6;
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN)?;
    Ok(seconds(usage.user_time()) + seconds(usage.system_time()))
}

/// Builds the package `package` of the workspace at `manifest` with cargo and returns its executable.
pub(crate) fn cargo_build(
    manifest: &Path,
    package: &str,
    profile: &str,
    folder: &Path,
    features: &[&str],
    environment: &[(&str, &str)],
) -> Result<PathBuf> {
    let output = Command::new(std::env::var_os("CARGO").unwrap_or("cargo".into()))
        .args([
            "build",
            "--locked",
            "--message-format=json-render-diagnostics",
            "--package",
            package,
            "--profile",
            profile,
        ])
        .args(["--features", &features.join(",")])
        .arg("--manifest-path")
        .arg(manifest)
        .arg("--target-dir")
        .arg(folder)
        .envs(environment.iter().copied())
        .output()
        .context("running cargo")?;
    let messages = String::from_utf8_lossy(&output.stderr);
    let reason = messages.lines().find(|line| line.starts_with("error")).unwrap_or("cargo failed in silence");
    ensure!(output.status.success(), "building {package}: {reason}");
    let messages: Vec<cargo_metadata::Message> =
        cargo_metadata::Message::parse_stream(&output.stdout[..]).collect::<Result<_, _>>()?;
    let executable = messages.into_iter().rev().find_map(|message| match message {
        cargo_metadata::Message::CompilerArtifact(artifact) => artifact.executable,
        _ => None,
    });
    Ok(executable.with_context(|| format!("{package} has no executable"))?.into_std_path_buf())
}
