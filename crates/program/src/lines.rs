//! Addresses to source lines, by the program's DWARF.

use std::sync::{Arc, Mutex, PoisonError};

use addr2line::Context;
use gimli::{EndianReader, LittleEndian};

use crate::metered::{Budget, Metered};
use crate::names::demangle;
use crate::sections::ElfFile;

/// A place in the source, as far as the program's debug information tells.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SourceLocation {
    /// The function, demangled.
    pub function: Option<String>,
    /// Path of the source file, on the machine where the program was compiled.
    pub file: Option<String>,
    /// Line, counted from 1.
    pub line: Option<u32>,
    /// Column in bytes, counted from 1.
    pub column: Option<u32>,
}

/// The reader of debug information: it fills its own caches, one lookup at a time.
pub(crate) struct Lines(Mutex<Lookup>);

struct Lookup {
    context: Context<Metered>,
    budget: Budget,
    /// Bytes that all lookups together may read beyond [`EACH`].
    total: u64,
}

/// Bytes that the search for units may read, and all lookups together, for a file of this size: sound debug information
/// has each byte read a few times at most.
fn allowance(file: usize) -> u64 {
    const LEAST: u64 = 1 << 20;
    const MOST: u64 = 64 << 20;
    (4 * file as u64 + LEAST).min(MOST)
}

/// Bytes that a lookup may read in any case: what was read before is kept, so that little is left to read.
const EACH: u64 = 16 << 10;

impl Lines {
    pub(crate) fn of(file: &ElfFile) -> Option<Self> {
        let bytes = EndianReader::new(Arc::clone(&file.bytes), LittleEndian);
        let budget = Budget::default();
        budget.set(allowance(file.bytes.len()));
        let load = |id: gimli::SectionId| -> Result<Metered, gimli::Error> {
            let section =
                bytes.range(file.uncompressed(id.name()).first().map_or(0..0, |section| section.file.clone()));
            Ok(Metered::new(section, budget.clone()))
        };
        let dwarf = gimli::Dwarf::load(load).ok()?;
        let context = Context::from_dwarf(dwarf).ok()?;
        let total = allowance(file.bytes.len());
        Some(Self(Mutex::new(Lookup { context, budget, total })))
    }

    /// The places of an address of the file, innermost first.
    pub(crate) fn locate(&self, link_address: u64) -> Vec<SourceLocation> {
        // A panic in a lookup leaves at worst an empty cache entry behind.
        let mut lookup = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        lookup.budget.set(lookup.total + EACH);
        let places = lookup.places(link_address);
        lookup.total = lookup.total.min(lookup.budget.left());
        places
    }
}

impl Lookup {
    fn places(&self, link_address: u64) -> Vec<SourceLocation> {
        /// Real programs inline a dozen levels deep.
        const INLINED_MAX: usize = 32;

        let mut places = Vec::new();
        let Ok(mut frames) = self.context.find_frames(link_address).skip_all_loads() else {
            return places;
        };
        while places.len() < INLINED_MAX
            && let Ok(Some(frame)) = frames.next()
        {
            let location = frame.location;
            let function = frame.function.and_then(|function| Some(demangle(&function.raw_name().ok()?).into_owned()));
            places.push(SourceLocation {
                function,
                file: location.as_ref().and_then(|at| at.file).map(String::from),
                line: location.as_ref().and_then(|at| at.line).filter(|&line| line != 0),
                column: location.as_ref().and_then(|at| at.column).filter(|&column| column != 0),
            });
        }
        places
    }
}
