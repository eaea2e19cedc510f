//! A reader of debug information with a budget: what it may still read, in bytes.
//!
//! Debug information refers to itself, so that a small file can ask for any amount of work: units that share one list of
//! ranges, line programs or abbreviations, strings that overlap. All of that work reads bytes. The reader counts them
//! and ends, as at the end of the file, once its budget is used up.

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use gimli::{EndianArcSlice, Error, LittleEndian, Reader, ReaderOffsetId, Result};

/// Bytes that may still be read, shared by all readers that were made of one.
#[derive(Clone, Debug, Default)]
pub(crate) struct Budget(Arc<AtomicU64>);

impl Budget {
    pub(crate) fn set(&self, bytes: u64) {
        self.0.store(bytes, Ordering::Relaxed);
    }

    pub(crate) fn left(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    /// Whether so many bytes may be read. Readers are used by one thread at a time.
    fn take(&self, bytes: usize) -> bool {
        let left = self.left().checked_sub(bytes as u64);
        self.set(left.unwrap_or(0));
        left.is_some()
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Metered {
    bytes: EndianArcSlice<LittleEndian>,
    budget: Budget,
}

impl Metered {
    pub(crate) fn new(bytes: EndianArcSlice<LittleEndian>, budget: Budget) -> Metered {
        Metered { bytes, budget }
    }

    fn spend(&self, bytes: usize) -> Result<()> {
        if self.budget.take(bytes) { Ok(()) } else { Err(Error::UnexpectedEof(self.offset_id())) }
    }
}

impl Reader for Metered {
    type Endian = LittleEndian;
    type Offset = usize;

    fn endian(&self) -> LittleEndian {
        self.bytes.endian()
    }

    fn len(&self) -> usize {
        Reader::len(&self.bytes)
    }

    fn empty(&mut self) {
        self.bytes.empty();
    }

    fn truncate(&mut self, len: usize) -> Result<()> {
        self.bytes.truncate(len)
    }

    fn offset_from(&self, base: &Metered) -> usize {
        self.bytes.offset_from(&base.bytes)
    }

    fn offset_id(&self) -> ReaderOffsetId {
        self.bytes.offset_id()
    }

    fn lookup_offset_id(&self, id: ReaderOffsetId) -> Option<usize> {
        self.bytes.lookup_offset_id(id)
    }

    fn find(&self, byte: u8) -> Result<usize> {
        let found = self.bytes.find(byte);
        self.spend(1 + found.unwrap_or_else(|_| self.len()))?;
        found
    }

    fn skip(&mut self, len: usize) -> Result<()> {
        self.spend(1)?;
        self.bytes.skip(len)
    }

    fn split(&mut self, len: usize) -> Result<Metered> {
        self.spend(1)?;
        Ok(Metered { bytes: self.bytes.split(len)?, budget: self.budget.clone() })
    }

    fn to_slice(&self) -> Result<Cow<'_, [u8]>> {
        self.spend(self.len())?;
        self.bytes.to_slice()
    }

    fn to_string(&self) -> Result<Cow<'_, str>> {
        self.spend(self.len())?;
        self.bytes.to_string()
    }

    fn to_string_lossy(&self) -> Result<Cow<'_, str>> {
        self.spend(self.len())?;
        self.bytes.to_string_lossy()
    }

    fn read_slice(&mut self, buffer: &mut [u8]) -> Result<()> {
        self.spend(buffer.len())?;
        self.bytes.read_slice(buffer)
    }
}
