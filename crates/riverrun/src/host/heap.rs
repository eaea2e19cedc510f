//! The host functions by which guests use their heap, declared in `guest/include/riverrun/heap.h`.

use std::sync::Arc;

use riverrun_vm::{HostFunction, Import, Results};

use crate::caller::Caller;
use crate::heap::{Heap, HeapState, Owner, STEP};
use crate::heap_error::{HeapError, HeapProblem as Problem};
use crate::host::function::IntoHostFunction;
use crate::instance::Instance;
use crate::registry::{Closure, HostCode};

/// A guest pointer to anything.
type Pointer = crate::Ptr<u8>;

/// The guest's result of an allocation: null if there is no room; other errors end its run.
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

/// The environment of a host function with a fast path: the function's closure, which captures nothing.
struct Shortcut {
    rest: HostFunction,
}

impl Shortcut {
    /// Calls the general function instead of the fast path, which has at most two parameters.
    ///
    /// # Safety
    /// The import was made by [`Shortcut::before`], and the caller returns this result at once.
    #[inline(always)]
    unsafe fn rest(import: *const Import, a0: u64, a1: u64) -> Results {
        // SAFETY: the caller passes an import of `before`, whose environment is the closure `F`.
        unsafe { ((*(*import).environment.cast::<Shortcut>()).rest)(import, a0, a1, 0, 0, 0) }
    }

    /// The closure with the fast path `code` before it, which handles simple cases and otherwise calls [`Shortcut::rest`].
    /// Preparing for errors and unwinding would take longer than the simple cases.
    fn before<T, M, F: IntoHostFunction<T, M>>(code: HostFunction, closure: F) -> Closure {
        const { assert!(size_of::<F>() == 0, "its environment is taken") };
        let closure = closure.into_closure::<false>();
        let environment = Arc::new(Shortcut { rest: closure.code.plain });
        Closure { code: HostCode::without_floats(code), environment, ..closure }
    }
}

/// The heap of the machine that calls.
///
/// # Safety
/// An engine has called a host function with this import, and nothing else of the heap is borrowed.
#[inline(always)]
unsafe fn heap_of<'a, T: 'static>(import: *const Import) -> &'a mut HeapState {
    // SAFETY: as the caller promises: imports have their machine's instance.
    unsafe { &mut (*(*import).context.cast::<Instance<T>>()).heap }
}

unsafe extern "sysv64" fn malloc<T: 'static>(
    import: *const Import,
    size: u64,
    a1: u64,
    _: u64,
    _: u64,
    _: u64,
) -> Results {
    // SAFETY: engines call this as a host function.
    unsafe {
        match heap_of::<T>(import).allocate_cached(size) {
            Some(address) => Results { a0: address, a1 },
            None => malloc_other::<T>(import, size, a1),
        }
    }
}

/// What is not kept.
///
/// # Safety
/// As [`Shortcut::rest`].
#[inline(never)]
unsafe extern "sysv64" fn malloc_other<T: 'static>(import: *const Import, size: u64, a1: u64) -> Results {
    // SAFETY: as in `malloc`.
    unsafe {
        match heap_of::<T>(import).allocate_listed(size) {
            Some(address) => Results { a0: address, a1 },
            None => Shortcut::rest(import, size, a1),
        }
    }
}

unsafe extern "sysv64" fn free<T: 'static>(
    import: *const Import,
    block: u64,
    a1: u64,
    _: u64,
    _: u64,
    _: u64,
) -> Results {
    // SAFETY: as in `malloc`.
    unsafe {
        match heap_of::<T>(import).free_last(block, None) {
            true => Results { a0: block, a1 },
            false => free_other::<T>(import, block, a1),
        }
    }
}

/// What is not freed in the reverse order.
///
/// # Safety
/// As [`Shortcut::rest`].
#[inline(never)]
unsafe extern "sysv64" fn free_other<T: 'static>(import: *const Import, block: u64, a1: u64) -> Results {
    // SAFETY: as in `malloc`.
    unsafe {
        match heap_of::<T>(import).free_cached(block, None) {
            true => Results { a0: block, a1 },
            false => Shortcut::rest(import, block, a1),
        }
    }
}

unsafe extern "sysv64" fn free_sized<T: 'static>(
    import: *const Import,
    block: u64,
    size: u64,
    _: u64,
    _: u64,
    _: u64,
) -> Results {
    // SAFETY: as in `malloc`.
    unsafe {
        let heap = heap_of::<T>(import);
        match heap.free_last(block, Some(size)) || heap.free_cached(block, Some(size)) {
            true => Results { a0: block, a1: size },
            false => Shortcut::rest(import, block, size),
        }
    }
}

/// A function that has no float operation.
fn function<T, M>(closure: impl IntoHostFunction<T, M>) -> Closure {
    closure.into_closure::<false>()
}

/// The functions, by their names.
pub(crate) fn functions<T: 'static>() -> [(&'static str, Closure); 9] {
    let malloc = Shortcut::before(malloc::<T>, |mut caller: Caller<'_, T>, size: u64| {
        let mut heap = caller.heap();
        let result = heap.allocate_as(size, 1, false, Owner::Guest);
        answer(&heap, result)
    });
    let calloc = function(|mut caller: Caller<'_, T>, count: u64, size: u64| {
        let mut heap = caller.heap();
        // More than 2^64 bytes have no room, either.
        let result = heap.allocate_as(count.saturating_mul(size), 1, true, Owner::Guest);
        answer(&heap, result)
    });
    let aligned_alloc = function(|mut caller: Caller<'_, T>, alignment: u64, size: u64| {
        let mut heap = caller.heap();
        let result = heap.allocate_as(size, alignment, false, Owner::Guest);
        answer(&heap, result)
    });
    // As in C: without a block it allocates, without a size it frees.
    let realloc = function(|mut caller: Caller<'_, T>, block: Pointer, size: u64| {
        let mut heap = caller.heap();
        let result = match (block.address(), size) {
            (0, _) => heap.allocate_as(size, 1, false, Owner::Guest),
            (address, 0) => heap.free_as(address, Owner::Guest).map(|()| 0),
            (address, _) => heap.resize(address, size, Owner::Guest),
        };
        answer(&heap, result)
    });
    let free = Shortcut::before(free::<T>, |mut caller: Caller<'_, T>, block: Pointer| {
        let mut heap = caller.heap();
        let result = heap.free_as(block.address(), Owner::Guest);
        done(&heap, result)
    });
    let free_sized = Shortcut::before(free_sized::<T>, |mut caller: Caller<'_, T>, block: Pointer, size: u64| {
        let mut heap = caller.heap();
        let result = heap.free_sized(block.address(), size, Owner::Guest);
        done(&heap, result)
    });
    let malloc_usable_size = function(|mut caller: Caller<'_, T>, block: Pointer| {
        let heap = caller.heap();
        heap.capacity(block.address()).map_err(|problem| heap.error(problem))
    });
    // One call copies or fills a step at most; it returns how many bytes it did.
    let memmove = function(|mut caller: Caller<'_, T>, to: Pointer, from: Pointer, size: u64| {
        let size = size.min(STEP);
        caller.look_at_time();
        let memory = caller.memory_mut();
        match memory.copy_within(from.address(), to.address(), size) {
            Ok(()) => Ok(size),
            // One of them says why.
            Err(fault) => from.slice(size).get(memory).map(|_| ()).and(Err(to.fault(fault))),
        }
    });
    let memset = function(|mut caller: Caller<'_, T>, to: Pointer, byte: i32, size: u64| {
        let size = size.min(STEP);
        caller.look_at_time();
        to.slice(size).get_mut(caller.memory_mut()).map(|bytes| bytes.fill(byte as u8)).map(|()| size)
    });
    [
        ("riverrun::malloc", malloc),
        ("riverrun::calloc", calloc),
        ("riverrun::aligned_alloc", aligned_alloc),
        ("riverrun::realloc", realloc),
        ("riverrun::free", free),
        ("riverrun::free_sized", free_sized),
        ("riverrun::malloc_usable_size", malloc_usable_size),
        ("riverrun::memmove", memmove),
        ("riverrun::memset", memset),
    ]
}
