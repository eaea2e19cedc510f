//! The exceptions of floating point, which accrue in the host's MXCSR and in the state's `fflags`, and
//! the rounding mode, which is the default one wherever compiled code runs.
//!
//! Functions that access the exceptions are *strict*: LLVM moves and omits none of their float
//! operations, and all of them raise just what they should. Where any function of a program reads the exceptions, all are.

use std::collections::HashSet;
use std::ops::Range;

use inkwell::attributes::{Attribute, AttributeLoc};
use inkwell::module::Linkage;
use inkwell::values::{CallSiteValue, FunctionValue, IntValue};
use inkwell::{GlobalVisibility, IntPredicate};
use riverrun_isa::ops::Ops;
use riverrun_isa::{Format, Inst, Op, csr, decode};
use riverrun_program::Image;
use riverrun_vm::convention;

use crate::analysis::{Block, Function, Terminator};
use crate::budget::Budget;
use crate::lift::ir::{Ir, Space, built};
use crate::lift::registers::{self, A0, A1};
use crate::lift::site::Site;
use crate::lift::value::Value;

/// The symbol of the helper that returns the exceptions accrued in MXCSR in the format of `fflags`.
const ACCRUED: &str = "accrued_exceptions";
/// The symbol of the helper that clears them.
const CLEAR: &str = "clear_exceptions";
/// LLVM's number of `preserve_allcc`: callers need to save nothing.
const PRESERVE_ALL: u32 = 15;
/// LLVM's encoding of `memory(inaccessiblemem: read)`.
const READS_INACCESSIBLE: u64 = 1 << 2;
/// The bits of an instruction that have its major opcode, and that of instructions with a CSR.
const OPCODE: u32 = 0x7f;
const SYSTEM: u32 = 0x73;
/// MXCSR as it is at first: all exceptions masked, none accrued, rounding to nearest.
const DEFAULT_MXCSR: u64 = 0x1f80;

/// Whether it matters to the function when exceptions are raised. It does not if it only restores
/// them behind comparisons, as compilers do for those of C that are quiet.
pub(crate) fn matter(function: &Function) -> bool {
    function.blocks.values().any(|block| !only_quiet_comparisons(block))
}

/// Whether any code of a program reads accrued exceptions: a function, or text outside all functions, which the interpreter
/// executes. Code that only writes back what it has read, as C libraries do around conversions, does not count. Reads from
/// a signal's frame are not found. The answer says nothing if the budget is spent.
pub(crate) fn observed(image: &Image, functions: &[Function], budget: &Budget) -> bool {
    if functions.iter().any(|function| function.blocks.values().any(|block| observes_in(block, function, budget))) {
        return true;
    }
    let blocks = || functions.iter().flat_map(|function| function.blocks.values());
    let reads = |word: &[u8]| {
        let word = u32::from_le_bytes(word.try_into().expect("windows have 4 bytes"));
        let inst = if word & OPCODE == SYSTEM { decode(word) } else { None };
        inst.is_some_and(|inst| accesses_flags(&inst) && inst.rd != 0)
    };
    let reads_in = |range: &Range<u64>| {
        let bytes = image.text_bytes(range.clone()).unwrap_or_default();
        let places = bytes.windows(4).step_by(2).zip((range.start..).step_by(2));
        places.filter(|(word, _)| reads(word)).map(|(_, pc)| pc).collect::<Vec<u64>>()
    };
    let mut elsewhere: HashSet<u64> = image.text().iter().flat_map(reads_in).collect();
    blocks().flat_map(|block| &block.insts).filter(|(_, inst)| accesses_flags(inst)).for_each(|(pc, _)| {
        elsewhere.remove(pc);
    });
    !elsewhere.is_empty()
}

/// Whether the instruction accesses the exceptions.
fn accesses_flags(inst: &Inst) -> bool {
    inst.op.info().format.is_csr() && matches!(inst.imm as u16, csr::FFLAGS | csr::FCSR)
}

/// Whether a block of a function reads exceptions for more than to write them back.
fn observes_in(block: &Block, function: &Function, budget: &Budget) -> bool {
    // The register that holds the exceptions from before, and whether they are still to be written back.
    let mut held: Option<(usize, bool)> = None;
    for (_, inst) in &block.insts {
        let register = held.map(|(register, _)| register);
        if accesses_flags(inst) && register == Some(inst.rs1 as usize) && (inst.op, inst.rd) == (Op::csrrw, 0) {
            held = held.map(|(register, _)| (register, false));
        } else if accesses_flags(inst) && inst.rd != 0 {
            if held.is_some_and(|(_, is_open)| is_open) || inst.writes_csr() || inst.imm as u16 != csr::FFLAGS {
                return true;
            }
            held = registers::written(inst).map(|register| (register, true));
        } else if register.is_some() && reads(inst, register) {
            return true;
        } else if register.is_some() && registers::written(inst) == register {
            if held.is_some_and(|(_, is_open)| is_open) {
                return true;
            }
            held = None;
        }
    }
    held.is_some_and(|(register, is_open)| {
        is_open || register == A0 || is_read_behind(block, function, register, budget)
    })
}

/// Whether the function reads a register behind a block, as the block has left it. That it passes it on to other functions
/// is not found.
fn is_read_behind(block: &Block, function: &Function, register: usize, budget: &Budget) -> bool {
    let successors = |block: &Block| match block.end {
        Terminator::Call { .. } | Terminator::CallIndirect { .. } if [A0, A1].contains(&register) => Vec::new(),
        _ => block.end.successors(),
    };
    let mut pending = successors(block);
    let mut seen = HashSet::new();
    while let Some(start) = pending.pop() {
        let Some(block) = function.blocks.get(&start).filter(|_| seen.insert(start)) else { continue };
        if !budget.spend(block.insts.len() + 1) {
            return true;
        }
        let accesses = |inst: &Inst| reads(inst, Some(register)) || registers::written(inst) == Some(register);
        match block.insts.iter().find(|(_, inst)| accesses(inst)) {
            Some((_, inst)) if reads(inst, Some(register)) => return true,
            Some(_) => {}
            None => pending.extend(successors(block)),
        }
    }
    false
}

/// Whether the instruction has the register as a source.
fn reads(inst: &Inst, register: Option<usize>) -> bool {
    registers::sources(inst).contains(&register)
}

/// Whether a block accesses the exceptions only to restore them after comparisons, as compilers do for C's quiet ones.
fn only_quiet_comparisons(block: &Block) -> bool {
    // The register that holds the exceptions from before a comparison.
    let mut saved: Option<usize> = None;
    for (_, inst) in &block.insts {
        let format = inst.op.info().format;
        let number = inst.imm as u16;
        if !format.is_csr() || number == csr::FRM {
            let raises = format.rounds() || format == Format::FRx;
            if saved.is_some() && (raises || registers::written(inst) == saved) {
                return false;
            }
            continue;
        }
        let saves = saved.is_none() && !inst.writes_csr();
        let restores = saved == Some(inst.rs1 as usize) && (inst.op, inst.rd) == (Op::csrrw, 0);
        if number != csr::FFLAGS || !saves && !restores {
            return false;
        }
        saved = if saves { registers::written(inst) } else { None };
    }
    saved.is_none()
}

/// Defines the helpers, in one module of the artifact; other modules only declare them.
pub(crate) fn define_helpers(ir: &Ir<'_>) {
    let accrued = helper(ir, ACCRUED);
    ir.builder.position_at_end(ir.block(accrued));
    let place = built(ir.builder.build_alloca(ir.bits(32), ""));
    ir.effect("llvm.x86.sse.stmxcsr", &[place.into()]);
    let mxcsr = built(ir.builder.build_load(ir.bits(32), place, "")).into_int_value();
    let mxcsr = ir.zero_extend(mxcsr);
    // Invalid, denormal, zero-divide, overflow, underflow, precision from bit 0 up; RISC-V has no
    // denormal, and the others the other way round.
    let bits = [(5, 0), (4, 1), (3, 2), (2, 3), (0, 4)].map(|(from, to)| {
        let bit = built(ir.builder.build_right_shift(mxcsr, ir.int(from), false, ""));
        let bit = built(ir.builder.build_and(bit, ir.int(1), ""));
        built(ir.builder.build_left_shift(bit, ir.int(to), ""))
    });
    let all = bits.into_iter().reduce(|all, bit| built(ir.builder.build_or(all, bit, ""))).expect("five bits");
    built(ir.builder.build_return(Some(&all)));

    let clear = helper(ir, CLEAR);
    ir.builder.position_at_end(ir.block(clear));
    let place = built(ir.builder.build_alloca(ir.bits(32), ""));
    built(ir.builder.build_store(place, ir.bits(32).const_int(DEFAULT_MXCSR, false)));
    ir.effect("llvm.x86.sse.ldmxcsr", &[place.into()]);
    built(ir.builder.build_return(Some(&ir.int(0))));
}

fn helper<'c>(ir: &Ir<'c>, name: &str) -> FunctionValue<'c> {
    let name = ir.names.table(name);
    ir.module.get_function(&name).unwrap_or_else(|| {
        let function = ir.module.add_function(&name, ir.i64.fn_type(&[], false), Some(Linkage::External));
        function.set_call_conventions(PRESERVE_ALL);
        function.as_global_value().set_visibility(GlobalVisibility::Hidden);
        function.add_attribute(AttributeLoc::Function, attribute(ir, "nounwind", 0));
        function
    })
}

fn attribute(ir: &Ir<'_>, name: &str, value: u64) -> Attribute {
    ir.context.create_enum_attribute(Attribute::get_named_enum_kind_id(name), value)
}

impl<'c> Site<'_, 'c> {
    fn call_helper(&self, name: &str) -> CallSiteValue<'c> {
        let call = built(self.ir.builder.build_call(helper(self.ir, name), &[], ""));
        call.set_call_convention(PRESERVE_ALL);
        self.ir.mark_strict(call);
        call
    }

    /// The exceptions that have accrued.
    fn flags(&self) -> IntValue<'c> {
        let ir = self.ir;
        let call = self.call_helper(ACCRUED);
        if !ir.strict_floats() {
            // What is read is mostly not used, as nothing but comparisons are to be undone.
            for (name, value) in [("memory", READS_INACCESSIBLE), ("willreturn", 0)] {
                call.add_attribute(AttributeLoc::Function, attribute(ir, name, value));
            }
        }
        let accrued = call.try_as_basic_value().basic().expect("the helper has a result").into_int_value();
        let place = ir.field(self.registers.base(ir), convention::FFLAGS);
        let before = ir.load(ir.i64.into(), place, Space::State).into_int_value();
        built(ir.builder.build_or(before, accrued, ""))
    }

    /// Replaces the exceptions by `flags`, of which there may be 64 bits.
    fn set_flags(&self, flags: IntValue<'c>) {
        let ir = self.ir;
        let flags = built(ir.builder.build_and(flags, ir.int(0x1f), ""));
        ir.store(ir.field(self.registers.base(ir), convention::FFLAGS), flags.into(), Space::State);
        self.call_helper(CLEAR);
    }

    /// Exits to the reference interpreter if this instruction sets another rounding mode than the default one.
    fn keep_default_rounding(&self, mode: IntValue<'c>) {
        let ir = self.ir;
        let mode = built(ir.builder.build_and(mode, ir.int(7), ""));
        let default = ir.compare(IntPredicate::EQ, mode, ir.int(0));
        if !default.is_constant_int() || default.is_null() {
            self.go_on_if(default);
        }
    }

    pub(super) fn float_csr(&self, number: u16, change: impl Fn(Value<'c>) -> Value<'c>) -> Value<'c> {
        let ir = self.ir;
        if number == csr::FRM {
            let old = self.imm(0);
            self.keep_default_rounding(ir.word(change(old)));
            return old;
        }
        let old = self.flags();
        if !ir.strict_floats() {
            return Value::Word(old);
        }
        let new = ir.word(change(Value::Word(old)));
        if new != old {
            if number == csr::FCSR {
                self.keep_default_rounding(built(ir.builder.build_right_shift(new, ir.int(5), false, "")));
            }
            self.set_flags(new);
        }
        Value::Word(old)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::sample;

    /// Whether a function with this body is taken for one that reads exceptions.
    fn reads_exceptions(body: &str) -> bool {
        let source = format!(".globl _start\n.type _start, @function\n_start:\n{body}\nret\n.size _start, .-_start\n");
        let function = sample::first_function(&source);
        function.blocks.values().any(|block| observes_in(block, &function, &Budget::default()))
    }

    const COMPARISON: &str = "frflags t0\nflt.d a1, fa0, fa1\nfsflags t0";

    #[test]
    fn quiet_comparisons_read_no_exceptions() {
        assert!(!reads_exceptions(COMPARISON));
        assert!(!reads_exceptions(&format!("1: {COMPARISON}\nbnez a1, 1b")));
        assert!(!reads_exceptions(&format!("{COMPARISON}\nbnez a1, 1f\nli t0, 3\n1: li t0, 4\nadd a0, t0, t0")));
        assert!(!reads_exceptions("frflags a1\nflt.d t0, fa0, fa1\nfsflags a1\njalr a5\nadd a0, a1, a1"));
    }

    #[test]
    fn what_is_restored_may_be_read_later() {
        for later in
            ["mv a0, t0", "bnez a1, 1f\nli t0, 3\n1: mv a0, t0", "jalr a5\nadd a0, t0, t0", "j 1f\n1: sd t0, 0(sp)"]
        {
            assert!(reads_exceptions(&format!("{COMPARISON}\n{later}")), "{later}");
        }
        let earlier_in_a_loop = format!("li t0, 0\n1: add a0, t0, t0\n{COMPARISON}\nbnez a1, 1b");
        assert!(reads_exceptions(&earlier_in_a_loop));
        assert!(reads_exceptions("frflags a0\nflt.d t0, fa0, fa1\nfsflags a0"), "it is the result");
    }
}
