//! The host stack that compiled code runs on.

use std::io;
use std::ops::Range;
use std::ptr::NonNull;

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

/// A stack in a mapping of its own, with a guard below it.
#[derive(Debug)]
pub(crate) struct Stack {
    mapping: NonNull<u8>,
}

// SAFETY: the stack owns its mapping; nothing in it is bound to a thread.
unsafe impl Send for Stack {}
// SAFETY: a shared stack can only be asked for its addresses.
unsafe impl Sync for Stack {}

impl Stack {
    pub(crate) fn new() -> io::Result<Stack> {
        let stack = Stack { mapping: sys::reserve(GUARD + SIZE, false)? };
        // SAFETY: the pages above the guard lie in the reservation of just now.
        unsafe { sys::protect(stack.start().wrapping_add(GUARD), SIZE, Perm::READ | Perm::WRITE)? };
        Ok(stack)
    }

    fn start(&self) -> *mut u8 {
        self.mapping.as_ptr()
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
        // SAFETY: this is the mapping of `new`, whole, and nobody runs on it.
        unsafe { sys::release(self.start(), GUARD + SIZE) };
    }
}
