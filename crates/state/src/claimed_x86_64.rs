//! The thread-local claim on x86-64 ELF systems.
//!
//! The variable is at a fixed distance from the thread pointer (the initial-exec TLS model). In a library, compilers
//! would access it by a call, for which each call of a guest function would have to save registers.

use std::arch::{asm, global_asm};
use std::ptr;

use crate::context::{VmContext, WINDOW_OFFSET};
use crate::gate::{Gate, NO_CLAIM};

global_asm!(
    ".pushsection .tdata.riverrun_claimed, \"awT\", @progbits",
    ".balign 32",
    ".hidden __riverrun_claimed",
    ".globl __riverrun_claimed",
    ".type __riverrun_claimed, @object",
    ".size __riverrun_claimed, 24",
    "__riverrun_claimed: .quad {none}, 0, 0",
    ".popsection",
    none = const NO_CLAIM,
);

/// This thread's last claim and the state of its machine; [`NO_CLAIM`] at first. The variable holds the claim, the
/// address of the window (which compiled code needs, not that of the state), and the entry guard.
#[inline(always)]
pub(crate) fn get() -> (u64, *mut VmContext) {
    let (claim, window): (u64, *mut VmContext);
    // SAFETY: reads two words of this thread's own variable. `asm!` without `pure` keeps the compiler from reusing
    // values that an earlier call has spilled.
    unsafe {
        asm!(
            "mov {claim}, [rip + __riverrun_claimed@GOTTPOFF]",
            "mov {window}, fs:[{claim} + 8]",
            "mov {claim}, fs:[{claim}]",
            claim = out(reg) claim,
            window = out(reg) window,
            options(readonly, nostack, preserves_flags),
        );
    }
    (claim, window.wrapping_byte_sub(WINDOW_OFFSET))
}

/// The entry guard of the thread's last claim; `None` if its current activation has none.
pub(crate) fn gate() -> Option<&'static Gate> {
    let gate: *const Gate;
    // SAFETY: reads the third word of this thread's own variable: null, or written by `set` from a `&'static Gate`.
    unsafe {
        asm!(
            "mov {gate}, [rip + __riverrun_claimed@GOTTPOFF]",
            "mov {gate}, fs:[{gate} + 16]",
            gate = out(reg) gate,
            options(readonly, nostack, preserves_flags),
        );
        gate.as_ref()
    }
}

/// Writes all three words.
pub(crate) fn set(claim: u64, state: *mut VmContext, gate: Option<&'static Gate>) {
    // SAFETY: writes the three words of this thread's own variable.
    unsafe {
        asm!(
            "mov {at}, [rip + __riverrun_claimed@GOTTPOFF]",
            "mov fs:[{at}], {claim}",
            "mov fs:[{at} + 8], {window}",
            "mov fs:[{at} + 16], {gate}",
            at = out(reg) _,
            claim = in(reg) claim,
            window = in(reg) state.wrapping_byte_add(WINDOW_OFFSET),
            gate = in(reg) gate.map_or(ptr::null(), ptr::from_ref),
            options(nostack, preserves_flags),
        );
    }
}
