//! The heap of a machine, for its host and for the functions that guests call.

use std::ops::Range;
use std::sync::LazyLock;

use riverrun_program::Image;
use riverrun_vm::{AddressSpace, Fault, Interruption, MIN_ADDRESS, Perm, Region};
use serde::{Deserialize, Serialize};

use super::allocator::{Allocated, Allocator, Full, InUse, SavedAllocator};
use super::classes::PAGE;
use super::deferred::{Deferred, GivenUp};
use super::options::{HeapEvent, HeapOptions, HeapStatistics};
use super::sites::{DEPTH, Site, Sites};
use super::slab::Owner;
use crate::heap_error::{HeapError, HeapProblem as Problem};
use crate::memory::Memory;
use crate::program::Program;

/// The part of the guest's addresses behind which the arena begins if there is room: above most programs, below what Linux's
/// guests map.
const START_PART: u64 = 4;
/// The part of fewer addresses than the most that it takes.
const ARENA_PART: u64 = 2;
/// Bytes that are copied or filled between two looks at the time.
pub(crate) const STEP: u64 = 1 << 20;
/// Pages that the arena grows by at least, where there is room.
const GROWTH: u64 = 64;
/// The arena grows by at least its size divided by this.
const GROWTH_PART: u64 = 8;

/// A heap's records, which belong to its machine.
#[derive(Debug)]
pub(crate) struct HeapState {
    /// None before the heap is used: most machines of many have no use for it.
    allocator: Option<Box<Allocator>>,
    /// Addresses set aside for the arena; none before it is used.
    reserved: Range<u64>,
    deferred: Deferred,
    options: HeapOptions,
    sites: Option<Box<Sites>>,
    /// Whether call sites are recorded or events logged.
    is_recorded: bool,
    program: Program,
}

/// What a snapshot keeps of a heap: which blocks are in use. Call sites are not kept.
#[derive(Clone, Debug)]
pub(crate) struct HeapRecords {
    allocator: Allocator,
    reserved: Range<u64>,
}

/// The records as data of a snapshot's file.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct SavedHeap {
    reserved: Range<u64>,
    allocator: SavedAllocator,
}

impl HeapRecords {
    pub(crate) fn save(&self) -> SavedHeap {
        SavedHeap { reserved: self.reserved.clone(), allocator: self.allocator.save() }
    }

    /// `None` if no heap of a guest with these addresses that uses that many bytes of memory can have made this.
    pub(crate) fn restore(saved: &SavedHeap, used: u64, space: AddressSpace) -> Option<HeapRecords> {
        let allocator = Allocator::restore(&saved.allocator, used / PAGE)?;
        let (arena, reserved) = (allocator.start()..allocator.end(), saved.reserved.clone());
        let is_placed = match reserved.is_empty() {
            true => reserved == (0..0) && arena == (0..0),
            false => {
                let is_whole = (reserved.start | reserved.end).is_multiple_of(PAGE);
                let is_mappable = MIN_ADDRESS <= reserved.start && reserved.end <= space.end();
                is_whole && is_mappable && arena.start == reserved.start && arena.end <= reserved.end
            }
        };
        is_placed.then_some(HeapRecords { allocator, reserved })
    }
}

impl HeapState {
    /// The records. Blocks of dropped objects that have not been freed yet are in use.
    pub(crate) fn records(&self) -> HeapRecords {
        HeapRecords { allocator: self.allocator().clone(), reserved: self.reserved.clone() }
    }

    /// Takes records in place of its own. Dropped objects are forgotten: their blocks were those of the old records.
    pub(crate) fn set_records(&mut self, records: &HeapRecords) {
        if self.deferred.is_filled() {
            drop(self.deferred.take());
        }
        // A heap without allocations so far has no records.
        if self.reserved.is_empty() && records.reserved.is_empty() {
            return;
        }
        self.sites = self.options.record_sites.then(Box::default);
        self.reserved = records.reserved.clone();
        if self.reserved.is_empty() {
            self.allocator = None;
            return;
        }
        let is_cached = !self.is_recorded;
        let allocator = self.allocator_mut();
        allocator.clone_from(&records.allocator);
        allocator.set_cached(is_cached);
    }

    /// Leaves objects that are still there to themselves: what they put on their list reaches this heap no more. Returns
    /// whether there were any.
    pub(crate) fn disown_objects(&mut self) -> bool {
        let has_objects = self.deferred.has_objects();
        if has_objects {
            self.deferred = Deferred::default();
        }
        has_objects
    }

    pub(crate) fn options(&self) -> &HeapOptions {
        &self.options
    }

    pub(crate) fn new(options: &HeapOptions, program: &Program) -> HeapState {
        HeapState {
            allocator: None,
            reserved: 0..0,
            deferred: Deferred::default(),
            sites: options.record_sites.then(Box::default),
            is_recorded: options.record_sites || options.log.is_some(),
            options: options.clone(),
            program: program.clone(),
        }
    }

    /// An empty one before the heap is used.
    #[inline(always)]
    fn allocator(&self) -> &Allocator {
        static UNUSED: LazyLock<Allocator> = LazyLock::new(|| Allocator::new(0));
        self.allocator.as_deref().unwrap_or_else(|| &UNUSED)
    }

    #[inline(always)]
    fn allocator_mut(&mut self) -> &mut Allocator {
        self.allocator.get_or_insert_with(|| Box::new(Allocator::new(0)))
    }

    /// Frees the blocks of dropped owned objects.
    #[cold]
    fn drain(&mut self, memory: &Memory) {
        for given_up in self.deferred.take() {
            let (address, owned) = match given_up {
                GivenUp::Nothing => continue,
                GivenUp::Block(address) => (address, None),
                GivenUp::Object { address, owns } => (address, owns(memory, address)),
            };
            // The guest may have changed the object's pointer, but then only blocks of its own are freed.
            for (address, owner) in [(Some(address), Owner::Host), (owned, Owner::Guest)] {
                let Some(address) = address else { continue };
                if let Some(block) = self.allocator().find(address)
                    && block.owner == owner
                {
                    self.allocator_mut().free(&block);
                    self.record(None, HeapEvent::Free { address });
                }
            }
        }
    }

    /// A block for the guest that was freed last, if it is of this class.
    #[inline(always)]
    pub(crate) fn allocate_cached(&mut self, size: u64) -> Option<u64> {
        self.allocator.as_mut()?.allocate_cached(size)
    }

    /// A small block for the guest, where that is simple.
    pub(crate) fn allocate_listed(&mut self, size: u64) -> Option<u64> {
        self.allocator.as_mut()?.allocate_listed(size)
    }

    /// Frees a block of the guest's so that it is soon used again, if it is the one that was taken last.
    #[inline(always)]
    pub(crate) fn free_last(&mut self, address: u64, size: Option<u64>) -> bool {
        self.allocator.as_mut().is_some_and(|allocator| allocator.free_last(address, size))
    }

    /// Frees a small block of the guest's, where that is simple.
    #[inline(always)]
    pub(crate) fn free_cached(&mut self, address: u64, size: Option<u64>) -> bool {
        self.allocator.as_mut().is_some_and(|allocator| allocator.free_cached(address, size))
    }

    #[cold]
    fn record(&mut self, site: Option<Site>, event: HeapEvent) {
        if let (Some(sites), Some(site)) = (&mut self.sites, site) {
            match event {
                HeapEvent::Allocate { address, .. } => sites.allocated(address, site),
                HeapEvent::Free { address } => sites.freed(address, site),
                HeapEvent::Resize { old, address, .. } => {
                    sites.freed(old, site.clone());
                    sites.allocated(address, site);
                }
            }
        }
        if let Some(log) = &self.options.log {
            log(&event);
        }
    }
}

/// The heap of a machine. Its records are the host's, out of the guest's reach; the blocks are in the
/// guest's memory. [`crate::Machine::heap`] and [`crate::Caller::heap`] give it.
///
/// Guests use it by the functions of [`crate::Linker::heap`]; the host as here. What the host allocates it
/// owns, and the guest cannot free it, until it is handed over.
///
/// ```
/// # use riverrun::{Config, Engine, Linker, Program};
/// # let engine = Engine::new(&Config::new())?;
/// # let program = Program::new(&engine, riverrun::doc::TINY)?;
/// # let mut machine = Linker::new(&engine).instantiate(&program, ())?;
/// let address = machine.heap().allocate(1000)?;
/// machine.memory_mut().write(address, b"hello")?;
/// assert_eq!(machine.heap().statistics().requested, 1000);
/// machine.heap().free(address)?;
/// let error = machine.heap().free(address).unwrap_err();
/// assert_eq!(error.to_string(), format!("the block at {address:#x} has been freed before"));
/// # Ok::<(), riverrun::Error>(())
/// ```
#[derive(Debug)]
pub struct Heap<'a> {
    pub(super) memory: &'a mut Memory,
    state: &'a mut HeapState,
    /// What ends a guest while host functions work for it.
    interruption: Option<&'a Interruption>,
}

impl<'a> Heap<'a> {
    #[inline(always)]
    pub(crate) fn new(
        memory: &'a mut Memory,
        state: &'a mut HeapState,
        interruption: Option<&'a Interruption>,
    ) -> Heap<'a> {
        if state.deferred.is_filled() {
            state.drain(memory);
        }
        Heap { memory, state, interruption }
    }

    /// Allocates a block that the host owns, of at least `size` bytes, at a multiple of 16. Its contents are undefined.
    ///
    /// # Errors
    /// If there is no room.
    pub fn allocate(&mut self, size: u64) -> Result<u64, HeapError> {
        self.allocate_aligned(size, 1)
    }

    /// As [`Heap::allocate`], at an address that is a multiple of `alignment` too.
    ///
    /// # Errors
    /// If there is no room, or the alignment is no power of two.
    pub fn allocate_aligned(&mut self, size: u64, alignment: u64) -> Result<u64, HeapError> {
        Ok(self.allocate_as(size, alignment, false, Owner::Host)?)
    }

    /// As [`Heap::allocate`], with all bytes zero.
    ///
    /// # Errors
    /// If there is no room.
    pub fn allocate_zeroed(&mut self, size: u64) -> Result<u64, HeapError> {
        Ok(self.allocate_as(size, 1, true, Owner::Host)?)
    }

    /// Resizes a block and keeps its contents up to the smaller size; returns its new address.
    ///
    /// # Errors
    /// If there is no room, or no block in use at `address`: then nothing has changed.
    pub fn reallocate(&mut self, address: u64, size: u64) -> Result<u64, HeapError> {
        self.resize(address, size, Owner::Host).map_err(|problem| self.error(problem))
    }

    /// Frees a block, the host's or the guest's.
    ///
    /// # Errors
    /// If there is no block in use at `address`.
    pub fn free(&mut self, address: u64) -> Result<(), HeapError> {
        self.free_as(address, Owner::Host).map_err(|problem| self.error(problem))
    }

    /// Transfers a block to the guest, which may then free it.
    ///
    /// # Errors
    /// If there is no block in use at `address`.
    pub fn give_to_guest(&mut self, address: u64) -> Result<(), HeapError> {
        self.set_owner(address, Owner::Guest)
    }

    /// Transfers a block to the host, so that the guest cannot free it any more.
    ///
    /// # Errors
    /// If there is no block in use at `address`.
    pub fn take_from_guest(&mut self, address: u64) -> Result<(), HeapError> {
        self.set_owner(address, Owner::Host)
    }

    /// The bytes that were asked for of the block at `address`; `None` if no block in use starts there.
    ///
    /// ```
    /// # use riverrun::{Config, Engine, Linker, Program};
    /// # let engine = Engine::new(&Config::new())?;
    /// # let program = Program::new(&engine, riverrun::doc::TINY)?;
    /// # let mut machine = Linker::new(&engine).instantiate(&program, ())?;
    /// let address = machine.heap().allocate(1000)?;
    /// assert_eq!(machine.heap().size(address), Some(1000));
    /// assert_eq!(machine.heap().size(address + 16), None);
    /// # Ok::<(), riverrun::Error>(())
    /// ```
    pub fn size(&self, address: u64) -> Option<u64> {
        self.state.allocator().find(address).map(|block| block.size)
    }

    /// Statistics of the heap; takes time in proportion to its pages.
    pub fn statistics(&self) -> HeapStatistics {
        let counts = self.state.allocator().counts();
        let census = self.state.allocator().census();
        HeapStatistics {
            blocks: census.blocks,
            requested: counts.requested(),
            taken: census.taken,
            peak_requested: counts.peak_requested,
            mapped: self.arena().end - self.arena().start,
            free_pages: census.free,
            longest_free: census.longest_free,
            allocations: self.state.allocator().allocations(),
        }
    }

    /// The guest addresses that the heap has mapped: every block lies within.
    pub fn arena(&self) -> Range<u64> {
        self.state.allocator().start()..self.state.allocator().end()
    }

    pub(super) fn deferred(&self) -> &Deferred {
        &self.state.deferred
    }

    pub(crate) fn is_owned_by_host(&self, address: u64) -> bool {
        self.state.allocator().find(address).is_some_and(|block| block.owner == Owner::Host)
    }

    fn set_owner(&mut self, address: u64, owner: Owner) -> Result<(), HeapError> {
        match self.find(address, Owner::Host) {
            Ok(block) => {
                self.state.allocator_mut().set_owner(&block, owner);
                Ok(())
            }
            Err(problem) => Err(self.error(problem)),
        }
    }

    /// The problem, with what is known of the block.
    #[cold]
    pub(crate) fn error(&self, problem: Problem) -> HeapError {
        let history = problem.block().and_then(|block| self.state.sites.as_ref()?.history(block));
        let describe = |site: Option<&Site>| {
            let image = self.state.program.image();
            site.map(|site| site.iter().map(|&frame| image.describe(frame)).collect()).unwrap_or_default()
        };
        HeapError {
            problem,
            allocated: describe(history.and_then(|history| history.allocated.as_ref())),
            freed: describe(history.and_then(|history| history.freed.as_ref())),
        }
    }

    #[inline(always)]
    fn record(&mut self, event: HeapEvent) {
        if self.state.is_recorded {
            let site = self.state.sites.is_some().then(|| site(self.memory, self.state.program.image()));
            self.state.record(site, event);
        }
    }

    /// A new block, zeroed on request.
    #[inline(always)]
    pub(crate) fn allocate_as(
        &mut self,
        size: u64,
        alignment: u64,
        zeroed: bool,
        owner: Owner,
    ) -> Result<u64, Problem> {
        if !alignment.is_power_of_two() {
            return Err(Problem::Alignment { alignment });
        }
        let taken = match self.state.allocator_mut().allocate(size, alignment, owner) {
            Ok(taken) => taken,
            Err(full) => self.take_growing(full, size, alignment, zeroed, owner)?,
        };
        if zeroed && !taken.zero {
            let filled = self.in_steps(size, |memory, done, part| {
                memory.slice_mut(taken.address + done, part).map(|bytes| bytes.fill(0))
            });
            if filled == Err(Problem::OutOfTime) {
                let block = self.find(taken.address, Owner::Host)?;
                self.state.allocator_mut().free(&block);
            }
            filled?;
        }
        self.record(HeapEvent::Allocate { size, alignment, zeroed, address: taken.address });
        Ok(taken.address)
    }

    /// Does what takes time in proportion to `size` by parts, each at a distance from the beginning, and looks at the time
    /// between them.
    #[inline(always)]
    fn in_steps(
        &mut self,
        size: u64,
        mut step: impl FnMut(&mut Memory, u64, u64) -> Result<(), Fault>,
    ) -> Result<(), Problem> {
        let mut done = 0;
        loop {
            let part = STEP.min(size - done);
            step(self.memory, done, part).map_err(Problem::Fault)?;
            done += part;
            match self.interruption {
                _ if done == size => return Ok(()),
                Some(interruption) if interruption.is_reached() => return Err(Problem::OutOfTime),
                _ => {}
            }
        }
    }

    #[cold]
    fn take_growing(
        &mut self,
        mut full: Full,
        size: u64,
        alignment: u64,
        zeroed: bool,
        owner: Owner,
    ) -> Result<Allocated, Problem> {
        while self.grow(full.pages) {
            match self.state.allocator_mut().allocate(size, alignment, owner) {
                Ok(taken) => return Ok(taken),
                Err(still) => full = still,
            }
        }
        self.record(HeapEvent::Allocate { size, alignment, zeroed, address: 0 });
        Err(Problem::Exhausted { size })
    }

    /// Makes the arena larger: by that many pages and some more, or by what there is.
    fn grow(&mut self, pages: u64) -> bool {
        if self.state.reserved.is_empty() && !self.reserve() {
            return false;
        }
        let end = self.state.allocator().end();
        let limit = (self.memory.limit() - self.memory.used()) / PAGE;
        let room = limit.min((self.state.reserved.end - end) / PAGE);
        let wanted = pages.max(GROWTH).max((end - self.state.allocator().start()) / PAGE / GROWTH_PART).min(room);
        let mapped = wanted != 0 && self.memory.map(end, wanted * PAGE, Perm::READ | Perm::WRITE).is_ok();
        if mapped {
            self.state.allocator_mut().extend(wanted);
        }
        mapped
    }

    /// Sets addresses aside for the arena.
    #[cold]
    fn reserve(&mut self) -> bool {
        let (limit, space) = (self.state.options.limit / PAGE * PAGE, self.memory.window.space());
        let Some(range) = place(self.memory.regions(), limit, space) else { return false };
        if self.memory.map(range.start, range.end - range.start, Perm::NONE).is_err() {
            return false;
        }
        let allocator = Allocator::new(range.start);
        // Magazines would hide uses from the log.
        self.state.allocator = Some(Box::new(if self.state.is_recorded { allocator } else { allocator.cached() }));
        self.state.reserved = range;
        true
    }

    /// The block in use at this address, if `by` may free or change it: the host may for all, the guest for its own.
    #[inline(always)]
    fn find(&self, address: u64, by: Owner) -> Result<InUse, Problem> {
        let Some(block) = self.state.allocator().find(address) else {
            return Err(self.state.allocator().explain(address));
        };
        if by == Owner::Guest && block.owner == Owner::Host {
            return Err(Problem::HostOwned { address });
        }
        Ok(block)
    }

    /// Frees the block at `address` for its host or guest; null is ignored. The guest cannot free what the host owns.
    #[inline(always)]
    pub(crate) fn free_as(&mut self, address: u64, owner: Owner) -> Result<(), Problem> {
        if address != 0 {
            let block = self.find(address, owner)?;
            self.state.allocator_mut().free(&block);
            self.record(HeapEvent::Free { address });
        }
        Ok(())
    }

    /// As [`Heap::free_as`], but an error if `size` is not the size that was requested for the block.
    #[inline(always)]
    pub(crate) fn free_sized(&mut self, address: u64, size: u64, owner: Owner) -> Result<(), Problem> {
        if address != 0 {
            let block = self.find(address, owner)?;
            if block.size != size {
                return Err(Problem::WrongSize { address, size, allocated: block.size });
            }
            self.state.allocator_mut().free(&block);
            self.record(HeapEvent::Free { address });
        }
        Ok(())
    }

    /// Resizes a block in place, or else moves it; returns its address.
    #[inline]
    pub(crate) fn resize(&mut self, old: u64, size: u64, owner: Owner) -> Result<u64, Problem> {
        let block = self.find(old, owner)?;
        let address = match self.state.allocator_mut().resize(&block, size) {
            true => old,
            false => self.move_block(old, &block, size)?,
        };
        self.record(HeapEvent::Resize { old, size, address });
        Ok(address)
    }

    /// Copies a block to a new one of `size` bytes and frees the old one; if the copy fails, frees the new one.
    fn move_block(&mut self, old: u64, block: &InUse, size: u64) -> Result<u64, Problem> {
        let is_guests = block.owner == Owner::Guest;
        let cached = if is_guests { self.state.allocate_cached(size) } else { None };
        let address = match cached {
            Some(address) => address,
            None => match self.state.allocator_mut().allocate(size, 1, block.owner) {
                Ok(taken) => taken.address,
                Err(full) => self.take_growing(full, size, 1, false, block.owner)?.address,
            },
        };
        // The guest may use the whole capacity of a block (`Heap::capacity`), so all of it is copied.
        let copied = self.in_steps(size.min(block.capacity), |memory, done, part| {
            memory.copy_within(old + done, address + done, part)
        });
        let gone = if copied.is_ok() { old } else { address };
        if !(is_guests && self.state.free_cached(gone, None)) {
            // `block` may be stale: the allocation above may have moved its record.
            let block = self.find(gone, Owner::Host)?;
            self.state.allocator_mut().free(&block);
        }
        copied?;
        Ok(address)
    }

    /// How many bytes of a block the guest may use, which may be more than it requested; 0 for null.
    pub(crate) fn capacity(&self, address: u64) -> Result<u64, Problem> {
        if address == 0 { Ok(0) } else { Ok(self.find(address, Owner::Host)?.capacity) }
    }
}

/// The guest's current backtrace.
#[cold]
fn site(memory: &Memory, image: &Image) -> Site {
    let state = memory.window.state();
    image.unwind(state.hart.pc, |x| state.hart.slots[x & 31], |address| memory.read_u64(address).ok(), DEPTH).into()
}

/// Where `limit` bytes are free: at the preferred address, or in the largest gap, as much of it as is wanted.
/// A page stays free on either side, and in a small space more.
fn place(regions: &[Region], limit: u64, space: AddressSpace) -> Option<Range<u64>> {
    let limit = if space.is_masked() { limit.min(space.size() / ARENA_PART) } else { limit };
    let starts = std::iter::once(MIN_ADDRESS).chain(regions.iter().map(|region| region.end));
    let ends = regions.iter().map(|region| region.start).chain([space.end()]);
    let gaps = starts.zip(ends).map(|(start, end)| start + PAGE..end.saturating_sub(PAGE));
    let start = space.size() / START_PART;
    let preferred = start..start.saturating_add(limit);
    if gaps.clone().any(|gap| gap.start <= preferred.start && preferred.end <= gap.end) && limit != 0 {
        return Some(preferred);
    }
    let largest = gaps.max_by_key(|gap| gap.end.saturating_sub(gap.start))?;
    let range = largest.start..largest.end.min(largest.start.saturating_add(limit));
    (range.start < range.end).then_some(range)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_arena_is_placed_where_it_fits() {
        let region = |start, end| Region { start, end, perm: Perm::READ };
        let place = |regions: &[Region], limit| place(regions, limit, AddressSpace::LARGEST);
        let program = region(0x1_0000, 0x20_0000);
        let stack = region(0xff00_0000, 0xfff0_0000);
        assert_eq!(place(&[program, stack], 2 << 30), Some(1 << 30..3 << 30));
        let inside = region(0x5000_0000, 0x5000_1000);
        assert_eq!(place(&[program, inside, stack], 1 << 30), Some(0x5000_2000..0x9000_2000));
        assert_eq!(place(&[program, inside, stack], u64::MAX / 2), Some(0x5000_2000..0xfeff_f000));
        assert_eq!(place(&[program, stack], u64::MAX), Some(0x20_1000..0xfeff_f000));
        assert_eq!(place(&[program, stack], 0), None);
        assert_eq!(place(&[region(MIN_ADDRESS, AddressSpace::LARGEST.end())], 1 << 20), None);
    }

    #[test]
    fn a_small_space_has_room_beside_the_arena() {
        let region = |start, end| Region { start, end, perm: Perm::READ };
        let space = AddressSpace::new(26).unwrap();
        let program = region(0x1_0000, 0x20_0000);
        let stack = region(space.stack_top() - (8 << 20), space.stack_top());
        assert_eq!(place(&[program, stack], 2 << 30, space), Some(16 << 20..48 << 20));
        assert_eq!(place(&[program, stack], 4 << 20, space), Some(16 << 20..20 << 20));
        let large = region(0x1_0000, 30 << 20);
        assert_eq!(place(&[large, stack], 2 << 30, space), Some((30 << 20) + PAGE..stack.start - PAGE));
    }
}
