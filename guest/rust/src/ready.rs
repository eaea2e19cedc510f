//! Keeps a guest with `std` ready to be called once its `main` has returned, as `guest/src/reactor.c` does one with a libc: linked
//! with `--wrap=main`.
//!
//! Behind `main`, exit would destroy what the guest's functions use. So it first tells its host, by a system call of riverrun's
//! own, that it is ready. A host that calls its functions stops it there. Where the host does not know the call, it
//! fails, and the guest exits as ever.

use core::ffi::{c_char, c_int};

/// The system call, `READY_CALL` of the host.
const READY: i64 = 505;

unsafe extern "C" {
    /// The `main` that rustc makes.
    fn __real_main(argc: c_int, argv: *const *const c_char) -> c_int;
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __wrap_main(argc: c_int, argv: *const *const c_char) -> c_int {
    // SAFETY: the C library calls this in its place, with these arguments.
    let status = unsafe { __real_main(argc, argv) };
    // SAFETY: the call changes a0 only; functions of the guest may run in it, and change memory.
    unsafe { core::arch::asm!("ecall", inlateout("a0") i64::from(status) => _, in("a7") READY, options(nostack)) };
    status
}
