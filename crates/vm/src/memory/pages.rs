//! Guest addresses, pages, and regions of pages.

use crate::context::GUARD_SIZE;
use crate::perm::Perm;

/// Bytes of a page. Permissions are per page.
pub const PAGE_SIZE: u64 = 4096;
/// Bytes of the window. Miri keeps a record of each, so it has a small one.
pub const WINDOW_SIZE: usize = 1 << if cfg!(miri) { 24 } else { 32 };
/// The first guest address that can be mapped: below is a guard, which includes null.
pub const MIN_ADDRESS: u64 = GUARD_SIZE as u64;
/// One past the last guest address that can be mapped.
pub const MAX_ADDRESS: u64 = (WINDOW_SIZE - GUARD_SIZE) as u64;

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
