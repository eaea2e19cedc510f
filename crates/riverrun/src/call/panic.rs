//! Guests that give up and say why: `riverrun::panic`, the one host function that every linker has.

use std::sync::Arc;

use riverrun_program::{Scalar, Signature};
use riverrun_state::{Import, Results};

use crate::call::host::{Call, Closure};
use crate::caller::Caller;
use crate::error::HostError;
use crate::instance::Instance;

/// The name by which guests know it.
pub(crate) const NAME: &str = "riverrun::panic";

/// Bytes of a message that are kept, at most.
const MESSAGE_MAX: u64 = 4096;

/// A guest has given up, as Rust's `panic!` does: the source of an [`Error::Host`](crate::Error::Host).
///
/// ```
/// let panic = riverrun::GuestPanic { message: "src/main.rs:7:5: no such door".into() };
/// assert_eq!(panic.to_string(), "the guest panicked: src/main.rs:7:5: no such door");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the guest panicked: {message}")]
pub struct GuestPanic {
    /// What the guest says, in 4096 bytes at most; control characters are replaced.
    pub message: String,
}

/// The function as linkers keep it.
pub(crate) fn closure<T>() -> Closure {
    let parameters = vec![Scalar::Ptr.into(), Scalar::U64.into()];
    let signature = Signature { result: None, parameters };
    Closure { signature, code: code::<T>, environment: Arc::new(()), uses_floats: false }
}

unsafe extern "sysv64" fn code<T>(import: *const Import, a0: u64, a1: u64, a2: u64, a3: u64, a4: u64) -> Results {
    // SAFETY: engines call this with an import of their machine's table, whose context is the machine's
    // instance; both are alive.
    unsafe {
        let instance = std::ptr::NonNull::new_unchecked((*import).context.cast::<Instance<T>>());
        let call = Call { instance, environment: (*import).environment, first: [a0, a1, a2, a3, a4] };
        call.answer::<false, ()>(|instance, arguments| {
            let [text, size] = [(); 2].map(|()| arguments.parameter::<u64>());
            Err(panic(&Caller::of_engine(instance), text, size))
        })
    }
}

fn panic<T>(caller: &Caller<'_, T>, text: u64, size: u64) -> HostError {
    let shown = |c: char| if c.is_control() && !matches!(c, '\n' | '\t') { char::REPLACEMENT_CHARACTER } else { c };
    match caller.memory().slice(text, size.min(MESSAGE_MAX)) {
        Ok(bytes) => GuestPanic { message: String::from_utf8_lossy(bytes).chars().map(shown).collect() }.into(),
        Err(fault) => fault.into(),
    }
}
