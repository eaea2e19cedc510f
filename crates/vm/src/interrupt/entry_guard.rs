//! The entry guard of a machine: one word that tells a call of a guest function whether it may take the fast path.
//!
//! The first call of a function prepares the machine and writes an entry token to the guard; a following call compares
//! the guard with its own token. Any code that invalidates the preparations must close the guard. The guard also says
//! whether a call is in the guest and on which thread, which the watchdog reads to interrupt compiled code. Its keepers
//! are `call/fast_path.rs` and `raw/inline_x86_64.rs` in the crate `riverrun`.

use std::mem::offset_of;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::arch::FRAME_GAP;
use crate::sync::LoadLate;
use crate::sync::atomic::Ordering::{Relaxed, Release, SeqCst};
use crate::sync::atomic::{AtomicBool, AtomicI32, AtomicPtr, AtomicU64, compiler_fence};

/// The fast path may not be taken.
const CLOSED: u64 = EntryGuard::CLOSED;
/// A call is in the guest.
const CALLING: u64 = EntryGuard::CALLING;

/// The owner of a guard that every thread may use.
const ALL: u64 = EntryGuard::ALL;

/// The entry token: for which program's code, and for which engine, a guard is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub struct EntryToken(u64);

impl EntryToken {
    /// The token that no guard has.
    pub const NONE: EntryToken = EntryToken(u64::MAX - 1);

    /// The token for interpreted functions of the code with this number, which is below 2^63 - 1.
    pub fn interpreted(code: u64) -> EntryToken {
        EntryToken(code)
    }

    /// The word of a guard that is open for this.
    pub fn word(self) -> u64 {
        self.0
    }

    /// The token for compiled functions of the code with this number.
    pub fn compiled(code: u64) -> EntryToken {
        EntryToken(code | 1 << 63)
    }
}

/// Guards of machines that have been dropped.
static FREE: Mutex<Vec<&'static EntryGuard>> = Mutex::new(Vec::new());

/// A machine's entry guard.
///
/// Guards are reused, never freed: a thread that has called a machine may read its guard after the machine has been
/// dropped ([`crate::Activation::own`]).
///
/// The second half is also the frame of calls from C, which have no frame on the stack. Each such call writes one cache
/// line.
#[repr(C, align(64))]
#[derive(Debug, Default)]
pub struct EntryGuard {
    /// The owner whose calls need not ask [`EntryGuard::is_wanted`]; 0 if every call must ask.
    fast_owner: AtomicU64,
    /// The number of the last owner; 0 for none.
    pub(crate) owner: AtomicU64,
    /// The kernel's ID of the thread that is in the guest, or was last.
    pub(crate) thread: AtomicI32,
    /// Whether that thread is in compiled code entered by the dispatcher, not by a call on the fast path.
    pub(crate) is_inside: AtomicBool,
    /// Whether a call must ask [`crate::Requests::is_reached`] before it begins.
    is_wanted: AtomicBool,
    /// The machine of this guard, by which calls from C find it after they have begun.
    machine: AtomicPtr<()>,
    /// Keeps the frame at its place.
    _gap: [AtomicU64; 2],
    /// The error of a call from C that was made or finished on the general path.
    error: AtomicPtr<()>,
    /// As in a frame on the stack: the address of the unwind marker.
    marker: AtomicU64,
    /// The entry token that it is open for, [`CLOSED`], or [`CALLING`].
    word: AtomicU64,
    /// As in a frame on the stack: the caller's r15 to r12, rbx and rbp.
    kept: [AtomicU64; 6],
    /// The caller's stack pointer.
    sp: AtomicU64,
}

// The layout of a frame on the stack: gap, then pushed registers.
const _: () = assert!(
    cfg!(loom)
        || offset_of!(EntryGuard, marker) == EntryGuard::FRAME + 8
            && offset_of!(EntryGuard, kept) == EntryGuard::FRAME + FRAME_GAP
            && offset_of!(EntryGuard, word) == 64
            && size_of::<EntryGuard>() == 128
);

fn free() -> MutexGuard<'static, Vec<&'static EntryGuard>> {
    FREE.lock().unwrap_or_else(PoisonError::into_inner)
}

impl EntryGuard {
    /// The [word](EntryGuard::WORD) of a closed guard, for call code in assembly and C.
    pub const CLOSED: u64 = 0;
    /// The word while a call is in the guest, for the same.
    pub const CALLING: u64 = u64::MAX;
    /// The owner of a guard that every thread may use, for the same.
    pub const ALL: u64 = u64::MAX - 1;
    /// Offset of the word that callers compare with an [`EntryToken`].
    pub const WORD: usize = offset_of!(EntryGuard, word);
    /// Offset of the owner that [`EntryGuard::is_owned_by`] compares.
    pub const FAST_OWNER: usize = offset_of!(EntryGuard, fast_owner);
    /// Offset of the machine's address, which [`EntryGuard::lead_to`] sets.
    pub const MACHINE: usize = offset_of!(EntryGuard, machine);
    /// Offset of the frame.
    pub const FRAME: usize = offset_of!(EntryGuard, marker) - 8;
    /// Offset of the saved registers: r15 to r12, rbx and rbp, in this order.
    pub const KEPT: usize = offset_of!(EntryGuard, kept);
    /// Offset of the saved stack pointer.
    pub const SP: usize = offset_of!(EntryGuard, sp);
    /// Offset of the error that [`EntryGuard::set_error`] sets.
    pub const ERROR: usize = offset_of!(EntryGuard, error);

    /// A guard that no machine uses, closed and without an owner.
    pub(crate) fn acquire() -> &'static EntryGuard {
        free().pop().unwrap_or_else(|| Box::leak(Box::default()))
    }

    /// Releases the guard of a dropped machine, so that another machine can acquire it.
    pub(crate) fn release(&'static self) {
        self.word.store(CLOSED, Relaxed);
        self.disown();
        self.thread.store(0, Relaxed);
        self.want(false);
        // Loom makes all anew each time.
        if !cfg!(loom) {
            free().push(self);
        }
    }

    /// Sets the address of the guard's machine.
    pub fn lead_to(&self, machine: *mut ()) {
        self.machine.store(machine, Relaxed);
    }

    /// The address that [`EntryGuard::lead_to`] has set.
    pub fn machine(&self) -> *mut () {
        self.machine.load(Relaxed)
    }

    /// Sets the error of a call from C that has ended on the general path; null if it has none.
    pub fn set_error(&self, error: *mut ()) {
        self.error.store(error, Relaxed);
    }

    /// Whether functions with this token may be called on the fast path.
    #[inline(always)]
    pub fn is_open_for(&self, entry_token: EntryToken) -> bool {
        self.word.load(Relaxed) == entry_token.0
    }

    /// Whether no call may take the fast path.
    pub fn is_closed(&self) -> bool {
        self.word.load(Relaxed) == CLOSED
    }

    /// Whether a call is in the guest.
    #[inline(always)]
    pub fn is_calling(&self) -> bool {
        self.word.load(Relaxed) == CALLING
    }

    /// Says that a call is in the guest. The caller must test for interruptions afterwards, not before: a thread that
    /// interrupts either sees that the call has begun, or its request is seen by that test (`watchdog.rs`).
    #[inline(always)]
    pub fn enter(&self) {
        self.word.store(CALLING, Release);
        compiler_fence(SeqCst);
    }

    /// Whether a call must ask [`crate::Requests::is_reached`] before it begins.
    #[inline(always)]
    pub fn is_wanted(&self) -> bool {
        self.is_wanted.load(Relaxed)
    }

    /// Whether the thread with this owner number owns the guard and its calls need ask nothing.
    #[inline(always)]
    pub fn is_owned_by(&self, owner: u64) -> bool {
        self.fast_owner.load(Relaxed) == owner
    }

    /// Makes the thread with this owner number the owner. The caller tests for interruptions afterwards.
    pub(crate) fn own(&self, owner: u64) {
        self.owner.store(owner, Relaxed);
        self.fast_owner.store(owner, SeqCst);
    }

    /// Lets every thread call functions that run in the interpreter. The caller tests for interruptions afterwards.
    pub fn open_to_all(&self) {
        self.fast_owner.store(ALL, SeqCst);
    }

    /// Whether every thread may call and need ask nothing.
    #[inline(always)]
    pub fn is_open_to_all(&self) -> bool {
        self.fast_owner.load(Relaxed) == ALL
    }

    /// Takes the guard from its owner.
    pub(crate) fn disown(&self) {
        self.fast_owner.store(0, SeqCst);
        self.owner.store(0, SeqCst);
    }

    /// Makes the next call test for interruptions first.
    #[inline(always)]
    pub fn ask(&self) {
        self.fast_owner.store(0, Relaxed);
    }

    /// Says that the call has ended, and opens the guard for these functions.
    #[inline(always)]
    pub fn reopen(&self, entry_token: EntryToken) {
        self.word.store(entry_token.0, Relaxed);
    }

    /// Closes the guard: the call has ended, or its preparations are invalid.
    #[inline(always)]
    pub fn close(&self) {
        self.word.store(CLOSED, Relaxed);
    }

    /// Sets whether calls must test for interruptions first.
    pub(crate) fn want(&self, is_wanted: bool) {
        self.is_wanted.store(is_wanted, SeqCst);
        if is_wanted {
            self.fast_owner.store(0, SeqCst);
        }
    }

    /// The kernel's ID of the thread that is in compiled code; 0 for none.
    pub(crate) fn thread_inside(&self) -> i32 {
        match self.word.load_late() == CALLING || self.is_inside.load_late() {
            true => self.thread.load(Relaxed),
            false => 0,
        }
    }

    /// So much time has passed that no store of others is kept back any more.
    #[cfg(loom)]
    pub(crate) fn drain(&self) {
        self.word.drain();
        self.is_inside.drain();
    }
}
