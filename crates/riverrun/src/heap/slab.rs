//! Slabs: runs of pages cut into blocks of one size class. Which blocks are free is a list through a table of
//! one word a block, which lies on the host's side.

use super::classes::Class;

/// A block that is in use: whose it is, and how many of its bytes were not asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Tag(u32);

const IN_USE: u32 = 1 << 31;
const HOST: u32 = 1 << 30;
/// The end of the list of free blocks.
const END: u32 = IN_USE - 1;

impl Tag {
    pub(super) fn new(slack: u32, owner: Owner) -> Tag {
        debug_assert!(slack < HOST);
        Tag(IN_USE | slack | if owner == Owner::Host { HOST } else { 0 })
    }

    /// Bytes of the block that were not asked for.
    pub(super) fn slack(self) -> u32 {
        self.0 & (HOST - 1)
    }

    pub(super) fn owner(self) -> Owner {
        if self.0 & HOST == 0 { Owner::Guest } else { Owner::Host }
    }
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
    /// Blocks from this number on have never been used; they are in no list.
    fresh: u32,
    /// A tag for a block in use, the list's next for a free one.
    blocks: Box<[u32]>,
}

impl Slab {
    pub(super) fn new(class: usize, shape: &Class, clean: bool) -> Slab {
        let blocks = vec![0; shape.capacity as usize].into_boxed_slice();
        Slab { class: class as u8, clean, used: 0, free: END, fresh: 0, blocks }
    }

    /// Whether no block is free.
    pub(super) fn is_full(&self) -> bool {
        self.used == self.blocks.len() as u32
    }

    /// Takes a free block; there must be one. Gives its number, and whether it is zero.
    #[inline(always)]
    pub(super) fn take(&mut self, tag: Tag) -> (u32, bool) {
        let (index, zero) = match self.free {
            END => {
                self.fresh += 1;
                (self.fresh - 1, self.clean)
            }
            index => {
                self.free = self.blocks[index as usize];
                (index, false)
            }
        };
        self.used += 1;
        self.blocks[index as usize] = tag.0;
        (index, zero)
    }

    /// What is known of block `index`; the rest behind the last block counts as never used.
    #[inline(always)]
    pub(super) fn block(&self, index: u32) -> Block {
        match self.blocks.get(index as usize) {
            Some(&word) if word & IN_USE != 0 => Block::InUse(Tag(word)),
            Some(_) if index < self.fresh => Block::Freed,
            _ => Block::NeverUsed,
        }
    }

    /// Makes a block free that is in use.
    #[inline(always)]
    pub(super) fn give(&mut self, index: u32) {
        self.blocks[index as usize] = std::mem::replace(&mut self.free, index);
        self.used -= 1;
    }

    #[inline(always)]
    pub(super) fn set_tag(&mut self, index: u32, tag: Tag) {
        self.blocks[index as usize] = tag.0;
    }

    /// Notes that a block is free which the slab itself takes for one in use.
    #[inline(always)]
    pub(super) fn set_cached(&mut self, index: u32) {
        self.blocks[index as usize] = END;
    }

    #[cfg(test)]
    pub(super) fn host_bytes(&self) -> usize {
        size_of_val(&*self.blocks)
    }
}
