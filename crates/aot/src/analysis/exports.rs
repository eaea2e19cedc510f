//! What a program's exported functions give, as its own records say.

use std::collections::BTreeMap;

use riverrun_program::{CallRegisters, CallResults, Image, Signature};

use crate::analysis::registers::Set;

const A0: usize = 10;

/// The functions that a program exports.
#[derive(Debug, Default)]
pub(crate) struct Exports(BTreeMap<u64, Set>);

impl Exports {
    /// What the program says of them.
    pub(crate) fn new(image: &Image) -> Exports {
        let mut results = BTreeMap::new();
        // A program whose exports are in error is refused by whoever runs it.
        for export in image.exports().into_iter().flatten() {
            let registers = export.signature.as_ref().map_or(CallRegisters::ANY, Signature::registers);
            *results.entry(export.address).or_default() |= match registers.results {
                CallResults::None | CallResults::Float => 0,
                CallResults::Integer => 1 << A0,
                CallResults::Any => 0b11 << A0,
            };
        }
        Exports(results)
    }

    /// Whether there is one at this address.
    pub(crate) fn contains(&self, start: u64) -> bool {
        self.0.contains_key(&start)
    }

    /// In which integer registers the host looks for results of the function that begins there.
    pub(crate) fn results(&self, start: u64) -> Set {
        self.0.get(&start).copied().unwrap_or(0b11 << A0)
    }
}
