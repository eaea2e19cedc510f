//! Shared mappings of files: memory of the guest that stands for a part of a file.
//!
//! The guest's memory has a copy. What the guest stores there gets into the file before anything reads that part of it, and by
//! `msync`, `munmap` and at the program's end; what calls write to the file gets into the copies at once. So all that a guest
//! does is seen by all of it, as threads take turns and make one call at a time. Two copies of one part cannot see each other's
//! stores: there is no mapping to be written to beside another one of the same part.

use std::ops::Range;
use std::os::fd::BorrowedFd;
use std::sync::Arc;

use riverrun::{Memory, Perm};
use rustix::io::Errno;

use crate::abi::open;
use crate::call::{Call, Patience, Stop};
use crate::file_systems::{Identity, Place};
use crate::inode::seal;
use crate::open_file::{Kind, OpenFile};
use crate::transfer::STEP;

/// Shared mappings of files that a guest may have: each keeps a file open.
pub(crate) const MAX: usize = 128;

/// Which file an open file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FileId {
    /// The address of an inode in memory.
    Memory(usize),
    Host(Identity),
}

impl FileId {
    pub(crate) fn of(kind: &Kind) -> Option<FileId> {
        match kind {
            Kind::Memory(file) => Some(FileId::Memory(Arc::as_ptr(&file.inode).addr())),
            Kind::Regular(file) => Place::of(&file.fd).ok().map(|place| FileId::Host(place.identity)),
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
    id: FileId,
}

impl Mapping {
    /// `None` if the file cannot be mapped.
    pub(crate) fn new(range: Range<u64>, offset: u64, file: Arc<OpenFile>, writes: bool) -> Option<Mapping> {
        let id = FileId::of(&file.kind)?;
        Some(Mapping { range, offset, file, writes, id })
    }

    /// The same at other addresses, perhaps longer.
    pub(crate) fn at(&self, range: Range<u64>) -> Mapping {
        Mapping { range, ..self.clone() }
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
        Mapping { offset: self.offset + (range.start - self.range.start), range, ..self.clone() }
    }

    /// Whether stores to one of two mappings would have to be seen in the other.
    fn conflicts(&self, other: &Mapping) -> bool {
        self.id == other.id
            && (self.writes || other.writes)
            && !intersection(&self.in_file(), &other.in_file()).is_empty()
    }

    /// Brings what the guest has stored at these addresses into the file.
    fn write_back(&self, memory: &Memory, range: &Range<u64>, patience: Patience<'_>) -> Result<(), Stop> {
        if !self.writes {
            return Ok(());
        }
        let len = intersection(&self.range, range);
        let mut in_file = vec![0; STEP.min(len.end.saturating_sub(len.start) as usize)];
        for region in memory.regions() {
            let part = intersection(&intersection(&self.range, range), &(region.start..region.end));
            // What cannot be read has been written back when it became so.
            if part.is_empty() || !region.perm.contains(Perm::READ) {
                continue;
            }
            for start in part.clone().step_by(STEP) {
                patience.check()?;
                let at = self.offset + (start - self.range.start);
                let here = memory.slice(start, (part.end - start).min(STEP as u64))?;
                let len = read_whole(&self.file, &mut in_file[..here.len()], at)?;
                let pages = here[..len].chunks(4096).zip(in_file[..len].chunks(4096));
                for (n, (page, _)) in pages.enumerate().filter(|(_, (here, there))| here != there) {
                    self.file.write_mapped(page, at + 4096 * n as u64)?;
                }
            }
        }
        Ok(())
    }

    /// Brings what the file has into the guest's memory at these addresses.
    fn refresh(&self, memory: &mut Memory, range: &Range<u64>, patience: Patience<'_>) -> Result<(), Stop> {
        let range = intersection(&self.range, range);
        let parts: Vec<_> = memory.regions().iter().map(|region| (region.start..region.end, region.perm)).collect();
        for (region, perm) in parts {
            let part = intersection(&range, &region);
            if part.is_empty() {
                continue;
            }
            let pages = part.start & !4095..part.end.next_multiple_of(4096);
            let is_writable = perm.contains(Perm::WRITE);
            if !is_writable {
                memory.protect(pages.start, pages.end - pages.start, Perm::READ | Perm::WRITE)?;
            }
            let done = self.fill(memory, part, patience);
            if !is_writable {
                memory.protect(pages.start, pages.end - pages.start, perm)?;
            }
            done?;
        }
        Ok(())
    }

    fn fill(&self, memory: &mut Memory, part: Range<u64>, patience: Patience<'_>) -> Result<(), Stop> {
        for start in part.clone().step_by(STEP) {
            patience.check()?;
            let here = memory.slice_mut(start, (part.end - start).min(STEP as u64))?;
            let len = read_whole(&self.file, here, self.offset + (start - self.range.start))?;
            here[len..].fill(0);
        }
        Ok(())
    }
}

/// Reads as much as there is.
fn read_whole(file: &OpenFile, buffer: &mut [u8], at: u64) -> Result<usize, Stop> {
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
#[derive(Clone, Default)]
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
            if !is_apart || all.check_new(&mapping).is_err() || mapping.writes && mapping.file.check_writable().is_err()
            {
                return None;
            }
            all.0.push(mapping);
        }
        Some(all)
    }

    fn meeting(&self, range: &Range<u64>) -> impl Iterator<Item = &Mapping> {
        self.0.iter().filter(move |mapping| !intersection(&mapping.range, range).is_empty())
    }

    /// Refuses a mapping beside which others would miss stores, or too many.
    pub(crate) fn check_new(&self, new: &Mapping) -> Result<(), Stop> {
        if self.0.len() >= MAX {
            return Err(Errno::NOMEM.into());
        }
        match self.0.iter().any(|mapping| mapping.conflicts(new)) {
            true => Err(Stop::Unsupported(Errno::NODEV, "a shared mapping to be written to beside another one")),
            false => Ok(()),
        }
    }

    pub(crate) fn add(&mut self, new: Mapping) {
        self.0.push(new);
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

    /// The host's files that a range of addresses stands for.
    pub(crate) fn files(&self, range: &Range<u64>) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.meeting(&range.clone()).filter_map(|mapping| mapping.file.regular().ok()).collect::<Vec<_>>().into_iter()
    }

    /// Brings all that the guest has stored into files, of a range of addresses.
    pub(crate) fn write_back(&self, memory: &Memory, range: &Range<u64>, patience: Patience<'_>) -> Result<(), Stop> {
        self.meeting(range).try_for_each(|mapping| mapping.write_back(memory, range, patience))
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
        let parts = self.0.drain(..).collect::<Vec<_>>().into_iter().flat_map(|mapping| {
            if intersection(&mapping.range, range).is_empty() {
                return vec![mapping];
            }
            let before = mapping.range.start..range.start.clamp(mapping.range.start, mapping.range.end);
            let behind = range.end.clamp(mapping.range.start, mapping.range.end)..mapping.range.end;
            [before, behind].into_iter().filter(|part| !part.is_empty()).map(|part| mapping.part(part)).collect()
        });
        self.0 = parts.collect();
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

    /// Checks that a range may get these permissions, and notes that it can be written to.
    pub(crate) fn protect(&mut self, range: &Range<u64>, perm: Perm) -> Result<(), Stop> {
        if !perm.contains(Perm::WRITE) {
            return Ok(());
        }
        for n in 0..self.0.len() {
            if intersection(&self.0[n].range, range).is_empty() {
                continue;
            }
            if !self.0[n].may_write() {
                return Err(Errno::ACCESS.into());
            }
            let writing = Mapping { writes: true, ..self.0[n].clone() };
            if self.0.iter().enumerate().any(|(other, mapping)| other != n && mapping.conflicts(&writing)) {
                let what = "a shared mapping to be written to beside another one";
                return Err(Stop::Unsupported(Errno::ACCESS, what));
            }
            self.0[n].writes = true;
        }
        Ok(())
    }
}

/// All of a file.
pub(crate) const WHOLE: Range<u64> = 0..u64::MAX;

impl Call<'_> {
    /// Brings what is stored in mappings of a part of a file into the file, which is about to be read.
    pub(crate) fn write_back(&self, kind: &Kind, part: &Range<u64>) -> Result<(), Stop> {
        if self.linux.mappings.0.is_empty() {
            return Ok(());
        }
        let Some(id) = FileId::of(kind) else { return Ok(()) };
        let mut mappings = self.linux.mappings.iter().filter(|mapping| mapping.id == id);
        mappings.try_for_each(|mapping| mapping.write_back(self.memory, &mapping.addresses(part), self.patience))
    }

    /// Brings a part of a file that has changed into its mappings. Before all of it changes, it is written back.
    pub(crate) fn refresh(&mut self, kind: &Kind, part: &Range<u64>) -> Result<(), Stop> {
        if self.linux.mappings.0.is_empty() {
            return Ok(());
        }
        let Some(id) = FileId::of(kind) else { return Ok(()) };
        for mapping in self.linux.mappings.iter().filter(|mapping| mapping.id == id) {
            // The change has been made: a call that began again would make it twice.
            mapping.refresh(self.memory, &mapping.addresses(part), Patience::endless())?;
        }
        Ok(())
    }

    /// Fills new addresses of a mapping from its file.
    pub(crate) fn fill_mapping(&mut self, mapping: &Mapping, range: &Range<u64>) -> Result<(), Stop> {
        mapping.refresh(self.memory, range, self.patience)
    }

    /// Writes back what these addresses have of files, and lets them stand for none; `ENOMEM` if too many pieces would be left.
    pub(crate) fn release(&mut self, range: &Range<u64>) -> Result<(), Stop> {
        self.linux.mappings.check_cut(range)?;
        self.linux.mappings.write_back(self.memory, range, self.patience)?;
        self.linux.mappings.cut(range);
        Ok(())
    }
}

impl OpenFile {
    /// Writes a page of a mapping, which lies within the file.
    fn write_mapped(&self, bytes: &[u8], at: u64) -> Result<(), Stop> {
        match &self.kind {
            Kind::Memory(file) => file.write_mapped(bytes, at),
            Kind::Regular(file) => file.write_mapped(bytes, at, self.status() & open::APPEND != 0),
            _ => Err(Errno::NODEV.into()),
        }
    }
}
