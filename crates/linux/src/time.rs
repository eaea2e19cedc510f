//! Clocks and sleeping.

use std::time::{Duration, Instant, SystemTime};

use riverrun::Alarm;
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use crate::abi::{Layout, Timespec};
use crate::call::{Call, Outcome, Stop};
use crate::process::PROCESS;
use crate::requests::On;

/// Where virtual time starts: 2000-01-01, in Unix time.
const VIRTUAL_EPOCH: Duration = Duration::from_secs(946_684_800);
/// Of `times`, per second.
const TICKS: u128 = 100;

/// A guest's clocks.
#[derive(Debug)]
pub(crate) struct Clock {
    start: Instant,
    /// The uptime at `start`, of a guest that has been saved before.
    before: Duration,
    is_virtual: bool,
    /// Time in which the guest did not run.
    waited: Duration,
}

/// A guest's clocks while it is saved.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct SavedClock {
    is_virtual: bool,
    /// The uptime, but of virtual time, which instructions and `waited` make.
    uptime: Duration,
    waited: Duration,
}

/// The clocks that calls name.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Real,
    Monotonic,
    Cpu,
}

impl Kind {
    fn named(id: i32) -> Result<Kind, Stop> {
        match id {
            // REALTIME, REALTIME_COARSE, TAI
            0 | 5 | 11 => Ok(Kind::Real),
            // MONOTONIC, _RAW, _COARSE, BOOTTIME
            1 | 4 | 6 | 7 => Ok(Kind::Monotonic),
            id if is_cpu_clock(id) => Ok(Kind::Cpu),
            _ => Err(Errno::INVAL.into()),
        }
    }
}

/// Whether a clock is of the processor's time: PROCESS_CPUTIME_ID, THREAD_CPUTIME_ID, or that of this process as
/// `clock_getcpuclockid` names it.
pub(crate) fn is_cpu_clock(id: i32) -> bool {
    let (process, kind) = (!(id >> 3) as u32, id & 3);
    matches!(id, 2 | 3) || id < 0 && kind != 3 && (process == 0 || process == PROCESS)
}

impl Clock {
    pub(crate) fn new(is_virtual: bool) -> Clock {
        Clock { start: Instant::now(), before: Duration::ZERO, is_virtual, waited: Duration::ZERO }
    }

    pub(crate) fn save(&self) -> SavedClock {
        let uptime = if self.is_virtual { Duration::ZERO } else { self.monotonic(0) };
        SavedClock { is_virtual: self.is_virtual, uptime, waited: self.waited }
    }

    /// The clock goes on from there: no time has passed for the guest, but on the real clock.
    pub(crate) fn from_saved(saved: &SavedClock) -> Clock {
        let SavedClock { is_virtual, uptime, waited } = *saved;
        Clock { start: Instant::now(), before: uptime, is_virtual, waited }
    }

    fn monotonic(&self, instructions: u64) -> Duration {
        match self.is_virtual {
            true => Duration::from_nanos(instructions).saturating_add(self.waited),
            false => self.before.saturating_add(self.start.elapsed()),
        }
    }

    /// Time since the guest's start.
    pub(crate) fn uptime(&self, instructions: u64) -> Duration {
        self.monotonic(instructions)
    }

    /// Time that the guest was running.
    pub(crate) fn running(&self, instructions: u64) -> Duration {
        self.monotonic(instructions).saturating_sub(self.waited)
    }

    /// The alarm of a machine for this uptime, if the guest does not wait.
    pub(crate) fn alarm(&self, uptime: Duration, instructions: u64) -> Option<Alarm> {
        match self.is_virtual {
            true => self.alarm_in(uptime.saturating_sub(self.monotonic(instructions)), instructions),
            false => self.instant_of(uptime).map(Alarm::At),
        }
    }

    /// The moment of an uptime, of clocks that are not virtual.
    pub(crate) fn instant_of(&self, uptime: Duration) -> Option<Instant> {
        self.start.checked_add(uptime.saturating_sub(self.before))
    }

    /// The alarm of a machine for when this time has passed, if the guest does not wait.
    pub(crate) fn alarm_in(&self, span: Duration, instructions: u64) -> Option<Alarm> {
        match self.is_virtual {
            true => u64::try_from(span.as_nanos()).ok()?.checked_add(instructions).map(Alarm::Executed),
            false => Instant::now().checked_add(span).map(Alarm::At),
        }
    }

    fn now(&self, kind: Kind, instructions: u64) -> Duration {
        match kind {
            Kind::Real if self.is_virtual => VIRTUAL_EPOCH.saturating_add(self.monotonic(instructions)),
            Kind::Real => SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default(),
            Kind::Monotonic => self.monotonic(instructions),
            Kind::Cpu => self.running(instructions),
        }
    }

    pub(crate) fn is_virtual(&self) -> bool {
        self.is_virtual
    }

    /// Sets virtual time forward to this uptime.
    pub(crate) fn set_forward(&mut self, uptime: Duration, instructions: u64) {
        self.has_waited(uptime.saturating_sub(self.monotonic(instructions)));
    }

    /// Notes that the guest has not run for this time.
    pub(crate) fn has_waited(&mut self, time: Duration) {
        self.waited = self.waited.saturating_add(time);
    }
}

impl Call<'_> {
    fn now(&self, kind: Kind) -> Duration {
        self.linux.clock.now(kind, self.instructions)
    }

    /// Time since the guest's start.
    pub(crate) fn uptime(&self) -> Duration {
        self.now(Kind::Monotonic)
    }

    /// Time of the real clock.
    pub(crate) fn real_time(&self) -> Timespec {
        self.now(Kind::Real).into()
    }

    /// Time that the guest was running.
    pub(crate) fn cpu_time(&self) -> Duration {
        self.now(Kind::Cpu)
    }

    /// From now until an absolute time of the real or the monotonic clock.
    pub(crate) fn span_until(&self, time: Duration, real: bool) -> Duration {
        time.saturating_sub(self.now(if real { Kind::Real } else { Kind::Monotonic }))
    }
}

pub(crate) fn clock_gettime(call: &mut Call<'_>) -> Outcome {
    let now = call.now(Kind::named(call.int(0))?);
    Layout::new().timespec(now.into()).store(call.memory, call.args[1])
}

pub(crate) fn clock_getres(call: &mut Call<'_>) -> Outcome {
    Kind::named(call.int(0))?;
    match call.args[1] {
        0 => Ok(0),
        address => Layout::new().timespec(Duration::from_nanos(1).into()).store(call.memory, address),
    }
}

pub(crate) fn gettimeofday(call: &mut Call<'_>) -> Outcome {
    let [time, zone, ..] = call.args;
    if time != 0 {
        Layout::new().timeval(call.now(Kind::Real)).store(call.memory, time)?;
    }
    if zone != 0 {
        Layout::new().u64(0).store(call.memory, zone)?;
    }
    Ok(0)
}

pub(crate) fn times(call: &mut Call<'_>) -> Outcome {
    let ticks = |time: Duration| (time.as_nanos() * TICKS / 1_000_000_000) as u64;
    if call.args[0] != 0 {
        let user = ticks(call.cpu_time());
        Layout::new().u64(user).zeros_to(32).store(call.memory, call.args[0])?;
    }
    Ok(ticks(call.uptime()))
}

/// Sleeps; where a signal ends that, what is left is stored at `left`, null for nowhere.
fn sleep(call: &mut Call<'_>, span: Duration, left: u64) -> Outcome {
    let end = call.end_of(Some(span)).unwrap_or_default();
    let slept = call.wait(On::Time, Some(span));
    if slept == Err(Errno::INTR.into()) && left != 0 {
        let left_over = end.saturating_sub(call.uptime());
        Layout::new().timespec(left_over.into()).store(call.memory, left)?;
    }
    slept.map(|_| 0)
}

pub(crate) fn nanosleep(call: &mut Call<'_>) -> Outcome {
    let span = Timespec::load(call.memory, call.args[0])?.span()?;
    sleep(call, span, call.args[1])
}

pub(crate) fn clock_nanosleep(call: &mut Call<'_>) -> Outcome {
    const ABSOLUTE: u32 = 1;
    let kind = Kind::named(call.int(0))?;
    let time = Timespec::load(call.memory, call.args[2])?.span()?;
    match call.uint(1) & ABSOLUTE {
        0 => sleep(call, time, call.args[3]),
        _ => sleep(call, time.saturating_sub(call.now(kind)), 0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn virtual_time_goes_by_instructions_and_sleeps() {
        let mut clock = Clock::new(true);
        assert_eq!(clock.now(Kind::Monotonic, 1_500), Duration::from_nanos(1_500));
        let day = Duration::from_secs(86_400);
        clock.set_forward(day, 0);
        assert_eq!(clock.now(Kind::Real, 0), VIRTUAL_EPOCH + day);
        assert_eq!(clock.now(Kind::Cpu, 70), Duration::from_nanos(70));
        assert_eq!(clock.alarm(day + Duration::from_nanos(9), 5), Some(Alarm::Executed(9)));
        clock.set_forward(Duration::MAX, 0);
        clock.set_forward(Duration::MAX, 0);
        clock.now(Kind::Real, u64::MAX);
    }
}
