//! The host stack that compiled code runs on.

use std::cell::Cell;
use std::io;
use std::ops::Range;
use std::ptr;

/// Bytes of the stack; frames of compiled code are small.
const SIZE: usize = 16 << 20;
/// Bytes below it that are never mapped.
const GUARD: usize = 64 << 10;
/// Bytes that a function may use after it has asked whether the stack suffices.
const RESERVE: usize = 64 << 10;

/// A stack in a mapping of its own, with a guard below it.
#[derive(Debug)]
pub(crate) struct Stack {
    mapping: *mut libc::c_void,
}

// SAFETY: the mapping is the stack's own; nothing in it is bound to a thread.
unsafe impl Send for Stack {}
// SAFETY: a shared stack can only be asked for its addresses.
unsafe impl Sync for Stack {}

impl Stack {
    pub(crate) fn new() -> io::Result<Stack> {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        // SAFETY: a fresh private mapping at an address of the kernel's choice.
        let mapping = unsafe { libc::mmap(ptr::null_mut(), GUARD + SIZE, libc::PROT_NONE, flags, -1, 0) };
        if mapping == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let stack = Stack { mapping };
        // SAFETY: the pages above the guard lie in the mapping.
        let failed =
            unsafe { libc::mprotect(mapping.wrapping_byte_add(GUARD), SIZE, libc::PROT_READ | libc::PROT_WRITE) };
        if failed != 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(stack)
    }

    pub(crate) fn top(&self) -> usize {
        self.mapping as usize + GUARD + SIZE
    }

    /// What no frame may reach.
    pub(crate) fn guard(&self) -> Range<usize> {
        self.mapping as usize..self.mapping as usize + GUARD
    }

    /// The least stack pointer with which a function may begin.
    pub(crate) fn limit(&self) -> usize {
        self.mapping as usize + GUARD + RESERVE
    }
}

impl Drop for Stack {
    fn drop(&mut self) {
        // SAFETY: this is the mapping of `new`, whole, and nobody runs on it.
        unsafe { libc::munmap(self.mapping, GUARD + SIZE) };
    }
}

/// Sees to it that signals of this thread have a stack of their own: a fault in compiled code may
/// come when its stack is at its end. Rust's own threads have one already.
#[inline(always)]
pub(crate) fn ensure_signal_stack() {
    thread_local! {
        static DONE: Cell<bool> = const { Cell::new(false) };
    }
    if !DONE.get() {
        DONE.set(true);
        make_signal_stack();
    }
}

#[cold]
#[inline(never)]
fn make_signal_stack() {
    const SIGNAL_STACK: usize = 64 << 10;
    // SAFETY: asks only; then gives a fresh mapping, which is never taken back as the thread may
    // handle signals until its end.
    unsafe {
        let mut present: libc::stack_t = std::mem::zeroed();
        if libc::sigaltstack(ptr::null(), &mut present) != 0 || present.ss_flags & libc::SS_DISABLE == 0 {
            return;
        }
        let (protection, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        let memory = libc::mmap(ptr::null_mut(), SIGNAL_STACK, protection, flags, -1, 0);
        if memory != libc::MAP_FAILED {
            libc::sigaltstack(&libc::stack_t { ss_sp: memory, ss_flags: 0, ss_size: SIGNAL_STACK }, ptr::null_mut());
        }
    }
}
