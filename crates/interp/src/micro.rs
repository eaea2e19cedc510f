//! Straight-line operations, of which handlers are composed: rows of the instruction table, and a few that need none.
//!
//! Where handlers return to a trampoline, those of rows are functions of their own, since there are hundreds of them and
//! thousands of handlers. They may fault, so they are in the section of handlers as well, and own nothing that must be
//! dropped.

use std::marker::PhantomData;

use riverrun_isa::ops::Rounding;
use riverrun_isa::words::Words;
use riverrun_isa::{Operands, Row};

use crate::decoded_op::DecodedOp;
use crate::fast::Fast;
use crate::forward::{FORWARD_RS1, FORWARD_RS2, Registers, SAME_RS1};

/// The values that an operation passes to the one fused after it.
#[derive(Clone, Copy, Default)]
pub(crate) struct Forwarded {
    /// Its result.
    value: u64,
    /// What it read as `rs1`.
    rs1: u64,
}

/// A straight-line operation.
pub(crate) trait Micro: 'static {
    /// The number of ops that it covers.
    const OPS: usize = 1;

    /// The registers that it reads and writes.
    const REGISTERS: Registers;

    /// Executes it at `op`. `FORWARD` says which operand comes from the operation `before` it.
    ///
    /// # Safety
    /// `op` is a published op of this operation, and the hart's state is alive.
    unsafe fn execute<const FORWARD: u8>(hart: &Fast, op: *const DecodedOp, before: Forwarded) -> Forwarded;
}

/// The `rs1` of an op.
///
/// # Safety
/// As [`Micro::execute`].
#[inline(always)]
unsafe fn rs1<const FORWARD: u8>(hart: &Fast, op: &DecodedOp, before: Forwarded) -> u64 {
    match FORWARD {
        FORWARD_RS1 => before.value,
        SAME_RS1 => before.rs1,
        // SAFETY: the decoder writes slots below 65 to ops, and the state is alive.
        _ => unsafe { hart.get(op.rs1) },
    }
}

/// The registers that the row `R` reads at an op. While a branch is linked, other threads write what leads to its target:
/// of a branch, only its first two sources are read.
///
/// # Safety
/// As [`Micro::execute`].
#[inline(always)]
pub(crate) unsafe fn registers<R: Row, const FORWARD: u8>(
    hart: &Fast,
    op: &DecodedOp,
    before: Forwarded,
) -> Operands<u64> {
    let [first, second, third] = const { R::FORMAT.sources() };
    // SAFETY: as in `rs1`; an op with a third source is no branch or jump.
    unsafe {
        Operands {
            rs1: if first.is_some() { rs1::<FORWARD>(hart, op, before) } else { 0 },
            rs2: match second {
                Some(_) if FORWARD == FORWARD_RS2 => before.value,
                Some(_) => hart.get(op.rs2),
                None => 0,
            },
            rs3: if third.is_some() { hart.get(op.rs3()) } else { 0 },
            imm: 0,
            pc: 0,
            csr: 0,
            rm: Rounding::Dyn,
            index: op.rs1,
        }
    }
}

/// All operands of the row `R` at an op, which is no branch or jump.
///
/// # Safety
/// As [`Micro::execute`].
#[inline(always)]
unsafe fn operands<R: Row, const FORWARD: u8>(
    hart: &Fast,
    op: &DecodedOp,
    rm: Rounding,
    before: Forwarded,
) -> Operands<u64> {
    // SAFETY: as the caller promises.
    unsafe { Operands { imm: op.imm() as u64, csr: op.imm() as u16, rm, ..registers::<R, FORWARD>(hart, op, before) } }
}

/// A row with the result `rd`, in the dynamic rounding mode; [`Fast`] says what `MASKED` is.
pub(crate) struct Value<R, const MASKED: bool = false>(PhantomData<R>);

impl<R: Row, const MASKED: bool> Micro for Value<R, MASKED> {
    const REGISTERS: Registers = Registers::of(R::FORMAT);

    #[cfg_attr(not(trampoline), inline(always))]
    #[cfg_attr(trampoline, inline(never), unsafe(link_section = "riverrun_interp"))]
    unsafe fn execute<const FORWARD: u8>(hart: &Fast, op: *const DecodedOp, before: Forwarded) -> Forwarded {
        // SAFETY: as the caller promises; the decoder never writes slot 0 to `rd`.
        unsafe {
            let op = &*op;
            let operands = operands::<R, FORWARD>(hart, op, Rounding::Dyn, before);
            let value = R::eval(&Words(hart.at::<MASKED>(op)), &operands);
            hart.set(op.rd(), value);
            Forwarded { value, rs1: operands.rs1 }
        }
    }
}

/// A row with the result `rd`, in the instruction's rounding mode.
pub(crate) struct Rounded<R, const RM: u32>(PhantomData<R>);

impl<R: Row, const RM: u32> Micro for Rounded<R, RM> {
    const REGISTERS: Registers = Registers::of(R::FORMAT);

    #[cfg_attr(not(trampoline), inline(always))]
    #[cfg_attr(trampoline, inline(never), unsafe(link_section = "riverrun_interp"))]
    unsafe fn execute<const FORWARD: u8>(hart: &Fast, op: *const DecodedOp, before: Forwarded) -> Forwarded {
        let rm = const { Rounding::from_bits(RM).expect("a rounding mode") };
        // SAFETY: as for `Value`.
        unsafe {
            let op = &*op;
            let operands = operands::<R, FORWARD>(hart, op, rm, before);
            let value = R::eval(&Words(hart.at::<false>(op)), &operands);
            hart.set(op.rd(), value);
            Forwarded { value, rs1: operands.rs1 }
        }
    }
}

/// A row that only has effects; [`Fast`] says what `MASKED` is.
pub(crate) struct Effect<R, const MASKED: bool = false>(PhantomData<R>);

impl<R: Row, const MASKED: bool> Micro for Effect<R, MASKED> {
    const REGISTERS: Registers = Registers::of(R::FORMAT);

    #[cfg_attr(not(trampoline), inline(always))]
    #[cfg_attr(trampoline, inline(never), unsafe(link_section = "riverrun_interp"))]
    unsafe fn execute<const FORWARD: u8>(hart: &Fast, op: *const DecodedOp, before: Forwarded) -> Forwarded {
        // SAFETY: as the caller promises.
        unsafe {
            let operands = operands::<R, FORWARD>(hart, &*op, Rounding::Dyn, before);
            R::eval(&Words(hart.at::<MASKED>(op)), &operands);
            Forwarded { value: 0, rs1: operands.rs1 }
        }
    }
}

/// `rd = imm`: `lui`, `auipc` and `addi rd, x0, imm`.
pub(crate) struct Constant;

impl Micro for Constant {
    const REGISTERS: Registers = Registers::CONSTANT;

    #[inline(always)]
    unsafe fn execute<const FORWARD: u8>(hart: &Fast, op: *const DecodedOp, _before: Forwarded) -> Forwarded {
        // SAFETY: as for `Value`.
        unsafe {
            let op = &*op;
            let value = op.imm() as u64;
            hart.set(op.rd(), value);
            Forwarded { value, rs1: 0 }
        }
    }
}

/// `rd = rs1`, within or between register files.
pub(crate) struct Move;

impl Micro for Move {
    const REGISTERS: Registers = Registers::MOVE;

    #[inline(always)]
    unsafe fn execute<const FORWARD: u8>(hart: &Fast, op: *const DecodedOp, before: Forwarded) -> Forwarded {
        // SAFETY: as for `Value`.
        unsafe {
            let op = &*op;
            let value = rs1::<FORWARD>(hart, op, before);
            hart.set(op.rd(), value);
            Forwarded { value, rs1: value }
        }
    }
}

/// No effect: hints, fences, results in x0.
pub(crate) struct Nothing;

impl Micro for Nothing {
    const REGISTERS: Registers = Registers::NONE;

    #[inline(always)]
    unsafe fn execute<const FORWARD: u8>(_hart: &Fast, _op: *const DecodedOp, _before: Forwarded) -> Forwarded {
        Forwarded::default()
    }
}

/// No operation at all: the front of an unfused branch.
pub(crate) struct Empty;

impl Micro for Empty {
    const OPS: usize = 0;
    const REGISTERS: Registers = Registers::NONE;

    #[inline(always)]
    unsafe fn execute<const FORWARD: u8>(_hart: &Fast, _op: *const DecodedOp, _before: Forwarded) -> Forwarded {
        Forwarded::default()
    }
}

/// `A`, then `B`, whose operand `FORWARD_B` comes from `A`.
pub(crate) struct Fused<A, B, const FORWARD_B: u8>(PhantomData<(A, B)>);

impl<A: Micro, B: Micro, const FORWARD_B: u8> Micro for Fused<A, B, FORWARD_B> {
    const OPS: usize = A::OPS + B::OPS;
    // What is behind takes operands from `B`.
    const REGISTERS: Registers = B::REGISTERS;

    #[inline(always)]
    unsafe fn execute<const FORWARD: u8>(hart: &Fast, op: *const DecodedOp, before: Forwarded) -> Forwarded {
        // SAFETY: the decoder fuses adjacent ops, so the next one is published, too.
        unsafe {
            let forwarded = A::execute::<FORWARD>(hart, op, before);
            B::execute::<FORWARD_B>(hart, op.add(A::OPS), forwarded)
        }
    }
}
