//! The process's allocator.

use std::ffi::{c_int, c_long};

/// LLVM allocates all the time, by `malloc`: this takes its place in the whole process.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

unsafe extern "C" {
    fn mi_option_set(option: c_int, value: c_long);
}

/// `mi_option_purge_delay`: for how many milliseconds memory is free before the system gets it back.
const PURGE_DELAY: c_int = 15;
const NEVER: c_long = -1;

/// Keeps what is freed for what comes next: the system would have to clear its pages again.
pub(crate) fn keep_what_is_freed() {
    // SAFETY: the declaration is mimalloc's, which allows for options to be set at any time and by any number.
    unsafe { mi_option_set(PURGE_DELAY, NEVER) }
}
