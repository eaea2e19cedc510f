//! Running a machine: the fast engine as far as it goes, single steps between.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use riverrun_state::{FloatEnv, Trap, TrapCause, Window};

use crate::cell::Cell;
use crate::code::{Code, Entry, RUN_LIMIT};
use crate::enter::enter;
use crate::handlers::{COUNTED, REASON_FUEL, REASON_RESOLVE, REASON_TARGET};
use crate::step::{Step, step};

/// Instructions between looks at the clock: a few milliseconds' worth.
const SLICE: u64 = 4 << 20;
/// The same for single steps, which are slower.
const STEP_SLICE: u64 = 64 << 10;

/// When to stop a run, besides traps and calls.
#[derive(Debug)]
pub struct Limits<'a> {
    /// Instructions that may still be executed; counted down. `None` for no limit.
    pub fuel: Option<&'a mut u64>,
    /// Until when; looked at every few milliseconds.
    pub deadline: Option<Instant>,
    /// Set to stop; looked at every few milliseconds.
    pub interrupted: &'a AtomicBool,
}

/// Why a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// At an `ecall`: the pc is its address, and it is counted as executed.
    Ecall,
    /// A trap; the state is as the trap found it.
    Trap(Trap),
}

/// Where the fast engine left off.
enum Left {
    /// In front of an instruction, which is for the single-step engine.
    AtStep,
    /// In front of an instruction, for want of fuel or because code has to be decoded.
    Elsewhere,
}

impl Code {
    /// Runs the guest of `window` on this code, from its pc on. `single_step` keeps to the
    /// single-step engine.
    ///
    /// The window has to have the image of this code's program mapped, as its text is not read
    /// from memory but from the program.
    pub fn run(&self, window: &mut Window, limits: Limits<'_>, single_step: bool) -> Stop {
        let Limits { fuel, deadline, interrupted } = limits;
        let mut remaining = fuel.as_deref().copied().unwrap_or(u64::MAX);
        let stop = Run { code: self, window, deadline, interrupted, single_step }.run(&mut remaining);
        if let Some(fuel) = fuel {
            *fuel = remaining;
        }
        stop
    }
}

struct Run<'a> {
    code: &'a Code,
    window: &'a mut Window,
    deadline: Option<Instant>,
    interrupted: &'a AtomicBool,
    single_step: bool,
}

impl Run<'_> {
    fn run(&mut self, remaining: &mut u64) -> Stop {
        let mut slice = 0;
        self.code.bind(self.window);
        loop {
            // A slice that is too short for a run would be spent in single steps.
            if slice < RUN_LIMIT as u64 {
                if self.is_interrupted() {
                    return self.trap(TrapCause::Interrupted);
                }
                slice = if self.single_step { STEP_SLICE } else { SLICE };
            }
            let limit = slice.min(*remaining);
            let before = self.window.state().instret;
            let left = match self.fast_entry(limit) {
                Some(entry) => self.fast(entry, limit),
                None => Left::AtStep,
            };
            let executed = self.window.state().instret - before;
            *remaining -= executed;
            slice -= executed;
            if let Left::Elsewhere = left {
                continue;
            }
            if *remaining == 0 {
                return self.trap(TrapCause::OutOfFuel);
            }
            match step(self.window, &self.code.image) {
                Ok(outcome) => {
                    *remaining -= 1;
                    slice = slice.saturating_sub(1);
                    if outcome == Step::Ecall {
                        return Stop::Ecall;
                    }
                }
                Err(trap) => return Stop::Trap(trap),
            }
        }
    }

    fn trap(&self, cause: TrapCause) -> Stop {
        Stop::Trap(Trap { cause, pc: self.window.state().pc })
    }

    fn is_interrupted(&self) -> bool {
        self.interrupted.load(Ordering::Relaxed) || self.deadline.is_some_and(|deadline| Instant::now() >= deadline)
    }

    /// Where the fast engine can go on with this much fuel, if it can.
    fn fast_entry(&self, limit: u64) -> Option<Entry> {
        let state = self.window.state();
        if self.single_step || !FloatEnv::supports(state.frm) {
            return None;
        }
        let entry = self.code.entry(state.pc)?;
        (limit as i64 + i64::from(entry.ordinal) >= 0).then_some(entry)
    }

    /// Runs the fast engine from `entry` with `limit` instructions to execute at most.
    fn fast(&mut self, entry: Entry, limit: u64) -> Left {
        let state = self.window.state_ptr();
        let fuel = limit as i64 + i64::from(entry.ordinal);
        // SAFETY: the window, and with it the state, is borrowed for as long as `self`; its
        // tables are bound; entries are published cells; `fast_entry` has asked whether the
        // float environment can be had, and nothing runs within it but handlers.
        unsafe {
            let env = FloatEnv::enter(&*state);
            enter(self.code.cell(entry.cell), state, fuel);
            env.leave(&mut *state);
        }
        let state = self.window.state_mut();
        let cell = state.exit.op as *const Cell;
        let reason = state.exit.reason;
        let left = match reason {
            REASON_TARGET => {
                state.pc = state.exit.target;
                state.exit.fuel
            }
            _ => {
                let (pc, ordinal) = self.code.origin(cell);
                state.pc = pc;
                state.exit.fuel - i64::from(ordinal)
            }
        };
        if COUNTED {
            state.instret += limit - left as u64;
        }
        match reason {
            REASON_FUEL | REASON_TARGET => Left::Elsewhere,
            REASON_RESOLVE if self.code.resolve(cell) => Left::Elsewhere,
            _ => Left::AtStep,
        }
    }
}
