//! Guest addresses, pages, and regions of pages.

use super::address_space::AddressSpace;
use crate::context::GUARD_SIZE;
use crate::perm::Perm;

/// Bytes of a page. Permissions are per page.
pub const PAGE_SIZE: u64 = 4096;
/// The first guest address that can be mapped: below is a guard, which includes null.
pub const MIN_ADDRESS: u64 = GUARD_SIZE as u64;
/// One past the last guest address that can be mapped in the largest address space.
pub const MAX_ADDRESS: u64 = AddressSpace::LARGEST.end();

/// The bytes of a page.
pub type Page = [u8; PAGE_SIZE as usize];

/// Adjacent pages with the same permissions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Region {
    /// First address.
    pub start: u64,
    /// One past the last address.
    pub end: u64,
    /// What the guest may do.
    pub perm: Perm,
}
