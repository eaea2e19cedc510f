//! What all engines have in common: commands that translate and run a program, and a clock.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};

use crate::process::{self, Usage};
use crate::program::{Crates, Work};
use crate::toolchain::Target;

/// A way to run programs. One small file each in `engines/`.
pub(crate) trait Engine {
    /// Its name in options and reports.
    fn name(&self) -> &'static str;

    /// What it runs.
    fn target(&self) -> Target;

    /// How it works, which says what it is compared with.
    fn kind(&self) -> Kind;

    /// Whether a few rounds suffice: for what takes long, or is compared with riverrun alone.
    fn has_few_rounds(&self) -> bool {
        self.kind() == Kind::Interpreter
    }

    /// Whether the command line's `--quick` leaves it out: it takes long to build or to compile for, and shows
    /// nothing but what another one does.
    fn is_left_out_of_quick(&self) -> bool {
        false
    }

    /// Why it is measured only where the command line names it, if that is so.
    fn only_if_named(&self) -> Option<&'static str> {
        None
    }

    /// Builds it.
    ///
    /// # Errors
    /// Says why it cannot be had; the report then lists it with that reason.
    fn prepare(&self, setup: &Setup) -> Result<Ready>;
}

/// How an engine works.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Kind {
    /// It makes machine code of a program, beforehand or as it runs.
    Compiler,
    /// It makes none.
    Interpreter,
}

/// What engines are built with.
pub(crate) struct Setup {
    /// The folder of this workspace.
    pub(crate) bench: PathBuf,
    /// Where cargo builds: in the folder of riverrun's own workspace, so that what was built there is not built again.
    pub(crate) cargo_folder: PathBuf,
    /// Where all else goes that is made.
    pub(crate) target_folder: PathBuf,
    pub(crate) crates: Crates,
}

/// An engine that can run.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Ready {
    /// The command, in which `{program}` and `{artifact}` stand for files; the program's arguments follow.
    #[serde(skip)]
    pub(crate) command: Vec<OsString>,
    /// Variables for it and for its translator.
    #[serde(skip)]
    pub(crate) environment: Vec<(&'static str, PathBuf)>,
    /// The command that makes the file `{artifact}` from `{program}`, for engines that need one. It is run
    /// afresh in each measurement.
    #[serde(skip)]
    pub(crate) translator: Option<Vec<OsString>>,
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

/// A program in the forms that an engine needs.
#[derive(Clone, Debug)]
pub(crate) struct Loadable {
    pub(crate) program: PathBuf,
    pub(crate) artifact: PathBuf,
}

/// Runs that take less, in seconds, are made [`RUNS_IF_BRIEF`] times at once.
const BRIEF: f64 = 0.5;
/// How often.
const RUNS_IF_BRIEF: usize = 3;

/// One run, with the expected output.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Sample {
    /// Processor time.
    pub(crate) seconds: f64,
    /// Guest instructions, where the engine counts them.
    pub(crate) instructions: Option<u64>,
    /// The part of the heap's memory that was not asked for when most was, if it is one that the engine keeps.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) fragmentation: Option<f64>,
}

/// The last line that an engine with statistics prints on standard error.
#[derive(Deserialize)]
struct Stats {
    instructions: Option<u64>,
    cpu_seconds: Option<f64>,
    heap: Option<HeapStats>,
}

/// Of the heap that an engine keeps for its guest.
#[derive(Deserialize)]
struct HeapStats {
    fragmentation: f64,
}

/// No run takes longer, in wall time.
const RUN_LIMIT: Duration = Duration::from_secs(600);

/// No translation takes longer, in wall time.
const TRANSLATION_LIMIT: Duration = Duration::from_secs(900);

/// No engine takes longer to build, in wall time.
const BUILD_LIMIT: Duration = Duration::from_secs(3600);

impl Ready {
    /// Makes what the engine needs of `program`, in `folder`, and says what that took; nothing where the
    /// engine takes programs as they are.
    ///
    /// # Errors
    /// If the translator fails.
    pub(crate) fn translate(&self, program: &Path, folder: &Path) -> Result<(Loadable, Option<Usage>)> {
        let artifact = folder.join(program.file_name().unwrap_or_default()).with_extension("artifact");
        let loadable = Loadable { program: program.to_owned(), artifact };
        let Some(translator) = &self.translator else { return Ok((loadable, None)) };
        fs::create_dir_all(folder)?;
        if loadable.artifact.exists() {
            fs::remove_file(&loadable.artifact)?;
        }
        let mut command = process::command_line(translator, &loadable.program, &loadable.artifact)?;
        command.envs(self.environment.iter().cloned());
        let translated = process::run(&mut command, TRANSLATION_LIMIT).context("translating it")?;
        Ok((loadable, Some(translated.usage)))
    }

    /// Runs a program once and gives what the process took, and the statistics that it printed.
    ///
    /// # Errors
    /// If it fails, takes too long, or prints anything but the expected line.
    pub(crate) fn run_process(&self, loadable: &Loadable, work: &Work) -> Result<(Usage, String)> {
        let mut command = process::command_line(&self.command, &loadable.program, &loadable.artifact)?;
        command.envs(self.environment.iter().cloned());
        let ended = process::run(command.arg(&work.size), RUN_LIMIT)?;
        let output = ended.output.trim_end();
        ensure!(output == work.expected, "wrong checksum: {output:?} instead of {:?}", work.expected);
        Ok((ended.usage, ended.last_message().to_owned()))
    }

    /// Runs a program, three times if it is brief, and gives the least time: what disturbs a run only ever adds.
    ///
    /// # Errors
    /// As [`Ready::run_process`]; or if the engine's statistics are missing.
    pub(crate) fn run(&self, loadable: &Loadable, work: &Work) -> Result<Sample> {
        let mut least = self.run_once(loadable, work)?;
        for _ in 1..RUNS_IF_BRIEF {
            if least.seconds < BRIEF {
                let other = self.run_once(loadable, work)?;
                least = if other.seconds < least.seconds { other } else { least };
            }
        }
        Ok(least)
    }

    /// Runs a program once, by this engine's clock.
    fn run_once(&self, loadable: &Loadable, work: &Work) -> Result<Sample> {
        let (usage, last_message) = self.run_process(loadable, work)?;
        let stats: Option<Stats> = match self.clock {
            Clock::Guest => {
                Some(serde_json::from_str(&last_message).context("no statistics on the last line of standard error")?)
            }
            Clock::Process => None,
        };
        Ok(Sample {
            seconds: stats.as_ref().and_then(|stats| stats.cpu_seconds).unwrap_or(usage.cpu_seconds),
            instructions: stats.as_ref().and_then(|stats| stats.instructions),
            fragmentation: stats.and_then(|stats| stats.heap).map(|heap| heap.fragmentation),
        })
    }
}

/// Builds a peer that needs nothing special, and returns its executable.
///
/// # Errors
/// Has cargo's first line of one.
pub(crate) fn build_peer(setup: &Setup, package: &str, profile: &str) -> Result<PathBuf> {
    cargo_build(&setup.bench.join("Cargo.toml"), &[package], profile, &setup.cargo_folder, &[], &[])?
        .pop()
        .with_context(|| format!("{package} has no executable"))
}

/// Builds packages of the workspace at `manifest` with cargo, with these features and no others, and returns their
/// executables.
///
/// # Errors
/// Has cargo's first line of one.
pub(crate) fn cargo_build(
    manifest: &Path,
    packages: &[&str],
    profile: &str,
    folder: &Path,
    features: &[&str],
    environment: &[(&str, &str)],
) -> Result<Vec<PathBuf>> {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or("cargo".into()));
    command
        .args(["build", "--locked", "--message-format=json-render-diagnostics", "--profile", profile])
        .args(packages.iter().flat_map(|package| ["--package", package]))
        .args(["--no-default-features", "--features", &features.join(",")])
        .arg("--manifest-path")
        .arg(manifest)
        .arg("--target-dir")
        .arg(folder)
        .envs(environment.iter().copied());
    let names = packages.join(" and ");
    let ended = process::end(&mut command, BUILD_LIMIT).with_context(|| format!("building {names}"))?;
    let reason = ended.messages.lines().find(|line| line.starts_with("error")).unwrap_or("cargo failed in silence");
    ensure!(ended.status.success(), "building {names}: {reason}");
    let messages: Vec<cargo_metadata::Message> =
        cargo_metadata::Message::parse_stream(ended.output.as_bytes()).collect::<Result<_, _>>()?;
    let executable = |message| match message {
        cargo_metadata::Message::CompilerArtifact(artifact) => Some(artifact.executable?.into_std_path_buf()),
        _ => None,
    };
    Ok(messages.into_iter().filter_map(executable).collect())
}

/// A command's words.
pub(crate) fn words(words: &[&str]) -> Vec<OsString> {
    words.iter().map(OsString::from).collect()
}
