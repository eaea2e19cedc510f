//! What compiled functions are called: profilers and debuggers show it.

use std::collections::{BTreeMap, HashMap};

use riverrun_program::demangle;

use crate::analysis::Function;

/// The host symbols of a program's functions.
#[derive(Debug)]
pub(crate) struct Names {
    by_start: BTreeMap<u64, String>,
}

impl Names {
    /// `guest::` and the function's name, demangled; where several have the same, or one has none, with
    /// its address. The prefix keeps a guest's `memcpy` from being taken for the host's.
    pub(crate) fn new(functions: &[Function]) -> Names {
        let plain: Vec<_> = functions.iter().map(|function| function.name.as_deref().map(demangle)).collect();
        let mut uses: HashMap<&str, usize> = HashMap::new();
        for name in plain.iter().flatten() {
            *uses.entry(name).or_default() += 1;
        }
        let name = |(function, plain): (&Function, &Option<_>)| {
            let start = function.start;
            let name = match plain.as_deref() {
                Some(plain) if uses[plain] == 1 => format!("guest::{plain}"),
                Some(plain) => format!("guest::{plain}#{start:x}"),
                None => format!("guest::#{start:x}"),
            };
            (start, name)
        };
        Names { by_start: functions.iter().zip(&plain).map(name).collect() }
    }

    /// The symbol of the function that begins at an address.
    pub(crate) fn of(&self, start: u64) -> String {
        self.by_start.get(&start).cloned().unwrap_or_else(|| format!("guest::#{start:x}"))
    }
}
