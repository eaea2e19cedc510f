//! Runs of a machine's guest: its own run, and calls of its functions that restore the whole context afterwards.
//!
//! [`Instance::run`] continues the guest at its pc. [`Instance::call_in_full`] is the path of every call that the fast
//! path does not take: the first one, nested ones, and those with limits. Both enter the guest by the dispatcher.

use std::ptr::NonNull;

use riverrun_vm::{EngineContext, Hart, RETURN_ADDRESS, TrapCause, Window, host_stack_left};

use crate::backtrace::Backtrace;
use crate::boundary::convention::{Exchange, Placement, ResultRegisters, write_first};
use crate::dispatch::Ended;
use crate::error::Error;
use crate::instance::{AtEnd, Instance, KeptLost};
use crate::own_hart::OwnHart;
use crate::registers::RA;

/// Bytes of the thread's stack that a nested call must find: for the engine, a host function that the guest may call, and
/// the making of an error.
const HOST_STACK_RESERVE: usize = 64 << 10;

/// What stays as a call leaves it. The float environment is a thread's (psABI, "Floating-point Register Convention"), so
/// functions that are called one after another share it, and each begins with nothing reserved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kept {
    /// The call interrupts the guest, which sees nothing of it.
    Nothing,
    /// The rounding mode: the program does not look at accrued exceptions, and not every engine counts them.
    Mode,
    Environment,
}

/// The context before a call. Dropping restores it, also in a panic: suspended engines rely on it.
pub(crate) struct Saved {
    window: *mut Window,
    /// The owner of the predictions that the suspended engine uses, if there is one.
    owner: Option<u64>,
    hart: Hart,
    kept: Kept,
    /// Instructions executed before the call.
    instructions: u64,
    exit: EngineContext,
    /// Of compiled code that is suspended.
    stack_limit: u64,
}

impl Saved {
    /// # Safety
    /// The window outlives the result, and is not borrowed when that is made and dropped. `is_nested` if an engine is
    /// suspended on it, which continues once the result is dropped.
    pub(crate) unsafe fn of(window: *mut Window, is_nested: bool, kept: Kept) -> Saved {
        // SAFETY: as the caller promises.
        let borrowed = unsafe { &mut *window };
        let owner = is_nested.then(|| borrowed.predictions_owner());
        let state = borrowed.state_mut();
        let instructions = state.instructions();
        let hart = state.hart.clone();
        (state.hart.instret, state.hart.reservation) = (instructions, u64::MAX);
        let exit = state.exit.clone();
        Saved { window, owner, hart, kept, instructions, exit, stack_limit: borrowed.polls().stack_limit() }
    }
}

impl Drop for Saved {
    /// Restores all but the count of instructions. If the suspended engine counts by its fuel, the call's instructions
    /// are taken off that.
    fn drop(&mut self) {
        // SAFETY: as `of`'s caller promises.
        let window = unsafe { &mut *self.window };
        if let Some(owner) = self.owner {
            window.own_predictions(owner);
        }
        let state = window.state_mut();
        // The tables go with the predictions.
        let tables = if self.owner.is_some() { self.exit.tables } else { state.exit.tables };
        let now = state.hart.instret;
        let executed = now.wrapping_sub(self.instructions);
        let (frm, fflags) = (state.hart.frm, state.hart.fflags);
        state.hart = self.hart.clone();
        if self.kept != Kept::Nothing {
            (state.hart.frm, state.hart.reservation) = (frm, u64::MAX);
        }
        if self.kept == Kept::Environment {
            state.hart.fflags = fflags;
        }
        state.exit = EngineContext { tables, ..self.exit.clone() };
        match state.exit.count_base {
            0 => state.hart.instret = now,
            _ => state.exit.fuel = state.exit.fuel.wrapping_sub_unsigned(executed),
        }
        window.polls().resume(self.stack_limit);
    }
}

/// A slice of the outermost run, until it is dropped, also by a panic.
pub(crate) struct Turn<T>(NonNull<Instance<T>>);

impl<T> Turn<T> {
    /// A slice until then, by the clock of deadlines, or without end.
    ///
    /// # Safety
    /// The instance outlives the result, and no run is under way on it now or when the result is dropped.
    pub(crate) unsafe fn new(instance: NonNull<Instance<T>>, end: Option<u64>) -> Turn<T> {
        // SAFETY: as the caller promises.
        unsafe { Turn::set(instance, end) };
        Turn(instance)
    }

    unsafe fn set(instance: NonNull<Instance<T>>, end: Option<u64>) {
        // SAFETY: the callers keep the instance alive.
        unsafe {
            if (*instance.as_ptr()).slice_end != end {
                (*instance.as_ptr()).slice_end = end;
                Instance::arm(instance);
            }
        }
    }
}

impl<T> Drop for Turn<T> {
    fn drop(&mut self) {
        // SAFETY: as `new`'s caller promises.
        unsafe { Turn::set(self.0, None) };
    }
}

impl<T> Instance<T> {
    /// Runs the guest from its pc on until it exits.
    ///
    /// # Safety
    /// The instance is alive, nothing of it is borrowed, and no engine runs on it.
    pub(crate) unsafe fn run(this: NonNull<Self>) -> Result<i32, Error> {
        // SAFETY: as the caller promises.
        let status = unsafe { Self::run_until_wait(this)? };
        Ok(status.expect("only runs with a suspension wait, and only slices are cut"))
    }

    /// The same, or until it waits for a host function or its slice has ended.
    ///
    /// # Safety
    /// As [`Instance::run`].
    pub(crate) unsafe fn run_until_wait(this: NonNull<Self>) -> Result<Option<i32>, Error> {
        let at = this.as_ptr();
        // SAFETY: as the caller promises.
        unsafe {
            if let Some(pc) = (*at).lost {
                return Err(Error::Lost { pc });
            }
            (*at).is_suspended = true;
            Self::forget_ready(this);
            match Self::run_guest(this, (*at).fuel)? {
                Ended::Exited(status) => {
                    (*at).is_suspended = false;
                    (*at).is_initializing = false;
                    Ok(Some(status))
                }
                Ended::Waits | Ended::Cut => Ok(None),
                Ended::Returned => {
                    let cause = TrapCause::FetchFault { address: RETURN_ADDRESS };
                    Err(Self::trap(this, cause, RETURN_ADDRESS))
                }
            }
        }
    }

    /// Calls a function, and restores the whole context.
    ///
    /// # Safety
    /// As [`Instance::call`].
    #[cold]
    #[inline(never)]
    pub(crate) unsafe fn call_in_full<E: Exchange>(
        this: NonNull<Self>,
        address: u64,
        exchange: E,
    ) -> Result<E::Result, Error> {
        let at = this.as_ptr();
        // SAFETY: as the caller promises; no engine uses the context while host code runs.
        unsafe {
            let state = (*at).state;
            let is_nested = Self::depth(this) != 0;
            let limit = (*at).program.engine().config.call_depth;
            if Self::depth(this) >= limit {
                return Err(Error::CallDepth { limit });
            }
            if is_nested {
                let left = host_stack_left();
                if left < HOST_STACK_RESERVE {
                    return Err(Error::HostStack { left });
                }
            }
            if !is_nested {
                Self::forget_ready(this);
            }
            let saved = Saved::of(Self::window(this), is_nested, Self::kept(this));
            let fuel = match is_nested {
                true => (*at).fuel_end.map(|end| end.saturating_sub(saved.instructions)),
                false => (*at).fuel,
            };
            let lost = KeptLost::of(&raw mut (*at).lost);
            let own_hart = (!is_nested).then(|| OwnHart::of(this));
            let mut placement = Placement::new(&mut (*state).hart.slots);
            exchange.place(&mut placement);
            let placed = placement.into_placed();
            write_first(placed.first, placed.integers, &mut (*state).hart.slots);
            let result = match Self::push(this, &placed.stack) {
                Ok(()) => {
                    // Suspended frames in compiled code are the call's.
                    let _frames =
                        (!is_nested).then(|| AtEnd(move || (*at).execution.iter_mut().for_each(|all| all.forget())));
                    (*state).hart.set_x(RA, RETURN_ADDRESS);
                    (*state).hart.pc = address;
                    Self::run_call(this, fuel)
                }
                Err(error) => Err(error),
            };
            let result = result.map(|ended| (ended, ResultRegisters::of(&(*state).hart.slots)));
            lost.unless(own_hart.as_ref().is_some_and(OwnHart::is_away));
            drop(own_hart);
            drop(saved);
            match result? {
                (Ended::Returned, results) => Ok(exchange.take(&results)),
                (Ended::Exited(status), _) => Err(Error::Exited { status }),
                (Ended::Waits | Ended::Cut, _) => unreachable!("these calls cannot wait, and are in no slice"),
            }
        }
    }

    /// What stays as a call leaves it that begins now.
    ///
    /// # Safety
    /// As [`Instance::call`].
    pub(crate) unsafe fn kept(this: NonNull<Self>) -> Kept {
        // SAFETY: as the caller promises.
        unsafe {
            match Self::depth(this) != 0 || (*this.as_ptr()).is_suspended {
                true => Kept::Nothing,
                false if (*this.as_ptr()).program.code().touches_float_environment() => Kept::Environment,
                false => Kept::Mode,
            }
        }
    }

    /// Runs a call from its pc. A call that a limit has stopped is gone afterwards, unlike a run, so its error has a
    /// backtrace.
    ///
    /// # Safety
    /// As [`Instance::run_guest`].
    pub(crate) unsafe fn run_call(this: NonNull<Self>, fuel: Option<u64>) -> Result<Ended, Error> {
        let at = this.as_ptr();
        // SAFETY: as the caller promises.
        unsafe {
            let mut ended = Self::run_guest(this, fuel);
            if let Err(Error::Trap(trap)) = &mut ended
                && trap.backtrace.is_empty()
                && (*at).lost.is_none()
            {
                trap.backtrace = Backtrace::of(&*Self::memory(this), (*at).program.image());
            }
            ended
        }
    }
}
