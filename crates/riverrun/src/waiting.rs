//! Guests that wait: async host functions, and runs and calls that continue when these are done.
//!
//! A call of an async host function ends the engine's run as a failing one does: the hart is committed at the call, with
//! its arguments, and no host frame holds anything of the guest. [`RunAsync`] and [`CallAsync`] then call the function, own
//! its future, write the result to the hart and continue behind the call. If they are dropped instead, the guest is at the
//! call and makes it again with the next run.
//!
//! Invariant: [`Instance::suspension`] is set only while a `poll` of its owner runs, so it never dangles; the owner borrows
//! the machine, so that nothing else runs the guest while it waits.

use std::any::Any;
use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::pin::Pin;
use std::ptr::NonNull;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use riverrun_program::Signature;
use riverrun_vm::{Import, RETURN_ADDRESS, Results, TrapCause, abandon};

use crate::boundary::convention::{Arguments, Exchange, Parameters, Placement, ResultRegisters, Returned, write_first};
use crate::call::func::Func;
use crate::call::host_call::{Call, lost_arguments};
use crate::call::target::Target;
use crate::caller::Caller;
use crate::dispatch::Ended;
use crate::error::{Error, HostError, LinkError};
use crate::instance::{Instance, KeptLost, Suspended};
use crate::linker::Linker;
use crate::machine::Machine;
use crate::noted_window::NotedWindow;
use crate::own_hart::OwnHart;
use crate::registers::RA;
use crate::registry::{Closure, HostCode};
use crate::run::{Saved, Turn};
use crate::suspension::{Awaited, Poller, Start, Suspension};

/// How long a guest computes, at most, before the executor has its turn.
const TURN: Duration = Duration::from_millis(10);

/// The future of an async host function ([`Linker::func_async`]).
pub type HostFuture<'a, R> = Pin<Box<dyn Future<Output = Result<R, HostError>> + Send + 'a>>;

/// A guest's call, as an async host function sees it: a [`Caller`] that is `Send`. No engine runs while the guest waits, so
/// that it may be used on any thread.
pub struct AsyncCaller<'a, T>(Caller<'a, T>);

// SAFETY: it stands for a unique borrow of the machine, in which no engine runs.
unsafe impl<T: Send> Send for AsyncCaller<'_, T> {}

impl<T> fmt::Debug for AsyncCaller<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<'a, T> Deref for AsyncCaller<'a, T> {
    type Target = Caller<'a, T>;

    fn deref(&self) -> &Caller<'a, T> {
        &self.0
    }
}

impl<'a, T> DerefMut for AsyncCaller<'a, T> {
    fn deref_mut(&mut self) -> &mut Caller<'a, T> {
        &mut self.0
    }
}

const CANNOT_WAIT: &str = "it is async: only a run by `run_async` or a call by `call_async` can wait for it, and no call that \
                           a host function makes";

impl<T: 'static> Linker<T> {
    /// Adds a host function that may wait: it returns a future. While that is not ready, the guest waits, and with it the
    /// future of [`Machine::run_async`] or [`Func::call_async`](crate::Func::call_async), but no thread. In other runs, and
    /// in calls that a host function makes, it fails.
    ///
    /// The future may use its [`AsyncCaller`] at any time. Where a limit ends a run that waits, or its future is dropped,
    /// the function's future is dropped, too; the next run of the guest calls the function again. The guest leaves its engine
    /// for the call, also if the future is ready at once: functions that never wait are faster as [`Linker::func`]s.
    ///
    /// # Errors
    /// As [`Linker::func`].
    ///
    /// ```
    /// use riverrun::{AsyncCaller, Config, Engine, Linker, Program};
    ///
    /// let engine = Engine::new(&Config::new())?;
    /// let mut linker = Linker::new(&engine);
    /// linker.func("Game::add", |a: i32, b: i32| a.wrapping_add(b))?;
    /// linker.func_async("Game::score", |mut caller: AsyncCaller<'_, i32>, (points,): (i32,)| {
    ///     Box::pin(async move {
    ///         std::future::ready(()).await; // a query, a timer, another machine
    ///         *caller.data_mut() += points;
    ///         Ok(*caller.data())
    ///     })
    /// })?;
    /// let program = Program::new(&engine, riverrun::doc::SCORER)?;
    /// let mut machine = linker.instantiate(&program, 40)?;
    /// let play = machine.func::<(i32,), i32>("play")?;
    /// # let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    /// # let std::task::Poll::Ready(score) = std::pin::pin!(async {
    /// let score = play.call_async(&mut machine, (2,)).await?;
    /// # Ok::<i32, riverrun::Error>(score)
    /// # }).as_mut().poll(&mut context) else { panic!("it waits") };
    /// # let score = score?;
    /// assert_eq!(score, 42);
    /// # Ok::<(), riverrun::Error>(())
    /// ```
    pub fn func_async<P, R, F>(&mut self, name: &str, function: F) -> Result<&mut Linker<T>, Error>
    where
        P: Parameters + 'static,
        R: Returned + 'static,
        F: for<'a> Fn(AsyncCaller<'a, T>, P) -> HostFuture<'a, R> + Send + Sync + 'static,
    {
        let environment: Arc<dyn Any + Send + Sync> = Arc::new(function);
        let code = HostCode::without_floats(code::<T, P, R, F>);
        let signature = Signature { result: R::result_type(), parameters: P::types() };
        self.closure(name, Closure { signature, code, environment })
    }
}

/// Notes the call for the owner of the run, and ends that.
unsafe extern "sysv64" fn code<T: 'static, P, R, F>(
    import: *const Import,
    a0: u64,
    a1: u64,
    a2: u64,
    a3: u64,
    a4: u64,
) -> Results
where
    P: Parameters + 'static,
    R: Returned + 'static,
    F: for<'a> Fn(AsyncCaller<'a, T>, P) -> HostFuture<'a, R> + Send + Sync + 'static,
{
    // SAFETY: engines call this with an import of their machine's table, whose context is the machine's instance, and
    // whose environment is the closure. A suspension that is set is alive, and its owner uses it by its address. Nothing in
    // this frame needs cleaning up.
    unsafe {
        let environment = (*import).environment;
        let instance = NonNull::new_unchecked((*import).context.cast::<Instance<T>>());
        let first = [a0, a1, a2, a3, a4];
        match (*instance.as_ptr()).suspension.filter(|_| Instance::depth(instance) == 1) {
            Some(suspension) => {
                let state = (*instance.as_ptr()).state;
                let slots = &mut (*state).hart.slots;
                slots[10..15].copy_from_slice(&first);
                let start: Start = start::<T, P, R, F>;
                (*suspension.as_ptr()).awaited = Some(Awaited { environment, start, poller: None });
                abandon(state)
            }
            None => Call { instance, environment, first }.answer::<false, R>(|_, _| Err(CANNOT_WAIT.into())),
        }
    }
}

/// # Safety
/// The environment is an `F`, and the machine is an `Instance<T>` whose guest waits for it: its window is noted, and both
/// outlive the result.
unsafe fn start<T: 'static, P, R, F>(machine: NonNull<()>, environment: *const ()) -> Result<Poller, HostError>
where
    P: Parameters + 'static,
    R: Returned + 'static,
    F: for<'a> Fn(AsyncCaller<'a, T>, P) -> HostFuture<'a, R> + Send + Sync + 'static,
{
    let instance = machine.cast::<Instance<T>>();
    // SAFETY: the caller says what the pointers are; the future is dropped before the machine is used otherwise.
    let mut future = unsafe {
        let state = &*(*instance.as_ptr()).state;
        let first = [10, 11, 12, 13, 14].map(|slot: usize| state.hart.slots[slot]);
        let mut arguments = Arguments::new(first, state, Instance::engine_memory(instance).as_ref());
        let parameters = P::take(&mut arguments);
        if arguments.is_lost() {
            return Err(lost_arguments());
        }
        let future = (*environment.cast::<F>())(AsyncCaller(Caller::new(Suspended::new(instance))), parameters);
        std::mem::transmute::<HostFuture<'_, R>, HostFuture<'static, R>>(future)
    };
    Ok(Box::new(move |context, state| {
        future.as_mut().poll(context).map_ok(|value| {
            // SAFETY: the guest waits, and its host function is done: nothing else uses the context.
            let slots = unsafe { &mut (*state.as_ptr()).hart.slots };
            let mut registers = ResultRegisters::of(slots);
            value.put(&mut registers);
            [slots[10], slots[11]] = registers.a;
            if R::HAS_FLOATS {
                registers.write_floats(slots);
            }
        })
    }))
}

impl<T> Instance<T> {
    /// Polls the guest: what it waits for, then the guest itself by `go`, until that ends or waits for what is not ready.
    /// `go` returns `None` where the guest waits.
    ///
    /// # Safety
    /// As [`Instance::run`]; the suspension is that of the run which `go` continues.
    unsafe fn poll<R>(
        this: NonNull<Self>,
        suspension: &mut Suspension,
        context: &mut Context<'_>,
        mut go: impl FnMut() -> Result<Option<R>, Error>,
    ) -> Poll<Result<R, Error>> {
        let at = this.as_ptr();
        loop {
            // SAFETY: the caller keeps the instance alive, and lets nothing else use it.
            unsafe {
                if let Some(awaited) = &mut suspension.awaited {
                    (*at).interruption.wake_when_reached(context.waker());
                    // A request that comes from here on wakes.
                    if (*at).interruption.is_reached() {
                        suspension.awaited = None;
                        return Poll::Ready(Err(Self::trap(this, TrapCause::Interrupted, (*(*at).state).hart.pc)));
                    }
                    let result = ready!(awaited.poll(this, context));
                    let environment = awaited.environment;
                    suspension.awaited = None;
                    if let Err(error) = result {
                        return Poll::Ready(Err(Self::failure(this, Some(environment), error)));
                    }
                    (*(*at).state).hart.pc += 4;
                }
                let entered = Entered::new(this, suspension);
                let turn = Turn::new(this, Instant::now().checked_add(TURN));
                let ended = go();
                drop(turn);
                drop(entered);
                if let Some(result) = ended.transpose() {
                    return Poll::Ready(result);
                }
                if suspension.awaited.is_none() {
                    // Its turn is over: others of the executor have theirs.
                    context.waker().wake_by_ref();
                    return Poll::Pending;
                }
            }
        }
    }
}

impl Awaited {
    /// Polls the host function's future, after calling the function if that has not been done yet.
    ///
    /// # Safety
    /// As [`Instance::poll`].
    unsafe fn poll<T>(&mut self, this: NonNull<Instance<T>>, context: &mut Context<'_>) -> Poll<Result<(), HostError>> {
        // SAFETY: `code` has made this for the instance, whose guest waits.
        unsafe {
            let _noted = NotedWindow::of(this);
            let poller = match &mut self.poller {
                Some(poller) => poller,
                none => none.insert((self.start)(this.cast(), self.environment)?),
            };
            poller(context, NonNull::new_unchecked((*this.as_ptr()).state))
        }
    }
}

/// Sets a machine's suspension until it is dropped, also by a panic.
struct Entered<T>(NonNull<Instance<T>>);

impl<T> Entered<T> {
    /// # Safety
    /// Both outlive the result.
    unsafe fn new(this: NonNull<Instance<T>>, suspension: &mut Suspension) -> Entered<T> {
        // SAFETY: the caller keeps the instance alive.
        unsafe { (*this.as_ptr()).suspension = Some(NonNull::from(suspension)) };
        Entered(this)
    }
}

impl<T> Drop for Entered<T> {
    fn drop(&mut self) {
        // SAFETY: `new`'s caller keeps the instance alive.
        unsafe { (*self.0.as_ptr()).suspension = None };
    }
}

/// The future of [`Machine::run_async`].
#[must_use = "futures do nothing unless polled"]
pub struct RunAsync<'a, T> {
    machine: &'a mut Machine<T>,
    suspension: Suspension,
}

impl<T> fmt::Debug for RunAsync<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunAsync").field("waits", &self.suspension.awaited.is_some()).finish_non_exhaustive()
    }
}

impl<T> Future for RunAsync<'_, T> {
    type Output = Result<i32, Error>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<i32, Error>> {
        let RunAsync { machine, suspension } = self.get_mut();
        let instance = machine.instance;
        // SAFETY: the machine is borrowed uniquely, so that no engine runs on it.
        unsafe { Instance::poll(instance, suspension, context, || Instance::run_until_wait(instance)) }
    }
}

impl<T> Machine<T> {
    /// Runs the guest as [`Machine::run`] does, and waits where an async host function
    /// ([`Linker::func_async`]) waits: the future is not ready then, and no thread is blocked. Any executor will do. Guest
    /// code itself runs inside of `poll`, for some 10 ms at a time: then the executor has its turn.
    ///
    /// Deadlines and interruptions hold while the guest waits. A future that is dropped leaves the guest where it is: at the
    /// call of the host function, which the next run makes again.
    ///
    /// # Errors
    /// As [`Machine::run`].
    ///
    /// # Panics
    /// If a host function panics.
    pub fn run_async(&mut self) -> RunAsync<'_, T> {
        RunAsync { machine: self, suspension: Suspension::default() }
    }
}

impl<P: Parameters, R: Returned> Func<P, R> {
    /// Calls it as [`Func::call`] does, and waits where an async host function waits
    /// ([`Linker::func_async`](crate::Linker::func_async)): see [`Machine::run_async`]. If the future is dropped before it is
    /// ready, the call is given up, and the machine is as before.
    ///
    /// # Errors
    /// As [`Func::call`].
    ///
    /// # Panics
    /// If a host function that it calls panics.
    pub fn call_async<'a, T>(&self, machine: &'a mut Machine<T>, parameters: P) -> CallAsync<'a, T, R> {
        CallAsync::new(machine, self.target(), Self::exchange(parameters))
    }
}

/// The future of [`Func::call_async`].
#[must_use = "futures do nothing unless polled"]
pub struct CallAsync<'a, T, R> {
    /// Before the context, because what is awaited ends first.
    suspension: Suspension,
    /// The machine's own context; `None` once it is restored.
    begun: Option<Begun<T>>,
    /// Why the call could not begin.
    error: Option<Error>,
    machine: &'a mut Machine<T>,
    result: PhantomData<fn() -> R>,
}

struct Begun<T> {
    own_hart: OwnHart<T>,
    _saved: Saved,
    lost: KeptLost,
    /// What was [`Instance::is_suspended`].
    was_suspended: bool,
}

// SAFETY: what has begun refers to parts of the machine, which moves along.
unsafe impl<T: Send> Send for Begun<T> {}

impl<T, R> fmt::Debug for CallAsync<'_, T, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallAsync").field("waits", &self.suspension.awaited.is_some()).finish_non_exhaustive()
    }
}

impl<'a, T, R> CallAsync<'a, T, R> {
    /// Begins a call: the guest is at the function's beginning.
    fn new<E: Exchange>(machine: &'a mut Machine<T>, target: &Target, exchange: E) -> CallAsync<'a, T, R> {
        let instance = machine.instance;
        let mut call =
            CallAsync { suspension: Suspension::default(), begun: None, error: None, machine, result: PhantomData };
        let at = instance.as_ptr();
        // SAFETY: the machine is borrowed uniquely until the call is dropped, and no engine runs on it.
        unsafe {
            if (*at).code_id != target.code {
                call.error = Some(LinkError::OtherProgram { address: target.address }.into());
                return call;
            }
            Instance::forget_ready(instance);
            let state = (*at).state;
            let saved = Saved::of(Instance::window(instance));
            let lost = KeptLost::of(&raw mut (*at).lost);
            // Calls that a host function makes while the guest waits keep its registers.
            let was_suspended = std::mem::replace(&mut (*at).is_suspended, true);
            let own_hart = OwnHart::of(instance);
            call.begun = Some(Begun { own_hart, _saved: saved, lost, was_suspended });
            let mut placement = Placement::new(&mut (*state).hart.slots);
            exchange.place(&mut placement);
            let placed = placement.into_placed();
            write_first(placed.first, placed.integers, &mut (*state).hart.slots);
            call.error = Instance::push(instance, &placed.stack).err();
            (*state).hart.set_x(RA, RETURN_ADDRESS);
            (*state).hart.pc = target.address;
        }
        call
    }

    /// Ends the call: restores the machine's own context.
    fn end(&mut self) {
        self.suspension.awaited = None;
        if let Some(begun) = self.begun.take() {
            let instance = self.machine.instance;
            // SAFETY: the machine is borrowed uniquely, and no engine runs on it.
            unsafe {
                Instance::forget_ready(instance);
                (*instance.as_ptr()).is_suspended = begun.was_suspended;
                // Suspended frames in compiled code are the call's.
                (*instance.as_ptr()).execution.iter_mut().for_each(|engine| engine.forget());
                begun.lost.unless(begun.own_hart.is_away());
            }
        }
    }
}

impl<T, R> Drop for CallAsync<'_, T, R> {
    fn drop(&mut self) {
        self.end();
    }
}

impl<T, R: Returned> Future for CallAsync<'_, T, R> {
    type Output = Result<R, Error>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<R, Error>> {
        let call = self.get_mut();
        if let Some(error) = call.error.take() {
            call.end();
            return Poll::Ready(Err(error));
        }
        assert!(call.begun.is_some(), "a call that is done is not polled again");
        let instance = call.machine.instance;
        let at = instance.as_ptr();
        let go = || {
            // SAFETY: the machine is borrowed uniquely, so that no engine runs on it.
            unsafe {
                let ended = Instance::run_call(instance, (*at).fuel);
                (*at).fuel = Instance::fuel_left(instance);
                match ended? {
                    Ended::Waits | Ended::Cut => Ok(None),
                    Ended::Returned => Ok(Some(R::take(&ResultRegisters::of(&(*(*at).state).hart.slots)))),
                    Ended::Exited(status) => Err(Error::Exited { status }),
                }
            }
        };
        // SAFETY: as in `go`.
        let polled = unsafe { Instance::poll(instance, &mut call.suspension, context, go) };
        if polled.is_ready() {
            call.end();
        }
        polled
    }
}
