//! A guest's call of a host function: arguments from where the RISC-V calling convention puts them, results where it
//! expects them. An error or a panic of the function ends the run; no frame of an engine is unwound.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::NonNull;

use riverrun_vm::{GuestFloats, Results, abandon};

use crate::boundary::convention::{Arguments, ResultRegisters, Returned};
use crate::error::HostError;
use crate::instance::{Instance, Pending};

/// A guest's call of a host function.
pub(crate) struct Call<T> {
    pub(crate) instance: NonNull<Instance<T>>,
    pub(crate) environment: *const (),
    pub(crate) first: [u64; 5],
}

impl<T> Call<T> {
    /// Runs `body` and returns its results, or ends the run with its error; in the host's float environment, if `GUARDED`.
    ///
    /// # Safety
    /// An engine has called the host function that this is the body of, of the instance's machine, and
    /// the caller returns at once what this returns.
    #[inline(always)]
    pub(crate) unsafe fn answer<const GUARDED: bool, R: Returned>(
        self,
        body: impl FnOnce(NonNull<Instance<T>>, &mut Arguments<'_>) -> Result<R, HostError>,
    ) -> Results {
        // SAFETY: as the caller promises.
        unsafe { self.answer_with::<GUARDED, _>(R::HAS_FLOATS, body, R::put) }
    }

    /// The same with results that `put` hands over, in float registers too if it `has_floats`.
    ///
    /// # Safety
    /// As [`Call::answer`].
    #[inline(always)]
    pub(crate) unsafe fn answer_with<const GUARDED: bool, V>(
        self,
        has_floats: bool,
        body: impl FnOnce(NonNull<Instance<T>>, &mut Arguments<'_>) -> Result<V, HostError>,
        put: impl FnOnce(V, &mut ResultRegisters),
    ) -> Results {
        let Call { instance, environment, first } = self;
        // Converting a result to registers may run the host's code, too, and panic.
        let body = |instance: NonNull<Instance<T>>, arguments: &mut Arguments<'_>| {
            let value = body(instance, arguments)?;
            // SAFETY: while a host function runs, its engine does not use the state.
            let slots = unsafe { &mut (*(*instance.as_ptr()).state).hart.slots };
            let mut registers = ResultRegisters::new([first[0], first[1]], slots);
            put(value, &mut registers);
            if has_floats {
                registers.write_floats(slots);
            }
            Ok(Results { a0: registers.a[0], a1: registers.a[1] })
        };
        // SAFETY: as the caller promises.
        let outcome = unsafe {
            match GUARDED {
                true => self.run_guarded(body),
                false => self.run(body),
            }
        };
        match outcome {
            Ok(results) => results,
            // SAFETY: as the caller promises; nothing is left in this frame.
            Err(pending) => unsafe { give_up(instance, environment, pending) },
        }
    }

    /// # Safety
    /// As [`Call::answer`].
    #[inline(always)]
    unsafe fn run<R>(
        &self,
        body: impl FnOnce(NonNull<Instance<T>>, &mut Arguments<'_>) -> Result<R, HostError>,
    ) -> Result<R, Pending> {
        let Call { instance, first, .. } = *self;
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            // SAFETY: the instance is alive; while a host function runs, its engine uses neither the
            // state nor the memory. `arguments` are read before the closure runs.
            let mut arguments = unsafe {
                let state = (*instance.as_ptr()).state;
                Arguments::new(first, &*state, Instance::engine_memory(instance).as_ref())
            };
            body(instance, &mut arguments)
        }));
        match outcome {
            Ok(Ok(value)) => Ok(value),
            Ok(Err(error)) => Err(Pending::Error(error)),
            Err(panic) => Err(Pending::Panic(panic)),
        }
    }

    /// Runs `body` in the host's float environment.
    ///
    /// # Safety
    /// As [`Call::answer`].
    #[inline(never)]
    unsafe fn run_guarded<R>(
        &self,
        body: impl FnOnce(NonNull<Instance<T>>, &mut Arguments<'_>) -> Result<R, HostError>,
    ) -> Result<R, Pending> {
        let guest = GuestFloats::set_aside();
        // SAFETY: as the caller promises.
        let outcome = unsafe { self.run_apart(body) };
        // SAFETY: the engine goes on, or exits, which puts the host's environment back.
        unsafe { guest.put_back() };
        outcome
    }

    /// [`Call::run`], a function of its own: so the compiler moves no float operation out of it.
    ///
    /// # Safety
    /// As [`Call::answer`].
    #[inline(never)]
    unsafe fn run_apart<R>(
        &self,
        body: impl FnOnce(NonNull<Instance<T>>, &mut Arguments<'_>) -> Result<R, HostError>,
    ) -> Result<R, Pending> {
        // SAFETY: as the caller promises.
        unsafe { self.run(body) }
    }
}

/// Ends the guest's run.
///
/// # Safety
/// As [`Call::answer`]; no frame between the engine and this one has anything to clean up.
#[cold]
#[inline(never)]
pub(crate) unsafe fn give_up<T>(instance: NonNull<Instance<T>>, environment: *const (), pending: Pending) -> ! {
    // SAFETY: as the caller promises.
    unsafe {
        (*instance.as_ptr()).pending = Some((pending, environment));
        abandon((*instance.as_ptr()).state)
    }
}

/// Why the arguments of a call could not be read.
#[cold]
pub(crate) fn lost_arguments() -> HostError {
    "its arguments were to be on the guest's stack, which cannot be read".into()
}
