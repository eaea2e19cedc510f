//! Runs and calls that wait, of machines by their addresses.

use std::fmt;
use std::ptr::NonNull;
use std::task::{Context, Poll};

use crate::call::dyn_func::{DynFunc, ResultType};
use crate::error::Error;
use crate::instance::Instance;
use crate::raw::RawMachine;
use crate::resuming::Call;
use crate::suspension::Suspension;

/// What [`Machine::run_async`](crate::Machine::run_async) or [`DynFunc::call_async`] gives, without a borrow of the machine.
pub struct RawFuture<T> {
    instance: NonNull<Instance<T>>,
    kind: Kind<T>,
}

enum Kind<T> {
    Run(Suspension),
    Call(Box<Call<T>>, ResultType),
}

// SAFETY: it stands for a unique borrow of its machine.
unsafe impl<T: Send> Send for RawFuture<T> {}

impl<T> fmt::Debug for RawFuture<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RawFuture({:p})", self.instance)
    }
}

impl<T> RawMachine<T> {
    /// A run that can wait: see [`Machine::run_async`](crate::Machine::run_async).
    ///
    /// # Safety
    /// The machine is alive until the future is dropped. Until then nothing but it runs the guest or changes its position;
    /// functions may be called.
    pub unsafe fn run_async(self) -> RawFuture<T> {
        RawFuture { instance: self.0, kind: Kind::Run(Suspension::default()) }
    }

    /// A call that can wait, with these arguments: see [`DynFunc::call_async`].
    ///
    /// # Panics
    /// If there are fewer slots than [`DynFunc::slots`] says.
    ///
    /// # Safety
    /// As [`RawMachine::run_async`]; the machine is not running.
    pub unsafe fn call_async(self, func: &DynFunc, slots: &mut [u64]) -> RawFuture<T> {
        // SAFETY: as the caller promises.
        let call = unsafe { Call::new(self.0, &func.target, func.exchange(slots)) };
        RawFuture { instance: self.0, kind: Kind::Call(Box::new(call), func.result()) }
    }
}

impl<T> RawFuture<T> {
    /// Polls what the guest waits for, and continues it. Gives the function's results; of a run, the exit status.
    ///
    /// # Errors
    /// As the call or run.
    ///
    /// # Panics
    /// If a host function panics, and if the call is over.
    ///
    /// # Safety
    /// The machine is not running, and nothing of it is borrowed.
    pub unsafe fn poll(&mut self, context: &mut Context<'_>) -> Poll<Result<[u64; 2], Error>> {
        let instance = self.instance;
        // SAFETY: as the caller promises.
        unsafe {
            match &mut self.kind {
                Kind::Run(suspension) => {
                    let status = Instance::poll(instance, suspension, context, || Instance::run_until_wait(instance));
                    status.map_ok(|status| [i64::from(status) as u64, 0])
                }
                Kind::Call(call, result) => call.poll(context, |registers| result.take(registers)),
            }
        }
    }
}
