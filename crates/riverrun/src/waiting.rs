//! Async host functions: those for which a guest waits.
//!
//! A call of one ends the engine's run as a failing one does: the hart is committed at the call, with its arguments, and no
//! host frame holds anything of the guest. What the call begins is noted in the run's [`Suspension`], whose owner
//! ([`crate::resuming`]) makes the function's future, polls it, and continues the guest behind the call.

use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::pin::Pin;
use std::ptr::NonNull;
use std::sync::Arc;

use riverrun_program::Signature;
use riverrun_vm::{Bound, Import, REGISTER_ARGUMENTS, Results, VmContext, abandon};

use crate::boundary::convention::{Arguments, Parameters, ResultRegisters, Returned};
use crate::call::dyn_func::Types;
use crate::call::host_call::{Call, lost_arguments};
use crate::caller::Caller;
use crate::error::{Error, HostError};
use crate::instance::{Instance, Suspended};
use crate::linker::Linker;
use crate::registry::{Closure, HostCode};
use crate::suspension::{Awaited, Poller, Start};

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
    /// future of [`Machine::run_async`](crate::Machine::run_async) or [`Func::call_async`](crate::Func::call_async), but no
    /// thread. In other runs, and in calls that a host function makes, it fails.
    ///
    /// The future may use its [`AsyncCaller`] at any time. Where a limit ends a run that waits, or its future is dropped,
    /// the function's future is dropped, too; the next run of the guest calls the function again. The guest exits its
    /// engine for the call, also if the future is ready at once: functions that never wait are faster as
    /// [`Linker::func`]s.
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
        let signature = Signature { result: R::result_type(), parameters: P::types() };
        self.add_async(name, signature, Typed { function, types: PhantomData::<fn(P) -> R> })
    }

    /// As [`Linker::func_async`], with types that are known only at run time. The function gets its arguments in 64-bit
    /// slots, as guest registers hold them, and its results are as many of the two values of its future as `signature`
    /// has.
    ///
    /// # Errors
    /// As [`Linker::dyn_func`].
    ///
    /// ```
    /// use riverrun::{Config, Engine, GuestValue, Linker, Program};
    ///
    /// let engine = Engine::new(&Config::new())?;
    /// let mut linker = Linker::<i32>::new(&engine);
    /// linker.func("Game::add", |a: i32, b: i32| a.wrapping_add(b))?;
    /// linker.dyn_func_async("Game::score", &"i32 (i32)".parse()?, |mut caller, slots| {
    ///     let points = i32::from_bits(slots[0]);
    ///     Box::pin(async move {
    ///         *caller.data_mut() += points;
    ///         Ok([caller.data().to_bits(), 0])
    ///     })
    /// })?;
    /// let mut machine = linker.instantiate(&Program::new(&engine, riverrun::doc::SCORER)?, 40)?;
    /// let play = machine.dyn_func("play", None)?;
    /// let mut slots = [2];
    /// # let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    /// # let std::task::Poll::Ready(called) = std::pin::pin!(async {
    /// play.call_async(&mut machine, &mut slots).await?;
    /// # Ok::<(), riverrun::Error>(())
    /// # }).as_mut().poll(&mut context) else { panic!("it waits") };
    /// # called?;
    /// assert_eq!(slots[0], 42);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn dyn_func_async<F>(&mut self, name: &str, signature: &Signature, function: F) -> Result<&mut Linker<T>, Error>
    where
        F: for<'a> Fn(AsyncCaller<'a, T>, &[u64]) -> HostFuture<'a, [u64; 2]> + Send + Sync + 'static,
    {
        let types = Types::of(signature)?;
        self.add_async(name, signature.clone(), Dynamic { types, function })
    }

    fn add_async<H: AsyncHost<T>>(
        &mut self,
        name: &str,
        signature: Signature,
        host: H,
    ) -> Result<&mut Linker<T>, Error> {
        let integers = signature.registers().integers.min(REGISTER_ARGUMENTS);
        let code = HostCode::without_floats(code::<T, H>);
        self.closure(name, Closure { signature, code, environment: Arc::new(Environment { integers, host }) })
    }
}

/// An async host function, whose types are known when it is compiled or when it is added to a linker.
trait AsyncHost<T>: Send + Sync + 'static {
    /// Calls it.
    ///
    /// # Safety
    /// The guest of this instance waits for it: its window is noted, and it and this outlive the result.
    unsafe fn begin(&self, instance: NonNull<Instance<T>>) -> Result<Poller, HostError>;
}

struct Typed<P, R, F> {
    function: F,
    types: PhantomData<fn(P) -> R>,
}

struct Dynamic<F> {
    types: Types,
    function: F,
}

/// What a linker has of it.
#[repr(C)]
struct Environment<H> {
    /// How many of a0 to a4 hold arguments. It comes first, as [`given`] reads it whatever the function is.
    integers: usize,
    host: H,
}

unsafe extern "sysv64" fn code<T: 'static, H: AsyncHost<T>>(
    import: *const Import,
    a0: u64,
    a1: u64,
    a2: u64,
    a3: u64,
    a4: u64,
) -> Results {
    // SAFETY: engines call this with an import of their machine's table, whose environment was made for this code.
    unsafe { wait::<T>(import, [a0, a1, a2, a3, a4], start::<T, H>) }
}

/// Notes the call for the owner of the run, and ends that.
///
/// # Safety
/// An engine has called the host function of this import, of an `Instance<T>`; `start` is for its environment. Nothing
/// between the engine and this has to be cleaned up.
unsafe fn wait<T>(import: *const Import, first: [u64; 5], start: Start) -> Results {
    // SAFETY: the import's context is the machine's instance. A suspension that is set is alive, and its owner uses it
    // by its address. Nothing in this frame needs cleaning up.
    unsafe {
        let environment = (*import).environment;
        let instance = NonNull::new_unchecked((*import).context.cast::<Instance<T>>());
        match (*instance.as_ptr()).suspension.filter(|_| Instance::depth(instance) == 1) {
            Some(suspension) => {
                let state = (*instance.as_ptr()).state;
                let given = given(instance, import);
                (&mut (*state).hart.slots)[10..][..given].copy_from_slice(&first[..given]);
                (*suspension.as_ptr()).awaited = Some(Awaited { environment, start, poller: None, wakes: None });
                abandon(state)
            }
            None => Call { instance, environment, first }.answer::<false, ()>(|_, _| Err(CANNOT_WAIT.into())),
        }
    }
}

/// How many of a0 to a4 an engine has given in a call of this import: those that hold arguments, where it knows their types,
/// and else all. The others are in the hart, and what was given in their places is anything.
///
/// # Safety
/// The import is one of this instance's, which is alive, of a function in this file.
unsafe fn given<T>(instance: NonNull<Instance<T>>, import: *const Import) -> usize {
    // SAFETY: as the caller promises; all of it is only shared while the machine runs, and environments begin so.
    let (bound, wanted, integers) = unsafe {
        let at = instance.as_ptr();
        (&(*at).imports, (*at).program.imports(), *(*import).environment.cast::<usize>())
    };
    let index = import.addr().wrapping_sub(bound.as_ptr().addr()) / size_of::<Bound>();
    let place = wanted.binary_search_by_key(&index, |import| import.index as usize);
    let knows_types = place.is_ok_and(|place| wanted[place].signature.is_some());
    if knows_types { integers } else { REGISTER_ARGUMENTS }
}

/// Calls the function once the guest waits.
///
/// # Safety
/// The environment is an `Environment<H>`; the machine is as of [`AsyncHost::begin`].
unsafe fn start<T, H: AsyncHost<T>>(machine: NonNull<()>, environment: *const ()) -> Result<Poller, HostError> {
    // SAFETY: as the caller promises.
    unsafe { (*environment.cast::<Environment<H>>()).host.begin(machine.cast()) }
}

impl<T, P, R, F> AsyncHost<T> for Typed<P, R, F>
where
    T: 'static,
    P: Parameters + 'static,
    R: Returned + 'static,
    F: for<'a> Fn(AsyncCaller<'a, T>, P) -> HostFuture<'a, R> + Send + Sync + 'static,
{
    unsafe fn begin(&self, instance: NonNull<Instance<T>>) -> Result<Poller, HostError> {
        // SAFETY: the caller says that the instance is alive; the future is dropped before the machine is used otherwise.
        let mut future = unsafe {
            let (caller, parameters) = called(instance, P::take)?;
            std::mem::transmute::<HostFuture<'_, R>, HostFuture<'static, R>>((self.function)(caller, parameters))
        };
        Ok(Box::new(move |context, state| {
            // SAFETY: the guest waits, and its host function is done: nothing else uses the context.
            future.as_mut().poll(context).map_ok(|value| unsafe { finish(state, R::HAS_FLOATS, |to| value.put(to)) })
        }))
    }
}

impl<T, F> AsyncHost<T> for Dynamic<F>
where
    T: 'static,
    F: for<'a> Fn(AsyncCaller<'a, T>, &[u64]) -> HostFuture<'a, [u64; 2]> + Send + Sync + 'static,
{
    unsafe fn begin(&self, instance: NonNull<Instance<T>>) -> Result<Poller, HostError> {
        let Dynamic { types, function } = self;
        let result = types.result;
        // SAFETY: as in `Typed`.
        let mut future = unsafe {
            let (caller, slots) = called(instance, |arguments| types.take(arguments))?;
            let future = function(caller, &slots[..types.parameters.len()]);
            std::mem::transmute::<HostFuture<'_, [u64; 2]>, HostFuture<'static, [u64; 2]>>(future)
        };
        Ok(Box::new(move |context, state| {
            // SAFETY: as in `Typed`.
            future.as_mut().poll(context).map_ok(|values| unsafe { finish(state, true, |to| result.put(values, to)) })
        }))
    }
}

/// The guest's call and its arguments.
///
/// # Safety
/// As [`AsyncHost::begin`].
unsafe fn called<'a, T, A>(
    instance: NonNull<Instance<T>>,
    take: impl FnOnce(&mut Arguments<'_>) -> A,
) -> Result<(AsyncCaller<'a, T>, A), HostError> {
    // SAFETY: as the caller promises.
    unsafe {
        let state = &*(*instance.as_ptr()).state;
        let first = [10, 11, 12, 13, 14].map(|slot: usize| state.hart.slots[slot]);
        let mut arguments = Arguments::new(first, state, Instance::engine_memory(instance).as_ref());
        let taken = take(&mut arguments);
        match arguments.is_lost() {
            true => Err(lost_arguments()),
            false => Ok((AsyncCaller(Caller::new(Suspended::new(instance))), taken)),
        }
    }
}

/// Writes results to the registers.
///
/// # Safety
/// The context is alive, and nothing else uses it.
unsafe fn finish(mut state: NonNull<VmContext>, has_floats: bool, put: impl FnOnce(&mut ResultRegisters)) {
    // SAFETY: as the caller promises.
    let slots = unsafe { &mut state.as_mut().hart.slots };
    let mut registers = ResultRegisters::of(slots);
    put(&mut registers);
    [slots[10], slots[11]] = registers.a;
    if has_floats {
        registers.write_floats(slots);
    }
}
