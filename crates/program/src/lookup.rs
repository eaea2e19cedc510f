//! What an image knows of its addresses, and how it was made: from tables that are read when they are first asked for.

use std::ops::Range;

use crate::attributes::{self, Attributes};
use crate::image::Image;
use crate::lines::{Lines, SourceLocation};
use crate::sections::Section;
use crate::symbols::{Symbol, SymbolTable};
use crate::unwind_tables::UnwindTables;

impl Image {
    /// All sections in the order of the file; none if they were stripped.
    pub fn sections(&self) -> impl Iterator<Item = Section<'_>> {
        self.file.sections()
    }

    /// The first section of that name.
    ///
    /// ```
    /// use riverrun_program::Image;
    ///
    /// let image = Image::parse(riverrun_program::doc::TINY)?;
    /// if let Some(section) = image.section(".comment") {
    ///     let compiler = String::from_utf8_lossy(&image.bytes()[section.file]);
    ///     println!("made by {compiler}");
    /// }
    /// assert_eq!(image.section(".comment"), None);
    /// # Ok::<(), riverrun_program::LoadError>(())
    /// ```
    pub fn section(&self, name: &str) -> Option<Section<'_>> {
        self.file.section(name)
    }

    /// Whether Go's compiler made the program, by what Go's linker writes. Its functions do not keep to the psABI: they
    /// preserve no register. Reads the whole file if there are no such sections.
    pub fn is_go(&self) -> bool {
        attributes::is_go(&self.file)
    }

    /// What the compiler recorded about the instruction set; all unknown if it recorded nothing.
    pub fn attributes(&self) -> &Attributes {
        self.lazy.attributes.get_or_init(|| Attributes::of(&self.file))
    }

    /// The identity that the linker gave to this very file (`--build-id`), usually 20 bytes.
    pub fn build_id(&self) -> Option<&[u8]> {
        attributes::build_id(self.bytes())
    }

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
        let lines = self.lazy.lines.get_or_init(|| Lines::of(&self.file));
        if self.is_text(address) { lines.locate(address.wrapping_sub(self.bias())) } else { Vec::new() }
    }

    /// The symbol that `address` belongs to, and the distance from its start in bytes.
    ///
    /// Of several at one address, global ones with few leading underscores are preferred.
    /// Labels of unknown size reach to the next symbol, and count only in the text.
    ///
    /// ```
    /// use riverrun_program::Image;
    ///
    /// let image = Image::parse(riverrun_program::doc::TINY)?;
    /// if let Some((symbol, offset)) = image.symbol_at(image.entry()) {
    ///     println!("starts in {}+{offset:#x}", symbol.name);
    /// }
    /// assert_eq!(image.symbol_at(image.entry()), None, "it is stripped");
    /// # Ok::<(), riverrun_program::LoadError>(())
    /// ```
    pub fn symbol_at(&self, address: u64) -> Option<(Symbol<'_>, u64)> {
        self.symbol_table().at(&self.file, self.text(), address)
    }

    /// The symbol of that name, global rather than weak rather than local.
    pub fn symbol(&self, name: &str) -> Option<Symbol<'_>> {
        self.symbol_table().named(&self.file, name)
    }

    /// All symbols that name an address of the program, sorted by address.
    ///
    /// Left out are undefined ones, absolute values, offsets of thread-local variables, names of
    /// files and sections, and the compiler's own labels.
    pub fn symbols(&self) -> impl ExactSizeIterator<Item = Symbol<'_>> {
        self.symbol_table().iter(&self.file)
    }

    fn symbol_table(&self) -> &SymbolTable {
        self.lazy.symbols.get_or_init(|| SymbolTable::of(&self.file, self.segments()).unwrap_or_default())
    }

    /// The addresses of what unwind tables describe: mostly a function each, with a name or without. In no
    /// order; they may overlap.
    pub fn unwind_ranges(&self) -> impl Iterator<Item = Range<u64>> {
        let loaded = |address: u64| address.wrapping_add(self.bias());
        self.unwind_tables().ranges().map(move |addresses| loaded(addresses.start)..loaded(addresses.end))
    }

    pub(crate) fn unwind_tables(&self) -> &UnwindTables {
        self.lazy.unwind.get_or_init(|| UnwindTables::of(&self.file))
    }
}
