//! The register file and what engines leave behind when they stop.

use std::mem::offset_of;

use crate::imports::{SYSTEM_CALLS, SystemCall};
use crate::window::{GUARD_SIZE, WINDOW_OFFSET};

/// The slot of [`State::slots`] that takes what is written to x0.
pub const SINK_SLOT: u8 = 32;
/// The slot of the first float register.
pub const F_SLOT: u8 = 33;

/// A hart's registers, at a fixed distance below its guest's memory. Engines address it by the
/// offsets of its fields.
#[repr(C)]
#[derive(Debug)]
pub struct State {
    /// x0 to x31, the sink of writes to x0, f0 to f31: one array, so that an operand is one byte
    /// whichever file it names. Slot 0 is 0 always.
    pub slots: [u64; 65],
    /// The address of the next instruction; exact whenever no engine is running.
    pub pc: u64,
    /// Accrued float exceptions (`fflags`), exact whenever no engine is running.
    pub fflags: u64,
    /// The dynamic rounding mode (`frm`), 0 to 7.
    pub frm: u64,
    /// Instructions executed since the machine was made: `instret`. While [`EngineExit::count_base`] is not 0 it says
    /// nothing, and [`State::instructions`] does.
    pub instret: u64,
    /// The address that `lr` reserved, or all ones.
    pub reservation: u64,
    /// What `lr` read there.
    pub reserved_value: u64,
    /// Where the running engine stopped.
    pub exit: EngineExit,
}

/// How an engine's inner loop ended; private to engines, kept here because compiled code and the
/// fault handler write it.
#[repr(C)]
#[derive(Clone, Debug)]
pub struct EngineExit {
    /// The host's stack pointer at the entry into guest code, or the [frame](crate::Gate::FRAME) of a call that has
    /// none there.
    pub host_sp: u64,
    /// The engine's own position.
    pub op: u64,
    /// The engine's own fuel count.
    pub fuel: i64,
    /// The engine's own reason.
    pub reason: u64,
    /// The engine's own detail, such as the target of a jump; of compiled code, the pc at which it
    /// goes on where it has been left.
    pub target: u64,
    /// Where compiled code goes to be left: it calls this with the registers of its convention.
    pub leave: u64,
    /// The same for code at a function's beginning, which is told by where it waits.
    pub leave_at_start: u64,
    /// What host entries of compiled code call, with the state, to drop all frames: [`crate::leave_engine`].
    pub quit: u64,
    /// The first address above the stack of compiled code.
    pub stack_top: u64,
    /// Functions of compiled code ask to be left at their beginning where their stack pointer is
    /// below this: at the stack's end, or in any case, all ones, to be entered in the middle.
    pub stack_limit: u64,
    /// The stack pointer of compiled code that has been left.
    pub compiled_sp: u64,
    /// The engine's own place in [`RETURNS_OFFSET`]'s ring.
    pub returns: u64,
    /// What the engine needs to find its tables.
    pub tables: [u64; 4],
    /// Where the host's float environment is held while it is looked at.
    pub float_env: u32,
    /// The address of the machine's [`crate::Import`]s.
    pub imports: u64,
    /// How many bytes they take.
    pub imports_size: u64,
    /// What the instructions executed and [`EngineExit::fuel`] add up to, at a host function's call from
    /// an engine that counts, and between the host's short calls into one; 0 where `instret` is exact.
    pub count_base: u64,
    /// The [`crate::Window`] that the engine runs on, as the engine has it.
    pub window: u64,
}

/// From a [`State`] to a ring in which an engine notes where calls return to.
pub const RETURNS_OFFSET: usize = 32 << 10;
/// Bytes of that ring.
pub const RETURNS_SIZE: usize = 4 << 10;
/// From a [`State`] to a table in which an engine notes where indirect jumps lead.
pub const LANDINGS_OFFSET: usize = RETURNS_OFFSET + RETURNS_SIZE;
/// Bytes of that table.
pub const LANDINGS_SIZE: usize = 4 << 10;
/// From a [`State`] to a table of the host functions that system calls have led to: [`crate::SystemCall`]s.
pub const SYSTEM_CALLS_OFFSET: usize = LANDINGS_OFFSET + LANDINGS_SIZE;
const _: () = assert!(RETURNS_OFFSET >= size_of::<State>());
const _: () = assert!(SYSTEM_CALLS_OFFSET + SYSTEM_CALLS * size_of::<SystemCall>() <= STATE_SIZE);

/// The state occupies this much of the reservation, guard excluded.
pub(crate) const STATE_SIZE: usize = 64 << 10;
const _: () = assert!(size_of::<State>() <= STATE_SIZE);
const _: () = assert!(WINDOW_OFFSET == STATE_SIZE + GUARD_SIZE);
const _: () = assert!(offset_of!(State, slots) == 0);

impl State {
    /// What is in the integer register `n`.
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

    /// What is in the float register `n`, NaN boxes included.
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
