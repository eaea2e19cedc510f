//! Addresses to source lines, by the program's DWARF.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
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
    /// The debug information of each part of a joined program with the address at which it lies, in their order; that
    /// of others is one, at 0.
    parts: Vec<(u64, Context<Metered>)>,
    budget: Budget,
    /// Bytes that all lookups together may read beyond [`EACH`].
    total: u64,
}

/// Parts of joined programs whose debug information is read at most.
const PARTS_MAX: usize = 1024;

/// The names of the sections that debug information consists of.
pub(crate) fn sections() -> Vec<&'static str> {
    let mut names = Vec::new();
    let note = |id: gimli::SectionId| -> Result<(), gimli::Error> {
        names.push(id.name());
        Ok(())
    };
    // It is `note` that could fail.
    let _ = gimli::DwarfSections::load(note);
    names
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
    pub(crate) fn of(file: &ElfFile) -> Self {
        let bytes = EndianReader::new(Arc::clone(&file.bytes), LittleEndian);
        let budget = Budget::default();
        budget.set(allowance(file.bytes.len()));
        let mut found: BTreeMap<u64, HashMap<&str, Range<usize>>> = BTreeMap::new();
        for name in sections() {
            for (base, section) in file.uncompressed_parts(name) {
                found.entry(base).or_default().entry(name).or_insert(section.file);
            }
        }
        let parts = found.into_iter().filter(|(_, sections)| sections.contains_key(".debug_info")).take(PARTS_MAX);
        let context = |(base, sections): (u64, HashMap<&str, Range<usize>>)| {
            let load = |id: gimli::SectionId| -> Result<Metered, gimli::Error> {
                let section = bytes.range(sections.get(id.name()).cloned().unwrap_or(0..0));
                Ok(Metered::new(section, budget.clone()))
            };
            Some((base, Context::from_dwarf(gimli::Dwarf::load(load).ok()?).ok()?))
        };
        let parts = parts.filter_map(context).collect();
        let total = allowance(file.bytes.len());
        Self(Mutex::new(Lookup { parts, budget, total }))
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
        let before = self.parts.partition_point(|&(base, _)| base <= link_address);
        let Some((base, context)) = before.checked_sub(1).map(|part| &self.parts[part]) else { return places };
        let Ok(mut frames) = context.find_frames(link_address - base).skip_all_loads() else {
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
