//! The words by which any thread has an engine exit.
//!
//! They lie behind the [`VmContext`], to which the host of an engine may have a unique reference: other threads write them.
//! So no signal is needed to end a guest that mostly waits for host functions, where a signal rarely finds its code.

use std::mem::offset_of;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use crate::context::{POLLS_OFFSET, VmContext};

/// The words of one window.
#[repr(C)]
#[derive(Debug)]
pub struct Polls {
    /// A compiled function whose stack pointer is below this exits at its beginning. All ones makes every function exit,
    /// by which the dispatcher enters one in the middle.
    pub(crate) stack_limit: AtomicU64,
    /// What loops in compiled code look at, and engines that count behind host functions: they exit unless it is 0.
    pub(crate) poll: AtomicU64,
}

impl Polls {
    /// Offset of the word that engines which count look at behind host functions, for handlers in assembly.
    pub const POLL: usize = offset_of!(Polls, poll);

    /// Those behind this state.
    ///
    /// # Safety
    /// The state is that of a window, which is alive for as long as the result is used.
    pub unsafe fn of<'a>(state: *const VmContext) -> &'a Polls {
        // SAFETY: the place lies in the state's pages, aligned, and only as these words is it ever used.
        unsafe { &*state.wrapping_byte_add(POLLS_OFFSET).cast() }
    }

    /// Has engines exit soon.
    pub fn ask(&self) {
        self.poll.store(u64::MAX, Relaxed);
        self.stack_limit.store(u64::MAX, Relaxed);
    }

    /// Has engines exit behind host functions, and loops of compiled code.
    pub fn ask_often(&self) {
        self.poll.store(u64::MAX, Relaxed);
    }

    /// Whether engines are asked to exit.
    pub fn are_asked(&self) -> bool {
        self.poll.load(Relaxed) != 0
    }

    /// Takes back that engines are asked to exit.
    pub fn clear(&self) {
        self.poll.store(0, Relaxed);
    }

    /// The same for compiled code, with its stack limit.
    pub fn begin(&self, stack_limit: u64) {
        self.stack_limit.store(stack_limit, Relaxed);
        self.clear();
    }

    /// The stack limit.
    pub fn stack_limit(&self) -> u64 {
        self.stack_limit.load(Relaxed)
    }

    /// Sets the stack limit for an engine that continues; if it is asked to exit, it is so still.
    pub fn resume(&self, stack_limit: u64) {
        self.stack_limit.store(if self.are_asked() { u64::MAX } else { stack_limit }, Relaxed);
    }
}
