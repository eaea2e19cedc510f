//! Changes of a guest's mappings: each is planned and checked first, then made by the kernel, then recorded.

use std::ops::Range;

use super::error::MapError;
use super::image::Image;
use super::pages::{MIN_ADDRESS, PAGE_SIZE, Region};
use super::plan::{Change, Plan, hole_around, mappings, overlapping, regions_with};
use super::ranges::{clipped, cut, gaps, joined};
use super::window::Window;
use crate::perm::Perm;
use crate::sys::{self, ImageFile};

impl Window {
    fn check_range(&self, start: u64, len: u64) -> Result<u64, MapError> {
        if len == 0 {
            return Err(MapError::Empty);
        }
        let end = start.checked_add(len).filter(|&end| start >= MIN_ADDRESS && end <= self.space.end());
        let end = end.ok_or(MapError::OutOfWindow)?;
        match (start | len) % PAGE_SIZE {
            0 => Ok(end),
            _ => Err(MapError::Misaligned),
        }
    }

    /// Bytes that the guest has once the pages of `replaced` make room for `len` bytes with `perm`.
    fn used_with(&self, replaced: &[Range<u64>], len: u64, perm: Perm) -> Result<u64, MapError> {
        if perm.contains(Perm::WRITE | Perm::EXECUTE) {
            return Err(MapError::WriteAndExecute);
        }
        let freed: u64 = replaced.iter().map(|range| self.used_within(range.start, range.end)).sum();
        match self.used - freed + if perm == Perm::NONE { 0 } else { len } {
            used if used > self.limit => Err(MapError::Limit),
            used => Ok(used),
        }
    }

    fn used_within(&self, start: u64, end: u64) -> u64 {
        let overlap = |region: &Region| region.end.min(end).saturating_sub(region.start.max(start));
        self.overlapping(start, end).iter().filter(|region| region.perm != Perm::NONE).map(overlap).sum()
    }

    pub(super) fn overlapping(&self, start: u64, end: u64) -> &[Region] {
        overlapping(&self.regions, start, end)
    }

    /// What a change of `start..end` leads to, if it is allowed.
    ///
    /// # Errors
    /// [`MapError::Pieces`] if the kernel would have more mappings than now, and than the limit.
    fn plan(&self, start: u64, end: u64, change: Change) -> Result<Plan, MapError> {
        let range = start..end;
        let perm = change.perm();
        let used = self.used_with(std::slice::from_ref(&range), end - start, perm.unwrap_or(Perm::NONE))?;
        let regions = regions_with(&self.regions, start, end, perm);
        let mut seams = self.seams.clone();
        match change {
            Change::Protect(_) => seams.split(&range),
            Change::File(_) | Change::Backing(_) => seams.replace(&range),
            Change::Map(_) => seams.foreign_within(range.clone()).iter().for_each(|part| seams.replace(part)),
            Change::Unmap => {
                seams.foreign_within(range.clone()).iter().for_each(|part| seams.replace(part));
                seams.absorb(&hole_around(&regions, start, self.space.size()));
            }
        }
        let origins = match change {
            Change::Protect(_) => self.origins.clone(),
            Change::File(_) => joined(&self.origins, &range),
            Change::Map(_) | Change::Backing(_) | Change::Unmap => cut(&self.origins, &range),
        };
        let touched = match change {
            Change::Protect(Perm::NONE) => self.touched.clone(),
            Change::Map(Perm::NONE) | Change::Unmap => cut(&self.touched, &range),
            Change::Map(_) | Change::File(_) | Change::Backing(_) | Change::Protect(_) => joined(&self.touched, &range),
        };
        let backed = match change {
            Change::Protect(_) => self.backed.clone(),
            Change::Backing(_) => joined(&self.backed, &range),
            Change::Map(_) | Change::File(_) | Change::Unmap => cut(&self.backed, &range),
        };
        self.checked(Plan { range, regions, seams, origins, touched, backed, used })
    }

    /// What a move leads to, if it is allowed.
    fn plan_move(&self, from: Range<u64>, to: Range<u64>) -> Result<Plan, MapError> {
        self.check_mapped(from.start, from.end)?;
        let [Region { perm, .. }] = *self.overlapping(from.start, from.end) else { return Err(MapError::NotMovable) };
        let touches = |other: &Range<u64>| other.start < from.end && from.start < other.end;
        if touches(&to) || self.image.iter().any(touches) || !sys::writable_room_is_free() {
            return Err(MapError::NotMovable);
        }
        let used = self.used_with(&[from.clone(), to.clone()], to.end - to.start, perm)?;
        let regions = regions_with(&self.regions, to.start, to.end, Some(perm));
        let regions = regions_with(&regions, from.start, from.end, None);
        let mut seams = self.seams.clone();
        seams.replace(&to);
        // A mapping of which all has been moved has no pages, and may get its first one from another origin.
        seams.replace(&from);
        seams.absorb(&hole_around(&regions, from.start, self.space.size()));
        let origins = cut(&self.origins, &to);
        let touched = joined(&cut(&self.touched, &from), &to);
        let backed = cut(&self.backed, &to);
        self.checked(Plan { range: from, regions, seams, origins, touched, backed, used })
    }

    fn checked(&self, plan: Plan) -> Result<Plan, MapError> {
        let mappings = mappings(&plan.regions, &plan.seams);
        match mappings > self.mapping_limit && mappings > self.mappings() {
            true => Err(MapError::Pieces),
            false => Ok(plan),
        }
    }

    /// Records a change that the kernel has made.
    fn record(&mut self, plan: Plan) {
        (self.regions, self.seams) = (plan.regions, plan.seams);
        (self.origins, self.touched, self.used) = (plan.origins, plan.touched, plan.used);
        self.backed = plan.backed;
        self.peak = self.peak.max(self.used);
    }

    /// Maps zeroed pages, in place of whatever was there.
    ///
    /// # Errors
    /// [`MapError`], and nothing has changed.
    pub fn map(&mut self, start: u64, len: u64, perm: Perm) -> Result<(), MapError> {
        let plan = self.plan_map(start, len, perm)?;
        self.make(plan, perm.readable())
    }

    /// Whether [`map`](Window::map) would do this, if the host does not refuse.
    ///
    /// # Errors
    /// As there.
    pub fn can_map(&self, start: u64, len: u64, perm: Perm) -> Result<(), MapError> {
        self.plan_map(start, len, perm).map(drop)
    }

    fn plan_map(&self, start: u64, len: u64, perm: Perm) -> Result<Plan, MapError> {
        self.plan(start, self.check_range(start, len)?, Change::Map(perm.readable()))
    }

    /// Changes the permissions of mapped pages.
    ///
    /// # Errors
    /// [`MapError`], and nothing has changed.
    pub fn protect(&mut self, start: u64, len: u64, perm: Perm) -> Result<(), MapError> {
        let perm = perm.readable();
        let end = self.check_range(start, len)?;
        self.check_mapped(start, end)?;
        let plan = self.plan(start, end, Change::Protect(perm))?;
        self.stop_tracking()?;
        self.protect_host(start..end, perm).inspect_err(|_| self.undo(start, end))?;
        self.record(plan);
        Ok(())
    }

    fn check_mapped(&self, start: u64, end: u64) -> Result<(), MapError> {
        let mut covered = start;
        for region in self.overlapping(start, end) {
            if region.start > covered {
                return Err(MapError::NotMapped);
            }
            covered = region.end;
        }
        match covered < end {
            true => Err(MapError::NotMapped),
            false => Ok(()),
        }
    }

    /// Unmaps pages; what is not mapped stays so.
    ///
    /// # Errors
    /// [`MapError`], and nothing has changed.
    pub fn unmap(&mut self, start: u64, len: u64) -> Result<(), MapError> {
        let plan = self.plan_unmap(start, len)?;
        self.make(plan, Perm::NONE)
    }

    /// Whether [`unmap`](Window::unmap) would do this, if the host does not refuse.
    ///
    /// # Errors
    /// As there.
    pub fn can_unmap(&self, start: u64, len: u64) -> Result<(), MapError> {
        self.plan_unmap(start, len).map(drop)
    }

    fn plan_unmap(&self, start: u64, len: u64) -> Result<Plan, MapError> {
        self.plan(start, self.check_range(start, len)?, Change::Unmap)
    }

    /// Moves `len` bytes of mapped pages to `to`, in place of whatever was there: contents and permissions go along, and
    /// nothing is copied. There they are `new_len` bytes, of which those behind the old ones are zero. Nothing is mapped
    /// at `from` any more.
    ///
    /// # Errors
    /// [`MapError`], and nothing has changed, but that what was at `to` may be zero after [`MapError::Host`]. The pages
    /// can be copied after [`MapError::NotMovable`], [`MapError::Pieces`] (each move makes a mapping of its own) and
    /// [`MapError::Host`] (Linux before 5.7 cannot move pages, nor can a later one if they are of several origins).
    pub fn move_pages(&mut self, from: u64, len: u64, to: u64, new_len: u64) -> Result<(), MapError> {
        let from = from..self.check_range(from, len)?;
        let to = to..self.check_range(to, new_len)?;
        let plan = self.plan_move(from.clone(), to.clone())?;
        self.stop_tracking()?;
        let (source, source_len) = self.host_range(from.clone());
        let (target, target_len) = self.host_range(to.clone());
        // SAFETY: as in `map_host`; the ranges do not overlap, and have no pages of a file.
        unsafe { sys::move_pages(source, source_len, target, target_len) }
            .inspect_err(|_| self.undo(to.start, to.end))
            .map_err(MapError::Host)?;
        // If this fails the source has no contents, but the guest can still access it.
        if let Err(error) = self.map_host(from.clone()) {
            self.undo(to.start, to.end);
            return Err(error);
        }
        self.record(plan);
        Ok(())
    }

    /// Gives the contents of mapped pages back to the host. They are as they were at first: the image's, or zeros.
    ///
    /// # Errors
    /// [`MapError`]; parts may have been given back then.
    pub fn discard(&mut self, start: u64, len: u64) -> Result<(), MapError> {
        let end = self.check_range(start, len)?;
        self.check_mapped(start, end)?;
        self.stop_tracking()?;
        // The kernel would give back what is in the file.
        for range in clipped(&self.backed, &(start..end)) {
            for region in self.overlapping(range.start, range.end).to_vec() {
                let (from, to) = (region.start.max(range.start), region.end.min(range.end));
                match self.map(from, to - from, region.perm) {
                    Err(MapError::Pieces) => self.zero(from..to)?,
                    mapped => mapped?,
                }
            }
        }
        for range in gaps(&self.backed, &(start..end)) {
            self.discard_host(range)?;
        }
        Ok(())
    }

    /// Writes zeros, where the guest may have no more mappings.
    fn zero(&mut self, range: Range<u64>) -> Result<(), MapError> {
        let bytes = self.slice_mut(range.start, range.end - range.start);
        bytes.map(|bytes| bytes.fill(0)).map_err(|_| MapError::Pieces)
    }

    /// Maps a program's image, each part in place of whatever was there.
    ///
    /// # Errors
    /// [`MapError`]; parts may be mapped then.
    pub fn map_image(&mut self, image: &Image) -> Result<(), MapError> {
        for part in &image.parts {
            match part.offset {
                None => self.map(part.start, part.len, part.perm)?,
                Some(offset) => {
                    self.map_file(part.start..part.start + part.len, Change::File(part.perm), &image.file, offset)?
                }
            }
        }
        Ok(())
    }

    /// Maps pages of a file, those of a program's image or of a saved memory as the change says.
    pub(super) fn map_file(
        &mut self,
        range: Range<u64>,
        change: Change,
        file: &ImageFile,
        at: u64,
    ) -> Result<(), MapError> {
        let end = self.check_range(range.start, range.end - range.start)?;
        let plan = self.plan(range.start, end, change)?;
        self.stop_tracking()?;
        let (start, len) = self.host_range(range.clone());
        // SAFETY: as in `map_host`.
        unsafe { sys::map_file(start, len, file, at) }.map_err(MapError::Host)?;
        self.image = joined(&self.image, &range);
        self.protect_host(range, change.perm().unwrap_or(Perm::NONE))?;
        self.record(plan);
        Ok(())
    }

    /// Has the kernel put zeroed pages in place of whatever was there.
    fn make(&mut self, plan: Plan, perm: Perm) -> Result<(), MapError> {
        self.stop_tracking()?;
        let Range { start, end } = plan.range;
        self.make_host(start..end, perm).inspect_err(|_| self.undo(start, end))?;
        self.record(plan);
        Ok(())
    }

    fn make_host(&mut self, range: Range<u64>, perm: Perm) -> Result<(), MapError> {
        for part in self.seams.native_within(range.clone()) {
            self.protect_host(part.clone(), perm)?;
            if !self.overlapping(part.start, part.end).is_empty() {
                self.discard_host(part)?;
            }
        }
        for part in self.seams.foreign_within(range) {
            // The kernel may refuse to make pages writable, if it counts such: before anything is lost.
            if perm.contains(Perm::WRITE) {
                self.protect_host(part.clone(), perm)?;
            }
            self.map_host(part.clone())?;
            if perm != Perm::NONE {
                self.protect_host(part, perm)?;
            }
        }
        Ok(())
    }

    /// Gives mapped pages and holes the protection that they are recorded with, after the kernel has refused to change
    /// some of them.
    fn undo(&mut self, start: u64, end: u64) {
        let mut at = start;
        for region in self.overlapping(start, end).to_vec() {
            let (from, to) = (region.start.max(start), region.end.min(end));
            for (range, perm) in [(at..from, Perm::NONE), (from..to, region.perm)] {
                if !range.is_empty() {
                    // There is nothing else to do if this fails, too.
                    let _ = self.protect_host(range, perm);
                }
            }
            at = to;
        }
        if at < end {
            let _ = self.protect_host(at..end, Perm::NONE);
        }
    }

    fn map_host(&mut self, range: Range<u64>) -> Result<(), MapError> {
        let (start, len) = self.host_range(range);
        // SAFETY: callers have checked that the range lies in the window, between the guards,
        // and `&mut self` says that no view of it is held.
        unsafe { sys::map_zeros(start, len) }.map_err(MapError::Host)
    }

    pub(super) fn protect_host(&mut self, range: Range<u64>, perm: Perm) -> Result<(), MapError> {
        let (start, len) = self.host_range(range);
        // SAFETY: as in `map_host`.
        unsafe { sys::protect(start, len, perm) }.map_err(MapError::Host)
    }

    pub(super) fn discard_host(&mut self, range: Range<u64>) -> Result<(), MapError> {
        let (start, len) = self.host_range(range);
        // SAFETY: as in `map_host`.
        unsafe { sys::discard(start, len) }.map_err(MapError::Host)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::error::Fault;
    use crate::memory::{AddressSpace, MAX_ADDRESS};

    const RW: Perm = Perm::READ;

    #[test]
    fn regions_split_and_merge() {
        let mut window = Window::new(AddressSpace::LARGEST, 1 << 20).unwrap();
        window.map(0x10000, 0x4000, RW).unwrap();
        window.protect(0x11000, 0x1000, Perm::NONE).unwrap();
        assert_eq!(window.regions().len(), 3);
        assert_eq!(window.used(), 0x3000);
        window.protect(0x11000, 0x1000, RW).unwrap();
        assert_eq!(window.regions(), [Region { start: 0x10000, end: 0x14000, perm: RW }]);
        window.unmap(0x12000, 0x1000).unwrap();
        assert_eq!(window.regions().len(), 2);
        assert_eq!(window.slice(0x11ff0, 0x20).unwrap_err(), Fault { address: 0x12000 });
        assert!(matches!(window.protect(0x11000, 0x2000, RW), Err(MapError::NotMapped)));
    }

    #[test]
    fn limits_and_guards_hold() {
        let mut window = Window::new(AddressSpace::LARGEST, 0x3000).unwrap();
        assert!(matches!(window.map(0, 0x1000, RW), Err(MapError::OutOfWindow)));
        assert!(matches!(window.map(MAX_ADDRESS, 0x1000, RW), Err(MapError::OutOfWindow)));
        assert!(matches!(window.map(u64::MAX - 0xfff, 0x1000, RW), Err(MapError::OutOfWindow)));
        assert!(matches!(window.map(0x10001, 0x1000, RW), Err(MapError::Misaligned)));
        assert!(matches!(window.map(0x10000, 0x4000, RW), Err(MapError::Limit)));
        assert!(matches!(window.map(0x10000, 0x1000, Perm::WRITE | Perm::EXECUTE), Err(MapError::WriteAndExecute)));
        window.map(0x10000, 0x3000, RW).unwrap();
        window.map(0x10000, 0x3000, RW).unwrap();
        assert!(matches!(window.map(0x20000, 0x1000, RW), Err(MapError::Limit)));
        window.map(0x20000, 0x10000, Perm::NONE).unwrap();
        assert!(matches!(window.protect(0x20000, 0x1000, RW), Err(MapError::Limit)));
    }

    #[test]
    fn pieces_are_limited_and_may_become_fewer() {
        let mut window = Window::new(AddressSpace::LARGEST, 1 << 20).unwrap();
        window.set_mapping_limit(5);
        window.map(0x10000, 0x10000, RW).unwrap();
        window.unmap(0x12000, 0x1000).unwrap();
        window.protect(0x14000, 0x1000, Perm::NONE).unwrap();
        assert!(matches!(window.unmap(0x16000, 0x1000), Err(MapError::Pieces)));
        assert!(matches!(window.protect(0x16000, 0x1000, Perm::NONE), Err(MapError::Pieces)));
        assert!(matches!(window.map(0x30000, 0x1000, RW), Err(MapError::Pieces)));
        assert_eq!((window.regions().len(), window.used()), (4, 0xe000));
        window.set_mapping_limit(2);
        window.unmap(0x13000, 0x1000).unwrap();
        window.map(0x12000, 0x3000, RW).unwrap();
        assert_eq!(window.regions(), [Region { start: 0x10000, end: 0x20000, perm: RW }]);
    }

    #[test]
    fn an_image_is_mapped_copy_on_write() {
        let mut image = Image::new().unwrap();
        let content: &[(u64, &[u8])] = &[(0x10ff0, b"sixteen bytes..."), (0x11000, b"and more")];
        image.add(0x10000..0x14000, Perm::READ | Perm::WRITE, content).unwrap();
        assert!(image.add(0x10000..0x10010, Perm::READ, content).is_err());
        let mut one = Window::new(AddressSpace::LARGEST, 1 << 20).unwrap();
        let mut two = Window::new(AddressSpace::LARGEST, 1 << 20).unwrap();
        one.map_image(&image).unwrap();
        two.map_image(&image).unwrap();
        one.slice_mut(0x10ff0, 7).unwrap().copy_from_slice(b"SIXTEEN");
        assert_eq!(two.slice(0x10ff0, 24).unwrap(), b"sixteen bytes...and more");
        assert_eq!(one.slice(0x10ff0, 10).unwrap(), b"SIXTEEN by");
        assert_eq!(two.regions(), [Region { start: 0x10000, end: 0x14000, perm: Perm::READ | Perm::WRITE }]);
        assert!(two.slice(0x13fff, 1).unwrap() == [0]);
    }
}
