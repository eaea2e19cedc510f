//! The timer of real time (`ITIMER_REAL`), which `alarm` sets: it sends SIGALRM.
//!
//! System calls look at it ([`crate::add_to_linker`]): the signal is delivered at the first call that begins, waits or
//! ends once the time has come.

use std::time::{Duration, Instant};

use riverrun::Memory;
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use crate::Linux;
use crate::abi::{Layout, load_words, signal};
use crate::call::{Alarm, Call, Outcome, Stop};

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Timer {
    /// When it sends the signal next, in time since the guest's start.
    at: Option<Duration>,
    /// From one signal to the next; zero for a single one.
    interval: Duration,
}

impl Linux {
    /// Sends the signal if its time has come.
    pub(crate) fn look_at_timer(&mut self, instructions: u64) {
        let now = self.clock.uptime(instructions);
        let Some(at) = self.timer.at.filter(|&at| at <= now) else { return };
        self.signals.raise(signal::SIGALRM);
        let interval = self.timer.interval.as_nanos();
        self.timer.at = (interval != 0).then(|| {
            let passed = (now - at).as_nanos() / interval + 1;
            at.saturating_add(Duration::from_nanos(u64::try_from(passed * interval).unwrap_or(u64::MAX)))
        });
    }

    /// When the timer interrupts a call that waits with these signals blocked.
    pub(crate) fn alarm(&self, blocked: u64, instructions: u64) -> Option<Alarm> {
        let at = self.timer.at.filter(|_| self.signals.interrupts(signal::SIGALRM, blocked))?;
        let span = at.saturating_sub(self.clock.uptime(instructions));
        Some(Alarm { at: Instant::now().checked_add(span)?, span })
    }

    /// How long until the timer sends its signal.
    pub(crate) fn until_signal(&self, instructions: u64) -> Option<Duration> {
        Some(self.timer.at?.saturating_sub(self.clock.uptime(instructions)))
    }
}

fn span(memory: &Memory, address: u64) -> Result<Duration, Stop> {
    let [seconds, microseconds] = load_words(memory, address)?;
    match (i64::try_from(seconds), microseconds) {
        (Ok(_), 0..1_000_000) => Ok(Duration::new(seconds, microseconds as u32 * 1000)),
        _ => Err(Errno::INVAL.into()),
    }
}

/// Fails for timers of the processor's time, which are not provided.
fn check_kind(kind: i32) -> Result<(), Stop> {
    match kind {
        0 => Ok(()),
        1 | 2 => Err(Errno::NOSYS.into()),
        _ => Err(Errno::INVAL.into()),
    }
}

/// `struct itimerval` of the timer as it is.
fn current(call: &Call<'_>) -> Layout {
    let left = call.linux.until_signal(call.instructions).unwrap_or_default();
    Layout::new().timeval(call.linux.timer.interval).timeval(left)
}

pub(crate) fn getitimer(call: &mut Call<'_>) -> Outcome {
    check_kind(call.int(0))?;
    current(call).store(call.memory, call.args[1])
}

pub(crate) fn setitimer(call: &mut Call<'_>) -> Outcome {
    check_kind(call.int(0))?;
    let [_, new, old, ..] = call.args;
    let (interval, value) = match new {
        0 => Default::default(),
        address => (span(call.memory, address)?, span(call.memory, address.wrapping_add(16))?),
    };
    let before = current(call);
    let now = call.uptime();
    call.linux.timer = Timer { at: (!value.is_zero()).then(|| now.saturating_add(value)), interval };
    match old {
        0 => Ok(0),
        address => before.store(call.memory, address),
    }
}
