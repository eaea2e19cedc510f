//! The host stack that compiled code runs on.
//!
//! Stacks of dropped machines are kept for later ones, of any program: no guest can see what is on them, and compiled code
//! reads only what it has written.

use std::io;
use std::ops::Range;
use std::ptr::{self, NonNull};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::perm::Perm;
use crate::sys;

/// Bytes of the stack.
const SIZE: usize = 16 << 20;
/// Bytes below it that are never mapped.
const GUARD: usize = 64 << 10;
/// Bytes between the limit that functions compare their stack pointer with and the guard.
const RESERVE: usize = 64 << 10;
/// Bytes of the largest frame of a compiled function; the compiler keeps to it (`frames.rs` in riverrun-aot).
pub const MAX_FRAME: usize = 24 << 10;
// The reserve holds one frame (of a function that is about to exit, or of a leaf function, which does not compare) and as
// much again for stubs, and for a signal frame if the thread has no alternate signal stack.
const _: () = assert!(2 * MAX_FRAME <= RESERVE && MAX_FRAME < GUARD);

/// Stacks with pages that are kept at most.
const SPARES: usize = 16;
/// Bytes at the top of such a stack that stay in memory.
const WARM: usize = 16 << 10;
/// Stacks that are reserved at once, where that is free: they are one mapping if the kernel has guard pages.
const TOGETHER: usize = 64;

/// Stacks that no machine has.
struct Free {
    /// Those that were used last, which have pages.
    warm: Vec<Mapping>,
    /// Others, without pages.
    cold: Vec<Mapping>,
    /// What is left of the last reservation.
    ahead: Range<usize>,
}

static FREE: Mutex<Free> = Mutex::new(Free { warm: Vec::new(), cold: Vec::new(), ahead: 0..0 });

fn free() -> MutexGuard<'static, Free> {
    // No operation on it panics between two changes.
    FREE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The mapping of a stack and the guard below it.
#[derive(Debug)]
struct Mapping(NonNull<u8>);

// SAFETY: it owns its addresses; nothing in it is bound to a thread.
unsafe impl Send for Mapping {}
// SAFETY: a shared one can only be asked for its addresses.
unsafe impl Sync for Mapping {}

impl Mapping {
    fn new(free: &mut Free) -> io::Result<Mapping> {
        if !sys::room_is_free() {
            let mapping = Mapping(sys::reserve(GUARD + SIZE, false)?);
            // SAFETY: the pages above the guard lie in the reservation of just now.
            unsafe { sys::protect(mapping.stack(), SIZE, Perm::READ | Perm::WRITE)? };
            return Ok(mapping);
        }
        if free.ahead.is_empty() {
            let start = sys::reserve(TOGETHER * (GUARD + SIZE), true)?.expose_provenance().get();
            free.ahead = start..start + TOGETHER * (GUARD + SIZE);
        }
        let start = ptr::with_exposed_provenance_mut(free.ahead.start);
        // SAFETY: the pages lie in what is left of a reservation.
        unsafe { sys::guard(start, GUARD)? };
        free.ahead.start += GUARD + SIZE;
        Ok(Mapping(NonNull::new(start).expect("a reservation is never at null")))
    }

    fn stack(&self) -> *mut u8 {
        self.0.as_ptr().wrapping_add(GUARD)
    }

    /// Keeps it for another machine, or gives it back.
    fn retire(self) {
        // SAFETY: these pages of the stack are mapped, and no engine runs on it.
        let discard = |len| unsafe { sys::discard(self.stack(), len) }.is_ok();
        if sys::room_is_free() && discard(SIZE - WARM) {
            let mut free = free();
            if free.warm.len() < SPARES {
                return free.warm.push(self);
            }
            drop(free);
            if discard(SIZE) {
                return self::free().cold.push(self);
            }
        }
        // SAFETY: this is the mapping of `new`, whole, and no engine runs on it.
        unsafe { sys::release(self.0.as_ptr(), GUARD + SIZE) };
    }
}

/// A stack in a mapping of its own, with a guard below it.
#[derive(Debug)]
pub(crate) struct Stack {
    mapping: Mapping,
}

impl Stack {
    pub(crate) fn new() -> io::Result<Stack> {
        let mut free = free();
        let spare = free.warm.pop().or_else(|| free.cold.pop());
        let mapping = spare.map_or_else(|| Mapping::new(&mut free), Ok)?;
        Ok(Stack { mapping })
    }

    fn start(&self) -> *mut u8 {
        self.mapping.0.as_ptr()
    }

    pub(crate) fn top(&self) -> usize {
        self.start() as usize + GUARD + SIZE
    }

    /// Makes the outermost function return to this address instead of its caller.
    pub(crate) fn return_to(&mut self, address: usize) {
        // SAFETY: the stack is this one's own, and its first word what the first call has left there, or nothing.
        unsafe { (self.top() as *mut usize).sub(1).write(address) };
    }

    /// The word at `sp`, the stack pointer of suspended code: the host address at which it resumes. 0 if `sp` is not on this
    /// stack.
    pub(crate) fn waits(&self, sp: usize) -> usize {
        if !(self.guard().end..self.top()).contains(&sp) {
            return 0;
        }
        // SAFETY: the stack is this one's own, and mapped there.
        unsafe { (sp as *const usize).read() }
    }

    /// The addresses that no frame may reach.
    pub(crate) fn guard(&self) -> Range<usize> {
        self.start() as usize..self.start() as usize + GUARD
    }

    /// The least stack pointer with which a function may begin.
    pub(crate) fn limit(&self) -> usize {
        self.start() as usize + GUARD + RESERVE
    }
}

impl Drop for Stack {
    fn drop(&mut self) {
        Mapping(self.mapping.0).retire();
    }
}
