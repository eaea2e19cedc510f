//! The threads of a guest: a table of harts, of which one at a time is in the machine.
//!
//! A system call that would wait gives its [`Wait`] to the scheduler (`schedule`), which lets another thread run. When the
//! wait has ended, the call is made again, and learns why ([`Resumed`]) in place of waiting. So no host frame stands for a
//! thread, and all that is known of one is plain data.
//!
//! Invariants: there is always a thread; the machine's hart is that of [`Threads::current`], and each other thread has its
//! own; `ready` has the threads that can go on, each once, and not the current one unless that is parked.

mod clone;
mod futex;
mod robust;
mod saved;
mod schedule;
mod waits;

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use riverrun::{Alarm, Hart};
use serde::{Deserialize, Serialize};

use crate::process::PROCESS;
use crate::requests::{Ended, On, Resumed, Wait};
use crate::signals::ThreadSignals;

pub(crate) use clone::{clone, clone3, exit, gettid, set_tid_address};
pub(crate) use futex::futex;
pub(crate) use robust::{get_robust_list, set_robust_list};
pub(crate) use saved::SavedThreads;
pub(crate) use schedule::{Next, put_back, sched_yield, switch};

use schedule::Slices;

/// Threads that a guest may have at once by default.
pub(crate) const DEFAULT_LIMIT: usize = 1024;
/// The largest limit on threads: each takes some 1 KiB of the host's memory.
pub(crate) const MAX_LIMIT: usize = 1 << 14;

/// A thread's name as `prctl` sets it: 15 bytes and a zero.
pub(crate) type Name = [u8; 16];

/// What a thread does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum State {
    /// It runs, or waits for its turn.
    Runs,
    /// It waits within a system call.
    Waits(Wait),
    /// What it waited for has come; its system call is to be made again.
    Resumes(Wait, Ended),
    /// It has ended, and its hart is still in the machine.
    Over,
}

/// A thread of the guest.
#[derive(Debug)]
pub(crate) struct Thread {
    pub(crate) id: u32,
    /// Its registers; `None` while they are in the machine.
    pub(crate) hart: Option<Box<Hart>>,
    state: State,
    pub(crate) signals: ThreadSignals,
    /// Where 0 is stored and a futex is woken when the thread ends (`CLONE_CHILD_CLEARTID`); null for nowhere.
    clear_id_at: u64,
    /// The head of the list of robust futexes; null for none.
    robust_list: u64,
    pub(crate) name: Name,
}

impl Thread {
    fn new(id: u32) -> Thread {
        Thread {
            id,
            hart: None,
            state: State::Runs,
            signals: ThreadSignals::default(),
            clear_id_at: 0,
            robust_list: 0,
            name: *b"guest\0\0\0\0\0\0\0\0\0\0\0",
        }
    }

    /// What `prctl` has set, or `guest`.
    pub(crate) fn shown_name(&self) -> &[u8] {
        self.name.split(|&byte| byte == 0).next().unwrap_or_default()
    }

    /// What it waits for, if it does.
    pub(crate) fn wait(&self) -> Option<&Wait> {
        match &self.state {
            State::Waits(wait) => Some(wait),
            _ => None,
        }
    }
}

/// A guest's threads.
#[derive(Debug)]
pub(crate) struct Threads {
    /// In the order of their making.
    list: Vec<Thread>,
    /// The index of the thread whose hart is in the machine.
    current: usize,
    /// The indices of those that can go on, the next one first.
    ready: VecDeque<usize>,
    next_id: u32,
    /// Threads that there may be at once.
    limit: usize,
    /// The exit status of the first thread, if that has ended before others.
    first_status: Option<i32>,
    slices: Slices,
    /// Counts waits, so that futexes wake in their order.
    waits: u64,
    /// No later than the earliest uptime at which a wait ends by itself.
    earliest: Option<Duration>,
    /// Whether it may be earlier than that: to look at all threads for each wait that is over would take too long.
    is_earliest_old: bool,
    /// How many wait for files.
    for_files: usize,
    /// When the host's streams are looked at next for those.
    glance: Option<Alarm>,
    /// When locks that others have are tried again.
    lock_glance: Option<Instant>,
}

impl Threads {
    pub(crate) fn new(limit: Option<usize>, seed: Option<u64>) -> Threads {
        Threads {
            list: vec![Thread::new(PROCESS)],
            current: 0,
            ready: VecDeque::new(),
            next_id: PROCESS + 1,
            limit: limit.unwrap_or(DEFAULT_LIMIT).clamp(1, MAX_LIMIT),
            first_status: None,
            slices: Slices::new(seed),
            waits: 0,
            earliest: None,
            is_earliest_old: false,
            for_files: 0,
            glance: None,
            lock_glance: None,
        }
    }

    /// The thread whose hart is in the machine.
    pub(crate) fn current(&self) -> &Thread {
        &self.list[self.current]
    }

    /// The thread whose hart is in the machine.
    pub(crate) fn current_mut(&mut self) -> &mut Thread {
        &mut self.list[self.current]
    }

    /// All threads that have not ended, by their indices.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (usize, &Thread)> {
        self.list.iter().enumerate().filter(|(_, thread)| thread.state != State::Over)
    }

    /// Changes the signals of every thread.
    pub(crate) fn each_signals(&mut self, change: impl Fn(&mut ThreadSignals)) {
        self.list.iter_mut().for_each(|thread| change(&mut thread.signals));
    }

    pub(crate) fn len(&self) -> usize {
        self.iter().count()
    }

    /// The index of the thread with this ID.
    pub(crate) fn find(&self, id: u32) -> Option<usize> {
        Some(self.iter().find(|(_, thread)| thread.id == id)?.0)
    }

    pub(crate) fn get_mut(&mut self, index: usize) -> &mut Thread {
        &mut self.list[index]
    }

    /// An ID that no thread has.
    fn new_id(&mut self) -> u32 {
        /// One more than the highest, as in Linux by default.
        const END: u32 = 32_768;
        loop {
            let id = self.next_id;
            self.next_id = if id + 1 < END { id + 1 } else { PROCESS + 1 };
            if self.find(id).is_none() {
                return id;
            }
        }
    }

    /// Whether a thread waits for files.
    pub(crate) fn wait_for_files(&self) -> bool {
        self.for_files != 0
    }

    /// Ends a thread's wait, if it has one: its call goes on once it is its turn.
    pub(crate) fn resume(&mut self, index: usize, why: Ended) {
        if let State::Waits(wait) = self.list[index].state {
            self.list[index].state = State::Resumes(wait, why);
            self.ready.push_back(index);
            self.forget(wait);
        }
    }

    /// Ends all waits for which `ends` has a reason.
    pub(crate) fn resume_all(&mut self, ends: impl Fn(&Wait) -> Option<Ended>) {
        for index in 0..self.list.len() {
            if let State::Waits(wait) = &self.list[index].state
                && let Some(why) = ends(wait)
            {
                self.resume(index, why);
            }
        }
    }

    /// Keeps the sums about waits, of which this one is over.
    fn forget(&mut self, wait: Wait) {
        if matches!(wait.on, On::Files { .. }) {
            self.for_files -= 1;
        }
        self.is_earliest_old |= wait.until.is_some() && wait.until == self.earliest;
    }

    /// The earliest uptime at which a wait ends by itself.
    fn earliest(&mut self) -> Option<Duration> {
        if std::mem::take(&mut self.is_earliest_old) {
            self.earliest = self.list.iter().filter_map(|thread| thread.wait()?.until).min();
        }
        self.earliest
    }

    /// Whether the current thread runs.
    pub(crate) fn runs(&self) -> bool {
        self.current().state == State::Runs
    }

    /// Whether the current thread has ended.
    pub(crate) fn is_over(&self) -> bool {
        self.current().state == State::Over
    }

    /// Has the current thread wait.
    pub(crate) fn park(&mut self, wait: Wait) {
        self.waits += 1;
        let wait = Wait { order: self.waits, ..wait };
        self.for_files += usize::from(matches!(wait.on, On::Files { .. }));
        self.earliest = [self.earliest, wait.until].into_iter().flatten().min();
        self.current_mut().state = State::Waits(wait);
    }

    /// Has the current thread run again where it has been parked at this place; why it goes on. Elsewhere the host has it
    /// do something else, and its wait is given up.
    pub(crate) fn unpark(&mut self, place: (u64, u64)) -> Option<Resumed> {
        let current = self.current;
        let (wait, why) = match self.list[current].state {
            State::Runs | State::Over => return None,
            State::Waits(wait) => {
                self.list[current].state = State::Runs;
                self.forget(wait);
                (wait, Ended::Again)
            }
            State::Resumes(wait, why) => {
                self.list[current].state = State::Runs;
                self.ready.retain(|&index| index != current);
                (wait, why)
            }
        };
        (wait.place == place).then_some(Resumed { why, until: wait.until, done: wait.done, part: wait.part })
    }

    /// Removes the thread with this index, which has ended and is not the current one.
    fn remove(&mut self, index: usize) {
        self.list.remove(index);
        let shift = |other: &mut usize| *other -= usize::from(*other > index);
        self.ready.iter_mut().for_each(shift);
        shift(&mut self.current);
    }
}
