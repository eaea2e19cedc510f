//! What calls of host functions take and give, as the program's own records say.

use std::collections::HashMap;

use riverrun_program::{CallRegisters, CallResults, Image};
use riverrun_state::{F_SLOT, REGISTER_ARGUMENTS};

use crate::analysis::registers::Set;

const A0: usize = 10;
const FA0: usize = F_SLOT as usize + 10;

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

    fn new(registers: CallRegisters) -> HostCall {
        let results = match registers.results {
            CallResults::None => 0,
            CallResults::Integer => 1 << A0,
            CallResults::Float => 1 << FA0,
            CallResults::Any => HostCall::ANY.results,
        };
        HostCall { arguments: registers.integers.min(REGISTER_ARGUMENTS), results }
    }
}

/// The host functions of a program's imports.
#[derive(Debug, Default)]
pub(crate) struct Imports(HashMap<u64, HostCall>);

impl Imports {
    /// What the program says of them. Hosts have functions of other types refused, so that it can be relied upon.
    pub(crate) fn new(image: &Image) -> Imports {
        let imports = image.imports().into_iter().flatten();
        let calls =
            imports.filter_map(|import| Some((import.index.into(), HostCall::new(import.signature?.registers()))));
        Imports(calls.collect())
    }

    /// The host function with this number.
    pub(crate) fn call(&self, index: u64) -> HostCall {
        self.0.get(&index).copied().unwrap_or(HostCall::ANY)
    }
}
