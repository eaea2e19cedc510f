//! The size of a guest's address space, and the places that follow from it.
//!
//! Guest addresses count modulo the size, in every engine. Invariant: all code that computes a host address from a guest
//! address takes it modulo the size of that machine's window ([`AddressSpace::wrap`], or the same mask in generated
//! code), or checks it against the window's regions.

use crate::context::GUARD_SIZE;

/// Bytes below and above the stack that are not mapped.
pub const STACK_GUARD: u64 = 1 << 20;

/// A guest's addresses: the numbers below a power of two.
///
/// ```
/// use riverrun_vm::AddressSpace;
///
/// let space = AddressSpace::new(26).unwrap();
/// assert_eq!((space.size(), space.wrap(0x1_0400_0010)), (64 << 20, 0x10));
/// assert!(AddressSpace::new(33).is_none());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AddressSpace {
    bits: u32,
}

impl AddressSpace {
    /// Bits of addresses at least. Miri keeps a record of each byte, so it has few.
    pub const MIN_BITS: u32 = if cfg!(miri) { 24 } else { 26 };
    /// Bits of addresses at most, and unless a host wants fewer.
    pub const MAX_BITS: u32 = if cfg!(miri) { 24 } else { 32 };
    /// The one with most addresses.
    pub const LARGEST: AddressSpace = AddressSpace { bits: AddressSpace::MAX_BITS };

    /// The addresses of so many bits, [`AddressSpace::MIN_BITS`] to [`AddressSpace::MAX_BITS`]; `None` for others.
    pub const fn new(bits: u32) -> Option<AddressSpace> {
        match bits {
            AddressSpace::MIN_BITS..=AddressSpace::MAX_BITS => Some(AddressSpace { bits }),
            _ => None,
        }
    }

    /// The bits of an address.
    pub const fn bits(self) -> u32 {
        self.bits
    }

    /// Bytes of a window that has all addresses.
    pub const fn size(self) -> u64 {
        1 << self.bits
    }

    /// The bits of a 64-bit number that count as an address.
    pub const fn mask(self) -> u64 {
        self.size() - 1
    }

    /// The address that a 64-bit number stands for.
    #[inline(always)]
    pub const fn wrap(self, address: u64) -> u64 {
        address & self.mask()
    }

    /// One past the last address that can be mapped.
    pub const fn end(self) -> u64 {
        self.size() - GUARD_SIZE as u64
    }

    /// One past the last address of the stack's pages.
    pub const fn stack_top(self) -> u64 {
        self.end() - STACK_GUARD
    }

    /// Whether guest addresses need a mask of their own: the largest space needs none, as zero-extension does it.
    pub const fn is_masked(self) -> bool {
        self.bits != AddressSpace::MAX_BITS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_at_the_end_are_the_same_modulo_each_size() {
        let largest = AddressSpace::LARGEST;
        for space in (AddressSpace::MIN_BITS..=AddressSpace::MAX_BITS).map(|bits| AddressSpace::new(bits).unwrap()) {
            for (place, of_largest) in [(space.end(), largest.end()), (space.stack_top(), largest.stack_top())] {
                assert_eq!(space.wrap(of_largest), place);
            }
            assert_eq!(space.wrap(u64::MAX), space.size() - 1);
            assert_eq!(space.is_masked(), space != largest);
        }
        assert!(
            [0, AddressSpace::MIN_BITS - 1, AddressSpace::MAX_BITS + 1, u32::MAX].map(AddressSpace::new) == [None; 4]
        );
    }
}
