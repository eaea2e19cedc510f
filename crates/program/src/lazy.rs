//! What is read from the file only when it is first asked for.

use std::sync::OnceLock;

use crate::symbols::SymbolTable;

/// Tables that are built once, on first use, by whichever thread comes first.
#[derive(Default)]
pub(crate) struct Lazy {
    pub(crate) symbols: OnceLock<SymbolTable>,
}
