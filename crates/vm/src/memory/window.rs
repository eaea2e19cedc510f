//! A guest's memory: a window of 4 GiB in which the processor checks every access.
//!
//! `Window` owns the reservation and the only mappings in it. It keeps a list of regions with the guest's permissions,
//! which equals the kernel's mappings; host accesses and the reference interpreter check against that list.

use std::fmt;
use std::io;
use std::mem;
use std::ops::Range;
use std::ptr::NonNull;
use std::slice;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use super::error::{Fault, MapError};
use super::image::Image;
use super::pages::{MAX_ADDRESS, MIN_ADDRESS, PAGE_SIZE, Region, WINDOW_SIZE};
use super::plan::{Change, Plan, hole_around, mappings, overlapping, regions_with};
use super::ranges::{clipped, cut, gaps, joined};
use super::saved::SavedMemory;
use super::seams::Seams;
use super::tracker::{self, Tracker, tracker_of};
use crate::context::{
    GUARD_SIZE, LANDINGS_SIZE, RETURNS_OFFSET, RETURNS_SIZE, STATE_SIZE, SYSTEM_CALLS_OFFSET, VmContext, WINDOW_OFFSET,
};
use crate::hart::Hart;
use crate::imports::{Import, SYSTEM_CALLS, SystemCall};
use crate::perm::Perm;
use crate::sys::{self, ImageFile};

const _: () = assert!(SYSTEM_CALLS_OFFSET + SYSTEM_CALLS * size_of::<SystemCall>() <= STATE_SIZE);

/// Mappings that a guest may split its window into, unless [`Window::set_mapping_limit`] says otherwise.
pub const MAPPING_LIMIT: usize = 4096;

const RESERVED: usize = GUARD_SIZE + WINDOW_OFFSET + WINDOW_SIZE + GUARD_SIZE;

/// A guest's memory and registers. Dropping it gives the address space back.
pub struct Window {
    /// The first byte of the [`VmContext`].
    pub(super) state: NonNull<VmContext>,
    /// Sorted, not overlapping, none empty, neighbours differ.
    pub(super) regions: Vec<Region>,
    /// Where the kernel may keep mappings apart besides.
    pub(super) seams: Seams,
    /// Where pages of a file are, or once were.
    pub(super) image: Vec<Range<u64>>,
    /// The addresses whose pages are the image's once discarded, and not zeros; sorted, not overlapping.
    pub(super) origins: Vec<Range<u64>>,
    /// The addresses of which any page may have been written; sorted, not overlapping.
    pub(super) touched: Vec<Range<u64>>,
    /// The addresses that have pages of a saved memory's file, if they were not written; sorted, not overlapping.
    pub(super) backed: Vec<Range<u64>>,
    /// The saved memory that this one was equal to, if only pages in runs of the tracker differ; or that it was made from.
    pub(super) base: Option<SavedMemory>,
    /// Whether the tracker may be on, or the processor refuse writes because of it. While it is on, `base` tells the contents
    /// of all pages that are in no run.
    pub(super) is_tracked: bool,
    /// Restorations that do without tracking, after a guest that wrote too much for it.
    pub(super) untracked: u32,
    /// Bytes in regions that allow any access at all.
    pub(super) used: u64,
    /// The most that `used` has been.
    pub(super) peak: u64,
    pub(super) limit: u64,
    pub(super) mapping_limit: usize,
    /// See [`Window::id`].
    id: u64,
    /// Which code the predictions beside the state belong to. It is not in the state, which safe code can write, because
    /// the interpreter follows predictions unchecked.
    predictions_owner: u64,
    /// The image of the program whose later machines may have this window, once it is dropped.
    pub(super) program: Option<Arc<Image>>,
}

// SAFETY: a Window owns its reservation alone; nothing in it is bound to a thread.
unsafe impl Send for Window {}
// SAFETY: through `&Window` memory can only be read, and no engine runs without `&mut`.
unsafe impl Sync for Window {}

impl fmt::Debug for Window {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Window").field("regions", &self.regions).field("used", &self.used).finish_non_exhaustive()
    }
}

impl Window {
    /// Reserves a window with nothing mapped, whose guest may have `limit` bytes.
    ///
    /// # Errors
    /// If the host has no 4 GiB of address space left.
    pub fn new(limit: u64) -> io::Result<Window> {
        let (reservation, seams) = match sys::writable_room_is_free().then(|| sys::reserve(RESERVED, true)) {
            Some(Ok(reservation)) => (reservation, Seams::default()),
            _ => (sys::reserve(RESERVED, false)?, Seams::all_foreign(0..WINDOW_SIZE as u64)),
        };
        // SAFETY: the reservation is larger than a guard.
        let state = unsafe { reservation.add(GUARD_SIZE) };
        let mut window = Window {
            state: state.cast(),
            regions: Vec::new(),
            seams,
            image: Vec::new(),
            origins: Vec::new(),
            touched: Vec::new(),
            backed: Vec::new(),
            base: None,
            is_tracked: false,
            untracked: 0,
            used: 0,
            peak: 0,
            limit,
            mapping_limit: MAPPING_LIMIT,
            id: new_id(),
            predictions_owner: 0,
            program: None,
        };
        // SAFETY: the ranges lie in the reservation, and no view of them is held.
        let protect =
            |from: usize, to: usize, perm| unsafe { sys::protect(reservation.add(from).as_ptr(), to - from, perm) };
        let state_end = GUARD_SIZE + STATE_SIZE;
        protect(GUARD_SIZE, state_end, Perm::READ | Perm::WRITE)?;
        // `Seams` needs a page in the reservation while that is one mapping.
        match state.addr().get() / sys::HUGE_PAGE * sys::HUGE_PAGE < reservation.addr().get() {
            true => window.state_mut().hart = Hart::new(),
            // A host that gives huge pages unasked has room for one here, but not across the end.
            false => {
                let last_page = RESERVED - PAGE_SIZE as usize;
                protect(last_page, RESERVED, Perm::READ | Perm::WRITE)?;
                // SAFETY: the page lies in the reservation, can be written to, and is not used otherwise.
                unsafe { reservation.add(last_page).as_ptr().write_volatile(0) };
            }
        }
        protect(0, GUARD_SIZE, Perm::NONE)?;
        protect(state_end, RESERVED, Perm::NONE)?;
        window.state_mut().hart = Hart::new();
        window.forget_system_calls();
        Ok(window)
    }

    /// The same window, which this one is not any more: it must not be used, nor give anything back.
    pub(super) fn moved(&mut self) -> Window {
        Window {
            state: self.state,
            regions: mem::take(&mut self.regions),
            seams: mem::take(&mut self.seams),
            image: mem::take(&mut self.image),
            origins: mem::take(&mut self.origins),
            touched: mem::take(&mut self.touched),
            backed: mem::take(&mut self.backed),
            base: self.base.take(),
            is_tracked: self.is_tracked,
            untracked: self.untracked,
            used: self.used,
            peak: self.peak,
            limit: self.limit,
            mapping_limit: self.mapping_limit,
            id: self.id,
            predictions_owner: self.predictions_owner,
            program: self.program.take(),
        }
    }

    /// Makes the state, the tables of engines and the id as those of a new window.
    pub(super) fn clear_state(&mut self) {
        if self.predictions_owner != 0 {
            self.clear_predictions(0);
        }
        // SAFETY: all zeros is a valid VmContext, and the borrow of the window is unique.
        unsafe { self.state.write_bytes(0, 1) };
        self.state_mut().hart = Hart::new();
        self.forget_system_calls();
        self.id = new_id();
    }

    /// The registers.
    pub fn state(&self) -> &VmContext {
        // SAFETY: the state's pages are mapped as long as the window lives; all zeros, as fresh
        // pages are, is a valid VmContext.
        unsafe { self.state.as_ref() }
    }

    /// The registers.
    pub fn state_mut(&mut self) -> &mut VmContext {
        // SAFETY: as in `state`; the borrow is unique.
        unsafe { self.state.as_mut() }
    }

    /// The address of the state, from which engines reach registers and memory alike.
    pub fn state_ptr(&mut self) -> *mut VmContext {
        self.state.as_ptr()
    }

    fn system_calls(&mut self) -> *mut SystemCall {
        self.state.as_ptr().wrapping_byte_add(SYSTEM_CALLS_OFFSET).cast()
    }

    /// Empties the table of [`SystemCall`]s.
    pub fn forget_system_calls(&mut self) {
        for place in 0..SYSTEM_CALLS {
            // SAFETY: the table lies in the state's pages, which the window owns.
            unsafe { (&raw mut (*self.system_calls().add(place)).key).write(SystemCall::no_key(place)) };
        }
    }

    /// Makes engines call `import` for system calls with this key.
    ///
    /// # Safety
    /// The import stays bound as long as the window lives, for the machine that has it.
    pub unsafe fn remember_system_call(&mut self, key: u64, import: Import) {
        let place = key as usize % SYSTEM_CALLS;
        // SAFETY: as in `forget_system_calls`.
        unsafe { self.system_calls().add(place).write(SystemCall { key, import }) };
    }

    /// Makes `owner` the code that the return ring and the indirect-jump cache belong to. If they belonged to another code,
    /// they are cleared. 0 is no code. Returns whether it was the owner before.
    #[inline]
    pub fn own_predictions(&mut self, owner: u64) -> bool {
        self.predictions_owner == owner || self.clear_predictions(owner)
    }

    /// The code that those tables belong to; 0 for none.
    pub fn predictions_owner(&self) -> u64 {
        self.predictions_owner
    }

    #[cold]
    fn clear_predictions(&mut self, owner: u64) -> bool {
        self.predictions_owner = owner;
        let start = self.state.as_ptr().cast::<u8>().wrapping_add(RETURNS_OFFSET);
        // SAFETY: both tables, one behind the other, lie in the state's pages, which the window
        // owns.
        unsafe { start.write_bytes(0, RETURNS_SIZE + LANDINGS_SIZE) };
        false
    }

    /// What is mapped, in order.
    pub fn regions(&self) -> &[Region] {
        &self.regions
    }

    /// Bytes that the guest has mapped for any access.
    pub fn used(&self) -> u64 {
        self.used
    }

    /// A number that no other window of this process has, or has had.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// Bytes that the guest may have.
    pub fn limit(&self) -> u64 {
        self.limit
    }

    /// Limits [`mappings`](Window::mappings).
    pub fn set_mapping_limit(&mut self, mappings: usize) {
        self.mapping_limit = mappings;
    }

    /// How many mappings the host's kernel has, at most, from the first region to the last: one for each region and
    /// each hole between two, and more where what is mapped is of several origins. A process has some 65,000.
    pub fn mappings(&self) -> usize {
        mappings(&self.regions, &self.seams)
    }

    pub(super) fn host(&self, address: u64) -> *mut u8 {
        debug_assert!(address <= WINDOW_SIZE as u64);
        self.state.as_ptr().cast::<u8>().wrapping_add(WINDOW_OFFSET + address as usize)
    }

    fn check_range(&self, start: u64, len: u64) -> Result<u64, MapError> {
        let end = start.checked_add(len).filter(|&end| len != 0 && start >= MIN_ADDRESS && end <= MAX_ADDRESS);
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

    fn overlapping(&self, start: u64, end: u64) -> &[Region] {
        overlapping(&self.regions, start, end)
    }

    /// What a change of `start..end` leads to, if it is allowed.
    ///
    /// # Errors
    /// [`MapError::Pieces`] if the kernel would have more mappings than now, and than the limit.
    fn plan(&self, start: u64, end: u64, change: Change) -> Result<Plan, MapError> {
        let range = start..end;
        let perm = match change {
            Change::Map(perm) | Change::Protect(perm) | Change::File(perm) | Change::Backing(perm) => Some(perm),
            Change::Unmap => None,
        };
        let used = self.used_with(std::slice::from_ref(&range), end - start, perm.unwrap_or(Perm::NONE))?;
        let regions = regions_with(&self.regions, start, end, perm);
        let mut seams = self.seams.clone();
        match change {
            Change::Protect(_) => seams.split(&range),
            Change::File(_) | Change::Backing(_) => seams.replace(&range),
            Change::Map(_) => seams.foreign_within(range.clone()).iter().for_each(|part| seams.replace(part)),
            Change::Unmap => {
                seams.foreign_within(range.clone()).iter().for_each(|part| seams.replace(part));
                seams.absorb(&hole_around(&regions, start));
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
        seams.absorb(&hole_around(&regions, from.start));
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
                Some(offset) => self.map_file(part.start..part.start + part.len, part.perm, image, offset)?,
            }
        }
        Ok(())
    }

    pub(super) fn map_file(
        &mut self,
        range: Range<u64>,
        perm: Perm,
        image: &Image,
        offset: u64,
    ) -> Result<(), MapError> {
        let end = self.check_range(range.start, range.end - range.start)?;
        let plan = self.plan(range.start, end, Change::File(perm))?;
        self.stop_tracking()?;
        let (at, len) = self.host_range(range.clone());
        // SAFETY: as in `map_host`.
        unsafe { sys::map_file(at, len, &image.file, offset) }.map_err(MapError::Host)?;
        self.image = joined(&self.image, &range);
        self.protect_host(range, perm)?;
        self.record(plan);
        Ok(())
    }

    /// Maps a run of pages of a saved memory, in place of zeros.
    pub(super) fn map_backing(
        &mut self,
        range: Range<u64>,
        perm: Perm,
        file: &ImageFile,
        at: u64,
    ) -> Result<(), MapError> {
        let end = self.check_range(range.start, range.end - range.start)?;
        let plan = self.plan(range.start, end, Change::Backing(perm))?;
        self.stop_tracking()?;
        let (start, len) = self.host_range(range.clone());
        // SAFETY: as in `map_host`.
        unsafe { sys::map_file(start, len, file, at) }.map_err(MapError::Host)?;
        self.image = joined(&self.image, &range);
        self.protect_host(range, perm)?;
        self.record(plan);
        Ok(())
    }

    /// The runs of written pages, if all others are as in the base.
    pub(super) fn tracked_runs(&self) -> Option<&[Range<u64>]> {
        self.tracker().filter(|tracker| self.is_tracked && tracker.is_on()).map(Tracker::runs)
    }

    pub(super) fn tracker(&self) -> Option<&Tracker> {
        // SAFETY: the window owns the tracker whose address is there, if it is not null; only methods with `&mut self` and
        // the fault handler of a running engine change it.
        unsafe { tracker_of(self.state.as_ptr()).read().as_ref() }
    }

    pub(super) fn tracker_mut(&mut self) -> Option<&mut Tracker> {
        // SAFETY: as in `tracker`; the borrow is unique.
        unsafe { tracker_of(self.state.as_ptr()).read().as_mut() }
    }

    /// Makes sure that bytes that the guest may write can be written.
    ///
    /// # Errors
    /// If the host refuses.
    #[inline]
    pub(super) fn will_write(&mut self, address: u64, len: u64) -> Result<(), Fault> {
        let can_write = !self.is_tracked || self.tracker_mut().is_none_or(|tracker| tracker.will_write(address, len));
        can_write.then_some(()).ok_or(Fault { address })
    }

    /// Ends it, before something changes that a tracker does not see.
    ///
    /// # Errors
    /// [`MapError::Host`], and nothing has changed.
    pub(super) fn stop_tracking(&mut self) -> Result<(), MapError> {
        if self.is_tracked
            && let Some(tracker) = self.tracker_mut()
        {
            tracker.stop().map_err(MapError::Host)?;
        }
        self.is_tracked = false;
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

    pub(super) fn host_range(&self, range: Range<u64>) -> (*mut u8, usize) {
        (self.host(range.start), (range.end - range.start) as usize)
    }

    /// Whether every byte of the range allows `perm`.
    ///
    /// # Errors
    /// The first address that does not. A range that is empty is always allowed.
    pub fn check(&self, address: u64, len: u64, perm: Perm) -> Result<(), Fault> {
        let end = address.checked_add(len).ok_or(Fault { address })?;
        let mut covered = address;
        for region in self.overlapping(address, end) {
            if region.start > covered || !region.perm.contains(perm) {
                break;
            }
            covered = region.end;
        }
        match covered >= end {
            true => Ok(()),
            false => Err(Fault { address: covered }),
        }
    }

    /// A view of guest memory that the guest could read.
    ///
    /// # Errors
    /// The first address that is not readable.
    pub fn slice(&self, address: u64, len: u64) -> Result<&[u8], Fault> {
        if len == 0 {
            return Ok(&[]);
        }
        self.check(address, len, Perm::READ)?;
        // SAFETY: the range is mapped readable and stays so while `self` is borrowed, as neither
        // engine nor mapping can change without `&mut`.
        Ok(unsafe { slice::from_raw_parts(self.host(address), len as usize) })
    }

    /// A view of guest memory that the guest could read and write.
    ///
    /// # Errors
    /// The first address that is not readable and writable.
    pub fn slice_mut(&mut self, address: u64, len: u64) -> Result<&mut [u8], Fault> {
        if len == 0 {
            return Ok(&mut []);
        }
        self.check(address, len, Perm::READ | Perm::WRITE)?;
        self.will_write(address, len)?;
        // SAFETY: as in `slice`; the borrow is unique.
        Ok(unsafe { slice::from_raw_parts_mut(self.host(address), len as usize) })
    }

    /// Copies guest memory; the two places may overlap.
    ///
    /// # Errors
    /// The first address that is not readable or, of the destination, not readable and writable.
    pub fn copy_within(&mut self, from: u64, to: u64, len: u64) -> Result<(), Fault> {
        if len != 0 {
            self.check(from, len, Perm::READ)?;
            self.check(to, len, Perm::READ | Perm::WRITE)?;
            self.will_write(to, len)?;
            // SAFETY: both ranges are mapped with these permissions, and `&mut self` excludes other views of them.
            unsafe { std::ptr::copy(self.host(from), self.host(to), len as usize) };
        }
        Ok(())
    }
}

fn new_id() -> u64 {
    static IDS: AtomicU64 = AtomicU64::new(0);
    IDS.fetch_add(1, Relaxed)
}

impl Drop for Window {
    fn drop(&mut self) {
        if self.retire() {
            return;
        }
        let reservation = self.state.as_ptr().wrapping_byte_sub(GUARD_SIZE);
        // SAFETY: nobody runs what is dropped.
        unsafe { tracker::free(self.state.as_ptr()) };
        // SAFETY: this is the whole reservation of `new`; views of it borrow from `self`, so none is left.
        unsafe { sys::release(reservation.cast(), RESERVED) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RW: Perm = Perm::READ;

    #[test]
    fn regions_split_and_merge() {
        let mut window = Window::new(1 << 20).unwrap();
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
        let mut window = Window::new(0x3000).unwrap();
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
        let mut window = Window::new(1 << 20).unwrap();
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
        let mut one = Window::new(1 << 20).unwrap();
        let mut two = Window::new(1 << 20).unwrap();
        one.map_image(&image).unwrap();
        two.map_image(&image).unwrap();
        one.slice_mut(0x10ff0, 7).unwrap().copy_from_slice(b"SIXTEEN");
        assert_eq!(two.slice(0x10ff0, 24).unwrap(), b"sixteen bytes...and more");
        assert_eq!(one.slice(0x10ff0, 10).unwrap(), b"SIXTEEN by");
        assert_eq!(two.regions(), [Region { start: 0x10000, end: 0x14000, perm: Perm::READ | Perm::WRITE }]);
        assert!(two.slice(0x13fff, 1).unwrap() == [0]);
    }

    #[test]
    fn machines_move_between_threads() {
        let mut window = Window::new(1 << 20).unwrap();
        window.state_mut().hart.set_x(10, 7);
        let window = std::thread::spawn(move || window).join().unwrap();
        assert_eq!(window.state().hart.x(10), 7);
    }
}
