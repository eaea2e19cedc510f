//! The allocator against a model: a map of what is in use.

use std::collections::BTreeMap;

use riverrun_testkit::Random;

use super::allocator::{Allocated, Allocator, Full};
use super::slab::Owner;
use crate::heap_error::HeapProblem;

const START: u64 = 0x5000_0000;

#[derive(Clone, Copy)]
struct Known {
    size: u64,
    capacity: u64,
    owner: Owner,
}

/// An allocator, what must be true of it, and the bytes that its arena may have.
struct Checked {
    allocator: Allocator,
    in_use: BTreeMap<u64, Known>,
    limit: u64,
}

impl Checked {
    fn new(limit: u64) -> Checked {
        Checked { allocator: Allocator::new(START).cached(), in_use: BTreeMap::new(), limit }
    }

    fn allocate(&mut self, size: u64, alignment: u64, owner: Owner) -> Option<Allocated> {
        // As the guest does.
        let is_plain = (alignment, owner) == (1, Owner::Guest);
        let cached = match is_plain {
            true => self.allocator.allocate_cached(size).or_else(|| self.allocator.allocate_listed(size)),
            false => None,
        };
        let taken = loop {
            if let Some(address) = cached {
                break Allocated { address, zero: false };
            }
            match self.allocator.allocate(size, alignment, owner) {
                Ok(taken) => break taken,
                Err(Full { pages }) => {
                    let room = (START + self.limit - self.allocator.end()) / 4096;
                    if pages > room {
                        return None;
                    }
                    self.allocator.extend(pages.max(64).min(room));
                }
            }
        };
        let block = self.allocator.find(taken.address).expect("a block that was taken is in use");
        assert_eq!((block.size, block.owner), (size, owner));
        assert!(block.capacity >= size.max(1));
        assert_eq!(taken.address % alignment.max(16), 0, "{size} bytes aligned to {alignment}");
        self.insert(taken.address, Known { size, capacity: block.capacity, owner });
        Some(taken)
    }

    fn insert(&mut self, address: u64, known: Known) {
        let end = address + known.capacity;
        assert!(address >= START && end <= self.allocator.end(), "blocks lie within the arena");
        if let Some((before, known)) = self.in_use.range(..address).next_back() {
            assert!(before + known.capacity <= address, "{address:#x} overlaps the block at {before:#x}");
        }
        if let Some((behind, _)) = self.in_use.range(address..).next() {
            assert!(end <= *behind, "{address:#x} overlaps the block at {behind:#x}");
        }
        self.in_use.insert(address, known);
    }

    fn free(&mut self, address: u64) {
        let known = self.in_use.remove(&address).unwrap();
        let block = self.allocator.find(address).unwrap();
        assert_eq!((block.size, block.capacity, block.owner), (known.size, known.capacity, known.owner));
        let another = Some(known.size + 1);
        assert!(!self.allocator.free_last(address, another) && !self.allocator.free_cached(address, another));
        let size = Some(known.size);
        if !self.allocator.free_last(address, size) && !self.allocator.free_cached(address, size) {
            self.allocator.free(&block);
        } else {
            assert_eq!(known.owner, Owner::Guest, "what the host owns it frees itself");
        }
        assert_eq!(self.allocator.find(address), None);
        assert!(!self.allocator.free_last(address, None) && !self.allocator.free_cached(address, None), "it is free");
        let problem = self.allocator.explain(address);
        assert!(
            matches!(problem, HeapProblem::Freed { .. } | HeapProblem::Foreign { .. } | HeapProblem::Inside { .. }),
            "{problem}"
        );
    }

    fn resize(&mut self, address: u64, size: u64) {
        let block = self.allocator.find(address).unwrap();
        if self.allocator.resize(&block, size) {
            let known = self.in_use.remove(&address).unwrap();
            let block = self.allocator.find(address).unwrap();
            assert!(block.capacity >= size && block.size == size);
            self.insert(address, Known { size, capacity: block.capacity, ..known });
        }
    }

    fn any(&self, random: &mut Random) -> Option<u64> {
        let (&first, _) = self.in_use.first_key_value()?;
        let (&last, _) = self.in_use.last_key_value()?;
        let at = first + random.u64() % (last - first + 1);
        self.in_use.range(at..).next().map(|(&address, _)| address)
    }

    fn check(&self) {
        self.allocator.check();
        let census = self.allocator.census();
        let requested = self.allocator.counts().requested();
        assert_eq!(census.blocks, self.in_use.len() as u64);
        assert_eq!(requested, self.in_use.values().map(|known| known.size).sum::<u64>());
        assert_eq!(census.taken, self.in_use.values().map(|known| known.capacity).sum::<u64>());
    }
}

fn size(random: &mut Random) -> u64 {
    let bits = random.below(18) as u32;
    random.u64() % (1 << bits) + if random.below(50) == 0 { 1 << 20 } else { 0 }
}

/// How often something is done: Miri takes a thousand times as long.
fn slowly(times: u64) -> u64 {
    if cfg!(miri) { times.div_ceil(100) } else { times }
}

#[test]
fn no_two_blocks_overlap_and_all_are_aligned() {
    for seed in 0..slowly(20) {
        let mut random = Random::seeded(seed);
        let mut heap = Checked::new([1 << 20, 8 << 20, 256 << 20][random.below(3)]);
        let mut refused = 0;
        for step in 0..slowly(20_000) {
            match random.below(8) {
                0..=3 => {
                    let alignment = if random.below(4) == 0 { 1 << random.below(17) } else { 1 };
                    let owner = [Owner::Guest, Owner::Host][random.below(2)];
                    refused += u32::from(heap.allocate(size(&mut random), alignment, owner).is_none());
                }
                4..=6 => {
                    if let Some(address) = heap.any(&mut random) {
                        heap.free(address);
                    }
                }
                _ => {
                    if let Some(address) = heap.any(&mut random) {
                        heap.resize(address, size(&mut random));
                    }
                }
            }
            if step % 1000 == 0 {
                heap.check();
            }
        }
        assert!(cfg!(miri) || heap.limit > 1 << 20 || refused > 0, "small arenas fill up");
        for address in heap.in_use.keys().copied().collect::<Vec<_>>() {
            heap.free(address);
        }
        heap.check();
        // What slabs are kept is given up when it is needed: the whole arena is one block again.
        let all = heap.allocator.end() - START;
        assert_eq!(heap.allocate(all, 1, Owner::Guest).unwrap().address, START);
    }
}

/// What any of the operations does to a heap, with the address that it gives.
fn step(heap: &mut Checked, random: &mut Random) -> Option<u64> {
    match random.below(8) {
        0..=4 => {
            let alignment = if random.below(8) == 0 { 1 << random.below(14) } else { 1 };
            let owner = [Owner::Guest, Owner::Guest, Owner::Host][random.below(3)];
            heap.allocate(size(random), alignment, owner).map(|taken| taken.address)
        }
        5..=6 => {
            let address = heap.any(random)?;
            heap.free(address);
            Some(address)
        }
        _ => {
            let address = heap.any(random)?;
            heap.resize(address, size(random));
            Some(address)
        }
    }
}

#[test]
fn a_restored_allocator_goes_on_as_the_saved_one() {
    for seed in 0..slowly(10) {
        let limit = [1 << 20, 64 << 20][seed as usize % 2];
        let (mut heap, mut saved) = (Checked::new(limit), Checked::new(limit));
        let (mut random, mut same) = (Random::seeded(seed), Random::seeded(seed));
        for number in 0..slowly(5_000) {
            if number % 53 == 0 {
                let restored = Allocator::restore(&saved.allocator.save(), 1 << 20).expect("what was saved is sound");
                assert_eq!(restored.allocations(), saved.allocator.allocations());
                assert_eq!(restored.counts().peak_requested, saved.allocator.counts().peak_requested);
                saved.allocator = restored;
                saved.check();
            }
            assert_eq!(step(&mut heap, &mut random), step(&mut saved, &mut same), "seed {seed}, step {number}");
        }
    }
}

/// Whatever the records say, the allocator panics in no operation, and gives no block twice.
#[test]
fn forged_records_are_refused_or_those_of_another_heap() {
    let mut random = Random::seeded(3);
    let mut heap = Checked::new(2 << 20);
    for _ in 0..slowly(300) {
        step(&mut heap, &mut random);
    }
    let saved = heap.allocator.save();
    let mut accepted = 0;
    for forged in saved.forged().iter().step_by(if cfg!(miri) { 1000 } else { 1 }) {
        let Some(allocator) = Allocator::restore(forged, 1 << 20) else { continue };
        accepted += 1;
        let limit = (allocator.end() - allocator.start()) + (1 << 20);
        let mut other = Forged { allocator, limit, in_use: BTreeMap::new() };
        for _ in 0..40 {
            other.step(&mut random);
        }
        other.allocator.check();
    }
    assert!(accepted > 0 || cfg!(miri));
}

/// An allocator of which is known only what it has given since.
struct Forged {
    allocator: Allocator,
    limit: u64,
    in_use: BTreeMap<u64, u64>,
}

impl Forged {
    fn step(&mut self, random: &mut Random) {
        if random.below(3) > 0 {
            let size = size(random);
            let cached = self.allocator.allocate_cached(size).or_else(|| self.allocator.allocate_listed(size));
            let address = cached.or_else(|| Some(self.allocator.allocate(size, 1, Owner::Guest).ok()?.address));
            let Some(address) = address else {
                if self.allocator.end() - self.allocator.start() < self.limit {
                    self.allocator.extend(64);
                }
                return;
            };
            let capacity = self.allocator.find(address).expect("a block that was taken is in use").capacity;
            let next = self.in_use.range(address..).next();
            assert!(next.is_none_or(|(&next, _)| address + capacity <= next), "two blocks overlap");
            let before = self.in_use.range(..address).next_back();
            assert!(before.is_none_or(|(&before, &capacity)| before + capacity <= address), "two blocks overlap");
            self.in_use.insert(address, capacity);
        } else if let Some((&address, _)) = self.in_use.range(random.u64() % (1 << 32)..).next() {
            self.in_use.remove(&address);
            if !self.allocator.free_cached(address, None) {
                let block = self.allocator.find(address).expect("it is in use");
                self.allocator.free(&block);
            }
        } else {
            // One of those that it has had before.
            let address = self.allocator.start() + random.u64() % self.limit / 16 * 16;
            if let Some(block) = self.allocator.find(address).filter(|_| !self.in_use.contains_key(&address)) {
                match self.allocator.resize(&block, size(random)) {
                    true => {}
                    false => self.allocator.free(&block),
                }
            }
        }
    }
}

#[test]
fn only_blocks_that_were_never_used_are_called_zero() {
    let mut random = Random::seeded(7);
    let mut heap = Checked::new(64 << 20);
    let mut touched = vec![false; 64 << 16];
    for _ in 0..50_000 {
        if random.below(2) == 0 {
            let Some(taken) = heap.allocate(size(&mut random), 1, Owner::Guest) else { continue };
            let known = heap.in_use[&taken.address];
            let granules =
                ((taken.address - START) / 16) as usize..((taken.address - START + known.capacity) / 16) as usize;
            assert!(!taken.zero || !touched[granules.clone()].contains(&true), "{:#x} is not zero", taken.address);
            touched[granules].fill(true);
        } else if let Some(address) = heap.any(&mut random) {
            heap.free(address);
        }
    }
}

#[test]
fn sizes_and_alignments_of_any_kind_are_refused_without_harm() {
    let mut heap = Checked::new(1 << 32);
    for size in [u64::MAX, u64::MAX - 1, 1 << 63, (1 << 63) - 1, 1 << 32, (1 << 32) + 1, u64::MAX / 4096 * 4096] {
        for alignment in [1, 16, 4096, 1 << 31, 1 << 32, 1 << 63] {
            assert!(heap.allocator.allocate(size, alignment, Owner::Guest).is_err(), "{size:#x} {alignment:#x}");
        }
    }
    assert!(heap.allocator.allocate(1, 1 << 63, Owner::Guest).is_err());
    assert!(heap.allocator.allocate(0, 1 << 32, Owner::Guest).is_err());
    heap.allocator.extend(u64::MAX);
    assert_eq!(heap.allocator.end() - START, 1 << 32);
    heap.allocator.extend(1);
    assert_eq!(heap.allocator.end() - START, 1 << 32);
    let block = heap.allocate(1 << 32, 16, Owner::Guest).unwrap();
    assert!(heap.allocate(1, 1, Owner::Guest).is_none());
    heap.resize(block.address, 1 << 20);
    assert!(heap.allocate(1, 1, Owner::Guest).is_some());
}

#[test]
fn every_address_that_is_no_block_is_told_apart() {
    let mut heap = Checked::new(1 << 30);
    let small = heap.allocate(100, 1, Owner::Guest).unwrap().address;
    let large = heap.allocate(100_000, 1, Owner::Guest).unwrap().address;
    let last = heap.allocate(100_000, 1, Owner::Guest).unwrap().address;
    let problem = |heap: &Checked, address| {
        assert_eq!(heap.allocator.find(address), None);
        heap.allocator.explain(address)
    };
    for (address, block) in [(small + 1, small), (small + 16, small), (large + 16, large), (large + 99_999, large)] {
        assert_eq!(problem(&heap, address), HeapProblem::Inside { address, block });
    }
    let never = small + 112;
    for address in [0, 1, START - 16, never, heap.allocator.end(), 1 << 32, u64::MAX, u64::MAX - 15] {
        assert_eq!(problem(&heap, address), HeapProblem::Foreign { address });
    }
    heap.free(small);
    heap.free(large);
    heap.free(last);
    assert_eq!(problem(&heap, small), HeapProblem::Freed { address: small });
    assert_eq!(problem(&heap, large), HeapProblem::Freed { address: large });
}

#[test]
fn records_take_a_bounded_part_of_the_hosts_memory() {
    let mut heap = Checked::new(4 << 20);
    while heap.allocate(1, 1, Owner::Guest).is_some() {}
    let blocks = heap.allocator.census().blocks;
    assert_eq!(blocks, (4 << 20) / 16, "small blocks fill the arena");
    assert!(heap.allocator.host_bytes() < (4 << 20) * 3 / 10, "{}", heap.allocator.host_bytes());
}
