//! The code by which engines call host functions of few integers.

use riverrun::raw::{self, Import as EngineImport, Results, with_host_floats};
use riverrun::{Signature, Type};

use crate::error::{Error, fail};
use crate::host::{Checked, FIRST, Raw, parameters_of, results_of};
use crate::host_code::by_values;
use crate::machine::Machine;

/// The code for functions of few integers, whose registers need not be looked up: by slots, and by values.
pub(crate) fn code_for(signature: &Signature) -> Option<[raw::HostCode; 2]> {
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
    let [mut raw, mut checked] = match signature.parameters.len() {
        0 | 1 => codes::<1>(has_result),
        2 | 3 => codes::<3>(has_result),
        _ => codes::<FIRST>(has_result),
    };
    raw.takes_slots = true;
    if let Some(plain) = by_values(&parameters_of(signature).ok()?, results_of(signature).first().copied()) {
        checked.plain = plain;
    }
    Some([raw, checked])
}

fn codes<const WORDS: usize>(has_result: bool) -> [raw::HostCode; 2] {
    match has_result {
        false => [host_code::<Raw, WORDS, false>(), host_code::<Checked, WORDS, false>()],
        true => [host_code::<Raw, WORDS, true>(), host_code::<Checked, WORDS, true>()],
    }
}

fn host_code<F: Words, const WORDS: usize, const HAS_RESULT: bool>() -> raw::HostCode {
    raw::HostCode::new(words::<F, WORDS, HAS_RESULT, false>, words::<F, WORDS, HAS_RESULT, true>)
}

/// A host function of few integers, as engines call it.
trait Words {
    /// Calls it; the result, if it has one, takes the place of the first argument.
    fn call_words<const WORDS: usize>(&self, machine: Machine, words: &mut [u64; WORDS]) -> Option<Box<Error>>;
}

impl Words for Raw {
    #[inline(always)]
    fn call_words<const WORDS: usize>(&self, machine: Machine, words: &mut [u64; WORDS]) -> Option<Box<Error>> {
        // SAFETY: an engine has called the code of the function's types.
        unsafe { self.call_with(machine, words.as_mut_ptr()) }
    }
}

impl Words for Checked {
    #[inline(always)]
    fn call_words<const WORDS: usize>(&self, machine: Machine, words: &mut [u64; WORDS]) -> Option<Box<Error>> {
        self.call_values::<WORDS>(machine, words).err()
    }
}

unsafe extern "sysv64" fn words<F: Words, const WORDS: usize, const HAS_RESULT: bool, const GUARDED: bool>(
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
        let failed = match GUARDED {
            true => with_host_floats(|| function.call_words(machine, &mut words)),
            false => function.call_words(machine, &mut words),
        };
        match failed {
            None => Results { a0: if HAS_RESULT { words[0] } else { a0 }, a1 },
            Some(error) => fail(import, error),
        }
    }
}
