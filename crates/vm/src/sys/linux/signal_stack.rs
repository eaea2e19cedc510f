//! Alternate stacks for signal handlers.

use std::ptr;

/// Gives this thread an alternate signal stack unless it has one, as threads that Rust has made do. A fault in compiled
/// code may come when its own stack is exhausted.
#[cold]
#[inline(never)]
pub(crate) fn ensure_signal_stack() {
    const SIGNAL_STACK: usize = 64 << 10;
    // SAFETY: the first call only reads. The second installs a fresh mapping, which is never unmapped because the thread
    // may handle signals until its end.
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
