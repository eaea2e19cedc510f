//! The argument and result registers of host calls, from the program's records of imports.

use std::collections::HashMap;

use riverrun_program::{CallRegisters, CallResults, Image, Import};
use riverrun_vm::{F_SLOT, REGISTER_ARGUMENTS};

use crate::analysis::registers::{HOST, Set, range};

const A0: usize = 10;
const FA0: usize = F_SLOT as usize + 10;

/// What the names of functions begin with that come with riverrun: they are Rust's closures, and called often.
const OWN: &str = "riverrun::";

/// The registers of a host call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct HostCall {
    /// How many integer registers from a0 on are arguments, of those passed in registers.
    pub(crate) arguments: usize,
    /// The registers that it may read.
    pub(crate) read: Set,
    /// The registers that it writes in any case.
    pub(crate) written: Set,
    /// Its result registers.
    pub(crate) results: Set,
    /// The import's number, if its function may take [raw values](riverrun_vm::SlotFunction).
    pub(crate) by_slots: Option<u64>,
}

impl HostCall {
    /// A call whose types are unknown.
    pub(crate) const ANY: HostCall = HostCall {
        arguments: REGISTER_ARGUMENTS,
        read: HOST,
        written: 0,
        results: 0b11 << A0 | 0b11 << FA0,
        by_slots: None,
    };

    fn new(import: &Import) -> Option<HostCall> {
        let signature = import.signature.as_ref()?;
        let CallRegisters { integers, results } = signature.registers();
        let parameters = signature.parameters.len();
        let is_plain = matches!(results, CallResults::None | CallResults::Integer)
            && integers == parameters
            && parameters <= REGISTER_ARGUMENTS
            && !import.name.starts_with(OWN);
        let (results, written) = match results {
            CallResults::None => (0, 0),
            CallResults::Integer => (1 << A0, 1 << A0),
            CallResults::Float => (1 << FA0, 1 << FA0),
            CallResults::Any => (HostCall::ANY.results, 0),
        };
        let by_slots = is_plain.then_some(import.index.into());
        let arguments = integers.min(REGISTER_ARGUMENTS);
        // Hosts may look at all others, whatever the type.
        let unread = range(A0 + arguments..=A0 + REGISTER_ARGUMENTS - 1);
        Some(HostCall { arguments, read: HOST & !unread, written, results, by_slots })
    }
}

/// The host functions of a program's imports.
#[derive(Debug, Default)]
pub(crate) struct Imports(HashMap<u64, HostCall>);

impl Imports {
    /// Their types. Machines refuse host functions of other types, so compiled code may rely on them.
    pub(crate) fn new(image: &Image) -> Imports {
        let imports = image.imports().into_iter().flatten();
        let calls = imports.filter_map(|import| Some((import.index.into(), HostCall::new(&import)?)));
        Imports(calls.collect())
    }

    /// The host function with this number.
    pub(crate) fn call(&self, index: u64) -> HostCall {
        self.0.get(&index).copied().unwrap_or(HostCall::ANY)
    }
}
