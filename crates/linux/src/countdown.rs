//! What all timers have in common: when they end, and how often.

use std::time::Duration;

use riverrun::Memory;
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use crate::Linux;
use crate::abi::{Layout, Timespec};
use crate::call::{Call, Stop};

/// A timer's state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Countdown {
    /// When it ends next, by its clock; `None` while it is not set.
    pub(crate) at: Option<Duration>,
    /// From one end to the next; zero for a single one.
    pub(crate) interval: Duration,
}

impl Countdown {
    /// How often it has ended by `now`. It counts down to its next end from then on.
    pub(crate) fn expire(&mut self, now: Duration) -> u64 {
        let Some(at) = self.at.filter(|&at| at <= now) else { return 0 };
        let interval = self.interval.as_nanos();
        if interval == 0 {
            self.at = None;
            return 1;
        }
        let times = (now - at).as_nanos() / interval + 1;
        let passed = Duration::from_nanos(u64::try_from(times * interval).unwrap_or(u64::MAX));
        self.at = Some(at.saturating_add(passed));
        u64::try_from(times).unwrap_or(u64::MAX)
    }

    /// How long until it ends.
    pub(crate) fn left(&self, now: Duration) -> Option<Duration> {
        Some(self.at?.saturating_sub(now))
    }

    /// `struct itimerspec` of it.
    pub(crate) fn layout(&self, now: Duration) -> Layout {
        // One that is set has time left.
        let left = self.left(now).map_or(Duration::ZERO, |left| left.max(Duration::from_nanos(1)));
        Layout::new().timespec(self.interval.into()).timespec(left.into())
    }
}

/// The clock of a timer, of which the guest knows several.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Clock {
    /// The real one. Timers do not notice when the host's is set.
    Real,
    /// The time since the guest's start.
    Monotonic,
    /// The time for which the guest runs.
    Cpu,
}

impl Clock {
    /// The clock of the system with this ID.
    pub(crate) fn of_system(id: i32) -> Result<Clock, Errno> {
        match id {
            0 => Ok(Clock::Real),
            // MONOTONIC, BOOTTIME
            1 | 7 => Ok(Clock::Monotonic),
            // REALTIME_ALARM, BOOTTIME_ALARM: those that wake the computer
            8 | 9 => Err(Errno::PERM),
            _ => Err(Errno::INVAL),
        }
    }
}

impl Linux {
    /// What a timer's clock says, as its [`Countdown`] has it: the real one is counted from the guest's start.
    pub(crate) fn timer_now(&self, clock: Clock, instructions: u64) -> Duration {
        match clock {
            Clock::Real | Clock::Monotonic => self.clock.uptime(instructions),
            Clock::Cpu => self.clock.running(instructions),
        }
    }
}

impl Call<'_> {
    /// The countdown that the `struct itimerspec` at an address asks for.
    pub(crate) fn countdown(&self, clock: Clock, is_absolute: bool, address: u64) -> Result<Countdown, Stop> {
        let span = |memory: &Memory, address| Timespec::load(memory, address)?.span();
        let interval = span(self.memory, address)?;
        let value = span(self.memory, address.wrapping_add(16))?;
        let now = self.linux.timer_now(clock, self.instructions);
        let at = match is_absolute {
            false => now.saturating_add(value),
            true => {
                let ahead = match clock {
                    Clock::Cpu => value.saturating_sub(now),
                    clock => self.span_until(value, clock == Clock::Real),
                };
                now.saturating_add(ahead)
            }
        };
        Ok(Countdown { at: (!value.is_zero()).then_some(at), interval })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_are_counted() {
        let second = Duration::from_secs(1);
        let mut once = Countdown { at: Some(second), interval: Duration::ZERO };
        assert_eq!((once.expire(second / 2), once.left(second / 4)), (0, Some(second * 3 / 4)));
        assert_eq!((once.expire(second * 5), once.expire(second * 5), once.at), (1, 0, None));
        let mut often = Countdown { at: Some(second), interval: second / 2 };
        assert_eq!((often.expire(second * 3), often.at), (5, Some(second * 7 / 2)));
        let mut extreme = Countdown { at: Some(Duration::ZERO), interval: Duration::from_nanos(1) };
        assert_eq!(extreme.expire(Duration::MAX), u64::MAX);
        let mut last = Countdown { at: Some(Duration::MAX), interval: Duration::MAX };
        assert_eq!((last.expire(Duration::MAX), last.at), (1, Some(Duration::MAX)));
    }
}
