//! The fast path from a host into a guest function and back.
//!
//! A call must prepare an engine and test limits, and nearly always the previous call has left all of that as needed. So the
//! first call prepares and tests, and opens the machine's entry guard ([`EntryGuard`](riverrun_vm::EntryGuard));
//! following calls only compare the guard and enter the engine. Any code that invalidates a condition of [`Ready`] must
//! call [`Instance::forget_ready`].

use std::hint::cold_path;
use std::ptr::NonNull;

use riverrun_interp::{Outcome, end_count};
use riverrun_vm::convention::CALL_ARGUMENTS;
use riverrun_vm::{Activation, Exit, FloatEnv, Hart, RETURN_ADDRESS, VmContext};

use crate::boundary::convention::{Exchange, Placed, Placement, ResultRegisters, write_first};
use crate::call::target::Target;
use crate::dispatch::Ended;
use crate::error::{Error, LinkError};
use crate::instance::{AtEnd, Instance, KeptLost};
use crate::own_hart::OwnHart;
use crate::ready::{PlainEngine, Preparation, Ready};
use crate::registers::{RA, SP};

/// Why a call has no results yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unfinished {
    /// The entry guard is not open.
    NotBegun,
    /// The engine has not begun, because fuel may be short.
    Refused,
    /// The engine exited before the function's end.
    Exited,
}

#[inline(always)]
fn results_of(outcome: Outcome) -> Result<[u64; 2], Unfinished> {
    match outcome {
        Outcome::Returned(results) => Ok(results),
        Outcome::Exited => Err(Unfinished::Exited),
        Outcome::Refused => Err(Unfinished::Refused),
    }
}

#[cold]
#[inline(never)]
fn wrong_program(target: &Target) -> Error {
    LinkError::OtherProgram { address: target.address }.into()
}

impl<T> Instance<T> {
    /// Calls a function.
    ///
    /// # Safety
    /// The instance is alive, and nothing of it is borrowed but what engines hold that wait for a host
    /// function.
    ///
    /// # Errors
    /// As [`crate::Func::call`].
    ///
    /// # Panics
    /// If a host function panics.
    #[inline(always)]
    pub(crate) unsafe fn call<E: Exchange>(
        this: NonNull<Self>,
        target: &Target,
        exchange: E,
    ) -> Result<E::Result, Error> {
        // SAFETY: as the caller promises.
        unsafe {
            match Self::attempt(this, target, exchange) {
                Ok(results) => Ok(Self::take(this, results, exchange)),
                Err(unfinished) => {
                    cold_path();
                    Self::call_in_general(this, target, exchange, unfinished)
                }
            }
        }
    }

    /// Calls a function on the fast path, if the guard is open, and returns a0 and a1. [`Instance::call_in_general`] handles
    /// all other cases.
    ///
    /// # Safety
    /// As [`Instance::call`].
    #[inline(always)]
    unsafe fn attempt<E: Exchange>(this: NonNull<Self>, target: &Target, exchange: E) -> Result<[u64; 2], Unfinished> {
        // SAFETY: `Instance::call`'s caller borrows the instance, and the guard is compared before an engine is entered.
        unsafe {
            let entry_guard = (*this.as_ptr()).entry_guard;
            if entry_guard.is_open_for(target.compiled) {
                let placed = Self::place_in_registers(this, exchange)?;
                let results = Self::enter_compiled(this, target, placed.first)?;
                entry_guard.reopen(target.compiled);
                Ok(results)
            } else if entry_guard.is_open_for(target.interpreted) {
                let placed = Self::place_in_registers(this, exchange)?;
                let results = Self::enter_interpreter(this, target, placed.first, placed.integers)?;
                entry_guard.reopen(target.interpreted);
                Ok(results)
            } else {
                cold_path();
                Err(Unfinished::NotBegun)
            }
        }
    }

    /// Assigns the arguments to registers, unless some are passed on the stack.
    ///
    /// # Safety
    /// As [`Instance::call`], and the guard is open.
    #[inline(always)]
    unsafe fn place_in_registers<E: Exchange>(this: NonNull<Self>, exchange: E) -> Result<Placed, Unfinished> {
        // SAFETY: no engine uses the state while the guard is open.
        let mut placement = Placement::new(unsafe { &mut (*(*this.as_ptr()).state).hart.slots });
        exchange.place(&mut placement);
        let placed = placement.into_placed();
        if placed.stack.is_empty() {
            return Ok(placed);
        }
        cold_path();
        Err(Unfinished::NotBegun)
    }

    /// Enters a compiled function whose guard is open.
    ///
    /// # Safety
    /// As [`Instance::call`].
    #[inline(always)]
    pub(crate) unsafe fn enter_compiled(
        this: NonNull<Self>,
        target: &Target,
        first: [u64; CALL_ARGUMENTS],
    ) -> Result<[u64; 2], Unfinished> {
        // SAFETY: a guard that is open and owned by this thread is that of an execution that is ready (`Ready`).
        unsafe {
            let at = this.as_ptr();
            let (entry_guard, sp) = ((*at).entry_guard, (*at).ready.sp);
            let (owner, state) = Activation::owner();
            entry_guard.enter();
            if !entry_guard.is_owned_by(owner) {
                cold_path();
                entry_guard.close();
                return Err(Unfinished::NotBegun);
            }
            let results = riverrun_vm::artifact::call(state, &target.function, sp, first);
            results.ok_or(Unfinished::Exited).inspect_err(|_| entry_guard.close())
        }
    }

    /// Enters an interpreted function whose guard is open, with its first `integers` arguments in `first`.
    ///
    /// # Safety
    /// As [`Instance::call`].
    #[inline(always)]
    unsafe fn enter_interpreter(
        this: NonNull<Self>,
        target: &Target,
        first: [u64; CALL_ARGUMENTS],
        integers: usize,
    ) -> Result<[u64; 2], Unfinished> {
        // SAFETY: a guard that is open to all threads is that of a window that is ready (`Ready`).
        unsafe {
            let at = this.as_ptr();
            let (entry_guard, sp) = ((*at).entry_guard, (*at).ready.sp);
            entry_guard.enter();
            if !entry_guard.is_open_to_all() {
                cold_path();
                entry_guard.close();
                return Err(Unfinished::NotBegun);
            }
            let state = Self::begin(this, first, integers, sp);
            results_of(target.place.call(state)).inspect_err(|_| entry_guard.close())
        }
    }

    /// Gives the guest another hart. Preparations stay valid if the fast path can call functions at that one too: then
    /// the next call takes it at once. Otherwise they are invalid afterwards.
    ///
    /// # Safety
    /// As [`Instance::call`], and no engine of it waits for a host function: a suspended run is given up.
    pub(crate) unsafe fn replace_hart(this: NonNull<Self>, hart: &Hart) {
        // SAFETY: as the caller promises. An engine that is prepared has no suspended frames.
        unsafe {
            let at = this.as_ptr();
            let (state, ready) = (&mut *(*at).state, &mut (*at).ready);
            let can_call = hart.frm == 0 && hart.x(SP) & 15 == 0;
            if !can_call
                || !ready.has_position
                || matches!(ready.preparation, Preparation::None)
                || (*at).entry_guard.is_closed()
            {
                Self::forget_ready(this);
                (*at).execution.iter_mut().for_each(|engine| engine.forget());
                (*(*at).state).hart = hart.clone();
                return;
            }
            state.hart.clone_from(hart);
            ready.take_position(state);
            // The prepared interpreter counts by its fuel.
            if state.exit.count_base != 0 {
                state.exit.count_base = hart.instret.wrapping_add_signed(state.exit.fuel);
            }
        }
    }

    /// The results of [`Instance::attempt`].
    ///
    /// # Safety
    /// As [`Instance::call`].
    #[inline(always)]
    unsafe fn take<E: Exchange>(this: NonNull<Self>, results: [u64; 2], exchange: E) -> E::Result {
        // SAFETY: as the caller promises.
        unsafe { exchange.take(&ResultRegisters::new(results, &(*(*this.as_ptr()).state).hart.slots)) }
    }

    /// Calls a function that [`Instance::attempt`] could not call or finish.
    ///
    /// # Safety
    /// As [`Instance::call`].
    #[cold]
    #[inline(never)]
    unsafe fn call_in_general<E: Exchange>(
        this: NonNull<Self>,
        target: &Target,
        exchange: E,
        unfinished: Unfinished,
    ) -> Result<E::Result, Error> {
        // SAFETY: as the caller promises.
        unsafe {
            match unfinished {
                Unfinished::NotBegun => Self::call_unready(this, target, exchange),
                _ => Self::finish(this, target.address, unfinished).map(|results| exchange.take(&results)),
            }
        }
    }

    /// Puts the parameters in their places, and gives the sp.
    ///
    /// # Safety
    /// As [`Instance::call`], and no engine of it waits for a host function.
    unsafe fn place<E: Exchange>(this: NonNull<Self>, exchange: E) -> Result<(Placed, u64), Error> {
        // SAFETY: as the caller promises.
        unsafe {
            let at = this.as_ptr();
            let mut placement = Placement::new(&mut (*(*at).state).hart.slots);
            exchange.place(&mut placement);
            let placed = placement.into_placed();
            if placed.stack.is_empty() {
                return Ok((placed, (*at).ready.sp));
            }
            Self::push(this, &placed.stack)?;
            Ok((placed, (*(*at).state).hart.x(SP)))
        }
    }

    /// Stores the initial registers of an interpreted function in the state.
    ///
    /// # Safety
    /// As [`Instance::call`], and no engine of it waits for a host function.
    #[inline(always)]
    unsafe fn begin(this: NonNull<Self>, first: [u64; CALL_ARGUMENTS], integers: usize, sp: u64) -> *mut VmContext {
        // SAFETY: no engine uses the state, as the guard was open.
        unsafe {
            let state = (*this.as_ptr()).state;
            let slots = &mut (*state).hart.slots;
            write_first(first, integers, slots);
            // Most functions preserve them, so comparing is cheaper than storing.
            for (register, value) in [(RA, RETURN_ADDRESS), (SP, sp)] {
                if slots[register as usize] != value {
                    slots[register as usize] = value;
                }
            }
            state
        }
    }

    /// Calls a function when the guard is closed or no engine is prepared; prepares and opens it if possible.
    ///
    /// # Safety
    /// As [`Instance::call`].
    unsafe fn call_unready<E: Exchange>(this: NonNull<Self>, target: &Target, exchange: E) -> Result<E::Result, Error> {
        // SAFETY: as the caller promises.
        unsafe {
            let at = this.as_ptr();
            if (*at).code_id != target.code {
                return Err(wrong_program(target));
            }
            // It may have been looked up before there was better code.
            let current = (*at).execution.as_ref().filter(|engine| engine.code.entry_token() != target.compiled);
            let target = &current.map_or(*target, |engine| target.in_code(&engine.code));
            (*at).interruption.renew_entry_guard();
            let waits = Self::depth(this) != 0
                || (*at).is_suspended
                || (*at).alarm.is_some()
                || (*at).interruption.is_reached();
            let can_call = match (*at).engine {
                Some(PlainEngine::Compiled) => target.compiled().is_some() && (*at).fuel.is_none(),
                Some(PlainEngine::Interpreter) => target.interpreted().is_some(),
                None => false,
            };
            if waits || !can_call || !Self::make_ready(this) {
                return Self::call_in_full(this, target.address, exchange);
            }
            let (state, entry_guard) = ((*at).state, (*at).entry_guard);
            // Dropping this publishes the thread's previous activation again.
            let owner = match (*at).ready.preparation {
                Preparation::Compiled(prepared) => Some(prepared.own()),
                Preparation::Interpreter => {
                    entry_guard.open_to_all();
                    None
                }
                Preparation::None => None,
            };
            let (placed, sp) = Self::place(this, exchange)?;
            let fuel = (*at).fuel;
            (*at).fuel_end = fuel.map(|fuel| (*state).instructions().saturating_add(fuel));
            let limit = fuel.unwrap_or(u64::MAX);
            entry_guard.enter();
            if (*at).interruption.is_reached() {
                entry_guard.close();
                Self::forget_ready(this);
                return Self::call_in_full(this, target.address, exchange);
            }
            // Also if a panic ends the call.
            let _charged = fuel.map(|_| AtEnd(move || (*at).fuel = Self::fuel_left(this)));
            let touches_floats = (*at).program.code().touches_float_environment();
            if touches_floats {
                FloatEnv::enter_default();
            }
            // From here on, only host functions of the guest run host code.
            let results = match (&owner, target.compiled(), target.interpreted()) {
                (Some(_), Some(function), _) => {
                    riverrun_vm::artifact::call(state, function, sp, placed.first).ok_or(Unfinished::Exited)
                }
                (None, _, Some(start)) => {
                    results_of(start.call_within(Self::begin(this, placed.first, placed.integers, sp), limit))
                }
                _ => Err(Unfinished::Refused),
            };
            if touches_floats {
                FloatEnv::leave_default(&mut *state);
            }
            match fuel.is_none() && !touches_floats {
                true => entry_guard.reopen(if owner.is_some() { target.compiled } else { target.interpreted }),
                false => entry_guard.close(),
            }
            match results {
                Ok(results) => Ok(Self::take(this, results, exchange)),
                Err(unfinished) => {
                    Self::finish(this, target.address, unfinished).map(|results| exchange.take(&results))
                }
            }
        }
    }

    /// Establishes the conditions of [`Ready`], except those on limits and the float environment; false if impossible.
    ///
    /// # Safety
    /// As [`Instance::call`], and no engine of it waits for a host function.
    unsafe fn make_ready(this: NonNull<Self>) -> bool {
        // SAFETY: as the caller promises.
        unsafe {
            let at = this.as_ptr();
            Self::forget_ready(this);
            let state = (*at).state;
            if (*state).hart.frm != 0 || (*state).hart.x(SP) & 15 != 0 {
                return false;
            }
            Self::wake_engine(this);
            let window = &mut (*at).window;
            let preparation = match (*at).execution.as_mut() {
                Some(execution) => Preparation::Compiled(execution.prepare(window, &(*at).interruption)),
                None => {
                    (*at).program.code().prepare(window);
                    Preparation::Interpreter
                }
            };
            (*at).entry_guard.lead_to(at.cast());
            (*at).ready.preparation = preparation;
            (*at).ready.take_position(&mut *state);
            true
        }
    }

    /// Finishes a call on the fast path whose engine has exited.
    ///
    /// # Errors
    /// As [`crate::Func::call`].
    ///
    /// # Safety
    /// As [`Instance::call`], after [`Unfinished::Exited`].
    pub(crate) unsafe fn finish_exited(this: NonNull<Self>) -> Result<ResultRegisters, Error> {
        // SAFETY: as the caller promises. The address is that of calls that have not begun.
        unsafe { Self::finish(this, RETURN_ADDRESS, Unfinished::Exited) }
    }

    /// Continues a call that has left the fast path, and returns its results.
    ///
    /// # Safety
    /// As [`Instance::call`].
    #[cold]
    #[inline(never)]
    unsafe fn finish(this: NonNull<Self>, address: u64, unfinished: Unfinished) -> Result<ResultRegisters, Error> {
        // SAFETY: as the caller promises.
        unsafe {
            let at = this.as_ptr();
            // The state has the position at which the call exited.
            (*at).ready.has_position = false;
            Self::forget_ready(this);
            let lost = KeptLost::of(&raw mut (*at).lost);
            let _back = PutBack { state: (*at).state, ready: &raw const (*at).ready };
            let own_hart = OwnHart::of(this);
            let code = (*at).program.code();
            let window = &mut (*at).window;
            let exit = match (unfinished, (*at).execution.as_mut()) {
                (Unfinished::Exited, Some(execution)) => execution.exited(window),
                (Unfinished::Exited, None) => code.exited(window),
                (Unfinished::Refused | Unfinished::NotBegun, _) => {
                    end_count(&mut *(*at).state);
                    (*(*at).state).hart.pc = address;
                    (*(*at).state).hart.set_x(RA, RETURN_ADDRESS);
                    Exit::Continue
                }
            };
            let pc = (*(*at).state).hart.pc;
            match exit {
                Exit::Abandoned { .. } => return Self::given_up(this),
                Exit::Fault { address } => return Err(Self::lost_trap(this, code.fault_of(pc, address), pc)),
                Exit::Lost(cause) => return Err(Self::lost_trap(this, cause, pc)),
                Exit::Continue | Exit::Step | Exit::Ecall | Exit::Refused => {}
            }
            let ended = Self::run_call(this, Self::fuel_left(this));
            lost.unless(own_hart.is_away());
            match ended? {
                Ended::Returned => Ok(ResultRegisters::of(&(*(*at).state).hart.slots)),
                Ended::Exited(status) => Err(Error::Exited { status }),
                Ended::Waits | Ended::Cut => unreachable!("these calls cannot wait, and are in no slice"),
            }
        }
    }
}

/// Restores all registers when dropped, also if a panic ends a call: the guest's own run continues at its own position.
struct PutBack {
    state: *mut VmContext,
    ready: *const Ready,
}

impl Drop for PutBack {
    fn drop(&mut self) {
        // SAFETY: the instance, whose these are, outlives the call; no other call takes a position before this one has
        // ended.
        unsafe { (*self.ready).put_back(&mut *self.state) };
    }
}
