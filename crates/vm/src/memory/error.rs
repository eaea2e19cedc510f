//! Why memory cannot be changed or accessed.

use std::fmt;
use std::io;

#[cfg(doc)]
use super::address_space::AddressSpace;
use super::pages::{MAX_ADDRESS, MIN_ADDRESS, PAGE_SIZE};

/// Why a change of the guest's address space was refused; nothing has changed then.
#[derive(Debug)]
#[non_exhaustive]
pub enum MapError {
    /// The range is empty.
    Empty,
    /// The range wraps, or leaves the addresses that can be mapped: [`MIN_ADDRESS`] to [`AddressSpace::end`],
    /// which is [`MAX_ADDRESS`] unless the host has given the guest fewer.
    OutOfWindow,
    /// The range does not begin and end at pages.
    Misaligned,
    /// The guest would have more memory than its limit allows.
    Limit,
    /// The guest's memory would be in more pieces than its limit allows.
    Pieces,
    /// A page would be writable and executable at once.
    WriteAndExecute,
    /// Part of the range is not mapped.
    NotMapped,
    /// The pages cannot be moved, only copied: they differ in permissions, overlap their new place, are or were of
    /// a file (the program's image, a saved memory), or the host counts writable memory.
    NotMovable,
    /// The host refused.
    Host(io::Error),
}

impl fmt::Display for MapError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MapError::Empty => write!(f, "the range is empty"),
            MapError::OutOfWindow => {
                write!(
                    f,
                    "the range leaves the guest's addresses, {MIN_ADDRESS:#x} to {MAX_ADDRESS:#x} or fewer, as \
                     `Config::address_bits` says"
                )
            }
            MapError::Misaligned => write!(f, "the range is not made of whole pages of {PAGE_SIZE} bytes"),
            MapError::Limit => write!(f, "the guest's memory limit is reached"),
            MapError::Pieces => write!(f, "the guest's memory is in as many pieces as its limit allows"),
            MapError::WriteAndExecute => write!(f, "a page cannot be writable and executable"),
            MapError::NotMapped => write!(f, "part of the range is not mapped"),
            MapError::NotMovable => write!(f, "the pages cannot be moved, only copied"),
            MapError::Host(error) => write!(f, "the host refused: {error}"),
        }
    }
}

impl std::error::Error for MapError {}

/// A host access to guest memory that the guest's own permissions do not allow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The first guest address that could not be accessed.
    pub address: u64,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "guest address {:#x} is not mapped for this access", self.address)
    }
}

impl std::error::Error for Fault {}
