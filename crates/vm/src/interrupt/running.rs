//! The current activation of a thread: which range of compiled code it executes, and on which machine.
//!
//! Signal handlers read it to decide whether a fault or an interruption is the guest's. No register of compiled code is
//! certain to hold the [`VmContext`], and there may be any number of artifacts, so the thread publishes both in thread-local
//! storage before it enters compiled code.
//!
//! Publishing takes longer than a short call. So a call on the fast path leaves its activation published
//! ([`Running::claim`]): the thread becomes the owner of the machine's entry guard, and its following calls only compare
//! the owner. The activation is valid as long as the thread is the guard's owner.

use std::cell::Cell;
use std::ops::Range;
use std::ptr;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Relaxed, Release, SeqCst};

use super::gate::Gate;
use super::requests::Requests;
use crate::arch::claimed;
use crate::context::{NO_CLAIM, VmContext, WINDOW_OFFSET};
use crate::memory::{WINDOW_SIZE, resolve_write};
use crate::sync::atomic::compiler_fence;
use crate::sys::{self, Redirect};

/// The published activation. A signal handler may read it between any two stores.
struct Board {
    running: Cell<*const Running>,
    /// A copy of [`Running::code`], which can be read when `running` dangles. If there is a [`claimed`] guard, `running`
    /// is valid while this thread's claim is the guard's owner.
    code: [Cell<usize>; 2],
}

thread_local! {
    static BOARD: Board = const {
        Board {
            running: Cell::new(ptr::null()),
            code: [const { Cell::new(0) }; 2],
        }
    };
}

/// A copy of a thread's published activation, to restore it.
#[derive(Clone, Copy, Debug)]
pub struct Said {
    running: *const Running,
    code: [usize; 2],
    gate: Option<&'static Gate>,
    claim: u64,
    state: *mut VmContext,
    /// What was [`Gate::is_inside`].
    was_inside: bool,
}

impl Default for Said {
    /// No activation.
    fn default() -> Said {
        let state = ptr::null_mut();
        Said { running: ptr::null(), code: [0; 2], gate: None, claim: NO_CLAIM, state, was_inside: false }
    }
}

impl Said {
    /// The activation that this thread has published.
    #[inline]
    fn present() -> Said {
        BOARD.with(|board| {
            let code = [board.code[0].get(), board.code[1].get()];
            let (running, gate, (claim, state)) = (board.running.get(), claimed_gate(), claimed::get());
            Said { running, code, gate, claim, state, was_inside: false }
        })
    }

    /// Publishes it.
    #[inline]
    fn say(self) {
        BOARD.with(|board| {
            // A handler that runs in between finds no activation.
            board.running.set(ptr::null());
            compiler_fence(SeqCst);
            board.code[0].set(self.code[0]);
            board.code[1].set(self.code[1]);
            claimed::set(self.claim, self.state, self.gate.map_or(ptr::null(), |gate| ptr::from_ref(gate).cast()));
            compiler_fence(SeqCst);
            board.running.set(self.running);
        });
    }

    /// Whether the code of this activation still runs or waits for a host function.
    fn is_under_way(&self) -> bool {
        let is_calling = |gate: &Gate| gate.owner.load(Relaxed) == self.claim && gate.is_calling();
        !self.running.is_null() && self.gate.is_none_or(is_calling)
    }
}

/// The entry guard of the thread's last claim; `None` if its current activation has none.
fn claimed_gate() -> Option<&'static Gate> {
    // SAFETY: `Said::say` alone stores it, from a `&'static Gate`, or null.
    unsafe { claimed::gate().cast::<Gate>().as_ref() }
}

/// A claim that no thread has had before.
fn new_claim() -> u64 {
    /// Threads take claims by blocks.
    const BLOCK: u64 = 1 << 32;
    static BLOCKS: AtomicU64 = AtomicU64::new(1);
    thread_local! {
        static LAST: Cell<u64> = const { Cell::new(BLOCK - 1) };
    }
    let mut claim = LAST.get() + 1;
    if claim.is_multiple_of(BLOCK) {
        claim = BLOCK * BLOCKS.fetch_add(1, Relaxed);
    }
    LAST.set(claim);
    claim
}

/// Keeps this thread the owner of a machine's guard. When it is dropped, the activation before it is published again if
/// its code still runs.
#[derive(Debug)]
pub struct Claim {
    outer: Option<Said>,
}

impl Drop for Claim {
    fn drop(&mut self) {
        if let Some(outer) = self.outer {
            outer.say();
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

/// An activation of compiled code: published between [`Running::begin`] and [`Running::end`], or by [`Running::claim`].
#[derive(Debug)]
pub struct Running {
    /// The addresses of the compiled code.
    pub code: Range<usize>,
    /// Its accesses that have a block of their own for faults, which finds all registers unchanged.
    pub fault_exits: &'static [FaultExit],
    /// The fault handler entry for all other faults: rax is the state's address, the other registers are unchanged,
    /// and [`crate::EngineContext::op`] is the address of the faulting host instruction.
    pub landing: usize,
    /// The state of its machine.
    pub state: *mut VmContext,
    /// The host address of the fault, written by the signal handler.
    pub fault: Cell<usize>,
    /// The host addresses that no frame of compiled code may reach.
    pub stack_guard: Range<usize>,
    /// The interruption on which SIGURG makes the code exit at its next poll; null for code that tests for it by counting
    /// fuel.
    pub interruption: *const Requests,
    /// How many of these signals the code has ignored.
    pub ignored: Cell<u32>,
    /// Where SIGURG redirects code that ignores too many signals: rax is the state's address,
    /// [`crate::EngineContext::op`] the address of the next host instruction.
    pub interrupt_landing: usize,
    /// The activation before this one.
    pub outer: Cell<Said>,
}

impl Running {
    fn said(&self, gate: Option<&'static Gate>, claim: u64) -> Said {
        let (code, state) = ([self.code.start, self.code.end], self.state);
        Said { running: self, code, gate, claim, state, was_inside: false }
    }

    /// Publishes this activation on this thread until [`Running::end`]: faults in the code are then the guest's, and the
    /// code can be interrupted. Returns whether the code may run, which it may not if it would have to exit.
    ///
    /// # Safety
    /// `self` is not moved until then, state and interruption are alive, and the code at `landing` and
    /// `interrupt_landing` can continue from any instruction of the code.
    #[inline]
    pub unsafe fn begin(&self) -> bool {
        let mut outer = Said::present();
        self.said(None, NO_CLAIM).say();
        let thread = sys::current_thread();
        // SAFETY: as the caller promises.
        let interruption = unsafe { self.interruption.as_ref() };
        let may_run = interruption.is_none_or(|interruption| {
            let gate = interruption.gate();
            outer.was_inside = gate.is_inside.load(Relaxed);
            if gate.thread.load(Relaxed) != thread {
                gate.disown();
                gate.thread.store(thread, Relaxed);
            }
            // A thread that interrupts from here on sees `is_inside`, or `must_exit` below sees its request.
            gate.is_inside.store(true, Release);
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
        outer.say();
        // SAFETY: as the caller promises.
        if let Some(interruption) = unsafe { self.interruption.as_ref() } {
            interruption.gate().is_inside.store(outer.was_inside, Relaxed);
        }
    }

    /// This thread's last claim, and the state of the machine that it belongs to. A call must test [`Gate::is_claimed`]
    /// after [`Gate::enter`].
    #[inline(always)]
    pub fn claimed() -> (u64, *mut VmContext) {
        claimed::get()
    }

    /// Publishes this activation for calls on the fast path, which need no [`Running::begin`] and [`Running::end`] while
    /// this thread owns the guard and publishes nothing else. The result must live as long as the first call.
    ///
    /// # Safety
    /// As [`Running::begin`], until [`Running::unclaim`]. [`Running::interruption`] is not null.
    pub unsafe fn claim(&self) -> Claim {
        // SAFETY: as the caller promises.
        let gate = unsafe { (*self.interruption).gate() };
        let outer = Said::present();
        let claim = new_claim();
        gate.thread.store(sys::current_thread(), Relaxed);
        gate.own(claim);
        self.said(Some(gate), claim).say();
        Claim { outer: outer.is_under_way().then_some(outer) }
    }

    /// Invalidates the activation that [`Running::claim`] has published, on whichever thread.
    pub fn unclaim(gate: &Gate) {
        gate.disown();
    }

    /// This thread has published nothing: threads of all models are one thread of the host.
    #[cfg(all(loom, test))]
    pub(crate) fn forget() {
        Said::default().say();
    }

    /// The current activation, if `rip` is in its code.
    fn at<'a>(rip: usize) -> Option<&'a Running> {
        BOARD.with(|board| {
            let running = board.running.get();
            if running.is_null() || !(board.code[0].get()..board.code[1].get()).contains(&rip) {
                return None;
            }
            if claimed_gate().is_some_and(|gate| gate.owner.load(SeqCst) != claimed::get().0) {
                return None;
            }
            // SAFETY: the handler runs on the thread that has published `running`, between `begin` and `end`, whose
            // caller keeps it in place. A claimed activation is kept by its `Execution` until `unclaim`, after
            // which the test above fails.
            Some(unsafe { &*running })
        })
    }

    /// Makes compiled code on this thread exit at its next poll, if an interruption is pending. Returns where SIGURG
    /// redirects the thread: nowhere, unless the code polls too rarely.
    pub(super) fn interrupt(rip: usize) -> Option<Redirect> {
        let running = Running::at(rip)?;
        // SAFETY: as in `at`; state and interruption are as alive.
        let interruption = unsafe { running.interruption.as_ref()? };
        if !interruption.must_exit() {
            return None;
        }
        let ignored = running.ignored.get() + 1;
        running.ignored.set(ignored);
        // SAFETY: as in `redirect`.
        let exit = unsafe { &mut (*running.state).exit };
        if ignored <= PATIENCE {
            (exit.poll, exit.stack_limit) = (u64::MAX, u64::MAX);
            return None;
        }
        exit.op = rip as u64;
        Some(Redirect { pc: running.interrupt_landing, state: Some(running.state as usize) })
    }

    /// Where a fault redirects this thread; `None` if the fault is not that of compiled code.
    pub(super) fn redirect(rip: usize, address: usize) -> Option<Redirect> {
        let running = Running::at(rip)?;
        let window = (running.state as usize).wrapping_add(WINDOW_OFFSET);
        // Folded immediates reach into the guards on either side of the window.
        let guest = address.wrapping_sub(window).wrapping_add(REACH) < WINDOW_SIZE + 2 * REACH;
        if !guest && !running.stack_guard.contains(&address) {
            return None;
        }
        // SAFETY: the caller of `begin` or `claim` keeps the state alive, and its code waits at the access.
        if guest && unsafe { resolve_write(running.state, address) } {
            return Some(Redirect { pc: rip, state: None });
        }
        if let Some(exit) = FaultExit::find(running.fault_exits, rip) {
            return Some(Redirect { pc: exit, state: None });
        }
        running.fault.set(address);
        // SAFETY: the caller of `begin` or `claim` keeps the state alive, and the only thread that uses it is this one,
        // suspended in the code that has faulted.
        unsafe { (*running.state).exit.op = rip as u64 };
        Some(Redirect { pc: running.landing, state: Some(running.state as usize) })
    }
}

/// Signals after which compiled code is stopped where it is, without its registers. Between two polls are some ten thousand
/// instructions at most, so no code waits for so many unless something keeps the rules of polls from holding.
const PATIENCE: u32 = 100;

/// Bytes by which an address with its immediate may be outside the window: less than a guard.
const REACH: usize = 32 << 10;
