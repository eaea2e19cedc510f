//! Host functions of C as engines call them: those of few integers by code of their own, others by slots.

use riverrun::raw::{self, Import as EngineImport, Results, with_host_floats};
use riverrun::{Signature, Type};

use crate::arguments::Result;
use crate::error::fail;
use crate::host::{Checked, FIRST, Raw, parameters_of, results_of};
use crate::host_code::by_values;
use crate::machine::Machine;

/// A host function of C, in the form in which it was given.
pub(crate) trait HostFunction: Send + Sync + Sized + 'static {
    /// Calls it, with as many slots as its types have.
    ///
    /// # Errors
    /// Its own, and that of a result of another type.
    fn call(&self, machine: Machine, slots: &mut [u64]) -> Result<()>;

    /// The code by which engines call it, if it has few integers, whose registers need not be looked up.
    fn code(signature: &Signature) -> Option<raw::HostCode>;
}

impl HostFunction for Raw {
    #[inline(always)]
    fn call(&self, machine: Machine, slots: &mut [u64]) -> Result<()> {
        // SAFETY: a guest has called the function on this machine, and there are as many slots as its types have.
        unsafe { self.call_with(machine, slots.as_mut_ptr()) }.map_or(Ok(()), Err)
    }

    fn code(signature: &Signature) -> Option<raw::HostCode> {
        Some(raw::HostCode { takes_slots: true, ..words_of::<Raw>(signature)? })
    }
}

impl HostFunction for Checked {
    #[inline(always)]
    fn call(&self, machine: Machine, slots: &mut [u64]) -> Result<()> {
        self.call_values(machine, slots)
    }

    fn code(signature: &Signature) -> Option<raw::HostCode> {
        let code = words_of::<Checked>(signature)?;
        let plain = by_values(&parameters_of(signature).ok()?, results_of(signature).first().copied());
        Some(raw::HostCode { plain: plain.unwrap_or(code.plain), ..code })
    }
}

fn words_of<F: HostFunction>(signature: &Signature) -> Option<raw::HostCode> {
    let is_integer = |ty: &Type| matches!(ty, Type::Scalar(scalar) if !scalar.is_float());
    if signature.parameters.len() > FIRST || !signature.parameters.iter().all(is_integer) {
        return None;
    }
    let has_result = match &signature.result {
        None => false,
        Some(result) if is_integer(result) => true,
        Some(_) => return None,
    };
    // As many as have to be stored.
    Some(match signature.parameters.len() {
        0 | 1 => code_of::<F, 1>(has_result),
        2 | 3 => code_of::<F, 3>(has_result),
        _ => code_of::<F, FIRST>(has_result),
    })
}

fn code_of<F: HostFunction, const WORDS: usize>(has_result: bool) -> raw::HostCode {
    match has_result {
        false => raw::HostCode::new(words::<F, WORDS, false, false>, words::<F, WORDS, false, true>),
        true => raw::HostCode::new(words::<F, WORDS, true, false>, words::<F, WORDS, true, true>),
    }
}

unsafe extern "sysv64" fn words<F: HostFunction, const WORDS: usize, const HAS_RESULT: bool, const GUARDED: bool>(
    import: *const EngineImport,
    a0: u64,
    a1: u64,
    a2: u64,
    a3: u64,
    a4: u64,
) -> Results {
    // SAFETY: engines call this with an import of their machine's table, whose context is the machine, and whose
    // environment was made for this code. Nothing here has to be cleaned up.
    unsafe {
        let function = &*(*import).environment.cast::<F>();
        let machine = Machine::of_import((*import).context);
        let first = [a0, a1, a2, a3, a4];
        let mut words: [u64; WORDS] = std::array::from_fn(|n| first[n]);
        let outcome = match GUARDED {
            true => with_host_floats(|| function.call(machine, &mut words)),
            false => function.call(machine, &mut words),
        };
        match outcome {
            Ok(()) => Results { a0: if HAS_RESULT { words[0] } else { a0 }, a1 },
            Err(error) => fail(import, error),
        }
    }
}
