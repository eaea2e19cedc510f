//! The host's access to a guest's memory, with the guest's permissions.

use std::slice;

use super::error::Fault;
use super::window::Window;
use crate::perm::Perm;

impl Window {
    /// Whether every byte of the range allows `perm`.
    ///
    /// # Errors
    /// The first address that does not. A range that is empty is always allowed.
    pub fn check(&self, address: u64, len: u64, perm: Perm) -> Result<(), Fault> {
        let end = address.checked_add(len).ok_or(Fault { address })?;
        let mut covered = address;
        for region in self.overlapping(address, end) {
            if region.start > covered || !region.perm.contains(perm) {
                break;
            }
            covered = region.end;
        }
        match covered >= end {
            true => Ok(()),
            false => Err(Fault { address: covered }),
        }
    }

    /// A view of guest memory that the guest could read.
    ///
    /// # Errors
    /// The first address that is not readable.
    pub fn slice(&self, address: u64, len: u64) -> Result<&[u8], Fault> {
        if len == 0 {
            return Ok(&[]);
        }
        self.check(address, len, Perm::READ)?;
        // SAFETY: the range is mapped readable and stays so while `self` is borrowed, as neither
        // engine nor mapping can change without `&mut`.
        Ok(unsafe { slice::from_raw_parts(self.host(address), len as usize) })
    }

    /// A view of guest memory that the guest could read and write.
    ///
    /// # Errors
    /// The first address that is not readable and writable.
    pub fn slice_mut(&mut self, address: u64, len: u64) -> Result<&mut [u8], Fault> {
        if len == 0 {
            return Ok(&mut []);
        }
        self.check(address, len, Perm::READ | Perm::WRITE)?;
        self.will_write(address, len)?;
        // SAFETY: as in `slice`; the borrow is unique.
        Ok(unsafe { slice::from_raw_parts_mut(self.host(address), len as usize) })
    }

    /// Copies guest memory; the two places may overlap.
    ///
    /// # Errors
    /// The first address that is not readable or, of the destination, not readable and writable.
    pub fn copy_within(&mut self, from: u64, to: u64, len: u64) -> Result<(), Fault> {
        if len != 0 {
            self.check(from, len, Perm::READ)?;
            self.check(to, len, Perm::READ | Perm::WRITE)?;
            self.will_write(to, len)?;
            // SAFETY: both ranges are mapped with these permissions, and `&mut self` excludes other views of them.
            unsafe { std::ptr::copy(self.host(from), self.host(to), len as usize) };
        }
        Ok(())
    }
}
