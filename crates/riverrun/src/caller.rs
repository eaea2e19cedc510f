//! A guest's call, as a host function sees it.

use std::fmt;
use std::marker::PhantomData;
use std::ptr::NonNull;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use riverrun_vm::VmContext;

use crate::alarm::Alarm;
use crate::backtrace::Backtrace;
use crate::boundary::convention::{Parameters, Returned};
use crate::call::func::{Func, HasInstance};
use crate::error::Error;
use crate::hart::Hart;
use crate::heap::Heap;
use crate::instance::{Instance, Suspended};
use crate::memory::Memory;
use crate::program::Program;
use crate::registers::Position;

/// A guest's call, as a host function sees it.
pub struct Caller<'a, T> {
    pub(crate) instance: NonNull<Instance<T>>,
    memory: NonNull<Memory>,
    borrowed: PhantomData<&'a mut Instance<T>>,
}

impl<T> fmt::Debug for Caller<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Caller").field("pc", &self.pc()).finish_non_exhaustive()
    }
}

impl<T: 'static> HasInstance for Caller<'_, T> {
    type Data = T;

    #[allow(private_interfaces)]
    fn instance(&mut self) -> NonNull<Instance<T>> {
        self.instance
    }
}

impl<'a, T> Caller<'a, T> {
    #[inline(always)]
    pub(crate) fn new(suspended: Suspended<T>) -> Caller<'a, T> {
        let instance = suspended.into_instance();
        // SAFETY: who suspends a guest in a call has noted its window.
        let memory = unsafe { Instance::engine_memory(instance) };
        Caller { instance, memory, borrowed: PhantomData }
    }

    fn state(&self) -> &VmContext {
        self.memory().window.state()
    }

    fn position(&self) -> Position<'_> {
        Position::of(self.state())
    }

    fn state_mut(&mut self) -> &mut VmContext {
        // SAFETY: as in `data`.
        unsafe { Instance::forget_ready(self.instance) };
        self.memory_mut().window.state_mut()
    }

    fn guard_floats(&mut self) {
        // SAFETY: as in `data`.
        unsafe { Instance::guard_floats(self.instance) };
    }

    /// The host's own state.
    pub fn data(&self) -> &T {
        // SAFETY: a caller stands for a unique borrow of the instance's data and memory.
        unsafe { &(*self.instance.as_ptr()).data }
    }

    /// The host's own state.
    pub fn data_mut(&mut self) -> &mut T {
        // SAFETY: as in `data`.
        unsafe { &mut (*self.instance.as_ptr()).data }
    }

    /// The guest's memory.
    pub fn memory(&self) -> &Memory {
        // SAFETY: as in `data`.
        unsafe { self.memory.as_ref() }
    }

    /// The guest's memory.
    pub fn memory_mut(&mut self) -> &mut Memory {
        // SAFETY: as in `data`.
        unsafe { self.memory.as_mut() }
    }

    /// The host's own state and the guest's memory at once.
    pub fn split(&mut self) -> (&mut T, &mut Memory) {
        // SAFETY: as in `data`; neither is part of the other.
        unsafe { (&mut (*self.instance.as_ptr()).data, self.memory.as_mut()) }
    }

    /// The guest's heap.
    #[inline(always)]
    pub fn heap(&mut self) -> Heap<'_> {
        // SAFETY: as in `data`; neither is part of the other.
        unsafe {
            let instance = self.instance.as_ptr();
            Heap::new(self.memory.as_mut(), &mut (*instance).heap, Some(&(*instance).interruption))
        }
    }

    /// Makes the engine exit soon if the dispatcher has something to end the run or its slice for: to be called where a
    /// host function has done more than a few instructions' work.
    #[inline(always)]
    pub(crate) fn look_at_time(&mut self) {
        // SAFETY: as in `data`; interruptions are only shared.
        if unsafe { (*self.instance.as_ptr()).interruption.must_exit() } {
            self.exit_soon();
        }
    }

    #[cold]
    fn exit_soon(&mut self) {
        self.memory_mut().window.polls().ask();
    }

    /// The program that is running.
    pub fn program(&self) -> &Program {
        // SAFETY: programs are only shared while machines run.
        unsafe { &(*self.instance.as_ptr()).program }
    }

    /// The guest's deadline: functions that block must return by then.
    pub fn deadline(&self) -> Option<Instant> {
        // SAFETY: a copy; it changes while no host function runs.
        unsafe { (*self.instance.as_ptr()).deadline }
    }

    /// Becomes true when another thread interrupts the machine: functions that block must look at
    /// it every few milliseconds, and end with [`crate::TrapCause::Interrupted`], also where the deadline has passed: the
    /// machine tells the two apart.
    pub fn interrupted(&self) -> &'a AtomicBool {
        // SAFETY: the flag lives as long as the instance, which outlives the call.
        unsafe { (*self.instance.as_ptr()).interruption.requested() }
    }

    /// Has the dispatcher suspend the guest at this moment and call the handler that
    /// [`Linker::alarm`](crate::Linker::alarm) sets, in place of any earlier alarm; `None` for never. Until an
    /// [`Alarm::Executed`], compiled code that does not count fuel is not run: the guest is interpreted. Where such code is
    /// suspended at an [`Alarm::At`], registers that the guest does not read any more may have older values.
    pub fn set_alarm(&mut self, alarm: Option<Alarm>) {
        // SAFETY: as in `data`.
        unsafe { Instance::set_alarm(self.instance, alarm) };
    }

    /// A copy of the machine's hart, for another thread.
    pub fn hart(&self) -> Hart {
        Hart::of(self.state())
    }

    /// Exchanges the machine's hart with another, by which another thread of the guest runs: for handlers of `ecall` and of
    /// alarms, whose [`Flow::Jump`](crate::Flow::Jump) says where that goes on. The pc is exchanged, too, so that
    /// [`Caller::pc`] is the other thread's afterwards. Instructions are counted for the machine.
    ///
    /// Where [a host function has called the guest](Caller::is_nested), the harts must be as before once the call returns.
    ///
    /// ```
    /// use riverrun::{Caller, Config, Engine, Flow, Hart, Linker, Program};
    ///
    /// let engine = Engine::new(&Config::new())?;
    /// let mut linker = Linker::<Hart>::new(&engine);
    /// // Two threads: the first one that exits is followed by the other.
    /// linker.ecall(|mut caller: Caller<'_, Hart>| {
    ///     let mut other = std::mem::take(caller.data_mut());
    ///     if other.pc() == 0 {
    ///         return Ok(Flow::Exit(caller.x(10) as i32));
    ///     }
    ///     caller.swap_hart(&mut other);
    ///     Ok(Flow::Jump(caller.pc()))
    /// });
    /// let program = Program::new(&engine, riverrun::doc::TINY)?;
    /// let mut machine = linker.instantiate(&program, Hart::new())?;
    /// let entry = machine.pc();
    /// machine.data_mut().set_pc(entry);
    /// assert_eq!((machine.run()?, machine.instructions()), (42, 6));
    /// # Ok::<(), riverrun::Error>(())
    /// ```
    pub fn swap_hart(&mut self, hart: &mut Hart) {
        let before = self.fcsr();
        // SAFETY: as in `data`: a copy, and the result of the exchange.
        let mut has_own_hart = unsafe { (*self.instance.as_ptr()).has_own_hart };
        hart.swap(self.state_mut(), &mut has_own_hart);
        // SAFETY: likewise.
        unsafe { (*self.instance.as_ptr()).has_own_hart = has_own_hart };
        if self.fcsr() != before {
            self.guard_floats();
        }
    }

    /// Whether the run that has made this call is nested in another: a host function has called the guest.
    pub fn is_nested(&self) -> bool {
        // SAFETY: the instance is alive.
        unsafe { Instance::depth(self.instance) > 1 }
    }

    /// The calls in progress, as [`Machine::backtrace`](crate::Machine::backtrace) gives them.
    pub fn backtrace(&self) -> Backtrace {
        Backtrace::of(self.memory(), self.program().image())
    }

    /// The calls in progress in a thread whose registers these are.
    pub fn backtrace_of(&self, hart: &Hart) -> Backtrace {
        Backtrace::at(self.memory(), self.program().image(), hart.position())
    }

    /// A function of the guest, to be called back: see [`crate::Machine::func`].
    ///
    /// # Errors
    /// As there.
    pub fn func<P: Parameters, R: Returned>(&self, name: &str) -> Result<Func<P, R>, Error> {
        // SAFETY: what is looked at does not change while machines run.
        unsafe { Func::by_name(&(*self.instance.as_ptr()).program, name) }
    }

    /// A function of the guest by its address, such as a callback that the guest has passed: see
    /// [`crate::Machine::func_at`].
    ///
    /// # Errors
    /// As there.
    pub fn func_at<P: Parameters, R: Returned>(&self, address: u64) -> Result<Func<P, R>, Error> {
        // SAFETY: as in `func`.
        unsafe { Func::at(&(*self.instance.as_ptr()).program, address) }
    }

    /// Sets the [`message`](crate::Trap::message) of the trap with which this host function ends the run
    /// ([`Flow::Trap`](crate::Flow::Trap)). The Linux personality sets it for `abort`, to what the guest last wrote to
    /// standard error.
    pub fn set_last_words(&mut self, message: impl Into<String>) {
        // SAFETY: as in `data`; engines do not look at it.
        unsafe { (*self.instance.as_ptr()).last_words = Some(message.into()) };
    }

    crate::registers::accessors!();

    /// The address of the call.
    pub fn pc(&self) -> u64 {
        self.position().pc
    }

    /// Whether [`Caller::instructions`] goes on while the guest runs, as it does not in compiled code that counts no fuel.
    /// An [`Alarm::Executed`] makes the guest be interpreted then, an [`Alarm::At`] does not.
    pub fn counts_instructions(&self) -> bool {
        // SAFETY: a copy; it changes while no host function runs.
        unsafe { (*self.instance.as_ptr()).counts_instructions }
    }

    /// The instructions that the guest may still execute; `None` without a limit.
    ///
    /// ```
    /// # use riverrun::{Caller, Config, Engine, Linker, Program};
    /// # let engine = Engine::new(&Config::new())?;
    /// # let program = Program::new(&engine, riverrun::doc::TINY)?;
    /// let mut linker = Linker::<()>::new(&engine);
    /// linker.ecall(|caller: Caller<'_, ()>| {
    ///     assert!(caller.fuel().is_some_and(|left| left < 1_000));
    ///     Ok(riverrun::Flow::Exit(0))
    /// });
    /// let mut machine = linker.instantiate(&program, ())?;
    /// machine.set_fuel(Some(1_000));
    /// assert_eq!(machine.run()?, 0);
    /// # Ok::<(), riverrun::Error>(())
    /// ```
    pub fn fuel(&self) -> Option<u64> {
        // SAFETY: the instance is alive while its host function runs.
        unsafe { Instance::fuel_left(self.instance) }
    }

    /// Instructions that the machine has executed, the call included.
    pub fn instructions(&self) -> u64 {
        self.state().instructions()
    }
}
