//! The clock of [`std::time::Instant`], read in two ways.

/// Nanoseconds by the clock of `Instant`; `is_coarse` for what the kernel has noted at its last tick, some milliseconds
/// ago, which takes a fifth of the time.
pub(crate) fn monotonic(is_coarse: bool) -> u64 {
    let id = if is_coarse { libc::CLOCK_MONOTONIC_COARSE } else { libc::CLOCK_MONOTONIC };
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the kernel writes a time there, or nothing.
    unsafe { libc::clock_gettime(id, &mut time) };
    (time.tv_sec as u64).wrapping_mul(1_000_000_000).wrapping_add(time.tv_nsec as u64)
}
