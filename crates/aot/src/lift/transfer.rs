//! Calls, returns, and the ways out of compiled code.

use inkwell::IntPredicate;
use inkwell::llvm_sys::LLVMTailCallKind;
use inkwell::values::{IntValue, PointerValue};
use riverrun_native::convention::{self, NOWHERE, Reason};

use crate::analysis::{address, is_copied};
#[cfg(doc)]
use crate::lift::continuations::Continuations;
use crate::lift::ir::{Callers, Space, built};
use crate::lift::ops::Site;
use crate::lift::registers::RA;
use crate::lift::value::Value;

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
        if self.ir.callers == Callers::Host {
            return self.leave_host_entry(reason);
        }
        self.store_field(convention::REASON, reason as u64);
        self.store_field(convention::RESUME, resume);
        self.call(self.stub(convention::LEAVE));
    }

    /// Leaves compiled code at the function's beginning, to go on behind this with another pc, or that one.
    pub(super) fn leave_at_start(&self) {
        self.call(self.stub(convention::LEAVE_AT_START));
    }

    /// A function that the state names.
    fn stub(&self, field: i64) -> PointerValue<'c> {
        let ir = self.ir;
        ir.load(ir.pointer.into(), ir.field(self.registers.base(ir), field), Space::State).into_pointer_value()
    }

    /// Calls a function by the convention; the registers are its results afterwards.
    fn call(&self, target: PointerValue<'c>) {
        let (ir, registers) = (self.ir, self.registers);
        self.flush();
        let call = ir.call(target, &registers.arguments(ir, self.live));
        let results = call.try_as_basic_value().basic().expect("functions return the registers");
        registers.take_results(ir, results.into_struct_value());
    }

    /// Calls a compiled function that should return to the block `next`; if it returns elsewhere, so does this
    /// one, unless that is a place of its own ([`Continuations`]).
    pub(super) fn call_and_check(&self, target: PointerValue<'c>, next: u64) {
        let ir = self.ir;
        self.call(target);
        let expected = self.returns_to(next);
        let continuation = self.continuations.at(ir, self.function, next);
        ir.branch_likely(expected, continuation, self.continuations.astray);
    }

    /// Goes on where a copy of a function was called, at the block `next`, if that is where it returns to.
    pub(super) fn check_return(&self, next: u64) {
        let (ir, registers) = (self.ir, self.registers);
        if !is_copied(next) {
            // Who was called by other means comes back there, too.
            self.continuations.at(ir, self.function, next);
        }
        let expected = self.returns_to(next);
        let (home, astray) = (ir.block(self.function), ir.block(self.function));
        let fork = registers.fork();
        ir.branch_likely(expected, home, astray);
        ir.builder.position_at_end(astray);
        self.flush();
        registers.save(ir, 0, !0);
        ir.jump(self.continuations.astray);
        registers.rejoin(fork);
        ir.builder.position_at_end(home);
    }

    /// Whether ra has the address of a block.
    fn returns_to(&self, block: u64) -> IntValue<'c> {
        let ir = self.ir;
        ir.compare(IntPredicate::EQ, ir.word(self.registers.get(ir, RA)), ir.int(address(block)))
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
        self.call_and_check(self.look_up(target), next);
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
        if self.ir.callers == Callers::Host {
            return self.leave_at(self.ir.word(target), Reason::Jump);
        }
        self.tail_call(self.look_up(target));
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
}
