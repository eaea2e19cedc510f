//! The register file, and the fields beside it in which engines keep their own data.
//!
//! Compiled code and handlers in assembly address all of it by field offsets, so the layout is part of the ABI of
//! compiled code.

use std::mem::offset_of;

/// The slot of [`State::slots`] that takes what is written to x0.
pub const SINK_SLOT: u8 = 32;
/// The slot of the first float register.
pub const F_SLOT: u8 = 33;

/// A hart's registers, at a fixed distance below its guest's memory. Engines address the fields by their offsets.
#[repr(C)]
#[derive(Debug)]
pub struct State {
    /// x0 to x31, the sink slot, f0 to f31: one array, so that an operand is one byte whichever register file it names.
    /// Slot 0 is always 0.
    pub slots: [u64; 65],
    /// The address of the next instruction; up to date whenever no engine is running.
    pub pc: u64,
    /// Accrued float exceptions (`fflags`); up to date whenever no engine is running.
    pub fflags: u64,
    /// The dynamic rounding mode (`frm`), 0 to 7.
    pub frm: u64,
    /// Instructions executed since the machine was made: `instret`. Out of date while [`EngineExit::count_base`] is not
    /// 0; [`State::instructions`] is always right.
    pub instret: u64,
    /// The address that `lr` reserved, or all ones.
    pub reservation: u64,
    /// What `lr` read there.
    pub reserved_value: u64,
    /// The engine's own data: where and why it stopped.
    pub exit: EngineExit,
}

/// An engine's own data, and where and why it stopped. It is beside the registers because compiled code and the fault
/// handler write it; no other code has use for it.
#[repr(C)]
#[derive(Clone, Debug)]
pub struct EngineExit {
    /// The host's stack pointer at the entry into guest code, or the address of the [frame](crate::Gate::FRAME) in the
    /// entry guard for calls that have no frame on the stack.
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
    pub leave: u64,
    /// The exit stub for a function's beginning. Its return address says which function exits.
    pub leave_at_start: u64,
    /// [`crate::leave_engine`], which host-ABI entry points call with the state to drop all frames.
    pub quit: u64,
    /// The first address above the stack of compiled code.
    pub stack_top: u64,
    /// A compiled function whose stack pointer is below this exits at its beginning. All ones makes every function exit,
    /// by which the dispatcher enters one in the middle.
    pub stack_limit: u64,
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
    /// Instructions executed plus [`EngineExit::fuel`]. Set while a host function that an engine has called runs, and
    /// between calls on the fast path of an interpreted function; 0 if `instret` is up to date.
    pub count_base: u64,
    /// The engine's `&mut` [`crate::Window`] as a pointer: while a host function runs, it is the only reference to the
    /// window, and host functions borrow the window from it.
    pub window: u64,
}

/// From a [`State`] to the return ring, in which the interpreter stores where calls return to.
pub const RETURNS_OFFSET: usize = 32 << 10;
/// Bytes of that ring.
pub const RETURNS_SIZE: usize = 4 << 10;
/// From a [`State`] to the indirect-jump cache, in which the interpreter stores where indirect jumps lead.
pub const LANDINGS_OFFSET: usize = RETURNS_OFFSET + RETURNS_SIZE;
/// Bytes of that table.
pub const LANDINGS_SIZE: usize = 4 << 10;
/// From a [`State`] to a table of the host functions that system calls have reached: [`crate::SystemCall`]s.
pub const SYSTEM_CALLS_OFFSET: usize = LANDINGS_OFFSET + LANDINGS_SIZE;
const _: () = assert!(RETURNS_OFFSET >= size_of::<State>());

/// The state occupies this much of the reservation, guard excluded.
pub(crate) const STATE_SIZE: usize = 64 << 10;
/// Bytes that are never mapped, on either side of the state and the window.
pub const GUARD_SIZE: usize = 64 << 10;
/// From the address of the [`State`] to guest address 0.
pub const WINDOW_OFFSET: usize = STATE_SIZE + GUARD_SIZE;
const _: () = assert!(size_of::<State>() <= STATE_SIZE);
const _: () = assert!(offset_of!(State, slots) == 0);

impl State {
    /// The integer register `n`.
    ///
    /// # Panics
    /// If `n` is above 31.
    pub fn x(&self, n: u8) -> u64 {
        assert!(n < 32, "x{n} is no register");
        self.slots[n as usize]
    }

    /// Writes the integer register `n`; writes to x0 have no effect.
    ///
    /// # Panics
    /// If `n` is above 31.
    pub fn set_x(&mut self, n: u8, value: u64) {
        assert!(n < 32, "x{n} is no register");
        if n != 0 {
            self.slots[n as usize] = value;
        }
    }

    /// The bits of the float register `n`, NaN boxes included.
    ///
    /// # Panics
    /// If `n` is above 31.
    pub fn f(&self, n: u8) -> u64 {
        assert!(n < 32, "f{n} is no register");
        self.slots[F_SLOT as usize + n as usize]
    }

    /// Writes the float register `n`.
    ///
    /// # Panics
    /// If `n` is above 31.
    pub fn set_f(&mut self, n: u8, value: u64) {
        assert!(n < 32, "f{n} is no register");
        self.slots[F_SLOT as usize + n as usize] = value;
    }
}
