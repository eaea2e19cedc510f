//! Additions with carry. RISC-V has no carry flag: guests compare a sum with an addend and add the result to the next sum.
//!
//! LLVM turns such a pair into an addition with carry if it recognises it. If two carries enter one sum, it reassociates the
//! first with the other addends and materialises it in a register. So this pass, the last one, rewrites the pairs to LLVM's
//! intrinsics for addition with carry.

use inkwell::IntPredicate;
use inkwell::values::{BasicValue, InstructionOpcode, InstructionValue, IntValue};

use crate::lift::{Ir, integer_operand};

/// Rewrites the sums with a carry of an optimised module to additions with carry.
pub(crate) fn add_with_carries(ir: &Ir<'_>) {
    let blocks = ir.module.get_functions().flat_map(|function| function.get_basic_block_iter());
    for block in blocks {
        let mut next = block.get_first_instruction();
        while let Some(sum) = next {
            next = sum.get_next_instruction();
            let Some((addend, carry)) = parts(ir, sum) else { continue };
            ir.builder.position_before(&sum);
            let result = ir.add_with_carry(addend, ir.int(0), carry);
            let result = result.as_instruction_value().expect("the sum is no constant");
            sum.replace_all_uses_with(&result);
            sum.erase_from_basic_block();
        }
    }
}

/// The addend and the carry of a sum of both.
fn parts<'c>(ir: &Ir<'c>, sum: InstructionValue<'c>) -> Option<(IntValue<'c>, IntValue<'c>)> {
    if sum.get_opcode() != InstructionOpcode::Add || sum.get_type() != ir.i64.into() {
        return None;
    }
    let [a, b] = [0, 1].map(|index| integer_operand(sum, index));
    let (a, b) = (a?, b?);
    carry(ir, b).map(|carry| (a, carry)).or_else(|| carry(ir, a).map(|carry| (b, carry)))
}

/// The comparison behind a number that is a carry and is only used as an addend.
fn carry<'c>(ir: &Ir<'c>, number: IntValue<'c>) -> Option<IntValue<'c>> {
    let widened = number.as_instruction_value().filter(|inst| inst.get_opcode() == InstructionOpcode::ZExt)?;
    let is_used_once = widened.get_first_use().is_some_and(|first| first.get_next_use().is_none());
    let flag = integer_operand(widened, 0).filter(|_| is_used_once)?;
    let compared = flag.as_instruction_value().filter(|inst| inst.get_opcode() == InstructionOpcode::ICmp)?;
    let is_carry = matches!(compared.get_icmp_predicate(), Some(IntPredicate::ULT | IntPredicate::UGT));
    let is_word = integer_operand(compared, 0).is_some_and(|word| word.get_type() == ir.i64);
    (is_carry && is_word).then_some(flag)
}
