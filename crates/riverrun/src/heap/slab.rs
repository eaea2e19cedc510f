//! Slabs: runs of pages cut into blocks of one size class. Which blocks are free is a list through a table of
//! one word a block, which lies on the host's side.

use super::classes::{Class, SMALL_MAX};
use super::words::{END, FREE, Words};

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
        let (capacity, first) = (shape.capacity, words.take(shape.capacity));
        Slab { class: class as u8, clean, used: 0, free: END, fresh: 0, capacity, first }
    }

    /// Whether no block is free.
    pub(super) fn is_full(&self) -> bool {
        self.used == self.capacity
    }

    /// Takes a free block; there must be one. Gives its index, and whether it is zero.
    #[inline(always)]
    pub(super) fn take(&mut self, words: &mut Words, tag: Tag) -> (u32, bool) {
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
    pub(super) fn give(&mut self, words: &mut Words, index: u32) {
        words[self.first + index] = FREE | std::mem::replace(&mut self.free, index);
        self.used -= 1;
    }
}
