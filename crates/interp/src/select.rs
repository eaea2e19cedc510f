//! Which handler executes an operation, alone or fused with the next.

use riverrun_isa::{Op, Rounding, for_each_op, rows};

use crate::cell::Handler;
use crate::handlers::*;
use crate::operation::{Decoded, Operation};

/// The handler of a row by its format; formats whose operations are not rows step.
macro_rules! row_handler {
    (Store, $row:ident) => {
        straight::<Effect<rows::$row>>
    };
    (FStore, $row:ident) => {
        straight::<Effect<rows::$row>>
    };
    (B, $row:ident) => {
        step
    };
    (J, $row:ident) => {
        step
    };
    (Jr, $row:ident) => {
        step
    };
    (Amo, $row:ident) => {
        atomic::<rows::$row>
    };
    (Lr, $row:ident) => {
        atomic::<rows::$row>
    };
    (CsrI, $row:ident) => {
        step
    };
    (Fence, $row:ident) => {
        step
    };
    (Sys, $row:ident) => {
        step
    };
    ($format:ident, $row:ident) => {
        straight::<Value<rows::$row>>
    };
}

macro_rules! row_handlers {
    ($op:ident $($row:ident $format:ident,)*) => {
        match $op { $(Op::$row => row_handler!($format, $row),)* }
    };
}

/// The handler of a row alone.
fn row(op: Op) -> Handler {
    for_each_op!(row_handlers op)
}

/// The handlers of rows that take their rounding mode from the instruction.
macro_rules! rounded_handlers {
    ($op:ident, $rm:ident: $($row:ident)*) => {
        match ($op, $rm) {
            $(
                (Op::$row, Rounding::Rne) => straight::<Rounded<rows::$row, 0>>,
                (Op::$row, Rounding::Rtz) => straight::<Rounded<rows::$row, 1>>,
                (Op::$row, Rounding::Rdn) => straight::<Rounded<rows::$row, 2>>,
                (Op::$row, Rounding::Rup) => straight::<Rounded<rows::$row, 3>>,
                (Op::$row, Rounding::Dyn) => straight::<Rounded<rows::$row, 7>>,
            )*
            _ => step,
        }
    };
}

fn rounded(op: Op, rm: Rounding) -> Handler {
    rounded_handlers!(op, rm:
        fcvt_w_s fcvt_wu_s fcvt_l_s fcvt_lu_s fcvt_w_d fcvt_wu_d fcvt_l_d fcvt_lu_d
        fround_s froundnx_s fround_d froundnx_d)
}

/// Calls `$case!(row)` for the branch `$op`.
macro_rules! for_branch {
    ($op:expr, $case:ident) => {
        match $op {
            Op::beq => $case!(beq),
            Op::bne => $case!(bne),
            Op::blt => $case!(blt),
            Op::bge => $case!(bge),
            Op::bltu => $case!(bltu),
            Op::bgeu => $case!(bgeu),
            _ => unreachable!("{:?} is no branch", $op),
        }
    };
}

/// The handler of a branch behind `M`, for each way to take its operands.
fn branch_behind<M: Micro>(op: Op, forward: u8, check: bool) -> Handler {
    macro_rules! case {
        ($row:ident) => {
            match (forward, check) {
                (FORWARD_RS1, false) => branch::<M, rows::$row, FORWARD_RS1, false>,
                (FORWARD_RS2, false) => branch::<M, rows::$row, FORWARD_RS2, false>,
                (_, false) => branch::<M, rows::$row, NO_FORWARD, false>,
                (FORWARD_RS1, true) => branch::<M, rows::$row, FORWARD_RS1, true>,
                (FORWARD_RS2, true) => branch::<M, rows::$row, FORWARD_RS2, true>,
                (_, true) => branch::<M, rows::$row, NO_FORWARD, true>,
            }
        };
    }
    for_branch!(op, case)
}

/// The handler of an operation alone. `check` says whether its jump has to test the fuel.
pub(crate) fn alone(decoded: &Decoded, check: bool) -> Handler {
    match decoded.operation {
        Operation::Row(op) | Operation::Atomic(op) => row(op),
        Operation::Rounded(op, rm) => rounded(op, rm),
        Operation::Constant => straight::<Constant>,
        Operation::Move => straight::<Move>,
        Operation::Nothing => straight::<Nothing>,
        Operation::Branch(op) => {
            macro_rules! case {
                ($row:ident) => {
                    if check {
                        branch::<Empty, rows::$row, NO_FORWARD, true>
                    } else {
                        branch::<Empty, rows::$row, NO_FORWARD, false>
                    }
                };
            }
            for_branch!(op, case)
        }
        Operation::Jump if check => jump::<true>,
        Operation::Jump => jump::<false>,
        Operation::Call => call,
        Operation::Indirect => jump_indirect::<rows::jalr>,
        Operation::IndirectCall => call_indirect::<rows::jalr>,
        Operation::Return => ret::<rows::jalr>,
        Operation::Step => step,
    }
}

/// The handler of a branch or jump whose target is not decoded.
pub(crate) fn unlinked(decoded: &Decoded) -> Handler {
    macro_rules! case {
        ($row:ident) => {
            branch_unresolved::<rows::$row>
        };
    }
    match decoded.operation {
        Operation::Branch(op) => for_branch!(op, case),
        _ => unresolved,
    }
}

/// Which operand of `second` is the result of `first`.
fn forward(first: &Decoded, second: &Decoded) -> u8 {
    let gives = !matches!(first.operation, Operation::Row(Op::sd | Op::sw | Op::sh | Op::sb));
    let takes = |operand: u8| gives && operand == first.rd;
    let same = |operand: u8| {
        let reads = match first.operation {
            Operation::Row(op) => op.info().format.sources()[0].is_some(),
            operation => operation == Operation::Move,
        };
        reads && operand == first.rs1 && !takes(operand)
    };
    let (one, two) = match second.operation {
        Operation::Row(op) => {
            let [one, two, _] = op.info().format.sources();
            (one.is_some(), two.is_some())
        }
        Operation::Branch(_) => (true, true),
        Operation::Move => (true, false),
        _ => (false, false),
    };
    match () {
        _ if one && takes(second.rs1) => FORWARD_RS1,
        _ if two && takes(second.rs2) => FORWARD_RS2,
        _ if one && same(second.rs1) && !matches!(second.operation, Operation::Branch(_)) => SAME_RS1,
        _ => NO_FORWARD,
    }
}

/// Calls `$case!(Micro)` for an operation that fuses; gives `None` for others.
macro_rules! for_fusible {
    ($operation:expr, $case:ident) => {
        match $operation {
            Operation::Constant => $case!(Constant),
            Operation::Move => $case!(Move),
            Operation::Row(op) => match op {
                Op::addi => $case!(Value<rows::addi>),
                Op::addiw => $case!(Value<rows::addiw>),
                Op::add => $case!(Value<rows::add>),
                Op::addw => $case!(Value<rows::addw>),
                Op::sub => $case!(Value<rows::sub>),
                Op::and => $case!(Value<rows::and>),
                Op::andi => $case!(Value<rows::andi>),
                Op::or => $case!(Value<rows::or>),
                Op::xor => $case!(Value<rows::xor>),
                Op::slli => $case!(Value<rows::slli>),
                Op::srli => $case!(Value<rows::srli>),
                Op::slliw => $case!(Value<rows::slliw>),
                Op::srliw => $case!(Value<rows::srliw>),
                Op::sltu => $case!(Value<rows::sltu>),
                Op::mul => $case!(Value<rows::mul>),
                Op::mulhu => $case!(Value<rows::mulhu>),
                Op::ld => $case!(Value<rows::ld>),
                Op::lw => $case!(Value<rows::lw>),
                Op::lwu => $case!(Value<rows::lwu>),
                Op::lh => $case!(Value<rows::lh>),
                Op::lhu => $case!(Value<rows::lhu>),
                Op::lbu => $case!(Value<rows::lbu>),
                Op::sd => $case!(Effect<rows::sd>),
                Op::sw => $case!(Effect<rows::sw>),
                Op::sh => $case!(Effect<rows::sh>),
                Op::sb => $case!(Effect<rows::sb>),
                Op::fadd_d => $case!(Value<rows::fadd_d>),
                Op::fsub_d => $case!(Value<rows::fsub_d>),
                Op::fmul_d => $case!(Value<rows::fmul_d>),
                Op::sh2add => $case!(Value<rows::sh2add>),
                Op::sh3add => $case!(Value<rows::sh3add>),
                _ => None,
            },
            _ => None,
        }
    };
}

/// The handler of two operations that follow each other, if there is one. `check` says whether
/// the second one's jump has to test the fuel.
pub(crate) fn pair(first: &Decoded, second: &Decoded, check: bool) -> Option<Handler> {
    let forward = forward(first, second);
    macro_rules! case {
        ($first:ty) => {
            behind::<$first>(second, forward, check)
        };
    }
    for_fusible!(first.operation, case)
}

fn behind<A: Micro>(second: &Decoded, forward: u8, check: bool) -> Option<Handler> {
    macro_rules! case {
        ($second:ty) => {
            Some(match forward {
                FORWARD_RS1 => straight::<Fused<A, $second, FORWARD_RS1>>,
                FORWARD_RS2 => straight::<Fused<A, $second, FORWARD_RS2>>,
                SAME_RS1 => straight::<Fused<A, $second, SAME_RS1>>,
                _ => straight::<Fused<A, $second, NO_FORWARD>>,
            })
        };
    }
    match second.operation {
        Operation::Branch(op) => Some(branch_behind::<A>(op, forward, check)),
        operation => for_fusible!(operation, case),
    }
}
