//! The beginning and the end of threads, and their identities.

use riverrun::{Hart, Memory};
use rustix::io::Errno;

use super::{State, Thread, Threads};
use crate::abi::load_words;
use crate::call::{Call, Outcome, Stop};
use crate::requests::NewThread;
use crate::signals::ThreadSignals;

/// The flags of `clone` that say what is shared.
mod flag {
    pub(super) const VM: u64 = 0x100;
    pub(super) const FS: u64 = 0x200;
    pub(super) const FILES: u64 = 0x400;
    pub(super) const SIGHAND: u64 = 0x800;
    pub(super) const THREAD: u64 = 0x1_0000;
    pub(super) const SYSVSEM: u64 = 0x4_0000;
    pub(super) const SETTLS: u64 = 0x8_0000;
    pub(super) const PARENT_SETTID: u64 = 0x10_0000;
    pub(super) const CHILD_CLEARTID: u64 = 0x20_0000;
    pub(super) const DETACHED: u64 = 0x40_0000;
    pub(super) const CHILD_SETTID: u64 = 0x100_0000;
    /// Bits of `clone` that are a signal's number.
    pub(super) const SIGNAL: u64 = 0xff;
    /// What every thread shares with the others.
    pub(super) const SHARED: u64 = VM | FS | FILES | SIGHAND | THREAD;
    /// What may be said of a thread besides; a thread has no signal for a parent.
    pub(super) const KNOWN: u64 =
        SHARED | SYSVSEM | SETTLS | PARENT_SETTID | CHILD_CLEARTID | DETACHED | CHILD_SETTID | SIGNAL;
}

/// The arguments of `clone` and `clone3`.
struct Request {
    flags: u64,
    stack: u64,
    parent_id: u64,
    child_id: u64,
    tls: u64,
}

impl Request {
    fn begin(self, call: &mut Call<'_>) -> Outcome {
        use flag::*;
        let has = |flag: u64| self.flags & flag != 0;
        if has(THREAD) && !has(SIGHAND) || has(SIGHAND) && !has(VM) {
            return Err(Errno::INVAL.into());
        }
        if self.flags & SHARED != SHARED {
            return Err(Stop::Absent("clone of a process"));
        }
        if self.flags & !KNOWN != 0 {
            return Err(Stop::Absent("clone of a thread in namespaces of its own, with a pidfd, or waited for"));
        }
        let threads = &mut call.linux.threads;
        if threads.len() >= threads.limit {
            return Err(Errno::AGAIN.into());
        }
        let id = threads.new_id();
        for (flag, address) in [(PARENT_SETTID, self.parent_id), (CHILD_SETTID, self.child_id)] {
            if has(flag) {
                // As in Linux, an address that is none is no error.
                let _ = call.memory.write_u32(address, id);
            }
        }
        Err(Stop::Clone(NewThread {
            id,
            stack: (self.stack != 0).then_some(self.stack),
            tls: has(SETTLS).then_some(self.tls),
            clear_id_at: if has(CHILD_CLEARTID) { self.child_id } else { 0 },
        }))
    }
}

pub(crate) fn clone(call: &mut Call<'_>) -> Outcome {
    let [flags, stack, parent_id, tls, child_id, _] = call.args;
    Request { flags: flags & u64::from(u32::MAX), stack, parent_id, child_id, tls }.begin(call)
}

pub(crate) fn clone3(call: &mut Call<'_>) -> Outcome {
    /// Bytes of the first version of `struct clone_args`.
    const SIZE: u64 = 64;
    let [address, size, ..] = call.args;
    if size < SIZE {
        return Err(Errno::INVAL.into());
    }
    if size > riverrun::PAGE_SIZE {
        return Err(Errno::TOOBIG.into());
    }
    // Newer fields must be zero.
    if call.memory.slice(address, size)?[SIZE as usize..].iter().any(|&byte| byte != 0) {
        return Err(Stop::Absent("clone3 with new fields"));
    }
    let [flags, _, child_id, parent_id, signal, stack, stack_size, tls] = load_words(call.memory, address)?;
    let is_stack = (stack == 0) == (stack_size == 0);
    if flags & flag::SIGNAL != 0 || !is_stack || flags & flag::THREAD != 0 && signal != 0 {
        return Err(Errno::INVAL.into());
    }
    Request { flags, stack: stack.wrapping_add(stack_size), parent_id, child_id, tls }.begin(call)
}

impl Threads {
    /// Adds a thread whose maker is the current one, with its hart behind the call; its ID.
    pub(crate) fn begin(&mut self, new: NewThread, mut hart: Hart) -> u64 {
        const SP: u8 = 2;
        const TP: u8 = 4;
        const A0: u8 = 10;
        hart.set_pc(hart.pc().wrapping_add(4));
        hart.set_x(A0, 0);
        new.stack.into_iter().for_each(|stack| hart.set_x(SP, stack));
        new.tls.into_iter().for_each(|tls| hart.set_x(TP, tls));
        let current = self.current();
        let thread = Thread {
            hart: Some(Box::new(hart)),
            signals: ThreadSignals::inherited(&current.signals),
            clear_id_at: new.clear_id_at,
            name: current.name,
            ..Thread::new(new.id)
        };
        self.list.push(thread);
        self.ready.push_back(self.list.len() - 1);
        new.id.into()
    }

    /// Ends the current thread. If it was the last one, the program ends with the status that this gives.
    pub(crate) fn end(&mut self, status: i32, memory: &mut Memory) -> Option<i32> {
        self.release_locks(memory);
        let clear_id_at = self.current().clear_id_at;
        if clear_id_at != 0 && memory.write_u32(clear_id_at, 0).is_ok() {
            self.wake(clear_id_at, u32::MAX, 1);
        }
        if self.current().id == crate::process::PROCESS {
            self.first_status = Some(status);
        }
        if self.len() == 1 {
            return Some(self.first_status.unwrap_or(status));
        }
        self.current_mut().state = State::Over;
        None
    }
}

/// Ends the thread.
pub(crate) fn exit(call: &mut Call<'_>) -> Outcome {
    if call.linux.threads.len() == 1 {
        call.prepare_end()?;
        call.linux.end_locks();
    }
    Err(Stop::ThreadEnd(call.int(0) & 0xff))
}

pub(crate) fn gettid(call: &mut Call<'_>) -> Outcome {
    Ok(call.linux.threads.current().id.into())
}

pub(crate) fn set_tid_address(call: &mut Call<'_>) -> Outcome {
    let thread = call.linux.threads.current_mut();
    thread.clear_id_at = call.args[0];
    Ok(thread.id.into())
}
