//! What calls of host functions take and give, as the program's own records say.

use std::collections::HashMap;

use riverrun_program::{Image, Scalar, Type};
use riverrun_state::{F_SLOT, REGISTER_ARGUMENTS};

use crate::analysis::registers::Set;

const A0: usize = 10;
const FA0: usize = F_SLOT as usize + 10;
/// Float registers for arguments; what is behind them is in integer ones.
const FLOATS: usize = 8;

/// The registers of a host call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct HostCall {
    /// How many integer registers from a0 on are looked at, of those that are handed over.
    pub(crate) arguments: usize,
    /// The registers that it may change.
    pub(crate) results: Set,
}

impl HostCall {
    /// One of which nothing is known.
    pub(crate) const ANY: HostCall = HostCall { arguments: REGISTER_ARGUMENTS, results: 0b11 << A0 | 0b11 << FA0 };

    fn new(parameters: &[Type], result: Option<&Type>) -> HostCall {
        let scalar = |kind: &Type| match kind {
            Type::Scalar(scalar) => Some(*scalar),
            Type::Struct(_) => None,
        };
        let scalars: Option<Vec<Scalar>> = parameters.iter().map(scalar).collect();
        let arguments = scalars.map_or(REGISTER_ARGUMENTS, |scalars| {
            let floats = scalars.iter().filter(|scalar| scalar.is_float()).count().min(FLOATS);
            (scalars.len() - floats).min(REGISTER_ARGUMENTS)
        });
        match result.map(scalar) {
            None => HostCall { arguments, results: 0 },
            Some(Some(scalar)) => HostCall { arguments, results: 1 << if scalar.is_float() { FA0 } else { A0 } },
            // What it leaves as it was in a0 and a1 has to be handed to it.
            Some(None) => HostCall { arguments: arguments.max(2), results: HostCall::ANY.results },
        }
    }
}

/// The host functions of a program's imports.
#[derive(Debug, Default)]
pub(crate) struct Imports(HashMap<u64, HostCall>);

impl Imports {
    /// What the program says of them. Hosts have functions of other types refused, so that it can be relied upon.
    pub(crate) fn new(image: &Image) -> Imports {
        let imports = image.imports().into_iter().flatten();
        let calls = imports.filter_map(|import| {
            let signature = import.signature?;
            Some((import.index.into(), HostCall::new(&signature.parameters, signature.result.as_ref())))
        });
        Imports(calls.collect())
    }

    /// The host function with this number.
    pub(crate) fn call(&self, index: u64) -> HostCall {
        self.0.get(&index).copied().unwrap_or(HostCall::ANY)
    }
}

#[cfg(test)]
mod tests {
    use riverrun_program::Signature;

    use super::*;

    #[test]
    fn registers_are_the_calling_conventions() {
        let call = |text: &str| {
            let Signature { parameters, result } = text.parse().expect("a signature");
            HostCall::new(&parameters, result.as_ref())
        };
        assert_eq!(call("void ()"), HostCall { arguments: 0, results: 0 });
        assert_eq!(call("i64 (i32, f64, ptr)"), HostCall { arguments: 2, results: 1 << A0 });
        assert_eq!(call("f32 (u8, u8, u8, u8, u8, u8)"), HostCall { arguments: 5, results: 1 << FA0 });
        // The ninth float is in an integer register.
        assert_eq!(call("void (f64, f64, f64, f64, f64, f64, f64, f64, f64)").arguments, 1);
        assert_eq!(call("{i32, f32} ({i64, i64})"), HostCall::ANY);
        assert_eq!(call("{f32, f32} (f32)"), HostCall { arguments: 2, ..HostCall::ANY });
    }
}
