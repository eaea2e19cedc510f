//! The host stack that compiled code runs on.
//!
//! Stacks of dropped machines are kept for later ones, of any program: no guest can see what is on them, and compiled code
//! reads only what it has written.

use std::io;
use std::mem::ManuallyDrop;
use std::ops::Range;
use std::ptr::NonNull;
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

/// Stacks that are kept at most.
const SPARES: usize = 16;
/// Bytes at the top of a kept stack that stay in memory.
const WARM: usize = 16 << 10;

static SPARE: Mutex<Vec<Mapping>> = Mutex::new(Vec::new());

fn spare() -> MutexGuard<'static, Vec<Mapping>> {
    // No operation on the list panics between two changes of it.
    SPARE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The mapping of a stack and the guard below it.
#[derive(Debug)]
struct Mapping(NonNull<u8>);

// SAFETY: it owns its addresses; nothing in it is bound to a thread.
unsafe impl Send for Mapping {}
// SAFETY: a shared one can only be asked for its addresses.
unsafe impl Sync for Mapping {}

impl Mapping {
    fn new() -> io::Result<Mapping> {
        let is_writable = sys::writable_room_is_free();
        let mapping = Mapping(sys::reserve(GUARD + SIZE, is_writable)?);
        // SAFETY: both parts lie in the reservation of just now, which nobody uses.
        unsafe {
            if is_writable {
                // Where the kernel has guard pages, stacks that are neighbours are one mapping.
                sys::guard(mapping.0.as_ptr(), GUARD)?;
            } else {
                sys::protect(mapping.stack(), SIZE, Perm::READ | Perm::WRITE)?;
            }
        }
        Ok(mapping)
    }

    fn stack(&self) -> *mut u8 {
        self.0.as_ptr().wrapping_add(GUARD)
    }

    /// Keeps it for another machine, or gives it back.
    fn retire(self) {
        // SAFETY: these pages of the stack are mapped, and nobody runs on it.
        let is_small = sys::room_is_free() && unsafe { sys::discard(self.stack(), SIZE - WARM) }.is_ok();
        let mut spare = spare();
        if is_small && spare.len() < SPARES {
            spare.push(self);
        }
        // The lock ends before a mapping is given back.
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: this is the mapping of `new`, whole, and nobody runs on it.
        unsafe { sys::release(self.0.as_ptr(), GUARD + SIZE) };
    }
}

/// A stack in a mapping of its own, with a guard below it.
#[derive(Debug)]
pub(crate) struct Stack {
    mapping: ManuallyDrop<Mapping>,
}

impl Stack {
    pub(crate) fn new() -> io::Result<Stack> {
        let spare = spare().pop();
        let mapping = spare.map_or_else(Mapping::new, Ok)?;
        Ok(Stack { mapping: ManuallyDrop::new(mapping) })
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
        // SAFETY: the field is not used after this.
        unsafe { ManuallyDrop::take(&mut self.mapping) }.retire();
    }
}
