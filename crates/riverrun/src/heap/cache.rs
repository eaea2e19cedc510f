//! The small block of each class that was freed last: mostly it is wanted again at once, and then neither its slab
//! nor the list of free blocks needs to know.

use super::allocator::Place;
use super::classes::{CLASS, CLASSES};

/// A block that was freed, and taken again or not. While it is free, its slab takes it for one in use, but the
/// slab's table says that it is free, so that nobody frees it again.
#[derive(Clone, Copy, Debug)]
struct Slot {
    address: u64,
    place: Place,
    is_free: bool,
}

#[derive(Clone, Debug)]
pub(super) struct Cache {
    slots: [Slot; CLASSES],
}

impl Cache {
    pub(super) fn new() -> Cache {
        Cache { slots: [Slot { address: 0, place: Place::NONE, is_free: false }; CLASSES] }
    }

    /// The block of this class that was freed last, with its address.
    #[inline(always)]
    pub(super) fn take(&mut self, class: usize) -> Option<(u64, Place)> {
        let slot = &mut self.slots[class % CLASSES];
        let is_free = std::mem::replace(&mut slot.is_free, false);
        is_free.then_some((slot.address, slot.place))
    }

    /// Keeps a block of this class, if none is kept.
    #[inline(always)]
    pub(super) fn give(&mut self, class: usize, address: u64, place: Place) -> bool {
        let slot = &mut self.slots[class % CLASSES];
        if slot.is_free {
            return false;
        }
        // What is written would have to be waited for.
        if (slot.address, slot.place) != (address, place) {
            (slot.address, slot.place) = (address, place);
        }
        slot.is_free = true;
        true
    }

    /// How many blocks are kept, and how many bytes they have.
    pub(super) fn census(&self) -> (u64, u64) {
        let free = self.slots.iter().zip(&CLASS).filter(|(slot, _)| slot.is_free);
        free.fold((0, 0), |(blocks, bytes), (_, class)| (blocks + 1, bytes + u64::from(class.size)))
    }
}

const _: () = assert!(CLASSES.is_power_of_two());
