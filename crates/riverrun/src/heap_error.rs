//! Errors of the guest heap.

use std::fmt;

use riverrun_program::FrameDescription as Frame;
use riverrun_vm::Fault;

use crate::values::NoView;

/// Why an operation of the heap failed. Addresses are guest addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum HeapProblem {
    /// The arena or the machine's memory lacks room for that many bytes. Guests get a null pointer.
    Exhausted {
        /// Bytes that were asked for.
        size: u64,
    },
    /// So many elements of such a size are more than 2^64 bytes.
    TooLarge {
        /// Elements.
        count: u64,
        /// Bytes of each.
        size: u64,
    },
    /// An alignment that is no power of two.
    Alignment {
        /// The alignment.
        alignment: u64,
    },
    /// An address is not a multiple of the alignment of what is to be there.
    Misaligned {
        /// The alignment.
        alignment: u64,
    },
    /// A block that has been freed, or moved by `realloc`, is used again.
    Freed {
        /// Its address.
        address: u64,
    },
    /// An address that the heap has never returned.
    Foreign {
        /// The address.
        address: u64,
    },
    /// An address within a block, or behind its end.
    Inside {
        /// The address.
        address: u64,
        /// Where the block starts.
        block: u64,
    },
    /// The guest frees a block that its host owns.
    HostOwned {
        /// The block's address.
        address: u64,
    },
    /// A block is freed as one of another size than it was allocated with.
    WrongSize {
        /// The block's address.
        address: u64,
        /// The size that it is said to have.
        size: u64,
        /// The size that it has.
        allocated: u64,
    },
    /// A text is not UTF-8.
    NotUtf8 {
        /// Where it starts.
        address: u64,
    },
    /// A C++ object in the guest's memory is none that its library could have made.
    Malformed {
        /// Its address.
        address: u64,
    },
    /// An owned object was used with another machine than its own.
    OtherMachine,
    /// The guest's time was up, or it was interrupted, before a block was filled or moved: nothing has changed. A host
    /// function that fails with this ends the run as the deadline or the interruption would.
    OutOfTime,
    /// What was to be read or written is not mapped so; memory of the heap, if the guest has unmapped it.
    Fault(Fault),
}

impl HeapProblem {
    /// The block that it is about.
    pub(super) fn block(&self) -> Option<u64> {
        match *self {
            HeapProblem::Inside { block, .. } => Some(block),
            HeapProblem::Freed { address }
            | HeapProblem::HostOwned { address }
            | HeapProblem::WrongSize { address, .. } => Some(address),
            _ => None,
        }
    }
}

impl fmt::Display for HeapProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            HeapProblem::Exhausted { size } => write!(f, "the heap has no room for {size} bytes"),
            HeapProblem::TooLarge { count, size } => {
                write!(f, "{count} elements of {size} bytes are more than an address space has")
            }
            HeapProblem::Alignment { alignment } => write!(f, "the alignment {alignment} is no power of two"),
            HeapProblem::Misaligned { alignment } => write!(f, "the address is not a multiple of {alignment}"),
            HeapProblem::Freed { address } => write!(f, "the block at {address:#x} has been freed before"),
            HeapProblem::Foreign { address } => write!(f, "the heap has never given out a block at {address:#x}"),
            HeapProblem::Inside { address, block } => {
                write!(f, "{address:#x} is {} bytes behind the start of the block at {block:#x}", address - block)
            }
            HeapProblem::HostOwned { address } => {
                write!(f, "the guest frees the block at {address:#x}, which its host owns")
            }
            HeapProblem::WrongSize { address, size, allocated } => {
                write!(f, "the block at {address:#x} is freed with a size of {size} bytes, but has {allocated}")
            }
            HeapProblem::NotUtf8 { address } => write!(f, "the text at {address:#x} is not UTF-8"),
            HeapProblem::Malformed { address } => write!(f, "the C++ object at {address:#x} is in disorder"),
            HeapProblem::OtherMachine => write!(f, "the object belongs to another machine"),
            HeapProblem::OutOfTime => write!(f, "the guest's time was up before its block was filled or moved"),
            HeapProblem::Fault(fault) => write!(f, "{fault}"),
        }
    }
}

/// A failed operation of the heap, with the history of the block if call sites are recorded
/// ([`crate::HeapOptions::record_sites`]).
#[derive(Clone, Debug)]
pub struct HeapError {
    /// What is wrong.
    pub problem: HeapProblem,
    /// The calls that led to the block's allocation, innermost first.
    pub allocated: Vec<Frame>,
    /// The calls that led to its being freed, innermost first.
    pub freed: Vec<Frame>,
}

impl From<HeapProblem> for HeapError {
    fn from(problem: HeapProblem) -> HeapError {
        HeapError { problem, allocated: Vec::new(), freed: Vec::new() }
    }
}

impl From<NoView> for HeapError {
    fn from(why: NoView) -> HeapError {
        match why {
            NoView::Fault(fault) => HeapProblem::Fault(fault),
            NoView::Misaligned { alignment } => HeapProblem::Misaligned { alignment: alignment as u64 },
            NoView::TooLong { len, size } => HeapProblem::TooLarge { count: len, size: size as u64 },
        }
        .into()
    }
}

impl From<Fault> for HeapError {
    fn from(fault: Fault) -> HeapError {
        HeapProblem::Fault(fault).into()
    }
}

impl fmt::Display for HeapError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.problem.fmt(f)?;
        for (what, frames) in [("allocated", &self.allocated), ("freed", &self.freed)] {
            let mut frames = frames.iter();
            if let Some(first) = frames.next() {
                write!(f, "\n  {what} in {first}")?;
                frames.try_for_each(|frame| write!(f, "\n    called from {frame}"))?;
            }
        }
        Ok(())
    }
}

impl std::error::Error for HeapError {}
