//! The allocator: which blocks of an arena are in use, and whether guest or host owns them. It handles addresses only and
//! never accesses guest memory, so a guest cannot write its records.

mod saved;

use super::cache::{Cache, Kept, Magazine};
use super::classes::{CLASS, CLASSES, GRANULE, PAGE, SMALL_MAX, class_of};
use super::runs::{NONE, PAGES_MAX, Runs, Use};
use super::slab::{Block, Owner, Slab, Tag, size_of_guests};
use super::words::{UNLISTED, Words};
use crate::heap_error::HeapProblem as Problem;

pub(crate) use saved::SavedAllocator;

/// A newly allocated block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Allocated {
    pub(crate) address: u64,
    /// Whether its bytes have never been used, so that they are zero.
    pub(crate) zero: bool,
}

/// A block in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct InUse {
    /// Requested bytes.
    pub(crate) size: u64,
    /// Bytes that it has.
    pub(crate) capacity: u64,
    pub(crate) owner: Owner,
    place: Place,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Place {
    run: u32,
    /// Which of a slab's blocks it is.
    index: u32,
}

/// Counters that cannot be computed from the runs; sizes in bytes. (Each one costs time in every allocation.)
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) peak_requested: u64,
    /// What is missing to it.
    below_peak: u64,
    /// Allocations, those apart that the cache has served.
    allocations: u64,
}

/// Totals computed from the runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Census {
    /// Blocks in use.
    pub(crate) blocks: u64,
    /// Bytes of them.
    pub(crate) taken: u64,
    /// Bytes of free pages.
    pub(crate) free: u64,
    /// Bytes of the longest run of such.
    pub(crate) longest_free: u64,
}

#[derive(Clone, Debug)]
pub(crate) struct Allocator {
    /// The guest address of the arena's first page.
    start: u64,
    runs: Runs,
    /// For each class the first of its slabs that have free blocks.
    partial: [u32; CLASSES],
    words: Words,
    cache: Cache,
    counts: Counts,
}

/// The arena has no free place for this: it would have to grow by that many pages to be sure of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Full {
    pub(crate) pages: u64,
}

impl Allocator {
    /// An empty arena that starts at this address, a multiple of the page size.
    pub(crate) fn new(start: u64) -> Allocator {
        Allocator {
            start,
            runs: Runs::default(),
            partial: [NONE; CLASSES],
            words: Words::default(),
            cache: Cache::default(),
            counts: Counts::default(),
        }
    }

    /// The same with a cache: [`Allocator::allocate_cached`] and [`Allocator::free_cached`] have something to do.
    pub(crate) fn cached(self) -> Allocator {
        Allocator { cache: Cache::new(), ..self }
    }

    /// Gives the allocator a cache, or takes it away.
    pub(crate) fn set_cached(&mut self, is_cached: bool) {
        if self.cache.of(0).is_some() == is_cached {
            return;
        }
        self.empty_cache();
        self.counts.allocations += self.cache.taken();
        self.cache = if is_cached { Cache::new() } else { Cache::default() };
    }

    pub(crate) fn start(&self) -> u64 {
        self.start
    }

    /// One past the arena's last byte.
    pub(crate) fn end(&self) -> u64 {
        self.start + u64::from(self.runs.pages()) * PAGE
    }

    pub(crate) fn counts(&self) -> &Counts {
        &self.counts
    }

    /// Blocks allocated so far.
    pub(crate) fn allocations(&self) -> u64 {
        self.counts.allocations + self.cache.taken()
    }

    /// Computes the totals.
    pub(crate) fn census(&self) -> Census {
        let mut census = Census::default();
        for run in self.runs.iter() {
            let bytes = u64::from(run.pages) * PAGE;
            match &run.used_for {
                Use::Free => {
                    census.free += bytes;
                    census.longest_free = census.longest_free.max(bytes);
                }
                Use::Slab(slab) => {
                    census.blocks += u64::from(slab.used);
                    census.taken += u64::from(slab.used) * u64::from(CLASS[usize::from(slab.class)].size);
                }
                Use::Large { .. } => {
                    census.blocks += 1;
                    census.taken += bytes;
                }
            }
        }
        let (blocks, bytes) = self.cache.census();
        census.blocks -= blocks;
        census.taken -= bytes;
        census
    }

    /// Adds that many pages at the arena's end, as many as there can be at most.
    pub(crate) fn extend(&mut self, pages: u64) {
        let pages = pages.min(u64::from(PAGES_MAX - self.runs.pages())) as u32;
        if pages != 0 {
            self.runs.extend(pages);
        }
    }

    /// Takes a block of at least `size` bytes, with every byte of `alignment`, a power of two.
    #[inline(always)]
    pub(crate) fn allocate(&mut self, size: u64, alignment: u64, owner: Owner) -> Result<Allocated, Full> {
        if size <= SMALL_MAX && alignment <= PAGE {
            let mut class = class_of(size);
            if alignment > GRANULE {
                class = class_of(size.max(alignment));
                // The powers of two are classes, so this ends within a doubling of the size.
                while u64::from(CLASS[class].size) % alignment != 0 {
                    class += 1;
                }
            }
            self.allocate_small(class, size, owner)
        } else {
            self.allocate_large(size, alignment, owner)
        }
    }

    /// Takes for the guest the block that was freed last, if there is one of its class.
    #[inline(always)]
    pub(crate) fn allocate_cached(&mut self, size: u64) -> Option<u64> {
        if size > SMALL_MAX {
            return None;
        }
        let Kept { address, number } = self.cache.take(class_of(size))?;
        *self.words.get_mut(number)? = Tag { size: size as u32, owner: Owner::Guest }.word();
        self.counts.asked_for(size);
        Some(u64::from(address))
    }

    /// Takes a small block for the guest where a slab has one.
    pub(crate) fn allocate_listed(&mut self, size: u64) -> Option<u64> {
        if size > SMALL_MAX {
            return None;
        }
        let class = class_of(size);
        // Without a cache, each use is to be told of.
        if self.cache.of(class).is_none() || self.partial[class] == NONE {
            return None;
        }
        self.allocate_small(class, size, Owner::Guest).ok().map(|taken| taken.address)
    }

    /// Keeps a small block of the guest's as the one that was freed last, if it is the one that was taken last; false
    /// where it is not. If a size is said, it has to be the block's.
    #[inline(always)]
    pub(crate) fn free_last(&mut self, address: u64, size: Option<u64>) -> bool {
        match self.cache.last() {
            Some(magazine) if magazine.next_is(address) => {
                Allocator::keep(magazine, &mut self.words, &mut self.counts, size)
            }
            _ => false,
        }
    }

    /// Keeps a small block of the guest's as the one that was freed last, or gives it to its slab where enough are
    /// kept; false where it is none in use. If a size is said, it has to be the block's.
    #[inline(always)]
    pub(crate) fn free_cached(&mut self, address: u64, size: Option<u64>) -> bool {
        let offset = address.wrapping_sub(self.start);
        let Some(page) = self.runs.page(offset / PAGE) else { return false };
        let Some(magazine) = self.cache.of(page.class()) else { return false };
        let Some(next) = magazine.next() else { return self.free_listed(page.run(), address, size) };
        if u64::from(next.address) != address {
            let Ok(address) = u32::try_from(address) else { return false };
            let Some((slab, index)) = self.runs.small(page.run(), offset) else { return false };
            *next = Kept { address, number: slab.first + index };
        }
        Allocator::keep(magazine, &mut self.words, &mut self.counts, size)
    }

    fn free_listed(&mut self, run: u32, address: u64, size: Option<u64>) -> bool {
        let Some((slab, index)) = self.runs.small(run, address - self.start) else { return false };
        let Some(has) = size_of_guests(self.words[slab.first + index]) else { return false };
        if size.is_some_and(|size| size != has) {
            return false;
        }
        self.counts.gave(has);
        self.free_small(Place { run, index });
        true
    }

    /// Keeps the block that is in a magazine's next place, if it is in use, the guest's, and has this size.
    #[inline(always)]
    fn keep(magazine: &mut Magazine, words: &mut Words, counts: &mut Counts, size: Option<u64>) -> bool {
        let Some(next) = magazine.next() else { return false };
        let Some(word) = words.get_mut(next.number) else { return false };
        let Some(has) = size_of_guests(*word) else { return false };
        if size.is_some_and(|size| size != has) {
            return false;
        }
        *word = UNLISTED;
        magazine.fill();
        counts.gave(has);
        true
    }

    /// Returns all blocks of the magazines to their slabs.
    fn empty_cache(&mut self) {
        for class in 0..CLASSES {
            while let Some(Kept { address, .. }) = self.cache.of(class).and_then(Magazine::remove) {
                let offset = u64::from(address) - self.start;
                let run = self.runs.owner(offset / PAGE);
                if let Some((_, index)) = self.runs.small(run, offset) {
                    self.free_small(Place { run, index });
                }
            }
        }
    }

    #[inline(always)]
    fn allocate_small(&mut self, class: usize, size: u64, owner: Owner) -> Result<Allocated, Full> {
        let shape = &CLASS[class];
        let id = match self.partial[class] {
            NONE => self.new_slab(class)?,
            id => id,
        };
        let run = &mut self.runs[id];
        let Use::Slab(slab) = &mut run.used_for else { unreachable!("lists of slabs hold slabs") };
        let (index, zero) = slab.allocate(&mut self.words, Tag { size: size as u32, owner });
        let full = slab.is_full();
        let address = self.start + Runs::block_offset(run, shape, index);
        if full {
            self.unlink(class, id);
        }
        self.counts.took(size);
        Ok(Allocated { address, zero })
    }

    #[cold]
    fn new_slab(&mut self, class: usize) -> Result<u32, Full> {
        let shape = &CLASS[class];
        let base = (self.start / PAGE) as u32;
        let (id, clean) = match self.runs.allocate(shape.pages, 1, base) {
            Some(taken) => taken,
            None => {
                self.release_empty_slabs();
                // Blocks of this class may have been kept.
                match self.partial[class] {
                    NONE => self.runs.allocate(shape.pages, 1, base).ok_or(self.full(u64::from(shape.pages)))?,
                    id => return Ok(id),
                }
            }
        };
        self.runs[id].used_for = Use::Slab(Slab::new(class, shape, clean, &mut self.words));
        self.runs.claim_all(id, class);
        self.link(class, id);
        Ok(id)
    }

    #[inline(never)]
    fn allocate_large(&mut self, size: u64, alignment: u64, owner: Owner) -> Result<Allocated, Full> {
        // More than any arena has, and yet with room to calculate in.
        let limit = u64::from(PAGES_MAX) + 1;
        let pages = size.div_ceil(PAGE).clamp(1, limit);
        let alignment = (alignment / PAGE).clamp(1, limit);
        let needed = pages + alignment - 1;
        if pages >= limit || alignment >= limit {
            return Err(Full { pages: needed });
        }
        let base = (self.start / PAGE) as u32;
        let allocate = |runs: &mut Runs| runs.allocate(pages as u32, alignment as u32, base);
        let allocated = allocate(&mut self.runs).or_else(|| {
            self.release_empty_slabs();
            allocate(&mut self.runs)
        });
        let (id, zero) = allocated.ok_or(self.full(needed))?;
        self.runs[id].used_for = Use::Large { size, owner };
        self.counts.took(size);
        Ok(Allocated { address: self.start + self.runs.offset(id), zero })
    }

    /// How far the arena has to grow for a run of so many pages: what is free at its end counts.
    fn full(&self, pages: u64) -> Full {
        Full { pages: pages.saturating_sub(u64::from(self.runs.free_at_end())).max(1) }
    }

    /// The block in use that starts at this address. [`Allocator::explain`] says why there is none. (This is
    /// no `Result`: a problem's size would send every block through memory.)
    #[inline(always)]
    pub(crate) fn find(&self, address: u64) -> Option<InUse> {
        let offset = address.wrapping_sub(self.start);
        let id = self.runs.owner(offset / PAGE);
        let run = &self.runs[id];
        match run.used_for {
            Use::Slab(_) => {
                let (slab, index) = self.runs.small(id, offset)?;
                let Block::InUse(tag) = slab.block(&self.words, index) else { return None };
                let capacity = u64::from(CLASS[usize::from(slab.class)].size);
                let (size, owner) = (u64::from(tag.size), tag.owner);
                Some(InUse { size, capacity, owner, place: Place { run: id, index } })
            }
            Use::Large { size, owner } if u64::from(run.start) * PAGE == offset => {
                let capacity = u64::from(run.pages) * PAGE;
                Some(InUse { size, capacity, owner, place: Place { run: id, index: 0 } })
            }
            _ => None,
        }
    }

    /// Why there is no block in use at this address. Slow, but the error ends the guest's run.
    #[cold]
    pub(crate) fn explain(&self, address: u64) -> Problem {
        let foreign = Problem::Foreign { address };
        if !(self.start..self.end()).contains(&address) {
            return foreign;
        }
        let offset = address - self.start;
        let Some(run) = self.runs.search((offset / PAGE) as u32) else { return Problem::Freed { address } };
        let start = u64::from(run.start) * PAGE;
        let Use::Slab(slab) = &run.used_for else {
            return Problem::Inside { address, block: self.start + start };
        };
        let shape = &CLASS[usize::from(slab.class)];
        let (Ok(index) | Err(index)) = shape.index((offset - start) & !(GRANULE - 1));
        let block = start + u64::from(index) * u64::from(shape.size);
        match slab.block(&self.words, index) {
            Block::InUse(_) => Problem::Inside { address, block: self.start + block },
            Block::Freed if block == offset => Problem::Freed { address },
            Block::Freed | Block::NeverUsed => foreign,
        }
    }

    /// Gives a block back that [`Allocator::find`] has just found.
    #[inline(always)]
    pub(crate) fn free(&mut self, block: &InUse) {
        self.counts.gave(block.size);
        match &self.runs[block.place.run].used_for {
            Use::Slab(_) => self.free_small(block.place),
            _ => self.release(block.place.run),
        }
    }

    #[inline(always)]
    fn free_small(&mut self, Place { run: id, index }: Place) {
        let Use::Slab(slab) = &mut self.runs[id].used_for else { return };
        let was_full = slab.is_full();
        slab.free(&mut self.words, index);
        let empty = slab.used == 0;
        let class = usize::from(slab.class);
        let run = &self.runs[id];
        // An empty slab that is the only one in its list stays: it is likely to be wanted again.
        if was_full || empty && run.previous != run.next {
            self.relink(class, id, was_full);
        }
    }

    /// Puts a slab that was full into its list again, or makes one free that is empty and not alone there.
    #[cold]
    fn relink(&mut self, class: usize, id: u32, was_full: bool) {
        if was_full {
            self.link(class, id);
        }
        let run = &self.runs[id];
        if matches!(&run.used_for, Use::Slab(slab) if slab.used == 0) && run.previous != run.next {
            self.unlink(class, id);
            self.release(id);
        }
    }

    /// Makes a block larger or smaller where it stands, if it can be.
    pub(crate) fn resize(&mut self, block: &InUse, size: u64) -> bool {
        let Place { run: id, index } = block.place;
        match &self.runs[id].used_for {
            // Of another class: smaller, it would keep what others could use.
            Use::Slab(slab) if size <= SMALL_MAX && class_of(size) == usize::from(slab.class) => {
                self.words[slab.first + index] = Tag { size: size as u32, owner: block.owner }.word();
            }
            Use::Large { .. } if size > SMALL_MAX && size <= u64::from(PAGES_MAX) * PAGE => {
                let pages = size.div_ceil(PAGE) as u32;
                if pages > self.runs[id].pages {
                    if !self.runs.lengthen(id, pages) {
                        return false;
                    }
                } else {
                    self.runs.shorten(id, pages);
                }
                self.runs[id].used_for = Use::Large { size, owner: block.owner };
            }
            _ => return false,
        }
        self.counts.gave(block.size);
        self.counts.took(size);
        true
    }

    /// Hands a block over.
    pub(crate) fn set_owner(&mut self, block: &InUse, owner: Owner) {
        let Place { run, index } = block.place;
        match &mut self.runs[run].used_for {
            Use::Slab(slab) => self.words[slab.first + index] = Tag { size: block.size as u32, owner }.word(),
            used_for => *used_for = Use::Large { size: block.size, owner },
        }
    }

    /// Makes a run free: what was known of its blocks does not hold any more.
    fn release(&mut self, id: u32) {
        if let Use::Slab(slab) = &self.runs[id].used_for {
            self.words.free(slab.first, slab.capacity);
            self.cache.forget(usize::from(slab.class));
        }
        self.runs.free(id);
    }

    fn link(&mut self, class: usize, id: u32) {
        let next = std::mem::replace(&mut self.partial[class], id);
        let run = &mut self.runs[id];
        (run.previous, run.next) = (NONE, next);
        if next != NONE {
            self.runs[next].previous = id;
        }
    }

    fn unlink(&mut self, class: usize, id: u32) {
        let (previous, next) = (self.runs[id].previous, self.runs[id].next);
        if next != NONE {
            self.runs[next].previous = previous;
        }
        if previous == NONE {
            self.partial[class] = next;
        } else {
            self.runs[previous].next = next;
        }
    }

    /// Gives back the slabs that were kept: one of each class at most.
    fn release_empty_slabs(&mut self) {
        self.empty_cache();
        for class in 0..CLASSES {
            let id = self.partial[class];
            if id == NONE {
                continue;
            }
            if matches!(&self.runs[id].used_for, Use::Slab(slab) if slab.used == 0) {
                self.unlink(class, id);
                self.release(id);
            }
        }
    }
}

#[cfg(test)]
impl Allocator {
    /// Checks what must be true between operations.
    pub(super) fn check(&self) {
        self.runs.check();
    }

    /// Bytes of the host's memory that the records take.
    pub(super) fn host_bytes(&self) -> usize {
        self.runs.host_bytes() + self.words.host_bytes()
    }
}

impl Counts {
    /// Bytes asked for of blocks in use.
    pub(crate) fn requested(&self) -> u64 {
        self.peak_requested - self.below_peak
    }

    #[inline(always)]
    fn took(&mut self, size: u64) {
        self.allocations += 1;
        self.asked_for(size);
    }

    #[inline(always)]
    fn asked_for(&mut self, size: u64) {
        let is_more;
        (self.below_peak, is_more) = self.below_peak.overflowing_sub(size);
        if is_more {
            self.raise_peak();
        }
    }

    /// Updates the peak of requested bytes.
    #[cold]
    fn raise_peak(&mut self) {
        self.peak_requested = self.peak_requested.wrapping_sub(self.below_peak);
        self.below_peak = 0;
    }

    #[inline(always)]
    fn gave(&mut self, size: u64) {
        self.below_peak += size;
    }
}
