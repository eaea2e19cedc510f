//! Saving a window's contents, and restoring them: [`Window::save`] and [`Window::restore`]. Both look at written pages only
//! while the window is tracked.

use std::io;
use std::ops::Range;
use std::sync::Arc;

use super::error::MapError;
use super::image::Image;
use super::pages::{PAGE_SIZE, Page};
use super::plan::Change;
use super::ranges::{clipped, gaps};
use super::saved::SavedMemory;
use super::tracker::{self, Tracker};
use super::window::Window;
use crate::perm::Perm;
use crate::sys;

/// Restorations without tracking after a guest has written too much for it.
const UNTRACKED: u32 = 16;

impl Window {
    /// The memory as it is now, for a program with this image. If this one was saved or restored before and not written to
    /// too much since, only pages that were written are looked at, and unchanged ones are shared.
    ///
    /// # Errors
    /// If the host has no memory.
    pub fn save(&mut self, image: &Image) -> io::Result<SavedMemory> {
        let saved = match self.tracked_runs() {
            Some(runs) => self.save_written(runs, image)?,
            None => self.save_all(image)?,
        };
        // Runs stay, and are compared again next time.
        let is_known = self.tracked_runs().is_some();
        self.base = Some(saved.clone());
        if !is_known {
            self.track(image);
        }
        Ok(saved)
    }

    fn save_all(&mut self, image: &Image) -> io::Result<SavedMemory> {
        let mut pages = Vec::new();
        for region in self.regions.clone() {
            let touched = clipped(&self.touched, &(region.start..region.end));
            let (Some(first), Some(last)) = (touched.first(), touched.last()) else { continue };
            let range = first.start..last.end;
            // The host can read what the guest cannot, for as long as nothing else looks.
            let is_hidden = region.perm == Perm::NONE;
            if is_hidden {
                self.protect_host(range.clone(), Perm::READ).map_err(host_error)?;
            }
            let saved = touched.into_iter().try_for_each(|range| self.save_range(range, image, &mut pages));
            if is_hidden {
                self.protect_host(range, Perm::NONE).map_err(host_error)?;
            }
            saved?;
        }
        Ok(SavedMemory::new(self.regions.clone(), self.origins.clone(), pages))
    }

    /// Adds the pages of a readable range that differ from their origin.
    fn save_range(&self, range: Range<u64>, image: &Image, pages: &mut Vec<(u64, Arc<Page>)>) -> io::Result<()> {
        let mut candidates = self.written_pages(range.clone());
        // What is in a saved memory's file is not the window's own.
        let backed = clipped(&self.backed, &range);
        if !backed.is_empty() {
            candidates.extend(backed.into_iter().flat_map(|range| range.step_by(PAGE_SIZE as usize)));
            candidates.sort_unstable();
            candidates.dedup();
        }
        for address in candidates {
            // SAFETY: the page is mapped and readable, and `&self` excludes writers.
            let page = unsafe { &*self.host(address).cast::<Page>() };
            if page != self.origin(image, address)? {
                let known = self.base.as_ref().and_then(|base| base.page(address)).filter(|known| ***known == *page);
                pages.push((address, known.cloned().unwrap_or_else(|| Arc::new(*page))));
            }
        }
        Ok(())
    }

    /// As [`Window::save`], of a memory that differs from its base in these runs at most.
    fn save_written(&self, runs: &[Range<u64>], image: &Image) -> io::Result<SavedMemory> {
        let Some(base) = &self.base else { return Err(io::Error::other("what is tracked has a base")) };
        let mut changes = Vec::new();
        for address in runs.iter().flat_map(|run| run.clone().step_by(PAGE_SIZE as usize)) {
            // SAFETY: runs are mapped and readable, and `&self` excludes writers.
            let page = unsafe { &*self.host(address).cast::<Page>() };
            let known = base.page(address);
            let origin = self.origin(image, address)?;
            if page != known.map_or(origin, |known| &**known) {
                changes.push((address, (page != origin).then(|| Arc::new(*page))));
            }
        }
        Ok(if changes.is_empty() { base.clone() } else { base.with_pages(&changes) })
    }

    /// Begins to note which pages are written.
    fn track(&mut self, image: &Image) {
        // Under Miri nothing faults.
        if cfg!(miri) {
            return;
        }
        let writable = self.regions.iter().filter(|region| region.perm.contains(Perm::WRITE));
        let writable = writable.map(|region| region.start..region.end).collect();
        let window = self.host(0);
        if self.tracker().is_none() {
            // SAFETY: no engine runs a window that is borrowed uniquely; `drop` frees the tracker.
            unsafe { tracker::install(self.state.as_ptr(), Tracker::new(window)) };
        }
        // A run is a mapping, and parts what it is taken from.
        let runs = self.mapping_limit.saturating_sub(self.mappings()) / 2;
        let borders = self.borders(image);
        if let Some(tracker) = self.tracker_mut() {
            tracker.start(writable, borders, runs);
            self.is_tracked = true;
        }
    }

    /// The pages at the ends of what the guest may write that touch what it may only read: were both read-only, the kernel
    /// might join them, and refuse to part them again. It never joins pages of the file with others, nor two of its parts.
    fn borders(&self, image: &Image) -> Vec<u64> {
        let is_of_file = |address| self.origins.iter().any(|range| range.contains(&address));
        let is_parted = |end: u64| is_of_file(end - 1) != is_of_file(end) || is_of_file(end) && image.is_parted_at(end);
        let mut borders = Vec::new();
        for pair in self.regions.windows(2).filter(|pair| pair[0].end == pair[1].start && !is_parted(pair[0].end)) {
            match (pair[0].perm.contains(Perm::WRITE), pair[1].perm.contains(Perm::WRITE)) {
                (true, false) if pair[1].perm != Perm::NONE => borders.push(pair[0].end - PAGE_SIZE),
                (false, true) if pair[0].perm != Perm::NONE => borders.push(pair[1].start),
                _ => {}
            }
        }
        borders.dedup();
        borders
    }

    /// What a page holds before it is written.
    fn origin<'a>(&self, image: &'a Image, address: u64) -> io::Result<&'a Page> {
        static ZEROS: Page = [0; PAGE_SIZE as usize];
        let place = self.origins.partition_point(|range| range.end <= address);
        match self.origins.get(place).is_some_and(|range| range.start <= address) {
            true => Ok(image.page(address)?.unwrap_or(&ZEROS)),
            false => Ok(&ZEROS),
        }
    }

    /// The pages of a region that may have been written: all where the host does not tell.
    fn written_pages(&self, range: Range<u64>) -> Vec<u64> {
        let (start, len) = self.host_range(range.clone());
        let own = sys::own_pages(start, len).unwrap_or_else(|| std::iter::once(0..len).collect());
        let offsets = own.into_iter().flat_map(|own| own.step_by(PAGE_SIZE as usize));
        offsets.map(|offset| range.start + offset as u64).collect()
    }

    /// Makes the memory equal to a saved one of a program with this image.
    ///
    /// # Errors
    /// [`MapError::Limit`] if the guest may not have that much memory, [`MapError::OutOfWindow`] if it has not all these
    /// addresses: nothing has changed then. [`MapError::Host`]: some of the memory may have changed.
    pub fn restore(&mut self, saved: &SavedMemory, image: &Image) -> Result<(), MapError> {
        if saved.used() > self.limit {
            return Err(MapError::Limit);
        }
        if saved.regions().last().is_some_and(|last| last.end > self.space.end()) {
            return Err(MapError::OutOfWindow);
        }
        if let Some(base) = self.base.clone().filter(|_| self.tracked_runs().is_some())
            && (base.is(saved) || base.has_layout_of(saved))
            && self.copy_back(&base, saved, image).map_err(MapError::Host)?
        {
            self.base = Some(saved.clone());
            return Ok(());
        }
        // A guest that wrote too much will often do so again.
        let is_again = self.base.as_ref().is_some_and(|base| base.is(saved));
        if self.is_tracked && self.tracked_runs().is_none() {
            self.untracked = UNTRACKED;
        }
        self.stop_tracking()?;
        // What is saved kept to the limits. On the way there may be more pieces, and more memory that can be accessed.
        let limits = (self.limit, self.mapping_limit, self.peak);
        (self.limit, self.mapping_limit) = (u64::MAX, usize::MAX);
        let result = self.rebuild(saved, image, limits.1);
        (self.limit, self.mapping_limit, self.peak) = limits;
        self.peak = self.peak.max(saved.used());
        self.base = result.is_ok().then(|| saved.clone());
        if is_again && result.is_ok() {
            self.untracked = self.untracked.saturating_sub(1);
            if self.untracked == 0 {
                self.track(image);
            }
        }
        result
    }

    /// Copies the pages that were written since this memory was equal to `base`, or that differ between the two; false,
    /// and nothing is copied, if these are too many or not the guest's to write.
    fn copy_back(&mut self, base: &SavedMemory, saved: &SavedMemory, image: &Image) -> io::Result<bool> {
        if !base.is(saved) {
            for address in base.differences(saved) {
                if self.check(address, PAGE_SIZE, Perm::WRITE).is_err() {
                    return Ok(false);
                }
                self.will_write(address, PAGE_SIZE).map_err(|_| io::Error::other("a page cannot be written"))?;
            }
        }
        let Some(runs) = self.tracked_runs() else { return Ok(false) };
        for run in runs {
            let mut pages = saved.pages_from(run.start).peekable();
            for address in run.clone().step_by(PAGE_SIZE as usize) {
                let page = match pages.next_if(|(at, _)| *at == address) {
                    Some((_, page)) => page,
                    None => self.origin(image, address)?,
                };
                // SAFETY: runs are mapped and writable, and `&mut self` excludes readers.
                unsafe { self.host(address).cast::<Page>().copy_from_nonoverlapping(page, 1) };
            }
        }
        Ok(true)
    }

    fn rebuild(&mut self, saved: &SavedMemory, image: &Image, mapping_limit: usize) -> Result<(), MapError> {
        if let (Some(first), Some(last)) = (self.regions.first(), self.regions.last()) {
            let (start, end) = (first.start, last.end);
            self.unmap(start, end - start)?;
        }
        let writable = Perm::READ | Perm::WRITE;
        for region in saved.regions() {
            let is_empty = saved.pages_from(region.start).next().is_none_or(|(address, _)| address >= region.end);
            let perm = if is_empty { region.perm } else { writable };
            for zeros in gaps(saved.image_ranges(), &(region.start..region.end)) {
                self.map(zeros.start, zeros.end - zeros.start, perm)?;
            }
        }
        for part in &image.parts {
            let Some(offset) = part.offset else { continue };
            for range in clipped(saved.image_ranges(), &(part.start..part.start + part.len)) {
                let offset = offset + (range.start - part.start);
                self.map_file(range, Change::File(writable), &image.file, offset)?;
            }
        }
        // Where the guest may have few mappings, it is to have as many as before.
        let backing = saved.backing().filter(|backing| self.mappings() + 4 * backing.runs.len() <= mapping_limit);
        if let Some(backing) = backing {
            for (range, offset) in &backing.runs {
                self.map_file(range.clone(), Change::Backing(writable), &backing.file, *offset)?;
            }
            for address in backing.addresses().filter(|address| saved.page(*address).is_none()) {
                if let Ok(bytes) = self.slice_mut(address, PAGE_SIZE) {
                    bytes.fill(0);
                }
            }
        }
        for (address, page) in saved.shared_pages() {
            if backing.and_then(|backing| backing.page(address)).is_some_and(|known| Arc::ptr_eq(known, page)) {
                continue;
            }
            // A page's range is within what was mapped above.
            if let Ok(bytes) = self.slice_mut(address, PAGE_SIZE) {
                bytes.copy_from_slice(&**page);
            }
        }
        for region in saved.regions().iter().filter(|region| region.perm != writable) {
            self.protect(region.start, region.end - region.start, region.perm)?;
        }
        Ok(())
    }
}

fn host_error(error: MapError) -> io::Error {
    match error {
        MapError::Host(error) => error,
        error => io::Error::other(error),
    }
}
