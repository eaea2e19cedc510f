//! Threads as a part of the personality's saved state. The registers of the current one are the machine's.

use riverrun::Hart;
use serde::{Deserialize, Serialize};

use super::{Name, Slices, State, Thread, Threads};
use crate::requests::On;
use crate::signals::ThreadSignals;

/// A guest's threads while it is saved.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct SavedThreads {
    list: Vec<SavedThread>,
    current: u32,
    ready: Vec<u32>,
    next_id: u32,
    first_status: Option<i32>,
    slices: Slices,
    waits: u64,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct SavedThread {
    id: u32,
    hart: Option<SavedHart>,
    state: State,
    signals: ThreadSignals,
    clear_id_at: u64,
    robust_list: u64,
    name: Name,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct SavedHart {
    x: [u64; 32],
    f: [u64; 32],
    pc: u64,
    fcsr: u32,
}

impl SavedHart {
    fn of(hart: &Hart) -> SavedHart {
        SavedHart {
            x: std::array::from_fn(|n| hart.x(n as u8)),
            f: std::array::from_fn(|n| hart.f(n as u8)),
            pc: hart.pc(),
            fcsr: hart.fcsr(),
        }
    }

    fn restore(&self) -> Box<Hart> {
        let mut hart = Box::new(Hart::new());
        for n in 0..32_u8 {
            hart.set_x(n, self.x[usize::from(n)]);
            hart.set_f(n, self.f[usize::from(n)]);
        }
        hart.set_pc(self.pc);
        hart.set_fcsr(self.fcsr);
        hart
    }
}

impl SavedThread {
    fn of(thread: &Thread) -> SavedThread {
        SavedThread {
            id: thread.id,
            hart: thread.hart.as_deref().map(SavedHart::of),
            state: thread.state,
            signals: thread.signals.clone(),
            clear_id_at: thread.clear_id_at,
            robust_list: thread.robust_list,
            name: thread.name,
        }
    }

    fn restore(&self) -> Thread {
        Thread {
            id: self.id,
            hart: self.hart.as_ref().map(SavedHart::restore),
            state: self.state,
            signals: self.signals.clone(),
            clear_id_at: self.clear_id_at,
            robust_list: self.robust_list,
            name: self.name,
        }
    }
}

impl Threads {
    pub(crate) fn save(&self) -> SavedThreads {
        SavedThreads {
            list: self.list.iter().map(SavedThread::of).collect(),
            current: self.current as u32,
            ready: self.ready.iter().map(|&index| index as u32).collect(),
            next_id: self.next_id,
            first_status: self.first_status,
            slices: self.slices.clone(),
            waits: self.waits,
        }
    }

    /// `None` if system calls cannot make them so, with this limit on threads.
    pub(crate) fn from_saved(saved: &SavedThreads, limit: usize) -> Option<Threads> {
        let list: Vec<Thread> = saved.list.iter().map(SavedThread::restore).collect();
        let current = saved.current as usize;
        let mut times_ready = vec![0_usize; list.len()];
        for &index in &saved.ready {
            *times_ready.get_mut(index as usize)? += 1;
        }
        let is_sound = |index: usize, thread: &Thread| {
            let is_current = index == current;
            thread.hart.is_none() == is_current
                && thread.signals.is_sound()
                && thread.name[15] == 0
                && times_ready[index]
                    == match thread.state {
                        State::Runs => usize::from(!is_current),
                        State::Resumes(..) => 1,
                        State::Waits(_) => 0,
                        State::Over if is_current => 0,
                        State::Over => return false,
                    }
        };
        let mut ids: Vec<u32> = list.iter().map(|thread| thread.id).collect();
        ids.sort_unstable();
        ids.dedup();
        let all_are_sound = list.len() <= limit
            && ids.len() == list.len()
            && ids.first() != Some(&0)
            && current < list.len()
            && list.iter().enumerate().all(|(index, thread)| is_sound(index, thread))
            && saved.next_id < i32::MAX as u32;
        let waits = || list.iter().filter_map(Thread::wait);
        let for_files = waits().filter(|wait| matches!(wait.on, On::Files { .. })).count();
        all_are_sound.then(|| Threads {
            current,
            ready: saved.ready.iter().map(|&index| index as usize).collect(),
            next_id: saved.next_id,
            limit,
            first_status: saved.first_status,
            slices: saved.slices.clone(),
            waits: saved.waits,
            earliest: None,
            is_earliest_old: true,
            for_files,
            glance: None,
            lock_glance: None,
            list,
        })
    }

    /// Threads that there may be at once.
    pub(crate) fn limit(&self) -> usize {
        self.limit
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use riverrun_testkit::processor_time;

    use super::super::MAX_LIMIT;
    use super::*;

    /// A forged file may name one thread a million times; looking it through for each thread would take minutes.
    #[test]
    fn lists_of_threads_are_looked_through_once() {
        let mut saved = Threads::new(None, None).save();
        let last = saved.list[0].clone();
        let other = |index: u32| SavedThread {
            id: last.id + index,
            hart: Some(SavedHart::of(&Hart::new())),
            state: State::Runs,
            ..last.clone()
        };
        saved.list.extend((1..MAX_LIMIT as u32).map(other));
        saved.ready = (1..MAX_LIMIT as u32).collect();
        assert!(Threads::from_saved(&saved, MAX_LIMIT).is_some());
        saved.ready.extend(std::iter::repeat_n(MAX_LIMIT as u32 - 1, 4 << 20));
        let before = processor_time();
        assert!(Threads::from_saved(&saved, MAX_LIMIT).is_none());
        assert!(processor_time() - before < Duration::from_secs(5));
        saved.ready = vec![MAX_LIMIT as u32];
        assert!(Threads::from_saved(&saved, MAX_LIMIT).is_none());
    }
}
