//! Moving bytes between a guest and its files, in bounded steps.

use rustix::fs::SeekFrom;
use rustix::io::Errno;

use crate::call::{Patience, Stop};

/// Bytes moved between two tests of the deadline.
pub(crate) const STEP: usize = 1 << 20;

/// A position `offset` bytes behind `at`; `EINVAL` beyond what a signed number holds.
pub(crate) fn position(at: u64, offset: u64) -> Result<u64, Stop> {
    at.checked_add(offset).filter(|&position| i64::try_from(position).is_ok()).ok_or(Errno::INVAL.into())
}

/// The position to which `lseek` leads from `here`, or from which it looks for data or a hole. The file's length is
/// asked for only where it matters.
pub(crate) fn sought(to: SeekFrom, here: u64, len: impl FnOnce() -> Result<u64, Stop>) -> Result<u64, Stop> {
    let from = |base: u64, offset: i64| base.checked_add_signed(offset).ok_or(Stop::Errno(Errno::INVAL));
    match to {
        SeekFrom::Start(at) | SeekFrom::Data(at) | SeekFrom::Hole(at) => Ok(at),
        SeekFrom::Current(offset) => from(here, offset),
        SeekFrom::End(offset) => from(len()?, offset),
    }
}

/// Moves `len` bytes by `transfer`, `step` at a time, until one is short. What goes wrong after
/// something has been moved shows in the next call.
pub(crate) fn in_steps(
    len: usize,
    step: usize,
    patience: Patience<'_>,
    mut transfer: impl FnMut(std::ops::Range<usize>) -> Result<usize, Stop>,
) -> Result<usize, Stop> {
    let mut done = 0;
    loop {
        let end = len.min(done + step);
        let moved = match transfer(done..end) {
            Ok(moved) => moved,
            Err(_) if done > 0 => return Ok(done),
            Err(stop) => return Err(stop),
        };
        done += moved;
        if done >= len || done < end || patience.check().is_err() {
            return Ok(done);
        }
    }
}
