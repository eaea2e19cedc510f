//! Accesses in precise mode: one that faults exits before itself, with all registers committed.
//!
//! An access is an instruction of inline assembly with a second successor, as `asm goto` has: a cold block, its fault exit,
//! that commits all registers. It costs the access nothing, as LLVM keeps values that only the cold block needs wherever
//! there is room. A table ([`riverrun_vm::FaultExit`]) maps the instruction to the block.
//!
//! The exits are made for groups of accesses ([`super::fault_exits`]).

use inkwell::InlineAsmDialect;
use inkwell::attributes::{Attribute, AttributeLoc};
use inkwell::llvm_sys::core::LLVMBuildCallBr;
use inkwell::types::{AsTypeRef, BasicMetadataTypeEnum, FunctionType};
use inkwell::values::{AsValueRef, BasicValueEnum, CallSiteValue, IntValue};
use riverrun_isa::ops::{Float, Mem};

use crate::lift::ir::ORDERED;
use crate::lift::site::Site;
use crate::lift::value::Value;

impl<'c> Site<'_, 'c> {
    /// Loads from the guest's memory, where `low` is the address modulo the window's size, up to `offset`.
    pub(super) fn guarded_load(&self, mem: Mem, low: IntValue<'c>, offset: i64) -> Value<'c> {
        let (mnemonic, register) = match mem {
            Mem::I8 => ("movsbq", "$0"),
            Mem::U8 => ("movzbl", "${0:k}"),
            Mem::I16 => ("movswq", "$0"),
            Mem::U16 => ("movzwl", "${0:k}"),
            Mem::I32 => ("movslq", "$0"),
            Mem::U32 => ("movl", "${0:k}"),
            Mem::U64 => ("movq", "$0"),
        };
        let ir = self.ir;
        let base = self.registers.base(ir);
        let prototype = ir.i64.fn_type(&[ir.pointer.into(), ir.i64.into()], false);
        let text = format!("{mnemonic} {offset}($1,$2), {register}");
        let loaded = self.guarded(prototype, &text, "=r,r,r,!i", &[base.into(), low.into()]);
        Value::Word(loaded.try_as_basic_value().basic().expect("a load has a result").into_int_value())
    }

    /// Stores a word's lower bits.
    pub(super) fn guarded_store(&self, mem: Mem, low: IntValue<'c>, offset: i64, value: Value<'c>) {
        let ir = self.ir;
        let has_vex = ir.options.cpu.features().has("avx");
        let (mnemonic, register, constraint, value): (_, _, _, BasicValueEnum<'c>) = match (ir.exact(value), mem) {
            (Value::Exact(Float::D, float), Mem::U64) => {
                (if has_vex { "vmovsd" } else { "movsd" }, "$0", "x", float.into())
            }
            (Value::ExactBoxed(float), Mem::U32) => (if has_vex { "vmovss" } else { "movss" }, "$0", "x", float.into()),
            (value, Mem::I8 | Mem::U8) => ("movb", "${0:b}", "r", ir.word(value).into()),
            (value, Mem::I16 | Mem::U16) => ("movw", "${0:w}", "r", ir.word(value).into()),
            (value, Mem::I32 | Mem::U32) => ("movl", "${0:k}", "r", ir.word(value).into()),
            (value, Mem::U64) => ("movq", "$0", "r", ir.word(value).into()),
        };
        let base = self.registers.base(ir);
        let kinds: [BasicMetadataTypeEnum<'c>; 3] = [value.get_type().into(), ir.pointer.into(), ir.i64.into()];
        let prototype = ir.context.void_type().fn_type(&kinds, false);
        let text = format!("{mnemonic} {register}, {offset}($1,$2)");
        self.guarded(prototype, &text, &format!("{constraint},r,r,!i"), &[value, base.into(), low.into()]);
    }

    /// Makes the access `text`, whose operands are numbered from 0 to 2; goes on behind it.
    fn guarded(
        &self,
        prototype: FunctionType<'c>,
        text: &str,
        constraints: &str,
        arguments: &[BasicValueEnum<'c>],
    ) -> CallSiteValue<'c> {
        let (ir, registers) = (self.ir, self.registers);
        let section = ir.names.fault_exits();
        let text = format!(
            "1: {text}\n.pushsection {section},\"a\",@progbits\n.balign 4\n.long 1b-.\n.long ${{3:l}}-.\n.popsection"
        );
        let dialect = Some(InlineAsmDialect::ATT);
        let instruction =
            ir.context.create_inline_asm(prototype, text, constraints.into(), true, false, dialect, false);
        let (go_on, fault) = (ir.block(self.function), ir.block(self.function));
        let mut arguments: Vec<_> = arguments.iter().map(AsValueRef::as_value_ref).collect();
        let mut exits = [fault.as_mut_ptr()];
        // SAFETY: the builder stands in a block, and all of this is of its context; the arguments and the exit
        // are as many as prototype and constraints say.
        let access = unsafe {
            CallSiteValue::new(LLVMBuildCallBr(
                ir.builder.as_mut_ptr(),
                prototype.as_type_ref(),
                instruction.as_value_ref(),
                go_on.as_mut_ptr(),
                exits.as_mut_ptr(),
                exits.len() as u32,
                arguments.as_mut_ptr(),
                arguments.len() as u32,
                std::ptr::null_mut(),
                0,
                c"".as_ptr(),
            ))
        };
        let memory = Attribute::get_named_enum_kind_id("memory");
        access.add_attribute(AttributeLoc::Function, ir.context.create_enum_attribute(memory, ORDERED));
        self.group.add(registers, fault, self.pc, self.ahead);
        ir.builder.position_at_end(go_on);
        access
    }
}
