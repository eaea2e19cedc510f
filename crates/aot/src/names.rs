//! The symbols of compiled functions, which profilers and debuggers show.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};

use riverrun_program::demangle;

use riverrun_vm::artifact::{DISPATCH_SYMBOL, FAULT_EXITS_SECTION, LinkedArtifact};

use crate::analysis::Function;

/// The host symbols of a program's functions.
#[derive(Debug)]
pub(crate) struct Names {
    /// The prefix of the symbols.
    prefix: String,
    /// Whether the code is to be linked into a host, beside other programs' code.
    pub(crate) is_linked: bool,
    by_start: BTreeMap<u64, String>,
}

impl Names {
    /// `guest::`, or the program's name where it is `linked` into a host, and the function's name,
    /// demangled; where several have the same, or one has none, with its address. The prefix keeps a
    /// guest's `memcpy` from being taken for the host's. A name that has the `#` in it which sets off what is the
    /// compiler's gets the address as well, so that no symbol of the guest can be another one's.
    pub(crate) fn new(functions: &[Function], linked: Option<&str>) -> Names {
        let prefix = linked.unwrap_or("guest");
        let plain: Vec<Option<Cow<'_, str>>> =
            functions.iter().map(|function| function.name.as_deref().map(demangle)).collect();
        let mut uses: HashMap<&str, usize> = HashMap::new();
        for name in plain.iter().flatten() {
            *uses.entry(name).or_default() += 1;
        }
        let name = |(function, plain): (&Function, &Option<Cow<'_, str>>)| {
            let start = function.start;
            let name = match plain.as_deref() {
                Some(plain) if uses[plain] == 1 && !plain.contains('#') => format!("{prefix}::{plain}"),
                Some(plain) => format!("{prefix}::{plain}#{start:x}"),
                None => format!("{prefix}::#{start:x}"),
            };
            (start, name)
        };
        let by_start = functions.iter().zip(&plain).map(name).collect();
        Names { prefix: prefix.to_owned(), is_linked: linked.is_some(), by_start }
    }

    /// The symbol of the function that begins at an address.
    pub(crate) fn of(&self, start: u64) -> String {
        self.by_start.get(&start).cloned().unwrap_or_else(|| format!("{}::#{start:x}", self.prefix))
    }

    /// The symbol of a part of the function that begins at an address; `part` has a letter that is no digit.
    pub(crate) fn part(&self, start: u64, part: &str) -> String {
        format!("{}#{part}", self.of(start))
    }

    /// Whether a symbol is that of the function that begins at an address, or of its part.
    pub(crate) fn is_of(&self, start: u64, symbol: &str) -> bool {
        symbol.strip_prefix(&self.of(start)).is_some_and(|rest| rest.is_empty() || rest.starts_with('#'))
    }

    /// The symbol of the host-ABI entry point of the function that begins at an address.
    pub(crate) fn host_abi_entry(&self, start: u64) -> String {
        self.part(start, "host")
    }

    /// The symbol of a table: `plain` in a shared object, where no other symbol can conflict; otherwise one that no guest's
    /// symbol can equal.
    pub(crate) fn table(&self, plain: &str) -> String {
        if self.is_linked { format!("{}::#{plain}", self.prefix) } else { plain.to_owned() }
    }

    /// The symbol of the dispatch table.
    pub(crate) fn dispatch(&self) -> String {
        self.table(DISPATCH_SYMBOL)
    }

    /// The section of the code, where it is to be found among the host's: a C identifier, so that linkers
    /// say where it begins and ends.
    pub(crate) fn section(&self) -> Option<String> {
        self.is_linked.then(|| format!("riverrun_text_{}", self.prefix))
    }

    /// The section of the table of accesses that may fault, likewise.
    pub(crate) fn fault_exits(&self) -> String {
        if self.is_linked { format!("{FAULT_EXITS_SECTION}_{}", self.prefix) } else { FAULT_EXITS_SECTION.to_owned() }
    }

    /// The symbol by which a host finds linked code.
    pub(crate) fn artifact(&self) -> String {
        format!("{}{}", LinkedArtifact::SYMBOL, self.prefix)
    }
}
