//! The handlers of single operations.

use riverrun_isa::{Op, Rounding, for_each_op, rows};

use crate::decoded_op::Handler;
use crate::forward::NO_FORWARD;
use crate::handlers::*;
use crate::host_call::{host_call, system_call};
use crate::micro::*;
use crate::operation::{Decoded, Operation};
use crate::ret::RET;

/// The handler of a row by its format; formats without rows exit to the reference interpreter. Those of memory accesses
/// depend on `MASKED`.
macro_rules! row_handler {
    (Load, $row:ident) => {
        straight::<Value<rows::$row, MASKED>>
    };
    (FLoad, $row:ident) => {
        straight::<Value<rows::$row, MASKED>>
    };
    (Store, $row:ident) => {
        straight::<Effect<rows::$row, MASKED>>
    };
    (FStore, $row:ident) => {
        straight::<Effect<rows::$row, MASKED>>
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
        atomic::<rows::$row, MASKED>
    };
    (Lr, $row:ident) => {
        atomic::<rows::$row, MASKED>
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
    (Import, $row:ident) => {
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
fn row<const MASKED: bool>(op: Op) -> Handler {
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
pub(crate) use for_branch;

/// The handler of an operation alone, for a window whose addresses are masked or not. `check` says whether its jump has to
/// test the fuel.
pub(crate) fn alone(decoded: &Decoded, check: bool, is_masked: bool) -> Handler {
    match decoded.operation {
        Operation::Row(op) | Operation::Atomic(op) if is_masked => row::<true>(op),
        Operation::Row(op) | Operation::Atomic(op) => row::<false>(op),
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
        Operation::IndirectLinking => jump_indirect_linking::<rows::jalr>,
        Operation::Return if decoded.rs1 == 1 && decoded.imm == 0 => RET,
        Operation::Return => return_by::<rows::jalr>,
        Operation::HostCall(registers) => host_call(registers),
        Operation::SystemCall => system_call,
        Operation::Step => step,
        Operation::ReentryPoint => reentry_point,
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
