//! Unwind tables, by address: `.eh_frame` and `.debug_frame`.

use std::collections::HashMap;
use std::ops::Range;

use gimli::{
    BaseAddresses, CieOrFde, DebugFrame, EhFrame, EndianSlice, LittleEndian, Result as CfiResult, UnwindSection,
};

use crate::sections::ElfFile;

pub(crate) type Slice<'data> = EndianSlice<'data, LittleEndian>;

/// The program's unwind tables, with an index: they themselves have no order.
pub(crate) struct UnwindTables {
    pub(crate) eh_frame: FrameIndex,
    pub(crate) debug_frame: FrameIndex,
}

/// Where in a section the entry for an address is. All addresses are those of the file.
pub(crate) struct FrameIndex {
    pub(crate) section: Range<usize>,
    pub(crate) bases: BaseAddresses,
    /// Code ranges with the offsets of their entries, sorted by their starts.
    entries: Vec<(Range<u64>, usize)>,
}

impl UnwindTables {
    pub(crate) fn of(file: &ElfFile) -> Self {
        let address = |name| file.section(name).map(|at| at.address.wrapping_sub(file.bias));
        let bases = || {
            let bases = BaseAddresses::default();
            let bases = address(".eh_frame").map_or(bases.clone(), |at| bases.set_eh_frame(at));
            let bases = address(".text").map_or(bases.clone(), |at| bases.set_text(at));
            address(".got").map_or(bases.clone(), |at| bases.set_got(at))
        };
        let range = |name| {
            let sections = file.raw_sections();
            sections.and_then(|table| file.uncompressed(&table, name)).unwrap_or(0..0)
        };
        let bytes = |range: &Range<usize>| file.bytes.get(range.clone()).unwrap_or_default();
        let (eh_frame, debug_frame) = (range(".eh_frame"), range(".debug_frame"));
        let eh_section = EhFrame::new(bytes(&eh_frame), LittleEndian);
        let debug_section = DebugFrame::new(bytes(&debug_frame), LittleEndian);
        Self {
            eh_frame: FrameIndex::build(eh_frame, &eh_section, bases()),
            debug_frame: FrameIndex::build(debug_frame, &debug_section, bases()),
        }
    }
}

impl UnwindTables {
    /// The ranges of addresses that entries describe, as they are in the file. In no order; they may overlap.
    pub(crate) fn ranges(&self) -> impl Iterator<Item = &Range<u64>> {
        self.eh_frame.entries.iter().chain(&self.debug_frame.entries).map(|(addresses, _)| addresses)
    }
}

impl FrameIndex {
    /// Reads the headers of all entries, up to the first that makes no sense.
    fn build<'data, S>(range: Range<usize>, section: &S, bases: BaseAddresses) -> Self
    where
        S: UnwindSection<Slice<'data>>,
        S::Offset: std::hash::Hash,
    {
        let mut entries = Vec::new();
        let mut cies = HashMap::new();
        let mut iterator = section.entries(&bases);
        while let Ok(Some(entry)) = iterator.next() {
            let CieOrFde::Fde(partial) = entry else { continue };
            let fde = partial.parse(|section, bases, offset| -> CfiResult<_> {
                if let Some(cie) = cies.get(&offset) {
                    return Ok(Clone::clone(cie));
                }
                let cie = section.cie_from_offset(bases, offset)?;
                cies.insert(offset, cie.clone());
                Ok(cie)
            });
            if let Ok(fde) = fde
                && fde.initial_address() < fde.end_address()
            {
                entries.push((fde.initial_address()..fde.end_address(), fde.offset()));
            }
        }
        entries.sort_by_key(|(addresses, _)| addresses.start);
        Self { section: range, bases, entries }
    }

    pub(crate) fn find(&self, address: u64) -> Option<usize> {
        let after = self.entries.partition_point(|(addresses, _)| addresses.start <= address);
        let (addresses, offset) = self.entries.get(after.checked_sub(1)?)?;
        addresses.contains(&address).then_some(*offset)
    }
}
