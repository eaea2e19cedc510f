//! Page runs: they divide the arena without gaps, and each is free, a slab of small blocks, or one large block. Allocation
//! is a two-level segregated fit: free runs are in lists by length, a bitmap says which lists are not empty, and a freed
//! run merges with free neighbours. Every operation examines a bounded number of runs.

use super::classes::{CLASS, CLASSES, Class, PAGE, step_above, step_below};
use super::slab::{Owner, Slab};

/// No run: the number of a record that stands for none, and is never used.
pub(super) const NONE: u32 = 0;
/// Pages of the largest arena: 4 GiB.
pub(super) const PAGES_MAX: u32 = 1 << 20;
/// Lists of free runs.
const BINS: usize = step_below(PAGES_MAX) + 1;

/// The use of a page run.
#[derive(Clone, Debug)]
pub(super) enum Use {
    /// Free: it is in a list of free runs.
    Free,
    /// Small blocks of one class.
    Slab(Slab),
    /// One block: how many bytes were asked for, and whose it is.
    Large { size: u64, owner: Owner },
}

/// Adjacent pages with one use.
#[derive(Clone, Debug)]
pub(super) struct Run {
    /// The first, counted from the arena's start.
    pub(super) start: u32,
    pub(super) pages: u32,
    /// Neighbours in the list of free runs of this length, or of slabs with free blocks.
    pub(super) previous: u32,
    pub(super) next: u32,
    pub(super) used_for: Use,
}

impl Run {
    fn end(&self) -> u32 {
        self.start + self.pages
    }
}

/// The run of a page.
#[derive(Clone, Copy, Debug)]
pub(super) struct Page(u32);

/// Bits of a class; one number more means none.
const CLASS_BITS: u32 = (CLASSES as u32).ilog2() + 1;
const _: () = assert!((PAGES_MAX as u64 + 1) << CLASS_BITS <= 1 << 32);

impl Page {
    const NONE: Page = Page::new(NONE, CLASSES);

    const fn new(run: u32, class: usize) -> Page {
        Page(run << CLASS_BITS | class as u32)
    }

    /// The run.
    #[inline(always)]
    pub(super) fn run(self) -> u32 {
        self.0 >> CLASS_BITS
    }

    /// The class of its blocks if it is a slab's, else none.
    #[inline(always)]
    pub(super) fn class(self) -> usize {
        (self.0 & ((1 << CLASS_BITS) - 1)) as usize
    }
}

#[derive(Clone, Debug)]
pub(super) struct Runs {
    /// The records; those of merged runs are used again.
    records: Vec<Run>,
    unused: Vec<u32>,
    /// For every page the run that it belongs to: exact for a run's first and last page, and for all pages
    /// of a slab. Of other pages, what it was before.
    owners: Vec<Page>,
    bins: [u32; BINS],
    /// Which lists have runs.
    filled: [u64; BINS.div_ceil(64)],
    /// Pages from here on have never been used, and are zero.
    untouched: u32,
}

const NO_RUN: Run = Run { start: 0, pages: 0, previous: NONE, next: NONE, used_for: Use::Free };

impl Default for Runs {
    fn default() -> Runs {
        Runs {
            records: vec![NO_RUN],
            unused: Vec::new(),
            owners: Vec::new(),
            bins: [NONE; BINS],
            filled: [0; BINS.div_ceil(64)],
            untouched: 0,
        }
    }
}

impl std::ops::Index<u32> for Runs {
    type Output = Run;

    fn index(&self, id: u32) -> &Run {
        &self.records[id as usize]
    }
}

impl std::ops::IndexMut<u32> for Runs {
    fn index_mut(&mut self, id: u32) -> &mut Run {
        &mut self.records[id as usize]
    }
}

impl Runs {
    /// Pages of the arena.
    pub(super) fn pages(&self) -> u32 {
        self.owners.len() as u32
    }

    /// The run that has this page, if it is the run's first or last or the run is a slab; else any.
    #[inline(always)]
    pub(super) fn owner(&self, page: u64) -> u32 {
        self.page(page).map_or(NONE, Page::run)
    }

    /// What is known of a page of the arena: as [`Runs::owner`].
    #[inline(always)]
    pub(super) fn page(&self, page: u64) -> Option<Page> {
        self.owners.get(page as usize).copied()
    }

    /// The slab that this run is, and which of its blocks starts at this offset from the arena's start.
    #[inline(always)]
    pub(super) fn small(&self, id: u32, offset: u64) -> Option<(&Slab, u32)> {
        let run = &self[id];
        let Use::Slab(slab) = &run.used_for else { return None };
        let within = offset.wrapping_sub(u64::from(run.start) * PAGE);
        if within >= u64::from(run.pages) * PAGE {
            return None;
        }
        let index = CLASS[usize::from(slab.class) % CLASSES].index(within).ok()?;
        (index < slab.capacity).then_some((slab, index))
    }

    /// The used run that has this page: looked for from run to run, for messages about errors only.
    pub(super) fn search(&self, page: u32) -> Option<&Run> {
        let used = |run: &&Run| !matches!(run.used_for, Use::Free) && (run.start..run.end()).contains(&page);
        self.records.iter().find(used)
    }

    /// Pages of the free run at the arena's end.
    pub(super) fn free_at_end(&self) -> u32 {
        match self.pages().checked_sub(1).map(|last| &self[self.owner(u64::from(last))]) {
            Some(Run { used_for: Use::Free, pages, .. }) => *pages,
            _ => 0,
        }
    }

    /// All runs, in no order.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Run> {
        self.records.iter().filter(|run| run.pages != 0)
    }

    /// All runs in order of address, with their numbers.
    pub(super) fn in_order(&self) -> Vec<(u32, &Run)> {
        let mut runs: Vec<_> = (0..).zip(&self.records).filter(|(_, run)| run.pages != 0).collect();
        runs.sort_by_key(|(_, run)| run.start);
        runs
    }

    /// The numbers of the free runs, list after list.
    pub(super) fn free_lists(&self) -> Vec<u32> {
        let mut free = Vec::new();
        for &first in &self.bins {
            let mut id = first;
            while id != NONE {
                free.push(id);
                id = self[id].next;
            }
        }
        free
    }

    /// Pages from here on have never been used.
    pub(super) fn untouched(&self) -> u32 {
        self.untouched
    }

    /// Runs with these pages and uses, one after the other, of [`PAGES_MAX`] pages at most. No run is in a list yet.
    pub(super) fn restore(uses: Vec<(u32, Use)>, untouched: u32) -> Runs {
        let mut runs = Runs { untouched, ..Runs::default() };
        for (pages, used_for) in uses {
            let start = runs.pages();
            runs.owners.resize((start + pages) as usize, Page::NONE);
            let class = match &used_for {
                Use::Slab(slab) => Some(usize::from(slab.class)),
                Use::Free | Use::Large { .. } => None,
            };
            let id = runs.record(start, pages);
            runs[id].used_for = used_for;
            match class {
                Some(class) => runs.claim_all(id, class),
                None => runs.claim_ends(id),
            }
        }
        runs
    }

    /// The number of the run that was given to [`Runs::restore`] in this place.
    pub(super) fn restored(&self, place: u32) -> Option<u32> {
        place.checked_add(1).filter(|&id| (id as usize) < self.records.len())
    }

    /// Puts a free run at the front of its list.
    pub(super) fn list(&mut self, id: u32) {
        self.hang(id);
    }

    /// Adds free pages at the arena's end.
    pub(super) fn extend(&mut self, pages: u32) {
        let start = self.pages();
        self.owners.resize((start + pages) as usize, Page::NONE);
        let id = self.record(start, pages);
        self.free(id);
    }

    fn record(&mut self, start: u32, pages: u32) -> u32 {
        let run = Run { start, pages, previous: NONE, next: NONE, used_for: Use::Free };
        match self.unused.pop() {
            Some(id) => {
                self[id] = run;
                id
            }
            None => {
                self.records.push(run);
                self.records.len() as u32 - 1
            }
        }
    }

    /// Forgets a run whose pages another has got.
    fn retire(&mut self, id: u32) {
        self[id] = NO_RUN;
        self.unused.push(id);
    }

    fn claim_ends(&mut self, id: u32) {
        let Run { start, pages, .. } = self[id];
        self.owners[start as usize] = Page::new(id, CLASSES);
        self.owners[(start + pages - 1) as usize] = Page::new(id, CLASSES);
    }

    fn hang(&mut self, id: u32) {
        let bin = step_below(self[id].pages);
        let next = std::mem::replace(&mut self.bins[bin], id);
        self.filled[bin / 64] |= 1 << (bin % 64);
        let run = &mut self[id];
        run.used_for = Use::Free;
        (run.previous, run.next) = (NONE, next);
        if next != NONE {
            self[next].previous = id;
        }
        self.claim_ends(id);
    }

    fn unhang(&mut self, id: u32) {
        let Run { pages, previous, next, .. } = self[id];
        if next != NONE {
            self[next].previous = previous;
        }
        if previous != NONE {
            self[previous].next = next;
            return;
        }
        let bin = step_below(pages);
        self.bins[bin] = next;
        if next == NONE {
            self.filled[bin / 64] &= !(1 << (bin % 64));
        }
    }

    /// A free run of at least that many pages: the first of its own length's list if it has as many, else
    /// one of the shortest that all have.
    fn find(&self, pages: u32) -> Option<u32> {
        let first = self.bins[step_below(pages)];
        if first != NONE && self[first].pages >= pages {
            return Some(first);
        }
        let lowest = step_above(pages);
        let mut word = lowest / 64;
        let mut filled = self.filled.get(word)? & (u64::MAX << (lowest % 64));
        while filled == 0 {
            word += 1;
            filled = *self.filled.get(word)?;
        }
        Some(self.bins[word * 64 + filled.trailing_zeros() as usize])
    }

    /// Takes a run of exactly that many pages whose first has an address that is a multiple of `alignment`
    /// pages, where the arena starts at page `base` of the guest's addresses. What the run is used for is the
    /// caller's to say. Tells whether all of its bytes are zero.
    pub(super) fn allocate(&mut self, pages: u32, alignment: u32, base: u32) -> Option<(u32, bool)> {
        let id = self.find(pages.checked_add(alignment - 1).filter(|&needed| needed <= PAGES_MAX)?)?;
        self.unhang(id);
        let start = self[id].start;
        let skipped = (base + start).next_multiple_of(alignment) - (base + start);
        let id = if skipped == 0 {
            id
        } else {
            let rest = self.record(start + skipped, self[id].pages - skipped);
            self[id].pages = skipped;
            self.hang(id);
            rest
        };
        if let Some(rest) = self.split(id, pages) {
            self.hang(rest);
        }
        self.claim_ends(id);
        let clean = self[id].start >= self.untouched;
        self.untouched = self.untouched.max(self[id].end());
        Some((id, clean))
    }

    /// Shortens a run to that many pages, and gives the run of the others.
    fn split(&mut self, id: u32, pages: u32) -> Option<u32> {
        let Run { start, pages: had, .. } = self[id];
        self[id].pages = pages.min(had);
        (had > pages).then(|| self.record(start + pages, had - pages))
    }

    /// Shortens a used run to that many pages; the others become free.
    pub(super) fn shorten(&mut self, id: u32, pages: u32) {
        if let Some(rest) = self.split(id, pages) {
            self.claim_ends(id);
            self.free(rest);
        }
    }

    /// Lengthens a run to that many pages where those behind it are free.
    pub(super) fn lengthen(&mut self, id: u32, pages: u32) -> bool {
        let Run { start, pages: had, .. } = self[id];
        let behind = self.owner(u64::from(start + had));
        if !matches!(self[behind].used_for, Use::Free) || had + self[behind].pages < pages {
            return false;
        }
        self.unhang(behind);
        self[id].pages = had + self[behind].pages;
        self.retire(behind);
        if let Some(rest) = self.split(id, pages) {
            self.hang(rest);
        }
        self.untouched = self.untouched.max(start + pages);
        self.claim_ends(id);
        true
    }

    /// Makes all pages of a run lead to it, as a slab needs.
    pub(super) fn claim_all(&mut self, id: u32, class: usize) {
        let Run { start, pages, .. } = self[id];
        self.owners[start as usize..(start + pages) as usize].fill(Page::new(id, class));
    }

    /// Makes a run free, one with its free neighbours.
    pub(super) fn free(&mut self, mut id: u32) {
        let Run { start, pages, .. } = self[id];
        let free = |runs: &Runs, page: u32| {
            Some(runs.owner(u64::from(page))).filter(|&id| id != NONE && matches!(runs[id].used_for, Use::Free))
        };
        if let Some(behind) = free(self, start + pages) {
            self.unhang(behind);
            self[id].pages += self[behind].pages;
            self.retire(behind);
        }
        if let Some(before) = start.checked_sub(1).and_then(|page| free(self, page)) {
            self.unhang(before);
            self[before].pages += self[id].pages;
            self.retire(id);
            id = before;
        }
        self.hang(id);
    }

    /// Where a run lies, in bytes from the arena's start.
    pub(super) fn offset(&self, id: u32) -> u64 {
        u64::from(self[id].start) * PAGE
    }

    /// The address of a slab's block of this number, from the arena's start.
    #[inline(always)]
    pub(super) fn block_offset(run: &Run, class: &Class, index: u32) -> u64 {
        u64::from(run.start) * PAGE + u64::from(index) * u64::from(class.size)
    }

    #[cfg(test)]
    pub(super) fn host_bytes(&self) -> usize {
        let records = self.records.capacity() * size_of::<Run>() + self.unused.capacity() * size_of::<u32>();
        records + self.owners.capacity() * size_of::<Page>()
    }

    /// Every run in order of address, checked to cover the arena.
    #[cfg(test)]
    pub(super) fn check(&self) {
        let mut end = 0;
        let mut was_free = false;
        for (id, run) in self.in_order() {
            assert_eq!(run.start, end, "runs leave no gap");
            assert_eq!([run.start, run.end() - 1].map(|page| self.owner(u64::from(page))), [id, id]);
            let free = matches!(run.used_for, Use::Free);
            assert!(!(free && was_free), "free neighbours have merged");
            (end, was_free) = (run.end(), free);
        }
        assert_eq!(end, self.pages());
    }
}
