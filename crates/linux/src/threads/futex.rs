//! Futexes: words of memory at which threads wait. A waiting thread says itself where it waits, so there are no queues.

use std::time::Duration;

use riverrun::Memory;
use rustix::io::Errno;

use super::{State, Threads};
use crate::abi::Timespec;
use crate::call::{Call, Outcome, Stop};
use crate::requests::{Ended, On, Wait};

const ALL_BITS: u32 = u32::MAX;

impl Threads {
    /// The indices of the threads that wait at a futex with one of these bits, in the order of their waits.
    fn waiting_at(&self, address: u64, bits: u32) -> Vec<usize> {
        let mut waiting: Vec<(u64, usize)> = self
            .iter()
            .filter_map(|(index, thread)| match thread.wait()? {
                Wait { on: On::Futex { address: at, bits: wanted }, order, .. }
                    if *at == address && wanted & bits != 0 =>
                {
                    Some((*order, index))
                }
                _ => None,
            })
            .collect();
        waiting.sort_unstable();
        waiting.into_iter().map(|(_, index)| index).collect()
    }

    /// Wakes as many threads as `count`, and says how many.
    pub(super) fn wake(&mut self, address: u64, bits: u32, count: usize) -> u64 {
        let waiting = self.waiting_at(address, bits);
        let woken = waiting.len().min(count);
        for &index in &waiting[..woken] {
            self.resume(index, Ended::Woken);
        }
        woken as u64
    }

    /// Has as many threads as `count` wait at another futex, and says how many.
    fn requeue(&mut self, from: u64, to: u64, count: usize) -> u64 {
        let waiting = self.waiting_at(from, ALL_BITS);
        let moved = waiting.len().min(count);
        for &index in &waiting[..moved] {
            if let State::Waits(Wait { on: On::Futex { address, .. }, order, .. }) = &mut self.list[index].state {
                *address = to;
                self.waits += 1;
                *order = self.waits;
            }
        }
        moved as u64
    }
}

/// How many threads an argument stands for.
fn count(call: &Call<'_>, n: usize) -> Result<usize, Stop> {
    usize::try_from(call.int(n)).map_err(|_| Errno::INVAL.into())
}

fn check_aligned(address: u64) -> Result<u64, Stop> {
    match address.is_multiple_of(4) {
        true => Ok(address),
        false => Err(Errno::INVAL.into()),
    }
}

pub(crate) fn futex(call: &mut Call<'_>) -> Outcome {
    const COMMAND: u32 = 0x7f;
    const PRIVATE: u32 = 0x80;
    const REAL_TIME: u32 = 0x100;
    const WAIT: u32 = 0;
    const WAKE: u32 = 1;
    const REQUEUE: u32 = 3;
    const COMPARE_REQUEUE: u32 = 4;
    const WAKE_OPERATION: u32 = 5;
    const WAIT_BITSET: u32 = 9;
    const WAKE_BITSET: u32 = 10;
    let (address, operation) = (call.args[0], call.uint(1));
    let command = operation & COMMAND;
    let is_real = operation & REAL_TIME != 0;
    if is_real && command != WAIT_BITSET {
        return Err(Errno::NOSYS.into());
    }
    match command {
        WAIT => wait(call, ALL_BITS, false, false),
        WAIT_BITSET => wait(call, call.uint(5), true, is_real),
        WAKE | WAKE_BITSET => {
            let bits = if command == WAKE { ALL_BITS } else { call.uint(5) };
            if bits == 0 {
                return Err(Errno::INVAL.into());
            }
            if operation & PRIVATE == 0 {
                // What processes share is known by the page that it is in.
                call.memory.read_u32(check_aligned(address)?)?;
            }
            // Linux wakes one also where none is asked for.
            let count = (call.int(2).max(1)) as usize;
            Ok(call.linux.threads.wake(check_aligned(address)?, bits, count))
        }
        REQUEUE | COMPARE_REQUEUE => {
            let (woken, moved) = (count(call, 2)?, count(call, 3)?);
            let (from, to) = (check_aligned(address)?, check_aligned(call.args[4])?);
            if command == COMPARE_REQUEUE && call.memory.read_u32(from)? != call.uint(5) {
                return Err(Errno::AGAIN.into());
            }
            let threads = &mut call.linux.threads;
            let woken = threads.wake(from, ALL_BITS, woken);
            Ok(woken + threads.requeue(from, to, moved))
        }
        WAKE_OPERATION => {
            let (first, second) = (check_aligned(address)?, check_aligned(call.args[4])?);
            let operation = Operation(call.uint(5));
            let is_met = operation.run(call.memory, second)?;
            let (count, other) = (call.int(2).max(1) as usize, call.int(3).max(1) as usize);
            let threads = &mut call.linux.threads;
            let woken = threads.wake(first, ALL_BITS, count);
            Ok(woken + if is_met { threads.wake(second, ALL_BITS, other) } else { 0 })
        }
        _ => Err(Errno::NOSYS.into()),
    }
}

/// Waits if the word has the value that is expected.
fn wait(call: &mut Call<'_>, bits: u32, is_absolute: bool, is_real: bool) -> Outcome {
    let address = check_aligned(call.args[0])?;
    if bits == 0 {
        return Err(Errno::INVAL.into());
    }
    let span = match call.args[3] {
        0 => None,
        timeout => {
            let time: Duration = Timespec::load(call.memory, timeout)?.span()?;
            Some(if is_absolute { call.span_until(time, is_real) } else { time })
        }
    };
    if call.resumed.is_none() && call.memory.read_u32(address)? != call.uint(2) {
        return Err(Errno::AGAIN.into());
    }
    match call.wait(On::Futex { address, bits }, span)? {
        Ended::TimedOut => Err(Errno::TIMEDOUT.into()),
        _ => Ok(0),
    }
}

/// What `FUTEX_WAKE_OP` does to the second word, and what that must have been for its threads to be woken.
struct Operation(u32);

impl Operation {
    fn run(&self, memory: &mut Memory, address: u64) -> Result<bool, Stop> {
        const SHIFT: u32 = 8;
        let twelve_bits = |value: u32| (value << 20) as i32 >> 20;
        let (operation, comparison) = (self.0 >> 28, self.0 >> 24 & 15);
        let (mut operand, compared) = (twelve_bits(self.0 >> 12) as u32, twelve_bits(self.0));
        if operation & SHIFT != 0 {
            operand = 1 << (operand & 31);
        }
        let old = memory.read_u32(address)?;
        let new = match operation & !SHIFT {
            0 => operand,
            1 => old.wrapping_add(operand),
            2 => old | operand,
            3 => old & !operand,
            4 => old ^ operand,
            _ => return Err(Errno::NOSYS.into()),
        };
        memory.write_u32(address, new)?;
        let old = old as i32;
        match comparison {
            0 => Ok(old == compared),
            1 => Ok(old != compared),
            2 => Ok(old < compared),
            3 => Ok(old <= compared),
            4 => Ok(old > compared),
            5 => Ok(old >= compared),
            _ => Err(Errno::NOSYS.into()),
        }
    }
}
