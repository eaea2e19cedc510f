//! Magazines: for each size class, the few blocks that the guest has freed last. Most are allocated again soon, and then
//! neither their slab nor its list of free blocks changes.

use super::classes::{CLASS, CLASSES};

/// The capacity of a magazine; with its counter it fills one cache line.
const DEPTH: usize = 7;

/// A small block: its address, and the number of its word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Kept {
    /// Its address.
    pub(super) address: u32,
    /// The number of its word in [`crate::heap::words`].
    pub(super) number: u32,
}

impl Kept {
    /// No block starts there.
    const NONE: Kept = Kept { address: u32::MAX, number: u32::MAX };
}

/// The magazine of a class. The slab counts a block in a magazine as in use, but the block's word says that it is free, so
/// that freeing it again is an error.
#[derive(Clone, Debug)]
#[repr(align(64))]
pub(super) struct Magazine {
    /// How many blocks there are and how many have been taken, in one word, so that both take one store.
    count: u64,
    /// The blocks, the one freed last at the end, followed by blocks that were taken. The block that was taken last is
    /// likely to be freed next; comparing with it needs no look-up and no load to wait for.
    blocks: [Kept; DEPTH],
}

/// A block that has been taken, in a magazine's count: its lower bits say how many there are.
const TAKEN: u64 = DEPTH as u64 + 1;
const _: () = assert!(TAKEN.is_power_of_two());

impl Magazine {
    const EMPTY: Magazine = Magazine { count: 0, blocks: [Kept::NONE; DEPTH] };

    #[inline(always)]
    fn filled(&self) -> usize {
        (self.count % TAKEN) as usize
    }

    /// The blocks in it, the one freed last at the end.
    pub(super) fn kept(&self) -> &[Kept] {
        &self.blocks[..self.filled()]
    }

    /// How many have been taken.
    fn taken(&self) -> u64 {
        self.count / TAKEN
    }

    /// Removes the block that was freed last.
    #[inline(always)]
    pub(super) fn remove(&mut self) -> Option<Kept> {
        let kept = *self.blocks.get(self.filled().wrapping_sub(1))?;
        self.count -= 1;
        Some(kept)
    }

    /// The next free place and the block that was there before, if there is room. [`Magazine::fill`] must follow.
    #[inline(always)]
    pub(super) fn next(&mut self) -> Option<&mut Kept> {
        let filled = self.filled();
        self.blocks.get_mut(filled)
    }

    /// Whether the block at this address was there before.
    #[inline(always)]
    pub(super) fn next_is(&self, address: u64) -> bool {
        self.blocks.get(self.filled()).is_some_and(|next| u64::from(next.address) == address)
    }

    /// Adds the block in the next place, which must exist.
    #[inline(always)]
    pub(super) fn fill(&mut self) {
        self.count = self.count.wrapping_add(1);
    }
}

/// A magazine for each class, or none at all.
#[derive(Clone, Debug, Default)]
pub(super) struct Cache {
    magazines: Vec<Magazine>,
    /// The class of which a block was taken last.
    last: usize,
}

impl Cache {
    pub(super) fn new() -> Cache {
        Cache { magazines: vec![Magazine::EMPTY; CLASSES], last: 0 }
    }

    /// All magazines; none if there is no cache.
    pub(super) fn magazines(&self) -> &[Magazine] {
        &self.magazines
    }

    #[inline(always)]
    pub(super) fn of(&mut self, class: usize) -> Option<&mut Magazine> {
        self.magazines.get_mut(class)
    }

    /// Takes the block of a class that was freed last.
    #[inline(always)]
    pub(super) fn take(&mut self, class: usize) -> Option<Kept> {
        let magazine = self.magazines.get_mut(class)?;
        let kept = magazine.remove()?;
        magazine.count = magazine.count.wrapping_add(TAKEN);
        self.last = class;
        Some(kept)
    }

    /// The magazine from which a block was taken last. It is stored, not computed from a block's address, since everything
    /// that follows would have to wait for that.
    #[inline(always)]
    pub(super) fn last(&mut self) -> Option<&mut Magazine> {
        self.magazines.get_mut(self.last)
    }

    /// Forgets the taken blocks of a class, which may no longer be blocks.
    pub(super) fn forget(&mut self, class: usize) {
        if let Some(magazine) = self.magazines.get_mut(class) {
            let filled = magazine.filled();
            magazine.blocks[filled..].fill(Kept::NONE);
        }
    }

    /// How many blocks have been taken.
    pub(super) fn taken(&self) -> u64 {
        self.magazines.iter().map(Magazine::taken).sum()
    }

    /// How many blocks are kept, and how many bytes they have.
    pub(super) fn census(&self) -> (u64, u64) {
        let filled = self.magazines.iter().map(|magazine| magazine.filled() as u64);
        let each = filled.zip(&CLASS).map(|(blocks, class)| (blocks, blocks * u64::from(class.size)));
        each.fold((0, 0), |sum, each| (sum.0 + each.0, sum.1 + each.1))
    }
}
