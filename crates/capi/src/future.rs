//! Runs and calls that wait for host functions.
//!
//! Invariant: a machine has one future at most, and knows it (its `Host`): what a future would not survive is refused
//! or gives the future up.

use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::task::{Context, Poll, Wake, Waker};

use riverrun::Scalar;
use riverrun::raw::RawFuture;

use crate::arguments::{Out, Result, array, array_mut, given, misuse};
use crate::call::check_float_environment;
use crate::error::{Returned, delete, guard};
use crate::func::{Func, PARAMETERS_MAX};
use crate::host_data::{Host, OwnFuture, Waits};
use crate::machine::{Machine, idle};
use crate::owned::{Destructor, Owned};
use crate::value::{Value, counted};

/// A run or a call that can wait for host functions (`riverrun_linker_func_async`). A machine has one at a time; while
/// it has, it cannot be run otherwise, saved or reset, but functions can be called, and memory and heap be used.
#[derive(Debug)]
pub struct Future(Arc<Active>);

/// What is polled, with its machine; `None` once it is over.
type Raw = Option<(RawFuture<Host>, Machine)>;

/// A future, as its handle and its machine share it: host functions may delete the handle while it is polled.
struct Active {
    /// Locked while it is polled; `None` once it is over.
    raw: Mutex<Raw>,
    /// Whether the handle was deleted.
    is_deleted: AtomicBool,
    results: Box<[Scalar]>,
    /// The results, once it is ready.
    values: Mutex<Option<[u64; 2]>>,
    waker: Mutex<Option<Waker>>,
}

// SAFETY: the header demands that one thread at a time uses a machine, and its future with it; the rest may be used by any.
unsafe impl Send for Active {}
// SAFETY: likewise.
unsafe impl Sync for Active {}

impl std::fmt::Debug for Active {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Active").field("results", &self.results).finish_non_exhaustive()
    }
}

impl Waits for Active {
    fn is_polled(&self) -> bool {
        matches!(self.raw.try_lock(), Err(TryLockError::WouldBlock))
    }

    fn is_over(&self) -> bool {
        self.raw().is_some_and(|raw| raw.is_none())
    }

    fn give_up(&self) {
        let raw = self.raw().and_then(|mut raw| raw.take());
        drop(raw);
    }
}

impl Active {
    /// Locks it, unless it is being polled.
    fn raw(&self) -> Option<MutexGuard<'_, Raw>> {
        match self.raw.try_lock() {
            Ok(raw) => Some(raw),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// Polls it; returns whether it is ready.
    fn poll(&self) -> Result<bool> {
        let mut raw = self.raw().ok_or_else(|| misuse("the future is being polled"))?;
        let Some((future, machine)) = raw.as_mut() else {
            return Err(misuse("the future is over: it is done, has failed or was given up"));
        };
        let _in_use = machine.begin()?;
        // SAFETY: as below.
        if unsafe { machine.0.is_running() } {
            return Err(misuse("the machine is running: a host function cannot poll a future of its machine"));
        }
        check_float_environment()?;
        let waker = self.waker.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let mut context = Context::from_waker(waker.as_ref().unwrap_or(Waker::noop()));
        // SAFETY: the machine is alive, because it gives its future up when it is freed, and it is not running.
        let polled = unsafe { future.poll(&mut context) };
        if polled.is_ready() || self.is_deleted.load(Ordering::Relaxed) {
            *raw = None;
        }
        match polled {
            Poll::Pending => Ok(false),
            Poll::Ready(values) => {
                *self.values.lock().unwrap_or_else(PoisonError::into_inner) = Some(values?);
                Ok(true)
            }
        }
    }
}

impl Future {
    fn new(raw: RawFuture<Host>, machine: Machine, results: Box<[Scalar]>) -> Box<Future> {
        let active = Arc::new(Active {
            raw: Mutex::new(Some((raw, machine))),
            is_deleted: AtomicBool::new(false),
            results,
            values: Mutex::new(None),
            waker: Mutex::new(None),
        });
        // SAFETY: `idle` has found the machine alive and used by this thread alone.
        unsafe { machine.0.data().future = OwnFuture(Some(active.clone())) };
        Box::new(Future(active))
    }
}

impl Drop for Future {
    fn drop(&mut self) {
        self.0.is_deleted.store(true, Ordering::Relaxed);
        self.0.give_up();
        // The machine keeps the rest.
        let waker = self.0.waker.lock().unwrap_or_else(PoisonError::into_inner).take();
        drop(waker);
    }
}

/// Begins a run that can wait, from the guest's pc until it exits. Nothing is executed before `riverrun_future_poll`. The
/// result of the future is the exit status, an i32.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn riverrun_machine_run_async(
    machine: Option<Machine>,
    future: Out<'_, Box<Future>>,
) -> Returned {
    guard(|| {
        let future = given(future, "future")?;
        idle(machine, |_| Ok(()))?;
        let machine = given(machine, "machine")?;
        // SAFETY: the machine is idle; it gives the future up before it is used in a way that this would not survive.
        let raw = unsafe { machine.0.run_async() };
        future.write(Future::new(raw, machine, [Scalar::I32].into()));
        Ok(())
    })
}

/// Begins a call that can wait, with values of the function's types. Nothing is executed before `riverrun_future_poll`. The
/// results of the future are the function's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn riverrun_func_call_async(
    func: Option<&Func>,
    machine: Option<Machine>,
    arguments: *const Value,
    arguments_len: usize,
    future: Out<'_, Box<Future>>,
) -> Returned {
    guard(|| {
        let (func, future) = (given(func, "func")?, given(future, "future")?);
        let arguments = array(arguments, arguments_len, "arguments")?;
        let parameters = func.func().parameters();
        counted("arguments", arguments.len(), parameters.len())?;
        let mut slots = [0; PARAMETERS_MAX];
        for (index, (&scalar, value)) in parameters.iter().zip(arguments).enumerate() {
            slots[index] = value.raw(scalar, "argument", index)?;
        }
        idle(machine, |_| Ok(()))?;
        let machine = given(machine, "machine")?;
        // SAFETY: as in `riverrun_machine_run_async`.
        let raw = unsafe { machine.0.call_async(func.func(), &mut slots) };
        future.write(Future::new(raw, machine, func.results.clone()));
        Ok(())
    })
}

/// Runs the guest until it is done or waits for a host function; gives the executor its turn every 10 ms besides.
/// `is_ready` receives whether it is done: then `riverrun_future_results` has its results. Otherwise the waker is
/// called when there is more to do, perhaps before this returns. On an error the future is over, and the machine as
/// after another call or run.
///
/// It uses the machine: one thread at a time may, not always the same.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn riverrun_future_poll(future: Option<&Future>, is_ready: Out<'_, bool>) -> Returned {
    guard(|| {
        let (future, is_ready) = (given(future, "future")?, given(is_ready, "is_ready")?);
        let active = future.0.clone();
        is_ready.write(active.poll()?);
        Ok(())
    })
}

/// The results of a future that is ready: as many as the function has, or the exit status of a run.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn riverrun_future_results(
    future: Option<&Future>,
    results: *mut Value,
    results_len: usize,
) -> Returned {
    guard(|| {
        let future = given(future, "future")?;
        let results = array_mut(results, results_len, "results")?;
        let Active { values, results: scalars, .. } = &*future.0;
        let values = *values.lock().unwrap_or_else(PoisonError::into_inner);
        let values = values.ok_or_else(|| misuse("the future is not ready"))?;
        counted("results", results.len(), scalars.len())?;
        for (result, (&scalar, &slot)) in results.iter_mut().zip(scalars.iter().zip(&values)) {
            *result = Value::from_slot(scalar, slot);
        }
        Ok(())
    })
}

/// Tells an executor that a future is to be polled. Any thread may call it, also within other functions of this header, and
/// more often than needed: it must not wait, nor poll the future or use its machine.
pub type WakeFunc = unsafe extern "C" fn(data: *mut c_void);

/// A waker of the host's.
struct HostWaker {
    wake: WakeFunc,
    owned: Owned,
}

impl Wake for HostWaker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        // SAFETY: the header demands that threads may call it until the data is freed.
        unsafe { (self.wake)(self.owned.data) };
    }
}

/// Sets what is called when the future is to be polled again, from the next `riverrun_future_poll` on: when the host
/// function has answered, a limit ends the run, or its turn is over. It must not block: the thread that all limits of time
/// of the process depend on calls it, too. `destructor`, which may be NULL, frees the data when no thread calls the waker
/// any more, which may be after the future is deleted.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn riverrun_future_set_waker(
    future: Option<&Future>,
    wake: Option<WakeFunc>,
    data: *mut c_void,
    destructor: Option<Destructor>,
) -> Returned {
    let owned = Owned::new(data, destructor);
    guard(|| {
        let (future, wake) = (given(future, "future")?, given(wake, "wake")?);
        let waker = Waker::from(Arc::new(HostWaker { wake, owned }));
        let before = future.0.waker.lock().unwrap_or_else(PoisonError::into_inner).replace(waker);
        drop(before);
        Ok(())
    })
}

/// Frees the future, on the thread that uses its machine. If it is not over, it is given up: a call has not happened,
/// but for its effects, and a run has stopped where it waits. The machine can be used as before.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn riverrun_future_delete(future: Option<Box<Future>>) {
    delete(future);
}
