//! Unwind tables, by address: `.eh_frame` and `.debug_frame`.

use std::collections::HashMap;
use std::ops::Range;

use gimli::{
    BaseAddresses, CieOrFde, DebugFrame, EhFrame, EndianSlice, LittleEndian, Result as CfiResult, UnwindSection,
};

use crate::sections::{ElfFile, Section};

pub(crate) type Slice<'data> = EndianSlice<'data, LittleEndian>;

/// The program's unwind tables, with an index: they themselves have no order.
pub(crate) struct UnwindTables {
    /// Of each part of a joined program.
    pub(crate) eh_frame: Vec<FrameIndex>,
    pub(crate) debug_frame: Vec<FrameIndex>,
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
        let linked = |section: &Section<'_>| section.address.wrapping_sub(file.bias);
        let bases = |name| {
            let bases = BaseAddresses::default();
            let bases = file.section(".text").map_or(bases.clone(), |text| bases.set_text(linked(&text)));
            let bases = file.section(".got").map_or(bases.clone(), |got| bases.set_got(linked(&got)));
            file.uncompressed(name)
                .into_iter()
                .map(move |section| (bases.clone().set_eh_frame(linked(&section)), section))
        };
        let bytes = |section: &Section<'_>| file.bytes.get(section.file.clone()).unwrap_or_default();
        let eh_frame = bases(".eh_frame").map(|(bases, section)| {
            FrameIndex::build(section.file.clone(), &EhFrame::new(bytes(&section), LittleEndian), bases)
        });
        let debug_frame = bases(".debug_frame").map(|(bases, section)| {
            FrameIndex::build(section.file.clone(), &DebugFrame::new(bytes(&section), LittleEndian), bases)
        });
        Self { eh_frame: eh_frame.collect(), debug_frame: debug_frame.collect() }
    }
}

impl UnwindTables {
    /// The ranges of addresses that entries describe, as they are in the file. In no order; they may overlap.
    pub(crate) fn ranges(&self) -> impl Iterator<Item = &Range<u64>> {
        let all = self.eh_frame.iter().chain(&self.debug_frame);
        all.flat_map(|index| &index.entries).map(|(addresses, _)| addresses)
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

    /// The index that has an address, and where the entry for it is.
    pub(crate) fn find(indexes: &[FrameIndex], address: u64) -> Option<(&FrameIndex, usize)> {
        indexes.iter().find_map(|index| Some((index, index.offset(address)?)))
    }

    fn offset(&self, address: u64) -> Option<usize> {
        let after = self.entries.partition_point(|(addresses, _)| addresses.start <= address);
        let (addresses, offset) = self.entries.get(after.checked_sub(1)?)?;
        addresses.contains(&address).then_some(*offset)
    }
}
