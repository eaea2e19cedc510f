//! Shared mappings of files: memory of the guest that stands for a part of a file.
//!
//! The guest's memory has a copy. What the guest stores there gets into the file before anything reads that part of it,
//! and by `msync`, `munmap` and at the program's end: pages that differ from what they were filled with, so that
//! others' writes to the rest of the file stay. What calls write to the file gets into the copies at once. So all that
//! a guest does is seen by all of it, as threads take turns and make one call at a time. Two copies of one part cannot
//! see each other's stores: there is no mapping to be written to beside another one of the same part.

use std::ops::Range;
use std::os::fd::BorrowedFd;
use std::sync::Arc;

use riverrun::{MAX_ADDRESS, Memory, PAGE_SIZE, Perm};
use rustix::fs::{SeekFrom, seek, tell};
use rustix::io::Errno;

use crate::abi::open;
use crate::call::{Call, Patience, Stop};
use crate::file_systems::{Identity, Place};
use crate::inode::seal;
use crate::open_file::{Kind, OpenFile};
use crate::regions;
use crate::transfer::STEP;

/// Shared mappings of files that a guest may have: each keeps a file open.
pub(crate) const MAX: usize = 128;

/// Bytes of a file that are copied into memory between two tests of the deadline: memory that is touched for the first time
/// takes several times as long as copying.
const FILL_STEP: u64 = 256 << 10;

/// Which file an open file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FileId {
    /// The address of an inode in memory, or of the bytes that the host has given.
    Memory(usize),
    Host(Identity),
    /// The address of a file system of the host, and the file's number there.
    Virtual(usize, u64),
}

impl FileId {
    pub(crate) fn of(kind: &Kind) -> Option<FileId> {
        match kind {
            Kind::Memory(file) => Some(FileId::Memory(match file.given() {
                Some(bytes) => Arc::as_ptr(&bytes).addr(),
                None => Arc::as_ptr(&file.inode).addr(),
            })),
            Kind::Regular(file) => Place::of(&file.fd).ok().map(|place| FileId::Host(place.identity)),
            Kind::Virtual(file) => file.id().map(|(file_system, number)| FileId::Virtual(file_system, number)),
            _ => None,
        }
    }
}

#[derive(Clone)]
pub(crate) struct Mapping {
    pub(crate) range: Range<u64>,
    /// Where the range begins in the file.
    pub(crate) offset: u64,
    pub(crate) file: Arc<OpenFile>,
    /// Whether the guest has been able to write to it.
    pub(crate) writes: bool,
    /// The digest of each page as it was filled or written back last, of a mapping that can be written to.
    pub(crate) filled: Vec<u64>,
    pub(crate) id: FileId,
}

/// A digest of a page, by which a change shows; 0 of zeros.
fn digest(page: &[u8]) -> u64 {
    const ZEROS: [u8; PAGE_SIZE as usize] = [0; PAGE_SIZE as usize];
    match page == &ZEROS[..page.len()] {
        true => 0,
        false => u64::from_le_bytes(*blake3::hash(page).as_bytes().first_chunk().unwrap_or(&[0; 8])),
    }
}

impl Mapping {
    /// `None` if the file cannot be mapped.
    pub(crate) fn new(range: Range<u64>, offset: u64, file: Arc<OpenFile>, writes: bool) -> Option<Mapping> {
        let id = FileId::of(&file.kind)?;
        Some(Mapping { range, offset, file, writes, filled: Vec::new(), id })
    }

    /// The same at other addresses, where zeros are behind it if there are more.
    pub(crate) fn at(mut self, range: Range<u64>) -> Mapping {
        if self.writes {
            self.filled.resize(pages(&range).len(), 0);
        }
        Mapping { range, ..self }
    }

    /// Whether the guest may be given write access.
    pub(crate) fn may_write(&self) -> bool {
        let is_sealed = match &self.file.kind {
            Kind::Memory(file) => file.inode.lock().seals & (seal::WRITE | seal::FUTURE_WRITE) != 0,
            _ => false,
        };
        self.file.check_writable().is_ok() && !is_sealed
    }

    /// The part of the file.
    fn in_file(&self) -> Range<u64> {
        self.offset..self.offset.saturating_add(self.range.end - self.range.start)
    }

    /// The addresses at which it has a part of the file.
    fn addresses(&self, part: &Range<u64>) -> Range<u64> {
        let both = intersection(&self.in_file(), part);
        let address = |at: u64| self.range.start + (at - self.offset);
        if both.is_empty() { 0..0 } else { address(both.start)..address(both.end) }
    }

    /// The mapping of a part of the addresses.
    fn part(&self, range: Range<u64>) -> Mapping {
        let filled = self.filled.get(self.numbers(&range)).unwrap_or_default().to_vec();
        let (offset, file) = (self.offset + (range.start - self.range.start), self.file.clone());
        Mapping { offset, range, filled, file, ..*self }
    }

    /// Which of its pages these addresses are in.
    fn numbers(&self, range: &Range<u64>) -> Range<usize> {
        let before = (range.start - self.range.start) / PAGE_SIZE;
        let end = (range.end - self.range.start).div_ceil(PAGE_SIZE);
        before as usize..end as usize
    }

    /// What is left of its addresses without these.
    fn without(&self, range: &Range<u64>) -> impl Iterator<Item = Range<u64>> + use<> {
        let Range { start, end } = self.range;
        let parts = match intersection(&self.range, range).is_empty() {
            true => [start..end, end..end],
            false => [start..range.start.max(start), range.end.min(end)..end],
        };
        parts.into_iter().filter(|part| !part.is_empty())
    }

    /// Whether a part of a file is in it, and stores there or at the part would have to be seen at both.
    fn conflicts(&self, id: FileId, part: &Range<u64>, writes: bool) -> bool {
        self.id == id && (self.writes || writes) && !intersection(&self.in_file(), part).is_empty()
    }

    /// Brings what the guest has stored at these addresses into the file. One page that cannot be written keeps no
    /// other from that.
    fn write_back(&mut self, memory: &Memory, range: &Range<u64>, patience: Patience<'_>) -> Result<(), Stop> {
        if !self.writes {
            return Ok(());
        }
        let whole = intersection(&self.range, &pages_around(range));
        let size = size(&self.file.kind)?.unwrap_or(0);
        let mut done = Ok(());
        for region in regions::overlapping(memory, whole.clone()) {
            let part = intersection(&whole, &(region.start..region.end));
            // What cannot be read has been written back when it became so.
            if !region.perm.contains(Perm::READ) {
                continue;
            }
            for start in part.clone().step_by(STEP) {
                patience.check()?;
                let here = start..part.end.min(start + STEP as u64);
                let numbers = self.numbers(&here);
                let pages = memory.slice(start, here.end - start)?.chunks(PAGE_SIZE as usize);
                let starts = (self.offset + (start - self.range.start)..size).step_by(PAGE_SIZE as usize);
                let filled = self.filled.get_mut(numbers).unwrap_or_default();
                for ((page, filled), at) in pages.zip(filled).zip(starts) {
                    let digest = digest(page);
                    if *filled == digest {
                        continue;
                    }
                    match self.file.write_mapped(&page[..page.len().min((size - at) as usize)], at) {
                        Ok(()) => *filled = digest,
                        Err(stop) => done = done.and(Err(stop)),
                    }
                    // The host's disk may be waited for.
                    patience.check()?;
                }
            }
        }
        done
    }

    /// Brings what the file has into the guest's memory at these addresses.
    fn refresh(&mut self, memory: &mut Memory, range: &Range<u64>) -> Result<(), Stop> {
        let range = intersection(&self.range, range);
        each_region(memory, &range, |memory, part| self.fill(memory, part))
    }

    fn fill(&mut self, memory: &mut Memory, part: Range<u64>) -> Result<(), Stop> {
        let whole = pages_around(&part);
        // A page of which only a part is filled may have stores in others.
        let keeps_stores = |address| {
            let is_whole = part.start <= address && address + PAGE_SIZE <= part.end;
            Ok::<_, Stop>(!is_whole && self.filled_at(address) != digest(memory.slice(address, PAGE_SIZE)?))
        };
        let edges = [whole.start, whole.end - PAGE_SIZE];
        let stored = if self.writes { edges.map(keeps_stores) } else { [Ok(false), Ok(false)] };
        let [first, last] = stored;
        let stored = [(edges[0], first?), (edges[1], last?)];
        let here = memory.slice_mut(part.start, part.end - part.start)?;
        let len = read_whole(&self.file, here, self.offset + (part.start - self.range.start))?;
        here[len..].fill(0);
        let numbers = self.numbers(&whole);
        let filled = self.filled.get_mut(numbers).unwrap_or_default();
        for (filled, address) in filled.iter_mut().zip(pages(&whole)) {
            if !stored.contains(&(address, true)) {
                *filled = digest(memory.slice(address, PAGE_SIZE)?);
            }
        }
        Ok(())
    }

    fn filled_at(&self, address: u64) -> u64 {
        self.filled.get(((address - self.range.start) / PAGE_SIZE) as usize).copied().unwrap_or_default()
    }

    /// Notes what is in its pages, which is in the file as well, as it is to be written to. May be interrupted.
    fn note(&mut self, memory: &mut Memory, patience: Patience<'_>) -> Result<(), Stop> {
        let mut filled = vec![0; pages(&self.range).len()];
        each_region(memory, &self.range.clone(), |memory, part| {
            for start in part.clone().step_by(STEP) {
                patience.check()?;
                let here = start..part.end.min(start + STEP as u64);
                let pages = memory.slice(start, here.end - start)?.chunks(PAGE_SIZE as usize);
                let noted = filled.get_mut(self.numbers(&here)).unwrap_or_default();
                noted.iter_mut().zip(pages).for_each(|(noted, page)| *noted = digest(page));
            }
            Ok(())
        })?;
        (self.filled, self.writes) = (filled, true);
        Ok(())
    }

    /// The same at addresses that are new, so zero: what is a hole in the file is passed over. Returns how far it has come
    /// when the time is up, at the end of the range at last.
    fn fill_new(&mut self, memory: &mut Memory, range: &Range<u64>, patience: Patience<'_>) -> Result<u64, Stop> {
        let range = intersection(&self.range, range);
        let start = self.offset + (range.start - self.range.start);
        let mut at = start..start + (range.end - range.start);
        while let Some(data) = self.file.next_data(at.start)?.filter(|&data| data < at.end) {
            let part = data..at.end.min(data + FILL_STEP);
            self.refresh(memory, &self.addresses(&part))?;
            at.start = part.end;
            if at.is_empty() || patience.check().is_err() {
                return Ok(range.end - (at.end - at.start));
            }
        }
        Ok(range.end)
    }
}

/// The addresses of pages.
fn pages(range: &Range<u64>) -> impl ExactSizeIterator<Item = u64> + use<> {
    let (start, count) = (range.start, (range.end.saturating_sub(range.start) / PAGE_SIZE) as usize);
    (0..count).map(move |n| start + PAGE_SIZE * n as u64)
}

/// The range of pages that a range lies in.
fn pages_around(range: &Range<u64>) -> Range<u64> {
    range.start & !(PAGE_SIZE - 1)..range.end.checked_next_multiple_of(PAGE_SIZE).unwrap_or(range.end)
}

/// Changes memory, of each region the part that lies in a range, whatever the guest may do there.
fn each_region(
    memory: &mut Memory,
    range: &Range<u64>,
    mut change: impl FnMut(&mut Memory, Range<u64>) -> Result<(), Stop>,
) -> Result<(), Stop> {
    for region in regions::overlapping(memory, range.clone()).to_vec() {
        let part = intersection(range, &(region.start..region.end));
        if region.perm.contains(Perm::WRITE) {
            change(memory, part)?;
            continue;
        }
        let (pages, both) = (pages_around(&part), Perm::READ | Perm::WRITE);
        // The whole region makes no more pieces of memory, of which there may be too many.
        let whole = region.start..region.end;
        let protected = match memory.protect(pages.start, pages.end - pages.start, both) {
            Ok(()) => pages,
            Err(_) => {
                memory.protect(whole.start, whole.end - whole.start, both)?;
                whole
            }
        };
        let done = change(memory, part);
        memory.protect(protected.start, protected.end - protected.start, region.perm)?;
        done?;
    }
    Ok(())
}

/// Reads as much as there is.
pub(crate) fn read_whole(file: &OpenFile, buffer: &mut [u8], at: u64) -> Result<usize, Stop> {
    let mut done = 0;
    while done < buffer.len() {
        match file.read_mapped(&mut buffer[done..], at + done as u64)? {
            0 => break,
            read => done += read,
        }
    }
    Ok(done)
}

fn intersection(one: &Range<u64>, two: &Range<u64>) -> Range<u64> {
    one.start.max(two.start)..one.end.min(two.end)
}

/// Those of a guest. Their addresses are apart.
#[derive(Default)]
pub(crate) struct Mappings(Vec<Mapping>);

impl Mappings {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Mapping> {
        self.0.iter()
    }

    /// Those of a snapshot; `None` if no guest could have them.
    pub(crate) fn of(mappings: Vec<Mapping>) -> Option<Mappings> {
        let mut all = Mappings::default();
        for mapping in mappings {
            let is_apart = all.meeting(&mapping.range).next().is_none();
            if !is_apart
                || all.check_new(&mapping, &(0..0), 0).is_err()
                || mapping.writes && mapping.file.check_writable().is_err()
            {
                return None;
            }
            all.0.push(mapping);
        }
        Some(all)
    }

    fn meeting_mut(&mut self, range: &Range<u64>) -> impl Iterator<Item = &mut Mapping> {
        self.0.iter_mut().filter(move |mapping| !intersection(&mapping.range, range).is_empty())
    }

    fn meeting(&self, range: &Range<u64>) -> impl Iterator<Item = &Mapping> {
        self.0.iter().filter(move |mapping| !intersection(&mapping.range, range).is_empty())
    }

    /// Refuses a mapping beside which others would miss stores, or too many, once these addresses stand for no file and
    /// `more` mappings are there.
    pub(crate) fn check_new(&self, new: &Mapping, gone: &Range<u64>, more: usize) -> Result<(), Stop> {
        let others = || self.0.iter().flat_map(|mapping| mapping.without(gone).map(move |part| (mapping, part)));
        if others().count() + more >= MAX {
            return Err(Errno::NOMEM.into());
        }
        let conflicts = |(mapping, part): (&Mapping, Range<u64>)| {
            let start = mapping.offset + (part.start - mapping.range.start);
            new.conflicts(mapping.id, &(start..start + (part.end - part.start)), mapping.writes)
        };
        match others().any(conflicts) {
            true => Err(Stop::Unsupported(Errno::NODEV, "a shared mapping to be written to beside another one")),
            false => Ok(()),
        }
    }

    /// Adds a mapping at addresses that are zero.
    pub(crate) fn add(&mut self, new: Mapping) {
        self.0.push(new);
    }

    /// `ENOMEM` if mappings to be written to would have more pages than the guest's memory, of which each takes some here.
    pub(crate) fn check_pages(&self, new: &Mapping, memory: &Memory) -> Result<(), Stop> {
        let noted: usize = self.0.iter().map(|mapping| mapping.filled.len()).sum();
        match (noted + pages(&new.range).len()) as u64 * PAGE_SIZE <= memory.limit() {
            true => Ok(()),
            false => Err(Errno::NOMEM.into()),
        }
    }

    /// The mapping of these addresses goes to others, to where its memory has been moved.
    pub(crate) fn go(&mut self, range: &Range<u64>, to: Range<u64>) -> Result<(), Stop> {
        let Some(mapping) = self.around(range)? else { return Ok(()) };
        self.cut(range);
        self.0.push(mapping.at(to));
        Ok(())
    }

    /// Whether the file is mapped to be written to.
    pub(crate) fn writes_to(&self, kind: &Kind) -> bool {
        !self.0.is_empty() && self.0.iter().any(|mapping| mapping.writes && FileId::of(kind) == Some(mapping.id))
    }

    /// The mapping that holds a range, if one does; `EFAULT` if others hold parts of it.
    pub(crate) fn around(&self, range: &Range<u64>) -> Result<Option<Mapping>, Stop> {
        match self.meeting(range).next() {
            None => Ok(None),
            Some(mapping) if mapping.range.start <= range.start && range.end <= mapping.range.end => {
                Ok(Some(mapping.part(range.clone())))
            }
            Some(_) => Err(Errno::FAULT.into()),
        }
    }

    /// The host's files that a range of addresses stands for, each once.
    pub(crate) fn files(&self, range: &Range<u64>) -> impl Iterator<Item = BorrowedFd<'_>> {
        let mut mappings: Vec<&Mapping> = Vec::new();
        for mapping in self.meeting(range) {
            if mappings.iter().all(|other| other.id != mapping.id) {
                mappings.push(mapping);
            }
        }
        mappings.into_iter().filter_map(|mapping| mapping.file.regular().ok())
    }

    /// Brings all that the guest has stored into files, of a range of addresses.
    pub(crate) fn write_back(
        &mut self,
        memory: &Memory,
        range: &Range<u64>,
        patience: Patience<'_>,
    ) -> Result<(), Stop> {
        self.meeting_mut(range).try_for_each(|mapping| mapping.write_back(memory, range, patience))
    }

    /// `ENOMEM` if cutting these addresses out of the middle of a mapping would leave too many.
    fn check_cut(&self, range: &Range<u64>) -> Result<(), Stop> {
        let splits = |mapping: &&Mapping| mapping.range.start < range.start && range.end < mapping.range.end;
        match self.0.len() + self.0.iter().filter(splits).count() <= MAX {
            true => Ok(()),
            false => Err(Errno::NOMEM.into()),
        }
    }

    /// These addresses no longer stand for files: what has been stored there has been written back.
    pub(crate) fn cut(&mut self, range: &Range<u64>) {
        let (gone, kept) = std::mem::take(&mut self.0)
            .into_iter()
            .partition(|mapping: &Mapping| !intersection(&mapping.range, range).is_empty());
        self.0 = kept;
        for mapping in gone {
            self.0.extend(mapping.without(range).map(|part| mapping.part(part)));
        }
    }

    /// The parts of a range that stand for no file.
    pub(crate) fn outside(&self, range: Range<u64>) -> Vec<Range<u64>> {
        let mut parts = vec![range];
        for mapping in &self.0 {
            parts = parts
                .into_iter()
                .flat_map(|part| {
                    let Range { start, end } = mapping.range;
                    [part.start..part.end.min(start), part.start.max(end)..part.end]
                })
                .filter(|part| !part.is_empty())
                .collect();
        }
        parts
    }

    /// Checks that a range may get these permissions, and notes that it can be written to. May be interrupted.
    pub(crate) fn protect(
        &mut self,
        memory: &mut Memory,
        range: &Range<u64>,
        perm: Perm,
        patience: Patience<'_>,
    ) -> Result<(), Stop> {
        if !perm.contains(Perm::WRITE) {
            return Ok(());
        }
        for n in 0..self.0.len() {
            let mapping = &self.0[n];
            if intersection(&mapping.range, range).is_empty() {
                continue;
            }
            if !mapping.may_write() {
                return Err(Errno::ACCESS.into());
            }
            let (id, part) = (mapping.id, mapping.in_file());
            if self.0.iter().enumerate().any(|(other, mapping)| other != n && mapping.conflicts(id, &part, true)) {
                let what = "a shared mapping to be written to beside another one";
                return Err(Stop::Unsupported(Errno::ACCESS, what));
            }
            if !self.0[n].writes {
                self.check_pages(&self.0[n], memory)?;
                self.0[n].note(memory, patience)?;
            }
        }
        Ok(())
    }
}

impl Call<'_> {
    /// The addresses at which a part of a file is mapped.
    fn mapped(&self, kind: &Kind, part: &Range<u64>) -> Vec<Range<u64>> {
        let mappings = &self.linux.mappings.0;
        let id = if mappings.is_empty() { None } else { FileId::of(kind) };
        let of_file = mappings.iter().filter(|mapping| Some(mapping.id) == id);
        of_file.map(|mapping| mapping.addresses(part)).filter(|range| !range.is_empty()).collect()
    }

    /// Brings what is stored in mappings of a part of a file into the file, which is about to be read.
    pub(crate) fn write_back(&mut self, kind: &Kind, part: &Range<u64>) -> Result<(), Stop> {
        let mut ranges = self.mapped(kind, part).into_iter();
        ranges.try_for_each(|range| self.linux.mappings.write_back(self.memory, &range, self.patience))
    }

    /// How much of a file may change before its mappings are brought up to date.
    pub(crate) fn most_changed(&self, kind: &Kind) -> u64 {
        match self.mapped(kind, &(0..u64::MAX)).len() as u64 {
            0 => u64::MAX,
            mappings => (STEP as u64 / mappings).max(PAGE_SIZE),
        }
    }

    /// Brings a part of a file into its mappings that a call has written.
    pub(crate) fn refresh(&mut self, kind: &Kind, part: &Range<u64>) -> Result<(), Stop> {
        for range in self.mapped(kind, part) {
            self.linux.mappings.meeting_mut(&range).try_for_each(|mapping| mapping.refresh(self.memory, &range))?;
        }
        Ok(())
    }

    /// Makes zeros of the mappings of a part of a file, of which it has none or zeros. May be interrupted, and done again.
    pub(crate) fn clear(&mut self, kind: &Kind, part: &Range<u64>) -> Result<(), Stop> {
        for range in self.mapped(kind, part) {
            let pages = range.start.next_multiple_of(PAGE_SIZE)..range.end & !(PAGE_SIZE - 1);
            let edges = match pages.is_empty() {
                true => [range, 0..0],
                false => [range.start..pages.start, pages.end..range.end],
            };
            for edge in edges {
                self.linux.mappings.meeting_mut(&edge).try_for_each(|mapping| mapping.refresh(self.memory, &edge))?;
            }
            for mapping in self.linux.mappings.meeting_mut(&pages) {
                let numbers = mapping.numbers(&intersection(&mapping.range, &pages));
                mapping.filled.get_mut(numbers).unwrap_or_default().fill(0);
            }
            regions::discard(self, pages)?;
        }
        Ok(())
    }

    /// Makes zeros of what mappings have behind a file's end.
    pub(crate) fn clear_behind_end(&mut self, kind: &Kind) -> Result<(), Stop> {
        match size(kind)? {
            Some(size) if !self.linux.mappings.is_empty() => self.clear(kind, &(size..u64::MAX)),
            _ => Ok(()),
        }
    }

    /// Fills `part` of a mapping that begins at `start`, where it is zero: of shared ones, or of this private one. May be
    /// interrupted, and goes on.
    pub(crate) fn fill_new(&mut self, start: u64, part: Range<u64>, private: Option<Mapping>) -> Result<(), Stop> {
        let end = start.saturating_add(part.end);
        let range = start.saturating_add(part.start).min(end)..end;
        let (memory, patience) = (&mut *self.memory, self.patience);
        let reached = match private {
            Some(mut mapping) => mapping.fill_new(memory, &range, patience)?,
            None => self.linux.mappings.meeting_mut(&range).try_fold(range.end, |reached, mapping| {
                Ok::<_, Stop>(reached.min(mapping.fill_new(memory, &range, patience)?))
            })?,
        };
        if reached < range.end { Err(self.pause(start, reached - start)) } else { Ok(()) }
    }

    /// Writes back what these addresses have of files, which are about to stand for none. What cannot be written is lost, as
    /// on Linux. `ENOMEM` if too many pieces would be left.
    pub(crate) fn prepare_release(&mut self, range: &Range<u64>) -> Result<(), Stop> {
        self.linux.mappings.check_cut(range)?;
        match self.linux.mappings.write_back(self.memory, range, self.patience) {
            Err(Stop::Interrupted) => Err(Stop::Interrupted),
            _ => Ok(()),
        }
    }

    /// The same, and lets them stand for none.
    pub(crate) fn release(&mut self, range: &Range<u64>) -> Result<(), Stop> {
        self.prepare_release(range)?;
        self.linux.mappings.cut(range);
        Ok(())
    }

    /// Writes back all before the program ends.
    pub(crate) fn prepare_end(&mut self) -> Result<(), Stop> {
        self.prepare_release(&(0..MAX_ADDRESS))
    }
}

/// Bytes of a file that can be mapped.
pub(crate) fn size(kind: &Kind) -> Result<Option<u64>, Stop> {
    Ok(match kind {
        Kind::Memory(file) => Some(file.len()),
        Kind::Virtual(file) => Some(file.len()?),
        Kind::Regular(file) => Some(rustix::fs::fstat(&file.fd)?.st_size as u64),
        _ => None,
    })
}

impl OpenFile {
    /// Writes a page of a mapping, which lies within the file.
    fn write_mapped(&self, bytes: &[u8], at: u64) -> Result<(), Stop> {
        match &self.kind {
            Kind::Memory(file) => file.write_mapped(bytes, at),
            Kind::Virtual(file) => file.write_mapped(bytes, at),
            Kind::Regular(file) => file.write_mapped(bytes, at, self.status() & open::APPEND != 0),
            _ => Err(Errno::NODEV.into()),
        }
    }

    /// The first position of a mapped file from another one on that is in no hole. Where the hole behind it begins is not
    /// asked: some file systems look through all that is before it.
    fn next_data(&self, at: u64) -> Result<Option<u64>, Stop> {
        let found = match &self.kind {
            Kind::Memory(file) => file.data(at),
            Kind::Virtual(file) if at < file.len()? => Ok(at),
            Kind::Virtual(_) => Err(Errno::NXIO.into()),
            Kind::Regular(file) => {
                let position = tell(&file.fd)?;
                let found = seek(&file.fd, SeekFrom::Data(at));
                seek(&file.fd, SeekFrom::Start(position))?;
                match found {
                    // Not every file system knows.
                    Err(Errno::INVAL) => Ok(at),
                    found => found.map_err(Stop::from),
                }
            }
            _ => return Err(Errno::NODEV.into()),
        };
        match found {
            Ok(data) => Ok(Some(data)),
            Err(Stop::Errno(Errno::NXIO)) => Ok(None),
            Err(stop) => Err(stop),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use riverrun::{Config, Engine, Linker, Program};

    use super::*;
    use crate::Linux;
    use crate::files::set_size;
    use crate::guest_path::GuestPath;
    use crate::regions::CHUNK;

    const START: u64 = 0x100_0000;
    const LEN: u64 = 3 * CHUNK;

    /// A guest's call with a file without a name, all of which is mapped to be written to.
    fn with_mapping(test: impl FnOnce(&mut Call<'_>, Arc<OpenFile>)) {
        let engine = Engine::new(&Config::new()).unwrap();
        let program = Program::new(&engine, riverrun::doc::TINY).unwrap();
        let mut machine = Linker::<()>::new(&engine).instantiate(&program, ()).unwrap();
        let memory = machine.memory_mut();
        memory.map(START, LEN, Perm::READ | Perm::WRITE).unwrap();
        let mut linux = Linux::builder().build();
        let (args, patience) = ([0; 6], Patience::endless());
        let (linux, place, number) = (&mut linux, (0, 0), 0);
        let mut call =
            Call { linux, memory, args, number, place, resumed: None, done: 0, part: 0, patience, instructions: 0 };
        let file = Kind::Memory(call.new_file(GuestPath::default(), 0o600).unwrap());
        let file = Arc::new(OpenFile::new(file, open::READ_WRITE));
        set_size(&mut call, &file.kind, LEN).unwrap();
        let mapping = Mapping::new(START..START + LEN, 0, file.clone(), true).unwrap();
        call.linux.mappings.add(mapping.at(START..START + LEN));
        test(&mut call, file);
    }

    /// Truncating a file does not fill its mappings page by page, and is interrupted by the deadline, as often as it comes.
    #[test]
    fn work_on_whole_mappings_is_interrupted() {
        static ALWAYS: AtomicBool = AtomicBool::new(true);
        with_mapping(|call, file| {
            let ends = [5, CHUNK + 5, LEN - 5].map(|at| START + at);
            let at_ends = |call: &Call<'_>| ends.map(|at| call.memory.slice(at, 1).unwrap()[0]);
            ends.iter().for_each(|&at| call.memory.write(at, b"x").unwrap());
            let late = Patience { interrupted: &ALWAYS, ..Patience::endless() };
            call.patience = late;
            assert_eq!(call.prepare_end(), Err(Stop::Interrupted));
            assert_eq!(set_size(call, &file.kind, 6), Err(Stop::Interrupted));
            assert_eq!(set_size(call, &file.kind, 6), Err(Stop::Interrupted));
            assert_eq!(size(&file.kind), Ok(Some(6)));
            assert_eq!(at_ends(call), [b'x', 0, b'x']);
            call.patience = Patience::endless();
            assert_eq!(set_size(call, &file.kind, 6), Ok(0));
            assert_eq!(at_ends(call), [b'x', 0, 0]);
            // Nor does it come back.
            call.memory.write(ends[1], b"y").unwrap();
            assert_eq!(set_size(call, &file.kind, LEN), Ok(0));
            assert_eq!((at_ends(call), call.prepare_end()), ([b'x', 0, 0], Ok(())));
            let mut there = [0];
            assert_eq!((file.read_mapped(&mut there, 5), there), (Ok(1), *b"x"));
        });
    }
}
