//! The timers that a program makes (`timer_create`). Each sends a signal of its choice, to the process or to a thread.

use std::time::Duration;

use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use crate::Linux;
use crate::abi::{Layout, signal};
use crate::call::{Call, Outcome, Stop};
use crate::countdown::{Clock, Countdown};
use crate::time::is_cpu_clock;

/// Timers that a program may have at once.
const LIMIT: usize = 1024;

/// Whom a timer tells of its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Told {
    Nobody,
    Process,
    /// The thread with this ID.
    Thread(u32),
}

/// A timer of the program's.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct ProgramTimer {
    clock: Clock,
    countdown: Countdown,
    told: Told,
    signal: u32,
    /// What handlers get.
    value: u64,
    /// Whether its signal was sent and not taken yet.
    is_pending: bool,
    /// Ends besides the one that has sent the signal: of the one that is pending, and of the one taken last.
    overrun: u32,
    last_overrun: u32,
}

impl ProgramTimer {
    /// Whether its signal is for the thread with this ID, or for all.
    fn is_for(&self, thread: u32) -> bool {
        match self.told {
            Told::Nobody => false,
            Told::Process => true,
            Told::Thread(id) => id == thread,
        }
    }
}

/// A program's timers, by their IDs.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct ProgramTimers(Vec<Option<ProgramTimer>>);

/// What a signal says of the timer that has sent it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FromTimer {
    pub(crate) id: u32,
    pub(crate) overrun: u32,
    pub(crate) value: u64,
}

impl ProgramTimers {
    /// Whether system calls can make them so.
    pub(crate) fn are_sound(&self) -> bool {
        let is_sound = |timer: &ProgramTimer| (1..=signal::MAX).contains(&timer.signal);
        self.0.len() <= LIMIT && self.0.iter().flatten().all(is_sound)
    }

    /// Takes a pending signal of this number for the thread with this ID; which timer has sent it. The second is whether
    /// another one has sent it, too.
    pub(crate) fn take(&mut self, number: u32, thread: u32) -> Option<(FromTimer, bool)> {
        let sends = |timer: &ProgramTimer| timer.is_pending && timer.signal == number && timer.is_for(thread);
        let (id, timer) = self.0.iter_mut().enumerate().find_map(|(id, timer)| {
            let timer = timer.as_mut().filter(|timer| sends(timer))?;
            Some((id, timer))
        })?;
        (timer.is_pending, timer.last_overrun) = (false, timer.overrun);
        let from = FromTimer { id: id as u32, overrun: timer.overrun, value: timer.value };
        Some((from, self.0.iter().flatten().any(sends)))
    }

    /// Those that are set and send signals: which, by what clock, and when.
    pub(crate) fn alarms(&self) -> impl Iterator<Item = (u32, Clock, Duration)> {
        let sends = self.0.iter().flatten().filter(|timer| timer.told != Told::Nobody);
        sends.filter_map(|timer| Some((timer.signal, timer.clock, timer.countdown.at?)))
    }

    fn get(&mut self, id: i32) -> Result<&mut ProgramTimer, Stop> {
        let timer = usize::try_from(id).ok().and_then(|id| self.0.get_mut(id)?.as_mut());
        Ok(timer.ok_or(Errno::INVAL)?)
    }
}

impl Linux {
    /// Sends the signals of the program's timers whose time has come.
    pub(crate) fn look_at_program_timers(&mut self, instructions: u64) {
        for id in 0..self.timers.own.0.len() {
            let Some(clock) = self.timers.own.0[id].map(|timer| timer.clock) else { continue };
            let now = self.timer_now(clock, instructions);
            let Some(timer) = &mut self.timers.own.0[id] else { continue };
            let ends = timer.countdown.expire(now);
            if ends == 0 || timer.told == Told::Nobody {
                continue;
            }
            let more = u32::try_from(ends - u64::from(!timer.is_pending)).unwrap_or(u32::MAX);
            timer.overrun = if timer.is_pending { timer.overrun.saturating_add(more) } else { more };
            timer.overrun = timer.overrun.min(i32::MAX as u32);
            timer.is_pending = true;
            let (number, told) = (timer.signal, timer.told);
            match told {
                Told::Thread(thread) => match self.threads.find(thread) {
                    Some(index) => self.raise_for(index, number, None),
                    None => self.timers.own.0[id].iter_mut().for_each(|timer| timer.is_pending = false),
                },
                _ => self.raise_for_process(number, None),
            }
        }
    }
}

pub(crate) fn timer_create(call: &mut Call<'_>) -> Outcome {
    const SIGNAL: u32 = 0;
    const NONE: u32 = 1;
    const THREAD: u32 = 2;
    const THREAD_ID: u32 = 4;
    let [_, event, place, ..] = call.args;
    let clock = match call.int(0) {
        id if is_cpu_clock(id) => Clock::Cpu,
        id => Clock::of_system(id)?,
    };
    let timers = &call.linux.timers.own.0;
    let id = timers.iter().position(Option::is_none).unwrap_or(timers.len());
    if id == LIMIT {
        return Err(Errno::AGAIN.into());
    }
    let (mut told, mut signal, mut value) = (Told::Process, signal::SIGALRM, id as u64);
    if event != 0 {
        value = call.memory.read_u64(event)?;
        signal = call.memory.read_u32(event.wrapping_add(8))?;
        told = match call.memory.read_u32(event.wrapping_add(12))? {
            NONE => Told::Nobody,
            SIGNAL | THREAD => Told::Process,
            THREAD_ID => {
                let thread = call.memory.read_u32(event.wrapping_add(16))?;
                call.linux.threads.find(thread).ok_or(Errno::INVAL)?;
                Told::Thread(thread)
            }
            _ => return Err(Errno::INVAL.into()),
        };
        if told == Told::Nobody {
            signal = signal::SIGALRM;
        }
        if !(1..=signal::MAX).contains(&signal) {
            return Err(Errno::INVAL.into());
        }
    }
    Layout::new().u32(id as u32).store(call.memory, place)?;
    let countdown = Countdown::default();
    let timer = ProgramTimer { clock, countdown, told, signal, value, is_pending: false, overrun: 0, last_overrun: 0 };
    let timers = &mut call.linux.timers.own.0;
    timers.resize(timers.len().max(id + 1), None);
    timers[id] = Some(timer);
    Ok(0)
}

pub(crate) fn timer_settime(call: &mut Call<'_>) -> Outcome {
    const ABSOLUTE: u32 = 1;
    let [_, _, new, old, ..] = call.args;
    let (id, is_absolute) = (call.int(0), call.uint(1) & ABSOLUTE != 0);
    if new == 0 {
        return Err(Errno::INVAL.into());
    }
    let clock = call.linux.timers.own.get(id)?.clock;
    let countdown = call.countdown(clock, is_absolute, new)?;
    let now = call.linux.timer_now(clock, call.instructions);
    let timer = call.linux.timers.own.get(id)?;
    let before = std::mem::replace(&mut timer.countdown, countdown);
    (timer.overrun, timer.last_overrun) = (0, 0);
    match old {
        0 => Ok(0),
        address => before.layout(now).store(call.memory, address),
    }
}

pub(crate) fn timer_gettime(call: &mut Call<'_>) -> Outcome {
    let ProgramTimer { clock, countdown, .. } = *call.linux.timers.own.get(call.int(0))?;
    countdown.layout(call.linux.timer_now(clock, call.instructions)).store(call.memory, call.args[1])
}

pub(crate) fn timer_getoverrun(call: &mut Call<'_>) -> Outcome {
    Ok(call.linux.timers.own.get(call.int(0))?.last_overrun.into())
}

pub(crate) fn timer_delete(call: &mut Call<'_>) -> Outcome {
    let id = call.int(0);
    call.linux.timers.own.get(id)?;
    call.linux.timers.own.0[id as usize] = None;
    Ok(0)
}
