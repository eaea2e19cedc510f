//! Where the host's kernel may keep two mappings of a [`Window`](crate::Window) apart that permissions do not.
//!
//! The kernel merges neighbouring mappings of the same permissions if they are of the same origin: both the same file's, or
//! both anonymous and of one `anon_vma`, which a mapping gets with its first page and hands on where it is split. A window
//! is made as one anonymous mapping that has a page, so all of it merges, whatever its pages are used for: such addresses
//! are *native*. What is mapped in their place later (a program's image, a saved memory's file, moved pages, another
//! mapping of zeros) is *foreign*. Each end of a change of foreign addresses is a *seam*: the kernel may have a border
//! there for ever after.
//!
//! So the kernel has a border at each border of a region or a hole, and at seams, but nowhere else. The window counts
//! these against its limit.

use std::collections::BTreeSet;
use std::ops::Range;

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Seams {
    /// Sorted, not overlapping, none empty, neighbours do not touch.
    foreign: Vec<Range<u64>>,
    /// In or at the ends of foreign ranges, those ends among them.
    at: BTreeSet<u64>,
}

impl Seams {
    /// Of a window of which all is foreign.
    pub(crate) fn all_foreign(window: Range<u64>) -> Seams {
        Seams { foreign: vec![window], at: BTreeSet::new() }
    }

    fn foreign_of(&self, range: &Range<u64>) -> &[Range<u64>] {
        let first = self.foreign.partition_point(|foreign| foreign.end <= range.start);
        let last = self.foreign.partition_point(|foreign| foreign.start < range.end);
        &self.foreign[first..last.max(first)]
    }

    /// The parts of a range that are foreign, in order.
    pub(crate) fn foreign_within(&self, range: Range<u64>) -> Vec<Range<u64>> {
        let clip = |foreign: &Range<u64>| foreign.start.max(range.start)..foreign.end.min(range.end);
        self.foreign_of(&range).iter().map(clip).collect()
    }

    /// The parts of a range that are native, in order.
    pub(crate) fn native_within(&self, range: Range<u64>) -> Vec<Range<u64>> {
        let mut native = Vec::new();
        let mut at = range.start;
        for foreign in self.foreign_within(range.clone()) {
            native.push(at..foreign.start);
            at = foreign.end;
        }
        native.push(at..range.end);
        native.retain(|part| !part.is_empty());
        native
    }

    /// Notes that mappings have been split at the ends of a range.
    pub(crate) fn split(&mut self, range: &Range<u64>) {
        for end in [range.start, range.end] {
            if self.foreign.iter().any(|foreign| foreign.start < end && end < foreign.end) {
                self.at.insert(end);
            }
        }
    }

    /// Notes that a mapping of its own is all of a range now.
    pub(crate) fn replace(&mut self, range: &Range<u64>) {
        let inside: Vec<u64> = self.at.range(range.clone()).copied().collect();
        for seam in inside {
            self.at.remove(&seam);
        }
        self.at.extend([range.start, range.end]);
        // What touches becomes one.
        let first = self.foreign.partition_point(|foreign| foreign.end < range.start);
        let last = self.foreign.partition_point(|foreign| foreign.start <= range.end).max(first);
        let touched = &self.foreign[first..last];
        let start = touched.first().map_or(range.start, |foreign| foreign.start.min(range.start));
        let end = touched.last().map_or(range.end, |foreign| foreign.end.max(range.end));
        self.foreign.splice(first..last, std::iter::once(start..end));
    }

    /// Notes that a range cannot be accessed, and that its foreign parts have been replaced by mappings without a page:
    /// the kernel merges these with what is native in the range.
    pub(crate) fn absorb(&mut self, range: &Range<u64>) {
        if self.native_within(range.clone()).is_empty() {
            return;
        }
        let mut foreign = Vec::with_capacity(self.foreign.len() + 1);
        for whole in &self.foreign {
            foreign.push(whole.start..whole.end.min(range.start));
            foreign.push(whole.start.max(range.end)..whole.end);
        }
        foreign.retain(|part| !part.is_empty());
        let inside: Vec<u64> = self.at.range(range.start..=range.end).copied().collect();
        for seam in inside {
            self.at.remove(&seam);
        }
        // The ends of what is left.
        self.at.extend(
            foreign
                .iter()
                .flat_map(|part| [part.start, part.end])
                .filter(|end| *end == range.start || *end == range.end),
        );
        self.foreign = foreign;
    }

    /// How many seams lie strictly within a range.
    pub(crate) fn count_within(&self, range: Range<u64>) -> usize {
        match range.start + 1 < range.end && !self.at.is_empty() {
            true => self.at.range(range.start + 1..range.end).count(),
            false => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spans(ranges: &[Range<u64>]) -> Vec<(u64, u64)> {
        ranges.iter().map(|range| (range.start, range.end)).collect()
    }

    fn seams(seams: &Seams) -> Vec<u64> {
        seams.at.iter().copied().collect()
    }

    #[test]
    fn native_addresses_have_no_seams() {
        let mut changed = Seams::default();
        changed.split(&(2..5));
        changed.absorb(&(1..9));
        assert!(changed.at.is_empty() && spans(&changed.native_within(1..9)) == [(1, 9)]);
    }

    #[test]
    fn changes_of_foreign_addresses_leave_seams() {
        let mut image = Seams::default();
        image.replace(&(10..20));
        image.replace(&(20..30));
        image.split(&(5..15));
        image.split(&(15..40));
        assert_eq!(seams(&image), [10, 15, 20, 30]);
        assert_eq!((image.count_within(10..30), image.count_within(9..31), image.count_within(12..13)), (2, 4, 0));
        assert_eq!(spans(&image.foreign_within(5..40)), [(10, 30)]);
        assert_eq!(spans(&image.native_within(5..40)), [(5, 10), (30, 40)]);
        image.replace(&(12..25));
        assert_eq!(seams(&image), [10, 12, 25, 30]);
    }

    #[test]
    fn what_is_unmapped_beside_native_addresses_becomes_native() {
        let mut image = Seams::default();
        image.replace(&(10..20));
        image.absorb(&(12..14));
        assert_eq!(spans(&image.foreign), [(10, 20)]);
        image.absorb(&(5..12));
        assert_eq!((spans(&image.foreign), seams(&image)), (vec![(12, 20)], vec![12, 20]));
        image.split(&(14..16));
        image.absorb(&(12..40));
        assert!(image.foreign.is_empty() && image.at.is_empty());

        let mut all = Seams::all_foreign(0..100);
        all.replace(&(10..20));
        all.absorb(&(0..100));
        assert_eq!((spans(&all.foreign), all.at.len()), (vec![(0, 100)], 2));
    }
}
