//! Host functions: closures, and the code that the Rust compiler generates for engines to call them.
//!
//! That code takes arguments from where the RISC-V calling convention puts them, calls the closure, and returns its results
//! in the same way. An error or a panic of the closure ends the run; no frame of an engine is unwound.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::NonNull;
use std::sync::Arc;

use riverrun_program::Signature;
use riverrun_vm::{GuestFloats, HostFunction, Import, Results, abandon};

use crate::call::convention::{Arguments, Parameter, ResultRegisters, Returned};
use crate::call::func::Parameters;
use crate::caller::Caller;
use crate::error::HostError;
use crate::instance::{Instance, Pending};

/// The code of a host function, in two versions. Which one engines call is decided when a machine is made.
#[derive(Clone, Copy, Debug)]
pub struct HostCode {
    /// For guests that cannot observe the float environment in which it runs.
    pub plain: HostFunction,
    /// For others: it uses floats in the host's environment ([`crate::raw::with_host_floats`]).
    pub guarded: HostFunction,
    /// Whether the function's environment begins with a [`SlotFunction`](crate::raw::SlotFunction) that is equivalent to `plain`.
    /// Such a function has at most five parameters and one result, all in integer registers.
    pub takes_slots: bool,
}

impl HostCode {
    /// Code that uses no floats.
    pub fn without_floats(code: HostFunction) -> HostCode {
        HostCode::new(code, code)
    }

    /// Code for guests that cannot observe the float environment, and code for others.
    pub fn new(plain: HostFunction, guarded: HostFunction) -> HostCode {
        HostCode { plain, guarded, takes_slots: false }
    }

    /// Whether the two versions differ.
    pub(crate) fn uses_floats(&self) -> bool {
        !std::ptr::fn_addr_eq(self.plain, self.guarded)
    }

    /// The version that engines call.
    pub(crate) fn of(&self, guards_floats: bool) -> HostFunction {
        if guards_floats { self.guarded } else { self.plain }
    }
}

/// A host function as stored in a linker.
pub(crate) struct Closure {
    pub(crate) signature: Signature,
    pub(crate) code: HostCode,
    pub(crate) environment: Arc<dyn Any + Send + Sync>,
}

/// The return type of a host function: a type that guests receive, or a `Result` of it, whose error ends the guest's run.
pub trait HostResult {
    /// The type that the guest receives.
    type Value: Returned;

    /// The value, or why the run ends.
    #[doc(hidden)]
    fn into_result(self) -> Result<Self::Value, HostError>;
}

impl<R: Returned> HostResult for R {
    type Value = R;

    #[inline(always)]
    fn into_result(self) -> Result<R, HostError> {
        Ok(self)
    }
}

impl<R: Returned, E: Into<HostError>> HostResult for Result<R, E> {
    type Value = R;

    #[inline(always)]
    fn into_result(self) -> Result<R, HostError> {
        self.map_err(Into::into)
    }
}

/// Closures that guests can call: `Fn(A, B, ..) -> R` or `Fn(Caller<'_, T>, A, B, ..) -> R`, of up to 16
/// [`Parameter`]s and any [`HostResult`]. `Marker` is for the compiler to find.
pub trait IntoHostFunction<T, Marker>: Send + Sync + 'static {
    /// Converts the closure to the linker's form. `FLOATS` may be false only if the closure executes no float operation, not
    /// even in a function that it calls; then it is faster in programs that read accrued float exceptions.
    #[doc(hidden)]
    #[allow(private_interfaces)]
    fn into_closure<const FLOATS: bool>(self) -> Closure;
}

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
        // SAFETY: the engine goes on, or is left, which puts the host's environment back.
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

macro_rules! host_functions {
    ($($parameter:ident)*) => {
        host_functions! { @one [] [] $($parameter)* }
        host_functions! { @one [Caller<'_, T>,] [Caller<'static, T>,] $($parameter)* }
    };
    (@one [$($caller:ty,)?] [$($marker:ty,)?] $($parameter:ident)*) => {
        #[allow(non_snake_case, unused_variables, unused_mut)]
        impl<T: 'static, F, R, $($parameter),*> IntoHostFunction<T, (R, $($marker,)? $($parameter,)*)> for F
        where
            F: Fn($($caller,)? $($parameter),*) -> R + Send + Sync + 'static,
            R: HostResult,
            $($parameter: Parameter,)*
        {
            #[allow(private_interfaces)]
            fn into_closure<const FLOATS: bool>(self) -> Closure {
                unsafe extern "sysv64" fn code<T: 'static, F, R, $($parameter,)* const GUARDED: bool>(
                    import: *const Import,
                    a0: u64,
                    a1: u64,
                    a2: u64,
                    a3: u64,
                    a4: u64,
                ) -> Results
                where
                    F: Fn($($caller,)? $($parameter),*) -> R,
                    R: HostResult,
                    $($parameter: Parameter,)*
                {
                    // SAFETY: engines call this with an import of their machine's table, whose context is
                    // the machine's instance, and whose environment this closure; both are alive.
                    unsafe {
                        let function = &*(*import).environment.cast::<F>();
                        let instance = NonNull::new_unchecked((*import).context.cast::<Instance<T>>());
                        let environment = (*import).environment;
                        let call = Call { instance, environment, first: [a0, a1, a2, a3, a4] };
                        call.answer::<GUARDED, _>(|instance, arguments| {
                            $(let $parameter = arguments.parameter::<$parameter>();)*
                            if arguments.is_lost() {
                                return Err(lost_arguments());
                            }
                            function($(<$caller>::of_engine(instance),)? $($parameter),*).into_result()
                        })
                    }
                }
                Closure {
                    signature: Signature {
                        result: R::Value::result_type(),
                        parameters: <($($parameter,)*) as Parameters>::types(),
                    },
                    code: match FLOATS {
                        true => HostCode::new(
                            code::<T, F, R, $($parameter,)* false>,
                            code::<T, F, R, $($parameter,)* true>,
                        ),
                        false => HostCode::without_floats(code::<T, F, R, $($parameter,)* false>),
                    },
                    environment: Arc::new(self),
                }
            }
        }
    };
}

host_functions!();
host_functions!(A);
host_functions!(A B);
host_functions!(A B C);
host_functions!(A B C D);
host_functions!(A B C D E);
host_functions!(A B C D E G);
host_functions!(A B C D E G H);
host_functions!(A B C D E G H I);
host_functions!(A B C D E G H I J);
host_functions!(A B C D E G H I J K);
host_functions!(A B C D E G H I J K L);
host_functions!(A B C D E G H I J K L M);
host_functions!(A B C D E G H I J K L M N);
host_functions!(A B C D E G H I J K L M N O);
host_functions!(A B C D E G H I J K L M N O P);
host_functions!(A B C D E G H I J K L M N O P Q);
