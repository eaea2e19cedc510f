//! The return ring, by which returns are predicted. The indirect-jump cache has entries of the same kind.

use riverrun_vm::{RETURNS_OFFSET, RETURNS_SIZE, VmContext};

use crate::decoded_op::DecodedOp;

/// An entry of the return ring: the predicted target of a return.
///
/// Without it, a return looks its target up by the guest's register in the map, and everything after it waits for the next
/// op's address. So calls store that address in a ring, and returns only compare the guest's address with it.
#[repr(C)]
pub(crate) struct Return {
    /// The guest address with its lowest bit set in the upper half, then the ordinal there, then 16 unused bits.
    pub(crate) bits: u64,
    pub(crate) op: *const DecodedOp,
}

impl Return {
    /// Offset of the address, of 32 bits.
    pub(crate) const ADDRESS_OFFSET: usize = 4;
    /// Offset of the ordinal, of 16 bits.
    pub(crate) const ORDINAL_OFFSET: usize = 2;
    /// Offset of the op's address.
    #[cfg(by_hand)]
    pub(crate) const OP_OFFSET: usize = std::mem::offset_of!(Return, op);

    pub(crate) fn new(address: u64, ordinal: i64, op: *const DecodedOp) -> Return {
        Return { bits: (address | 1) << 32 | (ordinal as u64 & 0xffff) << 16, op }
    }

    /// Whether it predicts this address, whose lowest bit is ignored.
    #[inline(always)]
    pub(crate) fn is_at(&self, address: u64) -> bool {
        // SAFETY: the upper half, by itself: that is an instruction less than to shift.
        let own = unsafe { (&raw const self.bits).byte_add(Self::ADDRESS_OFFSET).cast::<u32>().read() };
        u64::from(own) == address | 1
    }

    /// The ordinal there.
    #[inline(always)]
    pub(crate) fn ordinal(&self) -> i64 {
        // SAFETY: likewise.
        i64::from(unsafe { (&raw const self.bits).byte_add(Self::ORDINAL_OFFSET).cast::<i16>().read() })
    }
}

const _: () = assert!(cfg!(target_endian = "little"));

/// Bytes of an entry.
pub(crate) const RETURN_SIZE: u64 = size_of::<Return>() as u64;
/// Offsets into the ring wrap here.
pub(crate) const RETURNS_MASK: u64 = RETURNS_SIZE as u64 - RETURN_SIZE;
const _: () = assert!(RETURNS_SIZE.is_power_of_two());

/// Predicts that the next return leads to `op`, the op at the end of a block for the guest address `address`. It uses the
/// last entry of the ring, so that repeated calls find it unchanged.
///
/// # Safety
/// `state` is alive, and the op published.
pub(crate) unsafe fn expect_return(state: *mut VmContext, address: u64, op: *const DecodedOp) {
    // SAFETY: as the caller promises; the offset is masked.
    unsafe {
        let last = state.wrapping_byte_add(RETURNS_OFFSET + RETURNS_MASK as usize).cast::<Return>();
        last.write(Return::new(address, 0, op));
    }
}
