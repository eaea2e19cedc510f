//! A machine: one guest with its memory, registers, limits, and the host's own state.
//!
//! Invariant: safe code cannot exchange a part of one machine for that of another. A machine, or a
//! [`Caller`](crate::Caller), therefore lends only:
//!
//! - the host's own state, `&mut T`, which engines never read;
//! - `&mut` [`Memory`], which is unsized and so cannot be moved;
//! - [`Heap`], a view that does not lend what it refers to;
//! - `&mut` [`Caller`](crate::Caller), which an [`AsyncCaller`](crate::AsyncCaller) lends: the caller of another call lives
//!   for another time, so the types differ (`must_not_compile.rs`);
//! - values that are shared (`&Program`) or copied (registers).

use std::ptr::NonNull;
use std::time::Instant;

use riverrun_program::Signature;
use riverrun_vm::{Interruption, TrapCause, VmContext, clock};

use crate::alarm::Alarm;
use crate::backtrace::Backtrace;
use crate::boundary::convention::{Parameters, Returned};
use crate::call::dyn_func::DynFunc;
use crate::call::func::{Func, HasInstance};
use crate::error::Error;
use crate::heap::Heap;
use crate::instance::Instance;
use crate::limits::CallLimits;
use crate::memory::Memory;
use crate::program::Program;
use crate::registers::Position;
use crate::run::Turn;

/// A guest, alone in its memory, with the host's own state `T`.
#[repr(transparent)]
pub struct Machine<T> {
    /// A box: host functions reach it by its address while the guest runs.
    pub(crate) instance: NonNull<Instance<T>>,
}

// SAFETY: a machine owns its instance, and moves as a box does. Nothing of it is bound to a thread but `T`: the linker
// keeps Send and Sync functions only, and pointers lead to parts of the instance, its window and its program. An entry
// guard that a thread has claimed is asked for that claim in each call (`fast_path.rs`).
unsafe impl<T: Send> Send for Machine<T> {}
// SAFETY: what takes `&Machine` reads the data, memory, registers and program, or hands out the interruption, which is
// made of atomics. To run a guest, and to change anything, takes `&mut Machine`.
unsafe impl<T: Sync> Sync for Machine<T> {}

impl<T> Drop for Machine<T> {
    fn drop(&mut self) {
        Machine::instance(self).interruption.forget_polls();
        // SAFETY: this is the box of `new`, and nothing borrows from it any more.
        drop(unsafe { Box::from_raw(self.instance.as_ptr()) });
    }
}

impl<T: std::fmt::Debug> std::fmt::Debug for Machine<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Machine").field("program", self.program()).field("data", self.data()).finish_non_exhaustive()
    }
}

/// Stops a machine from another thread; see [`Machine::interrupt_handle`].
#[derive(Clone, Debug)]
pub struct InterruptHandle(pub(crate) Interruption);

impl InterruptHandle {
    /// Makes the machine's present run, or its next one, end with [`TrapCause::Interrupted`]
    /// within a few milliseconds.
    pub fn interrupt(&self) {
        self.0.request();
    }
}

impl<T: 'static> HasInstance for Machine<T> {
    type Data = T;

    #[allow(private_interfaces)]
    fn instance(&mut self) -> NonNull<Instance<T>> {
        self.instance
    }
}

impl<T> Machine<T> {
    pub(crate) fn instance(&self) -> &Instance<T> {
        // SAFETY: the instance lives as long as the machine, and no guest runs, as that takes a unique
        // borrow.
        unsafe { self.instance.as_ref() }
    }

    pub(crate) fn instance_mut(&mut self) -> &mut Instance<T> {
        // SAFETY: as in `instance`; the borrow is unique.
        unsafe { self.instance.as_mut() }
    }

    fn state(&self) -> &VmContext {
        self.instance().window.state()
    }

    fn position(&self) -> Position<'_> {
        self.instance().ready.position(self.instance().entry_guard, self.state())
    }

    pub(crate) fn state_mut(&mut self) -> &mut VmContext {
        // SAFETY: the machine is borrowed uniquely.
        unsafe { Instance::forget_ready(self.instance) };
        self.instance_mut().window.state_mut()
    }

    fn guard_floats(&mut self) {
        // SAFETY: the machine is borrowed uniquely.
        unsafe { Instance::guard_floats(self.instance) };
    }

    /// Runs the guest from its pc until it exits, and returns its exit status.
    ///
    /// # Errors
    /// - [`Error::Trap`] if the guest traps, or runs out of fuel or time. Registers and memory are as before the
    ///   instruction, and the next `run` continues there, for example after more fuel or time.
    /// - [`Error::Host`] if a host function fails. The next `run` calls it again.
    /// - [`Error::Lost`] if the last run stopped in compiled code without committing its registers, so that it cannot
    ///   continue: in code that is not precise, at a fault, and at a failed host function that has parameters. Memory can
    ///   be read, and [`Machine::set_pc`] starts the guest again.
    pub fn run(&mut self) -> Result<i32, Error> {
        // SAFETY: the machine is borrowed uniquely, so that no engine runs on it.
        unsafe { Instance::run(self.instance) }
    }

    /// Runs the guest as [`Machine::run`] does, for a slice at most: so many instructions, or until this time. Returns the
    /// exit status, or `None` if the slice has ended first; then the next slice or run continues the guest, on this thread
    /// or another. A slice of time that has already passed executes nothing.
    ///
    /// Calls of the guest that a host function makes cannot be cut: a slice of time lasts until they have returned, and
    /// one of fuel ends them with [`TrapCause::OutOfFuel`]. Compiled code that counts no fuel is not run in a slice of
    /// fuel: there the guest is interpreted.
    ///
    /// # Errors
    /// As [`Machine::run`]: the machine's own limits hold as well.
    ///
    /// ```
    /// use riverrun::{CallLimits, Caller, Config, Engine, Flow, Linker, Program};
    ///
    /// let engine = Engine::new(&Config::new())?;
    /// let program = Program::new(&engine, riverrun::doc::TINY)?;
    /// let mut linker = Linker::new(&engine);
    /// linker.ecall(|caller: Caller<'_, ()>| Ok(Flow::Exit(caller.x(10) as i32)));
    /// let mut machine = linker.instantiate(&program, ())?;
    /// let mut slices = 1;
    /// let status = loop {
    ///     match machine.run_for(CallLimits::new().fuel(1))? {
    ///         Some(status) => break status,
    ///         None => slices += 1, // the host does other work
    ///     }
    /// };
    /// assert_eq!((status, slices), (42, machine.instructions()));
    /// # Ok::<(), riverrun::Error>(())
    /// ```
    pub fn run_for(&mut self, slice: CallLimits) -> Result<Option<i32>, Error> {
        let instance = self.instance;
        let fuel = CallLimits { deadline: None, ..slice };
        // The watchdog has not marked a moment that has only just been set.
        let end = slice.deadline.map(|end| match end <= Instant::now() {
            true => clock::PASSED,
            false => clock::nanoseconds(end),
        });
        // SAFETY: the machine is borrowed uniquely, so that no engine runs on it.
        let ended = unsafe {
            let _turn = Turn::new(instance, end);
            Instance::within(instance, fuel, || Instance::run_until_wait(instance))
        };
        match ended {
            Err(Error::Trap(trap))
                if trap.cause == TrapCause::OutOfFuel && slice.fuel.is_some() && self.fuel() != Some(0) =>
            {
                self.instance_mut().last_words = trap.message;
                Ok(None)
            }
            ended => ended,
        }
    }

    /// A function of the guest that the program exports by this name, or that has a symbol of this name.
    ///
    /// The types of parameters and result are checked once, here, against the signature that the guest exports. A plain
    /// symbol has no signature; there, wrong types give wrong values and nothing worse.
    ///
    /// Programs with a C library must be [run](Machine::run) first, until `main` has returned: their start code
    /// initialises the library.
    ///
    /// # Errors
    /// [`Error::Link`] if there is no such function, or it has other types: both signatures are named.
    ///
    /// ```
    /// use riverrun::{Config, Engine, Linker, Program};
    ///
    /// let engine = Engine::new(&Config::new())?;
    /// let program = Program::new(&engine, riverrun::doc::ADDER)?;
    /// let mut machine = Linker::new(&engine).instantiate(&program, ())?;
    /// let add = machine.func::<(i32, i32), i32>("add")?;
    /// assert_eq!(add.call(&mut machine, (40, 2))?, 42);
    ///
    /// let error = machine.func::<(i64,), i64>("add").unwrap_err();
    /// assert!(error.to_string().contains("exports add as `i32 (i32, i32)`, but the host calls it as `i64 (i64)`"));
    /// # Ok::<(), riverrun::Error>(())
    /// ```
    pub fn func<P: Parameters, R: Returned>(&mut self, name: &str) -> Result<Func<P, R>, Error> {
        self.set_global_pointer();
        Func::by_name(self.program(), name)
    }

    /// A function of the guest by its address, for example a function pointer that the guest has passed. Types are not
    /// checked.
    ///
    /// # Errors
    /// [`Error::Link`] if no instruction can be there.
    ///
    /// ```
    /// use riverrun::{Config, Engine, Linker, Program};
    ///
    /// let engine = Engine::new(&Config::new())?;
    /// let program = Program::new(&engine, riverrun::doc::ADDER)?;
    /// let mut machine = Linker::new(&engine).instantiate(&program, ())?;
    /// let address = machine.func::<(i32, i32), i32>("add")?.address();
    /// let add = machine.func_at::<(i32, i32), i32>(address)?;
    /// assert_eq!(add.call(&mut machine, (-1, 2))?, 1);
    /// # Ok::<(), riverrun::Error>(())
    /// ```
    pub fn func_at<P: Parameters, R: Returned>(&mut self, address: u64) -> Result<Func<P, R>, Error> {
        self.set_global_pointer();
        Func::at(self.program(), address)
    }

    /// Like [`Machine::func`], with types that are known only at run time: those that the guest exports, or `signature`,
    /// which must equal them if there are any.
    ///
    /// # Errors
    /// As [`Machine::func`], and if there are no types from either side, or more than [`DynFunc`] supports.
    ///
    /// ```
    /// use riverrun::{Config, Engine, Linker, Program};
    ///
    /// let engine = Engine::new(&Config::new())?;
    /// let program = Program::new(&engine, riverrun::doc::ADDER)?;
    /// let mut machine = Linker::new(&engine).instantiate(&program, ())?;
    /// let add = machine.dyn_func("add", None)?;
    /// assert_eq!(add.signature().to_string(), "i32 (i32, i32)");
    /// let mut slots = [40, 2];
    /// add.call(&mut machine, &mut slots)?;
    /// assert_eq!(slots[0], 42);
    /// # Ok::<(), riverrun::Error>(())
    /// ```
    pub fn dyn_func(&mut self, name: &str, signature: Option<&Signature>) -> Result<DynFunc, Error> {
        self.set_global_pointer();
        DynFunc::by_name(self.program(), name, signature)
    }

    /// Like [`Machine::func_at`], with types that are known only at run time.
    ///
    /// # Errors
    /// As [`Machine::func_at`], and if there are more types than [`DynFunc`] supports.
    pub fn dyn_func_at(&mut self, address: u64, signature: &Signature) -> Result<DynFunc, Error> {
        self.set_global_pointer();
        DynFunc::at(self.program(), address, signature)
    }

    /// Sets gp as the program's start code would, for programs that have none or have not run yet.
    pub(crate) fn set_global_pointer(&mut self) {
        const GP: u8 = 3;
        if self.x(GP) == 0
            && let Some(address) = self.program().image().symbol("__global_pointer$").map(|symbol| symbol.address)
        {
            self.set_x(GP, address);
        }
    }

    /// The guest's calls, innermost first, as far as they are certain.
    pub fn backtrace(&self) -> Backtrace {
        match self.instance().lost {
            Some(pc) => Backtrace::without_callers(self.program().image(), pc),
            None => Backtrace::at(self.memory(), self.program().image(), self.position()),
        }
    }

    /// The host's own state.
    pub fn data(&self) -> &T {
        &self.instance().data
    }

    /// The host's own state.
    pub fn data_mut(&mut self) -> &mut T {
        &mut self.instance_mut().data
    }

    /// Drops the machine and returns the host's own state.
    pub fn into_data(self) -> T {
        let machine = std::mem::ManuallyDrop::new(self);
        // SAFETY: this is the box of `new`, which the machine does not free any more.
        unsafe { Box::from_raw(machine.instance.as_ptr()) }.data
    }

    /// The guest's memory.
    pub fn memory(&self) -> &Memory {
        // SAFETY: shared, as the window is.
        unsafe { Memory::of(NonNull::from(&self.instance().window)).as_ref() }
    }

    /// The guest's memory.
    pub fn memory_mut(&mut self) -> &mut Memory {
        self.split().1
    }

    /// The host's own state and the guest's memory at once.
    pub fn split(&mut self) -> (&mut T, &mut Memory) {
        let instance = self.instance_mut();
        // SAFETY: borrowed uniquely, as the window is.
        (&mut instance.data, unsafe { Memory::of(NonNull::from(&mut instance.window)).as_mut() })
    }

    /// The guest's heap.
    pub fn heap(&mut self) -> Heap<'_> {
        // The heap records the guest's position.
        // SAFETY: the machine is borrowed uniquely.
        unsafe { Instance::commit(self.instance) };
        let instance = self.instance_mut();
        // SAFETY: as in `split`.
        Heap::new(unsafe { Memory::of(NonNull::from(&mut instance.window)).as_mut() }, &mut instance.heap, None)
    }

    /// The program.
    pub fn program(&self) -> &Program {
        &self.instance().program
    }

    /// The guest's stack; sp starts at its end.
    pub fn stack(&self) -> std::ops::Range<u64> {
        self.instance().stack.clone()
    }

    /// Limits the instructions that the guest may still execute; `None` takes the limit away.
    pub fn set_fuel(&mut self, instructions: Option<u64>) {
        self.instance_mut().fuel = instructions;
        // SAFETY: the machine is borrowed uniquely.
        unsafe { Instance::forget_ready(self.instance) };
    }

    /// The host addresses below the machine's stack for compiled code that no frame may reach, unless its guest waits: for
    /// tests.
    #[doc(hidden)]
    pub fn host_stack_guard(&self) -> Option<std::ops::Range<usize>> {
        self.instance().execution.as_ref().and_then(|compiled| compiled.stack_guard())
    }

    /// The instructions that the guest may still execute.
    pub fn fuel(&self) -> Option<u64> {
        self.instance().fuel
    }

    /// Has the dispatcher suspend the guest at this moment and call the handler of alarms: see
    /// [`Caller::set_alarm`](crate::Caller::set_alarm).
    pub fn set_alarm(&mut self, alarm: Option<Alarm>) {
        // SAFETY: the machine is borrowed uniquely.
        unsafe { Instance::set_alarm(self.instance, alarm) };
    }

    /// Ends every run with [`TrapCause::Deadline`] once this time has come.
    pub fn set_deadline(&mut self, deadline: Option<Instant>) {
        // SAFETY: the machine is borrowed uniquely.
        unsafe { Instance::set_deadline(self.instance, deadline) };
    }

    /// What stops this machine from another thread.
    pub fn interrupt_handle(&self) -> InterruptHandle {
        InterruptHandle(self.instance().interruption.clone())
    }

    /// Instructions that the machine has executed.
    pub fn instructions(&self) -> u64 {
        self.state().instructions()
    }

    /// The address of the next instruction.
    pub fn pc(&self) -> u64 {
        self.position().pc
    }

    /// Makes the guest continue at another address.
    pub fn set_pc(&mut self, pc: u64) {
        self.instance_mut().lost = None;
        self.state_mut().hart.pc = pc;
    }

    crate::registers::accessors!();
}
