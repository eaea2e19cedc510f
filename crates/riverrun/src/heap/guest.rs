//! The functions by which guests use their heap: those of `guest/include/riverrun/heap.h`.

use super::error::{HeapError, HeapProblem as Problem};
use super::slab::Owner;
use super::view::Heap;
use crate::caller::Caller;
use crate::error::Error;
use crate::linker::Linker;

/// A guest pointer to anything.
type Pointer = crate::Ptr<u8>;

/// Bytes that one call copies or fills at most; it says how many it did. More would be time that no limit
/// counts.
const STEP: u64 = 1 << 20;

/// What a guest gets for a block: null where there is no room, and nothing at all where it must not go on.
#[inline(always)]
fn answer(heap: &Heap<'_>, result: Result<u64, Problem>) -> Result<Pointer, HeapError> {
    match result {
        Ok(address) => Ok(Pointer::new(address)),
        Err(Problem::Exhausted { .. }) => Ok(Pointer::new(0)),
        Err(problem) => Err(heap.error(problem)),
    }
}

#[inline(always)]
fn done(heap: &Heap<'_>, result: Result<(), Problem>) -> Result<(), HeapError> {
    result.map_err(|problem| heap.error(problem))
}

/// Adds the functions to a linker.
pub(crate) fn add_to_linker<T: 'static>(linker: &mut Linker<T>) -> Result<(), Error> {
    linker.func_without_floats("riverrun::malloc", |mut caller: Caller<'_, T>, size: u64| {
        let mut heap = caller.heap();
        let result = heap.take(size, 1, false, Owner::Guest);
        answer(&heap, result)
    })?;
    linker.func_without_floats("riverrun::calloc", |mut caller: Caller<'_, T>, count: u64, size: u64| {
        let mut heap = caller.heap();
        let bytes = count.checked_mul(size).ok_or(Problem::TooLarge { count, size });
        let result = bytes.and_then(|bytes| heap.take(bytes, 1, true, Owner::Guest));
        answer(&heap, result)
    })?;
    linker.func_without_floats("riverrun::aligned_alloc", |mut caller: Caller<'_, T>, alignment: u64, size: u64| {
        let mut heap = caller.heap();
        let result = heap.take(size, alignment, false, Owner::Guest);
        answer(&heap, result)
    })?;
    // As in C: without a block it allocates, without a size it frees.
    linker.func_without_floats("riverrun::realloc", |mut caller: Caller<'_, T>, block: Pointer, size: u64| {
        let mut heap = caller.heap();
        let result = match (block.address(), size) {
            (0, _) => heap.take(size, 1, false, Owner::Guest),
            (address, 0) => heap.give(address, Owner::Guest).map(|()| 0),
            (address, _) => heap.resize(address, size, Owner::Guest),
        };
        answer(&heap, result)
    })?;
    linker.func_without_floats("riverrun::free", |mut caller: Caller<'_, T>, block: Pointer| {
        let mut heap = caller.heap();
        let result = heap.give(block.address(), Owner::Guest);
        done(&heap, result)
    })?;
    linker.func_without_floats("riverrun::free_sized", |mut caller: Caller<'_, T>, block: Pointer, size: u64| {
        let mut heap = caller.heap();
        let result = heap.give_sized(block.address(), size, Owner::Guest);
        done(&heap, result)
    })?;
    linker.func_without_floats("riverrun::malloc_usable_size", |mut caller: Caller<'_, T>, block: Pointer| {
        let heap = caller.heap();
        heap.capacity(block.address()).map_err(|problem| heap.error(problem))
    })?;
    linker.func_without_floats(
        "riverrun::memmove",
        |mut caller: Caller<'_, T>, to: Pointer, from: Pointer, size: u64| {
            let size = size.min(STEP);
            caller.memory_mut().copy_within(from.address(), to.address(), size).map(|()| size)
        },
    )?;
    linker.func_without_floats(
        "riverrun::memset",
        |mut caller: Caller<'_, T>, to: Pointer, byte: i32, size: u64| {
            let size = size.min(STEP);
            caller.memory_mut().slice_mut(to.address(), size).map(|bytes| bytes.fill(byte as u8)).map(|()| size)
        },
    )?;
    Ok(())
}
