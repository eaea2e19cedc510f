//! Signals that wait to be delivered, with what their receivers are told of them. Of a real-time signal each one sent is
//! delivered, in order; of all others one at a time.

use std::collections::VecDeque;

use riverrun::Memory;
use serde::{Deserialize, Serialize};

use crate::abi::{Layout, signal};
use crate::call::Stop;
use crate::process::{PROCESS, USER};

/// Signals that are queued at most for a process and its threads; beyond, `EAGAIN`.
pub(crate) const MOST: usize = 1024;

/// What the receiver of a signal is told of its sender, as `struct siginfo` has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Origin {
    code: u32,
    process: u32,
    user: u32,
    value: u64,
}

impl Origin {
    /// A process: the guest's own.
    pub(crate) const PROCESS: Origin = Origin { code: 0, process: PROCESS, user: USER, value: 0 };
    /// A thread, to one thread.
    pub(crate) const THREAD: Origin = Origin { code: signal::FROM_THREAD, ..Origin::PROCESS };
    /// The kernel.
    pub(crate) const KERNEL: Origin = Origin { code: signal::FROM_KERNEL, process: 0, user: 0, value: 0 };

    /// What the guest says in a `struct siginfo`.
    pub(crate) fn load(memory: &Memory, info: u64) -> Result<Origin, Stop> {
        let word = |offset: u64| memory.read_u32(info.wrapping_add(offset));
        let value = memory.read_u64(info.wrapping_add(24))?;
        Ok(Origin { code: word(8)?, process: word(16)?, user: word(20)?, value })
    }

    /// The rest of a `struct siginfo`, behind the signal's number and an error.
    pub(crate) fn store(self, info: Layout) -> Layout {
        info.u32(self.code).u32(0).u32(self.process).u32(self.user).u64(self.value)
    }

    /// The rest of a `struct signalfd_siginfo`.
    pub(crate) fn store_for_file(self, info: Layout) -> Layout {
        let info = info.u32(self.code).u32(self.process).u32(self.user);
        info.zeros_to(44).u32(self.value as u32).u64(self.value)
    }
}

/// The signals that wait for a thread, or for a process.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Pending {
    set: u64,
    /// Those of which something is told.
    told: VecDeque<(u32, Origin)>,
}

pub(crate) fn bit(number: u32) -> u64 {
    1 << (number - 1)
}

impl Pending {
    /// The numbers of all.
    pub(crate) fn set(&self) -> u64 {
        self.set
    }

    /// How many are queued.
    pub(crate) fn queued(&self) -> usize {
        self.told.len()
    }

    /// Adds a signal, and what is told of it; nothing of one that timers tell of.
    pub(crate) fn add(&mut self, number: u32, origin: Option<Origin>) {
        let is_known = self.set & bit(number) != 0;
        self.set |= bit(number);
        if let Some(origin) = origin.filter(|_| !is_known || number >= signal::FIRST_REAL_TIME) {
            self.told.push_back((number, origin));
        }
    }

    /// Takes a signal, if it waits; what is told of it.
    pub(crate) fn take(&mut self, number: u32) -> Option<Origin> {
        if self.set & bit(number) == 0 {
            return None;
        }
        let place = self.told.iter().position(|(other, _)| *other == number);
        let origin = place.and_then(|place| self.told.remove(place)).map(|(_, origin)| origin);
        self.take_untold(number);
        Some(origin.unwrap_or(Origin::PROCESS))
    }

    /// Takes a signal of which nothing is told here.
    pub(crate) fn take_untold(&mut self, number: u32) {
        if self.told.iter().all(|(other, _)| *other != number) {
            self.set &= !bit(number);
        }
    }

    /// Drops all of a number.
    pub(crate) fn forget(&mut self, number: u32) {
        self.told.retain(|(other, _)| *other != number);
        self.set &= !bit(number);
    }

    /// Whether system calls can make them so.
    pub(crate) fn is_sound(&self) -> bool {
        let is_sound = |number: u32| (1..=signal::MAX).contains(&number) && self.set & bit(number) != 0;
        self.told.len() <= MOST && self.told.iter().all(|(number, _)| is_sound(*number))
    }
}
