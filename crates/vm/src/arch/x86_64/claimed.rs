//! The thread-local claim on x86-64 ELF systems.
//!
//! The variable is at a fixed distance from the thread pointer (the initial-exec TLS model). In a library, compilers
//! would access it by a call, for which each call of a guest function would have to save registers.

use std::arch::{asm, global_asm};

use crate::context::{NO_CLAIM, VmContext, WINDOW_OFFSET};

/// The variable's symbol. Assembly cannot name a mangled one, so the version keeps those of two versions apart that are linked
/// into one program. All crates that use this have one version.
#[macro_export]
macro_rules! claimed_symbol {
    () => {
        concat!("__riverrun_claimed_", env!("CARGO_PKG_VERSION"))
    };
}

global_asm!(
    ".pushsection .tdata.riverrun_claimed, \"awT\", @progbits",
    ".balign 32",
    concat!(".hidden ", claimed_symbol!()),
    concat!(".globl ", claimed_symbol!()),
    concat!(".type ", claimed_symbol!(), ", @object"),
    concat!(".size ", claimed_symbol!(), ", 24"),
    concat!(claimed_symbol!(), ": .quad {none}, 0, 0"),
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
            concat!("mov {claim}, [rip + ", claimed_symbol!(), "@GOTTPOFF]"),
            "mov {window}, fs:[{claim} + 8]",
            "mov {claim}, fs:[{claim}]",
            claim = out(reg) claim,
            window = out(reg) window,
            options(readonly, nostack, preserves_flags),
        );
    }
    (claim, window.wrapping_byte_sub(WINDOW_OFFSET))
}

/// What [`set`] has last stored on this thread: the address of an entry guard, or null.
pub(crate) fn gate() -> *const () {
    let gate: *const ();
    // SAFETY: reads the third word of this thread's own variable.
    unsafe {
        asm!(
            concat!("mov {gate}, [rip + ", claimed_symbol!(), "@GOTTPOFF]"),
            "mov {gate}, fs:[{gate} + 16]",
            gate = out(reg) gate,
            options(readonly, nostack, preserves_flags),
        );
    }
    gate
}

/// Writes all three words.
pub(crate) fn set(claim: u64, state: *mut VmContext, gate: *const ()) {
    // SAFETY: writes the three words of this thread's own variable.
    unsafe {
        asm!(
            concat!("mov {at}, [rip + ", claimed_symbol!(), "@GOTTPOFF]"),
            "mov fs:[{at}], {claim}",
            "mov fs:[{at} + 8], {window}",
            "mov fs:[{at} + 16], {gate}",
            at = out(reg) _,
            claim = in(reg) claim,
            window = in(reg) state.wrapping_byte_add(WINDOW_OFFSET),
            gate = in(reg) gate,
            options(nostack, preserves_flags),
        );
    }
}
