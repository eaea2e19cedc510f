//! The allocator's records as data for a file, and back.
//!
//! A restored allocator allocates the same addresses as the saved one would. The data is not trusted:
//! [`Allocator::restore`] checks all that the allocator relies on. The data's size and the largest arena bound its time
//! and memory.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::super::cache::{Cache, Kept, Magazine};
use super::super::classes::{CLASS, CLASSES, PAGE};
use super::super::runs::{NONE, PAGES_MAX, Runs, Use};
use super::super::slab::{Block, Owner, Slab, Tag};
use super::super::words::{FREE, Words};
use super::{Allocator, Counts};

/// The records of an allocator.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct SavedAllocator {
    start: u64,
    /// In order of address, without gaps.
    runs: Vec<SavedRun>,
    /// Which of the runs are free: list after list, as they would be taken.
    free: Vec<u32>,
    /// Which of the runs are slabs with free blocks: list after list, as they would be used.
    partial: Vec<u32>,
    /// The first page of the arena from which on none has ever been used.
    untouched: u32,
    has_cache: bool,
    /// Addresses of blocks in magazines, those of a class in the order in which they were freed.
    kept: Vec<u32>,
    peak_requested: u64,
    allocations: u64,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
enum SavedRun {
    Free {
        pages: u32,
    },
    Slab {
        class: u8,
        clean: bool,
        /// The tag, as a word, of each block that has ever been used; [`FREE`] for those that are not in use.
        blocks: Vec<u32>,
        /// The slab's free blocks as they would be taken.
        free: Vec<u32>,
    },
    Large {
        pages: u32,
        size: u64,
        is_hosts: bool,
    },
}

impl Allocator {
    pub(crate) fn save(&self) -> SavedAllocator {
        let in_order = self.runs.in_order();
        let number: BTreeMap<u32, u32> = in_order.iter().zip(0..).map(|((id, _), number)| (*id, number)).collect();
        let numbers = |ids: Vec<u32>| ids.iter().filter_map(|id| number.get(id).copied()).collect();
        let runs = in_order.iter().map(|(_, run)| match &run.used_for {
            Use::Free => SavedRun::Free { pages: run.pages },
            Use::Large { size, owner } => {
                SavedRun::Large { pages: run.pages, size: *size, is_hosts: *owner == Owner::Host }
            }
            Use::Slab(slab) => self.save_slab(slab),
        });
        SavedAllocator {
            start: self.start,
            runs: runs.collect(),
            free: numbers(self.runs.free_lists()),
            partial: numbers(self.partial_lists()),
            untouched: self.runs.untouched(),
            has_cache: !self.cache.magazines().is_empty(),
            kept: self.cache.magazines().iter().flat_map(Magazine::kept).map(|kept| kept.address).collect(),
            peak_requested: self.counts.peak_requested,
            allocations: self.allocations(),
        }
    }

    fn save_slab(&self, slab: &Slab) -> SavedRun {
        let word = |index| match slab.block(&self.words, index) {
            Block::InUse(tag) => tag.word(),
            Block::Freed | Block::NeverUsed => FREE,
        };
        let blocks = (0..slab.fresh()).map(word).collect();
        SavedRun::Slab { class: slab.class, clean: slab.clean(), blocks, free: slab.free_list(&self.words) }
    }

    /// Slabs with free blocks, list after list.
    fn partial_lists(&self) -> Vec<u32> {
        let mut slabs = Vec::new();
        for &first in &self.partial {
            let mut id = first;
            while id != NONE {
                slabs.push(id);
                id = self.runs[id].next;
            }
        }
        slabs
    }

    /// `None` if no allocator whose arena has at most `limit` pages can have made this.
    pub(crate) fn restore(saved: &SavedAllocator, limit: u64) -> Option<Allocator> {
        let mut words = Words::default();
        // Free blocks that are in no slab's list.
        let mut unlisted = BTreeSet::new();
        let mut requested = 0_u64;
        let mut uses = Vec::with_capacity(saved.runs.len());
        let mut was_free = false;
        let limit = limit.min(u64::from(PAGES_MAX)) as u32;
        let mut pages_left = limit;
        for run in &saved.runs {
            let (pages, used_for) = run.restore(&mut words, &mut unlisted)?;
            let is_free = matches!(used_for, Use::Free);
            // Free neighbours have merged.
            if pages == 0 || is_free && was_free {
                return None;
            }
            pages_left = pages_left.checked_sub(pages)?;
            was_free = is_free;
            requested = requested.checked_add(run.requested())?;
            uses.push((pages, used_for));
        }
        let arena = u64::from(limit - pages_left) * PAGE;
        let is_placed = saved.start.is_multiple_of(PAGE) && saved.start.checked_add(arena)? <= 1 << 32;
        let is_counted = requested <= saved.peak_requested && saved.allocations <= u64::MAX / 2;
        if !is_placed || !is_counted || saved.untouched > limit - pages_left {
            return None;
        }
        let mut allocator = Allocator {
            start: saved.start,
            runs: Runs::restore(uses, saved.untouched),
            partial: [NONE; CLASSES],
            words,
            cache: if saved.has_cache { Cache::new() } else { Cache::default() },
            counts: Counts {
                peak_requested: saved.peak_requested,
                below_peak: saved.peak_requested - requested,
                allocations: saved.allocations,
            },
        };
        allocator.restore_lists(saved)?;
        allocator.restore_magazines(saved, unlisted)?;
        Some(allocator)
    }

    /// Puts every free run and every slab with free blocks into its list, once.
    fn restore_lists(&mut self, saved: &SavedAllocator) -> Option<()> {
        let mut listed = BTreeSet::new();
        // The first of a list is put there last.
        for &number in saved.free.iter().rev() {
            let id = self.runs.restored(number)?;
            if !matches!(self.runs[id].used_for, Use::Free) || !listed.insert(id) {
                return None;
            }
            self.runs.list(id);
        }
        for &number in saved.partial.iter().rev() {
            let id = self.runs.restored(number)?;
            let Use::Slab(slab) = &self.runs[id].used_for else { return None };
            let (class, is_full) = (usize::from(slab.class), slab.is_full());
            if is_full || !listed.insert(id) {
                return None;
            }
            self.link(class, id);
        }
        let is_listed = |used_for: &Use| match used_for {
            Use::Free => true,
            Use::Slab(slab) => !slab.is_full(),
            Use::Large { .. } => false,
        };
        (self.runs.iter().filter(|run| is_listed(&run.used_for)).count() == listed.len()).then_some(())
    }

    /// Fills the magazines with all blocks that are free and in no slab's list, by the numbers of their words.
    fn restore_magazines(&mut self, saved: &SavedAllocator, mut unlisted: BTreeSet<u32>) -> Option<()> {
        for &address in &saved.kept {
            let offset = u64::from(address).checked_sub(self.start)?;
            let (slab, index) = self.runs.small(self.runs.owner(offset / PAGE), offset)?;
            let (number, class) = (slab.first + index, usize::from(slab.class));
            if !unlisted.remove(&number) {
                return None;
            }
            let magazine = self.cache.of(class)?;
            *magazine.next()? = Kept { address, number };
            magazine.fill();
        }
        unlisted.is_empty().then_some(())
    }
}

impl SavedRun {
    /// Its pages, and its use.
    fn restore(&self, words: &mut Words, unlisted: &mut BTreeSet<u32>) -> Option<(u32, Use)> {
        match *self {
            SavedRun::Free { pages } => Some((pages, Use::Free)),
            SavedRun::Large { pages, size, is_hosts } => {
                let owner = if is_hosts { Owner::Host } else { Owner::Guest };
                (size <= u64::from(pages) * PAGE).then_some((pages, Use::Large { size, owner }))
            }
            SavedRun::Slab { class, clean, ref blocks, ref free } => {
                let shape = CLASS.get(usize::from(class))?;
                let is_sound = |&word: &u32| word == FREE || Tag::of(word).is_some_and(|tag| tag.size <= shape.size);
                if blocks.len() > shape.capacity as usize || !blocks.iter().all(is_sound) {
                    return None;
                }
                Some((shape.pages, Use::Slab(Slab::restore(class, shape, clean, blocks, free, words, unlisted)?)))
            }
        }
    }

    /// The sum of the sizes that were requested for the blocks in use of this run.
    fn requested(&self) -> u64 {
        match self {
            SavedRun::Free { .. } => 0,
            SavedRun::Large { size, .. } => *size,
            SavedRun::Slab { blocks, .. } => {
                blocks.iter().filter_map(|&word| Tag::of(word)).map(|tag| u64::from(tag.size)).sum()
            }
        }
    }
}

#[cfg(test)]
impl SavedAllocator {
    /// Copies of the records, in each of which one bit, or seven, of one byte of the serialised form are flipped.
    pub(in crate::heap) fn forged(&self) -> Vec<SavedAllocator> {
        let bytes = postcard::to_allocvec(self).unwrap_or_default();
        let mut forged = Vec::new();
        for at in 0..bytes.len() {
            for flip in [1, 2, 4, 0x10, 0x40, 0x7f] {
                let mut other = bytes.clone();
                other[at] ^= flip;
                forged.extend(postcard::from_bytes::<SavedAllocator>(&other));
            }
        }
        forged
    }
}
