//! The dispatch table: a hash table in the artifact from guest addresses to compiled functions, which compiled code probes,
//! too.

use std::fmt;

/// The artifact's symbol for the dispatch table.
pub const DISPATCH_SYMBOL: &str = "riverrun_dispatch";
/// The artifact's symbol for the re-entry points: their number and their guest addresses, sorted, in 32 bits each.
pub const REENTRY_POINTS_SYMBOL: &str = "riverrun_reentry_points";

/// The artifact's section of [`crate::FaultExit`]s.
pub const FAULT_EXITS_SECTION: &str = "riverrun_fault_exits";

/// The artifact's symbol for [`crate::artifact::Header::identity`].
pub const IDENTITY_SYMBOL: &str = "riverrun_identity";

/// A dispatch table in memory: the guest addresses of functions, with [`Dispatch::free`] in free places, followed by as many
/// distances in bytes from the table to the compiled functions. All are 64-bit words, so that code finds both by one index.
#[derive(Clone, Copy)]
pub struct Dispatch {
    pcs: &'static [u64],
    distances: &'static [i64],
}

impl fmt::Debug for Dispatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Dispatch").field("places", &self.pcs.len()).finish()
    }
}

impl Dispatch {
    /// Addresses are multiplied by this before the highest bits are taken.
    pub const MULTIPLIER: u32 = 0x9e37_79b1;

    /// The number of bits that index a table of so many functions: at most half of it is filled.
    pub fn index_bits(functions: usize) -> u32 {
        (2 * functions.max(1)).next_power_of_two().trailing_zeros().max(1)
    }

    /// The first place to probe for an address. Probing continues with the next places, around the end, up to a free one.
    pub fn index(pc: u32, bits: u32) -> usize {
        (pc.wrapping_mul(Self::MULTIPLIER) >> (32 - bits)) as usize
    }

    /// The word of a free place: an odd number, which is no function's address, and whose own first place is another one. So
    /// code may look up a jump's target without clearing its lowest bit, and never matches a free place.
    pub fn free(place: usize, bits: u32) -> u64 {
        [1, 5].into_iter().find(|&word| Self::index(word, bits) != place).expect("they have not the same place").into()
    }

    /// Whether a place is free, by the address that stands there.
    fn is_free(pc: u64) -> bool {
        !pc.is_multiple_of(2)
    }

    /// # Safety
    /// At `table` there is one with `1 << bits` places, which lives as long as the result is used.
    pub(crate) unsafe fn new(table: *const u64, bits: u32) -> Dispatch {
        let len = 1 << bits;
        // SAFETY: the caller passes a table of `len` addresses followed by `len` distances, which outlives `self`.
        let (pcs, distances) =
            unsafe { (std::slice::from_raw_parts(table, len), std::slice::from_raw_parts(table.add(len).cast(), len)) };
        Dispatch { pcs, distances }
    }

    /// The functions, with the host addresses of their code.
    fn functions(&self) -> impl Iterator<Item = (u64, usize)> {
        let places = self.pcs.iter().zip(self.distances).filter(|(pc, _)| !Self::is_free(**pc));
        places.map(|(pc, distance)| (*pc, self.code(*distance)))
    }

    fn code(&self, distance: i64) -> usize {
        (self.pcs.as_ptr() as usize).wrapping_add_signed(distance as isize)
    }

    /// Where functions begin, sorted.
    pub(crate) fn starts(&self) -> Vec<u32> {
        let mut starts: Vec<u32> = self.functions().map(|(pc, _)| pc as u32).collect();
        starts.sort_unstable();
        starts
    }

    /// The function whose host code begins at `host` or, of all, nearest before it: its guest address, and where that
    /// code begins.
    pub(crate) fn before(&self, host: usize) -> Option<(u64, usize)> {
        self.functions().filter(|(_, code)| *code <= host).max_by_key(|(_, code)| *code)
    }

    /// The host address of the function that begins at `pc`.
    pub(crate) fn find(&self, pc: u64) -> Option<usize> {
        let low = u32::try_from(pc).ok().filter(|pc| pc % 2 == 0)?;
        let first = Self::index(low, self.pcs.len().trailing_zeros());
        let places = (first..self.pcs.len()).chain(0..first);
        let place = places.take_while(|&place| !Self::is_free(self.pcs[place])).find(|&place| self.pcs[place] == pc)?;
        Some(self.code(self.distances[place]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_target_is_looked_for_in_a_free_place_that_has_it() {
        for bits in 1..=12 {
            for place in 0..1 << bits {
                let word = Dispatch::free(place, bits);
                assert!(Dispatch::is_free(word) && Dispatch::index(word as u32, bits) != place, "{bits} {place}");
            }
        }
    }
}
