//! The thread-local owner number on x86-64 ELF systems.
//!
//! The variable is at a fixed distance from the thread pointer (the initial-exec TLS model). In a library, compilers
//! would access it by a call, for which each call of a guest function would have to save registers.

use std::arch::{asm, global_asm};

use crate::context::{NO_OWNER, VmContext, WINDOW_OFFSET};

/// The variable's symbol. Assembly cannot name a mangled one, so the version keeps those of two versions apart that are
/// linked into one program. All crates that use this have one version.
#[macro_export]
macro_rules! owner_symbol {
    () => {
        concat!("__riverrun_owner_", env!("CARGO_PKG_VERSION"))
    };
}

global_asm!(
    ".pushsection .tdata.riverrun_owner, \"awT\", @progbits",
    ".balign 32",
    concat!(".hidden ", owner_symbol!()),
    concat!(".globl ", owner_symbol!()),
    concat!(".type ", owner_symbol!(), ", @object"),
    concat!(".size ", owner_symbol!(), ", 24"),
    concat!(owner_symbol!(), ": .quad {none}, 0, 0"),
    ".popsection",
    none = const NO_OWNER,
);

/// This thread's last owner number and the state of its machine; [`NO_OWNER`] at first. The variable holds the owner
/// number, the address of the window (which compiled code needs, not that of the state), and the entry guard.
#[inline(always)]
pub(crate) fn get() -> (u64, *mut VmContext) {
    let (owner, window): (u64, *mut VmContext);
    // SAFETY: reads two words of this thread's own variable. `asm!` without `pure` keeps the compiler from reusing
    // values that an earlier call has spilled.
    unsafe {
        asm!(
            concat!("mov {owner}, [rip + ", owner_symbol!(), "@GOTTPOFF]"),
            "mov {window}, fs:[{owner} + 8]",
            "mov {owner}, fs:[{owner}]",
            owner = out(reg) owner,
            window = out(reg) window,
            options(readonly, nostack, preserves_flags),
        );
    }
    (owner, window.wrapping_byte_sub(WINDOW_OFFSET))
}

/// What [`set`] has last stored on this thread: the address of an entry guard, or null.
pub(crate) fn entry_guard() -> *const () {
    let entry_guard: *const ();
    // SAFETY: reads the third word of this thread's own variable.
    unsafe {
        asm!(
            concat!("mov {entry_guard}, [rip + ", owner_symbol!(), "@GOTTPOFF]"),
            "mov {entry_guard}, fs:[{entry_guard} + 16]",
            entry_guard = out(reg) entry_guard,
            options(readonly, nostack, preserves_flags),
        );
    }
    entry_guard
}

/// Writes all three words.
pub(crate) fn set(owner: u64, state: *mut VmContext, entry_guard: *const ()) {
    // SAFETY: writes the three words of this thread's own variable.
    unsafe {
        asm!(
            concat!("mov {at}, [rip + ", owner_symbol!(), "@GOTTPOFF]"),
            "mov fs:[{at}], {owner}",
            "mov fs:[{at} + 8], {window}",
            "mov fs:[{at} + 16], {entry_guard}",
            at = out(reg) _,
            owner = in(reg) owner,
            window = in(reg) state.wrapping_byte_add(WINDOW_OFFSET),
            entry_guard = in(reg) entry_guard,
            options(nostack, preserves_flags),
        );
    }
}
