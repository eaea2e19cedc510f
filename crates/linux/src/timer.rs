//! The interval timers: of real time (`ITIMER_REAL`, which `alarm` sets), and of the time for which the guest runs
//! (`ITIMER_VIRTUAL` and `ITIMER_PROF`, which here are the same time). Each sends a signal of its own. And when any timer
//! interrupts the guest, also those of `program_timers` and `timer_file`.
//!
//! System calls look at them, and the machine's alarm interrupts a guest that makes none ([`crate::add_to_linker`]).

use std::time::{Duration, Instant};

use riverrun::Memory;
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use crate::Linux;
use crate::abi::{Layout, load_words, signal};
use crate::call::{Call, Outcome, Stop};
use crate::countdown::{Clock, Countdown};
use crate::pending_signals::{Origin, bit};
use crate::program_timers::ProgramTimers;

/// The interval timers by their numbers: the signal of each, and its clock.
const INTERVALS: [(u32, Clock); 3] =
    [(signal::SIGALRM, Clock::Monotonic), (signal::SIGVTALRM, Clock::Cpu), (signal::SIGPROF, Clock::Cpu)];

/// All timers of a guest.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Timers {
    /// The interval timers.
    intervals: [Countdown; INTERVALS.len()],
    /// Those that the program has made.
    pub(crate) own: ProgramTimers,
    /// No timer that is a file ends before this uptime; `None` if none ends.
    #[serde(skip)]
    pub(crate) next_file: Option<Duration>,
}

impl Linux {
    /// Sends the signals whose time has come.
    pub(crate) fn look_at_timers(&mut self, instructions: u64) {
        for (timer, (signal, clock)) in INTERVALS.into_iter().enumerate() {
            if self.timers.intervals[timer].at.is_some() {
                let now = self.timer_now(clock, instructions);
                if self.timers.intervals[timer].expire(now) != 0 {
                    self.raise_for_process(signal, Some(Origin::KERNEL));
                }
            }
        }
        self.look_at_program_timers(instructions);
        self.look_at_timer_files(instructions);
    }

    /// The timers that are set and send signals: which, by what clock, and when.
    fn alarms(&self) -> impl Iterator<Item = (u32, Clock, Duration)> {
        let intervals = INTERVALS.into_iter().zip(&self.timers.intervals);
        let intervals = intervals.filter_map(|((signal, clock), timer)| Some((signal, clock, timer.at?)));
        intervals.chain(self.timers.own.alarms())
    }

    /// Whether some thread does something else once this signal is sent.
    fn matters(&self, signal: u32) -> bool {
        let mut waits = self.threads.iter().filter_map(|(_, thread)| thread.wait());
        self.is_heeded(signal)
            || waits.any(|wait| wait.on.awaits(signal))
            || self.threads.wait_for_files() && self.signals.is_watched(signal)
    }

    /// The signals that timers send for which that is so, as a set: each is asked for once, as there may be a thousand
    /// timers and as many threads.
    fn signals_that_matter(&self) -> u64 {
        let sent = self.alarms().fold(0, |sent, (signal, ..)| sent | bit(signal));
        let matter = (1..=signal::MAX).filter(|&signal| sent & bit(signal) != 0 && self.matters(signal));
        matter.map(bit).fold(0, |all, one| all | one)
    }

    /// When a timer interrupts the thread that runs, in a call that the host waits in.
    pub(crate) fn call_alarm(&self, instructions: u64) -> Option<Instant> {
        let blocked = self.threads.current().signals.blocked();
        let interrupts =
            self.alarms().filter(|&(signal, clock, _)| clock != Clock::Cpu && self.signals.interrupts(signal, blocked));
        let at = interrupts.map(|(_, _, at)| at).min()?;
        Instant::now().checked_add(at.saturating_sub(self.clock.uptime(instructions)))
    }

    /// The uptime at which a timer ends a wait of some thread.
    pub(crate) fn until_alarm(&self) -> Option<Duration> {
        let signals = self.signals_that_matter();
        let matter = self.alarms().filter(|&(signal, clock, _)| clock != Clock::Cpu && signals & bit(signal) != 0);
        matter.map(|(_, _, at)| at).chain(self.awaited_file()).min()
    }

    /// When the first timer interrupts a guest that makes no call.
    pub(crate) fn timer_alarm(&self, instructions: u64) -> Option<riverrun::Alarm> {
        let signals = self.signals_that_matter();
        let matter = self.alarms().filter(|&(signal, ..)| signals & bit(signal) != 0);
        let spans = matter.map(|(_, clock, at)| at.saturating_sub(self.timer_now(clock, instructions)));
        let file = self.awaited_file().map(|at| at.saturating_sub(self.clock.uptime(instructions)));
        self.clock.alarm_in(spans.chain(file).min()?, instructions)
    }

    /// When a timer that is a file ends, if a thread waits for files.
    fn awaited_file(&self) -> Option<Duration> {
        self.timers.next_file.filter(|_| self.threads.wait_for_files())
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
        timer if timer < INTERVALS.len() => Ok(timer),
        _ => Err(Errno::INVAL.into()),
    }
}

/// `struct itimerval` of a timer as it is.
fn current(call: &Call<'_>, timer: usize) -> Layout {
    let now = call.linux.timer_now(INTERVALS[timer].1, call.instructions);
    let countdown = &call.linux.timers.intervals[timer];
    Layout::new().timeval(countdown.interval).timeval(countdown.left(now).unwrap_or_default())
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
    let now = call.linux.timer_now(INTERVALS[timer].1, call.instructions);
    let at = (!value.is_zero()).then(|| now.saturating_add(value));
    call.linux.timers.intervals[timer] = Countdown { at, interval };
    match old {
        0 => Ok(0),
        address => before.store(call.memory, address),
    }
}
