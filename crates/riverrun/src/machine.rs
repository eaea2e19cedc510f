//! A machine: one guest with its memory, registers, limits, and the host's own state.

use std::sync::Arc;
use std::time::Instant;

use riverrun_interp::{Limits, Stop};
use riverrun_native::Execution;
use riverrun_program::{FrameDescription as Frame, Image};
use riverrun_state::{Interruption, MAX_ADDRESS, PAGE_SIZE, Perm, TrapCause, Window};

use crate::backtrace;
use crate::error::{Error, Trap};
use crate::linker::{Caller, EcallHandler, Flow, Linker};
use crate::memory::Memory;
use crate::program::Program;

/// One past the last address of a guest's stack.
const STACK_TOP: u64 = MAX_ADDRESS - GUARD;
/// Bytes below and above the stack that are never mapped by the host.
const GUARD: u64 = 1 << 20;

/// A guest, alone in its memory, with the host's own state `T`.
pub struct Machine<T> {
    memory: Memory,
    data: T,
    program: Program,
    ecall: Arc<EcallHandler<T>>,
    compiled: Option<Execution>,
    fuel: Option<u64>,
    deadline: Option<Instant>,
    interruption: Arc<Interruption>,
    /// Why the run cannot go on, if it cannot: the pc where registers were lost.
    lost: Option<u64>,
    stack: std::ops::Range<u64>,
}

impl<T: std::fmt::Debug> std::fmt::Debug for Machine<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Machine").field("program", &self.program).field("data", &self.data).finish_non_exhaustive()
    }
}

/// Stops a machine from another thread; see [`Machine::interrupt_handle`].
#[derive(Clone, Debug)]
pub struct InterruptHandle(Arc<Interruption>);

impl InterruptHandle {
    /// Makes the machine's present run, or its next one, end with [`TrapCause::Interrupted`]
    /// within a few milliseconds.
    pub fn interrupt(&self) {
        self.0.request();
    }
}

impl<T> Machine<T> {
    pub(crate) fn new(linker: &Linker<T>, program: &Program, data: T) -> Result<Machine<T>, Error> {
        let config = &linker.engine.config;
        let no_space = |source| Error::Resource { what: "address space for a machine", source };
        let mut window = Window::new(config.memory_limit).map_err(no_space)?;
        window.map_image(program.memory())?;
        let stack = STACK_TOP - config.stack_size.next_multiple_of(PAGE_SIZE)..STACK_TOP;
        window.map(stack.start, stack.end - stack.start, Perm::READ | Perm::WRITE)?;
        let state = window.state_mut();
        state.pc = program.image().entry();
        state.set_x(2, stack.end);
        let compiled = program.artifact().map(|artifact| Execution::new(artifact.clone())).transpose();
        let compiled = compiled.map_err(|source| Error::Resource { what: "memory for a stack", source })?;
        Ok(Machine {
            compiled,
            memory: Memory { window },
            data,
            program: program.clone(),
            ecall: linker.ecall.clone(),
            fuel: None,
            deadline: None,
            interruption: Arc::default(),
            lost: None,
            stack,
        })
    }

    /// Runs the guest from where it stands until it exits, and gives its exit status.
    ///
    /// # Errors
    /// [`Error::Trap`] where the guest traps, runs out of fuel or of time: its registers and
    /// memory are as the trap found them, and a further `run` goes on there (after more fuel or
    /// time, for example). [`Error::Host`] where a host function fails. [`Error::Lost`] where the last
    /// run was stopped in the midst of compiled code that cannot be gone on with: code that counts no
    /// fuel has no exact registers where its time runs out, nor has code that is not precise where an
    /// access faults. Memory can be looked at, and [`Machine::set_pc`] begins anew.
    pub fn run(&mut self) -> Result<i32, Error> {
        if let Some(pc) = self.lost {
            return Err(Error::Lost { pc });
        }
        loop {
            let limits = Limits { fuel: self.fuel.as_mut(), interruption: &self.interruption };
            let single_step = self.program.engine().config.single_step;
            match self.program.code().run(&mut self.memory.window, limits, single_step, self.compiled.as_mut()) {
                Stop::Trap(trap) => return Err(self.trap(trap.cause, trap.pc)),
                Stop::Lost(trap) => {
                    self.lost = Some(trap.pc);
                    return Err(self.trap(trap.cause, trap.pc));
                }
                Stop::Import(index) => return Err(self.trap(TrapCause::UnboundImport { index }, self.pc())),
                Stop::Ecall => match self.ecall()? {
                    Flow::Continue | Flow::Jump(_) => {}
                    Flow::Exit(status) => return Ok(status),
                    Flow::Trap(cause) => return Err(self.trap(cause, self.pc())),
                },
            }
        }
    }

    /// Hands an `ecall` to the host; the pc goes on behind it, or where the host says, once the host
    /// has answered.
    fn ecall(&mut self) -> Result<Flow, Error> {
        let caller = Caller {
            memory: &mut self.memory,
            data: &mut self.data,
            program: &self.program,
            deadline: self.deadline,
            interrupted: self.interruption.requested(),
        };
        let flow = (self.ecall)(caller).map_err(Error::Host)?;
        match flow {
            Flow::Continue => self.memory.window.state_mut().pc += 4,
            Flow::Jump(pc) => self.memory.window.state_mut().pc = pc,
            Flow::Exit(_) | Flow::Trap(_) => {}
        }
        Ok(flow)
    }

    fn trap(&self, cause: TrapCause, pc: u64) -> Error {
        self.interruption.withdraw();
        let below_stack = self.stack.start - GUARD..self.stack.start;
        let cause = match cause {
            TrapCause::LoadFault { address } | TrapCause::StoreFault { address } if below_stack.contains(&address) => {
                TrapCause::StackOverflow { address }
            }
            cause => cause,
        };
        let backtrace = match cause {
            TrapCause::OutOfFuel | TrapCause::Interrupted => Vec::new(),
            _ => self.backtrace(),
        };
        Error::Trap(Box::new(Trap { cause, pc, backtrace }))
    }

    /// The guest's calls, innermost first, as far as symbols and unwind tables tell.
    pub fn backtrace(&self) -> Vec<Frame> {
        backtrace::frames(&self.memory, self.image())
    }

    fn image(&self) -> &Image {
        self.program.image()
    }

    /// The host's own state.
    pub fn data(&self) -> &T {
        &self.data
    }

    /// The host's own state.
    pub fn data_mut(&mut self) -> &mut T {
        &mut self.data
    }

    /// The host's own state, the machine given up.
    pub fn into_data(self) -> T {
        self.data
    }

    /// The guest's memory.
    pub fn memory(&self) -> &Memory {
        &self.memory
    }

    /// The guest's memory.
    pub fn memory_mut(&mut self) -> &mut Memory {
        &mut self.memory
    }

    /// The program.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// The guest's stack; sp starts at its end.
    pub fn stack(&self) -> std::ops::Range<u64> {
        self.stack.clone()
    }

    /// Limits the instructions that the guest may still execute; `None` takes the limit away.
    pub fn set_fuel(&mut self, instructions: Option<u64>) {
        self.fuel = instructions;
    }

    /// The instructions that the guest may still execute.
    pub fn fuel(&self) -> Option<u64> {
        self.fuel
    }

    /// Ends every run with [`TrapCause::Interrupted`] once this time has come.
    pub fn set_deadline(&mut self, deadline: Option<Instant>) {
        self.deadline = deadline;
        self.interruption.set_deadline(deadline);
    }

    /// What stops this machine from another thread.
    pub fn interrupt_handle(&self) -> InterruptHandle {
        InterruptHandle(self.interruption.clone())
    }

    /// Instructions that the machine has executed.
    pub fn instructions(&self) -> u64 {
        self.memory.window.state().instret
    }

    /// The address of the next instruction.
    pub fn pc(&self) -> u64 {
        self.memory.window.state().pc
    }

    /// Goes on elsewhere.
    pub fn set_pc(&mut self, pc: u64) {
        self.lost = None;
        self.memory.window.state_mut().pc = pc;
    }

    crate::registers::accessors!();
}
