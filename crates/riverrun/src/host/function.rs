//! Closures as host functions: the code that the Rust compiler generates for engines to call them.

use std::ptr::NonNull;
use std::sync::Arc;

use riverrun_program::Signature;
use riverrun_vm::{Import, Results};

use crate::boundary::convention::{Parameter, Parameters, Returned, each_prefix};
use crate::call::host_call::{Call, lost_arguments};
use crate::caller::Caller;
use crate::error::HostError;
use crate::instance::{Instance, Suspended};
use crate::registry::{Closure, HostCode};

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
                            function($(<$caller>::new(Suspended::new(instance)),)? $($parameter),*).into_result()
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

each_prefix!(host_functions [] A B C D E G H I J K L M N O P Q);
