//! What a machine is made of, and how its guest is run.
//!
//! While a guest runs, host functions work on the same instance that waits for them, and may call into the
//! guest again. So the instance is reached by its address, and everything here borrows single fields of it,
//! for as long as needed: an engine holds the window, the fuel and its place in compiled code; a host
//! function gets the window from the engine that waits for it ([`riverrun_state::EngineContext::window`]),
//! and the data.

use std::any::Any;
use std::ops::Range;
use std::panic::resume_unwind;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use riverrun_native::{Artifact, Execution};
use riverrun_state::{Bound, DYNAMIC_CALL, Gate, Interruption, STACK_GUARD, TrapCause, VmContext, Window};

use crate::backtrace::Backtrace;
use crate::call::fast_path::{PlainEngine, Ready};
use crate::call::func::CallLimits;
use crate::call::registry::{Function, Registry};
use crate::error::{Error, HostError, HostFailure, Trap};
use crate::heap::HeapState;
use crate::linker::EcallHandler;
use crate::memory::Memory;
use crate::program::Program;

pub(crate) const RA: u8 = 1;
pub(crate) const SP: u8 = 2;
const T0: u8 = 5;
const A7: u8 = 17;

/// What a host function has ended its caller's run with.
pub(crate) enum Pending {
    Error(HostError),
    Panic(Box<dyn Any + Send>),
}

/// What comes first is [`crate::raw::MachineHead`].
#[repr(C)]
pub(crate) struct Instance<T> {
    /// The state of the window.
    pub(crate) state: *mut VmContext,
    /// The way into it.
    pub(crate) gate: &'static Gate,
    /// Whether the guest can tell in what float environment host functions run.
    pub(crate) guards_floats: bool,
    /// Shown to hosts as a [`Memory`].
    pub(crate) window: Window,
    pub(crate) data: T,
    pub(crate) program: Program,
    pub(crate) ecall: Arc<EcallHandler<T>>,
    pub(crate) registry: Arc<Registry>,
    pub(crate) imports: Box<[Bound]>,
    /// Compiled code, if there was some when the machine was made.
    pub(crate) artifact: Option<Arc<Artifact>>,
    /// Where the outermost run has its place in compiled code.
    pub(crate) execution: Option<Execution>,
    /// Places of nested runs, that none uses now.
    pub(crate) spare_executions: Vec<Execution>,
    pub(crate) fuel: Option<u64>,
    /// The number of instructions executed at which the fuel is used up, while the guest runs.
    pub(crate) fuel_end: Option<u64>,
    pub(crate) deadline: Option<Instant>,
    pub(crate) interruption: Arc<Interruption>,
    /// Why the guest's own run cannot go on, if it cannot: the pc where registers were lost.
    pub(crate) lost: Option<u64>,
    pub(crate) stack: Range<u64>,
    /// With the environment of the function.
    pub(crate) pending: Option<(Pending, *const ())>,
    /// Runs that have not ended, but for one on the fast path: see [`Instance::depth`].
    pub(crate) depth: u32,
    /// The code of the program.
    pub(crate) code_id: u64,
    /// The engine that functions can be called on the fast path, if they can.
    pub(crate) engine: Option<PlainEngine>,
    /// What the fast path relies upon.
    pub(crate) ready: Ready,
    /// What the guest said last, for the error of the trap that comes next: see [`Caller::set_last_words`].
    pub(crate) last_words: Option<String>,
    /// Whether the guest's own run has stopped before its end, to go on later.
    pub(crate) is_suspended: bool,
    /// Whether the guest may call what is for initialization.
    pub(crate) is_initializing: bool,
    pub(crate) heap: HeapState,
}

/// Counts a run as long as it lives, however it ends.
pub(crate) struct Depth(*mut u32);

impl Depth {
    /// # Safety
    /// The counter outlives the result.
    pub(crate) unsafe fn enter(counter: *mut u32) -> Depth {
        // SAFETY: as the caller promises.
        unsafe { *counter += 1 };
        Depth(counter)
    }
}

impl Drop for Depth {
    fn drop(&mut self) {
        // SAFETY: as `enter`'s caller promises.
        unsafe { *self.0 -= 1 };
    }
}

/// Brings back, however it is dropped, why the guest's own run cannot go on: a call's end says nothing of that.
pub(crate) struct KeptLost {
    place: *mut Option<u64>,
    lost: Option<u64>,
}

impl KeptLost {
    /// # Safety
    /// The place outlives the result.
    pub(crate) unsafe fn of(place: *mut Option<u64>) -> KeptLost {
        // SAFETY: as the caller promises.
        KeptLost { place, lost: unsafe { *place } }
    }
}

impl Drop for KeptLost {
    fn drop(&mut self) {
        // SAFETY: as `of`'s caller promises.
        unsafe { *self.place = self.lost }
    }
}

impl<T> Instance<T> {
    /// Runs and calls that have not ended.
    ///
    /// # Safety
    /// The instance is alive.
    #[inline(always)]
    pub(crate) unsafe fn depth(this: NonNull<Self>) -> u32 {
        // SAFETY: as the caller promises.
        unsafe { (*this.as_ptr()).depth + u32::from((*this.as_ptr()).gate.is_calling()) }
    }

    /// Puts words on the guest's stack, which is aligned then.
    ///
    /// # Safety
    /// As [`Instance::call`].
    pub(crate) unsafe fn push(this: NonNull<Self>, words: &[u64]) -> Result<(), Error> {
        // SAFETY: as the caller promises. The window is the engine's if one waits.
        unsafe {
            let state = (*this.as_ptr()).state;
            let sp = ((*state).hart.x(SP).wrapping_sub(8 * words.len() as u64)) & !15;
            (*state).hart.set_x(SP, sp);
            if words.is_empty() {
                return Ok(());
            }
            let memory = Self::memory(this);
            let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
            (*memory).write(sp, &bytes)?;
        }
        Ok(())
    }

    /// The window, as the engine has it that waits, or as it is.
    ///
    /// # Safety
    /// The instance is alive.
    pub(crate) unsafe fn window(this: NonNull<Self>) -> *mut Window {
        // SAFETY: as the caller promises; an engine's window lives while it waits.
        unsafe {
            match (*(*this.as_ptr()).state).exit.window {
                0 => &raw mut (*this.as_ptr()).window,
                window => window as *mut Window,
            }
        }
    }

    /// The memory, as the engine has its window that waits for a host function.
    ///
    /// # Safety
    /// The instance is alive, and an engine waits or the loop around it, which has noted its window.
    #[inline(always)]
    pub(crate) unsafe fn engine_memory(this: NonNull<Self>) -> NonNull<Memory> {
        // SAFETY: as the caller promises; a window is never at null.
        unsafe { Memory::of(NonNull::new_unchecked((*(*this.as_ptr()).state).exit.window as *mut Window)) }
    }

    /// The memory, as the window that [`Instance::window`] gives.
    ///
    /// # Safety
    /// The instance is alive.
    pub(crate) unsafe fn memory(this: NonNull<Self>) -> *mut Memory {
        // SAFETY: as the caller promises; a window is never at null.
        unsafe { Memory::of(NonNull::new_unchecked(Self::window(this))).as_ptr() }
    }

    /// Runs `body` within limits that end with it.
    ///
    /// # Safety
    /// As [`Instance::call`].
    pub(crate) unsafe fn within<R>(
        this: NonNull<Self>,
        limits: CallLimits,
        body: impl FnOnce() -> Result<R, Error>,
    ) -> Result<R, Error> {
        let at = this.as_ptr();
        let tighter = |own: Option<Instant>, other: Option<Instant>| own.into_iter().chain(other).min();
        // SAFETY: as the caller promises.
        unsafe {
            let (fuel, fuel_end, deadline) = ((*at).fuel, (*at).fuel_end, (*at).deadline);
            let before = (*(*at).state).instructions();
            if let Some(own) = limits.fuel {
                Self::forget_ready(this);
                match Self::depth(this) {
                    0 => (*at).fuel = Some(fuel.map_or(own, |fuel| fuel.min(own))),
                    _ => {
                        let end = before.saturating_add(own);
                        (*at).fuel_end = Some(fuel_end.map_or(end, |outer| outer.min(end)));
                    }
                }
            }
            Self::set_deadline(this, tighter(limits.deadline, deadline));
            let result = body();
            let executed = (*(*at).state).instructions().wrapping_sub(before);
            (*at).fuel = fuel.map(|fuel| if Self::depth(this) == 0 { fuel.saturating_sub(executed) } else { fuel });
            (*at).fuel_end = fuel_end;
            Self::set_deadline(this, deadline);
            result
        }
    }

    /// # Safety
    /// The instance is alive.
    pub(crate) unsafe fn set_deadline(this: NonNull<Self>, deadline: Option<Instant>) {
        // SAFETY: as the caller promises; engines only share the interruption.
        unsafe {
            if (*this.as_ptr()).deadline != deadline {
                (*this.as_ptr()).deadline = deadline;
                (*this.as_ptr()).interruption.set_deadline(deadline);
            }
        }
    }

    /// # Safety
    /// As [`Instance::run`], after a run with this fuel.
    pub(crate) unsafe fn fuel_left(this: NonNull<Self>) -> Option<u64> {
        // SAFETY: as the caller promises.
        unsafe {
            let executed = (*(*this.as_ptr()).state).instructions();
            (*this.as_ptr()).fuel_end.map(|end| end.saturating_sub(executed))
        }
    }

    /// A place for a nested run in compiled code, if there is such code.
    ///
    /// # Safety
    /// As [`Instance::call`].
    pub(crate) unsafe fn take_execution(this: NonNull<Self>) -> Option<Execution> {
        // SAFETY: as the caller promises.
        unsafe {
            let at = this.as_ptr();
            (*at).spare_executions.pop().or_else(|| {
                let artifact = (*at).artifact.as_ref()?;
                Execution::new(artifact.clone()).ok()
            })
        }
    }

    /// Has host functions use floats in the host's environment from now on, as the guest could tell otherwise.
    ///
    /// # Safety
    /// As [`Instance::call`]; an engine may wait for a host function.
    pub(crate) unsafe fn guard_floats(this: NonNull<Self>) {
        // SAFETY: as the caller promises; an engine that waits reads its imports anew for the next call.
        unsafe {
            let at = this.as_ptr();
            if !std::mem::replace(&mut (*at).guards_floats, true) {
                (*at).registry.guard_floats(&mut (*at).imports);
                (*Self::window(this)).forget_system_calls();
            }
        }
    }

    /// The host function that a system call means, if it means one, with its key.
    ///
    /// # Safety
    /// As [`Instance::call`].
    pub(crate) unsafe fn dynamic_function<'a>(this: NonNull<Self>) -> Option<(u64, &'a Function)>
    where
        T: 'a,
    {
        // SAFETY: as the caller promises; the registry lives as long as the instance, and does not change.
        unsafe {
            let state = (*this.as_ptr()).state;
            let a7 = (*state).hart.x(A7);
            let key = if a7 == DYNAMIC_CALL { (*state).hart.x(T0) } else { a7 };
            Some((key, (*this.as_ptr()).registry.by_number(key)?))
        }
    }

    /// Whether the host function that has ended a run has parameters.
    ///
    /// # Safety
    /// As [`Instance::call`].
    pub(crate) unsafe fn has_been_given_arguments(this: NonNull<Self>) -> bool {
        // SAFETY: as the caller promises.
        unsafe {
            let environment = (*this.as_ptr()).pending.as_ref().map(|(_, environment)| *environment);
            let function = environment.and_then(|environment| (*this.as_ptr()).registry.by_environment(environment));
            function.is_none_or(|function| !function.signature.parameters.is_empty())
        }
    }

    /// What becomes of a run that a host function has ended.
    ///
    /// # Safety
    /// As [`Instance::call`].
    pub(crate) unsafe fn given_up<R>(this: NonNull<Self>) -> Result<R, Error> {
        // SAFETY: as the caller promises.
        unsafe {
            let at = this.as_ptr();
            match (*at).pending.take() {
                Some((Pending::Error(error), environment)) => Err(Self::failure(this, Some(environment), error)),
                Some((Pending::Panic(panic), _)) => resume_unwind(panic),
                None => unreachable!("host functions say why they end a run"),
            }
        }
    }

    /// The error of a host function that was called at the pc.
    ///
    /// # Safety
    /// As [`Instance::call`].
    pub(crate) unsafe fn failure(this: NonNull<Self>, environment: Option<*const ()>, error: HostError) -> Error {
        // SAFETY: as the caller promises.
        unsafe {
            let at = this.as_ptr();
            let pc = (*(*at).state).hart.pc;
            let name = environment.and_then(|environment| (*at).registry.by_environment(environment));
            let backtrace = Backtrace::of(&*Self::memory(this), (*at).program.image());
            let function = name.map(|function| function.name.to_string());
            Error::Host(Box::new(HostFailure { function, pc, backtrace, source: error }))
        }
    }

    /// The error of a trap, with registers that are those of its pc.
    ///
    /// # Safety
    /// As [`Instance::call`].
    pub(crate) unsafe fn trap(this: NonNull<Self>, cause: TrapCause, pc: u64) -> Error {
        // SAFETY: as the caller promises.
        unsafe {
            let at = this.as_ptr();
            let backtrace = match cause {
                TrapCause::OutOfFuel | TrapCause::Interrupted | TrapCause::Deadline => Backtrace::default(),
                _ => Backtrace::of(&*Self::memory(this), (*at).program.image()),
            };
            Self::trap_with(this, cause, pc, backtrace)
        }
    }

    /// The error of a trap in compiled code whose registers are as of its last exit: they lead to callers of another
    /// pc, or to what these have left on the stack.
    ///
    /// # Safety
    /// As [`Instance::call`].
    pub(crate) unsafe fn lost_trap(this: NonNull<Self>, cause: TrapCause, pc: u64) -> Error {
        // SAFETY: as the caller promises.
        unsafe {
            let backtrace = Backtrace::without_callers((*this.as_ptr()).program.image(), pc);
            Self::trap_with(this, cause, pc, backtrace)
        }
    }

    /// # Safety
    /// As [`Instance::call`].
    unsafe fn trap_with(this: NonNull<Self>, cause: TrapCause, pc: u64, backtrace: Backtrace) -> Error {
        // SAFETY: as the caller promises.
        unsafe {
            let at = this.as_ptr();
            let is_requested = (*at).interruption.requested().load(Ordering::SeqCst);
            // A request to stop is meant for all runs that wait.
            if Self::depth(this) <= 1 {
                (*at).interruption.withdraw();
            }
            let stack = &(*at).stack;
            let below_stack = stack.start - STACK_GUARD..stack.start;
            let cause = match cause {
                TrapCause::LoadFault { address } | TrapCause::StoreFault { address }
                    if below_stack.contains(&address) =>
                {
                    TrapCause::StackOverflow { address }
                }
                TrapCause::Interrupted if !is_requested => TrapCause::Deadline,
                cause => cause,
            };
            let message = (*at).last_words.take();
            Error::Trap(Box::new(Trap { cause, pc, message, backtrace }))
        }
    }
}
