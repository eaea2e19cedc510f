//! A decoded op: 16 bytes, written by the decoder, read by handlers.
//!
//! All threads that run a program share its decoded ops. An op is written before it is published and changes once at most,
//! when a branch or jump is linked: operands first, then the handler that reads them.

use std::cell::UnsafeCell;
use std::mem::offset_of;
use std::sync::atomic::{AtomicUsize, Ordering};

use riverrun_vm::VmContext;

use crate::arguments::ARGUMENTS;

/// The result of a handler: none, as it tail-calls the next one.
#[cfg(not(trampoline))]
pub(crate) type Next = ();

/// The result of a handler, with a trampoline: the next op, or null to exit.
#[cfg(trampoline)]
#[repr(C)]
pub(crate) struct Next {
    pub(crate) op: *const DecodedOp,
    pub(crate) returns: u64,
    pub(crate) fuel: i64,
    pub(crate) near: *const DecodedOp,
}

/// An argument that only [`crate::handlers::cached_jump`] reads. To all other handlers it is a free register, rdx, which
/// multiplications and divisions need and would otherwise have to spill.
pub(crate) type Extra = std::mem::MaybeUninit<u64>;

/// A handler executes its decoded op (and further ones, if it is a superinstruction) and tail-calls the next handler. Its
/// arguments are
///
/// - the decoded op,
/// - the state,
/// - an unused register,
/// - the offset of the next free entry in the return ring,
/// - the remaining fuel plus the op's ordinal. Ordinals count up to 0 at the end of a decoded block, so a negative sum says
///   that the fuel does not reach the end of the block,
/// - the last target of a backward jump.
pub(crate) type Handler =
    unsafe extern "sysv64" fn(*const DecodedOp, *mut VmContext, Extra, u64, i64, *const DecodedOp) -> Next;

/// A decoded op.
///
/// In a branch or jump, `rd` and `rs3` hold the difference of ordinals between it and its target, and `imm` the distance of
/// the target op from the first op in bytes.
///
/// Other threads may execute an op while it is linked. Until then its handler reads `rs1` and `rs2` alone; difference and
/// distance are written once, before the handler that reads them.
#[repr(C, align(16))]
#[derive(Debug)]
pub(crate) struct DecodedOp {
    handler: AtomicUsize,
    pub(crate) rs1: u8,
    pub(crate) rs2: u8,
    tail: UnsafeCell<i16>,
    imm: UnsafeCell<i32>,
}

// SAFETY: `link` is the one write through a shared reference; its caller keeps the protocol above.
unsafe impl Sync for DecodedOp {}

const _: () = assert!(size_of::<DecodedOp>() == 16);
const _: () =
    assert!(offset_of!(DecodedOp, rs1) == 8 && offset_of!(DecodedOp, tail) == 10 && offset_of!(DecodedOp, imm) == 12);

impl DecodedOp {
    /// Offset of the second source.
    #[cfg(by_hand)]
    pub(crate) const RS2_OFFSET: usize = offset_of!(DecodedOp, rs2);
    /// Offset of a jump's difference of ordinals.
    #[cfg(by_hand)]
    pub(crate) const DIFFERENCE_OFFSET: usize = offset_of!(DecodedOp, tail);
    /// Offset of the immediate, or of a jump's distance.
    #[cfg(by_hand)]
    pub(crate) const IMM_OFFSET: usize = offset_of!(DecodedOp, imm);

    /// An operation on registers.
    pub(crate) fn new(handler: Handler, rs1: u8, rs2: u8, rd: u8, rs3: u8, imm: i32) -> DecodedOp {
        DecodedOp::jump(handler, rs1, rs2, i16::from_le_bytes([rd, rs3]), imm as u32)
    }

    /// A branch or jump.
    pub(crate) fn jump(handler: Handler, rs1: u8, rs2: u8, difference: i16, distance: u32) -> DecodedOp {
        DecodedOp {
            handler: AtomicUsize::new(handler as usize),
            rs1,
            rs2,
            tail: UnsafeCell::new(difference),
            imm: UnsafeCell::new(distance as i32),
        }
    }

    /// The second op of a host call, which is never executed: it holds the arguments that the call's handler sets, in the
    /// place of handler and sources.
    pub(crate) fn arguments(words: [i16; ARGUMENTS], difference: i16, imm: i32) -> DecodedOp {
        let [a0, a1, a2, a3, a4] = words.map(i16::to_le_bytes);
        let front = u64::from_le_bytes([a0[0], a0[1], a1[0], a1[1], a2[0], a2[1], a3[0], a3[1]]);
        DecodedOp {
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
        // SAFETY: only `jump` and `set_handler` write it, and they take a Handler. Second ops are never reached as ops.
        unsafe { std::mem::transmute::<usize, Handler>(handler) }
    }

    /// Replaces the handler with release order: a thread that sees the new handler sees all writes before.
    pub(crate) fn set_handler(&self, handler: Handler) {
        self.handler.store(handler as usize, Ordering::Release);
    }

    /// Links a branch or jump: writes difference and distance, then the handler that reads them.
    ///
    /// # Safety
    /// The present handler reads neither difference nor distance, and no other thread links the op at the same time.
    pub(crate) unsafe fn link(&self, difference: i16, distance: u32, handler: Handler) {
        // SAFETY: the caller ensures that no thread reads or writes these before the handler is set.
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
    /// All fields but the handler.
    #[inline(always)]
    pub(crate) fn operands(&self) -> u64 {
        // SAFETY: the second half of the op, eight bytes at an aligned address; never written
        // once a handler that reads it is set.
        unsafe { (&raw const self.rs1).cast::<u64>().read() }
    }
}
