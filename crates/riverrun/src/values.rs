//! Guest memory as values of the host's types: the one place where bytes that a guest points to become `T`s.
//!
//! Address and length come from the guest and may be anything: the result is a view or a [`NoView`]. Conditions on `T`
//! alone are checked when the host is compiled.

use bytemuck::{AnyBitPattern, NoUninit, PodCastError};
use riverrun_vm::{Fault, PAGE_SIZE};

use crate::memory::Memory;

/// Why there is no view of values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoView {
    /// A part is not mapped for this access.
    Fault(Fault),
    /// The address is not a multiple of the type's alignment.
    Misaligned {
        /// The alignment, in bytes.
        alignment: usize,
    },
    /// So many elements are more than 2^64 bytes.
    TooLong {
        /// Elements.
        len: u64,
        /// Bytes of each.
        size: usize,
    },
}

impl From<Fault> for NoView {
    fn from(fault: Fault) -> NoView {
        NoView::Fault(fault)
    }
}

/// Bytes of `len` elements at this address.
fn bytes_at<T>(address: u64, len: u64) -> Result<u64, NoView> {
    const {
        assert!(size_of::<T>() != 0, "nothing in a guest's memory has no size");
        // Memory is where the guest has it, but for the address of its first page.
        assert!(align_of::<T>() as u64 <= PAGE_SIZE, "no alignment is greater than a page");
    }
    if !address.is_multiple_of(align_of::<T>() as u64) {
        return Err(misaligned::<T>());
    }
    len.checked_mul(size_of::<T>() as u64).ok_or(NoView::TooLong { len, size: size_of::<T>() })
}

fn misaligned<T>() -> NoView {
    NoView::Misaligned { alignment: align_of::<T>() }
}

/// What a view that was checked cannot be refused for.
fn unlikely<T>(_: PodCastError) -> NoView {
    misaligned::<T>()
}

impl Memory {
    /// A view of `len` values. If `len` is 0, the address does not matter: empty arrays of C may be anywhere.
    pub(crate) fn values<T: AnyBitPattern>(&self, address: u64, len: u64) -> Result<&[T], NoView> {
        if len == 0 {
            return Ok(&[]);
        }
        let bytes = self.slice(address, bytes_at::<T>(address, len)?)?;
        bytemuck::try_cast_slice(bytes).map_err(unlikely::<T>)
    }

    /// The same, to be written.
    pub(crate) fn values_mut<T: AnyBitPattern + NoUninit>(
        &mut self,
        address: u64,
        len: u64,
    ) -> Result<&mut [T], NoView> {
        if len == 0 {
            return Ok(&mut []);
        }
        let bytes = self.slice_mut(address, bytes_at::<T>(address, len)?)?;
        bytemuck::try_cast_slice_mut(bytes).map_err(unlikely::<T>)
    }

    /// A view of one value.
    pub(crate) fn value<T: AnyBitPattern>(&self, address: u64) -> Result<&T, NoView> {
        let bytes = self.slice(address, bytes_at::<T>(address, 1)?)?;
        bytemuck::try_from_bytes(bytes).map_err(unlikely::<T>)
    }

    /// The same, to be written.
    pub(crate) fn value_mut<T: AnyBitPattern + NoUninit>(&mut self, address: u64) -> Result<&mut T, NoView> {
        let bytes = self.slice_mut(address, bytes_at::<T>(address, 1)?)?;
        bytemuck::try_from_bytes_mut(bytes).map_err(unlikely::<T>)
    }
}
