//! Closures as host functions whose types are known at run time only: they take and give raw values.

use std::ptr::NonNull;
use std::sync::Arc;

use riverrun_program::Signature;
use riverrun_vm::{Import, Results};

use crate::boundary::convention::{Arguments, ResultRegisters};
use crate::call::dyn_func::{ResultType, Types};
use crate::call::host_call::{Call, lost_arguments};
use crate::caller::Caller;
use crate::error::{HostError, LinkError};
use crate::instance::{Instance, Suspended};
use crate::registry::{Closure, HostCode};

/// A host function with raw values, with its types.
struct DynHost<F> {
    types: Types,
    function: F,
}

/// The function, for a linker.
///
/// # Errors
/// [`LinkError::Unsupported`] if it has types that raw values cannot be.
pub(crate) fn closure<T: 'static, F>(signature: &Signature, function: F) -> Result<Closure, LinkError>
where
    F: Fn(Caller<'_, T>, &mut [u64]) -> Result<(), HostError> + Send + Sync + 'static,
{
    let environment = Arc::new(DynHost { types: Types::of(signature)?, function });
    Ok(Closure { signature: signature.clone(), code: host_code::<T, F>(), environment })
}

fn host_code<T: 'static, F>() -> HostCode
where
    F: Fn(Caller<'_, T>, &mut [u64]) -> Result<(), HostError>,
{
    HostCode::new(code::<T, F, false>, code::<T, F, true>)
}

unsafe extern "sysv64" fn code<T: 'static, F, const GUARDED: bool>(
    import: *const Import,
    a0: u64,
    a1: u64,
    a2: u64,
    a3: u64,
    a4: u64,
) -> Results
where
    F: Fn(Caller<'_, T>, &mut [u64]) -> Result<(), HostError>,
{
    // SAFETY: engines call this with an import of their machine's table, whose context is the machine's
    // instance, and whose environment was made for this code; both are alive.
    unsafe {
        let DynHost { types, function } = &*(*import).environment.cast::<DynHost<F>>();
        let instance = NonNull::new_unchecked((*import).context.cast::<Instance<T>>());
        let call = Call { instance, environment: (*import).environment, first: [a0, a1, a2, a3, a4] };
        let body = |instance, arguments: &mut Arguments<'_>| {
            let mut slots = types.take(arguments);
            if arguments.is_lost() {
                return Err(lost_arguments());
            }
            function(Caller::new(Suspended::new(instance)), &mut slots[..types.slots()])?;
            Ok([slots[0], slots[1]])
        };
        let put = |slots, registers: &mut ResultRegisters| types.result.put(slots, registers);
        call.answer_with::<GUARDED, _>(types.result != ResultType::Nothing, body, put)
    }
}
