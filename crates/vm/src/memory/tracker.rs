//! Which pages of a window have been written since it was equal to a saved memory.
//!
//! While a window is tracked, the processor may write only pages that are in a *run*. The first write to any other page
//! faults, and the fault handler ([`resolve_write`]) puts the page into a run. A page stays there: it is copied back each
//! time, and costs no further fault. Host accesses ask before they write, so that system calls do not fail either.
//! Tracking ends where it would cost more than it saves: with too many runs (each is a mapping of its own, and counts
//! as one) or pages. To end it must not take a mapping, which the kernel might not have: pages that touch what the
//! guest may only read are in runs from the start, so that no mapping of the kernel's reaches across.
//!
//! Invariant: every page that differs from the saved memory is in a run, or `is_on` is false. The fault handler runs on the
//! thread that uses the window, while an engine waits at the access, so no other code uses the tracker then.

use std::io;
use std::ops::Range;
use std::ptr;

use super::pages::PAGE_SIZE;
use super::ranges::gaps;
use crate::context::{TRACKER_OFFSET, VmContext, WINDOW_OFFSET};
use crate::perm::Perm;
use crate::sys;

/// Runs of written pages at most.
const RUNS: usize = 32;
/// Written pages at most: to copy more back takes longer than to map them anew.
const PAGES: u64 = 512;
/// Pages between two runs at which they become one: to copy them takes less than a fault.
const GAP: u64 = 2;

/// See the module.
#[derive(Debug)]
pub(crate) struct Tracker {
    /// The host address of guest address 0.
    window: *mut u8,
    /// Whether the processor refuses writes to pages outside of runs.
    is_on: bool,
    /// Whether the processor may refuse writes at all: not only while the tracking is on, but until the host lets it end.
    is_closed: bool,
    /// What the guest may write; sorted.
    writable: Vec<Range<u64>>,
    /// Sorted. Its capacity is fixed: the fault handler cannot allocate.
    runs: Vec<Range<u64>>,
    pages: u64,
    /// Runs at most.
    limit: usize,
}

impl Tracker {
    /// One that tracks nothing, of the window at this host address.
    pub(crate) fn new(window: *mut u8) -> Tracker {
        let runs = Vec::with_capacity(RUNS);
        Tracker { window, is_on: false, is_closed: false, writable: Vec::new(), runs, pages: 0, limit: 0 }
    }

    /// Whether every page that was written is in a run.
    pub(crate) fn is_on(&self) -> bool {
        self.is_on
    }

    /// The written pages.
    pub(crate) fn runs(&self) -> &[Range<u64>] {
        &self.runs
    }

    /// Tracks these ranges, which the guest may write, in so many runs at most. No page of them is written yet, but pages in
    /// `borders` can be written from the start. If the host refuses, nothing is tracked.
    pub(crate) fn start(&mut self, writable: Vec<Range<u64>>, borders: Vec<u64>, runs: usize) {
        (self.writable, self.pages) = (writable, borders.len() as u64);
        self.limit = runs.min(RUNS);
        self.runs.clear();
        if borders.len() > self.limit {
            return;
        }
        self.runs.extend(borders.into_iter().map(|page| page..page + PAGE_SIZE));
        let closed = self.writable.iter().flat_map(|range| gaps(&self.runs, range));
        self.is_on = closed.into_iter().all(|range| self.protect(&range, Perm::READ).is_ok());
        self.is_closed = true;
        if !self.is_on {
            // The next write tries again.
            let _ = self.open();
        }
    }

    /// Ends the tracking: pages can be written without being noted.
    ///
    /// # Errors
    /// If the host refuses: not all pages can be written.
    pub(crate) fn stop(&mut self) -> io::Result<()> {
        self.is_on = false;
        self.open()
    }

    /// Lets the processor write all that the guest may.
    fn open(&mut self) -> io::Result<()> {
        if self.is_closed {
            self.writable.iter().try_for_each(|range| self.protect(range, READ_WRITE))?;
            self.is_closed = false;
        }
        Ok(())
    }

    fn protect(&self, range: &Range<u64>, perm: Perm) -> io::Result<()> {
        let start = self.window.wrapping_add(range.start as usize);
        // SAFETY: the range is mapped in the window, for the guest to write; who starts the tracking holds no view of it,
        // and later only writing is allowed.
        unsafe { sys::protect(start, (range.end - range.start) as usize, perm) }
    }

    /// Says that the host is about to write these bytes, which the guest may write. Returns whether it can.
    #[inline]
    pub(crate) fn will_write(&mut self, address: u64, len: u64) -> bool {
        let mut page = address & !(PAGE_SIZE - 1);
        while self.is_on && page < address + len {
            let place = self.runs.partition_point(|run| run.end <= page);
            match self.runs.get(place) {
                Some(run) if run.start <= page => page = run.end,
                _ => {
                    self.note(page);
                    page += PAGE_SIZE;
                }
            }
        }
        self.is_on || self.open().is_ok()
    }

    /// Puts a page that is about to be written into a run, or ends the tracking. Returns whether it can be written now, and
    /// could not before. Called in signal handlers.
    fn note(&mut self, page: u64) -> bool {
        let place = self.writable.partition_point(|range| range.end <= page);
        let Some(range) = self.writable.get(place).filter(|range| range.start <= page) else { return false };
        let next = self.runs.partition_point(|run| run.end <= page);
        if self.runs.get(next).is_some_and(|run| run.start <= page) {
            return false;
        }
        let reach = GAP * PAGE_SIZE;
        let before = next.checked_sub(1).filter(|&run| self.runs[run].end.max(range.start) + reach >= page);
        let before = before.filter(|&run| self.runs[run].end >= range.start);
        let after = self.runs.get(next).filter(|run| run.start <= page + PAGE_SIZE + reach && run.start < range.end);
        let start = before.map_or(page, |run| self.runs[run].end);
        let end = after.map_or(page + PAGE_SIZE, |run| run.start);
        let pages = (end - start) / PAGE_SIZE;
        let is_new = before.is_none() && after.is_none();
        let is_too_much = self.pages + pages > PAGES || is_new && self.runs.len() >= self.limit;
        if is_too_much || self.protect(&(start..end), READ_WRITE).is_err() {
            return self.stop().is_ok();
        }
        self.pages += pages;
        match (before, after.is_some()) {
            (Some(run), true) => {
                self.runs[run].end = self.runs[next].end;
                self.runs.remove(next);
            }
            (Some(run), false) => self.runs[run].end = end,
            (None, true) => self.runs[next].start = start,
            (None, false) => self.runs.insert(next, start..end),
        }
        true
    }
}

const READ_WRITE: Perm = Perm::READ.and(Perm::WRITE);

/// Resolves a fault at a host address by guest code with this state: true if the access was a write that the guest may
/// make, to a page that was not noted yet. The access then succeeds when it is repeated. Called in signal handlers.
///
/// # Safety
/// The state is that of a window, whose engine waits at the access.
pub(crate) unsafe fn resolve_write(state: *mut VmContext, address: usize) -> bool {
    let window = state as usize + WINDOW_OFFSET;
    // SAFETY: as the caller promises: the window keeps a tracker or null there.
    let tracker = unsafe { tracker_of(state).read() };
    if tracker.is_null() || address < window {
        return false;
    }
    // SAFETY: the window owns the tracker, and no other code uses it while its engine runs.
    let tracker = unsafe { &mut *tracker };
    match tracker.is_on {
        true => tracker.note((address - window) as u64 & !(PAGE_SIZE - 1)),
        false => tracker.is_closed && tracker.open().is_ok(),
    }
}

/// Where a window with this state keeps the address of its tracker.
pub(crate) fn tracker_of(state: *mut VmContext) -> *mut *mut Tracker {
    state.wrapping_byte_add(TRACKER_OFFSET).cast()
}

/// Gives a tracker to the window with this state.
///
/// # Safety
/// The state is that of a window that no engine runs, which frees the tracker with [`free`].
pub(crate) unsafe fn install(state: *mut VmContext, tracker: Tracker) {
    // SAFETY: as the caller promises.
    unsafe { tracker_of(state).write(Box::into_raw(Box::new(tracker))) };
}

/// Frees the tracker of the window with this state, if it has one.
///
/// # Safety
/// As [`install`].
pub(crate) unsafe fn free(state: *mut VmContext) {
    // SAFETY: as the caller promises; `install` has made the box.
    unsafe {
        let tracker = tracker_of(state).replace(ptr::null_mut());
        if !tracker.is_null() {
            drop(Box::from_raw(tracker));
        }
    }
}
