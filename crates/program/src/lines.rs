//! Addresses to source lines, by the program's DWARF.

use std::sync::{Arc, Mutex, PoisonError};

use addr2line::Context;
use gimli::{EndianReader, LittleEndian};

use crate::image::Image;
use crate::metered::{Budget, Metered};
use crate::names::demangle;

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

impl Image {
    /// Where in the source the instruction at `address` comes from.
    ///
    /// If functions were inlined there, the innermost comes first, each followed by the place
    /// in its caller; the last entry is in the function that has the code. Empty: not known, as
    /// in programs that were compiled without `-g`. Compressed debug sections (`-gz`) are not
    /// read. Debug information that refers to itself so that it takes much more work than its size counts as not known
    /// either. At most 32 places are given.
    ///
    /// ```
    /// use riverrun_program::Image;
    ///
    /// let image = Image::parse(riverrun_program::doc::TINY)?;
    /// for place in image.locate(image.entry()) {
    ///     println!("{:?} at {:?}:{:?}", place.function, place.file, place.line);
    /// }
    /// assert!(image.locate(image.entry()).is_empty(), "it was compiled without -g");
    /// # Ok::<(), riverrun_program::LoadError>(())
    /// ```
    pub fn locate(&self, address: u64) -> Vec<SourceLocation> {
        let lines = self.lazy.lines.get_or_init(|| Lines::read(self));
        let link_address = address.wrapping_sub(self.bias());
        match lines {
            Some(lines) if self.is_text(address) => lines.locate(link_address),
            _ => Vec::new(),
        }
    }
}

impl Lines {
    fn read(image: &Image) -> Option<Self> {
        let file = EndianReader::new(Arc::clone(image.shared_bytes()), LittleEndian);
        let budget = Budget::default();
        budget.set(allowance(image.bytes().len()));
        let sections = image.raw_sections()?;
        let load = |id: gimli::SectionId| -> Result<Metered, gimli::Error> {
            let bytes = file.range(image.uncompressed(&sections, id.name()).unwrap_or(0..0));
            Ok(Metered::new(bytes, budget.clone()))
        };
        let dwarf = gimli::Dwarf::load(load).ok()?;
        let context = Context::from_dwarf(dwarf).ok()?;
        let total = allowance(image.bytes().len());
        Some(Self(Mutex::new(Lookup { context, budget, total })))
    }

    fn locate(&self, link_address: u64) -> Vec<SourceLocation> {
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
