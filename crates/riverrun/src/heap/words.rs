//! The table with one word for each block of all slabs. A block is identified by its word's number.

/// Of the word of a block that is free.
pub(super) const FREE: u32 = 1 << 31;
/// The end of the list of free blocks.
pub(super) const END: u32 = FREE - 1;
/// The word of a block that is free and in no list.
pub(super) const UNLISTED: u32 = FREE | END;

/// The words of all slabs. Those of a slab are adjacent, and their number is a power of two, so that the words of a freed
/// slab fit another one with about as many blocks.
#[derive(Clone, Debug, Default)]
pub(super) struct Words {
    words: Vec<u32>,
    /// The first words of unused groups, in a list for each power of two.
    left: [Vec<u32>; POWERS],
}

/// A slab has fewer blocks than two to this power.
const POWERS: usize = 11;

impl Words {
    fn power(blocks: u32) -> usize {
        blocks.next_power_of_two().ilog2() as usize
    }

    /// Words for so many blocks; the number of the first. All say that their blocks are free.
    pub(super) fn allocate(&mut self, blocks: u32) -> u32 {
        let power = Words::power(blocks);
        self.left[power].pop().unwrap_or_else(|| {
            let first = self.words.len();
            self.words.resize(first + (1 << power), UNLISTED);
            first as u32
        })
    }

    /// Frees the words that [`Words::allocate`] returned for a slab with this many blocks, none of which is in use.
    pub(super) fn free(&mut self, first: u32, blocks: u32) {
        self.left[Words::power(blocks)].push(first);
    }

    #[inline(always)]
    pub(super) fn get_mut(&mut self, number: u32) -> Option<&mut u32> {
        self.words.get_mut(number as usize)
    }

    #[cfg(test)]
    pub(super) fn host_bytes(&self) -> usize {
        let left: usize = self.left.iter().map(Vec::capacity).sum();
        (self.words.capacity() + left) * size_of::<u32>()
    }
}

impl std::ops::Index<u32> for Words {
    type Output = u32;

    #[inline(always)]
    fn index(&self, number: u32) -> &u32 {
        &self.words[number as usize]
    }
}

impl std::ops::IndexMut<u32> for Words {
    #[inline(always)]
    fn index_mut(&mut self, number: u32) -> &mut u32 {
        &mut self.words[number as usize]
    }
}
