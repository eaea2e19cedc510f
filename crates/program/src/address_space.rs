//! The guest's address space: which addresses a program may occupy, in which grain, and what it may do there.

use std::fmt;

/// Size of a guest page in bytes: the grain of permissions.
pub const PAGE_SIZE: u64 = 4096;
/// The lowest address that a segment may occupy: 64 KiB.
pub const ADDRESS_START: u64 = 0x1_0000;
/// The end of the addresses that segments may occupy: 4 GiB - 64 KiB.
pub const ADDRESS_END: u64 = 0xffff_0000;

/// What a guest may do with memory.
///
/// Its `Display` is the customary `r-x`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Permissions {
    /// Loads are allowed.
    pub read: bool,
    /// Stores are allowed. Implies `read`: write without read is reserved
    /// (RISC-V Privileged Architecture, section on Sv39 page table entries).
    pub write: bool,
    /// Instructions may be fetched.
    pub execute: bool,
}

impl Permissions {
    pub(crate) fn union(self, other: Self) -> Self {
        Self { read: self.read || other.read, write: self.write || other.write, execute: self.execute || other.execute }
    }

    pub(crate) fn is_writable_and_executable(self) -> bool {
        self.write && self.execute
    }
}

impl fmt::Display for Permissions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let letter = |set, letter| if set { letter } else { '-' };
        let (r, w, x) = (letter(self.read, 'r'), letter(self.write, 'w'), letter(self.execute, 'x'));
        f.pad(&String::from_iter([r, w, x]))
    }
}
