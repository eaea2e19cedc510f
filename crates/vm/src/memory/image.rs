//! A program's memory before its first instruction.

use std::io;
use std::ops::Range;
use std::sync::OnceLock;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use super::layout::Start;
use super::pages::{PAGE_SIZE, Page};
use crate::perm::Perm;
use crate::sys::{FileView, ImageFile};

/// A part of a program's image: whole pages with one set of permissions.
#[derive(Clone, Copy, Debug)]
pub struct ImagePart {
    pub(super) start: u64,
    pub(super) len: u64,
    pub(super) perm: Perm,
    /// The offset of its content in the file; `None` for zeros.
    pub(super) offset: Option<u64>,
}

/// Bytes of zeros that are few: what a program's first write to them takes of the host's memory, once for all machines.
const FEW: u64 = 128 << 10;

/// A program's memory before its first instruction, in a memfd that every machine maps copy-on-write.
#[derive(Debug)]
pub struct Image {
    pub(super) file: ImageFile,
    pub(super) parts: Vec<ImagePart>,
    len: u64,
    /// The file as the host sees it, once a page is compared with it.
    view: OnceLock<FileView>,
    /// See [`Image::number`].
    number: u64,
    /// How windows have it, once there was one.
    pub(super) start: OnceLock<Start>,
    /// What gives back the windows that are kept for its program, if there are any: it is told the number.
    pub(super) forget_spares: OnceLock<fn(u64)>,
}

impl Drop for Image {
    fn drop(&mut self) {
        if let Some(forget) = self.forget_spares.get() {
            forget(self.number);
        }
    }
}

impl Image {
    /// An empty image.
    ///
    /// # Errors
    /// If the host has no more file descriptors or memory.
    pub fn new() -> io::Result<Image> {
        static NUMBERS: AtomicU64 = AtomicU64::new(0);
        Ok(Image {
            file: ImageFile::new()?,
            parts: Vec::new(),
            len: 0,
            view: OnceLock::new(),
            number: NUMBERS.fetch_add(1, Relaxed),
            start: OnceLock::new(),
            forget_spares: OnceLock::new(),
        })
    }

    /// A number that no other image of this process has, or has had.
    pub(super) fn number(&self) -> u64 {
        self.number
    }

    /// The addresses of the parts that have contents, in order.
    pub(crate) fn file_ranges(&self) -> Vec<Range<u64>> {
        let mut ranges: Vec<Range<u64>> = self
            .parts
            .iter()
            .filter(|part| part.offset.is_some())
            .map(|part| part.start..part.start + part.len)
            .collect();
        ranges.sort_by_key(|range| range.start);
        ranges
    }

    /// Whether the contents before and behind this address are apart in the file.
    pub(super) fn is_parted_at(&self, address: u64) -> bool {
        let offset = |here: &dyn Fn(&ImagePart) -> Option<u64>| self.parts.iter().find_map(here);
        let behind = offset(&|part| part.offset.filter(|_| part.start == address));
        let before = offset(&|part| part.offset.map(|at| at + part.len).filter(|_| part.start + part.len == address));
        behind.is_some() && behind != before
    }

    /// The page at this address, if it has contents.
    pub(super) fn page(&self, address: u64) -> io::Result<Option<&Page>> {
        let here = |part: &&ImagePart| part.offset.is_some() && (part.start..part.start + part.len).contains(&address);
        let Some((part, offset)) = self.parts.iter().find(here).and_then(|part| Some((part, part.offset?))) else {
            return Ok(None);
        };
        let view = match self.view.get() {
            Some(view) => view,
            None => {
                let view = self.file.view(self.len as usize)?;
                self.view.get_or_init(|| view)
            }
        };
        let at = (offset + (address - part.start)) as usize;
        Ok(view.get(at..).and_then(|bytes| bytes.first_chunk()))
    }

    /// Adds the pages of `addresses`, filled with `contents`, each a guest address and the bytes there; all else is zero.
    ///
    /// # Errors
    /// If the host has no memory, or a content lies outside of the pages.
    pub fn add(&mut self, addresses: Range<u64>, perm: Perm, contents: &[(u64, &[u8])]) -> io::Result<()> {
        let end_of = |&(address, bytes): &(u64, &[u8])| address.saturating_add(bytes.len() as u64);
        let outside = |content: &(u64, &[u8])| content.0 < addresses.start || end_of(content) > addresses.end;
        if !addresses.start.is_multiple_of(PAGE_SIZE) || contents.iter().any(outside) {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "a content leaves its pages"));
        }
        let perm = perm.readable();
        let filled = contents.iter().filter(|(_, bytes)| !bytes.is_empty()).map(end_of).max();
        let mut filled = filled.unwrap_or(addresses.start).next_multiple_of(PAGE_SIZE);
        // Zeros behind contents are in the file, too, if they are few: then both are one mapping.
        if filled > addresses.start && addresses.end.saturating_sub(filled) <= FEW {
            filled = addresses.end.next_multiple_of(PAGE_SIZE);
        }
        if filled > addresses.start {
            // A page between parts of which one can be written, so that the kernel never joins their mappings.
            let is_writable = |perm: Perm| perm.contains(Perm::WRITE);
            let is_apart = self.parts.last().is_some_and(|last| is_writable(last.perm) != is_writable(perm));
            let offset = self.len + if is_apart { PAGE_SIZE } else { 0 };
            let len = filled - addresses.start;
            self.file.set_len(offset + len)?;
            for &(address, bytes) in contents {
                self.file.write_all_at(bytes, offset + (address - addresses.start))?;
            }
            self.len = offset + len;
            self.parts.push(ImagePart { start: addresses.start, len, perm, offset: Some(offset) });
        }
        if addresses.end > filled {
            self.parts.push(ImagePart { start: filled, len: addresses.end - filled, perm, offset: None });
        }
        Ok(())
    }
}
