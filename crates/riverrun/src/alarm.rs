//! Alarms: moments at which the dispatcher suspends a guest and calls its host.

use std::time::Instant;

/// When the guest is suspended for the handler that [`Linker::alarm`](crate::Linker::alarm) sets: see
/// [`Caller::set_alarm`](crate::Caller::set_alarm).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Alarm {
    /// At this moment, or some milliseconds later.
    At(Instant),
    /// Once [`Caller::instructions`](crate::Caller::instructions) is this or more: the same moment in every engine that
    /// counts instructions, as compiled code without fuel does not.
    Executed(u64),
}

impl Alarm {
    /// The instructions that may be executed before it, if it counts these and a machine has `executed` so many.
    pub(crate) fn fuel(self, executed: u64) -> Option<u64> {
        match self {
            Alarm::At(_) => None,
            Alarm::Executed(end) => Some(end.saturating_sub(executed)),
        }
    }

    /// Whether it has come, where a machine has `executed` so many instructions.
    pub(crate) fn has_come(self, executed: u64) -> bool {
        match self {
            Alarm::At(moment) => moment <= Instant::now(),
            Alarm::Executed(end) => end <= executed,
        }
    }

    /// The moment, if it is one.
    pub(crate) fn moment(self) -> Option<Instant> {
        match self {
            Alarm::At(moment) => Some(moment),
            Alarm::Executed(_) => None,
        }
    }
}
