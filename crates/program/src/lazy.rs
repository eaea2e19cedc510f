//! What is read from the file only when it is first asked for.

use std::sync::OnceLock;

use crate::attributes::Attributes;
use crate::lines::Lines;
use crate::symbols::SymbolTable;
use crate::unwind_tables::UnwindTables;

/// Tables that are built once, on first use, by whichever thread comes first.
#[derive(Default)]
pub(crate) struct Lazy {
    pub(crate) attributes: OnceLock<Attributes>,
    pub(crate) lines: OnceLock<Lines>,
    pub(crate) symbols: OnceLock<SymbolTable>,
    pub(crate) unwind: OnceLock<UnwindTables>,
}
