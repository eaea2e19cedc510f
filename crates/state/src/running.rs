//! Compiled code that a thread is running, for the handlers of signals.
//!
//! In compiled code no register is sure to hold the [`State`], and there may be any number of
//! artifacts, so faults in it are recognised by what their thread has said it runs.
//!
//! Saying so takes longer than a short call. So what a thread has said for such calls stays said ([`Running::claim`]),
//! until it says something else; calls of the same machine's functions just compare.

use std::cell::Cell;
use std::ops::Range;
use std::ptr;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::sync::atomic::{AtomicU64, compiler_fence};

use crate::claimed;
use crate::gate::Gate;
use crate::interruption::Interruption;
use crate::registers::State;
use crate::signal;
use crate::window::{WINDOW_OFFSET, WINDOW_SIZE};

/// Where a thread says what it runs. Its signal handlers may look at any time.
struct Board {
    running: Cell<*const Running>,
    /// [`Running::code`]: that may be looked at when the rest is gone. For calls, which have a gate that is [`claimed`],
    /// the rest is good as long as the claim is the gate's owner.
    code: [Cell<usize>; 2],
}

/// No thread's claim, and no gate's.
pub(crate) const NO_CLAIM: u64 = u64::MAX;

thread_local! {
    static BOARD: Board = const {
        Board {
            running: Cell::new(ptr::null()),
            code: [const { Cell::new(0) }; 2],
        }
    };
}

/// What a thread has said.
#[derive(Clone, Copy, Debug)]
pub struct Said {
    running: *const Running,
    code: [usize; 2],
    gate: Option<&'static Gate>,
    claim: u64,
    state: *mut State,
    /// What was [`Gate::is_inside`].
    was_inside: bool,
}

impl Default for Said {
    /// Nothing.
    fn default() -> Said {
        let state = ptr::null_mut();
        Said { running: ptr::null(), code: [0; 2], gate: None, claim: NO_CLAIM, state, was_inside: false }
    }
}

impl Said {
    /// What this thread has said.
    #[inline]
    fn present() -> Said {
        BOARD.with(|board| {
            let code = [board.code[0].get(), board.code[1].get()];
            let (running, gate, (claim, state)) = (board.running.get(), claimed::gate(), claimed::get());
            Said { running, code, gate, claim, state, was_inside: false }
        })
    }

    /// Says it.
    #[inline]
    fn say(self) {
        BOARD.with(|board| {
            // A handler in between finds nothing.
            board.running.set(ptr::null());
            compiler_fence(SeqCst);
            board.code[0].set(self.code[0]);
            board.code[1].set(self.code[1]);
            claimed::set(self.claim, self.state, self.gate);
            compiler_fence(SeqCst);
            board.running.set(self.running);
        });
    }

    /// Whether code still runs that was said by this, or waits for a host function.
    fn is_under_way(&self) -> bool {
        let is_calling = |gate: &Gate| gate.owner.load(Relaxed) == self.claim && gate.is_calling();
        !self.running.is_null() && self.gate.is_none_or(is_calling)
    }
}

/// A claim that no thread has ever had.
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

/// That this thread is the one that makes a machine's calls. What it had said before is said again when this is
/// dropped, if code runs by that still.
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

/// What a thread runs between [`Running::begin`] and [`Running::end`], or in calls behind [`Running::claim`].
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
    /// What the thread had said before.
    pub outer: Cell<Said>,
}

impl Running {
    fn said(&self, gate: Option<&'static Gate>, claim: u64) -> Said {
        let (code, state) = ([self.code.start, self.code.end], self.state);
        Said { running: self, code, gate, claim, state, was_inside: false }
    }

    /// Makes faults in the code the guest's own, and lets it be interrupted, on this thread, until
    /// [`Running::end`]. Says whether the code may run: whether nothing has interrupted it already.
    ///
    /// # Safety
    /// `self` stays where it is until then, state and interruption are alive, and the code at the landings can go
    /// on from any fault in the code, or from anywhere in it.
    #[inline]
    pub unsafe fn begin(&self) -> bool {
        let mut outer = Said::present();
        self.said(None, NO_CLAIM).say();
        let thread = signal::current_thread();
        // SAFETY: as the caller promises.
        let interruption = unsafe { self.interruption.as_ref() };
        let may_run = interruption.is_none_or(|interruption| {
            let gate = interruption.gate();
            outer.was_inside = gate.is_inside.load(Relaxed);
            if gate.thread.load(Relaxed) != thread {
                gate.disown();
                gate.thread.store(thread, Relaxed);
            }
            // Whoever interrupts from here on sees the thread, or is seen.
            gate.is_inside.store(true, Relaxed);
            compiler_fence(SeqCst);
            !interruption.is_reached()
        });
        self.outer.set(outer);
        may_run
    }

    /// The thread runs what it ran before.
    ///
    /// # Safety
    /// It is the last that this thread has begun, and the interruption is alive.
    #[inline]
    pub unsafe fn end(&self) {
        let outer = self.outer.get();
        outer.say();
        // SAFETY: as the caller promises.
        if let Some(interruption) = unsafe { self.interruption.as_ref() } {
            interruption.gate().is_inside.store(outer.was_inside, Relaxed);
        }
    }

    /// What this thread has claimed last, and the state that calls behind that gate work on. They have to ask for
    /// [`Gate::is_claimed`] once they have entered the gate.
    #[inline(always)]
    pub fn claimed() -> (u64, *mut State) {
        claimed::get()
    }

    /// As [`Running::begin`], for calls behind the gate: while it has this claim, and the thread says nothing else,
    /// they need not begin and end. The result ends the first call.
    ///
    /// # Safety
    /// As there, until [`Running::unclaim`]; there is an [`Running::interruption`], and the gate is its.
    pub unsafe fn claim(&self) -> Claim {
        // SAFETY: as the caller promises.
        let gate = unsafe { (*self.interruption).gate() };
        let outer = Said::present();
        let claim = new_claim();
        gate.thread.store(signal::current_thread(), Relaxed);
        gate.own(claim);
        self.said(Some(gate), claim).say();
        Claim { outer: outer.is_under_way().then_some(outer) }
    }

    /// Ends what [`Running::claim`] has begun, on any thread.
    pub fn unclaim(gate: &Gate) {
        gate.disown();
    }

    /// Installs the process's handlers, if they are not there yet.
    pub fn install_handlers() {
        signal::install_handlers();
        signal::install_interrupt_handler();
    }

    /// What this thread runs, if it is in its code.
    fn at<'a>(rip: usize) -> Option<&'a Running> {
        BOARD.with(|board| {
            let running = board.running.get();
            if running.is_null() || !(board.code[0].get()..board.code[1].get()).contains(&rip) {
                return None;
            }
            if claimed::gate().is_some_and(|gate| gate.owner.load(SeqCst) != claimed::get().0) {
                return None;
            }
            // SAFETY: what the thread has begun stays where it is until it ends; the handler runs on the same
            // thread, in between. What it has claimed is there as well: the artifact of a claim that holds is loaded,
            // and whoever executes it on this thread is in a call behind that gate.
            Some(unsafe { &*running })
        })
    }

    /// Where the handler of interruptions sends compiled code; `None` if this thread is not in such code or
    /// is to go on.
    pub(crate) fn interrupt(rip: usize) -> Option<Landing> {
        let running = Running::at(rip)?;
        // SAFETY: as in `at`; state and interruption are as alive.
        let interruption = unsafe { running.interruption.as_ref()? };
        if !interruption.is_reached() {
            return None;
        }
        // SAFETY: as in `redirect`.
        unsafe { (*running.state).exit.op = rip as u64 };
        Some(Landing { rip: running.interrupt_landing, rax: Some(running.state as usize) })
    }

    /// Where the fault handler sends compiled code; `None` if the fault is not its.
    pub(crate) fn redirect(rip: usize, address: usize) -> Option<Landing> {
        let running = Running::at(rip)?;
        let window = (running.state as usize).wrapping_add(WINDOW_OFFSET);
        // Folded immediates reach into the guards on either side of the window.
        let guest = address.wrapping_sub(window).wrapping_add(REACH) < WINDOW_SIZE + 2 * REACH;
        if !guest && !running.stack_guard.contains(&address) {
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
