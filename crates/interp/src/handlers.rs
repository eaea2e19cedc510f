//! Handlers: functions that execute one cell, or two fused ones, and go on with the next.
//!
//! Each is made of [`Micro`] operations, which in turn evaluate a row of the instruction table;
//! semantics are never written here.

use std::marker::PhantomData;

use riverrun_isa::ops::{Mem, Ops, Rounding};
use riverrun_isa::{Operands, Row};
use riverrun_state::{SINK_SLOT, State};

use crate::cell::{Cell, Free, Next};
use crate::fast::Fast;
use crate::words::Words;

/// The chain was left at a cell because what remains of the fuel may not suffice.
pub(crate) const REASON_FUEL: u64 = 0;
/// At a cell that the single-step engine has to execute.
pub(crate) const REASON_STEP: u64 = 1;
/// At a branch or jump whose target has not been decoded yet.
pub(crate) const REASON_RESOLVE: u64 = 2;
/// At an address that no cell stands for yet; the fuel is what remains.
pub(crate) const REASON_TARGET: u64 = 3;

/// Indices of [`riverrun_state::EngineExit::tables`].
pub(crate) const TABLE_BASE: usize = 0;
pub(crate) const TABLE_LEN: usize = 1;
pub(crate) const TABLE_MAP: usize = 2;
pub(crate) const TABLE_CELLS: usize = 3;

/// Goes on with the handler of `op`.
///
/// # Safety
/// `op` is a published cell, and the caller returns at once what this returns.
#[cfg(not(trampoline))]
#[inline(always)]
unsafe fn go(op: *const Cell, hart: Fast) -> Next {
    // SAFETY: a published cell's handler takes exactly these arguments.
    unsafe { (*op).handler()(op, hart.state, Free::uninit(), Free::uninit(), hart.fuel) }
}

/// Goes on with the handler of `op`.
///
/// # Safety
/// `op` is a published cell, and the caller returns at once what this returns.
#[cfg(trampoline)]
#[inline(always)]
unsafe fn go(op: *const Cell, hart: Fast) -> Next {
    Next { op, fuel: hart.fuel }
}

/// Leaves the chain at the hart's cell.
#[inline(always)]
fn leave(hart: Fast, reason: u64, target: u64) -> Next {
    // SAFETY: the state is alive while its engine runs.
    unsafe {
        let exit = &mut (*hart.state).exit;
        exit.op = hart.op as u64;
        exit.fuel = hart.fuel;
        exit.reason = reason;
        exit.target = target;
    }
    #[cfg(trampoline)]
    return Next { op: std::ptr::null(), fuel: 0 };
}

/// Goes on at `op` with the fuel that counts there, if it suffices.
///
/// # Safety
/// As [`go`].
#[inline(always)]
unsafe fn go_checked<const CHECK: bool>(op: *const Cell, hart: Fast) -> Next {
    if CHECK && hart.fuel < 0 {
        return leave(Fast { op, ..hart }, REASON_FUEL, 0);
    }
    // SAFETY: as the caller promises.
    unsafe { go(op, hart) }
}

/// Which operand a fused operation takes from the one before instead of from its register.
pub(crate) const NO_FORWARD: u8 = 0;
pub(crate) const FORWARD_RS1: u8 = 1;
pub(crate) const FORWARD_RS2: u8 = 2;

/// A straight-line operation.
pub(crate) trait Micro: 'static {
    /// How many cells it covers.
    const CELLS: usize = 1;

    /// Executes it and gives its result, which is also written to its register.
    ///
    /// # Safety
    /// `hart` stands at a published cell of this operation, its state is alive.
    unsafe fn execute<const FORWARD: u8>(hart: Fast, forwarded: u64) -> u64;
}

/// The sources of the hart's cell.
///
/// # Safety
/// As [`Micro::execute`].
#[inline(always)]
unsafe fn operands<const FORWARD: u8>(hart: Fast, rm: Rounding, forwarded: u64) -> Operands<u64> {
    // SAFETY: the decoder writes slots below 65 to cells, and the state is alive.
    unsafe {
        let cell = &*hart.op;
        Operands {
            rs1: if FORWARD == FORWARD_RS1 { forwarded } else { hart.get(cell.rs1) },
            rs2: if FORWARD == FORWARD_RS2 { forwarded } else { hart.get(cell.rs2) },
            rs3: hart.get(cell.rs3()),
            imm: cell.imm() as u64,
            pc: 0,
            csr: 0,
            rm,
            index: cell.rs1,
        }
    }
}

/// A row that gives a value to `rd`, rounding as the environment does.
pub(crate) struct Value<R>(PhantomData<R>);

impl<R: Row> Micro for Value<R> {
    #[inline(always)]
    unsafe fn execute<const FORWARD: u8>(hart: Fast, forwarded: u64) -> u64 {
        // SAFETY: as the caller promises; the decoder never writes slot 0 to `rd`.
        unsafe {
            let value = R::eval(&Words(hart), &operands::<FORWARD>(hart, Rounding::Dyn, forwarded));
            hart.set((*hart.op).rd(), value);
            value
        }
    }
}

/// A row that gives a value to `rd`, rounding as the instruction says.
pub(crate) struct Rounded<R, const RM: u32>(PhantomData<R>);

impl<R: Row, const RM: u32> Micro for Rounded<R, RM> {
    #[inline(always)]
    unsafe fn execute<const FORWARD: u8>(hart: Fast, forwarded: u64) -> u64 {
        let rm = const { Rounding::from_bits(RM).expect("a rounding mode") };
        // SAFETY: as for `Value`.
        unsafe {
            let value = R::eval(&Words(hart), &operands::<FORWARD>(hart, rm, forwarded));
            hart.set((*hart.op).rd(), value);
            value
        }
    }
}

/// A row that only has effects.
pub(crate) struct Effect<R>(PhantomData<R>);

impl<R: Row> Micro for Effect<R> {
    #[inline(always)]
    unsafe fn execute<const FORWARD: u8>(hart: Fast, forwarded: u64) -> u64 {
        // SAFETY: as the caller promises.
        unsafe { R::eval(&Words(hart), &operands::<FORWARD>(hart, Rounding::Dyn, forwarded)) }
    }
}

/// `rd = imm`: what `lui`, `auipc` and `addi rd, x0, imm` come to.
pub(crate) struct Constant;

impl Micro for Constant {
    #[inline(always)]
    unsafe fn execute<const FORWARD: u8>(hart: Fast, _forwarded: u64) -> u64 {
        // SAFETY: as for `Value`.
        unsafe {
            let value = (*hart.op).imm() as u64;
            hart.set((*hart.op).rd(), value);
            value
        }
    }
}

/// `rd = rs1`, within or between register files.
pub(crate) struct Move;

impl Micro for Move {
    #[inline(always)]
    unsafe fn execute<const FORWARD: u8>(hart: Fast, forwarded: u64) -> u64 {
        // SAFETY: as for `Value`.
        unsafe {
            let value = if FORWARD == FORWARD_RS1 { forwarded } else { hart.get((*hart.op).rs1) };
            hart.set((*hart.op).rd(), value);
            value
        }
    }
}

/// Nothing: hints, fences, results that nobody can see.
pub(crate) struct Nothing;

impl Micro for Nothing {
    #[inline(always)]
    unsafe fn execute<const FORWARD: u8>(_hart: Fast, _forwarded: u64) -> u64 {
        0
    }
}

/// No operation at all: the front of an unfused branch.
pub(crate) struct Empty;

impl Micro for Empty {
    const CELLS: usize = 0;

    #[inline(always)]
    unsafe fn execute<const FORWARD: u8>(_hart: Fast, _forwarded: u64) -> u64 {
        0
    }
}

/// `A`, then `B`, whose operand `FORWARD_B` is what `A` gave.
pub(crate) struct Fused<A, B, const FORWARD_B: u8>(PhantomData<(A, B)>);

impl<A: Micro, B: Micro, const FORWARD_B: u8> Micro for Fused<A, B, FORWARD_B> {
    const CELLS: usize = A::CELLS + B::CELLS;

    #[inline(always)]
    unsafe fn execute<const FORWARD: u8>(hart: Fast, forwarded: u64) -> u64 {
        // SAFETY: the decoder fuses cells that follow each other.
        unsafe {
            let value = A::execute::<FORWARD>(hart, forwarded);
            B::execute::<FORWARD_B>(Fast { op: hart.op.add(A::CELLS), ..hart }, value)
        }
    }
}

/// Executes `M` and goes on behind it.
#[unsafe(link_section = "riverrun_interp")]
pub(crate) unsafe extern "sysv64" fn straight<M: Micro>(
    op: *const Cell,
    state: *mut State,
    _: Free,
    _: Free,
    fuel: i64,
) -> Next {
    let hart = Fast { op, state, fuel };
    // SAFETY: the chain brings published cells of `M` and a live state; the decoder lets a cell
    // follow every straight one.
    unsafe {
        M::execute::<NO_FORWARD>(hart, 0);
        go(op.add(M::CELLS), hart)
    }
}

/// Executes `M`, then branches on the row `R`, whose operand `FORWARD` is what `M` gave.
#[unsafe(link_section = "riverrun_interp")]
pub(crate) unsafe extern "sysv64" fn branch<M: Micro, R: Row, const FORWARD: u8, const CHECK: bool>(
    op: *const Cell,
    state: *mut State,
    _: Free,
    _: Free,
    fuel: i64,
) -> Next {
    let hart = Fast { op, state, fuel };
    // SAFETY: the chain brings published cells of `M` and a live state; the decoder links
    // branches to published cells before it sets this handler, and lets a cell follow.
    unsafe {
        let value = M::execute::<NO_FORWARD>(hart, 0);
        let op = op.add(M::CELLS);
        let hart = Fast { op, ..hart };
        if R::eval(&Words(hart), &operands::<FORWARD>(hart, Rounding::Dyn, value)) != 0 {
            let target = op.byte_offset((*op).imm() as isize);
            let fuel = fuel.wrapping_add((*op).difference());
            go_checked::<CHECK>(target, Fast { fuel, ..hart })
        } else {
            go(op.add(1), hart)
        }
    }
}

/// A branch whose target is not decoded yet.
#[unsafe(link_section = "riverrun_interp")]
pub(crate) unsafe extern "sysv64" fn branch_unresolved<R: Row>(
    op: *const Cell,
    state: *mut State,
    _: Free,
    _: Free,
    fuel: i64,
) -> Next {
    let hart = Fast { op, state, fuel };
    // SAFETY: the chain brings published cells and a live state; the decoder lets a cell follow.
    unsafe {
        if R::eval(&Words(hart), &operands::<NO_FORWARD>(hart, Rounding::Dyn, 0)) != 0 {
            leave(hart, REASON_RESOLVE, 0)
        } else {
            go(op.add(1), hart)
        }
    }
}

/// An unconditional jump, or the end of a run that goes on in another one.
#[unsafe(link_section = "riverrun_interp")]
pub(crate) unsafe extern "sysv64" fn jump<const CHECK: bool>(
    op: *const Cell,
    state: *mut State,
    _: Free,
    _: Free,
    fuel: i64,
) -> Next {
    // SAFETY: the decoder links jumps to published cells before it sets this handler.
    unsafe {
        let target = op.byte_offset((*op).imm() as isize);
        let fuel = fuel.wrapping_add((*op).difference());
        go_checked::<CHECK>(target, Fast { op, state, fuel })
    }
}

/// A direct call: the link register is `rs1`, the return address stands in the next cell.
#[unsafe(link_section = "riverrun_interp")]
pub(crate) unsafe extern "sysv64" fn call(op: *const Cell, state: *mut State, _: Free, _: Free, fuel: i64) -> Next {
    let hart = Fast { op, state, fuel };
    // SAFETY: as for `jump`; calls have a second cell.
    unsafe {
        hart.set((*op).rs1, u64::from((*op.add(1)).imm() as u32));
        let target = op.byte_offset((*op).imm() as isize);
        let fuel = fuel.wrapping_add((*op).difference());
        go_checked::<true>(target, Fast { fuel, ..hart })
    }
}

/// Anything whose target is not decoded yet.
#[unsafe(link_section = "riverrun_interp")]
pub(crate) unsafe extern "sysv64" fn unresolved(
    op: *const Cell,
    state: *mut State,
    _: Free,
    _: Free,
    fuel: i64,
) -> Next {
    leave(Fast { op, state, fuel }, REASON_RESOLVE, 0)
}

/// What the single-step engine has to do.
#[unsafe(link_section = "riverrun_interp")]
pub(crate) unsafe extern "sysv64" fn step(op: *const Cell, state: *mut State, _: Free, _: Free, fuel: i64) -> Next {
    leave(Fast { op, state, fuel }, REASON_STEP, 0)
}

/// An indirect jump to the row's value. With `LINK`, `rs2` is the link register and the next cell
/// holds the return address.
#[unsafe(link_section = "riverrun_interp")]
pub(crate) unsafe extern "sysv64" fn jump_indirect<R: Row, const LINK: bool>(
    op: *const Cell,
    state: *mut State,
    _: Free,
    _: Free,
    fuel: i64,
) -> Next {
    let hart = Fast { op, state, fuel };
    // SAFETY: the engine sets the tables before it enters; entries of the map are published
    // cells' indices or 0.
    unsafe {
        let target = R::eval(&Words(hart), &operands::<NO_FORWARD>(hart, Rounding::Dyn, 0));
        if LINK {
            hart.set((*op).rs2, u64::from((*op.add(1)).imm() as u32));
        }
        let fuel = fuel.wrapping_add((*op).difference());
        let hart = Fast { fuel, ..hart };
        let tables = &(*state).exit.tables;
        let offset = target.wrapping_sub(tables[TABLE_BASE]);
        if offset >= tables[TABLE_LEN] {
            return leave(hart, REASON_TARGET, target);
        }
        let map = tables[TABLE_MAP] as *const std::sync::atomic::AtomicU64;
        let entry = (*map.add((offset >> 1) as usize)).load(std::sync::atomic::Ordering::Acquire);
        if entry == 0 {
            return leave(hart, REASON_TARGET, target);
        }
        let cell = (tables[TABLE_CELLS] as *const Cell).add(entry as u32 as usize);
        let fuel = fuel.wrapping_add(entry as i64 >> 32);
        go_checked::<true>(cell, Fast { fuel, ..hart })
    }
}

/// An atomic access: misaligned ones are the single-step engine's to refuse.
#[unsafe(link_section = "riverrun_interp")]
pub(crate) unsafe extern "sysv64" fn atomic<R: Row>(
    op: *const Cell,
    state: *mut State,
    _: Free,
    _: Free,
    fuel: i64,
) -> Next {
    let hart = Fast { op, state, fuel };
    let mem = const { if R::OP.info().bits >> 12 & 7 == 2 { Mem::U32 } else { Mem::U64 } };
    // SAFETY: as for `straight`.
    unsafe {
        if hart.get((*op).rs1) & u64::from(mem.bytes() - 1) != 0 {
            return leave(hart, REASON_STEP, 0);
        }
        Value::<R>::execute::<NO_FORWARD>(hart, 0);
        go(op.add(1), hart)
    }
}

const _: () = assert!(SINK_SLOT != 0);

/// Rows evaluate with the interpreter's values.
const _: fn() = || {
    fn is_ops<O: Ops<V = u64>>() {}
    is_ops::<Words<Fast>>();
};
