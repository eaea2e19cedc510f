//! What a guest may ask of its host.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use riverrun_state::TrapCause;

use crate::engine::Engine;
use crate::error::{Error, HostError};
use crate::machine::Machine;
use crate::memory::Memory;
use crate::program::Program;

/// How a guest's run goes on after a call to the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// Behind the `ecall`.
    Continue,
    /// At this address.
    Jump(u64),
    /// Not at all: the guest has ended with this status.
    Exit(i32),
    /// Not at all: the guest traps here.
    Trap(TrapCause),
}

pub(crate) type EcallHandler<T> = dyn Fn(Caller<'_, T>) -> Result<Flow, HostError> + Send + Sync;

/// The host functions that guests get. One linker serves any number of machines and threads.
///
/// ```
/// use riverrun::{Config, Engine, Flow, Linker, Program};
///
/// let engine = Engine::new(&Config::new())?;
/// let mut linker = Linker::new(&engine);
/// // Call number 93 of Linux: exit.
/// linker.ecall(|caller: riverrun::Caller<'_, ()>| match caller.x(17) {
///     93 => Ok(Flow::Exit(caller.x(10) as i32)),
///     number => Err(format!("no such call: {number}").into()),
/// });
/// let program = Program::new(&engine, riverrun::doc::TINY)?;
/// let mut machine = linker.instantiate(&program, ())?;
/// assert_eq!(machine.run()?, 42);
/// # Ok::<(), riverrun::Error>(())
/// ```
pub struct Linker<T> {
    pub(crate) engine: Engine,
    pub(crate) ecall: Arc<EcallHandler<T>>,
}

impl<T> fmt::Debug for Linker<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Linker").finish_non_exhaustive()
    }
}

impl<T> Linker<T> {
    /// A linker with no functions: every call to the host is an error.
    pub fn new(engine: &Engine) -> Linker<T> {
        let none = |caller: Caller<'_, T>| -> Result<Flow, HostError> {
            Err(format!("the guest makes system call {}, but the linker has none", caller.x(17)).into())
        };
        Linker { engine: engine.clone(), ecall: Arc::new(none) }
    }

    /// Sets what handles `ecall`. Arguments and results are in registers, by convention the
    /// call's number in x17 (a7), arguments in x10 to x16 (a0 to a6), the result in x10.
    pub fn ecall(&mut self, handler: impl Fn(Caller<'_, T>) -> Result<Flow, HostError> + Send + Sync + 'static) {
        self.ecall = Arc::new(handler);
    }

    /// A machine that has the program loaded and stands before its first instruction, with the
    /// stack mapped and sp at its top.
    ///
    /// # Errors
    /// If the host has no memory or address space left, or the program needs more than the
    /// configured limit.
    pub fn instantiate(&self, program: &Program, data: T) -> Result<Machine<T>, Error> {
        Machine::new(self, program, data)
    }
}

/// A guest's call, as a host function sees it.
#[derive(Debug)]
pub struct Caller<'a, T> {
    pub(crate) memory: &'a mut Memory,
    pub(crate) data: &'a mut T,
    pub(crate) program: &'a Program,
    pub(crate) deadline: Option<Instant>,
    pub(crate) interrupted: &'a AtomicBool,
}

impl<'a, T> Caller<'a, T> {
    /// The host's own state.
    pub fn data(&self) -> &T {
        self.data
    }

    /// The host's own state.
    pub fn data_mut(&mut self) -> &mut T {
        self.data
    }

    /// The guest's memory.
    pub fn memory(&self) -> &Memory {
        self.memory
    }

    /// The guest's memory.
    pub fn memory_mut(&mut self) -> &mut Memory {
        self.memory
    }

    /// The host's own state and the guest's memory at once.
    pub fn split(&mut self) -> (&mut T, &mut Memory) {
        (self.data, self.memory)
    }

    /// The program that is running.
    pub fn program(&self) -> &Program {
        self.program
    }

    /// When the guest's time is up: functions that block must not block longer.
    pub fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    /// Becomes true when another thread interrupts the machine: functions that block must look at
    /// it every few milliseconds, and end with [`TrapCause::Interrupted`].
    pub fn interrupted(&self) -> &'a AtomicBool {
        self.interrupted
    }

    crate::registers::accessors!();

    /// The address of the `ecall`.
    pub fn pc(&self) -> u64 {
        self.memory.window.state().pc
    }

    /// Instructions that the machine has executed, the call included.
    pub fn instructions(&self) -> u64 {
        self.memory.window.state().instret
    }
}
