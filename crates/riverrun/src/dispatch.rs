//! The dispatcher: the only code that decides what runs next.
//!
//! [`Instance::run_guest`] runs a guest until its run ends. It asks [`Dispatcher::next_stop`] for the next event that no
//! engine handles by itself (a host call that an engine cannot make, a trap, a return to the host) and handles it.
//! `next_stop` chooses the engine: compiled code where there is some for the pc, else the interpreter, and for the
//! instructions that neither executes the reference interpreter.
//!
//! Invariant: whenever control is here, the hart is committed, and no host frame holds anything of the guest, except where
//! [`Exit`] says that registers were lost.

use std::ptr::NonNull;

use riverrun_interp::{Code, Step};
use riverrun_vm::{
    Exit, Import, Interruption, RETURN_ADDRESS, SIGNAL_RETURN_ADDRESS, Trap, TrapCause, Window, call_host,
};

use crate::compiled_code::CompiledEngine;
use crate::error::{Error, Handler};
use crate::flow::Flow;
use crate::instance::{AtEnd, Depth, Instance, Suspended};
use crate::missing::missing_function;
use crate::pace::Pace;
use crate::program::Program;
use crate::registers::Position;
use crate::sampler::Sampler;

/// How a run ended.
pub(crate) enum Ended {
    /// The function that was called has returned.
    Returned,
    /// The guest has ended itself.
    Exited(i32),
    /// The guest waits for a host function, which the run's [`Suspension`](crate::suspension::Suspension) has.
    Waits,
    /// Its slice has ended; the guest can continue.
    Cut,
}

/// An event that ends the engines' part of a run.
enum Stop {
    /// At an `ecall`: the pc is its address, and it counts as executed.
    Ecall,
    /// At a call of the import with this index: likewise.
    Import(u32),
    /// The function that the host has called has returned.
    Returned,
    /// The alarm's time has come, or the slice's end: in front of any instruction.
    Alarm,
    /// The program has better compiled code than this run.
    BetterCode,
    /// As [`Exit::Abandoned`].
    Abandoned { has_arguments: bool },
    /// A trap of the guest's own. The hart is as it was before the instruction.
    Trap(Trap),
    /// A limit of fuel or time: in front of any instruction.
    Limit(TrapCause),
    /// A trap in compiled code that does not commit registers there: the run cannot continue.
    Lost(Trap),
}

/// The engines of one run, and what limits it.
struct Dispatcher<'a> {
    window: &'a mut Window,
    program: &'a Program,
    code: &'a Code,
    compiled: Option<&'a mut CompiledEngine>,
    /// How much of the program's compiled code this run has seen.
    seen: usize,
    sampler: Option<&'a mut Sampler>,
    single_step: bool,
    exits_at_polls: bool,
    interruption: &'a Interruption,
    /// Instructions that may still be executed.
    fuel: u64,
    pace: Pace,
}

impl Dispatcher<'_> {
    /// Runs the guest until something happens that no engine handles by itself.
    ///
    /// # Safety
    /// As [`Code::run`] and [`Execution::run`](riverrun_vm::artifact::Execution::run), for the window, the code and the
    /// execution.
    unsafe fn next_stop(&mut self) -> Stop {
        loop {
            if self.interruption.is_reached() {
                return Stop::Limit(TrapCause::Interrupted);
            }
            if self.interruption.is_alarm_past() {
                return Stop::Alarm;
            }
            self.interruption.renew_polls(self.window.polls());
            if self.program.improvements().count() > self.seen {
                return Stop::BetterCode;
            }
            // SAFETY: as the caller promises.
            let exit = unsafe { self.run_engine() };
            match exit {
                Exit::Continue => {}
                Exit::Ecall if self.fuel != 0 => {
                    // As the reference interpreter would, without decoding what is known.
                    self.window.state_mut().hart.instret += 1;
                    self.fuel -= 1;
                    return Stop::Ecall;
                }
                Exit::Step | Exit::Ecall | Exit::Refused => {
                    if let Some(stop) = self.step() {
                        return stop;
                    }
                }
                Exit::Abandoned { has_arguments } => return Stop::Abandoned { has_arguments },
                Exit::Fault { address } => {
                    return Stop::Lost(self.trap_here(self.code.fault_of(self.window.state().hart.pc, address)));
                }
                Exit::Lost(cause) => return Stop::Lost(self.trap_here(cause)),
            }
        }
    }

    /// Runs the engine that has code for the pc, for a slice at most.
    ///
    /// # Safety
    /// As [`Dispatcher::next_stop`].
    unsafe fn run_engine(&mut self) -> Exit {
        if self.single_step {
            return Exit::Step;
        }
        let limit = self.fuel.min(self.pace.slice());
        let (mut code, is_visit) = (self.code, self.compiled.is_some());
        if let Some(CompiledEngine { execution, code: compiled }) = self.compiled.as_deref_mut() {
            code = &compiled.fallback;
            match execution.entry(self.window.state()) {
                None => {}
                // Compiled code knows the default rounding mode only.
                Some(_) if self.window.state().hart.frm != 0 => code = self.code,
                Some(entry) => {
                    let pc = self.window.state().hart.pc;
                    if self.exits_at_polls {
                        execution.ask_to_exit();
                    }
                    // SAFETY: as the caller promises.
                    let (exit, executed) = unsafe { execution.run(entry, self.window, limit, self.interruption) };
                    self.count(executed);
                    match exit {
                        // Goes on behind the poll.
                        Exit::Refused if self.exits_at_polls && self.window.state().hart.pc == pc => return Exit::Step,
                        Exit::Refused if executed != 0 => return Exit::Continue,
                        Exit::Refused if self.fuel > limit => {
                            self.pace.widen();
                            return Exit::Continue;
                        }
                        // The fallback code would lead back to compiled code at once.
                        Exit::Refused => code = self.code,
                        exit => return exit,
                    }
                }
            }
        }
        let until_sample = match self.sampler.as_mut().map(|sampler| sampler.begin(is_visit)) {
            Some(None) => return Exit::Step,
            Some(until_sample) => until_sample,
            None => None,
        };
        // SAFETY: as the caller promises.
        let (exit, executed) = unsafe { code.run(self.window, limit.min(until_sample.unwrap_or(u64::MAX))) };
        self.count(executed);
        if let Some(sampler) = &mut self.sampler {
            sampler.executed(executed);
        }
        exit
    }

    /// Notes what an engine has executed, with what host functions have had the guest do: that may be more than there was
    /// until an alarm, which they set anew.
    fn count(&mut self, executed: u64) {
        self.fuel = self.fuel.saturating_sub(executed);
        self.pace.executed(executed, self.fuel);
    }

    /// Executes an instruction by the reference interpreter, which makes all traps.
    fn step(&mut self) -> Option<Stop> {
        if self.window.state().hart.pc == RETURN_ADDRESS {
            return Some(Stop::Returned);
        }
        if self.fuel == 0 {
            return Some(Stop::Limit(TrapCause::OutOfFuel));
        }
        match self.code.step(self.window) {
            Ok(step) => {
                self.fuel -= 1;
                if let Some(time) = self.sampler.as_mut().and_then(|sampler| sampler.stepped()) {
                    let pc = self.window.state().hart.pc;
                    self.program.sample(pc, self.code.beginning(pc), time);
                }
                match step {
                    Step::Done => None,
                    Step::Ecall => Some(Stop::Ecall),
                    Step::Import(index) => Some(Stop::Import(index)),
                }
            }
            Err(trap) => Some(Stop::Trap(trap)),
        }
    }

    fn trap_here(&self, cause: TrapCause) -> Trap {
        Trap { cause, pc: self.window.state().hart.pc }
    }
}

/// Whether the guest has come to the end of a signal handler.
fn is_signal_return(trap: &Trap) -> bool {
    trap.cause == TrapCause::FetchFault { address: SIGNAL_RETURN_ADDRESS } && trap.pc == SIGNAL_RETURN_ADDRESS
}

impl<T> Instance<T> {
    /// Runs the guest from its pc on, with this much fuel, which an outermost run takes off [`Instance::fuel`].
    ///
    /// # Safety
    /// As [`Instance::call`]; the state has all registers.
    pub(crate) unsafe fn run_guest(this: NonNull<Self>, fuel: Option<u64>) -> Result<Ended, Error> {
        let at = this.as_ptr();
        // SAFETY: as the caller promises. A run borrows the window (that of the suspended engine, if there is one) and an
        // execution that no other run has.
        unsafe {
            let state = (*at).state;
            let is_nested = Self::depth(this) != 0;
            let outer_fuel_end = (*at).fuel_end;
            let _restored = AtEnd(move || match is_nested {
                true => {
                    (*at).fuel_end = outer_fuel_end;
                    if (*at).slice_end.is_some() {
                        Self::arm(this);
                    }
                }
                false => (*at).fuel = Self::fuel_left(this),
            });
            let _depth = Depth::enter(&raw mut (*at).depth);
            let window = Self::window(this);
            let _window = AtEnd(move || (*state).exit.window = 0);
            (*at).fuel_end = fuel.map(|fuel| (*state).hart.instret.saturating_add(fuel));
            if is_nested && (*at).slice_end.is_some() {
                Self::arm(this);
            }
            if !is_nested {
                Self::wake_engine(this);
            }
            let mut own = if is_nested { Self::take_execution(this) } else { None };
            let engine = if is_nested { own.as_ref() } else { (*at).execution.as_ref() };
            let mut seen = engine.map_or(0, |engine| engine.code.number);
            let result = loop {
                let engine = if is_nested { &mut own } else { &mut (*at).execution };
                let stop = Self::next_stop(this, &mut *window, engine.as_mut(), seen);
                // The host functions called below take the window from here.
                (*state).exit.window = window as u64;
                let flow = match stop {
                    // Another hart than the one that began the call.
                    Stop::Returned if !is_nested && !(*at).has_own_hart => {
                        break Err(Self::trap(this, TrapCause::FetchFault { address: RETURN_ADDRESS }, RETURN_ADDRESS));
                    }
                    Stop::Returned => break Ok(Ended::Returned),
                    Stop::Trap(trap) if is_signal_return(&trap) => {
                        // As the `ecall` that it stands for.
                        (*state).hart.instret += 1;
                        Self::call_ecall_handler(this)
                    }
                    Stop::Trap(trap) => match Self::call_trap_handler(this, trap.cause) {
                        Ok(Flow::Continue) => continue,
                        flow => flow,
                    },
                    Stop::Limit(cause) => break Err(Self::trap(this, cause, (*state).hart.pc)),
                    Stop::Lost(trap) => {
                        (*at).lost = Some(trap.pc);
                        break Err(Self::lost_trap(this, trap.cause, trap.pc));
                    }
                    Stop::Abandoned { .. } if Self::is_waiting(this) => break Ok(Ended::Waits),
                    Stop::Abandoned { has_arguments } => {
                        if !has_arguments && Self::has_been_given_arguments(this) {
                            (*at).lost = Some((*state).hart.pc);
                        }
                        Self::given_up(this)
                    }
                    Stop::Import(index) => match (*state).import(index) {
                        Some(import) => Self::call_host(this, import),
                        None => Ok(Flow::Trap(TrapCause::UnboundImport { index })),
                    },
                    Stop::Ecall => Self::system_call(this, window),
                    Stop::BetterCode => {
                        seen = (*at).program.improvements().count();
                        (*at).program.improve(engine);
                        if !is_nested {
                            Self::choose_fast_path(this);
                        }
                        continue;
                    }
                    Stop::Alarm if Self::is_cut(this) => break Ok(Ended::Cut),
                    Stop::Alarm if !(*at).alarm.is_some_and(|alarm| alarm.has_come((*state).instructions())) => {
                        Self::arm(this);
                        continue;
                    }
                    Stop::Alarm => match Self::call_alarm_handler(this) {
                        Ok(Flow::Continue) => continue,
                        flow => flow,
                    },
                };
                match flow {
                    _ if Self::is_waiting(this) => break Ok(Ended::Waits),
                    Ok(Flow::Continue) => (*state).hart.pc = (*state).hart.pc.wrapping_add(4),
                    Ok(Flow::Jump(pc)) => (*state).hart.pc = pc,
                    Ok(Flow::Exit(status)) => break Ok(Ended::Exited(status)),
                    Ok(Flow::Trap(cause)) => break Err(Self::trap(this, cause, (*state).hart.pc)),
                    Err(error) => break Err(error),
                }
            };
            // A nested run's suspended frames end with it.
            own.iter_mut().for_each(|engine| engine.forget());
            (*at).spare_executions.extend(own);
            result
        }
    }

    /// Runs the engines until something happens that none of them handles by itself.
    ///
    /// # Safety
    /// As [`Instance::run_guest`]; the window is this instance's, and the engine no other run's.
    unsafe fn next_stop(
        this: NonNull<Self>,
        window: &mut Window,
        engine: Option<&mut CompiledEngine>,
        seen: usize,
    ) -> Stop {
        let at = this.as_ptr();
        // SAFETY: as the caller promises.
        unsafe {
            let fuel = Self::fuel_left(this);
            let alarm = (*at).alarm;
            let fuel_until_alarm = alarm.and_then(|alarm| alarm.fuel((*(*at).state).instructions()));
            let program = &(*at).program;
            let config = &program.engine().config;
            let (single_step, exits_at_polls) = (config.single_step, config.exits_at_polls);
            let interruption = &(*at).interruption;
            // Code that does not count its instructions exits when the watchdog asks it to.
            let stops_by_time = fuel.is_none() && fuel_until_alarm.is_none() && interruption.is_watched();
            let counts = |engine: &CompiledEngine| engine.counts_fuel();
            let sampler = &(*at).sampler;
            (*at).counts_instructions = fuel.is_some()
                || single_step
                || engine.as_deref().is_none_or(counts) && sampler.as_ref().is_none_or(|sampler| sampler.counts_fuel);
            let compiled = engine.filter(|engine| !single_step && (counts(engine) || stops_by_time));
            // What it could not run is not compiled for it.
            let sampler = (*at).sampler.as_mut().filter(|sampler| sampler.counts_fuel || stops_by_time);
            let (code, pace) = (program.code(), Pace::new());
            let tighter = [fuel, fuel_until_alarm].into_iter().flatten().min().unwrap_or(u64::MAX);
            let is_alarm_first = fuel_until_alarm.is_some_and(|until| fuel.is_none_or(|fuel| until < fuel));
            let fuel = tighter;
            let mut dispatcher = Dispatcher {
                window,
                program,
                code,
                compiled,
                seen,
                sampler,
                single_step,
                exits_at_polls,
                interruption,
                fuel,
                pace,
            };
            match dispatcher.next_stop() {
                Stop::Limit(TrapCause::OutOfFuel) if is_alarm_first => Stop::Alarm,
                stop => stop,
            }
        }
    }

    /// Makes the system call at the pc: a call of a host function by its number or hash, or one for the host's handler.
    ///
    /// # Safety
    /// As [`Instance::run_guest`].
    unsafe fn system_call(this: NonNull<Self>, window: *mut Window) -> Result<Flow, Error> {
        let at = this.as_ptr();
        // SAFETY: as the caller promises.
        unsafe {
            if let Some((key, function)) = Self::dynamic_function(this) {
                let import = function.import(at.cast(), (*at).guards_floats);
                (*window).remember_system_call(key, import);
                return Self::call_host(this, &import);
            }
            let position = Position::of(&*(*at).state);
            let missing = missing_function(position, Self::engine_memory(this).as_ref());
            match missing.filter(|_| !(*at).registry.is_empty()) {
                Some(missing) => Err(Self::handler_failure(this, Handler::SystemCall, missing.into())),
                None => Self::call_ecall_handler(this),
            }
        }
    }

    /// Calls the host's handler of system calls.
    ///
    /// # Safety
    /// As [`Instance::run_guest`].
    unsafe fn call_ecall_handler(this: NonNull<Self>) -> Result<Flow, Error> {
        // SAFETY: as the caller promises.
        unsafe {
            let ecall = (*this.as_ptr()).ecall.clone();
            ecall(Suspended::new(this)).map_err(|error| Self::handler_failure(this, Handler::SystemCall, error))
        }
    }

    /// Calls the host's handler of alarms. The alarm is over.
    ///
    /// # Safety
    /// As [`Instance::run_guest`].
    unsafe fn call_alarm_handler(this: NonNull<Self>) -> Result<Flow, Error> {
        // SAFETY: as the caller promises.
        unsafe {
            let at = this.as_ptr();
            Self::set_alarm(this, None);
            let Some(handler) = (*at).alarm_handler.clone() else { return Ok(Flow::Continue) };
            let flow =
                handler(Suspended::new(this)).map_err(|error| Self::handler_failure(this, Handler::Alarm, error));
            // As any interrupt does that the guest can see.
            if !matches!(flow, Ok(Flow::Continue)) {
                (*(*at).state).hart.reservation = u64::MAX;
            }
            flow
        }
    }

    /// Offers a trap to the host's handler of traps. If the guest goes on, the trap counts as an instruction: else a guest
    /// that only traps would use no fuel.
    ///
    /// # Safety
    /// As [`Instance::run_guest`].
    unsafe fn call_trap_handler(this: NonNull<Self>, cause: TrapCause) -> Result<Flow, Error> {
        // SAFETY: as the caller promises.
        unsafe {
            let at = this.as_ptr();
            let Some(handler) = (*at).trap_handler.clone() else { return Ok(Flow::Trap(cause)) };
            let flow = handler(Suspended::new(this), Self::classified(this, cause))
                .map_err(|error| Self::handler_failure(this, Handler::Trap, error))?;
            if matches!(flow, Flow::Continue | Flow::Jump(_)) {
                let hart = &mut (*(*at).state).hart;
                hart.instret += 1;
                // As any trap does that the guest can see.
                hart.reservation = u64::MAX;
            }
            Ok(flow)
        }
    }

    /// Calls a host function as an engine does.
    ///
    /// # Safety
    /// As [`Instance::call`]; the import is this instance's.
    unsafe fn call_host(this: NonNull<Self>, import: *const Import) -> Result<Flow, Error> {
        // SAFETY: as the caller promises.
        unsafe {
            match call_host((*this.as_ptr()).state, import) {
                true => Ok(Flow::Continue),
                false if Self::is_waiting(this) => Ok(Flow::Continue),
                false => Self::given_up(this),
            }
        }
    }
}
