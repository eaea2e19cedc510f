//! The current activation of a thread: which range of compiled code it executes, and on which machine.
//!
//! Signal handlers read it to decide whether a fault or an interruption is the guest's. No register of compiled code is
//! certain to hold the [`VmContext`], and there may be any number of artifacts, so the thread publishes both in
//! thread-local storage before it enters compiled code.
//!
//! Publishing takes longer than a short call. So a call on the fast path leaves its activation published
//! ([`Activation::own`]): the thread becomes the owner of the machine's entry guard, and its following calls only compare
//! the owner. The activation is valid as long as the thread is the guard's owner.

use std::cell::Cell;
use std::ops::Range;
use std::ptr;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Relaxed, Release, SeqCst};

use super::entry_guard::EntryGuard;
use super::requests::Requests;
use crate::arch::owner;
use crate::context::{NO_OWNER, VmContext, WINDOW_OFFSET, window_size};
use crate::memory::resolve_write;
use crate::sync::atomic::compiler_fence;
use crate::sys::{self, Redirect};

/// The published activation. A signal handler may read it between any two stores.
struct Current {
    activation: Cell<*const Activation>,
    /// A copy of [`Activation::code`], which can be read when `activation` dangles. If there is a guard that is owned,
    /// `activation` is valid while this thread's owner number is the guard's.
    code: [Cell<usize>; 2],
}

thread_local! {
    static CURRENT: Current = const {
        Current {
            activation: Cell::new(ptr::null()),
            code: [const { Cell::new(0) }; 2],
        }
    };
}

/// A copy of a thread's published activation, to restore it.
#[derive(Clone, Copy, Debug)]
pub struct Published {
    activation: *const Activation,
    code: [usize; 2],
    entry_guard: Option<&'static EntryGuard>,
    owner: u64,
    state: *mut VmContext,
    /// What was [`EntryGuard::is_inside`].
    was_inside: bool,
}

impl Default for Published {
    /// No activation.
    fn default() -> Published {
        let state = ptr::null_mut();
        Published {
            activation: ptr::null(),
            code: [0; 2],
            entry_guard: None,
            owner: NO_OWNER,
            state,
            was_inside: false,
        }
    }
}

impl Published {
    /// The activation that this thread has published.
    #[inline]
    fn present() -> Published {
        CURRENT.with(|current| {
            let code = [current.code[0].get(), current.code[1].get()];
            let (activation, entry_guard, (owner, state)) =
                (current.activation.get(), owned_entry_guard(), owner::get());
            Published { activation, code, entry_guard, owner, state, was_inside: false }
        })
    }

    /// Publishes it.
    #[inline]
    fn publish(self) {
        CURRENT.with(|current| {
            // A handler that runs in between finds no activation.
            current.activation.set(ptr::null());
            compiler_fence(SeqCst);
            current.code[0].set(self.code[0]);
            current.code[1].set(self.code[1]);
            owner::set(
                self.owner,
                self.state,
                self.entry_guard.map_or(ptr::null(), |entry_guard| ptr::from_ref(entry_guard).cast()),
            );
            compiler_fence(SeqCst);
            current.activation.set(self.activation);
        });
    }

    /// Whether the code of this activation still runs or waits for a host function.
    fn is_under_way(&self) -> bool {
        let is_calling =
            |entry_guard: &EntryGuard| entry_guard.owner.load(Relaxed) == self.owner && entry_guard.is_calling();
        !self.activation.is_null() && self.entry_guard.is_none_or(is_calling)
    }
}

/// The entry guard that this thread owned last; `None` if its current activation has none.
fn owned_entry_guard() -> Option<&'static EntryGuard> {
    // SAFETY: `Published::publish` alone stores it, from a `&'static EntryGuard`, or null.
    unsafe { owner::entry_guard().cast::<EntryGuard>().as_ref() }
}

/// An owner number that no thread has had before.
fn new_owner() -> u64 {
    /// Threads take owner numbers by blocks.
    const BLOCK: u64 = 1 << 32;
    static BLOCKS: AtomicU64 = AtomicU64::new(1);
    thread_local! {
        static LAST: Cell<u64> = const { Cell::new(BLOCK - 1) };
    }
    let mut owner = LAST.get() + 1;
    if owner.is_multiple_of(BLOCK) {
        owner = BLOCK * BLOCKS.fetch_add(1, Relaxed);
    }
    LAST.set(owner);
    owner
}

/// Keeps this thread the owner of a machine's guard. When it is dropped, the activation before it is published again if
/// its code still runs.
#[derive(Debug)]
pub struct Ownership {
    outer: Option<Published>,
}

impl Drop for Ownership {
    fn drop(&mut self) {
        if let Some(outer) = self.outer {
            outer.publish();
        }
    }
}

/// An entry of the fault exit table of compiled code: an access, and the cold block that continues if it faults. Both
/// addresses are distances from their own field.
#[repr(C)]
#[derive(Debug)]
pub struct FaultExit {
    access: i32,
    exit: i32,
}

// The compiler emits them as two words of 32 bits.
const _: () = assert!(size_of::<FaultExit>() == 8 && align_of::<FaultExit>() == 4);

impl FaultExit {
    fn place(field: &i32) -> usize {
        (&raw const *field as usize).wrapping_add_signed(*field as isize)
    }

    /// The block that continues if the access at `rip` faults.
    fn find(table: &[FaultExit], rip: usize) -> Option<usize> {
        table.iter().find(|entry| FaultExit::place(&entry.access) == rip).map(|entry| FaultExit::place(&entry.exit))
    }
}

/// An activation of compiled code: published between [`Activation::begin`] and [`Activation::end`], or by
/// [`Activation::own`].
#[derive(Debug)]
pub struct Activation {
    /// The addresses of the compiled code.
    pub code: Range<usize>,
    /// Its accesses that have a block of their own for faults, which finds all registers unchanged.
    pub fault_exits: &'static [FaultExit],
    /// The fault handler entry for all other faults: rax is the state's address, the other registers are unchanged,
    /// and [`crate::EngineContext::op`] is the address of the faulting host instruction.
    pub fault_entry: usize,
    /// The state of its machine.
    pub state: *mut VmContext,
    /// The host address of the fault, written by the signal handler.
    pub fault: Cell<usize>,
    /// The host addresses that no frame of compiled code may reach.
    pub stack_guard: Range<usize>,
    /// The interruption for which the code exits at its polls, or SIGURG stops it; null for code that counts fuel.
    pub interruption: *const Requests,
    /// How many of these signals the code has ignored.
    pub ignored: Cell<u32>,
    /// Where SIGURG redirects code that ignores too many signals: rax is the state's address,
    /// [`crate::EngineContext::op`] the address of the next host instruction.
    pub interrupt_entry: usize,
    /// The activation before this one.
    pub outer: Cell<Published>,
}

impl Activation {
    fn published(&self, entry_guard: Option<&'static EntryGuard>, owner: u64) -> Published {
        let (code, state) = ([self.code.start, self.code.end], self.state);
        Published { activation: self, code, entry_guard, owner, state, was_inside: false }
    }

    /// Publishes this activation on this thread until [`Activation::end`]: faults in the code are then the guest's, and the
    /// code can be interrupted. Returns whether the code may run, which it may not if it would have to exit.
    ///
    /// # Safety
    /// `self` is not moved until then, state and interruption are alive, and the code at `fault_entry` and
    /// `interrupt_entry` can continue from any instruction of the code.
    #[inline]
    pub unsafe fn begin(&self) -> bool {
        let mut outer = Published::present();
        self.published(None, NO_OWNER).publish();
        let thread = sys::current_thread();
        // SAFETY: as the caller promises.
        let interruption = unsafe { self.interruption.as_ref() };
        let may_run = interruption.is_none_or(|interruption| {
            let entry_guard = interruption.entry_guard();
            outer.was_inside = entry_guard.is_inside.load(Relaxed);
            if entry_guard.thread.load(Relaxed) != thread {
                entry_guard.disown();
                entry_guard.thread.store(thread, Relaxed);
            }
            // A thread that interrupts from here on sees `is_inside`, or `must_exit` below sees its request.
            entry_guard.is_inside.store(true, Release);
            compiler_fence(SeqCst);
            !interruption.must_exit()
        });
        self.outer.set(outer);
        may_run
    }

    /// Publishes the activation before this one again.
    ///
    /// # Safety
    /// This is the last activation that this thread has begun, and the interruption is alive.
    #[inline]
    pub unsafe fn end(&self) {
        let outer = self.outer.get();
        outer.publish();
        // SAFETY: as the caller promises.
        if let Some(interruption) = unsafe { self.interruption.as_ref() } {
            interruption.entry_guard().is_inside.store(outer.was_inside, Relaxed);
        }
    }

    /// This thread's last owner number, and the state of the machine that it belongs to. A call must test
    /// [`EntryGuard::is_owned_by`] after [`EntryGuard::enter`].
    #[inline(always)]
    pub fn owner() -> (u64, *mut VmContext) {
        owner::get()
    }

    /// Publishes this activation for calls on the fast path, which need no [`Activation::begin`] and
    /// [`Activation::end`] while this thread owns the guard and publishes nothing else. The result must live as long as
    /// the first call.
    ///
    /// # Safety
    /// As [`Activation::begin`], until [`Activation::disown`]. [`Activation::interruption`] is not null.
    pub unsafe fn own(&self) -> Ownership {
        // SAFETY: as the caller promises.
        let entry_guard = unsafe { (*self.interruption).entry_guard() };
        let outer = Published::present();
        let owner = new_owner();
        entry_guard.thread.store(sys::current_thread(), Relaxed);
        entry_guard.own(owner);
        self.published(Some(entry_guard), owner).publish();
        Ownership { outer: outer.is_under_way().then_some(outer) }
    }

    /// Invalidates the activation that [`Activation::own`] has published, on whichever thread.
    pub fn disown(entry_guard: &EntryGuard) {
        entry_guard.disown();
    }

    /// This thread has published nothing: threads of all models are one thread of the host.
    #[cfg(all(loom, test))]
    pub(crate) fn forget() {
        Published::default().publish();
    }

    /// The current activation, if `rip` is in its code.
    fn at<'a>(rip: usize) -> Option<&'a Activation> {
        CURRENT.with(|current| {
            let activation = current.activation.get();
            if activation.is_null() || !(current.code[0].get()..current.code[1].get()).contains(&rip) {
                return None;
            }
            if owned_entry_guard().is_some_and(|entry_guard| entry_guard.owner.load(SeqCst) != owner::get().0) {
                return None;
            }
            // SAFETY: the handler runs on the thread that has published `activation`, between `begin` and `end`, whose
            // caller keeps it in place. An activation that owns a guard is kept by its `Execution` until `disown`, after
            // which the test above fails.
            Some(unsafe { &*activation })
        })
    }

    /// Where SIGURG redirects this thread, if an interruption is pending: nowhere, unless its code does not exit though it has
    /// been asked to often enough.
    pub(super) fn interrupt(rip: usize) -> Option<Redirect> {
        let activation = Activation::at(rip)?;
        // SAFETY: as in `at`; state and interruption are as alive.
        let interruption = unsafe { activation.interruption.as_ref()? };
        if !interruption.must_exit() {
            return None;
        }
        let ignored = activation.ignored.get() + 1;
        activation.ignored.set(ignored);
        if ignored <= PATIENCE {
            return None;
        }
        // SAFETY: as in `redirect`.
        unsafe { (*activation.state).exit.op = rip as u64 };
        Some(Redirect { pc: activation.interrupt_entry, state: Some(activation.state as usize) })
    }

    /// Where a fault redirects this thread; `None` if the fault is not that of compiled code.
    pub(super) fn redirect(rip: usize, address: usize) -> Option<Redirect> {
        let activation = Activation::at(rip)?;
        let window = (activation.state as usize).wrapping_add(WINDOW_OFFSET);
        // SAFETY: the caller of `begin` or `own` keeps the state alive.
        let size = unsafe { window_size(activation.state) };
        // Folded immediates reach into the guards on either side of the window.
        let guest = address.wrapping_sub(window).wrapping_add(REACH) < size + 2 * REACH;
        if !guest && !activation.stack_guard.contains(&address) {
            return None;
        }
        // SAFETY: the caller of `begin` or `own` keeps the state alive, and its code waits at the access.
        if guest && unsafe { resolve_write(activation.state, address) } {
            return Some(Redirect { pc: rip, state: None });
        }
        if let Some(exit) = FaultExit::find(activation.fault_exits, rip) {
            return Some(Redirect { pc: exit, state: None });
        }
        activation.fault.set(address);
        // SAFETY: the caller of `begin` or `own` keeps the state alive, and the only thread that uses it is this one,
        // suspended in the code that has faulted.
        unsafe { (*activation.state).exit.op = rip as u64 };
        Some(Redirect { pc: activation.fault_entry, state: Some(activation.state as usize) })
    }
}

/// Signals after which compiled code is stopped where it is, without its registers. Between two polls are some ten thousand
/// instructions at most, so no code waits for so many unless something keeps the rules of polls from holding.
const PATIENCE: u32 = 100;

/// Bytes by which an address with its immediate may be outside the window: less than a guard.
const REACH: usize = 32 << 10;
