//! Linkers: the host functions that guests can call.

use std::fmt;
use std::sync::Arc;

use riverrun_program::Signature;
use riverrun_vm::{SIGNAL_RETURN_ADDRESS, TrapCause};

use crate::caller::Caller;
use crate::engine::Engine;
use crate::error::{Error, HostError};
use crate::flow::Flow;
use crate::heap::HeapOptions;
use crate::host::function::IntoHostFunction;
use crate::host::{dynamic, heap, own};
use crate::instance::{EcallHandler, HartHandler, TrapHandler};
use crate::registry::{Closure, Registry};

/// The host functions that guests can call. One linker serves any number of machines and threads.
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
    pub(crate) alarm: Option<Arc<EcallHandler<T>>>,
    pub(crate) trap: Option<Arc<TrapHandler<T>>>,
    pub(crate) harts: Option<Arc<HartHandler<T>>>,
    pub(crate) registry: Arc<Registry>,
    pub(crate) heap: HeapOptions,
}

impl<T> Clone for Linker<T> {
    fn clone(&self) -> Linker<T> {
        let (engine, ecall, alarm) = (self.engine.clone(), self.ecall.clone(), self.alarm.clone());
        let (trap, harts) = (self.trap.clone(), self.harts.clone());
        let (registry, heap) = (self.registry.clone(), self.heap.clone());
        Linker { engine, ecall, alarm, trap, harts, registry, heap }
    }
}

impl<T> fmt::Debug for Linker<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Linker").finish_non_exhaustive()
    }
}

/// The numbers of Linux's calls by which a guest without a libc ends.
const EXIT: u64 = 93;
const EXIT_GROUP: u64 = 94;

impl<T> Linker<T> {
    /// A linker with no functions: every call to the host is an error, but for Linux's `exit` and
    /// `exit_group`, `riverrun::panic`, by which a guest gives up and says why
    /// ([`GuestPanic`](crate::GuestPanic)), and `riverrun::strlen`.
    pub fn new(engine: &Engine) -> Linker<T> {
        let none = |caller: Caller<'_, T>| -> Result<Flow, HostError> {
            if caller.pc() == SIGNAL_RETURN_ADDRESS {
                return Ok(Flow::Trap(TrapCause::FetchFault { address: SIGNAL_RETURN_ADDRESS }));
            }
            match caller.x(17) {
                EXIT | EXIT_GROUP => Ok(Flow::Exit(caller.x(10) as i32)),
                number => Err(format!(
                    "the guest makes system call {number}, but the linker has none; programs with a libc need Linux's: \
                     riverrun_linux::add_to_linker, and riverrun_linux::start, in C riverrun_linker_add_linux"
                )
                .into()),
            }
        };
        Linker {
            engine: engine.clone(),
            ecall: Arc::new(move |suspended| none(Caller::new(suspended))),
            alarm: None,
            trap: None,
            harts: None,
            registry: Arc::new(Registry::new(own::functions::<T>())),
            heap: HeapOptions::new(),
        }
    }

    /// Adds a host function: a closure that takes [`Parameter`](crate::Parameter)s, with a [`Caller`] in
    /// front of them or not, and returns a [`HostResult`](crate::HostResult). Guests know it by its name.
    ///
    /// Arguments and results are in the guest's registers by the RISC-V calling convention. If it returns an error, the
    /// guest's run ends with [`Error::Host`]. If it panics, the run ends and the panic resumes in the caller of the run. The
    /// machine stays usable in both cases.
    ///
    /// # Errors
    /// [`Error::Link`] if there is a function of this name or of the same hash.
    ///
    /// ```
    /// use riverrun::{Caller, Config, Engine, Linker, Program};
    ///
    /// let engine = Engine::new(&Config::new())?;
    /// let mut linker = Linker::new(&engine);
    /// linker.func("Game::add", |a: i32, b: i32| a.wrapping_add(b))?;
    /// linker.func("Game::score", |mut caller: Caller<'_, i32>, points: i32| {
    ///     let score = caller.data().checked_add(points).ok_or("the score is too high")?;
    ///     *caller.data_mut() = score;
    ///     Ok::<i32, &str>(score)
    /// })?;
    /// let program = Program::new(&engine, riverrun::doc::SCORER)?;
    /// let mut machine = linker.instantiate(&program, 40)?;
    /// let play = machine.func::<(i32,), i32>("play")?;
    /// assert_eq!(play.call(&mut machine, (2,))?, 42);
    /// assert_eq!(*machine.data(), 42);
    /// assert!(play.call(&mut machine, (i32::MAX,)).unwrap_err().to_string().contains("the score is too high"));
    /// # Ok::<(), riverrun::Error>(())
    /// ```
    pub fn func<M>(&mut self, name: &str, function: impl IntoHostFunction<T, M>) -> Result<&mut Linker<T>, Error> {
        self.closure(name, function.into_closure::<true>())
    }

    /// Adds a registered host function.
    pub(crate) fn closure(&mut self, name: &str, closure: Closure) -> Result<&mut Linker<T>, Error> {
        Arc::make_mut(&mut self.registry).add(name, closure)?;
        Ok(self)
    }

    /// Adds a system call.
    pub(crate) fn numbered_closure(&mut self, number: u32, closure: Closure) -> Result<&mut Linker<T>, Error> {
        Arc::make_mut(&mut self.registry).add_numbered(number, closure)?;
        Ok(self)
    }

    /// Adds a system call: a host function that guests call by `ecall` with this number in a7. It comes
    /// before the handler that [`Linker::ecall`] sets, and is faster.
    ///
    /// # Errors
    /// [`Error::Link`] if there is one of this number, or no system call can have it.
    ///
    /// ```
    /// use riverrun::{Config, Engine, Linker};
    ///
    /// let engine = Engine::new(&Config::new())?;
    /// let mut linker: Linker<()> = Linker::new(&engine);
    /// linker.syscall(500, |x: f64| x.sqrt())?;
    /// assert!(linker.syscall(500, || {}).is_err());
    /// # Ok::<(), riverrun::Error>(())
    /// ```
    pub fn syscall<M>(&mut self, number: u32, function: impl IntoHostFunction<T, M>) -> Result<&mut Linker<T>, Error> {
        self.numbered_closure(number, function.into_closure::<true>())
    }

    /// Adds a host function whose types are known at run time only. It gets its arguments in 64-bit slots, as
    /// guest registers hold them, and leaves its results in the first ones ([`crate::GuestValue`]).
    ///
    /// # Errors
    /// As [`Linker::func`], and if the types are more than 16 parameters that are no structures, and a result
    /// that is none or of two fields.
    ///
    /// ```
    /// use riverrun::{Config, Engine, Linker, Program};
    ///
    /// let engine = Engine::new(&Config::new())?;
    /// let mut linker = Linker::new(&engine);
    /// for name in ["Game::add", "Game::score"] {
    ///     let types = Program::new(&engine, riverrun::doc::SCORER)?;
    ///     let types = types.imports().iter().find(|import| import.name == name).unwrap();
    ///     linker.dyn_func(name, types.signature.as_ref().unwrap(), |_, slots| {
    ///         slots[0] += 1;
    ///         Ok(())
    ///     })?;
    /// }
    /// let mut machine = linker.instantiate(&Program::new(&engine, riverrun::doc::SCORER)?, ())?;
    /// let play = machine.func::<(i32,), i32>("play")?;
    /// assert_eq!(play.call(&mut machine, (40,))?, 42);
    /// # Ok::<(), riverrun::Error>(())
    /// ```
    pub fn dyn_func<F>(&mut self, name: &str, signature: &Signature, function: F) -> Result<&mut Linker<T>, Error>
    where
        T: 'static,
        F: Fn(Caller<'_, T>, &mut [u64]) -> Result<(), HostError> + Send + Sync + 'static,
    {
        self.closure(name, dynamic::closure(signature, function)?)
    }

    /// Adds a system call whose types are known at run time only: see [`Linker::syscall`].
    ///
    /// # Errors
    /// As [`Linker::syscall`] and [`Linker::dyn_func`].
    pub fn dyn_syscall<F>(&mut self, number: u32, signature: &Signature, function: F) -> Result<&mut Linker<T>, Error>
    where
        T: 'static,
        F: Fn(Caller<'_, T>, &mut [u64]) -> Result<(), HostError> + Send + Sync + 'static,
    {
        self.numbered_closure(number, dynamic::closure(signature, function)?)
    }

    /// Lets guests use the guest heap ([`crate::Heap`]): adds the functions of the guest's header `riverrun/heap.h`, which
    /// allocate, free, copy and fill memory.
    ///
    /// A guest that frees what it has not allocated, or frees a block twice, fails with a
    /// [`HeapError`](crate::HeapError); if the heap is full, it gets a null pointer.
    ///
    /// # Errors
    /// [`Error::Link`] if the linker has a heap already.
    ///
    /// ```
    /// use riverrun::{Config, Engine, HeapOptions, Linker};
    ///
    /// let engine = Engine::new(&Config::new())?;
    /// let mut linker: Linker<()> = Linker::new(&engine);
    /// linker.heap(HeapOptions::new().limit(16 << 20))?;
    /// # Ok::<(), riverrun::Error>(())
    /// ```
    pub fn heap(&mut self, options: &HeapOptions) -> Result<&mut Linker<T>, Error>
    where
        T: 'static,
    {
        for (name, closure) in heap::functions::<T>() {
            self.closure(name, closure)?;
        }
        self.heap = options.clone();
        Ok(self)
    }

    /// Sets the handler of `ecall`. Arguments and results are in registers, by convention the
    /// call's number in x17 (a7), arguments in x10 to x16 (a0 to a6), the result in x10.
    ///
    /// The handler is also called when the guest jumps to [`SIGNAL_RETURN_ADDRESS`](crate::SIGNAL_RETURN_ADDRESS), which is
    /// then the pc: it is the return address that a personality gives to signal handlers.
    pub fn ecall(&mut self, handler: impl Fn(Caller<'_, T>) -> Result<Flow, HostError> + Send + Sync + 'static) {
        self.ecall = Arc::new(move |suspended| handler(Caller::new(suspended)));
    }

    /// Sets the handler of alarms, which [`Caller::set_alarm`] sets. It is called between any two instructions of the guest,
    /// with the pc at the second one, and the alarm is over then. It may change the registers as it likes.
    ///
    /// ```
    /// use riverrun::{Alarm, Caller, Config, Engine, Flow, Linker, Program};
    ///
    /// let engine = Engine::new(&Config::new())?;
    /// let mut linker = Linker::<u64>::new(&engine);
    /// linker.alarm(|mut caller: Caller<'_, u64>| {
    ///     *caller.data_mut() = caller.instructions();
    ///     caller.set_x(10, 7);
    ///     Ok(Flow::Continue)
    /// });
    /// let program = Program::new(&engine, riverrun::doc::TINY)?;
    /// let mut machine = linker.instantiate(&program, 0)?;
    /// // Behind the first instruction, `li a0, 42`.
    /// machine.set_alarm(Some(Alarm::Executed(1)));
    /// assert_eq!((machine.run()?, *machine.data()), (7, 1));
    /// # Ok::<(), riverrun::Error>(())
    /// ```
    pub fn alarm(&mut self, handler: impl Fn(Caller<'_, T>) -> Result<Flow, HostError> + Send + Sync + 'static) {
        self.alarm = Some(Arc::new(move |suspended| handler(Caller::new(suspended))));
    }

    /// Sets the handler of traps: of what the guest does wrong by itself, such as accesses to unmapped memory, illegal
    /// instructions and `ebreak`. It gets the cause; the pc and all registers are as before the instruction that could not
    /// complete. [`Flow::Trap`] with the cause lets the run end as it does without a handler. [`Flow::Jump`] and
    /// [`Flow::Continue`] let the guest go on; then the trap counts as an instruction, so that fuel bounds a guest that only
    /// traps.
    ///
    /// Limits are no traps of the guest: the handler is not called at the end of fuel, at a deadline or an interruption. Nor
    /// is it called where compiled code has lost the registers at a fault, as it does unless it is
    /// [precise](crate::Fidelity::Precise); and such code may leave out a load whose value is not used. At
    /// other traps of such code, registers that the guest does not read any more may have older values.
    ///
    /// ```
    /// use riverrun::{Caller, Config, Engine, Flow, Linker, Program, TrapCause};
    ///
    /// let engine = Engine::new(&Config::new())?;
    /// let mut linker = Linker::<u64>::new(&engine);
    /// // Calls of null pointers go to a function that the host names.
    /// linker.trap(|caller: Caller<'_, u64>, cause| match cause {
    ///     TrapCause::FetchFault { address: 0 } => Ok(Flow::Jump(*caller.data())),
    ///     cause => Ok(Flow::Trap(cause)),
    /// });
    /// let program = Program::new(&engine, riverrun::doc::TINY)?;
    /// let mut machine = linker.instantiate(&program, program.image().entry())?;
    /// machine.set_pc(0);
    /// assert_eq!(machine.run()?, 42);
    /// machine.set_pc(8);
    /// assert_eq!(machine.run().unwrap_err().trap().unwrap().cause, TrapCause::FetchFault { address: 8 });
    /// # Ok::<(), riverrun::Error>(())
    /// ```
    pub fn trap(
        &mut self,
        handler: impl Fn(Caller<'_, T>, TrapCause) -> Result<Flow, HostError> + Send + Sync + 'static,
    ) {
        self.trap = Some(Arc::new(move |suspended, cause| handler(Caller::new(suspended), cause)));
    }

    /// Sets the handler of calls that are given up while another hart than the one that began them is in the machine
    /// ([`Caller::swap_hart`]), by a trap, a limit, or a failing host function. It must exchange the machine's hart with the
    /// one that [began the call](crate::Hart::began_call). Without that, the other one is lost.
    pub fn harts(&mut self, handler: impl Fn(Caller<'_, T>) + Send + Sync + 'static) {
        self.harts = Some(Arc::new(move |suspended| handler(Caller::new(suspended))));
    }
}
