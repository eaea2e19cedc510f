//! The short way of a host into a guest function and back.
//!
//! What a call has to see to, and what it has to ask, is nearly always as the last call left it. So the first call
//! sees to it and asks, and notes that in a word ([`Ready::code`]); the next ones compare the word, and enter the
//! engine. Whoever changes what it stands for takes it back ([`Ready::forget`]).

use std::ptr::NonNull;

use riverrun_interp::Called;
use riverrun_native::{Outcome, Prepared};
use riverrun_state::{FloatEnv, RETURN_ADDRESS, State};

use crate::call::convention::{Placement, Registers};
use crate::call::func::Target;
use crate::error::Error;
use crate::instance::{Ended, Instance, RA, SP};

/// An engine that functions can be called in without more ado.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PlainEngine {
    /// The fast engine, which has no compiled code beside it.
    Fast,
    /// Compiled code that does not count.
    Compiled,
}

/// No program's code.
const NONE: u64 = 0;

/// What calls on the short way rely upon, while [`Ready::code`] is that of the machine's program:
///
/// - the engine is [prepared](riverrun_interp::Code::prepare), or its [execution](Prepared) is. Runs change that,
///   but for those within host functions, which bring the state back;
/// - the guest's own run is not suspended: registers are free to be changed;
/// - there is no limit of fuel, and the program cannot tell in what float environment it runs;
/// - the rounding mode is the default one, and sp aligned for calls. A guest changes the mode in the single-step
///   engine, so off the short way; a host by methods that ask for the whole state.
///
/// That nobody waits in the guest, and that nothing interrupts it, is asked in each call.
#[derive(Debug)]
pub(crate) struct Ready {
    /// The code whose functions can be called, or none.
    code: u64,
    prepared: Option<Prepared>,
    /// What calls leave as it is.
    pc: u64,
    sp: u64,
}

impl Ready {
    pub(crate) fn new() -> Ready {
        Ready { code: NONE, prepared: None, pc: 0, sp: 0 }
    }

    /// Takes everything back.
    #[inline(always)]
    pub(crate) fn forget(&mut self) {
        self.code = NONE;
    }
}

#[cold]
#[inline(never)]
fn wrong_program() -> ! {
    panic!("the function is one of another program")
}

impl<T> Instance<T> {
    /// Calls a function with the parameters that `place` puts where it looks for them, and the results
    /// that `take` finds in the registers.
    ///
    /// # Safety
    /// The instance is alive, and nothing of it is borrowed but what engines hold that wait for a host
    /// function.
    ///
    /// # Panics
    /// If the function is not one of the instance's program, or a host function panics.
    #[inline]
    pub(crate) unsafe fn call<R>(
        this: NonNull<Self>,
        target: Target,
        place: impl FnOnce(&mut Placement<'_>),
        take: impl FnOnce(&Registers) -> R,
    ) -> Result<R, Error> {
        // SAFETY: as the caller promises.
        unsafe {
            if Self::is_ready(this, &target) {
                return Self::call_shortly::<false, R>(this, &target, u64::MAX, place, take);
            }
            Self::call_unready(this, target, place, take)
        }
    }

    /// Whether the function can be called on the short way as it is, without a limit of fuel.
    ///
    /// # Safety
    /// The instance is alive.
    #[inline(always)]
    pub(crate) unsafe fn is_ready(this: NonNull<Self>, target: &Target) -> bool {
        let at = this.as_ptr();
        // SAFETY: as the caller promises.
        unsafe { (*at).ready.code == target.code && (*at).depth == 0 }
    }

    /// The short way itself, with this fuel, for a program that can tell in what float environment it runs if it
    /// has `FLOATS`.
    ///
    /// # Safety
    /// As [`Instance::call`]. What [`Ready`] stands for is so, and nobody waits in the guest.
    #[inline(always)]
    pub(crate) unsafe fn call_shortly<const FLOATS: bool, R>(
        this: NonNull<Self>,
        target: &Target,
        fuel: u64,
        place: impl FnOnce(&mut Placement<'_>),
        take: impl FnOnce(&Registers) -> R,
    ) -> Result<R, Error> {
        let at = this.as_ptr();
        // SAFETY: as the caller promises. Nothing but guest code runs between the ends of its float environment.
        unsafe {
            let state = (*at).state;
            let mut placement = Placement::new(&mut (*state).slots);
            place(&mut placement);
            let stack = placement.into_stack();
            if !stack.is_empty() {
                Self::push(this, stack)?;
            }
            (*at).depth = 1;
            if FLOATS {
                FloatEnv::enter_default();
            }
            let outcome = match ((*at).ready.prepared, target.compiled, target.place) {
                (Some(prepared), Some(function), _) => prepared.call(state, function.get()),
                (None, _, Some(start)) if !(*at).interruption.is_reached() => {
                    if (*state).slots[RA as usize] != RETURN_ADDRESS {
                        (*state).slots[RA as usize] = RETURN_ADDRESS;
                    }
                    (*at).program.code().call(state, start, fuel)
                }
                _ => Outcome::Refused,
            };
            if FLOATS {
                FloatEnv::leave_default(&mut *state);
            }
            (*at).depth = 0;
            if outcome != Outcome::Returned {
                Self::finish(this, target.address, outcome, fuel)?;
            }
            // A host looks faster than it stores.
            if (*state).pc != (*at).ready.pc {
                (*state).pc = (*at).ready.pc;
            }
            if (*state).slots[SP as usize] != (*at).ready.sp {
                (*state).slots[SP as usize] = (*at).ready.sp;
            }
            Ok(take(&(*state).slots))
        }
    }

    /// Calls where [`Ready`] does not say that all is ready, and makes it so if that can be.
    ///
    /// # Safety
    /// As [`Instance::call`].
    #[cold]
    #[inline(never)]
    unsafe fn call_unready<R>(
        this: NonNull<Self>,
        target: Target,
        place: impl FnOnce(&mut Placement<'_>),
        take: impl FnOnce(&Registers) -> R,
    ) -> Result<R, Error> {
        // SAFETY: as the caller promises.
        unsafe {
            let at = this.as_ptr();
            if (*at).code_id != target.code {
                wrong_program();
            }
            let waits = (*at).depth != 0 || (*at).is_suspended || (*at).interruption.is_reached();
            let can_call = match (*at).engine {
                Some(PlainEngine::Compiled) => target.compiled.is_some() && (*at).fuel.is_none(),
                Some(PlainEngine::Fast) => target.place.is_some(),
                None => false,
            };
            if waits || !can_call || !Self::make_ready(this) {
                return Self::call_in_full(this, target.address, place, take);
            }
            let fuel = (*at).fuel;
            (*at).fuel_end = fuel.map(|fuel| (*(*at).state).instret.saturating_add(fuel));
            let limit = fuel.unwrap_or(u64::MAX);
            let result = match (*at).program.code().touches_float_environment() {
                false => Self::call_shortly::<false, R>(this, &target, limit, place, take),
                true => Self::call_shortly::<true, R>(this, &target, limit, place, take),
            };
            if fuel.is_some() {
                (*at).fuel = Self::fuel_left(this);
            }
            result
        }
    }

    /// Makes all so as [`Ready`] stands for, but for limits and float environments, and notes it; false if it
    /// cannot be.
    ///
    /// # Safety
    /// As [`Instance::call`], and nobody waits in the guest.
    unsafe fn make_ready(this: NonNull<Self>) -> bool {
        // SAFETY: as the caller promises.
        unsafe {
            let at = this.as_ptr();
            let state = (*at).state;
            let (pc, sp) = ((*state).pc, (*state).x(SP));
            if (*state).frm != 0 || sp & 15 != 0 {
                return false;
            }
            let code = (*at).program.code();
            let window = &mut (*at).memory.window;
            let prepared = match (*at).execution.as_mut() {
                Some(execution) => Some(execution.prepare(window, &(*at).interruption)),
                None => {
                    code.prepare(window);
                    None
                }
            };
            let is_plain = (*at).fuel.is_none() && !code.touches_float_environment();
            (*at).ready = Ready { code: if is_plain { code.id() } else { NONE }, prepared, pc, sp };
            true
        }
    }

    /// Goes on with a call that has left the short way, with this fuel.
    ///
    /// # Safety
    /// As [`Instance::call`].
    #[cold]
    #[inline(never)]
    unsafe fn finish(this: NonNull<Self>, address: u64, outcome: Outcome, fuel: u64) -> Result<(), Error> {
        // SAFETY: as the caller promises.
        unsafe {
            let at = this.as_ptr();
            (*at).ready.forget();
            let _position = Position { state: (*at).state, pc: (*at).ready.pc, sp: (*at).ready.sp };
            let code = (*at).program.code();
            let window = &mut (*at).memory.window;
            let called = match (outcome, (*at).execution.as_mut()) {
                (Outcome::Left, Some(execution)) => code.compiled_left(window, execution),
                (Outcome::Left, None) => code.left(window, fuel),
                (Outcome::Returned | Outcome::Refused, _) => {
                    (*(*at).state).pc = address;
                    (*(*at).state).set_x(RA, RETURN_ADDRESS);
                    Called::Unfinished
                }
            };
            let ended = match called {
                Called::Unfinished => Self::run_call(this, Self::fuel_left(this))?,
                Called::Abandoned => return Self::given_up(this).map(|_| ()),
                Called::Lost(trap) => return Err(Self::trap(this, trap.cause, trap.pc)),
            };
            match ended {
                Ended::Returned => Ok(()),
                Ended::Exited(status) => Err(Error::Exited { status }),
            }
        }
    }
}

/// Brings back pc and sp when dropped, also where a panic ends a call: the guest's own run does not stand where
/// the call does.
struct Position {
    state: *mut State,
    pc: u64,
    sp: u64,
}

impl Drop for Position {
    fn drop(&mut self) {
        // SAFETY: the instance, whose state this is, outlives the call.
        unsafe {
            (*self.state).pc = self.pc;
            (*self.state).slots[SP as usize] = self.sp;
        }
    }
}
