//! A pre-decoded operation: 16 bytes, read by handlers, written by the decoder.

use std::cell::UnsafeCell;
use std::mem::offset_of;
use std::sync::atomic::{AtomicUsize, Ordering};

use riverrun_state::State;

use crate::arguments::ARGUMENTS;

/// What a handler returns: nothing where it goes on by a tail call, else where to go on.
#[cfg(not(trampoline))]
pub(crate) type Next = ();

/// What a handler returns: where to go on; null to leave.
#[cfg(trampoline)]
#[repr(C)]
pub(crate) struct Next {
    pub(crate) op: *const Cell,
    pub(crate) returns: u64,
    pub(crate) fuel: i64,
    pub(crate) near: *const Cell,
}

/// An argument that only [`crate::handlers::landing_place`] reads. With all others it keeps a
/// register free for those that need rdx (multiplication, division), which else would spill.
pub(crate) type Extra = std::mem::MaybeUninit<u64>;

/// A handler executes the operation at its cell (and further ones fused with it) and goes on with
/// the next. Its arguments are
///
/// - the cell,
/// - the state,
/// - mostly nothing,
/// - the offset of the next free entry in the ring of expected returns,
/// - the fuel: what remains plus the ordinal of the cell. Ordinals count up to 0 at the end of a
///   run, so that a negative sum says that the run could not be finished,
/// - the last target of a jump backward.
pub(crate) type Handler = unsafe extern "sysv64" fn(*const Cell, *mut State, Extra, u64, i64, *const Cell) -> Next;

/// One operation.
///
/// `rd` and `rs3` of a branch or jump hold the difference in ordinals that it makes; `imm` is
/// then the distance of the target cell from the first cell in bytes.
///
/// Other threads may execute a cell while it is linked. Its present handler reads nothing but the
/// registers then; difference and distance are written once, before the handler that reads them.
#[repr(C, align(16))]
#[derive(Debug)]
pub(crate) struct Cell {
    handler: AtomicUsize,
    pub(crate) rs1: u8,
    pub(crate) rs2: u8,
    tail: UnsafeCell<i16>,
    imm: UnsafeCell<i32>,
}

// SAFETY: `link` is the one write through a shared reference; its caller keeps the protocol above.
unsafe impl Sync for Cell {}

const _: () = assert!(size_of::<Cell>() == 16);
const _: () = assert!(offset_of!(Cell, rs1) == 8 && offset_of!(Cell, tail) == 10 && offset_of!(Cell, imm) == 12);

impl Cell {
    /// Where the second source is.
    #[cfg(by_hand)]
    pub(crate) const RS2_OFFSET: usize = offset_of!(Cell, rs2);
    /// Where a jump has its difference.
    #[cfg(by_hand)]
    pub(crate) const DIFFERENCE_OFFSET: usize = offset_of!(Cell, tail);
    /// Where the immediate is, or a jump's distance.
    #[cfg(by_hand)]
    pub(crate) const IMM_OFFSET: usize = offset_of!(Cell, imm);

    /// An operation on registers.
    pub(crate) fn new(handler: Handler, rs1: u8, rs2: u8, rd: u8, rs3: u8, imm: i32) -> Cell {
        Cell::jump(handler, rs1, rs2, i16::from_le_bytes([rd, rs3]), imm as u32)
    }

    /// A branch or jump.
    pub(crate) fn jump(handler: Handler, rs1: u8, rs2: u8, difference: i16, distance: u32) -> Cell {
        Cell {
            handler: AtomicUsize::new(handler as usize),
            rs1,
            rs2,
            tail: UnsafeCell::new(difference),
            imm: UnsafeCell::new(distance as i32),
        }
    }

    /// What is no operation: the second cell of a host call whose handler sets these arguments. They are where others have
    /// their handler and sources.
    pub(crate) fn arguments(words: [i16; ARGUMENTS], difference: i16, imm: i32) -> Cell {
        let [a0, a1, a2, a3, a4] = words.map(i16::to_le_bytes);
        let front = u64::from_le_bytes([a0[0], a0[1], a1[0], a1[1], a2[0], a2[1], a3[0], a3[1]]);
        Cell {
            handler: AtomicUsize::new(front as usize),
            rs1: a4[0],
            rs2: a4[1],
            tail: UnsafeCell::new(difference),
            imm: UnsafeCell::new(imm),
        }
    }

    #[inline(always)]
    pub(crate) fn handler(&self) -> Handler {
        let handler = self.handler.load(Ordering::Acquire);
        // SAFETY: only `jump` and `set_handler` write it, and they take a Handler; nobody goes to a second cell.
        unsafe { std::mem::transmute::<usize, Handler>(handler) }
    }

    /// Replaces the handler; everything written before is seen by whoever sees the new one.
    pub(crate) fn set_handler(&self, handler: Handler) {
        self.handler.store(handler as usize, Ordering::Release);
    }

    /// Says where a branch or jump leads, and sets the handler that goes there.
    ///
    /// # Safety
    /// The present handler reads neither difference nor distance, and no other thread links the
    /// cell at the same time.
    pub(crate) unsafe fn link(&self, difference: i16, distance: u32, handler: Handler) {
        // SAFETY: as the caller promises, nobody reads or writes these until the handler is set.
        unsafe {
            *self.tail.get() = difference;
            *self.imm.get() = distance as i32;
        }
        self.set_handler(handler);
    }

    #[inline(always)]
    fn tail(&self) -> i16 {
        // SAFETY: never written once a handler that reads it is set.
        unsafe { *self.tail.get() }
    }

    #[inline(always)]
    pub(crate) fn rd(&self) -> u8 {
        self.tail() as u8
    }

    #[inline(always)]
    pub(crate) fn rs3(&self) -> u8 {
        (self.tail() as u16 >> 8) as u8
    }

    #[inline(always)]
    pub(crate) fn difference(&self) -> i64 {
        i64::from(self.tail())
    }

    #[inline(always)]
    pub(crate) fn imm(&self) -> i32 {
        // SAFETY: never written once a handler that reads it is set.
        unsafe { *self.imm.get() }
    }
    /// Everything behind the handler.
    #[inline(always)]
    pub(crate) fn operands(&self) -> u64 {
        // SAFETY: the second half of the cell, eight bytes at an aligned address; never written
        // once a handler that reads it is set.
        unsafe { (&raw const self.rs1).cast::<u64>().read() }
    }
}
