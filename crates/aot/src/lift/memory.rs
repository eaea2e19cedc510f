//! Accesses to the guest's memory: the window's address plus a guest address modulo the window's size.
//!
//! LLVM leaves the mask out where it knows that the bits are zero; that of 32 bits is a zero-extension.

use inkwell::IntPredicate;
use inkwell::values::{BasicValue, InstructionOpcode, IntValue, PointerValue};
use riverrun_isa::ops::{Float, Mem};
use riverrun_vm::convention;

use crate::lift::ir::{Space, built, integer_operand};
use crate::lift::registers::FUEL;
use crate::lift::site::Site;
use crate::lift::value::Value;

/// Constants up to this are added outside the extension to 64 bits: the guards on either side of the
/// window, and the pages at its ends that are never mapped, make that exact.
pub(crate) const FOLDED: i64 = 16 << 10;
/// Indices up to this are added outside as well, such as those into a table of 256 entries.
const INDEX: u64 = 8 << 10;

impl<'c> Site<'_, 'c> {
    /// An address, and the constant that is added to its lower bits in 64 bits.
    fn parts(&self, address: Value<'c>) -> (IntValue<'c>, i64) {
        match address {
            Value::Sum(word, constant) if (-FOLDED..=FOLDED).contains(&constant) => (word, constant),
            other => (self.ir.word(other), 0),
        }
    }

    /// An address modulo the window's size.
    pub(super) fn lower_bits(&self, word: IntValue<'c>) -> IntValue<'c> {
        let ir = self.ir;
        built(ir.builder.build_and(word, ir.int(ir.options.space.mask()), ""))
    }

    pub(super) fn place(&self, address: Value<'c>) -> PointerValue<'c> {
        let ir = self.ir;
        let (word, constant) = self.parts(address);
        let (word, index) = without_index(word);
        let start = ir.at(self.registers.base(ir), self.lower_bits(word));
        // Where a table begins is the same throughout a loop, and each look-up a single access then.
        let place = index.map_or(start, |index| ir.at(start, index));
        if constant == 0 { place } else { ir.at(place, ir.int(constant as u64)) }
    }

    /// Stores a constant to a field of the state.
    pub(super) fn store_field(&self, field: i64, value: u64) {
        let ir = self.ir;
        ir.store(ir.field(self.registers.base(ir), field), ir.int(value).into(), Space::State);
    }

    pub(super) fn load_guest(&self, mem: Mem, address: Value<'c>) -> Value<'c> {
        let ir = self.ir;
        if ir.options.is_precise() {
            let (word, constant) = self.parts(address);
            return self.guarded_load(mem, self.lower_bits(word), constant);
        }
        let kind = ir.bits(8 * mem.bytes());
        let value = ir.load(kind.into(), self.place(address), self.space).into_int_value();
        Value::Word(match mem {
            Mem::U64 => value,
            Mem::I8 | Mem::I16 | Mem::I32 => ir.sign_extend(value),
            Mem::U8 | Mem::U16 | Mem::U32 => ir.zero_extend(value),
        })
    }

    pub(super) fn store_guest(&self, mem: Mem, address: Value<'c>, value: Value<'c>) {
        let ir = self.ir;
        if ir.options.is_precise() {
            let (word, constant) = self.parts(address);
            return self.guarded_store(mem, self.lower_bits(word), constant, value);
        }
        let value = ir.exact(value);
        if let (Value::Exact(Float::D, float), Mem::U64) | (Value::ExactBoxed(float), Mem::U32) = (value, mem) {
            // As a float, which need not pass through a register for integers.
            return ir.store(self.place(address), float.into(), self.space);
        }
        let word = ir.word(value);
        let low = if mem == Mem::U64 { word } else { ir.truncate(word, 8 * mem.bytes()) };
        ir.store(self.place(address), low.into(), self.space);
    }

    /// Exits if an atomic access is misaligned: the reference interpreter traps.
    pub(super) fn check_aligned(&self, mem: Mem, address: Value<'c>) {
        let ir = self.ir;
        let low = built(ir.builder.build_and(ir.word(address), ir.int(u64::from(mem.bytes()) - 1), ""));
        self.go_on_if(ir.compare(IntPredicate::EQ, low, ir.int(0)));
    }

    /// Exits before this instruction unless the condition holds, which is likely.
    pub(super) fn go_on_if(&self, condition: IntValue<'c>) {
        let ir = self.ir;
        let (go_on, exit) = (ir.block(self.function), ir.block(self.function));
        // Values that are loaded here serve both paths.
        self.registers.base(ir);
        ir.branch_likely(condition, go_on, exit);
        ir.builder.position_at_end(exit);
        let fork = self.registers.fork();
        self.exit_for_good(self.pc);
        self.registers.rejoin(fork);
        ir.builder.position_at_end(go_on);
    }

    /// Exits and drops this frame: the reference interpreter continues at `pc`.
    pub(super) fn exit_for_good(&self, pc: u64) {
        let (ir, registers) = (self.ir, self.registers);
        if ir.options.fuel && self.ahead != 0 {
            let fuel = built(ir.builder.build_int_add(ir.word(registers.get(ir, FUEL)), ir.int(self.ahead), ""));
            registers.set(FUEL, Value::Word(fuel));
        }
        self.step_out(ir.int(pc));
    }

    pub(super) fn load_reserved_guest(&self, mem: Mem, address: Value<'c>) -> Value<'c> {
        self.check_aligned(mem, address);
        let value = self.load_guest(mem, address);
        let ir = self.ir;
        let base = self.registers.base(ir);
        let low = self.lower_bits(ir.word(address));
        ir.store(ir.field(base, convention::RESERVATION), low.into(), Space::State);
        ir.store(ir.field(base, convention::RESERVED_VALUE), ir.word(value).into(), Space::State);
        value
    }

    pub(super) fn store_conditional_guest(&self, mem: Mem, address: Value<'c>, value: Value<'c>) -> Value<'c> {
        self.check_aligned(mem, address);
        let ir = self.ir;
        // The load comes first, so that a fault leaves the reservation unchanged.
        let present = ir.word(self.load_guest(mem, address));
        let base = self.registers.base(ir);
        let field = |field| ir.load(ir.i64.into(), ir.field(base, field), Space::State).into_int_value();
        let low = self.lower_bits(ir.word(address));
        let here = ir.compare(IntPredicate::EQ, field(convention::RESERVATION), low);
        let same = ir.compare(IntPredicate::EQ, field(convention::RESERVED_VALUE), present);
        let holds = built(ir.builder.build_and(here, same, ""));
        let (store, done) = (ir.block(self.function), ir.block(self.function));
        built(ir.builder.build_conditional_branch(holds, store, done));
        ir.builder.position_at_end(store);
        let fork = self.registers.fork();
        self.store_guest(mem, address, value);
        self.registers.rejoin(fork);
        ir.jump(done);
        ir.builder.position_at_end(done);
        self.store_field(convention::RESERVATION, !0);
        let failed = built(ir.builder.build_not(holds, ""));
        Value::Flag(failed)
    }
}

/// A sum as one addend and the other, if that is variable and at most [`INDEX`].
fn without_index(sum: IntValue<'_>) -> (IntValue<'_>, Option<IntValue<'_>>) {
    let is_sum = sum.as_instruction_value().is_some_and(|inst| inst.get_opcode() == InstructionOpcode::Add);
    let is_index = |addend: IntValue<'_>| !addend.is_const() && most(addend, 4) <= INDEX;
    match [0, 1].map(|n| operand(sum, n).filter(|_| is_sum)) {
        [Some(a), Some(b)] if is_index(b) => (a, Some(b)),
        [Some(a), Some(b)] if is_index(a) => (b, Some(a)),
        _ => (sum, None),
    }
}

/// A bound of what a value may be, looking no further than `depth` instructions back.
fn most(value: IntValue<'_>, depth: u32) -> u64 {
    if let Some(constant) = value.get_zero_extended_constant() {
        return constant;
    }
    let of = |n| match operand(value, n) {
        Some(operand) if depth != 0 => most(operand, depth - 1),
        _ => u64::MAX,
    };
    let amount = || of(1).try_into().unwrap_or(u32::MAX);
    let bound = match value.as_instruction_value().map(|inst| inst.get_opcode()) {
        Some(InstructionOpcode::And) => of(0).min(of(1)),
        Some(InstructionOpcode::ZExt) => of(0),
        Some(InstructionOpcode::Shl) => 1u64.checked_shl(amount()).map_or(u64::MAX, |by| of(0).saturating_mul(by)),
        _ => u64::MAX,
    };
    bound.min(u64::MAX >> 64u32.saturating_sub(value.get_type().get_bit_width()))
}

/// An operand of the instruction that makes an integer, if that is one too.
fn operand(value: IntValue<'_>, index: u32) -> Option<IntValue<'_>> {
    integer_operand(value.as_instruction_value()?, index)
}
