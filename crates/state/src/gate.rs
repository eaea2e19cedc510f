//! Gates: what calls of a machine's functions look at before they go into the guest, and note there.

use std::mem::offset_of;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicPtr, AtomicU64, compiler_fence};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::leave::FRAME_GAP;

/// No call can be made without more ado.
const CLOSED: u64 = Gate::CLOSED;
/// A call is in the guest.
const CALLING: u64 = Gate::CALLING;

/// A claim that is none's: all threads may call.
const ALL: u64 = u64::MAX - 1;

/// What a gate is open for: the functions of a code, in one of the engines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub struct Opening(u64);

impl Opening {
    /// No gate is.
    pub const NONE: Opening = Opening(u64::MAX - 1);

    /// The interpreter's functions of the code with this number, which is below 2^63 - 1.
    pub fn interpreted(code: u64) -> Opening {
        Opening(code)
    }

    /// The word that a gate has which is open so.
    pub fn word(self) -> u64 {
        self.0
    }

    /// The compiled functions of the same.
    pub fn compiled(code: u64) -> Opening {
        Opening(code | 1 << 63)
    }
}

/// Gates whose machines are gone.
static FREE: Mutex<Vec<&'static Gate>> = Mutex::new(Vec::new());

/// The way into a guest, and whether it is open.
///
/// Gates are never freed, but used again: threads that have called a machine's functions look at its gate even when
/// the machine is gone ([`crate::Running::claim`]).
///
/// It is the frame, too, of calls from hosts' functions that have none on the stack. What each of these writes is one line
/// of the cache.
#[repr(C, align(64))]
#[derive(Debug, Default)]
pub struct Gate {
    /// What the thread has that may make calls at once; 0 if it is to ask first.
    claim: AtomicU64,
    /// What the thread has that claimed the gate last; 0 for none.
    pub(crate) owner: AtomicU64,
    /// The kernel's name of the thread that is in the guest, or was last.
    pub(crate) thread: AtomicI32,
    /// Whether that thread is in compiled code, and not by such a call.
    pub(crate) is_inside: AtomicBool,
    /// Whether it has to be asked if a call may begin.
    is_wanted: AtomicBool,
    /// Whose gate it is, for calls that have nothing else to know it by once they have begun.
    machine: AtomicPtr<()>,
    /// The arguments of a call that has to be made otherwise.
    arguments: [AtomicU64; 3],
    /// As in a frame on the stack: the address of what says where to go on.
    signpost: AtomicU64,
    /// What it is open for, or [`CLOSED`], or [`CALLING`].
    word: AtomicU64,
    /// As in a frame on the stack: r15 to r12, rbx and rbp.
    kept: [AtomicU64; 6],
    /// The stack pointer of whoever has made the call.
    sp: AtomicU64,
}

// Where a frame has what its gap and what has been pushed.
const _: () = assert!(
    offset_of!(Gate, signpost) == Gate::FRAME + 8
        && offset_of!(Gate, kept) == Gate::FRAME + FRAME_GAP
        && offset_of!(Gate, word) == 64
        && size_of::<Gate>() == 128
);

fn free() -> MutexGuard<'static, Vec<&'static Gate>> {
    FREE.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Gate {
    /// What [`Gate::close`] writes to its [word](Gate::WORD), and [`Gate::enter`], for calls that are not compiled by
    /// Rust.
    pub const CLOSED: u64 = 0;
    /// The same.
    pub const CALLING: u64 = u64::MAX;
    /// Where the word is that an [`Opening`] is compared with.
    pub const WORD: usize = offset_of!(Gate, word);
    /// Where the claim is that [`Gate::is_claimed`] compares.
    pub const CLAIM: usize = offset_of!(Gate, claim);
    /// Where the address is that [`Gate::lead_to`] has been told.
    pub const MACHINE: usize = offset_of!(Gate, machine);
    /// Where what is the frame begins.
    pub const FRAME: usize = offset_of!(Gate, signpost) - 8;
    /// Where r15 to r12, rbx and rbp are to be saved, in this order.
    pub const KEPT: usize = offset_of!(Gate, kept);
    /// Where the stack pointer is.
    pub const SP: usize = offset_of!(Gate, sp);
    /// Where the arguments are that [`Gate::arguments`] gives.
    pub const ARGUMENTS: usize = offset_of!(Gate, arguments);

    /// One that nobody uses.
    pub(crate) fn take() -> &'static Gate {
        free().pop().unwrap_or_else(|| Box::leak(Box::default()))
    }

    /// Makes it another machine's.
    pub(crate) fn give_back(&'static self) {
        self.word.store(CLOSED, Relaxed);
        self.disown();
        self.thread.store(0, Relaxed);
        self.want(false);
        free().push(self);
    }

    /// Says whose gate it is: the machine is at this address.
    pub fn lead_to(&self, machine: *mut ()) {
        self.machine.store(machine, Relaxed);
    }

    /// The machine's address, once it has been said.
    pub fn machine(&self) -> *mut () {
        self.machine.load(Relaxed)
    }

    /// Those of a call that was about to be made by code of the host's, and has to be made otherwise.
    pub fn arguments(&self) -> [u64; 3] {
        self.arguments.each_ref().map(|argument| argument.load(Relaxed))
    }

    /// Whether these functions can be called.
    #[inline(always)]
    pub fn is_open_for(&self, opening: Opening) -> bool {
        self.word.load(Relaxed) == opening.0
    }

    /// Whether a call is in the guest.
    #[inline(always)]
    pub fn is_calling(&self) -> bool {
        self.word.load(Relaxed) == CALLING
    }

    /// Notes that a call is in the guest. Only then it can be asked whether it may be: whoever wants it to end sees that
    /// it has begun, or is seen (the watch does so, `watch.rs`).
    #[inline(always)]
    pub fn enter(&self) {
        self.word.store(CALLING, Relaxed);
        compiler_fence(SeqCst);
    }

    /// Whether it has to be asked if a call may begin: [`crate::Interruption::is_reached`] knows.
    #[inline(always)]
    pub fn is_wanted(&self) -> bool {
        self.is_wanted.load(Relaxed)
    }

    /// Whether calls are those of whoever has this claim, and none has to ask anything.
    #[inline(always)]
    pub fn is_claimed(&self, claim: u64) -> bool {
        self.claim.load(Relaxed) == claim
    }

    /// Makes calls those of whoever has this claim. Whether they may begin is asked then.
    pub(crate) fn own(&self, claim: u64) {
        self.owner.store(claim, Relaxed);
        self.claim.store(claim, SeqCst);
    }

    /// Makes calls anybody's, of functions that run in the interpreter. Whether they may begin is asked then.
    pub fn open_to_all(&self) {
        self.claim.store(ALL, SeqCst);
    }

    /// Whether calls are anybody's, and none has to ask anything.
    #[inline(always)]
    pub fn is_open_to_all(&self) -> bool {
        self.claim.load(Relaxed) == ALL
    }

    /// Nobody's calls.
    pub(crate) fn disown(&self) {
        self.claim.store(0, SeqCst);
        self.owner.store(0, SeqCst);
    }

    /// Has the next call ask first.
    #[inline(always)]
    pub fn ask(&self) {
        self.claim.store(0, Relaxed);
    }

    /// Notes that the call is over, and opens the gate for these functions.
    #[inline(always)]
    pub fn leave(&self, opening: Opening) {
        self.word.store(opening.0, Relaxed);
    }

    /// Notes that the call is over, or that nothing is known of the next one.
    #[inline(always)]
    pub fn close(&self) {
        self.word.store(CLOSED, Relaxed);
    }

    /// Says whether it has to be asked.
    pub(crate) fn want(&self, is_wanted: bool) {
        self.is_wanted.store(is_wanted, SeqCst);
        if is_wanted {
            self.claim.store(0, SeqCst);
        }
    }

    /// The kernel's name of the thread that is in compiled code; 0 for none.
    pub(crate) fn thread_inside(&self) -> i32 {
        match self.is_calling() || self.is_inside.load(Relaxed) {
            true => self.thread.load(Relaxed),
            false => 0,
        }
    }
}
