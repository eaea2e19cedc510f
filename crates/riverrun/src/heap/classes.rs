//! Size classes: the sizes to which small blocks are rounded up, and the shape of their slabs.

/// Every block's address and size is a multiple of this.
pub(crate) const GRANULE: u64 = 16;
/// Blocks up to this size share slabs; larger ones have pages of their own.
pub(crate) const SMALL_MAX: u64 = 16 << 10;
/// Bytes of a page, in which slabs and large blocks are measured.
pub(crate) const PAGE: u64 = riverrun_vm::PAGE_SIZE;
/// Classes in each doubling of the size, so that rounding up adds an eighth at most.
const STEPS: u32 = 8;
/// The number of classes.
pub(crate) const CLASSES: usize = class_of_granules(SMALL_MAX as u32 / GRANULE as u32) + 1;

/// The step of `n` on a scale that is exact to 16 and then has eight steps in each doubling: rounded down.
#[inline(always)]
pub(crate) const fn step_below(n: u32) -> usize {
    let shift = (n | STEPS).ilog2() - STEPS.ilog2();
    ((n >> shift) + shift * STEPS) as usize
}

/// The lowest step all of whose numbers are at least `n`.
pub(crate) const fn step_above(n: u32) -> usize {
    let shift = (n | STEPS).ilog2() - STEPS.ilog2();
    step_below(n + (1 << shift) - 1)
}

#[inline(always)]
const fn class_of_granules(granules: u32) -> usize {
    step_below(granules - 1)
}

/// The class of blocks of `size` bytes, which is at most [`SMALL_MAX`]. Nothing takes one granule.
#[inline(always)]
pub(crate) fn class_of(size: u64) -> usize {
    usize::from(CLASS_OF[size.div_ceil(GRANULE) as usize])
}

/// By granules: looked up faster than computed.
static CLASS_OF: [u8; (SMALL_MAX / GRANULE) as usize + 1] = {
    let mut classes = [0; (SMALL_MAX / GRANULE) as usize + 1];
    let mut granules = 1;
    while granules < classes.len() {
        classes[granules] = class_of_granules(granules as u32) as u8;
        granules += 1;
    }
    classes
};

/// The shape of a class's slabs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Class {
    /// Bytes of a block.
    pub(crate) size: u32,
    /// Blocks of a slab.
    pub(crate) capacity: u32,
    /// Pages of a slab.
    pub(crate) pages: u32,
    /// 2^40 divided by the granules of a block, rounded up: dividing by it is a multiplication.
    reciprocal: u64,
}

impl Class {
    const fn new(class: usize) -> Class {
        let steps = STEPS as usize;
        let granules = if class < steps { class + 1 } else { (class % steps + steps + 1) << (class / steps - 1) };
        let size = granules as u32 * GRANULE as u32;
        // Enough pages for eight blocks, and for what remains at the end to be a sixteenth at most.
        let mut pages = 4;
        while (pages * PAGE as u32) / size < 8 || (pages * PAGE as u32) % size > pages * PAGE as u32 / 16 {
            pages += 1;
        }
        let capacity = pages * PAGE as u32 / size;
        Class { size, capacity, pages, reciprocal: (1_u64 << 40).div_ceil(granules as u64) }
    }

    /// The number of the block that starts `offset` bytes into a slab, or the one that it is in.
    pub(crate) fn index(&self, offset: u64) -> Result<u32, u32> {
        let index = (((offset / GRANULE) * self.reciprocal) >> 40) as u32;
        let exact = u64::from(index) * u64::from(self.size) == offset;
        if exact { Ok(index) } else { Err(index) }
    }
}

/// All classes, the smallest first.
pub(crate) static CLASS: [Class; CLASSES] = {
    let mut classes = [Class::new(0); CLASSES];
    let mut class = 1;
    while class < CLASSES {
        classes[class] = Class::new(class);
        class += 1;
    }
    classes
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_size_fits_its_class_and_no_smaller_one() {
        for size in 0..=SMALL_MAX {
            let class = class_of(size);
            assert!(size <= u64::from(CLASS[class].size), "{size}");
            assert!(class == 0 || size > u64::from(CLASS[class - 1].size), "{size}");
        }
        assert_eq!(u64::from(CLASS[CLASSES - 1].size), SMALL_MAX);
    }

    #[test]
    fn every_block_of_a_slab_is_found_by_its_address() {
        for class in &CLASS {
            let bytes = u64::from(class.pages) * PAGE;
            assert!(bytes <= 128 << 10, "{class:?}");
            for offset in (0..bytes).step_by(16) {
                let index = (offset / u64::from(class.size)) as u32;
                let starts = offset % u64::from(class.size) == 0;
                assert_eq!(class.index(offset), if starts { Ok(index) } else { Err(index) }, "{class:?}");
            }
        }
    }

    #[test]
    fn steps_are_in_order() {
        for n in 1..100_000 {
            assert!(step_below(n) <= step_above(n) && step_above(n) <= step_below(n + 1) + 1);
            assert_eq!(step_below(n) == step_above(n), step_below(n - 1) != step_below(n), "{n}");
        }
    }
}
