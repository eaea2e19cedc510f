//! Compiled code that a thread is running, for the handlers of signals.
//!
//! In compiled code no register is sure to hold the [`State`], and there may be any number of
//! artifacts, so faults in it are recognised by what their thread has said it runs.

use std::cell::Cell;
use std::ops::Range;
use std::ptr;
use std::sync::atomic::Ordering;

use crate::interruption::Interruption;
use crate::registers::State;
use crate::signal;
use crate::window::{WINDOW_OFFSET, WINDOW_SIZE};

thread_local! {
    static RUNNING: Cell<*const Running> = const { Cell::new(ptr::null()) };
}

/// Where an access in compiled code goes on if it faults: an entry of the code's table. Both places are
/// distances from the field that says them.
#[repr(C)]
#[derive(Debug)]
pub struct FaultExit {
    access: i32,
    exit: i32,
}

// As compiled code has them in its table: two words of 32 bits.
const _: () = assert!(size_of::<FaultExit>() == 8 && align_of::<FaultExit>() == 4);

impl FaultExit {
    fn place(field: &i32) -> usize {
        (&raw const *field as usize).wrapping_add_signed(*field as isize)
    }

    /// Where the access at `rip` goes on.
    fn find(table: &[FaultExit], rip: usize) -> Option<usize> {
        table.iter().find(|entry| FaultExit::place(&entry.access) == rip).map(|entry| FaultExit::place(&entry.exit))
    }
}

/// Where the handler of a signal sends compiled code.
pub(crate) struct Landing {
    /// The host address.
    pub(crate) rip: usize,
    /// What rax is to be there, if it is not to stay as it is.
    pub(crate) rax: Option<usize>,
}

/// What a thread runs between [`Running::begin`] and [`Running::end`].
#[derive(Debug)]
pub struct Running {
    /// The addresses of the compiled code.
    pub code: Range<usize>,
    /// Accesses of it that go on elsewhere if they fault, with all registers as they were.
    pub fault_exits: &'static [FaultExit],
    /// Where to go on after any other fault, with rax the address of the state; the other registers are as
    /// they were. [`crate::EngineExit::op`] is the address of the faulting host instruction then.
    pub landing: usize,
    /// The state that it works on.
    pub state: *mut State,
    /// The host address that could not be accessed, written by the fault handler.
    pub fault: Cell<usize>,
    /// The host addresses that no frame of compiled code may reach.
    pub stack_guard: Range<usize>,
    /// What takes the code to [`Running::interrupt_landing`] wherever it is; null for code that
    /// asks itself often enough.
    pub interruption: *const Interruption,
    /// Where to go on then, with rax the address of the state and [`crate::EngineExit::op`] that of the
    /// next host instruction.
    pub interrupt_landing: usize,
    /// What the thread ran before.
    pub outer: Cell<*const Running>,
}

impl Running {
    /// Makes faults in the code the guest's own, and lets it be interrupted, on this thread, until
    /// [`Running::end`]. Says whether the code may run: whether nothing has interrupted it already.
    ///
    /// # Safety
    /// `self` stays where it is until then, state and interruption are alive, and the code at the landings can go
    /// on from any fault in the code, or from anywhere in it.
    #[inline(always)]
    pub unsafe fn begin(&self) -> bool {
        let outer = RUNNING.replace(self);
        // Mostly there is none, and stores count.
        if self.outer.get() != outer {
            self.outer.set(outer);
        }
        let thread = signal::current_thread();
        // SAFETY: as the caller promises.
        let Some(interruption) = (unsafe { self.interruption.as_ref() }) else { return true };
        // Whoever interrupts from here on sees the thread, or is seen.
        interruption.thread.store(thread, Ordering::Relaxed);
        !interruption.is_reached()
    }

    /// The thread runs what it ran before.
    #[inline(always)]
    pub fn end(&self) {
        RUNNING.set(self.outer.get());
        // SAFETY: as the callers of `begin` have promised, of this run and of the one that waits for it.
        let (interruption, outer) = unsafe { (self.interruption.as_ref(), self.outer.get().as_ref()) };
        if let Some(interruption) = interruption {
            let is_outer = outer.is_some_and(|outer| ptr::eq(outer.interruption, interruption));
            let thread = if is_outer { signal::current_thread() } else { 0 };
            interruption.thread.store(thread, Ordering::Relaxed);
        }
    }

    /// [`Running::begin`] of code that is to be interrupted, and waits for no host function.
    ///
    /// # Safety
    /// As there; and there is an [`Running::interruption`].
    #[inline(always)]
    pub unsafe fn begin_outermost(&self) -> bool {
        let outer = RUNNING.replace(self);
        if self.outer.get() != outer {
            self.outer.set(outer);
        }
        // SAFETY: as the caller promises.
        let interruption = unsafe { &*self.interruption };
        interruption.thread.store(signal::current_thread(), Ordering::Relaxed);
        !interruption.is_reached()
    }

    /// [`Running::end`] after [`Running::begin_outermost`].
    ///
    /// # Safety
    /// As there.
    #[inline(always)]
    pub unsafe fn end_outermost(&self) {
        RUNNING.set(self.outer.get());
        // SAFETY: as the caller promises.
        unsafe { (*self.interruption).thread.store(0, Ordering::Relaxed) };
    }

    /// Installs the process's handlers, if they are not there yet.
    pub fn install_handlers() {
        signal::install_handlers();
        signal::install_interrupt_handler();
    }

    /// Where the handler of interruptions sends compiled code; `None` if this thread is not in such code or
    /// is to go on.
    pub(crate) fn interrupt(rip: usize) -> Option<Landing> {
        // SAFETY: as in `redirect`.
        let running = unsafe { RUNNING.get().as_ref()? };
        // SAFETY: as in `redirect`; the interruption is as alive as the state.
        let interruption = unsafe { running.interruption.as_ref()? };
        if !running.code.contains(&rip) || !interruption.is_reached() {
            return None;
        }
        // SAFETY: as in `redirect`.
        unsafe { (*running.state).exit.op = rip as u64 };
        Some(Landing { rip: running.interrupt_landing, rax: Some(running.state as usize) })
    }

    /// Where the fault handler sends compiled code; `None` if the fault is not its.
    pub(crate) fn redirect(rip: usize, address: usize) -> Option<Landing> {
        // SAFETY: what the thread has begun stays where it is until it ends; the handler runs on
        // the same thread, in between.
        let running = unsafe { RUNNING.get().as_ref()? };
        let window = (running.state as usize).wrapping_add(WINDOW_OFFSET);
        // Folded immediates reach into the guards on either side of the window.
        let guest = address.wrapping_sub(window).wrapping_add(REACH) < WINDOW_SIZE + 2 * REACH;
        if !running.code.contains(&rip) || !(guest || running.stack_guard.contains(&address)) {
            return None;
        }
        if let Some(exit) = FaultExit::find(running.fault_exits, rip) {
            return Some(Landing { rip: exit, rax: None });
        }
        running.fault.set(address);
        // SAFETY: the state is alive, and its owner stands in the code that has faulted.
        unsafe { (*running.state).exit.op = rip as u64 };
        Some(Landing { rip: running.landing, rax: Some(running.state as usize) })
    }
}

/// How far beyond the window compiled code's accesses may go.
const REACH: usize = 32 << 10;
