//! The processors that a guest sees: one, on which its threads take turns, all by the same policy.

use std::time::Duration;

use rustix::io::Errno;

use crate::abi::Layout;
use crate::call::{Call, Outcome, Stop};

/// `SCHED_OTHER`, the policy of all threads.
const OTHER: i32 = 0;
/// The highest policy that Linux has a number for.
const HIGHEST: i32 = 6;

/// Fails unless argument 0 names a thread.
fn check_thread(call: &Call<'_>) -> Result<(), Stop> {
    match call.uint(0) {
        0 => Ok(()),
        id if call.linux.threads.find(id).is_some() => Ok(()),
        _ => Err(Errno::SRCH.into()),
    }
}

pub(crate) fn sched_getaffinity(call: &mut Call<'_>) -> Outcome {
    const WORD: u64 = 8;
    let [_, size, address, ..] = call.args;
    check_thread(call)?;
    if size < WORD || size % WORD != 0 {
        return Err(Errno::INVAL.into());
    }
    call.memory.write_u64(address, 1)?;
    Ok(WORD)
}

pub(crate) fn sched_setaffinity(call: &mut Call<'_>) -> Outcome {
    let [_, size, address, ..] = call.args;
    let first = match size {
        0 => 0,
        _ => call.memory.slice(address, 1)?[0],
    };
    check_thread(call)?;
    match first & 1 {
        0 => Err(Errno::INVAL.into()),
        _ => Ok(0),
    }
}

/// `struct sched_param` of the policy: the priority is 0.
fn check_param(call: &Call<'_>, address: u64) -> Result<(), Stop> {
    match call.memory.read_u32(address)? {
        0 => Ok(()),
        _ => Err(Errno::INVAL.into()),
    }
}

pub(crate) fn sched_setparam(call: &mut Call<'_>) -> Outcome {
    check_param(call, call.args[1])?;
    check_thread(call)?;
    Ok(0)
}

pub(crate) fn sched_getparam(call: &mut Call<'_>) -> Outcome {
    check_thread(call)?;
    Layout::new().u32(0).store(call.memory, call.args[1])
}

/// `SCHED_BATCH` and `SCHED_IDLE` are taken for `SCHED_OTHER`; other policies need a privilege.
pub(crate) fn sched_setscheduler(call: &mut Call<'_>) -> Outcome {
    const BATCH: i32 = 3;
    const IDLE: i32 = 5;
    match call.int(1) {
        OTHER | BATCH | IDLE => check_param(call, call.args[2])?,
        1..=HIGHEST => return Err(Errno::PERM.into()),
        _ => return Err(Errno::INVAL.into()),
    }
    check_thread(call)?;
    Ok(0)
}

pub(crate) fn sched_getscheduler(call: &mut Call<'_>) -> Outcome {
    check_thread(call)?;
    Ok(OTHER as u64)
}

/// The highest and the lowest priority of a policy.
pub(crate) fn sched_get_priority(call: &mut Call<'_>) -> Outcome {
    const FIFO_AND_ROUND_ROBIN: std::ops::RangeInclusive<i32> = 1..=2;
    const MAX: u64 = 125;
    let is_max = call.number == MAX;
    match call.int(0) {
        policy if FIFO_AND_ROUND_ROBIN.contains(&policy) => Ok(if is_max { 99 } else { 1 }),
        OTHER..=HIGHEST => Ok(0),
        _ => Err(Errno::INVAL.into()),
    }
}

pub(crate) fn sched_rr_get_interval(call: &mut Call<'_>) -> Outcome {
    check_thread(call)?;
    Layout::new().timespec(Duration::from_millis(4).into()).store(call.memory, call.args[1])
}

pub(crate) fn getcpu(call: &mut Call<'_>) -> Outcome {
    for address in call.args[..2].iter().filter(|address| **address != 0) {
        call.memory.write_u32(*address, 0)?;
    }
    Ok(0)
}
