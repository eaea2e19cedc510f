//! Which operations superinstructions can contain, and how a sequence of them is written as a number.

use riverrun_isa::{Format, Op, Row, rows};

use crate::decoded_op::Handler;
use crate::forward::Registers;
use crate::operation::Operation;

/// Operations of the longest superinstruction.
pub(crate) const LONGEST: usize = 6;

/// Defines [`Fusible`] by the rows that patterns can contain.
macro_rules! fusible {
    ($($row:ident)*) => {
        /// An operation that patterns can contain; rows and branches have their own names.
        #[allow(non_camel_case_types)]
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u8)]
        pub(crate) enum Fusible { li = 1, mv, $($row,)* beq, bne, blt, bge, bltu, bgeu }

        impl Fusible {
            pub(crate) fn of(operation: Operation) -> Option<Fusible> {
                Some(match operation {
                    Operation::Constant => Fusible::li,
                    Operation::Move => Fusible::mv,
                    Operation::Row(op) => match op {
                        $(Op::$row => Fusible::$row,)*
                        _ => return None,
                    },
                    Operation::Branch(op) => match op {
                        Op::beq => Fusible::beq,
                        Op::bne => Fusible::bne,
                        Op::blt => Fusible::blt,
                        Op::bge => Fusible::bge,
                        Op::bltu => Fusible::bltu,
                        Op::bgeu => Fusible::bgeu,
                        _ => return None,
                    },
                    _ => return None,
                })
            }

            pub(crate) const fn registers(self) -> Registers {
                match self {
                    Fusible::li => Registers::CONSTANT,
                    Fusible::mv => Registers::MOVE,
                    $(Fusible::$row => Registers::of(rows::$row::FORMAT),)*
                    Fusible::beq | Fusible::bne | Fusible::blt | Fusible::bge | Fusible::bltu | Fusible::bgeu => {
                        Registers::of(Format::B)
                    }
                }
            }
        }
    };
}

fusible! {
    addi addiw add addw sub subw and andi or ori xor xori
    slli srli srai sll srl slliw srliw sraiw slt sltu sltiu mul mulw mulhu
    ld lw lwu lh lhu lb lbu sd sw sh sb
    fadd_d fsub_d fmul_d fmadd_d
    sh1add sh2add sh3add add_uw zext_h rori roriw
}

/// A sequence as a number: ten bits for each operation and the operand that it takes from the one before, the first
/// operation in the highest bits. Sequences with a common beginning are adjacent when sorted by it.
pub(crate) const fn key(sequence: &[(Fusible, u8)]) -> u64 {
    let mut key = 0;
    let mut index = 0;
    while index < sequence.len() {
        key |= step(sequence[index].0, sequence[index].1, index);
        index += 1;
    }
    key
}

/// The part of a sequence's number that stands for one operation.
pub(crate) const fn step(operation: Fusible, forward: u8, index: usize) -> u64 {
    ((operation as u64) << 2 | forward as u64) << shift(index)
}

/// The position of an operation in a sequence's number.
pub(crate) const fn shift(index: usize) -> usize {
    10 * (LONGEST - 1 - index)
}

/// A sequence with its handler; the second one tests the fuel where its branch is taken.
pub(crate) struct Pattern {
    pub(crate) key: u64,
    pub(crate) handlers: [Handler; 2],
}
