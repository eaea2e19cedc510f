//! Running a machine: compiled code where there is some, the fast engine as far as it goes, single
//! steps between.

use std::sync::Arc;

use riverrun_isa::Format;
use riverrun_native::{Execution, Exit};
use riverrun_state::{
    FloatEnv, Interruption, REASON_ABANDONED, REASON_UNBOUND, RETURN_ADDRESS, Trap, TrapCause, VmContext, Window,
};

#[cfg(doc)]
use riverrun_state::EngineContext;

use crate::cell::Cell;
use crate::code::{Code, Entry};
use crate::enter::enter;
use crate::fast::COUNTED;
use crate::handlers::{REASON_ENTRANCE, REASON_FUEL, REASON_RESOLVE, REASON_RETURNED, REASON_TARGET};
use crate::step::{Step, fetch, step};

/// Instructions between looks at interruptions: a few milliseconds' worth.
pub(crate) const SLICE: u64 = 4 << 20;

/// When to stop a run, besides traps and calls.
#[derive(Debug)]
pub struct Limits<'a> {
    /// Instructions that may still be executed; counted down. `None` for no limit.
    pub fuel: Option<&'a mut u64>,
    /// Stops the run within a few milliseconds.
    pub interruption: &'a Arc<Interruption>,
}

/// Why a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// At an `ecall`: the pc is its address, and it is counted as executed.
    Ecall,
    /// At a call of this import: likewise.
    Import(u32),
    /// The function that the host has called has returned.
    Returned,
    /// A host function has ended the run; the pc is that of its call.
    Abandoned {
        /// Whether the state has all registers, those with the call's arguments included.
        has_arguments: bool,
    },
    /// A trap; the state is as the trap found it.
    Trap(Trap),
    /// A trap in compiled code, which keeps no account of where its registers are: they are as of the
    /// last call, and the run cannot go on.
    Lost(Trap),
}

/// A machine's place in compiled code, and the code around it.
#[derive(Debug)]
pub struct Compiled<'a> {
    /// What runs compiled code.
    pub execution: &'a mut Execution,
    /// What the interpreter runs between, made by [`Code::around`] of the compiled code's entrances.
    pub around: &'a Code,
}

/// What a visit to compiled code came to.
pub(crate) enum Visit {
    /// There is no code at the pc.
    None,
    /// There is code, but it cannot be run with what fuel is left, or in the present rounding mode.
    Refused,
    /// The guest goes on at the pc.
    Elsewhere,
    /// In front of an instruction, which is for the single-step engine.
    AtStep,
    /// In front of an `ecall`.
    AtEcall,
    /// The access at the pc traps, and registers are as of the last call.
    Lost(TrapCause),
    /// A host function has ended the run.
    Abandoned,
}

/// Where the fast engine left off.
pub(crate) enum Left {
    /// In front of an instruction, which is for the single-step engine.
    AtStep,
    /// In front of an instruction, for want of fuel or because code has to be decoded.
    Elsewhere,
    /// A host function has ended the run.
    Abandoned,
}

impl Code {
    /// Runs the guest of `window` on this code, from its pc on, and on `compiled` code where that
    /// goes. `single_step` keeps to the single-step engine.
    ///
    /// The window has to have the image of this code's program mapped, as its text is not read
    /// from memory but from the program.
    ///
    /// # Safety
    /// What the state's [`EngineContext`] holds is what engines have left there; [`EngineContext::imports`] is the table of
    /// the program's imports, all bound for the machine of this window, or there is none. `compiled` is compiled from
    /// the program, and used with this window alone.
    pub unsafe fn run(
        &self,
        window: &mut Window,
        limits: Limits<'_>,
        single_step: bool,
        compiled: Option<Compiled<'_>>,
    ) -> Stop {
        let Limits { fuel, interruption } = limits;
        let mut remaining = fuel.as_deref().copied().unwrap_or(u64::MAX);
        let can_stop = |execution: &Execution| match execution.counts_fuel() {
            true => true,
            false => fuel.is_none() && interruption.is_watched(),
        };
        let compiled = compiled.filter(|compiled| !single_step && can_stop(compiled.execution));
        let mut run = Run { code: self, window, interruption, single_step, compiled };
        let stop = run.run(&mut remaining);
        if let Some(fuel) = fuel {
            *fuel = remaining;
        }
        stop
    }
}

struct Run<'a> {
    code: &'a Code,
    window: &'a mut Window,
    interruption: &'a Arc<Interruption>,
    single_step: bool,
    compiled: Option<Compiled<'a>>,
}

impl Run<'_> {
    fn run(&mut self, remaining: &mut u64) -> Stop {
        loop {
            if self.interruption.is_reached() {
                return self.trap(TrapCause::Interrupted);
            }
            let code = match self.visit(remaining) {
                Visit::None => self.compiled.as_ref().map_or(self.code, |compiled| compiled.around),
                // Its entrances would lead back to it at once.
                Visit::Refused => self.code,
                Visit::Elsewhere => continue,
                // Other code hands arguments over in the host's registers, and keeps no account of them.
                Visit::Abandoned => {
                    let is_precise = self.compiled.as_ref().is_some_and(|compiled| compiled.execution.is_precise());
                    return Stop::Abandoned { has_arguments: is_precise };
                }
                Visit::Lost(cause) => return Stop::Lost(Trap { cause, pc: self.window.state().hart.pc }),
                Visit::AtEcall if *remaining != 0 => {
                    // As a step would, without decoding what is known.
                    self.window.state_mut().hart.instret += 1;
                    *remaining -= 1;
                    return Stop::Ecall;
                }
                Visit::AtStep | Visit::AtEcall => {
                    if let Some(stop) = self.step(remaining) {
                        return stop;
                    }
                    continue;
                }
            };
            let limit = SLICE.min(*remaining);
            let left = match self.fast_entry(code, limit) {
                Some(entry) => self.fast(code, entry, limit, remaining),
                None => Left::AtStep,
            };
            match left {
                Left::Elsewhere => continue,
                Left::Abandoned => return Stop::Abandoned { has_arguments: true },
                Left::AtStep => {}
            }
            if let Some(stop) = self.step(remaining) {
                return stop;
            }
        }
    }

    /// Executes an instruction by the single-step engine.
    fn step(&mut self, remaining: &mut u64) -> Option<Stop> {
        if self.window.state().hart.pc == RETURN_ADDRESS {
            return Some(Stop::Returned);
        }
        if *remaining == 0 {
            return Some(self.trap(TrapCause::OutOfFuel));
        }
        match step(self.window, &self.code.image) {
            Ok(outcome) => {
                *remaining -= 1;
                match outcome {
                    Step::Done => None,
                    Step::Ecall => Some(Stop::Ecall),
                    Step::Import(index) => Some(Stop::Import(index)),
                }
            }
            Err(trap) => Some(Stop::Trap(trap)),
        }
    }

    fn trap(&self, cause: TrapCause) -> Stop {
        Stop::Trap(Trap { cause, pc: self.window.state().hart.pc })
    }

    /// Runs compiled code, if there is some at the pc.
    fn visit(&mut self, remaining: &mut u64) -> Visit {
        let state = self.window.state();
        let Some(Compiled { execution, .. }) = &mut self.compiled else { return Visit::None };
        let Some(way) = execution.way(state) else { return Visit::None };
        // Compiled code knows the default rounding mode only.
        if state.hart.frm != 0 {
            return Visit::Refused;
        }
        let limit = (*remaining).min(SLICE);
        // SAFETY: as the caller of `Code::run` promises.
        let (exit, left) = unsafe { execution.run(way, self.window, limit as i64, self.interruption) };
        let executed = if execution.counts_fuel() { limit.wrapping_sub(left as u64) } else { 0 };
        let precise = execution.is_precise();
        self.window.state_mut().hart.instret += executed;
        *remaining -= executed;
        match exit {
            // Less fuel than the code tests for: the interpreter uses it up.
            Exit::Limit if executed == 0 && *remaining < SLICE => Visit::Refused,
            exit => self.code.visited(self.window, exit, precise),
        }
    }

    /// Where the fast engine can go on in `code` with this much fuel, if it can.
    fn fast_entry(&self, code: &Code, limit: u64) -> Option<Entry> {
        let state = self.window.state();
        if self.single_step || !FloatEnv::supports(state.hart.frm) {
            return None;
        }
        let entry = code.entry(state.hart.pc)?;
        (limit as i64 + i64::from(entry.ordinal) >= 0).then_some(entry)
    }

    /// Runs the fast engine from `entry` with `limit` instructions to execute at most, and takes those
    /// executed off what remains.
    fn fast(&mut self, code: &Code, entry: Entry, limit: u64, remaining: &mut u64) -> Left {
        code.bind(self.window);
        code.prepare_host_calls(self.window, limit);
        let before = self.window.state().hart.instret;
        let state = self.window.state_ptr();
        let fuel = limit as i64 + i64::from(entry.ordinal);
        // SAFETY: the window, and with it the state, is borrowed for as long as `self`; its
        // tables are bound; entries are published cells; `fast_entry` has asked whether the
        // float environment can be had, and nothing runs within it but handlers.
        unsafe {
            let env = FloatEnv::enter(&*state);
            enter(code.cell(entry.cell), state, fuel);
            env.leave(&mut *state);
        }
        let left = code.fast_left(self.window);
        // Guest functions that a host function has called count here, too.
        *remaining -= self.window.state().hart.instret - before;
        left
    }
}

/// Writes what is not there already: a host looks faster than it stores.
#[inline(always)]
pub(crate) fn set(place: &mut u64, value: u64) {
    if *place != value {
        *place = value;
    }
}

/// From here on, instructions are counted by the fuel, of which there are so many at most.
#[inline(always)]
pub(crate) fn count_from(state: &mut VmContext, limit: u64) {
    state.exit.fuel = limit as i64;
    state.exit.count_base = if COUNTED { state.hart.instret + limit } else { 0 };
}

/// The state's `instret` is exact again; a window that was ready for [`crate::Place::call`] is so no longer.
#[inline(always)]
pub fn end_count(state: &mut VmContext) {
    state.hart.instret = state.instructions();
    state.exit.count_base = 0;
}

impl Code {
    /// What a visit to compiled code came to that ended so.
    pub(crate) fn visited(&self, window: &Window, exit: Exit, precise: bool) -> Visit {
        match exit {
            Exit::Elsewhere | Exit::Limit => Visit::Elsewhere,
            Exit::Step => Visit::AtStep,
            Exit::Ecall => Visit::AtEcall,
            Exit::Fault { .. } if precise => Visit::AtStep,
            Exit::Fault { address } => Visit::Lost(self.fault(window.state().hart.pc, address)),
            Exit::Interrupted => Visit::Lost(TrapCause::Interrupted),
            Exit::Abandoned => Visit::Abandoned,
            Exit::HostStack => Visit::Lost(TrapCause::StackOverflow { address: window.state().hart.x(2) }),
        }
    }

    /// The cause of a fault of the access at `pc`.
    fn fault(&self, pc: u64, address: u64) -> TrapCause {
        let inst = fetch(&self.image, pc);
        match inst.map(|inst| inst.op.info().format) {
            Ok(Format::Store | Format::FStore | Format::Amo) => TrapCause::StoreFault { address },
            _ => TrapCause::LoadFault { address },
        }
    }

    /// Notes in the state what host functions need to know while the fast engine runs with `limit`
    /// instructions to execute at most.
    #[inline]
    pub(crate) fn prepare_host_calls(&self, window: &mut Window, limit: u64) {
        let engine_window = &raw mut *window;
        let state = window.state_mut();
        set(&mut state.exit.window, engine_window as u64);
        count_from(state, limit);
    }

    /// Makes the state exact after the fast engine has run.
    pub(crate) fn fast_left(&self, window: &mut Window) -> Left {
        let state = window.state_mut();
        let cell = state.exit.op as *const Cell;
        let reason = state.exit.reason;
        let left = match reason {
            REASON_TARGET => {
                state.hart.pc = state.exit.target;
                state.exit.fuel
            }
            REASON_RETURNED => {
                state.hart.pc = RETURN_ADDRESS;
                state.exit.fuel
            }
            REASON_ABANDONED => state.exit.fuel,
            REASON_UNBOUND => state.exit.fuel + 1,
            _ => {
                let (pc, ordinal) = self.origin(cell);
                state.hart.pc = pc;
                state.exit.fuel - i64::from(ordinal)
            }
        };
        state.exit.fuel = left;
        end_count(state);
        match reason {
            REASON_FUEL | REASON_TARGET | REASON_ENTRANCE => Left::Elsewhere,
            REASON_ABANDONED => Left::Abandoned,
            REASON_RESOLVE if self.resolve(cell) => Left::Elsewhere,
            _ => Left::AtStep,
        }
    }
}
