//! A turn: both contestants at once on one processor.
//!
//! The kernel gives each of them some milliseconds in turn. Anything that slows the processor for longer than that (a
//! neighbour on the same core, other virtual machines) slows both alike and leaves their ratio unchanged: on a machine with
//! twice as many runnable processes as processors, ratios scatter a third as much as if one ran after the other.

use std::ffi::OsString;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdout, Command, Stdio};

use rustix::thread::{CpuSet, sched_getaffinity, sched_getcpu, sched_setaffinity};

use super::options::Turn;
use super::sample::{READY, Sample};
use crate::Result;

/// Makes turns, by starting this command again with the same arguments.
pub(crate) struct Table<'a> {
    pub(crate) arguments: &'a [OsString],
    /// Turns so far.
    pub(crate) count: u64,
}

impl Table<'_> {
    /// Lets both do their work so many times. Who is started first changes from turn to turn, in the order A B, B A,
    /// B A, A B.
    pub(crate) fn turn(&mut self, repetitions: u64) -> Result<[Sample; 2]> {
        let first = [0, 1, 1, 0][(self.count % 4) as usize];
        let seed = self.count;
        self.count += 1;
        let mut players = {
            let _pinned = Pinned::here()?;
            let start = |contestant| Player::start(self.arguments, Turn { contestant, repetitions, seed });
            [start(first)?, start(1 - first)?]
        };
        for player in &mut players {
            player.wait_until_ready()?;
        }
        for player in &mut players {
            player.go();
        }
        let [one, other] = players;
        let (one, other) = (one.sample()?, other.sample()?);
        Ok(if first == 0 { [one, other] } else { [other, one] })
    }
}

/// The processor that this thread, and what it starts, is bound to for a while.
struct Pinned {
    before: CpuSet,
}

impl Pinned {
    /// Where it runs now: it has just been woken up, so that is where the kernel thought there was room.
    fn here() -> Result<Pinned> {
        let failed = |error| format!("binding to a processor: {error}");
        let before = sched_getaffinity(None).map_err(failed)?;
        let mut here = CpuSet::new();
        here.set(sched_getcpu());
        sched_setaffinity(None, &here).map_err(failed)?;
        Ok(Pinned { before })
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        // It was so before.
        let _ = sched_setaffinity(None, &self.before);
    }
}

/// A process that measures one of the two. It ends with this.
struct Player {
    child: Child,
    stdout: BufReader<ChildStdout>,
}

impl Player {
    fn start(arguments: &[OsString], turn: Turn) -> Result<Player> {
        let this = std::env::current_exe().map_err(|error| format!("this command's own file: {error}"))?;
        let mut command = Command::new(this);
        command.arg("bench").arg(turn.option()).args(arguments);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(|error| format!("starting a process to measure: {error}"))?;
        let stdout = child.stdout.take().ok_or("no pipe")?;
        Ok(Player { child, stdout: BufReader::new(stdout) })
    }

    fn wait_until_ready(&mut self) -> Result<()> {
        let mut line = String::new();
        self.stdout.read_line(&mut line)?;
        if line.trim_end() == READY { Ok(()) } else { Err(self.complaint().into()) }
    }

    fn go(&mut self) {
        if let Some(mut stdin) = self.child.stdin.take() {
            // One that has failed says so instead of a sample.
            let _ = stdin.write_all(b"\n");
        }
    }

    fn sample(mut self) -> Result<Sample> {
        let mut line = String::new();
        self.stdout.read_line(&mut line)?;
        let sample = serde_json::from_str(&line).map_err(|_| self.complaint())?;
        self.child.wait()?;
        Ok(sample)
    }

    /// Why there is nothing.
    fn complaint(&mut self) -> String {
        let mut text = String::new();
        if let Some(mut stderr) = self.child.stderr.take() {
            // An output that cannot be read is missing, nothing worse.
            let _ = stderr.read_to_string(&mut text);
        }
        let status = self.child.wait();
        match text.trim_end().strip_prefix("riverrun: ") {
            Some(reason) => reason.to_owned(),
            None => match status {
                Ok(status) => format!("the process that measures ended: {status}; {}", text.trim_end()),
                Err(error) => error.to_string(),
            },
        }
    }
}

impl Drop for Player {
    fn drop(&mut self) {
        // It may have ended already; if the other one has failed, it need not go on.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
