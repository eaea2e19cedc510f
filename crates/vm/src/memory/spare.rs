//! Spare windows: those of dropped machines, wiped, for later machines of the same program.
//!
//! To reserve and map a window, and to give it back, takes the kernel longer than all else of a short machine's life. So a
//! dropped window is wiped and kept here, and [`Window::at_start`] and [`Window::for_saved`] take it.
//!
//! Invariant: a spare window holds nothing of its guest. It is mapped as a new one is, each of its pages is as it was at
//! the program's start or in the saved memory that it is kept for, and its state is that of a new one.

use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::address_space::AddressSpace;
use super::error::MapError;
use super::image::Image;
use super::layout::{Layout, Start};
use super::pages::PAGE_SIZE;
use super::ranges::merged;
use super::saved::{SavedMemory, WeakSavedMemory};
use super::window::Window;
use crate::perm::Perm;
use crate::sys;

/// Spare windows of the process at most. Each takes the pages of its state and page tables, some 40 KiB; one of a saved
/// memory also the pages that guests write again and again, up to 2 MiB.
const SPARES: usize = 16;
/// Bytes that a guest may have had at once whose window is kept: page tables for them stay, a 512th as large.
const PEAK: u64 = 256 << 20;

/// What a spare window's pages hold.
enum Contents {
    Start,
    /// This memory, which has the number. The pages that guests have written are known.
    Saved(WeakSavedMemory, u64),
}

struct Spare {
    window: Window,
    /// The number of its program's image.
    image: u64,
    contents: Contents,
}

impl Spare {
    fn is_of(&self, image: u64, space: AddressSpace) -> bool {
        self.image == image && self.window.space == space
    }

    fn is_useful(&self) -> bool {
        match &self.contents {
            Contents::Start => true,
            Contents::Saved(saved, _) => saved.is_alive(),
        }
    }
}

/// Oldest first.
static LIST: Mutex<Vec<Spare>> = Mutex::new(Vec::new());

fn list() -> MutexGuard<'static, Vec<Spare>> {
    // No operation on the list panics between two changes of it.
    LIST.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Gives the windows of an image back, which no other image can use.
fn forget(image: u64) {
    release(|spare| spare.image == image);
}

/// Gives spare windows back; returns whether there were any.
fn release(is_released: impl Fn(&Spare) -> bool) -> bool {
    let mut released = Vec::new();
    let mut list = list();
    while let Some(place) = list.iter().position(&is_released) {
        released.push(list.remove(place));
    }
    // The kernel takes a while, and others need not wait for it.
    drop(list);
    !released.is_empty()
}

/// Makes a window, with all room that spare ones take if the host refuses at first.
fn with_all_room(make: impl Fn() -> Result<Window, MapError>) -> Result<Window, MapError> {
    match make() {
        Err(MapError::Host(_)) if release(|_| true) => make(),
        made => made,
    }
}

/// Keeps a window, if there is place for it.
fn keep(spare: Spare) {
    let mut list = list();
    let unused = match replaceable(&list, spare.image) {
        _ if list.len() < SPARES => {
            list.push(spare);
            None
        }
        Some(place) => {
            let old = list.remove(place);
            list.push(spare);
            Some(old)
        }
        None => Some(spare),
    };
    drop(list);
    drop(unused);
}

/// The oldest window that is useless, or that is of another program than this image's.
fn replaceable(list: &[Spare], image: u64) -> Option<usize> {
    list.iter().position(|other| !other.is_useful() || other.image != image)
}

fn has_place(image: u64) -> bool {
    let list = list();
    list.len() < SPARES || replaceable(&list, image).is_some()
}

impl Window {
    /// The window, of these addresses, of a program at its start, with a stack in `stack`, whose guest may have `limit`
    /// bytes in `mapping_limit` [`mappings`](Window::mappings). A spare one if there is one.
    ///
    /// # Errors
    /// [`MapError`]: the host refuses, or the program does not keep to the limits.
    pub fn at_start(
        space: AddressSpace,
        image: &Arc<Image>,
        stack: &Range<u64>,
        limit: u64,
        mapping_limit: usize,
    ) -> Result<Window, MapError> {
        let is_here = image.start.get().is_some_and(|start| start.stack == *stack);
        if is_here && let Some(mut window) = take_at_start(image.number(), space) {
            window.program = Some(image.clone());
            if window.used <= limit && window.mappings() <= mapping_limit {
                (window.limit, window.mapping_limit) = (limit, mapping_limit);
                return Ok(window);
            }
        }
        with_all_room(|| {
            let mut window = Window::new(space, limit).map_err(MapError::Host)?;
            window.set_mapping_limit(mapping_limit);
            window.map_start(image, stack)?;
            image.start.get_or_init(|| Start { stack: stack.clone(), layout: window.layout() });
            window.program = Some(image.clone());
            Ok(window)
        })
    }

    /// A window to [restore](Window::restore) a saved memory of a program to: a spare one of that memory or of one that it
    /// shares pages with, or a new one.
    ///
    /// # Errors
    /// [`MapError::Host`].
    pub fn for_saved(
        space: AddressSpace,
        image: &Arc<Image>,
        saved: &SavedMemory,
        limit: u64,
        mapping_limit: usize,
    ) -> Result<Window, MapError> {
        let mut window = match take_saved(image.number(), saved, space) {
            Some(window) => window,
            None => with_all_room(|| Window::new(space, limit).map_err(MapError::Host))?,
        };
        (window.limit, window.mapping_limit) = (limit, mapping_limit);
        window.program = Some(image.clone());
        Ok(window)
    }

    fn map_start(&mut self, image: &Image, stack: &Range<u64>) -> Result<(), MapError> {
        self.map_image(image)?;
        self.map(stack.start, stack.end - stack.start, Perm::READ | Perm::WRITE)
    }

    fn layout(&self) -> Layout {
        let (regions, seams) = (self.regions.clone(), self.seams.clone());
        Layout { regions, seams, image: self.image.clone(), origins: self.origins.clone() }
    }

    fn has_layout(&self, layout: &Layout) -> bool {
        let Layout { regions, seams, image, origins } = layout;
        self.regions == *regions && self.seams == *seams && self.image == *image && self.origins == *origins
    }

    /// Wipes the window of a dropped machine and keeps it; false if it is to be given back, and still can be.
    pub(super) fn retire(&mut self) -> bool {
        let Some(image) = self.program.take() else { return false };
        if self.peak > PEAK || !has_place(image.number()) || !sys::room_is_free() {
            return false;
        }
        let Some(contents) = self.wipe(&image) else { return false };
        self.clear_state();
        image.forget_spares.get_or_init(|| forget);
        keep(Spare { window: self.moved(), image: image.number(), contents });
        true
    }

    fn wipe(&mut self, image: &Image) -> Option<Contents> {
        if let Some(saved) = self.base.as_ref().filter(|base| base.is_shared()).cloned() {
            self.restore(&saved, image).ok()?;
            // To find out what has been written would take longer than to make a new one.
            self.tracked_runs()?;
            self.base = None;
            return Some(Contents::Saved(saved.downgrade(), saved.number()));
        }
        self.stop_tracking().ok()?;
        (self.base, self.untracked) = (None, 0);
        let start = image.start.get()?;
        match self.has_layout(&start.layout) {
            true => {
                for range in merged(self.regions.iter().map(|region| region.start..region.end).collect()) {
                    self.discard_host(range).ok()?;
                }
            }
            false => {
                self.mapping_limit = usize::MAX;
                let range = self.regions.first()?.start..self.regions.last()?.end;
                self.unmap(range.start, range.end - range.start).ok()?;
                self.map_start(image, &start.stack).ok()?;
                // Whether the kernel has more mappings than for a new one, a guest could learn by its limit.
                self.has_layout(&start.layout).then_some(())?;
            }
        }
        self.peak = self.used;
        Some(Contents::Start)
    }
}

fn take_at_start(image: u64, space: AddressSpace) -> Option<Window> {
    let mut list = list();
    let is_found = |spare: &Spare| spare.is_of(image, space) && matches!(spare.contents, Contents::Start);
    let place = list.iter().rposition(is_found)?;
    Some(list.remove(place).window)
}

/// A window that differs from the memory that is wanted only in pages that it knows to be written.
fn take_saved(image: u64, wanted: &SavedMemory, space: AddressSpace) -> Option<Window> {
    let mut list = list();
    let mut found = None;
    for (place, spare) in list.iter().enumerate().rev().filter(|(_, spare)| spare.is_of(image, space)) {
        let Contents::Saved(saved, number) = &spare.contents else { continue };
        if *number == wanted.number() {
            found = Some(place);
            break;
        }
        let is_older = || wanted.changes_since(*number).is_some();
        let is_related = || saved.upgrade().is_some_and(|saved| saved.has_layout_of(wanted));
        if found.is_none() && (is_older() || is_related()) {
            found = Some(place);
        }
    }
    let Spare { mut window, contents, .. } = list.remove(found?);
    drop(list);
    let Contents::Saved(saved, number) = contents else { return None };
    match wanted.changes_since(number) {
        Some(changes) => {
            for address in changes {
                window.will_write(address, PAGE_SIZE).ok()?;
            }
            window.tracked_runs()?;
            window.base = Some(wanted.clone());
        }
        None => window.base = Some(saved.upgrade()?),
    }
    Some(window)
}

#[cfg(all(test, not(miri)))]
mod tests {
    use super::*;
    use crate::hart::Hart;
    use crate::memory::MAPPING_LIMIT;

    const START: u64 = 0x10000;
    const STACK: Range<u64> = 0x100_0000..0x101_0000;

    fn program() -> Arc<Image> {
        let mut image = Image::new().unwrap();
        image.add(START..START + 0x4000, Perm::READ | Perm::WRITE, &[(START, b"contents")]).unwrap();
        Arc::new(image)
    }

    fn at_start(image: &Arc<Image>) -> Window {
        Window::at_start(AddressSpace::LARGEST, image, &STACK, 1 << 20, MAPPING_LIMIT).unwrap()
    }

    fn spares_of(image: u64) -> usize {
        list().iter().filter(|spare| spare.image == image).count()
    }

    #[test]
    fn a_spare_window_is_as_a_new_one() {
        for changes_mappings in [false, true] {
            check_a_spare_window(changes_mappings);
        }
    }

    fn check_a_spare_window(changes_mappings: bool) {
        let image = program();
        let (mut first, new) = (at_start(&image), at_start(&image));
        let (layout, place) = (new.layout(), first.state_ptr());
        first.slice_mut(START, 0x4000).unwrap().fill(7);
        first.slice_mut(STACK.start, 0x10000).unwrap().fill(7);
        if changes_mappings {
            first.map(0x50_0000, 0x8000, Perm::READ | Perm::WRITE).unwrap();
            first.slice_mut(0x50_0000, 0x8000).unwrap().fill(7);
            first.unmap(STACK.start, 0x1000).unwrap();
            first.protect(START + 0x2000, 0x1000, Perm::NONE).unwrap();
        }
        first.state_mut().hart.set_x(10, 7);
        first.own_predictions(5);
        let id = first.id();
        drop(first);
        let mut again = at_start(&image);
        // Other tests may have taken its place in the list.
        if again.state_ptr() == place {
            assert_ne!(again.id(), id);
        }
        assert!(again.has_layout(&layout));
        assert_eq!(again.slice(START, 0x4000).unwrap(), new.slice(START, 0x4000).unwrap());
        assert!(again.slice(STACK.start, 0x10000).unwrap().iter().all(|&byte| byte == 0));
        again.map(0x50_0000, 0x8000, Perm::READ).unwrap();
        assert!(again.slice(0x50_0000, 0x8000).unwrap().iter().all(|&byte| byte == 0));
        assert_eq!((&again.state().hart, again.predictions_owner()), (&Hart::new(), 0));
    }

    #[test]
    fn spare_windows_are_few_and_go_with_their_program() {
        let image = program();
        let number = image.number();
        let dropped = || {
            let windows: Vec<Window> = (0..2 * SPARES).map(|_| at_start(&image)).collect();
            drop(windows);
            spares_of(number)
        };
        if sys::room_is_free() {
            // Other tests may have taken all places of the list meanwhile.
            let kept = (0..100).map(|_| dropped()).find(|&kept| kept != 0);
            assert!(kept.is_some_and(|kept| kept <= SPARES), "{kept:?}");
        } else {
            assert_eq!(dropped(), 0);
        }
        let last = at_start(&image);
        drop(image);
        drop(last);
        assert_eq!(spares_of(number), 0);
    }

    #[test]
    fn limits_hold_for_spare_windows() {
        let image = program();
        drop(at_start(&image));
        assert!(matches!(
            Window::at_start(AddressSpace::LARGEST, &image, &STACK, 0x4000, MAPPING_LIMIT),
            Err(MapError::Limit)
        ));
        assert!(matches!(Window::at_start(AddressSpace::LARGEST, &image, &STACK, 1 << 20, 1), Err(MapError::Pieces)));
        let stack = STACK.start..STACK.end + 0x1000;
        let other = Window::at_start(AddressSpace::LARGEST, &image, &stack, 1 << 20, MAPPING_LIMIT).unwrap();
        assert!(other.slice(STACK.start, 0x11000).is_ok());
    }

    #[test]
    fn a_window_of_a_saved_memory_follows_its_descendants() {
        let image = program();
        let mut parent = at_start(&image);
        for round in 0..20 {
            parent.slice_mut(STACK.start + 0x1000 * (round % 16), 8).unwrap().fill(round as u8 + 1);
            let saved = parent.save(&image).unwrap();
            let mut child = Window::for_saved(AddressSpace::LARGEST, &image, &saved, 1 << 20, MAPPING_LIMIT).unwrap();
            child.restore(&saved, &image).unwrap();
            for range in [START..START + 0x4000, STACK] {
                let len = range.end - range.start;
                assert!(child.slice(range.start, len).unwrap() == parent.slice(range.start, len).unwrap(), "{round}");
                child.slice_mut(range.start + 0x1000 * (round % 4), 0x1000).unwrap().fill(0xff);
            }
        }
    }
}
