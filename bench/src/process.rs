//! Running a command to its end, and what it took.

use std::ffi::OsString;
use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde::Serialize;
use wait4::Wait4;

/// A command line, made from words in which `{program}` and `{artifact}` stand for files.
pub(crate) fn command_line(words: &[OsString], program: &Path, artifact: &Path) -> Result<Command> {
    let word = |word: &OsString| -> OsString {
        match word.to_str() {
            Some("{program}") => program.into(),
            Some("{artifact}") => artifact.into(),
            _ => word.clone(),
        }
    };
    let (first, rest) = words.split_first().context("an empty command")?;
    let mut command = Command::new(word(first));
    command.args(rest.iter().map(word));
    Ok(command)
}

/// What a process took, with all processes that it waited for.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Usage {
    /// From its start to its end, in seconds.
    pub(crate) wall_seconds: f64,
    /// Processor time, user and system.
    pub(crate) cpu_seconds: f64,
    /// The largest resident set of any one process; at least this process's own, which Linux counts as the
    /// child's because they share it before the child's program is loaded.
    pub(crate) peak_bytes: u64,
}

/// What a process said.
pub(crate) struct Said {
    pub(crate) output: String,
    /// The last line of standard error.
    pub(crate) last_message: String,
}

/// Runs a command that succeeds and prints little: pipes never fill up before it ends.
///
/// # Errors
/// If it cannot be started, fails, or is not done after `limit`.
pub(crate) fn run(command: &mut Command, limit: Duration) -> Result<(Usage, Said)> {
    // Of a failure, what it is; not from where in the program it comes.
    command.env("RUST_BACKTRACE", "0");
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let start = Instant::now();
    let mut child = command.spawn().with_context(|| command.get_program().to_string_lossy().into_owned())?;
    let (done, until_done) = channel::<()>();
    let pid = Pid::from_raw(i32::try_from(child.id())?);
    let watchdog = std::thread::spawn(move || {
        let late = until_done.recv_timeout(limit) == Err(RecvTimeoutError::Timeout);
        // It may have ended just now: then there is nothing to be killed.
        late && kill(pid, Signal::SIGKILL).is_ok()
    });
    let (mut stdout, mut stderr) = (child.stdout.take(), child.stderr.take());
    let ended = child.wait4()?;
    let wall = start.elapsed();
    drop(done);
    if watchdog.join().unwrap_or(false) {
        bail!("took longer than {} s", limit.as_secs());
    }

    let (mut output, mut messages) = (String::new(), String::new());
    stdout.as_mut().context("no standard output")?.read_to_string(&mut output)?;
    stderr.as_mut().context("no standard error")?.read_to_string(&mut messages)?;
    let last_message = messages.lines().last().unwrap_or_default().to_owned();
    ensure!(ended.status.success(), "{}: {}", ended.status, in_one_line(&messages));
    let usage = Usage {
        wall_seconds: wall.as_secs_f64(),
        cpu_seconds: (ended.rusage.utime + ended.rusage.stime).as_secs_f64(),
        peak_bytes: ended.rusage.maxrss,
    };
    Ok((usage, Said { output, last_message }))
}

/// What a program said before it failed; its end, if that is long.
fn in_one_line(messages: &str) -> String {
    let lines: Vec<&str> = messages.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    lines[lines.len().saturating_sub(6)..].join(" ")
}
