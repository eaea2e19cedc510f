//! Running a command to its end, and what it took.

use std::ffi::OsString;
use std::fs::File;
use std::io::{Read, Seek};
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
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

/// A process that has ended.
pub(crate) struct Ended {
    pub(crate) status: ExitStatus,
    pub(crate) usage: Usage,
    pub(crate) output: String,
    /// What it said on standard error.
    pub(crate) messages: String,
}

impl Ended {
    /// The last line of standard error.
    pub(crate) fn last_message(&self) -> &str {
        self.messages.lines().last().unwrap_or_default()
    }
}

/// Runs a command that succeeds.
///
/// # Errors
/// As [`end`], and if it fails, with the end of what it said.
pub(crate) fn run(command: &mut Command, limit: Duration) -> Result<Ended> {
    let ended = end(command, limit)?;
    ensure!(ended.status.success(), "{}: {}", ended.status, in_one_line(&ended.messages));
    Ok(ended)
}

/// Runs a command to its end, however it ends.
///
/// # Errors
/// If it cannot be started, or is not done after `limit`; it is killed then.
pub(crate) fn end(command: &mut Command, limit: Duration) -> Result<Ended> {
    // Of a failure, what it is; not from where in the program it comes.
    command.env("RUST_BACKTRACE", "0");
    // Files and no pipes, which could fill up, or be kept open by what the process leaves behind.
    let (mut output, mut messages) = (tempfile::tempfile()?, tempfile::tempfile()?);
    command.stdin(Stdio::null()).stdout(output.try_clone()?).stderr(messages.try_clone()?);
    let start = Instant::now();
    let child = command.spawn().with_context(|| command.get_program().to_string_lossy().into_owned())?;
    let (done, until_done) = channel::<()>();
    let pid = Pid::from_raw(i32::try_from(child.id())?);
    let watchdog = std::thread::spawn(move || {
        let late = until_done.recv_timeout(limit) == Err(RecvTimeoutError::Timeout);
        // It may have ended just now: then there is nothing to be killed.
        late && kill(pid, Signal::SIGKILL).is_ok()
    });
    let ended = child.wait4()?;
    let wall = start.elapsed();
    drop(done);
    let is_late = watchdog.join().unwrap_or(false);

    let (output, messages) = (text(&mut output)?, text(&mut messages)?);
    if is_late {
        let last = in_one_line(messages.lines().last().unwrap_or_default());
        let said = if last.is_empty() { String::new() } else { format!("; the last that it said: {last}") };
        bail!("took longer than {} s{said}", limit.as_secs());
    }
    let usage = Usage {
        wall_seconds: wall.as_secs_f64(),
        cpu_seconds: (ended.rusage.utime + ended.rusage.stime).as_secs_f64(),
        peak_bytes: ended.rusage.maxrss,
    };
    Ok(Ended { status: ended.status, usage, output, messages })
}

/// All that is in a file.
fn text(file: &mut File) -> Result<String> {
    let mut bytes = Vec::new();
    file.rewind()?;
    file.read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// What a program said before it failed; its end, if that is long.
fn in_one_line(messages: &str) -> String {
    let lines: Vec<&str> = messages.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    lines[lines.len().saturating_sub(6)..].join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str, limit: Duration) -> Result<Ended> {
        run(Command::new("sh").args(["-c", script]), limit)
    }

    const LONG: Duration = Duration::from_secs(600);

    #[test]
    fn what_a_process_leaves_behind_is_not_waited_for() {
        let begin = Instant::now();
        let ended = shell("sleep 300 & echo out; echo first >&2; echo last >&2", LONG).unwrap();
        assert!(begin.elapsed() < Duration::from_secs(250));
        assert_eq!((ended.output.as_str(), ended.last_message()), ("out\n", "last"));
    }

    #[test]
    fn much_output_is_no_reason_to_hang() {
        let ended = shell("head -c 1000000 /dev/zero | tr '\\0' x", LONG).unwrap();
        assert_eq!(ended.output.len(), 1_000_000);
    }

    #[test]
    fn failures_and_delays_are_told_with_the_last_words() {
        let error = shell("echo why >&2; exit 3", LONG).err().unwrap().to_string();
        assert_eq!(error, "exit status: 3: why");
        let error = shell("echo waiting >&2; exec sleep 300", Duration::from_millis(200)).err().unwrap().to_string();
        assert!(error.starts_with("took longer than 0 s"), "{error}");
    }
}
