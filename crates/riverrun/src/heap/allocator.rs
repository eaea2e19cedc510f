//! The allocator's own state: which blocks of an arena are whose. It knows addresses, and nothing of the
//! memory behind them: not one of its records is where a guest could write.

use super::cache::Cache;
use super::classes::{CLASS, CLASSES, GRANULE, PAGE, SMALL_MAX, class_of};
use super::error::HeapProblem as Problem;
use super::runs::{NONE, PAGES_MAX, Runs, Use};
use super::slab::{Block, Owner, Slab, Tag};

/// A block that has been taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Taken {
    pub(crate) address: u64,
    /// Whether nobody has had its bytes before, so that they are zero.
    pub(crate) zero: bool,
}

/// A block in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct InUse {
    /// Bytes that were asked for.
    pub(crate) size: u64,
    /// Bytes that it has.
    pub(crate) capacity: u64,
    pub(crate) owner: Owner,
    place: Place,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    run: u32,
    /// The number of a slab's block.
    index: u32,
}

impl Place {
    pub(super) const NONE: Place = Place { run: NONE, index: 0 };
}

const NO_PLACE: (u64, Place) = (0, Place::NONE);

/// What cannot be told from the runs; sizes in bytes. (Each counter costs every allocation its time.)
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    /// Bytes asked for of all blocks that were taken.
    taken: u64,
    /// Those of blocks that were given back: apart, lest each operation waits for the one before.
    given: u64,
    pub(crate) peak_requested: u64,
    pub(crate) allocations: u64,
}

/// What can be told from them.
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
    /// The small block that was taken last, likely to be the next one freed: what is compared need not be
    /// waited for. Address 0 is none.
    last: (u64, Place),
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
            last: NO_PLACE,
            cache: Cache::new(),
            counts: Counts::default(),
        }
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

    /// What the arena holds, counted.
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
                Use::Large(_) => {
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
    pub(crate) fn take(&mut self, size: u64, alignment: u64, owner: Owner) -> Result<Taken, Full> {
        if size <= SMALL_MAX && alignment <= PAGE {
            let mut class = class_of(size);
            if alignment > GRANULE {
                class = class_of(size.max(alignment));
                // The powers of two are classes, so this ends within a doubling of the size.
                while u64::from(CLASS[class].size) % alignment != 0 {
                    class += 1;
                }
            }
            self.take_small(class, size, owner)
        } else {
            self.take_large(size, alignment, owner)
        }
    }

    /// Takes the block for the guest that was freed last, if there is one of its class.
    #[inline(always)]
    pub(crate) fn take_cached(&mut self, size: u64) -> Option<u64> {
        if size > SMALL_MAX {
            return None;
        }
        let class = class_of(size);
        let (address, place) = self.cache.take(class)?;
        let Use::Slab(slab) = &mut self.runs[place.run].used_for else { return None };
        slab.set_tag(place.index, Tag::new(CLASS[class].size - size as u32, Owner::Guest));
        // What is written would have to be waited for.
        if self.last != (address, place) {
            self.last = (address, place);
        }
        self.counts.took(size);
        Some(address)
    }

    /// Keeps a small block of the guest's as the one that was freed last; false where it is none in use, or where
    /// another is kept. If a size is said, it has to be the block's.
    #[inline(always)]
    pub(crate) fn give_cached(&mut self, address: u64, size: Option<u64>) -> bool {
        let (last, mut place) = self.last;
        if address != last {
            match self.place_of_small(address) {
                Some(found) => place = found,
                None => return false,
            }
        }
        let Use::Slab(slab) = &mut self.runs[place.run].used_for else { return false };
        let Block::InUse(tag) = slab.block(place.index) else { return false };
        let class = usize::from(slab.class) % CLASSES;
        let has = u64::from(CLASS[class].size - tag.slack());
        if tag.owner() != Owner::Guest || size.is_some_and(|size| size != has) {
            return false;
        }
        if !self.cache.give(class, address, place) {
            return false;
        }
        slab.set_cached(place.index);
        self.counts.given = self.counts.given.wrapping_add(has);
        true
    }

    /// Where the small block is that starts at this address, in use or not.
    #[inline(always)]
    fn place_of_small(&self, address: u64) -> Option<Place> {
        let offset = address.wrapping_sub(self.start);
        let id = self.runs.owner(offset / PAGE);
        let run = &self.runs[id];
        let Use::Slab(slab) = &run.used_for else { return None };
        let index = CLASS[usize::from(slab.class) % CLASSES].index(run.offset_within(offset)?).ok()?;
        Some(Place { run: id, index })
    }

    /// Gives the slabs what was kept.
    fn empty_cache(&mut self) {
        for class in 0..CLASSES {
            if let Some((_, place)) = self.cache.take(class) {
                self.give_small(place);
            }
        }
    }

    #[inline(always)]
    fn take_small(&mut self, class: usize, size: u64, owner: Owner) -> Result<Taken, Full> {
        let shape = &CLASS[class];
        let id = match self.partial[class] {
            NONE => self.new_slab(class)?,
            id => id,
        };
        let run = &mut self.runs[id];
        let Use::Slab(slab) = &mut run.used_for else { unreachable!("lists of slabs hold slabs") };
        let (index, zero) = slab.take(Tag::new(shape.size - size as u32, owner));
        let full = slab.is_full();
        let address = self.start + Runs::block_offset(run, shape, index);
        if full {
            self.unlink(class, id);
        }
        self.last = (address, Place { run: id, index });
        self.counts.took(size);
        Ok(Taken { address, zero })
    }

    #[cold]
    fn new_slab(&mut self, class: usize) -> Result<u32, Full> {
        let shape = &CLASS[class];
        let base = (self.start / PAGE) as u32;
        let (id, clean) = match self.runs.take(shape.pages, 1, base) {
            Some(taken) => taken,
            None => {
                self.release_empty_slabs();
                // Blocks of this class may have been kept.
                match self.partial[class] {
                    NONE => self.runs.take(shape.pages, 1, base).ok_or(self.full(u64::from(shape.pages)))?,
                    id => return Ok(id),
                }
            }
        };
        self.runs[id].used_for = Use::Slab(Slab::new(class, shape, clean));
        self.runs.claim_all(id);
        self.link(class, id);
        Ok(id)
    }

    #[inline(never)]
    fn take_large(&mut self, size: u64, alignment: u64, owner: Owner) -> Result<Taken, Full> {
        // More than any arena has, and yet with room to calculate in.
        let limit = u64::from(PAGES_MAX) + 1;
        let pages = size.div_ceil(PAGE).clamp(1, limit);
        let alignment = (alignment / PAGE).clamp(1, limit);
        let needed = pages + alignment - 1;
        if pages >= limit || alignment >= limit {
            return Err(Full { pages: needed });
        }
        let base = (self.start / PAGE) as u32;
        let take = |runs: &mut Runs| runs.take(pages as u32, alignment as u32, base);
        let taken = take(&mut self.runs).or_else(|| {
            self.release_empty_slabs();
            take(&mut self.runs)
        });
        let (id, zero) = taken.ok_or(self.full(needed))?;
        self.runs[id].used_for = Use::Large(Tag::new((pages * PAGE - size) as u32, owner));
        self.counts.took(size);
        Ok(Taken { address: self.start + self.runs.offset(id), zero })
    }

    /// How far the arena has to grow for a run of so many pages: what is free at its end counts.
    fn full(&self, pages: u64) -> Full {
        Full { pages: pages.saturating_sub(u64::from(self.runs.free_at_end())).max(1) }
    }

    /// The block in use that starts at this address. [`Allocator::explain`] says why there is none. (This is
    /// no `Result`: a problem's size would send every block through memory.)
    #[inline(always)]
    pub(crate) fn find(&self, address: u64) -> Option<InUse> {
        let (last, place) = self.last;
        if address == last
            && let Use::Slab(slab) = &self.runs[place.run].used_for
            && let Block::InUse(tag) = slab.block(place.index)
        {
            let capacity = u64::from(CLASS[usize::from(slab.class)].size);
            return Some(InUse { size: capacity - u64::from(tag.slack()), capacity, owner: tag.owner(), place });
        }
        let offset = address.wrapping_sub(self.start);
        let id = self.runs.owner(offset / PAGE);
        let run = &self.runs[id];
        match &run.used_for {
            Use::Slab(slab) => {
                let shape = &CLASS[usize::from(slab.class)];
                let index = shape.index(run.offset_within(offset)?).ok()?;
                let Block::InUse(tag) = slab.block(index) else { return None };
                let capacity = u64::from(shape.size);
                let size = capacity - u64::from(tag.slack());
                Some(InUse { size, capacity, owner: tag.owner(), place: Place { run: id, index } })
            }
            Use::Large(tag) if u64::from(run.start) * PAGE == offset => {
                let capacity = u64::from(run.pages) * PAGE;
                let size = capacity - u64::from(tag.slack());
                Some(InUse { size, capacity, owner: tag.owner(), place: Place { run: id, index: 0 } })
            }
            _ => None,
        }
    }

    /// Why there is no block in use at this address. Takes time, which the guest pays for with its life.
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
        match slab.block(index) {
            Block::InUse(_) => Problem::Inside { address, block: self.start + block },
            Block::Freed if block == offset => Problem::Freed { address },
            Block::Freed | Block::NeverUsed => foreign,
        }
    }

    /// Gives a block back that [`Allocator::find`] has just found.
    #[inline(always)]
    pub(crate) fn give(&mut self, block: &InUse) {
        self.counts.given = self.counts.given.wrapping_add(block.size);
        match &self.runs[block.place.run].used_for {
            Use::Slab(_) => self.give_small(block.place),
            _ => self.release(block.place.run),
        }
    }

    #[inline(always)]
    fn give_small(&mut self, Place { run: id, index }: Place) {
        let Use::Slab(slab) = &mut self.runs[id].used_for else { return };
        let was_full = slab.is_full();
        slab.give(index);
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
        match &mut self.runs[id].used_for {
            // Of another class: smaller, it would keep what others could use.
            Use::Slab(slab) if size <= SMALL_MAX && class_of(size) == usize::from(slab.class) => {
                slab.set_tag(index, Tag::new((block.capacity - size) as u32, block.owner));
            }
            Use::Large(_) if size > SMALL_MAX && size <= u64::from(PAGES_MAX) * PAGE => {
                let pages = size.div_ceil(PAGE) as u32;
                if pages > self.runs[id].pages {
                    if !self.runs.lengthen(id, pages) {
                        return false;
                    }
                } else {
                    self.runs.shorten(id, pages);
                }
                let slack = u64::from(pages) * PAGE - size;
                self.runs[id].used_for = Use::Large(Tag::new(slack as u32, block.owner));
            }
            _ => return false,
        }
        self.counts.given = self.counts.given.wrapping_add(block.size);
        self.counts.took(size);
        true
    }

    /// Hands a block over.
    pub(crate) fn set_owner(&mut self, block: &InUse, owner: Owner) {
        let tag = Tag::new((block.capacity - block.size) as u32, owner);
        match &mut self.runs[block.place.run].used_for {
            Use::Slab(slab) => slab.set_tag(block.place.index, tag),
            used_for => *used_for = Use::Large(tag),
        }
    }

    /// Makes a run free: what was known of its blocks does not hold any more.
    fn release(&mut self, id: u32) {
        self.last = NO_PLACE;
        self.runs.give(id);
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
        self.runs.host_bytes()
    }
}

impl Counts {
    /// Bytes asked for of blocks in use.
    #[inline(always)]
    pub(crate) fn requested(&self) -> u64 {
        self.taken.wrapping_sub(self.given)
    }

    #[inline(always)]
    fn took(&mut self, size: u64) {
        self.allocations += 1;
        self.taken = self.taken.wrapping_add(size);
        self.peak_requested = self.peak_requested.max(self.requested());
    }
}
