//! The context of a running engine: the hart, and the fields beside it in which engines keep their own data.
//!
//! Compiled code and handlers in assembly address all of it by field offsets, so the layout is part of the ABI of
//! compiled code.

use std::mem::offset_of;

use crate::hart::Hart;

/// What engines work on: the hart, and what they note beside it. It lies at a fixed distance below the guest's memory,
/// and engines address it by the offsets of its fields.
#[repr(C)]
#[derive(Debug)]
pub struct VmContext {
    /// The architectural state. It comes first, so that an operand's register is at a small offset.
    pub hart: Hart,
    /// The engine's own data: where and why it stopped.
    pub exit: EngineContext,
    /// [`Hart::slots`] of the guest's own run, while calls of its functions use the hart's. The host alone has use for
    /// them; they lie here because this page is in memory anyway.
    pub own_slots: [u64; 65],
}

/// An engine's own data, and where and why it stopped. It is beside the registers because compiled code and the fault
/// handler write it; no other code has use for it.
#[repr(C)]
#[derive(Clone, Debug)]
pub struct EngineContext {
    /// The host's stack pointer at the entry into guest code, or the address of the [frame](crate::EntryGuard::FRAME)
    /// in the entry guard for calls that have no frame on the stack.
    pub host_sp: u64,
    /// The engine's position: a decoded op, or the host address of the instruction that faulted.
    pub op: u64,
    /// The engine's fuel count.
    pub fuel: i64,
    /// Why the engine stopped; each engine has its own numbers, those below 16.
    pub reason: u64,
    /// The target of the jump that ended the interpreter; for compiled code, the pc at which suspended frames resume.
    pub target: u64,
    /// The exit stub: compiled code calls it with the registers of its convention.
    pub exit_stub: u64,
    /// The exit stub for a function's beginning. Its return address says which function exits.
    pub exit_at_start_stub: u64,
    /// [`crate::exit_engine`], which host-ABI entry points call with the state to drop all frames.
    pub quit: u64,
    /// The first address above the stack of compiled code.
    pub stack_top: u64,
    /// The stack pointer of suspended compiled code.
    pub compiled_sp: u64,
    /// The interpreter's position in the return ring at [`RETURNS_OFFSET`].
    pub returns: u64,
    /// The addresses of the interpreter's tables.
    pub tables: [u64; 4],
    /// Memory for reading the float environment without a local variable ([`crate::FloatEnv::drain`]).
    pub float_env: u32,
    /// The address of the machine's table of imports, an array of [`crate::Bound`].
    pub imports: u64,
    /// Bytes of that table.
    pub imports_size: u64,
    /// Instructions executed plus [`EngineContext::fuel`]. Set while a host function that an engine has called runs, and
    /// between calls on the fast path of an interpreted function; 0 if `instret` is up to date.
    pub count_base: u64,
    /// The engine's `&mut` [`crate::Window`] as a pointer: while a host function runs, it is the only reference to the
    /// window, and host functions borrow the window from it.
    pub window: u64,
}

/// From a [`VmContext`] to the return ring, in which the interpreter stores where calls return to.
pub const RETURNS_OFFSET: usize = 32 << 10;
/// Bytes of that ring.
pub const RETURNS_SIZE: usize = 4 << 10;
/// From a [`VmContext`] to the indirect-jump cache, in which the interpreter stores where indirect jumps lead.
pub const JUMP_CACHE_OFFSET: usize = RETURNS_OFFSET + RETURNS_SIZE;
/// Bytes of that table.
pub const JUMP_CACHE_SIZE: usize = 4 << 10;
/// From a [`VmContext`] to the address of the window's tracker of written pages, out of reach of safe code.
pub(crate) const TRACKER_OFFSET: usize = 2 << 10;
const _: () = assert!(TRACKER_OFFSET >= size_of::<VmContext>());
/// From a [`VmContext`] to the mask of the window's guest addresses, a `u64` out of reach of safe code, which the
/// window writes when it is made: engines that mask addresses take it from there.
pub const ADDRESS_MASK_OFFSET: usize = TRACKER_OFFSET + size_of::<usize>();
/// From a [`VmContext`] to its [`Polls`](crate::Polls), out of reach of references to it.
pub const POLLS_OFFSET: usize = ADDRESS_MASK_OFFSET + size_of::<u64>();
const _: () = assert!(JUMP_CACHE_OFFSET + JUMP_CACHE_SIZE <= STATE_SIZE);

/// The state occupies this much of the reservation, guard excluded.
pub(crate) const STATE_SIZE: usize = 64 << 10;
/// Bytes that are never mapped, on either side of the state and the window.
pub const GUARD_SIZE: usize = 64 << 10;
/// From the address of the [`VmContext`] to guest address 0.
pub const WINDOW_OFFSET: usize = STATE_SIZE + GUARD_SIZE;
const _: () = assert!(size_of::<VmContext>() <= STATE_SIZE);
const _: () = assert!(offset_of!(VmContext, hart.slots) == 0);

/// Bytes of the window with this state.
///
/// # Safety
/// The state is that of a window, which is alive.
pub(crate) unsafe fn window_size(state: *const VmContext) -> usize {
    // SAFETY: as the caller promises: the window has written its mask there.
    (unsafe { state.wrapping_byte_add(ADDRESS_MASK_OFFSET).cast::<u64>().read() }) as usize + 1
}

/// The owner number that no thread and no entry guard has.
pub(crate) const NO_OWNER: u64 = u64::MAX;
