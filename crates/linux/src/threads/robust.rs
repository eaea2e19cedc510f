//! Robust futexes: locks that a thread's end releases, of which the thread keeps a list in its own memory.

use riverrun::Memory;
use rustix::io::Errno;

use super::Threads;
use crate::abi::{Layout, load_words};
use crate::call::{Call, Outcome};

/// Bytes of `struct robust_list_head`.
const HEAD: u64 = 24;
/// Locks that Linux releases at most, since a list may be circular.
const MOST: usize = 2048;
const WAITERS: u32 = 1 << 31;
const OWNER_DIED: u32 = 1 << 30;
const OWNER: u32 = OWNER_DIED - 1;

pub(crate) fn set_robust_list(call: &mut Call<'_>) -> Outcome {
    if call.args[1] != HEAD {
        return Err(Errno::INVAL.into());
    }
    call.linux.threads.current_mut().robust_list = call.args[0];
    Ok(0)
}

pub(crate) fn get_robust_list(call: &mut Call<'_>) -> Outcome {
    let threads = &call.linux.threads;
    let thread = match call.uint(0) {
        0 => threads.current(),
        id => &threads.list[threads.find(id).ok_or(Errno::SRCH)?],
    };
    let head = thread.robust_list;
    Layout::new().u64(HEAD).store(call.memory, call.args[2])?;
    Layout::new().u64(head).store(call.memory, call.args[1])
}

impl Threads {
    /// Releases the locks of the current thread, which ends. A list that is damaged is not followed further.
    pub(super) fn release_locks(&mut self, memory: &mut Memory) {
        let (head, id) = (self.current().robust_list, self.current().id);
        if head == 0 {
            return;
        }
        let Ok([first, offset, pending]) = load_words::<3>(memory, head) else { return };
        // Bit 0 marks locks with priority inheritance, which there are not.
        let (mut entry, pending) = (first & !1, pending & !1);
        for _ in 0..MOST {
            if entry == head {
                break;
            }
            let Ok([next]) = load_words::<1>(memory, entry) else { return };
            if entry != pending {
                self.release(memory, entry.wrapping_add(offset), id);
            }
            entry = next & !1;
        }
        if pending != 0 {
            self.release(memory, pending.wrapping_add(offset), id);
        }
    }

    fn release(&mut self, memory: &mut Memory, address: u64, id: u32) {
        let Ok(word) = memory.read_u32(address) else { return };
        if !address.is_multiple_of(4) || word & OWNER != id {
            return;
        }
        if memory.write_u32(address, word & WAITERS | OWNER_DIED).is_ok() && word & WAITERS != 0 {
            self.wake(address, u32::MAX, 1);
        }
    }
}
