//! From guest addresses to compiled functions: a hash table in the artifact.

use std::fmt;

/// The artifact's symbol for the table of functions.
pub const DISPATCH_SYMBOL: &str = "riverrun_dispatch";
/// The artifact's symbol for the list of other places where functions can be entered: their number
/// and their guest addresses, sorted, in 32 bits each.
pub const ENTRANCES_SYMBOL: &str = "riverrun_entrances";

/// The artifact's section of [`riverrun_state::FaultExit`]s.
pub const FAULT_EXITS_SECTION: &str = "riverrun_fault_exits";

/// The artifact's symbol for [`crate::Header::identity`].
pub const IDENTITY_SYMBOL: &str = "riverrun_identity";

/// A place of the table.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot {
    /// The guest address of a function's first instruction, or [`Slot::FREE`].
    pub pc: u32,
    /// From the table's first slot to the compiled function, in bytes.
    pub offset: i32,
}

impl Slot {
    /// What no guest can jump to, as jumps clear the lowest bit: no target is ever found in a free
    /// place.
    pub const FREE: u32 = 1;
}

/// A table in memory; also what says how tables are laid out.
#[derive(Clone, Copy)]
pub struct Dispatch {
    slots: &'static [Slot],
}

impl fmt::Debug for Dispatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Dispatch").field("slots", &self.slots.len()).finish()
    }
}

impl Dispatch {
    /// Addresses are multiplied by this before the highest bits are taken.
    pub const MULTIPLIER: u32 = 0x9e37_79b1;

    /// The number of bits that index a table of so many functions: at most half of it is filled.
    pub fn index_bits(functions: usize) -> u32 {
        (2 * functions.max(1)).next_power_of_two().trailing_zeros().max(1)
    }

    /// Where to look for an address first; then follow the places behind it, round the end, up to
    /// the first that is free.
    pub fn index(pc: u32, bits: u32) -> usize {
        (pc.wrapping_mul(Self::MULTIPLIER) >> (32 - bits)) as usize
    }

    /// # Safety
    /// There are `1 << bits` slots at `first`, which live as long as the result is used.
    pub(crate) unsafe fn new(first: *const Slot, bits: u32) -> Dispatch {
        // SAFETY: as the caller promises.
        Dispatch { slots: unsafe { std::slice::from_raw_parts(first, 1 << bits) } }
    }

    /// Where functions begin, sorted.
    pub(crate) fn starts(&self) -> Vec<u32> {
        let mut starts: Vec<u32> = self.slots.iter().map(|slot| slot.pc).filter(|&pc| pc != Slot::FREE).collect();
        starts.sort_unstable();
        starts
    }

    /// The guest address of the function whose host code begins at `host` or, of all, nearest before it.
    pub(crate) fn start_before(&self, host: usize) -> Option<u64> {
        let table = self.slots.as_ptr() as usize;
        let code = |slot: &Slot| table.wrapping_add_signed(slot.offset as isize);
        let functions = self.slots.iter().filter(|slot| slot.pc != Slot::FREE && code(slot) <= host);
        functions.max_by_key(|slot| code(slot)).map(|slot| slot.pc.into())
    }

    /// The host address of the function that begins at `pc`.
    pub(crate) fn find(&self, pc: u64) -> Option<usize> {
        let pc = u32::try_from(pc).ok().filter(|pc| pc % 2 == 0)?;
        let bits = self.slots.len().trailing_zeros();
        let mut index = Self::index(pc, bits);
        for _ in 0..self.slots.len() {
            let slot = self.slots[index];
            if slot.pc == pc {
                return Some((self.slots.as_ptr() as usize).wrapping_add_signed(slot.offset as isize));
            }
            if slot.pc == Slot::FREE {
                return None;
            }
            index = (index + 1) % self.slots.len();
        }
        None
    }
}
