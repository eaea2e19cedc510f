//! The fields of a machine, and what runs, calls and host functions do with them.
//!
//! A host function works on the instance whose run called it, and may call the guest again. So all code reaches the
//! instance by its address and borrows single fields, never the whole. While an engine runs, it holds the window, the
//! fuel and the [`Execution`](riverrun_vm::artifact::Execution); a host function takes the window from the suspended engine
//! ([`riverrun_vm::EngineContext::window`]).
//!
//! Used by [`crate::run`], [`crate::dispatch`] and the fast path of calls, which come later in the order of imports.

use std::any::Any;
use std::ops::Range;
use std::panic::resume_unwind;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use riverrun_interp::end_count;
use riverrun_vm::{Bound, DYNAMIC_CALL, EntryGuard, Interruption, STACK_GUARD, TrapCause, VmContext, Window, clock};

use crate::alarm::Alarm;
use crate::backtrace::Backtrace;
use crate::compiled_code::CompiledEngine;
use crate::error::{Error, Handler, HostError, HostFailure, Trap};
use crate::flow::Flow;
use crate::heap::HeapState;
use crate::heap_error::{HeapError, HeapProblem};
use crate::limits::CallLimits;
use crate::memory::Memory;
use crate::program::Program;
use crate::ready::{PlainEngine, Preparation, Ready};
use crate::registers::SP;
use crate::registry::{Function, Registry};
use crate::sampler::Sampler;
use crate::suspension::Suspension;

const T0: u8 = 5;
const A7: u8 = 17;

/// A machine whose guest is suspended in a call of its host: what a host function or a handler gets, as a `Caller`.
///
/// Until it is dropped, or its `Caller` is, it is the only borrow of the instance besides that of the engine that waits.
pub(crate) struct Suspended<T>(NonNull<Instance<T>>);

impl<T> Suspended<T> {
    /// # Safety
    /// An engine or the dispatcher is suspended in a call of the host for this machine, has noted its window, and continues
    /// after the result and what is made of it are dropped.
    #[inline(always)]
    pub(crate) unsafe fn new(instance: NonNull<Instance<T>>) -> Suspended<T> {
        Suspended(instance)
    }

    #[inline(always)]
    pub(crate) fn into_instance(self) -> NonNull<Instance<T>> {
        self.0
    }
}

pub(crate) type EcallHandler<T> = dyn Fn(Suspended<T>) -> Result<Flow, HostError> + Send + Sync;
pub(crate) type TrapHandler<T> = dyn Fn(Suspended<T>, TrapCause) -> Result<Flow, HostError> + Send + Sync;
pub(crate) type HartHandler<T> = dyn Fn(Suspended<T>) + Send + Sync;

/// The reason for which a host function has ended the run that called it.
pub(crate) enum Pending {
    Error(HostError),
    Panic(Box<dyn Any + Send>),
}

/// A machine. Its first fields are [`crate::raw::MachineHead`], which compiled C and C++ reads.
#[repr(C)]
pub(crate) struct Instance<T> {
    /// The context below the window.
    pub(crate) state: *mut VmContext,
    /// The entry guard of the fast path.
    pub(crate) entry_guard: &'static EntryGuard,
    /// Whether host functions run in the host's float environment, because the program can observe the difference.
    pub(crate) guards_floats: bool,
    /// The conditions of the fast path: before `data`, so that their place does not depend on its type.
    pub(crate) ready: Ready,
    /// Public as [`Memory`].
    pub(crate) window: Window,
    pub(crate) data: T,
    pub(crate) program: Program,
    pub(crate) ecall: Arc<EcallHandler<T>>,
    pub(crate) alarm_handler: Option<Arc<EcallHandler<T>>>,
    pub(crate) trap_handler: Option<Arc<TrapHandler<T>>>,
    pub(crate) hart_handler: Option<Arc<HartHandler<T>>>,
    /// Whether the hart that began the outermost call is the machine's.
    pub(crate) has_own_hart: bool,
    pub(crate) registry: Arc<Registry>,
    pub(crate) imports: Box<[Bound]>,
    /// The outermost run's compiled code, with its host stack. It rests while the guest waits.
    pub(crate) execution: Option<CompiledEngine>,
    /// Those of earlier nested runs, for later ones.
    pub(crate) spare_executions: Vec<CompiledEngine>,
    /// Samples interpreted code, if the program is compiled as it runs.
    pub(crate) sampler: Option<Sampler>,
    /// Whether all code that the present run may use counts its instructions.
    pub(crate) counts_instructions: bool,
    /// The number of the pool that has made it; 0 if none has.
    pub(crate) pool: u64,
    pub(crate) fuel: Option<u64>,
    /// While the guest runs: the value of `instret` at which its fuel is used up.
    pub(crate) fuel_end: Option<u64>,
    pub(crate) deadline: Option<Instant>,
    /// When the host's handler of alarms is called, if at all. No call takes the fast path while it is set.
    pub(crate) alarm: Option<Alarm>,
    /// When the present slice of the outermost run ends, by the clock of deadlines, if it is one: see [`crate::run::Turn`].
    pub(crate) slice_end: Option<u64>,
    pub(crate) interruption: Interruption,
    /// The pc at which the registers of the guest's own run were lost, if they were: it cannot continue.
    pub(crate) lost: Option<u64>,
    pub(crate) stack: Range<u64>,
    /// Why a host function has ended the run, with the function's environment; taken by [`Instance::given_up`].
    pub(crate) pending: Option<(Pending, *const ())>,
    /// Unfinished runs, without the one on the fast path: see [`Instance::depth`].
    pub(crate) depth: u32,
    /// Identifies the program's code: a function of another program is refused by it.
    pub(crate) code_id: u64,
    /// The engine of the fast path, if this machine can have one.
    pub(crate) engine: Option<PlainEngine>,
    /// The guest's message for the error of the next trap: see [`crate::Caller::set_last_words`].
    pub(crate) last_words: Option<String>,
    /// Whether the guest's own run has stopped before its end and can continue.
    pub(crate) is_suspended: bool,
    /// Whether the guest may call functions that are for initialization only.
    pub(crate) is_initializing: bool,
    pub(crate) heap: HeapState,
    /// The run that can wait for host functions, while it is polled.
    pub(crate) suspension: Option<NonNull<Suspension>>,
}

/// Counts a run until it is dropped, also by a panic.
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

/// Runs a closure when dropped, also by a panic: a run puts back by it what it has changed for its time.
pub(crate) struct AtEnd<F: FnMut()>(pub(crate) F);

impl<F: FnMut()> Drop for AtEnd<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

/// Restores [`Instance::lost`] when dropped, also by a panic: a call that loses its registers does not end the guest's own
/// run.
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

impl KeptLost {
    /// Restores it now, unless what was lost is another thread's registers, which are not the call's.
    pub(crate) fn unless(self, is_other: bool) {
        if is_other {
            std::mem::forget(self);
        }
    }
}

impl Drop for KeptLost {
    fn drop(&mut self) {
        // SAFETY: as `of`'s caller promises.
        unsafe { *self.place = self.lost }
    }
}

impl<T> Instance<T> {
    /// The number of unfinished runs and calls.
    ///
    /// # Safety
    /// The instance is alive.
    #[inline(always)]
    pub(crate) unsafe fn depth(this: NonNull<Self>) -> u32 {
        // SAFETY: as the caller promises.
        unsafe { (*this.as_ptr()).depth + u32::from((*this.as_ptr()).entry_guard.is_calling()) }
    }

    /// Invalidates the preparations: the next call prepares and tests everything anew. A call that is under way may open the
    /// guard once more, but no engine is prepared then.
    ///
    /// # Safety
    /// The instance is alive.
    #[inline(always)]
    pub(crate) unsafe fn forget_ready(this: NonNull<Self>) {
        // SAFETY: as the caller promises.
        unsafe {
            Self::commit(this);
            let at = this.as_ptr();
            let (entry_guard, ready) = ((*at).entry_guard, &mut (*at).ready);
            ready.preparation = Preparation::None;
            entry_guard.ask();
            if !entry_guard.is_calling() {
                if ready.has_position {
                    ready.put_back(&mut *(*at).state);
                    end_count(&mut *(*at).state);
                }
                ready.has_position = false;
                entry_guard.close();
            }
        }
    }

    /// Commits the guest's position and `instret`, if calls on the fast path have changed them in the state.
    ///
    /// # Safety
    /// The instance is alive, and nothing of its state is borrowed.
    #[inline(always)]
    pub(crate) unsafe fn commit(this: NonNull<Self>) {
        // SAFETY: as the caller promises.
        unsafe {
            let at = this.as_ptr();
            let (state, ready) = (&mut *(*at).state, &(*at).ready);
            if ready.has_position && !(*at).entry_guard.is_calling() {
                (state.hart.pc, state.hart.slots[usize::from(SP)]) = (ready.pc, ready.sp);
                state.hart.instret = state.instructions();
            }
        }
    }

    /// Has calls take the fast path of compiled code from now on, if the machine has such that it can enter.
    ///
    /// # Safety
    /// The instance is alive, and its preparations are forgotten.
    pub(crate) unsafe fn choose_fast_path(this: NonNull<Self>) {
        // SAFETY: as the caller promises.
        unsafe {
            let engine = (*this.as_ptr()).execution.as_ref();
            (*this.as_ptr()).engine = engine.filter(|engine| !engine.counts_fuel()).map(|_| PlainEngine::Compiled);
        }
    }

    /// Lets the outermost run's compiled code rest while the guest waits. [`Instance::wake_engine`] is called before it
    /// is used.
    ///
    /// # Safety
    /// The instance is alive, no engine runs on it, and no call waits for the fast path.
    pub(crate) unsafe fn rest_engine(this: NonNull<Self>) {
        // SAFETY: as the caller promises.
        unsafe {
            Self::forget_ready(this);
            (*this.as_ptr()).execution.iter_mut().for_each(|engine| engine.rest());
        }
    }

    /// Ends the rest. If the host has no memory for a stack, the guest is interpreted from now on.
    ///
    /// # Safety
    /// As [`Instance::rest_engine`].
    #[inline(always)]
    pub(crate) unsafe fn wake_engine(this: NonNull<Self>) {
        // SAFETY: as the caller promises.
        unsafe {
            let engine = (*this.as_ptr()).execution.as_mut();
            if engine.is_some_and(|engine| engine.wake().is_err()) {
                (*this.as_ptr()).execution = None;
                Self::choose_fast_path(this);
            }
        }
    }

    /// Pushes words to the guest's stack, and aligns it.
    ///
    /// # Safety
    /// As [`Instance::call`].
    pub(crate) unsafe fn push(this: NonNull<Self>, words: &[u64]) -> Result<(), Error> {
        // SAFETY: as the caller promises. `Instance::memory` takes the window of a suspended engine, if there is one.
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

    /// The window: that of the suspended engine, which holds the only borrow of it, or the field.
    ///
    /// # Safety
    /// The instance is alive.
    pub(crate) unsafe fn window(this: NonNull<Self>) -> *mut Window {
        // SAFETY: as the caller promises; an engine clears the field before its borrow of the window ends.
        unsafe {
            match (*(*this.as_ptr()).state).exit.window {
                0 => &raw mut (*this.as_ptr()).window,
                window => window as *mut Window,
            }
        }
    }

    /// The memory, in a host function: the window of the suspended engine.
    ///
    /// # Safety
    /// The instance is alive, and an engine or the dispatcher is suspended in a host call and has noted its window.
    #[inline(always)]
    pub(crate) unsafe fn engine_memory(this: NonNull<Self>) -> NonNull<Memory> {
        // SAFETY: as the caller promises; a window is never at null.
        unsafe { Memory::of(NonNull::new_unchecked((*(*this.as_ptr()).state).exit.window as *mut Window)) }
    }

    /// The memory: [`Instance::window`] as the public type.
    ///
    /// # Safety
    /// The instance is alive.
    pub(crate) unsafe fn memory(this: NonNull<Self>) -> *mut Memory {
        // SAFETY: as the caller promises; a window is never at null.
        unsafe { Memory::of(NonNull::new_unchecked(Self::window(this))).as_ptr() }
    }

    /// Runs `body` with these limits, besides those that hold already.
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
            let _restored = AtEnd(move || {
                match Self::depth(this) {
                    0 => {
                        let executed = (*(*at).state).instructions().wrapping_sub(before);
                        (*at).fuel = fuel.map(|fuel| fuel.saturating_sub(executed));
                    }
                    _ => (*at).fuel_end = fuel_end,
                }
                Self::set_deadline(this, deadline);
            });
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
            body()
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

    /// Withdraws a request to stop, and lets none that is still to come reach this machine. No engine runs.
    pub(crate) fn renew_interruption(&mut self) {
        if !self.interruption.is_shared() {
            if self.interruption.requested().load(Ordering::SeqCst) {
                self.interruption.withdraw();
            }
            return;
        }
        // SAFETY: the instance is borrowed uniquely, and its entry guard and execution are those of the old interruption.
        unsafe { Self::forget_ready(NonNull::from(&mut *self)) };
        self.execution.iter_mut().chain(&mut self.spare_executions).for_each(|engine| engine.disown());
        self.interruption.forget_polls();
        self.interruption = self.program.new_interruption();
        self.entry_guard = self.interruption.entry_guard();
        // SAFETY: the window lives as long as the instance, whose machine has them forgotten before.
        unsafe { self.interruption.lead_to(self.window.polls()) };
    }

    /// # Safety
    /// The instance is alive; an engine may wait for a host function.
    pub(crate) unsafe fn set_alarm(this: NonNull<Self>, alarm: Option<Alarm>) {
        // SAFETY: as the caller promises; engines only share the interruption.
        unsafe {
            if (*this.as_ptr()).alarm != alarm {
                Self::forget_ready(this);
                (*this.as_ptr()).alarm = alarm;
                Self::arm(this);
            }
        }
    }

    /// Has the dispatcher look when the alarm comes or the slice ends, whichever is first. Nested runs are in no slice.
    ///
    /// # Safety
    /// The instance is alive; an engine may wait for a host function.
    pub(crate) unsafe fn arm(this: NonNull<Self>) {
        // SAFETY: as the caller promises; engines only share the interruption.
        unsafe {
            let at = this.as_ptr();
            let slice_end = (*at).slice_end.filter(|_| Self::depth(this) <= 1);
            let alarm = (*at).alarm.and_then(Alarm::moment).map(clock::nanoseconds);
            (*at).interruption.set_alarm(alarm.into_iter().chain(slice_end).min().unwrap_or(clock::NEVER));
        }
    }

    /// Whether the outermost run is in a slice that has ended.
    ///
    /// # Safety
    /// The instance is alive.
    pub(crate) unsafe fn is_cut(this: NonNull<Self>) -> bool {
        // SAFETY: as the caller promises.
        unsafe { Self::depth(this) == 1 && (*this.as_ptr()).slice_end.is_some_and(|end| end <= clock::now()) }
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

    /// Compiled code with a host stack for a nested run, if the program has compiled code.
    ///
    /// # Safety
    /// As [`Instance::call`].
    pub(crate) unsafe fn take_execution(this: NonNull<Self>) -> Option<CompiledEngine> {
        // SAFETY: as the caller promises.
        unsafe {
            let at = this.as_ptr();
            (*at).spare_executions.pop().or_else(|| CompiledEngine::new((*at).program.compiled()?).ok())
        }
    }

    /// Has host functions run in the host's float environment from now on: the guest could observe the difference.
    ///
    /// # Safety
    /// As [`Instance::call`]; an engine may wait for a host function.
    pub(crate) unsafe fn guard_floats(this: NonNull<Self>) {
        // SAFETY: as the caller promises; a suspended engine reads the imports again for its next call.
        unsafe {
            let at = this.as_ptr();
            if !std::mem::replace(&mut (*at).guards_floats, true) {
                (*at).registry.guard_floats(&mut (*at).imports);
                (*Self::window(this)).forget_system_calls();
            }
        }
    }

    /// The host function that the system call at the pc calls by number or hash, if any, with its key.
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

    /// Whether a host function has ended the run to wait. Then there is no error of the run.
    ///
    /// # Safety
    /// The instance is alive.
    pub(crate) unsafe fn is_waiting(this: NonNull<Self>) -> bool {
        // SAFETY: a suspension that is set is alive.
        unsafe {
            let suspension = (*this.as_ptr()).suspension;
            suspension.is_some_and(|suspension| (*suspension.as_ptr()).awaited.is_some())
        }
    }

    /// The error of a run that a host function has ended, or its panic, which continues here.
    ///
    /// # Safety
    /// As [`Instance::call`].
    pub(crate) unsafe fn given_up<R>(this: NonNull<Self>) -> Result<R, Error> {
        // SAFETY: as the caller promises.
        unsafe {
            let at = this.as_ptr();
            match (*at).pending.take() {
                Some((Pending::Error(error), environment)) => Err(Self::function_failure(this, environment, error)),
                Some((Pending::Panic(panic), _)) => resume_unwind(panic),
                None => unreachable!("host functions say why they end a run"),
            }
        }
    }

    /// The error of a host function that was called at the pc.
    ///
    /// # Safety
    /// As [`Instance::call`].
    pub(crate) unsafe fn function_failure(this: NonNull<Self>, environment: *const (), error: HostError) -> Error {
        // SAFETY: as the caller promises.
        unsafe {
            let function = (*this.as_ptr()).registry.by_environment(environment);
            let function = function.map(|function| function.name.to_string());
            Self::failure(this, function, Handler::SystemCall, error)
        }
    }

    /// The error of a handler that was called for what the guest did at the pc.
    ///
    /// # Safety
    /// As [`Instance::call`].
    pub(crate) unsafe fn handler_failure(this: NonNull<Self>, handler: Handler, error: HostError) -> Error {
        // SAFETY: as the caller promises.
        unsafe { Self::failure(this, None, handler, error) }
    }

    /// # Safety
    /// As [`Instance::call`].
    unsafe fn failure(this: NonNull<Self>, function: Option<String>, handler: Handler, source: HostError) -> Error {
        // SAFETY: as the caller promises.
        unsafe {
            let at = this.as_ptr();
            let pc = (*(*at).state).hart.pc;
            if source.downcast_ref::<HeapError>().is_some_and(|error| error.problem == HeapProblem::OutOfTime) {
                return Self::trap(this, TrapCause::Interrupted, pc);
            }
            let backtrace = Backtrace::of(&*Self::memory(this), (*at).program.image());
            Error::Host(Box::new(HostFailure { function, handler, pc, backtrace, source }))
        }
    }

    /// The error of a trap with the hart committed.
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

    /// The error of a trap in compiled code that lost its registers. They are as of an earlier pc, so its backtrace has no
    /// callers.
    ///
    /// # Safety
    /// As [`Instance::call`].
    pub(crate) unsafe fn lost_trap(this: NonNull<Self>, cause: TrapCause, pc: u64) -> Error {
        // SAFETY: as the caller promises.
        unsafe {
            let image = (*this.as_ptr()).program.image();
            let backtrace = match cause {
                TrapCause::LoadFault { .. } | TrapCause::StoreFault { .. }
                    if (*this.as_ptr()).trap_handler.is_some() =>
                {
                    Backtrace::without_handler(image, pc)
                }
                _ => Backtrace::without_callers(image, pc),
            };
            Self::trap_with(this, cause, pc, backtrace)
        }
    }

    /// The cause of a trap as the host is told it: accesses just below the stack are its overflow.
    ///
    /// # Safety
    /// The instance is alive.
    pub(crate) unsafe fn classified(this: NonNull<Self>, cause: TrapCause) -> TrapCause {
        // SAFETY: as the caller promises.
        let stack = unsafe { &(*this.as_ptr()).stack };
        let below_stack = stack.start - STACK_GUARD..stack.start;
        match cause {
            TrapCause::LoadFault { address } | TrapCause::StoreFault { address } if below_stack.contains(&address) => {
                TrapCause::StackOverflow { address }
            }
            cause => cause,
        }
    }

    /// # Safety
    /// As [`Instance::call`].
    unsafe fn trap_with(this: NonNull<Self>, cause: TrapCause, pc: u64, backtrace: Backtrace) -> Error {
        // SAFETY: as the caller promises.
        unsafe {
            let at = this.as_ptr();
            let is_requested = (*at).interruption.requested().load(Ordering::SeqCst);
            // A request stops all nested runs, so the outermost one withdraws it.
            if Self::depth(this) <= 1 {
                (*at).interruption.withdraw();
            }
            let cause = match Self::classified(this, cause) {
                TrapCause::Interrupted if !is_requested => TrapCause::Deadline,
                cause => cause,
            };
            let message = (*at).last_words.take();
            Error::Trap(Box::new(Trap { cause, pc, message, backtrace }))
        }
    }
}
