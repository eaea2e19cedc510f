//! The system calls of timers that are files.
//!
//! System calls and alarms count ends ([`Linux::look_at_timer_files`]); so what can be read changes at no other time.

use rustix::io::Errno;

use crate::Linux;
use crate::abi::open;
use crate::call::{Call, Outcome, Stop};
use crate::countdown::Clock;
use crate::open_file::{Kind, OpenFile};
use crate::timer_file::TimerFile;

impl Linux {
    /// Counts the ends of timers that are files.
    pub(crate) fn look_at_timer_files(&mut self, instructions: u64) {
        // Each system call comes here: the clock is read only where there is such a timer.
        let Some(next) = self.timers.next_file else { return };
        let now = self.clock.uptime(instructions);
        if next > now {
            return;
        }
        let (mut any, mut next) = (false, None);
        for slot in self.descriptors.slots.iter().flatten() {
            if let Kind::Timer(timer) = &slot.file.kind {
                let (is_news, at) = timer.look(now);
                any |= is_news;
                next = [next, at].into_iter().flatten().min();
            }
        }
        self.timers.next_file = next;
        if any {
            self.files_have_changed();
        }
    }
}

/// The timer of argument 0.
fn timer(file: &OpenFile) -> Result<&TimerFile, Stop> {
    match &file.kind {
        Kind::Timer(timer) => Ok(timer),
        _ => Err(Errno::INVAL.into()),
    }
}

pub(crate) fn timerfd_create(call: &mut Call<'_>) -> Outcome {
    let flags = call.only(1, open::NON_BLOCKING | open::CLOSE_ON_EXEC)?;
    let timer = TimerFile::new(Clock::of_system(call.int(0))?);
    Ok(call.linux.descriptors.open(Kind::Timer(timer), open::READ_WRITE | flags)? as u64)
}

pub(crate) fn timerfd_settime(call: &mut Call<'_>) -> Outcome {
    const ABSOLUTE: u32 = 1;
    const CANCEL_ON_SET: u32 = 2;
    let [_, _, new, old, ..] = call.args;
    let flags = call.only(1, ABSOLUTE | CANCEL_ON_SET)?;
    let file = call.file(0)?;
    let timer = timer(&file)?;
    let countdown = call.countdown(timer.save().clock, flags & ABSOLUTE != 0, new)?;
    let before = timer.set(countdown);
    let next = &mut call.linux.timers.next_file;
    *next = [*next, countdown.at].into_iter().flatten().min();
    match old {
        0 => Ok(0),
        address => before.layout(call.uptime()).store(call.memory, address),
    }
}

pub(crate) fn timerfd_gettime(call: &mut Call<'_>) -> Outcome {
    let file = call.file(0)?;
    let countdown = timer(&file)?.save().countdown;
    countdown.layout(call.uptime()).store(call.memory, call.args[1])
}
