//! The host functions that every linker has: `riverrun::panic`, by which guests abort with a message, and
//! `riverrun::strlen`, by which guests without a libc measure long texts (`guest/src/memory.c`).

use std::ptr::NonNull;
use std::sync::Arc;

use riverrun_program::Signature;
use riverrun_vm::{HostFunction, Import, Results};

use crate::boundary::convention::{Parameters, Returned};
use crate::boundary::pointer::Ptr;
use crate::boundary::value::GuestValue;
use crate::call::host_call::Call;
use crate::caller::Caller;
use crate::error::HostError;
use crate::instance::{Instance, Suspended};
use crate::registry::{Closure, HostCode};

/// Bytes that one call examines at most: more would be time that no limit counts.
const STEP: u64 = 1 << 20;

/// Bytes of a message that are kept, at most.
const MESSAGE_MAX: u64 = 4096;

/// A guest has aborted, as by Rust's `panic!`: the source of an [`Error::Host`](crate::Error::Host).
///
/// ```
/// let panic = riverrun::GuestPanic { message: "src/main.rs:7:5: no such door".into() };
/// assert_eq!(panic.to_string(), "the guest panicked: src/main.rs:7:5: no such door");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the guest panicked: {message}")]
pub struct GuestPanic {
    /// The guest's message, 4096 bytes at most; control characters are replaced.
    pub message: String,
}

/// The functions, by their names.
pub(crate) fn functions<T>() -> [(&'static str, Closure); 2] {
    [
        ("riverrun::panic", closure::<(Ptr<u8>, u64), ()>(panic::<T>)),
        ("riverrun::strlen", closure::<(Ptr<u8>,), u64>(strlen::<T>)),
    ]
}

fn closure<P: Parameters, R: Returned>(code: HostFunction) -> Closure {
    let signature = Signature { result: R::result_type(), parameters: P::types() };
    Closure { signature, code: HostCode::without_floats(code), environment: Arc::new(()) }
}

/// Answers a guest's call.
///
/// # Safety
/// An engine has called a host function with this import and these arguments, which returns this.
unsafe fn answer<T, R: Returned>(
    import: *const Import,
    first: [u64; 5],
    body: impl FnOnce(&Caller<'_, T>) -> Result<R, HostError>,
) -> Results {
    // SAFETY: as the caller promises; an import's context is its machine's instance, and both are alive.
    unsafe {
        let instance = NonNull::new_unchecked((*import).context.cast::<Instance<T>>());
        let call = Call { instance, environment: (*import).environment, first };
        call.answer::<false, R>(|instance, _| body(&Caller::new(Suspended::new(instance))))
    }
}

/// The first argument, a pointer.
fn argument(address: u64) -> Ptr<u8> {
    Ptr::new(address).in_argument(1)
}

unsafe extern "sysv64" fn panic<T>(import: *const Import, a0: u64, a1: u64, a2: u64, a3: u64, a4: u64) -> Results {
    // SAFETY: engines call this as a host function.
    unsafe {
        answer::<T, ()>(import, [a0, a1, a2, a3, a4], |caller| {
            let bytes = argument(a0).slice(a1.min(MESSAGE_MAX)).get(caller.memory())?;
            let shown =
                |c: char| if c.is_control() && !matches!(c, '\n' | '\t') { char::REPLACEMENT_CHARACTER } else { c };
            Err(GuestPanic { message: String::from_utf8_lossy(bytes).chars().map(shown).collect() }.into())
        })
    }
}

/// Returns the number of bytes before the first zero, or `STEP` if the first `STEP` bytes contain none.
unsafe extern "sysv64" fn strlen<T>(import: *const Import, a0: u64, a1: u64, a2: u64, a3: u64, a4: u64) -> Results {
    // SAFETY: as in `panic`.
    unsafe {
        answer::<T, u64>(import, [a0, a1, a2, a3, a4], |caller| {
            let len = caller.memory().zero_within(a0, STEP).map_err(|fault| argument(a0).fault(fault))?;
            Ok(len.unwrap_or(STEP))
        })
    }
}
