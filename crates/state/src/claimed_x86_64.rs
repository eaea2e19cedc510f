//! What a thread has claimed, on x86-64 ELF systems.
//!
//! A variable of the thread's own at a fixed distance from its thread pointer. Compilers go to such variables of
//! libraries by a call, for which a function has to save what it has in registers; calls of guest functions have not
//! the time.

use std::arch::{asm, global_asm};
use std::ptr;

use crate::gate::Gate;
use crate::registers::State;
use crate::running::NO_CLAIM;
use crate::window::WINDOW_OFFSET;

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

/// What this thread has claimed last, and the state that the calls work on; [`NO_CLAIM`] at first. The variable has the
/// window in the state's place, as compiled code wants it, and behind it the gate.
#[inline(always)]
pub(crate) fn get() -> (u64, *mut State) {
    let (claim, window): (u64, *mut State);
    // SAFETY: reads the two words above. The compiler must not keep them: what it keeps is on the stack, to which a
    // call comes back by way of the machine.
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

/// The gate that the thread has claimed last; nothing if what it said last is no claim.
pub(crate) fn gate() -> Option<&'static Gate> {
    let gate: *const Gate;
    // SAFETY: reads the third word above, which is null or what was written there as a reference.
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

/// Changes all of it.
pub(crate) fn set(claim: u64, state: *mut State, gate: Option<&'static Gate>) {
    // SAFETY: writes the three words above.
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
