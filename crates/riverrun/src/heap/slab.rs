//! Slabs: runs of pages cut into blocks of one size class. Which blocks are free is a list through a table of
//! one word a block, which lies on the host's side.

use std::collections::BTreeSet;

use super::classes::{Class, SMALL_MAX};
use super::words::{END, FREE, UNLISTED, Words};

/// A block that is in use: whose it is, and how many bytes were asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Tag {
    pub(super) size: u32,
    pub(super) owner: Owner,
}

/// Of the word of a block in use that is the host's. If it is the guest's, the word is its size.
const HOST: u32 = 1 << 30;
const _: () = assert!(SMALL_MAX < HOST as u64);

impl Tag {
    /// The size is at most [`SMALL_MAX`].
    #[inline(always)]
    pub(super) fn word(self) -> u32 {
        self.size | if self.owner == Owner::Host { HOST } else { 0 }
    }
}

impl Tag {
    /// The tag of a block in use, from its word.
    pub(super) fn of(word: u32) -> Option<Tag> {
        let owner = if word & HOST != 0 { Owner::Host } else { Owner::Guest };
        let tag = Tag { size: word & !HOST, owner };
        (u64::from(tag.size) <= SMALL_MAX).then_some(tag)
    }
}

/// The size of a block in use that is the guest's, from its word.
#[inline(always)]
pub(super) fn size_of_guests(word: u32) -> Option<u64> {
    let size = u64::from(word);
    (size <= SMALL_MAX).then_some(size)
}

/// Who frees a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Owner {
    Guest,
    Host,
}

/// What is known of a slab's block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Block {
    InUse(Tag),
    Freed,
    NeverUsed,
}

#[derive(Clone, Debug)]
pub(super) struct Slab {
    pub(super) class: u8,
    /// Whether blocks that have never been used are zero.
    clean: bool,
    pub(super) used: u32,
    /// The first of the list of free blocks.
    free: u32,
    /// Blocks from this index on have never been used; they are in no list.
    fresh: u32,
    pub(super) capacity: u32,
    /// The number of the first block's word: a tag for a block in use, the list's next for a free one.
    pub(super) first: u32,
}

impl Slab {
    pub(super) fn new(class: usize, shape: &Class, clean: bool, words: &mut Words) -> Slab {
        let (capacity, first) = (shape.capacity, words.allocate(shape.capacity));
        Slab { class: class as u8, clean, used: 0, free: END, fresh: 0, capacity, first }
    }

    /// A slab whose first blocks have these words, of which these are in its list of free blocks; takes the numbers of the
    /// listed words out of `unlisted`. `None` if the list has a block twice, or one that is not free.
    pub(super) fn restore(
        class: u8,
        shape: &Class,
        clean: bool,
        blocks: &[u32],
        free: &[u32],
        words: &mut Words,
        unlisted: &mut BTreeSet<u32>,
    ) -> Option<Slab> {
        let mut slab = Slab::new(usize::from(class), shape, clean, words);
        slab.fresh = blocks.len() as u32;
        slab.used = slab.fresh.checked_sub(u32::try_from(free.len()).ok()?)?;
        for (index, &word) in (0..).zip(blocks) {
            words[slab.first + index] = if word & FREE == 0 { word } else { UNLISTED };
            if word & FREE != 0 {
                unlisted.insert(slab.first + index);
            }
        }
        // The first of the list is put there last.
        for &index in free.iter().rev() {
            if index >= slab.fresh || !unlisted.remove(&(slab.first + index)) {
                return None;
            }
            words[slab.first + index] = FREE | std::mem::replace(&mut slab.free, index);
        }
        Some(slab)
    }

    /// Whether blocks that have never been used are zero.
    pub(super) fn clean(&self) -> bool {
        self.clean
    }

    /// Blocks from this index on have never been used.
    pub(super) fn fresh(&self) -> u32 {
        self.fresh
    }

    /// The list of free blocks.
    pub(super) fn free_list(&self, words: &Words) -> Vec<u32> {
        let block = |index| (index != END).then_some(index);
        std::iter::successors(block(self.free), |&index| block(words[self.first + index] & !FREE)).collect()
    }

    /// Whether no block is free.
    pub(super) fn is_full(&self) -> bool {
        self.used == self.capacity
    }

    /// Takes a free block; there must be one. Gives its index, and whether it is zero.
    #[inline(always)]
    pub(super) fn allocate(&mut self, words: &mut Words, tag: Tag) -> (u32, bool) {
        let (index, zero) = match self.free {
            END => {
                self.fresh += 1;
                (self.fresh - 1, self.clean)
            }
            index => {
                self.free = words[self.first + index] & !FREE;
                (index, false)
            }
        };
        self.used += 1;
        words[self.first + index] = tag.word();
        (index, zero)
    }

    /// What is known of block `index`; the rest behind the last block counts as never used.
    #[inline(always)]
    pub(super) fn block(&self, words: &Words, index: u32) -> Block {
        if index >= self.fresh {
            return Block::NeverUsed;
        }
        match words[self.first + index] {
            word if word & FREE != 0 => Block::Freed,
            word if word & HOST != 0 => Block::InUse(Tag { size: word - HOST, owner: Owner::Host }),
            size => Block::InUse(Tag { size, owner: Owner::Guest }),
        }
    }

    /// Makes a block free that is in use.
    #[inline(always)]
    pub(super) fn free(&mut self, words: &mut Words, index: u32) {
        words[self.first + index] = FREE | std::mem::replace(&mut self.free, index);
        self.used -= 1;
    }
}
