//! The scheduler: which thread's hart is in the machine, and for how long.
//!
//! Threads take turns. A turn ends where its thread waits, yields or ends, or with its time slice, which is counted in
//! instructions: so a run is the same each time, as far as its clocks and its input are. A seed makes slices of random
//! lengths, by which races are found.
//!
//! Compiled code that counts nothing has slices of the host's time, unless a seed or virtual time asks for the same run
//! each time; then it does not run while several threads can.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use riverrun::{Alarm, Caller};
use rustix::event::PollFlags;
use serde::{Deserialize, Serialize};

use super::{State, Thread, Threads};
use crate::Linux;
use crate::call::{Call, Outcome, Patience, Stop};
use crate::host_socket::HostSocket;
use crate::open_file::{Kind, OpenFile};
use crate::requests::{ENDS, Ended, LOCKS, On, Resumed, SOCKETS, Wait};

/// Instructions of a time slice without a seed: far more than a switch takes, and a few dozen microseconds.
const SLICE: u64 = 50_000;
/// The shortest slice that a seed makes; the longest is twice [`SLICE`].
const SHORTEST: u64 = 1_000;
/// A time slice of code that does not count its instructions: some times as long as the host takes to end one.
const TIME_SLICE: Duration = Duration::from_millis(5);
/// How often the host's streams are looked at while other threads run.
const GLANCE: Duration = Duration::from_millis(5);
/// How often locks are tried again that others have, while no thread runs.
const LOCK_GLANCE: Duration = Duration::from_millis(2);
/// The same as [`GLANCE`] in virtual time.
const VIRTUAL_GLANCE: u64 = 5_000_000;

/// The lengths of time slices.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Slices {
    /// The state of a generator of random numbers (SplitMix64).
    random: Option<u64>,
    /// When the present one ends, by the machine's instructions; `None` while no other thread can run.
    end: Option<u64>,
    /// The same for a slice of the host's time, which no other host has.
    #[serde(skip)]
    moment: Option<Instant>,
}

impl Slices {
    pub(super) fn new(seed: Option<u64>) -> Slices {
        Slices { random: seed, end: None, moment: None }
    }

    /// Ends the present one.
    pub(super) fn end(&mut self) {
        (self.end, self.moment) = (None, None);
    }

    /// The alarm for the end of the present one, which begins here if there is none.
    fn alarm(&mut self, instructions: u64, is_timed: bool) -> Alarm {
        if is_timed && self.random.is_none() {
            self.end = None;
            return Alarm::At(*self.moment.get_or_insert_with(|| Instant::now() + TIME_SLICE));
        }
        self.moment = None;
        let end = self.end.unwrap_or_else(|| instructions.saturating_add(self.next()));
        self.end = Some(end);
        Alarm::Executed(end)
    }

    fn next(&mut self) -> u64 {
        let Some(state) = &mut self.random else { return SLICE };
        *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (*state ^ *state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        SHORTEST + (mixed ^ mixed >> 31) % (2 * SLICE - SHORTEST)
    }

    fn is_over(&self, instructions: u64) -> bool {
        self.end.is_some_and(|end| end <= instructions) || self.moment.is_some_and(|moment| moment <= Instant::now())
    }
}

/// How the thread goes on that is in the machine now.
#[derive(Debug)]
pub(crate) enum Next {
    /// In its own code, at the machine's pc.
    Code,
    /// With the system call at the machine's pc, which has waited.
    Call(Resumed),
}

impl Threads {
    /// Whether another thread is to have its turn.
    pub(crate) fn is_turn_over(&self, instructions: u64) -> bool {
        !self.ready.is_empty() && self.slices.is_over(instructions)
    }

    /// Begins a turn.
    pub(crate) fn begin_turn(&mut self) {
        self.slices.end();
    }

    /// Whether another thread can run.
    pub(crate) fn are_others_ready(&self) -> bool {
        !self.ready.is_empty()
    }

    /// Has the current thread, which runs, queue behind those that are ready.
    pub(crate) fn queue(&mut self) {
        self.ready.push_back(self.current);
    }
}

impl Linux {
    /// Notes that the current thread waits, or has ended, and lets the next one have the machine. Fails if the
    /// machine's time is up before one can go on, or if none ever can.
    ///
    /// Where the run is nested in a host function, other threads do not run, because their calls would return to it.
    pub(crate) fn next_thread(
        &mut self,
        instructions: u64,
        patience: Patience<'_>,
        is_nested: bool,
    ) -> Result<(), Stop> {
        loop {
            self.look_at_waits(instructions);
            let current = self.threads.current;
            let can_go_on = match is_nested {
                true => self.threads.ready.contains(&current),
                false => !self.threads.ready.is_empty(),
            };
            if can_go_on {
                // Threads that look again and again must not outlast the machine's time.
                return patience.check();
            }
            self.idle(instructions, patience, is_nested)?;
        }
    }

    /// Ends the waits whose time has come, or whose streams are ready.
    pub(crate) fn look_at_waits(&mut self, instructions: u64) {
        self.look_at_timers(instructions);
        if let Some(earliest) = self.threads.earliest() {
            let now = self.clock.uptime(instructions);
            if earliest <= now {
                let is_past = |wait: &Wait| wait.until.is_some_and(|until| until <= now);
                self.threads.resume_all(|wait| is_past(wait).then_some(Ended::TimedOut));
            }
        }
        if self.awaited_streams() != 0 {
            self.look_at_streams(Duration::ZERO);
        }
    }

    /// Waits until one of the awaited streams is ready, or this time has passed, and has the calls look again that wait for
    /// what is ready: for any socket, if one is.
    fn look_at_streams(&mut self, span: Duration) {
        self.threads.glance = None;
        let ready = self.ready_streams(span);
        if ready & SOCKETS != 0 {
            self.descriptors.iter().filter_map(OpenFile::host_socket).for_each(HostSocket::forget_awaited);
        }
        self.threads.resume_all(|wait| match wait.on {
            On::Files { streams } if streams & ready != 0 => Some(Ended::Again),
            _ => None,
        });
    }

    /// Has the calls look again that wait for files, one of which may have changed.
    pub(crate) fn files_have_changed(&mut self) {
        if self.threads.for_files != 0 {
            self.threads.resume_all(|wait| matches!(wait.on, On::Files { .. }).then_some(Ended::Again));
        }
    }

    /// The host's streams for which a thread waits.
    fn awaited_streams(&self) -> u8 {
        if self.threads.for_files == 0 {
            return 0;
        }
        let streams = self.threads.list.iter().map(|thread| match thread.wait() {
            Some(Wait { on: On::Files { streams }, .. }) => *streams,
            _ => 0,
        });
        streams.fold(0, |all, streams| all | streams)
    }

    /// Waits for those of the awaited streams that are ready. Locks are when it is time to try them again.
    fn ready_streams(&mut self, mut span: Duration) -> u8 {
        let awaited = self.awaited_streams();
        let locks = (awaited & LOCKS != 0)
            .then(|| *self.threads.lock_glance.get_or_insert_with(|| Instant::now() + LOCK_GLANCE));
        if let Some(at) = locks {
            span = span.min(at.saturating_duration_since(Instant::now()));
        }
        let mut asked = Vec::new();
        if awaited & SOCKETS != 0 {
            // Each once, whatever number of descriptors it has.
            let mut seen = BTreeSet::new();
            let files = self.descriptors.iter().filter(|file| seen.insert(file.number()));
            let sockets = files.filter_map(OpenFile::host_socket).filter_map(HostSocket::asked);
            asked.extend(sockets.map(|socket| (SOCKETS.trailing_zeros() as usize, socket)));
        }
        for (number, file) in self.standard.iter().enumerate() {
            let Kind::Stream(stream) = &file.kind else { continue };
            let events = if number == 0 { PollFlags::IN } else { PollFlags::OUT };
            for (bit, events) in [(1, events), (ENDS, PollFlags::empty())] {
                if awaited & bit << number != 0 {
                    asked.push((bit.trailing_zeros() as usize + number, stream.asked(events)));
                }
            }
        }
        let ready = crate::stream::ready(&asked, span).into_iter().fold(0, |ready, number| ready | 1 << number);
        match locks {
            Some(at) if at <= Instant::now() => {
                self.threads.lock_glance = None;
                ready | LOCKS
            }
            _ => ready,
        }
    }

    /// Lets time pass, because no thread can go on.
    fn idle(&mut self, instructions: u64, patience: Patience<'_>, is_nested: bool) -> Result<(), Stop> {
        let event = self.threads.earliest().into_iter().chain(self.until_alarm()).min();
        let streams = self.awaited_streams();
        if event.is_none() && streams == 0 {
            return Err(Stop::Endless(self.threads.why_endless(is_nested)));
        }
        if let (true, Some(event)) = (self.clock.is_virtual(), event) {
            // A timer that ends again and again may wake no thread.
            patience.check()?;
            self.clock.set_forward(event, instructions);
            return Ok(());
        }
        let start = Instant::now();
        let step = patience.glance(event.and_then(|event| self.clock.instant_of(event)))?;
        match streams {
            0 => std::thread::sleep(step),
            _ => self.look_at_streams(step),
        }
        self.clock.has_waited(start.elapsed());
        Ok(())
    }

    /// When the guest is to be interrupted next, if it makes no call: for another thread's turn or wait, or for a timer.
    /// `are_counted` says whether instructions are, in all code that may run.
    pub(crate) fn next_alarm(&mut self, instructions: u64, are_counted: bool) -> Option<Alarm> {
        let is_timed = !are_counted && !self.clock.is_virtual();
        let threads = &mut self.threads;
        let slice = if threads.ready.is_empty() {
            threads.slices.end();
            None
        } else {
            Some(threads.slices.alarm(instructions, is_timed))
        };
        let wait = threads.earliest().and_then(|earliest| self.clock.alarm(earliest, instructions));
        let alarms = [slice, wait, self.next_glance(instructions), self.timer_alarm(instructions)];
        alarms.into_iter().flatten().reduce(sooner)
    }

    /// When the host's streams are to be looked at, if a thread waits for one. It stays the same until then, however many
    /// calls are made meanwhile.
    fn next_glance(&mut self, instructions: u64) -> Option<Alarm> {
        if self.awaited_streams() == 0 {
            self.threads.glance = None;
            return None;
        }
        let is_virtual = self.clock.is_virtual();
        Some(*self.threads.glance.get_or_insert_with(|| match is_virtual {
            true => Alarm::Executed(instructions.saturating_add(VIRTUAL_GLANCE)),
            false => Alarm::At(Instant::now() + GLANCE),
        }))
    }
}

/// The alarm that comes first. One by instructions comes soon: at it, the time is looked at, too.
fn sooner(a: Alarm, b: Alarm) -> Alarm {
    match (a, b) {
        (Alarm::At(a), Alarm::At(b)) => Alarm::At(a.min(b)),
        (Alarm::Executed(a), Alarm::Executed(b)) => Alarm::Executed(a.min(b)),
        (Alarm::Executed(_), Alarm::At(_)) => a,
        (Alarm::At(_), Alarm::Executed(_)) => b,
    }
}

/// Puts the next thread's hart into the machine, in place of the current one's, which goes on at `go_on_at` if it runs.
/// There is one that can go on: see [`Linux::next_thread`].
pub(crate) fn switch<T>(caller: &mut Caller<'_, T>, get: &impl Fn(&mut T) -> &mut Linux, go_on_at: u64) -> Next {
    let is_nested = caller.is_nested();
    let threads = &mut get(caller.data_mut()).threads;
    let before = threads.current;
    let next = match is_nested {
        true => {
            threads.ready.retain(|&index| index != before);
            before
        }
        false => threads.ready.pop_front().unwrap_or(before),
    };
    threads.begin_turn();
    if next != before
        && let Some(mut hart) = threads.list[next].hart.take()
    {
        threads.current = next;
        caller.swap_hart(&mut hart);
        let threads = &mut get(caller.data_mut()).threads;
        let left = &mut threads.list[before];
        if left.state == State::Runs {
            hart.set_pc(go_on_at);
        }
        left.hart = Some(hart);
        if left.state == State::Over {
            threads.remove(before);
        }
    }
    let current = get(caller.data_mut()).threads.current_mut();
    match current.state {
        State::Resumes(Wait { until, done, part, .. }, why) => {
            current.state = State::Runs;
            Next::Call(Resumed { why, until, done, part })
        }
        _ => Next::Code,
    }
}

/// Puts the hart of the thread back that began the host's call, which has been given up while another one ran.
pub(crate) fn put_back<T>(caller: &mut Caller<'_, T>, get: &impl Fn(&mut T) -> &mut Linux) {
    let threads = &mut get(caller.data_mut()).threads;
    let began = |thread: &Thread| thread.hart.as_ref().is_some_and(|hart| hart.began_call());
    let Some(index) = threads.list.iter().position(began) else { return };
    if let State::Waits(wait) = threads.list[index].state {
        threads.list[index].state = State::Runs;
        threads.forget(wait);
    }
    threads.list[index].state = State::Runs;
    // The other one goes on where it is, or makes its call again.
    match threads.current().state {
        State::Runs => threads.queue(),
        State::Waits(_) | State::Resumes(..) | State::Over => {}
    }
    threads.ready.retain(|&ready| ready != index);
    threads.ready.push_front(index);
    let pc = caller.pc();
    switch(caller, get, pc);
}

pub(crate) fn sched_yield(_: &mut Call<'_>) -> Outcome {
    Err(Stop::Yield)
}
