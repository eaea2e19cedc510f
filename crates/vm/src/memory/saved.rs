//! A guest's memory at one moment, shared by any number of machines and threads.
//!
//! [`Window::save`](crate::Window::save) makes one, [`Window::restore`](crate::Window::restore) gives a window its
//! contents. It keeps only pages that differ from their *origin*, which is what a page holds before it is written: the
//! program's image, or zeros. Invariant: regions and pages are those of a window (sorted, whole pages, none writable and
//! executable, within the addresses that can be mapped). [`SavedMemory::from_parts`] checks that for parts from a file.

use std::ops::Range;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, OnceLock, Weak};

use super::address_space::AddressSpace;
use super::backing::Backing;
use super::image::Image;
use super::pages::{MIN_ADDRESS, PAGE_SIZE, Page, Region};
use super::ranges::merged;
use crate::perm::Perm;

static NUMBERS: AtomicU64 = AtomicU64::new(0);

/// Steps that a memory knows of its history.
const HISTORY: usize = 8;

/// The memory of a guest at one moment; clones are the same one.
#[derive(Clone, Debug)]
pub struct SavedMemory(Arc<Saved>);

#[derive(Debug)]
struct Saved {
    /// A number that no other memory of this process has, or has had.
    number: u64,
    /// The numbers of those it was made from by [`SavedMemory::with_pages`], the latest first, and the pages that
    /// changed then.
    history: Vec<(u64, Arc<[u64]>)>,
    regions: Vec<Region>,
    image: Vec<Range<u64>>,
    used: u64,
    /// Pages that differ from their origin, by address.
    pages: Vec<(u64, Arc<Page>)>,
    /// Whether a window was made from it already.
    is_used: AtomicBool,
    backing: OnceLock<Option<Arc<Backing>>>,
    /// Pages in the file that have changed since it was made, some of them counted more than once.
    outdated: usize,
}

/// Why parts are no memory of a guest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SavedMemoryError {
    /// A region or page leaves the addresses that can be mapped, or does not consist of whole pages.
    Address {
        /// Where it begins.
        address: u64,
    },
    /// A region or page comes before or overlaps the previous one.
    Order {
        /// Where it begins.
        address: u64,
    },
    /// A region is writable and executable, or it has permissions that do not exist.
    Perm {
        /// Where it begins.
        address: u64,
    },
    /// A page or a range of the image is outside of all regions, or the range is outside of the program's image.
    NotMapped {
        /// Where it begins.
        address: u64,
    },
}

impl std::fmt::Display for SavedMemoryError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            SavedMemoryError::Address { address } => {
                write!(f, "the memory at {address:#x} is not made of whole pages that a guest can have")
            }
            SavedMemoryError::Order { address } => write!(f, "the memory at {address:#x} overlaps or is out of order"),
            SavedMemoryError::Perm { address } => write!(f, "the memory at {address:#x} has impossible permissions"),
            SavedMemoryError::NotMapped { address } => {
                write!(f, "a page at {address:#x} is outside of the memory that is mapped, or of the program's image")
            }
        }
    }
}

impl std::error::Error for SavedMemoryError {}

/// A [`SavedMemory`] for as long as it has owners, which this is not.
#[derive(Debug)]
pub(crate) struct WeakSavedMemory(Weak<Saved>);

impl WeakSavedMemory {
    pub(crate) fn upgrade(&self) -> Option<SavedMemory> {
        self.0.upgrade().map(SavedMemory)
    }

    pub(crate) fn is_alive(&self) -> bool {
        self.0.strong_count() != 0
    }
}

impl SavedMemory {
    /// The memory of a window.
    pub(crate) fn new(regions: Vec<Region>, image: Vec<Range<u64>>, pages: Vec<(u64, Arc<Page>)>) -> SavedMemory {
        let used = regions.iter().filter(|region| region.perm != Perm::NONE).map(|region| region.end - region.start);
        SavedMemory(Arc::new(Saved {
            number: NUMBERS.fetch_add(1, Relaxed),
            history: Vec::new(),
            used: used.sum(),
            regions,
            image,
            pages,
            is_used: AtomicBool::new(false),
            backing: OnceLock::new(),
            outdated: 0,
        }))
    }

    /// A memory from its parts, which need not be trusted: `regions` as [`SavedMemory::regions`], `image_ranges` as
    /// [`SavedMemory::image_ranges`], `pages` as [`SavedMemory::pages`], for a program with this image and a window of these
    /// addresses. Whether a machine may have that much memory is tested when it is restored.
    ///
    /// # Errors
    /// The first part that no window could have.
    pub fn from_parts(
        regions: Vec<Region>,
        image_ranges: Vec<Range<u64>>,
        pages: Vec<(u64, Arc<Page>)>,
        image: &Image,
        space: AddressSpace,
    ) -> Result<SavedMemory, SavedMemoryError> {
        let within = |range: &Range<u64>| {
            let is_whole = (range.start | range.end).is_multiple_of(PAGE_SIZE) && range.start < range.end;
            match is_whole && range.start >= MIN_ADDRESS && range.end <= space.end() {
                true => Ok(()),
                false => Err(SavedMemoryError::Address { address: range.start }),
            }
        };
        let in_order = |ranges: &[Range<u64>]| match ranges.windows(2).find(|pair| pair[0].end > pair[1].start) {
            Some(pair) => Err(SavedMemoryError::Order { address: pair[1].start }),
            None => Ok(()),
        };
        let mapped: Vec<Range<u64>> = regions.iter().map(|region| region.start..region.end).collect();
        mapped.iter().try_for_each(within)?;
        in_order(&mapped)?;
        let is_impossible = |perm: Perm| perm.contains(Perm::WRITE | Perm::EXECUTE) || perm != perm.readable();
        if let Some(region) = regions.iter().find(|region| is_impossible(region.perm)) {
            return Err(SavedMemoryError::Perm { address: region.start });
        }
        let whole = merged(mapped.clone());
        let is_inside = |range: &Range<u64>, all: &[Range<u64>]| {
            let place = all.partition_point(|outer| outer.end < range.end);
            match all.get(place).is_some_and(|outer| outer.start <= range.start && range.end <= outer.end) {
                true => Ok(()),
                false => Err(SavedMemoryError::NotMapped { address: range.start }),
            }
        };
        image_ranges.iter().try_for_each(within)?;
        in_order(&image_ranges)?;
        let contents = merged(image.file_ranges());
        for range in &image_ranges {
            is_inside(range, &whole)?;
            is_inside(range, &contents)?;
        }
        let mut end = 0;
        for &(address, _) in &pages {
            let range = address..address.saturating_add(PAGE_SIZE);
            within(&range)?;
            if address < end {
                return Err(SavedMemoryError::Order { address });
            }
            is_inside(&range, &whole)?;
            end = range.end;
        }
        // Neighbours with the same permissions are one region of a window.
        let mut joined: Vec<Region> = Vec::with_capacity(regions.len());
        for region in regions {
            match joined.last_mut() {
                Some(last) if last.end == region.start && last.perm == region.perm => last.end = region.end,
                _ => joined.push(region),
            }
        }
        Ok(SavedMemory::new(joined, merged(image_ranges), pages))
    }

    /// What is mapped, in order.
    pub fn regions(&self) -> &[Region] {
        &self.0.regions
    }

    /// The addresses whose origin is the program's image, in order; that of all others is zeros.
    pub fn image_ranges(&self) -> &[Range<u64>] {
        &self.0.image
    }

    /// Bytes mapped for any access.
    pub fn used(&self) -> u64 {
        self.0.used
    }

    /// The pages that differ from their origin, with their addresses, in order.
    pub fn pages(&self) -> impl Iterator<Item = (u64, &Page)> {
        self.0.pages.iter().map(|(address, page)| (*address, &**page))
    }

    /// The same, as they are shared.
    pub(super) fn shared_pages(&self) -> impl Iterator<Item = (u64, &Arc<Page>)> {
        self.0.pages.iter().map(|(address, page)| (*address, page))
    }

    /// Whether both are the same one.
    pub(crate) fn is(&self, other: &SavedMemory) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// The file with pages of this memory, or of one that it was made from, once a second window is made from it. None if
    /// there are no runs of pages, or the host refuses.
    pub(super) fn backing(&self) -> Option<&Arc<Backing>> {
        if !self.0.is_used.swap(true, Relaxed) {
            return None;
        }
        let make = || Backing::new(&self.0.pages, &self.0.image).ok().flatten().map(Arc::new);
        self.0.backing.get_or_init(make).as_ref()
    }

    /// Whether it has another owner.
    pub(crate) fn is_shared(&self) -> bool {
        Arc::strong_count(&self.0) > 1
    }

    /// The same one, which does not keep it alive.
    pub(crate) fn downgrade(&self) -> WeakSavedMemory {
        WeakSavedMemory(Arc::downgrade(&self.0))
    }

    /// Whether both have the same regions and origins.
    pub(crate) fn has_layout_of(&self, other: &SavedMemory) -> bool {
        self.0.regions == other.0.regions && self.0.image == other.0.image
    }

    /// The saved page at this address, if it differs from its origin.
    pub(crate) fn page(&self, address: u64) -> Option<&Arc<Page>> {
        let place = self.0.pages.binary_search_by_key(&address, |(at, _)| *at).ok()?;
        Some(&self.0.pages[place].1)
    }

    /// The pages from this address on.
    pub(crate) fn pages_from(&self, address: u64) -> impl Iterator<Item = (u64, &Page)> {
        let first = self.0.pages.partition_point(|(at, _)| *at < address);
        self.0.pages[first..].iter().map(|(at, page)| (*at, &**page))
    }

    /// The same with other pages, given in order; `None` for those that are as their origin.
    pub(crate) fn with_pages(&self, changes: &[(u64, Option<Arc<Page>>)]) -> SavedMemory {
        let mut pages = Vec::with_capacity(self.0.pages.len() + changes.len());
        let mut old = self.0.pages.iter().peekable();
        for (address, page) in changes {
            while let Some(kept) = old.next_if(|(at, _)| at < address) {
                pages.push(kept.clone());
            }
            old.next_if(|(at, _)| at == address);
            pages.extend(page.clone().map(|page| (*address, page)));
        }
        pages.extend(old.cloned());
        let changed = changes.iter().map(|(address, _)| *address).collect();
        let backing = OnceLock::new();
        let mut outdated = self.0.outdated;
        if let Some(Some(file)) = self.0.backing.get() {
            outdated += changes.iter().filter(|(address, _)| file.page(*address).is_some()).count();
            if 4 * outdated <= file.len() {
                backing.get_or_init(|| Some(file.clone()));
            } else {
                outdated = 0;
            }
        }
        let before = self.0.history.iter().take(HISTORY - 1).cloned();
        SavedMemory(Arc::new(Saved {
            number: NUMBERS.fetch_add(1, Relaxed),
            history: std::iter::once((self.0.number, changed)).chain(before).collect(),
            used: self.0.used,
            regions: self.0.regions.clone(),
            image: self.0.image.clone(),
            pages,
            is_used: AtomicBool::new(self.0.is_used.load(Relaxed)),
            backing,
            outdated,
        }))
    }

    /// See [`SavedMemory::changes_since`].
    pub(crate) fn number(&self) -> u64 {
        self.0.number
    }

    /// The addresses of all pages that differ from the memory with this number, and others, in no order; `None` if this one
    /// was not made from it, or long ago.
    pub(crate) fn changes_since(&self, number: u64) -> Option<impl Iterator<Item = u64>> {
        let steps = match self.0.number == number {
            true => 0,
            false => 1 + self.0.history.iter().position(|(before, _)| *before == number)?,
        };
        Some(self.0.history[..steps].iter().flat_map(|(_, pages)| pages.iter().copied()))
    }

    /// The addresses of pages that the two do not share, in order.
    pub(crate) fn differences(&self, other: &SavedMemory) -> Vec<u64> {
        let (mut ours, mut theirs) = (self.0.pages.iter().peekable(), other.0.pages.iter().peekable());
        let mut differences = Vec::new();
        loop {
            let address = match (ours.peek(), theirs.peek()) {
                (Some((one, _)), Some((two, _))) => *one.min(two),
                (Some((one, _)), None) => *one,
                (None, Some((two, _))) => *two,
                (None, None) => return differences,
            };
            let one = ours.next_if(|(at, _)| *at == address);
            let two = theirs.next_if(|(at, _)| *at == address);
            if !one.zip(two).is_some_and(|(one, two)| Arc::ptr_eq(&one.1, &two.1)) {
                differences.push(address);
            }
        }
    }

    /// What the guest may do with the page at this address; `None` if nothing is mapped there.
    pub fn perm_at(&self, address: u64) -> Option<Perm> {
        let place = self.0.regions.partition_point(|region| region.end <= address);
        self.0.regions.get(place).filter(|region| region.start <= address).map(|region| region.perm)
    }
}
