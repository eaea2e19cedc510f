//! A guest's memory: a window of all its addresses in which the processor checks every access.
//!
//! `Window` owns the reservation and the only mappings in it. It keeps a list of regions with the guest's permissions,
//! which equals the kernel's mappings; host accesses and the reference interpreter check against that list.

use std::fmt;
use std::io;
use std::mem;
use std::ops::Range;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use super::address_space::AddressSpace;
use super::error::{Fault, MapError};
use super::image::Image;
use super::pages::{MIN_ADDRESS, PAGE_SIZE, Region};
use super::plan::mappings;
use super::saved::SavedMemory;
use super::seams::Seams;
use super::tracker::{self, Tracker, tracker_of};
use crate::context::{
    ADDRESS_MASK_OFFSET, GUARD_SIZE, JUMP_CACHE_SIZE, RETURNS_OFFSET, RETURNS_SIZE, STATE_SIZE, VmContext,
    WINDOW_OFFSET,
};
use crate::hart::Hart;
use crate::imports::{Import, SYSTEM_CALLS, SYSTEM_CALLS_OFFSET, SystemCall};
use crate::perm::Perm;
use crate::polls::Polls;
use crate::sys;

/// Mappings that a guest may split its window into, unless [`Window::set_mapping_limit`] says otherwise.
pub const MAPPING_LIMIT: usize = 4096;

/// Bytes of the reservation for such a window.
const fn reserved(space: AddressSpace) -> usize {
    GUARD_SIZE + WINDOW_OFFSET + space.size() as usize + GUARD_SIZE
}

/// A guest's memory and registers. Dropping it gives the address space back.
pub struct Window {
    /// The first byte of the [`VmContext`].
    pub(super) state: NonNull<VmContext>,
    /// Its addresses. The reservation has room for them, and the word at [`ADDRESS_MASK_OFFSET`] is their mask.
    pub(super) space: AddressSpace,
    /// The mapped addresses with their permissions: sorted, not overlapping, none empty; adjacent regions differ.
    pub(super) regions: Vec<Region>,
    /// Addresses at which the kernel may keep two mappings apart though the regions on both sides have the same permissions.
    pub(super) seams: Seams,
    /// Addresses that have pages of the program's file, or once had.
    pub(super) image: Vec<Range<u64>>,
    /// The addresses whose pages are the image's once discarded, and not zeros; sorted, not overlapping.
    pub(super) origins: Vec<Range<u64>>,
    /// The addresses of which any page may have been written; sorted, not overlapping.
    pub(super) touched: Vec<Range<u64>>,
    /// The addresses that have pages of a saved memory's file, if they were not written; sorted, not overlapping.
    pub(super) backed: Vec<Range<u64>>,
    /// The saved memory that this one was equal to, if only pages in runs of the tracker differ; or that it was made from.
    pub(super) base: Option<SavedMemory>,
    /// Whether the tracker may be on, or pages may still be write-protected because of it. While it is on, every page outside
    /// the tracker's runs has the contents that `base` has.
    pub(super) is_tracked: bool,
    /// How many more restorations do without tracking, because the guest wrote too many pages for it.
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
    /// Whether the table of system calls may have entries.
    remembers_system_calls: bool,
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
    /// Reserves a window of these addresses with nothing mapped, whose guest may have `limit` bytes.
    ///
    /// # Errors
    /// If the host has no such address space left.
    pub fn new(space: AddressSpace, limit: u64) -> io::Result<Window> {
        let reserved = reserved(space);
        let (reservation, seams) = match sys::writable_room_is_free().then(|| sys::reserve(reserved, true)) {
            Some(Ok(reservation)) => (reservation, Seams::default()),
            _ => (sys::reserve(reserved, false)?, Seams::all_foreign(0..space.size())),
        };
        // SAFETY: the reservation is larger than a guard.
        let state = unsafe { reservation.add(GUARD_SIZE) };
        let mut window = Window {
            state: state.cast(),
            space,
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
            remembers_system_calls: false,
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
                let last_page = reserved - PAGE_SIZE as usize;
                protect(last_page, reserved, Perm::READ | Perm::WRITE)?;
                // SAFETY: the page lies in the reservation, can be written to, and is not used otherwise.
                unsafe { reservation.add(last_page).as_ptr().write_volatile(0) };
            }
        }
        protect(0, GUARD_SIZE, Perm::NONE)?;
        // What can never be mapped behind the state is one mapping with it, where the host can do that.
        let guests = GUARD_SIZE + WINDOW_OFFSET + MIN_ADDRESS as usize;
        protect(guests, reserved, Perm::NONE)?;
        // SAFETY: as above.
        unsafe { sys::guard(reservation.add(state_end).as_ptr(), guests - state_end)? };
        window.state_mut().hart = Hart::new();
        let mask = window.state.as_ptr().wrapping_byte_add(ADDRESS_MASK_OFFSET).cast::<u64>();
        // SAFETY: the place lies in the state's pages, behind the `VmContext`, and nothing else is there.
        unsafe { mask.write(space.mask()) };
        window.forget_system_calls();
        Ok(window)
    }

    /// The same window, which this one is not any more: it must not be used, nor give anything back.
    pub(super) fn moved(&mut self) -> Window {
        Window {
            state: self.state,
            space: self.space,
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
            remembers_system_calls: self.remembers_system_calls,
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
        self.renew_id();
    }

    /// Another number, by which what was meant for this window is refused.
    pub fn renew_id(&mut self) {
        self.id = new_id();
    }

    /// The words by which any thread has an engine exit.
    pub fn polls(&self) -> &Polls {
        // SAFETY: the state is this window's, which lives as long as the borrow.
        unsafe { Polls::of(self.state.as_ptr()) }
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
        let table = self.system_calls();
        // SAFETY: the table lies in the state's pages, which the window owns.
        unsafe {
            if mem::take(&mut self.remembers_system_calls) {
                table.write_bytes(0, SYSTEM_CALLS);
            }
            (&raw mut (*table).key).write(SystemCall::NO_KEY);
        }
    }

    /// Makes engines call `import` for system calls with this key.
    ///
    /// # Safety
    /// The import stays bound as long as the window lives, for the machine that has it.
    pub unsafe fn remember_system_call(&mut self, key: u64, import: Import) {
        let place = key as usize % SYSTEM_CALLS;
        self.remembers_system_calls = true;
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
        if mem::replace(&mut self.predictions_owner, owner) == 0 {
            // No owner has written to them.
            return false;
        }
        let start = self.state.as_ptr().cast::<u8>().wrapping_add(RETURNS_OFFSET);
        // SAFETY: both tables, one behind the other, lie in the state's pages, which the window
        // owns.
        unsafe { start.write_bytes(0, RETURNS_SIZE + JUMP_CACHE_SIZE) };
        false
    }

    /// Its addresses.
    #[inline(always)]
    pub fn space(&self) -> AddressSpace {
        self.space
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
        debug_assert!(address <= self.space.size());
        self.state.as_ptr().cast::<u8>().wrapping_add(WINDOW_OFFSET + address as usize)
    }

    pub(super) fn host_range(&self, range: Range<u64>) -> (*mut u8, usize) {
        (self.host(range.start), (range.end - range.start) as usize)
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
        // SAFETY: no engine runs what is dropped.
        unsafe { tracker::free(self.state.as_ptr()) };
        // SAFETY: this is the whole reservation of `new`; views of it borrow from `self`, so none is left.
        unsafe { sys::release(reservation.cast(), reserved(self.space)) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn machines_move_between_threads() {
        let mut window = Window::new(AddressSpace::LARGEST, 1 << 20).unwrap();
        window.state_mut().hart.set_x(10, 7);
        let window = std::thread::spawn(move || window).join().unwrap();
        assert_eq!(window.state().hart.x(10), 7);
    }
}
