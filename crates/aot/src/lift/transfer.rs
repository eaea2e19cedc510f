//! Calls, returns, and the ways out of compiled code.

use inkwell::IntPredicate;
use inkwell::llvm_sys::LLVMTailCallKind;
use inkwell::values::{IntValue, PhiValue, PointerValue};
use riverrun_native::Dispatch;
use riverrun_native::convention::{self, NOWHERE, Reason};

#[cfg(doc)]
use crate::lift::continuations::Continuations;
use crate::lift::ir::{Callers, Ir, Space, built};
use crate::lift::ops::Site;
use crate::lift::registers::{Label, RA};
use crate::lift::value::Value;

impl<'c> Ir<'c> {
    /// The table from guest addresses to functions.
    fn dispatch_table(&self) -> PointerValue<'c> {
        let name = self.names.dispatch();
        let table = self.module.get_global(&name).unwrap_or_else(|| {
            let table = self.module.add_global(self.i64, None, &name);
            // Exported by the object, but never replaced by another one.
            table.set_visibility(inkwell::GlobalVisibility::Protected);
            table
        });
        table.as_pointer_value()
    }
}

impl<'c> Site<'_, 'c> {
    /// Brings into the state what whoever goes on may look at, but for the convention's own registers.
    pub(super) fn flush(&self) {
        let dirty = self.registers.dirty(false);
        self.registers.flush(self.ir, dirty & self.live);
        self.registers.flushed(dirty);
    }

    /// Leaves compiled code, to go on behind this where the guest reaches the address `resume`.
    /// The state's pc has been set. Frames of host entries cannot wait: there, nothing is come back to.
    pub(super) fn leave(&self, reason: Reason, resume: u64) {
        let (ir, registers) = (self.ir, self.registers);
        if ir.callers == Callers::Host {
            return self.leave_host_entry(reason);
        }
        self.store_field(convention::REASON, reason as u64);
        self.store_field(convention::RESUME, resume);
        let leave = ir.field(registers.base(ir), convention::LEAVE);
        let leave = ir.load(ir.pointer.into(), leave, Space::State).into_pointer_value();
        self.call(leave);
    }

    /// Calls a function by the convention; the registers are its results afterwards.
    fn call(&self, target: PointerValue<'c>) {
        let (ir, registers) = (self.ir, self.registers);
        self.flush();
        let call = ir.call(target, &registers.arguments(ir, self.live));
        let results = call.try_as_basic_value().basic().expect("functions return the registers");
        registers.take_results(ir, results.into_struct_value());
    }

    /// Calls a compiled function that should return to `next`; if it returns elsewhere, so does this
    /// one, unless that is a place of its own ([`Continuations`]).
    pub(super) fn call_and_check(&self, target: PointerValue<'c>, next: u64) {
        let (ir, registers) = (self.ir, self.registers);
        self.call(target);
        let expected = ir.compare(IntPredicate::EQ, ir.word(registers.get(ir, RA)), ir.int(next));
        let continuation = self.continuations.at(ir, self.function, next);
        ir.branch_likely(expected, continuation, self.continuations.astray);
    }

    /// Leaves compiled code for good: the guest goes on at `pc`, in compiled code if it can be entered
    /// there.
    pub(super) fn jump_out(&self, pc: IntValue<'c>) {
        self.leave_at(pc, Reason::Jump);
    }

    /// Leaves compiled code for good: the single-step engine goes on at `pc`.
    pub(super) fn step_out(&self, pc: IntValue<'c>) {
        self.leave_at(pc, Reason::Step);
    }

    fn leave_at(&self, pc: IntValue<'c>, reason: Reason) {
        let ir = self.ir;
        ir.store(ir.field(self.registers.base(ir), convention::PC), pc.into(), Space::State);
        self.leave(reason, NOWHERE);
        ir.unreachable();
    }

    /// Calls the function at an address, compiled or not, and goes on at `next`.
    pub(super) fn call_indirect(&self, target: Value<'c>, next: u64) {
        let (ir, registers) = (self.ir, self.registers);
        registers.base(ir);
        let (found, missing) = (ir.block(self.function), ir.block(self.function));
        let function = self.look_up(target, found, missing);
        let fork = registers.fork();
        ir.builder.position_at_end(missing);
        ir.store(ir.field(registers.base(ir), convention::PC), ir.word(target).into(), Space::State);
        self.leave(Reason::Call, next);
        ir.jump(self.continuations.at(ir, self.function, next));
        registers.rejoin(fork);
        ir.builder.position_at_end(found);
        self.call_and_check(function, next);
    }

    /// Has the interpreter execute the instruction at `pc`, for the reason that it is, and goes on at
    /// `next`.
    pub(super) fn step(&self, pc: u64, next: u64, reason: Reason) {
        self.store_field(convention::PC, pc);
        self.leave(reason, next);
        self.ir.jump(self.continuations.at(self.ir, self.function, next));
    }

    /// Goes on in the function at an address, in this one's place.
    pub(super) fn tail_call_indirect(&self, target: Value<'c>) {
        let (ir, registers) = (self.ir, self.registers);
        if ir.callers == Callers::Host {
            return self.jump_out(ir.word(target));
        }
        registers.base(ir);
        let (found, missing) = (ir.block(self.function), ir.block(self.function));
        let function = self.look_up(target, found, missing);
        let fork = registers.fork();
        ir.builder.position_at_end(missing);
        self.jump_out(ir.word(target));
        registers.rejoin(fork);
        ir.builder.position_at_end(found);
        self.tail_call(function);
    }

    /// Goes on in another function, in this one's place.
    pub(super) fn tail_call(&self, target: PointerValue<'c>) {
        let (ir, registers) = (self.ir, self.registers);
        self.flush();
        let call = ir.call(target, &registers.arguments(ir, self.live));
        call.set_tail_call_kind(LLVMTailCallKind::LLVMTailCallKindMustTail);
        let results = call.try_as_basic_value().basic().expect("functions return the registers");
        built(ir.builder.build_return(Some(&results)));
    }

    /// Returns to the caller, which looks at ra.
    pub(super) fn return_to_caller(&self) {
        if self.ir.callers == Callers::Host {
            return self.return_to_host();
        }
        self.flush();
        let results = self.registers.results(self.ir, self.live);
        built(self.ir.builder.build_return(Some(&results)));
    }

    /// Looks an address up among the functions: goes on in `found`, with the function, or in
    /// `missing`. Nearly always the first place is the right one; the others are looked at apart. A lowest bit that is to
    /// be cleared is cleared for these only; where it was set, the function is missed, and found by the dispatcher.
    fn look_up(&self, target: Value<'c>, found: Label<'c>, missing: Label<'c>) -> PointerValue<'c> {
        let ir = self.ir;
        let bits = self.dispatch_bits;
        let i32 = ir.bits(32);
        let table = ir.dispatch_table();
        let load = |table, place| ir.load(ir.i64.into(), ir.element(table, place), Space::State).into_int_value();
        let raw = if let Value::Even(word) = target { word } else { ir.word(target) };
        let low = ir.truncate(raw, 32);
        let multiplier = i32.const_int(Dispatch::MULTIPLIER.into(), false);
        let mixed = built(ir.builder.build_int_mul(low, multiplier, ""));
        let shift = i32.const_int(u64::from(32 - bits), false);
        let first = ir.zero_extend(built(ir.builder.build_right_shift(mixed, shift, false, "")));
        let before = ir.builder.get_insert_block().expect("the builder stands in a block");
        let [other, probe] = std::array::from_fn(|_| ir.block(self.function));
        ir.branch_likely(ir.compare(IntPredicate::EQ, load(table, first), raw), found, other);

        ir.builder.position_at_end(other);
        let position = built(ir.builder.build_phi(ir.i64, ""));
        let next = built(ir.builder.build_int_add(word_of(position), ir.int(1), ""));
        let next = built(ir.builder.build_and(next, ir.int((1 << bits) - 1), ""));
        let pc = load(table, next);
        let is_here = ir.compare(IntPredicate::EQ, pc, ir.word(target));
        built(ir.builder.build_conditional_branch(is_here, found, probe));

        ir.builder.position_at_end(probe);
        let is_free = ir.truncate(pc, 1);
        built(ir.builder.build_conditional_branch(is_free, missing, other));
        position.add_incoming(&[(&first, before), (&next, probe)]);

        ir.builder.position_at_end(found);
        let place = built(ir.builder.build_phi(ir.i64, ""));
        place.add_incoming(&[(&first, before), (&next, other)]);
        let distances = ir.at(table, ir.int(8 << bits));
        ir.at(table, load(distances, word_of(place)))
    }
}

fn word_of<'c>(phi: PhiValue<'c>) -> IntValue<'c> {
    phi.as_basic_value().into_int_value()
}
