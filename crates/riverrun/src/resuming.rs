//! Runs and calls that wait: futures which poll what the guest waits for, and then continue the guest.
//!
//! A [`Suspension`] is what such a run has beside its machine. Async host functions ([`crate::waiting`]) end the
//! engine's run and note themselves there; [`Instance::poll`] then calls the function, owns its future, writes the
//! result to the hart and continues behind the call. If the run is dropped instead, the guest is at the call and makes
//! it again with the next run.
//!
//! Invariant: [`Instance::suspension`] is set only while a `poll` of its owner runs, so it never dangles; the owner borrows
//! the machine, so that nothing else runs the guest while it waits.

use std::fmt;
use std::marker::PhantomData;
use std::pin::Pin;
use std::ptr::NonNull;
use std::task::{Context, Poll, ready};

use riverrun_vm::{RETURN_ADDRESS, TrapCause, clock};

use crate::boundary::convention::{Exchange, Parameters, Placement, ResultRegisters, Returned, write_first};
use crate::call::dyn_func::{DynFunc, ResultType};
use crate::call::func::Func;
use crate::call::target::Target;
use crate::dispatch::Ended;
use crate::error::{Error, HostError, LinkError};
use crate::instance::{Instance, KeptLost};
use crate::machine::Machine;
use crate::noted_window::NotedWindow;
use crate::own_hart::OwnHart;
use crate::registers::RA;
use crate::run::{Saved, Turn};
use crate::suspension::{Awaited, Suspension, Wakes};

/// Nanoseconds that a guest computes, at most, before the executor has its turn.
const TURN: u64 = 10_000_000;

impl<T> Instance<T> {
    /// Polls the guest: what it waits for, then the guest itself by `go`, until that ends or waits for what is not ready.
    /// `go` returns `None` where the guest waits.
    ///
    /// # Safety
    /// As [`Instance::run`]; the suspension is that of the run which `go` continues.
    pub(crate) unsafe fn poll<R>(
        this: NonNull<Self>,
        suspension: &mut Suspension,
        context: &mut Context<'_>,
        mut go: impl FnMut() -> Result<Option<R>, Error>,
    ) -> Poll<Result<R, Error>> {
        let at = this.as_ptr();
        let turn_end = Some(clock::coarse_now() + TURN);
        loop {
            // SAFETY: the caller keeps the instance alive, and lets nothing else use it.
            unsafe {
                if let Some(awaited) = &mut suspension.awaited {
                    let Poll::Ready(result) = awaited.poll(this, context) else {
                        let interruption = &awaited.wakes.get_or_insert_with(|| Wakes((*at).interruption.clone())).0;
                        interruption.wake_when_reached(context.waker());
                        // A request that comes from here on wakes.
                        if interruption.is_reached() {
                            let error = Self::trap(this, TrapCause::Interrupted, (*(*at).state).hart.pc);
                            // Dropping it may call the guest, whose run would take the request for its own.
                            suspension.awaited = None;
                            return Poll::Ready(Err(error));
                        }
                        Self::rest_engine(this);
                        return Poll::Pending;
                    };
                    let environment = awaited.environment;
                    suspension.awaited = None;
                    if let Err(error) = result {
                        return Poll::Ready(Err(Self::function_failure(this, environment, error)));
                    }
                    (*(*at).state).hart.pc = (*(*at).state).hart.pc.wrapping_add(4);
                }
                let entered = Entered::new(this, suspension);
                let turn = Turn::new(this, turn_end);
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
    /// ([`Linker::func_async`](crate::Linker::func_async)) waits: the future is not ready then, and no thread is
    /// blocked. Any executor will do. Guest code itself runs inside of `poll`, for some 10 ms at a time: then the
    /// executor has its turn. A waker must not block: the thread that all limits of time of the process depend on wakes
    /// it where one ends a guest that waits.
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
    /// ([`Linker::func_async`](crate::Linker::func_async)): see [`Machine::run_async`]. If the future is dropped before
    /// it is ready, the call is given up, and the machine is as before.
    ///
    /// # Errors
    /// As [`Func::call`].
    ///
    /// # Panics
    /// If a host function that it calls panics.
    pub fn call_async<'a, T>(&self, machine: &'a mut Machine<T>, parameters: P) -> CallAsync<'a, T, R> {
        // SAFETY: the machine is borrowed uniquely until the call is dropped.
        let call = unsafe { Call::new(machine.instance, self.target(), Self::exchange(parameters)) };
        CallAsync { call, machine: PhantomData, result: PhantomData }
    }
}

/// The future of [`Func::call_async`].
#[must_use = "futures do nothing unless polled"]
pub struct CallAsync<'a, T, R> {
    call: Call<T>,
    machine: PhantomData<&'a mut Machine<T>>,
    result: PhantomData<fn() -> R>,
}

impl<T, R> fmt::Debug for CallAsync<'_, T, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallAsync").field("waits", &self.call.waits()).finish_non_exhaustive()
    }
}

impl<T, R: Returned> Future for CallAsync<'_, T, R> {
    type Output = Result<R, Error>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<R, Error>> {
        // SAFETY: the machine is borrowed uniquely.
        unsafe { self.call.poll(context, R::take) }
    }
}

impl DynFunc {
    /// Calls it as [`DynFunc::call`] does, and waits where an async host function waits: see [`Func::call_async`]. `slots`
    /// holds the arguments, and once the future is ready the results in the first places.
    ///
    /// # Errors
    /// As [`DynFunc::call`].
    ///
    /// # Panics
    /// As [`DynFunc::call`].
    pub fn call_async<'a, T>(&self, machine: &'a mut Machine<T>, slots: &'a mut [u64]) -> DynCallAsync<'a, T> {
        let exchange = self.exchange(slots);
        // SAFETY: as in `Func::call_async`.
        let call = unsafe { Call::new(machine.instance, &self.target, exchange) };
        DynCallAsync { call, result: self.result(), slots, machine: PhantomData }
    }
}

/// The future of [`DynFunc::call_async`].
#[must_use = "futures do nothing unless polled"]
pub struct DynCallAsync<'a, T> {
    call: Call<T>,
    result: ResultType,
    slots: &'a mut [u64],
    machine: PhantomData<&'a mut Machine<T>>,
}

impl<T> fmt::Debug for DynCallAsync<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DynCallAsync").field("waits", &self.call.waits()).finish_non_exhaustive()
    }
}

impl<T> Future for DynCallAsync<'_, T> {
    type Output = Result<(), Error>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<(), Error>> {
        let DynCallAsync { call, result, slots, .. } = self.get_mut();
        // SAFETY: the machine is borrowed uniquely.
        let values = ready!(unsafe { call.poll(context, |registers| result.take(registers)) });
        Poll::Ready(
            values.map(|values| slots.iter_mut().zip(values).take(result.count()).for_each(|(to, of)| *to = of)),
        )
    }
}

/// A call that can wait: the guest is in it, and the machine's own context is here. When it ends or is dropped, the machine
/// is as before.
pub(crate) struct Call<T> {
    /// Before the context, because what is awaited ends first.
    suspension: Suspension,
    /// The machine's own context; `None` once it is restored.
    begun: Option<Begun<T>>,
    /// Why the call could not begin.
    error: Option<Error>,
    instance: NonNull<Instance<T>>,
}

// SAFETY: it is a unique borrow of its machine.
unsafe impl<T: Send> Send for Call<T> {}

struct Begun<T> {
    own_hart: OwnHart<T>,
    _saved: Saved,
    lost: KeptLost,
    /// What was [`Instance::is_suspended`].
    was_suspended: bool,
}

impl<T> Call<T> {
    /// Begins a call: the guest is at the function's beginning.
    ///
    /// # Safety
    /// The instance is alive until the call is dropped, no engine runs on it, and until then nothing but this call runs the
    /// guest or changes its position.
    pub(crate) unsafe fn new<E: Exchange>(instance: NonNull<Instance<T>>, target: &Target, exchange: E) -> Call<T> {
        let mut call = Call { suspension: Suspension::default(), begun: None, error: None, instance };
        let at = instance.as_ptr();
        // SAFETY: as the caller promises.
        unsafe {
            if (*at).code_id != target.code {
                call.error = Some(LinkError::OtherProgram { address: target.address }.into());
                return call;
            }
            Instance::forget_ready(instance);
            let state = (*at).state;
            let saved = Saved::of(Instance::window(instance), false, Instance::kept(instance));
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

    pub(crate) fn waits(&self) -> bool {
        self.suspension.awaited.is_some()
    }

    /// Ends the call: restores the machine's own context.
    fn end(&mut self) {
        self.suspension.awaited = None;
        if let Some(begun) = self.begun.take() {
            let instance = self.instance;
            // SAFETY: `new`'s caller keeps the instance alive, and no engine runs.
            unsafe {
                Instance::forget_ready(instance);
                (*instance.as_ptr()).is_suspended = begun.was_suspended;
                // Suspended frames in compiled code are the call's.
                (*instance.as_ptr()).execution.iter_mut().for_each(|engine| engine.forget());
                begun.lost.unless(begun.own_hart.is_away());
            }
        }
    }

    /// Polls what the guest waits for, and continues it; `take` reads the results of the function.
    ///
    /// # Panics
    /// If the call is over.
    ///
    /// # Safety
    /// No engine runs on the instance, and nothing of it is borrowed.
    pub(crate) unsafe fn poll<R>(
        &mut self,
        context: &mut Context<'_>,
        take: impl Fn(&ResultRegisters) -> R,
    ) -> Poll<Result<R, Error>> {
        if let Some(error) = self.error.take() {
            self.end();
            return Poll::Ready(Err(error));
        }
        assert!(self.begun.is_some(), "a call that is done is not polled again");
        let instance = self.instance;
        let at = instance.as_ptr();
        let go = || {
            // SAFETY: as the caller promises.
            unsafe {
                match Instance::run_call(instance, (*at).fuel)? {
                    Ended::Waits | Ended::Cut => Ok(None),
                    Ended::Returned => Ok(Some(take(&ResultRegisters::of(&(*(*at).state).hart.slots)))),
                    Ended::Exited(status) => Err(Error::Exited { status }),
                }
            }
        };
        // SAFETY: as the caller promises.
        let polled = unsafe { Instance::poll(instance, &mut self.suspension, context, go) };
        if polled.is_ready() {
            self.end();
        }
        polled
    }
}

impl<T> Drop for Call<T> {
    fn drop(&mut self) {
        self.end();
    }
}
