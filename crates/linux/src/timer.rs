//! The interval timers: of real time (`ITIMER_REAL`, which `alarm` sets), and of the time for which the guest runs
//! (`ITIMER_VIRTUAL` and `ITIMER_PROF`, which here are the same time). Each sends a signal of its own.
//!
//! System calls look at them, and the machine's alarm interrupts a guest that makes none ([`crate::add_to_linker`]).

use std::time::{Duration, Instant};

use riverrun::Memory;
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use crate::Linux;
use crate::abi::{Layout, load_words, signal};
use crate::call::{Call, Outcome, Stop};

/// The signals of the timers, by their numbers.
const SIGNALS: [u32; 3] = [signal::SIGALRM, signal::SIGVTALRM, signal::SIGPROF];
const REAL: usize = 0;

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Timers([Timer; SIGNALS.len()]);

#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Timer {
    /// When it sends its signal next, by its own clock.
    at: Option<Duration>,
    /// From one signal to the next; zero for a single one.
    interval: Duration,
}

impl Linux {
    /// What the clock of a timer says.
    fn timer_clock(&self, timer: usize, instructions: u64) -> Duration {
        match timer {
            REAL => self.clock.uptime(instructions),
            _ => self.clock.running(instructions),
        }
    }

    /// Sends the signals whose time has come.
    pub(crate) fn look_at_timers(&mut self, instructions: u64) {
        for (timer, signal) in SIGNALS.into_iter().enumerate() {
            let Timer { at: Some(at), interval } = self.timers.0[timer] else { continue };
            let now = self.timer_clock(timer, instructions);
            if at > now {
                continue;
            }
            self.raise_for_process(signal);
            let interval = interval.as_nanos();
            self.timers.0[timer].at = (interval != 0).then(|| {
                let passed = (now - at).as_nanos() / interval + 1;
                at.saturating_add(Duration::from_nanos(u64::try_from(passed * interval).unwrap_or(u64::MAX)))
            });
        }
    }

    /// When the timer of real time interrupts the thread that runs, in a call that the host waits in.
    pub(crate) fn call_alarm(&self, instructions: u64) -> Option<Instant> {
        let blocked = self.threads.current().signals.blocked();
        self.timers.0[REAL].at.filter(|_| self.signals.interrupts(signal::SIGALRM, blocked))?;
        Instant::now().checked_add(self.until_signal(REAL, instructions)?)
    }

    /// The uptime at which the timer of real time ends a wait of some thread.
    pub(crate) fn until_alarm(&self) -> Option<Duration> {
        let at = self.timers.0[REAL].at?;
        let mut waits = self.threads.iter().filter_map(|(_, thread)| thread.wait());
        let is_heeded = self.is_heeded(signal::SIGALRM) || waits.any(|wait| wait.on.awaits(signal::SIGALRM));
        is_heeded.then_some(at)
    }

    /// When the first timer interrupts a guest that makes no call.
    pub(crate) fn timer_alarm(&self, instructions: u64) -> Option<riverrun::Alarm> {
        let is_heeded = |&timer: &usize| self.timers.0[timer].at.is_some() && self.is_heeded(SIGNALS[timer]);
        let spans = (0..SIGNALS.len()).filter(is_heeded).filter_map(|timer| self.until_signal(timer, instructions));
        self.clock.alarm_in(spans.min()?, instructions)
    }

    /// How long until the timer sends its signal.
    fn until_signal(&self, timer: usize, instructions: u64) -> Option<Duration> {
        Some(self.timers.0[timer].at?.saturating_sub(self.timer_clock(timer, instructions)))
    }
}

fn span(memory: &Memory, address: u64) -> Result<Duration, Stop> {
    let [seconds, microseconds] = load_words(memory, address)?;
    match (i64::try_from(seconds), microseconds) {
        (Ok(_), 0..1_000_000) => Ok(Duration::new(seconds, microseconds as u32 * 1000)),
        _ => Err(Errno::INVAL.into()),
    }
}

/// The timer that argument 0 names.
fn timer(call: &Call<'_>) -> Result<usize, Stop> {
    match call.uint(0) as usize {
        timer if timer < SIGNALS.len() => Ok(timer),
        _ => Err(Errno::INVAL.into()),
    }
}

/// `struct itimerval` of a timer as it is.
fn current(call: &Call<'_>, timer: usize) -> Layout {
    let left = call.linux.until_signal(timer, call.instructions).unwrap_or_default();
    Layout::new().timeval(call.linux.timers.0[timer].interval).timeval(left)
}

pub(crate) fn getitimer(call: &mut Call<'_>) -> Outcome {
    let timer = timer(call)?;
    current(call, timer).store(call.memory, call.args[1])
}

pub(crate) fn setitimer(call: &mut Call<'_>) -> Outcome {
    let timer = timer(call)?;
    let [_, new, old, ..] = call.args;
    let (interval, value) = match new {
        0 => Default::default(),
        address => (span(call.memory, address)?, span(call.memory, address.wrapping_add(16))?),
    };
    let before = current(call, timer);
    let now = call.linux.timer_clock(timer, call.instructions);
    let at = (!value.is_zero()).then(|| now.saturating_add(value));
    call.linux.timers.0[timer] = Timer { at, interval };
    match old {
        0 => Ok(0),
        address => before.store(call.memory, address),
    }
}
